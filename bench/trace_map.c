/** Measure the map of a trace against reading it: read(2) of the file into one buffer, then the reader with the index of call
 *  stacks and the matching of its records, in one process and in turn: seconds of the processor, the best of the runs, page cache warm.
 *
 *    bench_trace_map CAPTURE [RUNS]       CAPTURE/trace_view.json and CAPTURE/operator_memory.csv
 *
 *  One line: seconds of read(2), seconds of the map, bytes of the trace, events, records matched. RUNS 0: the map alone, once, for
 *  callgrind. */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)

typedef struct {
    rlmr_capture capture;
    rlmr_map_options options;
    rlmr_partial partial;
    rlmr_memory *memory;
    uint64_t events;
} bench;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void require(rlmr_status status, const rlmr_error *err) {
    if (status != RLMR_OK) {
        (void)fprintf(stderr, "bench_trace_map: %s\n", err->message);
        exit(1);
    }
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)self;
    (void)lost;
    return rlmr_error_set(err, RLMR_E_PARSE, "damage at byte %lld: %s", (long long)offset, reason);
}

static const rlmr_damage no_damage = {.met = on_damage};

/* @return seconds */
static double read_file(const char *path) {
    char *piece = malloc(PIECE_BYTES);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    double start = now();
    while (file >= 0 && piece != NULL && read(file, piece, PIECE_BYTES) > 0) {
    }
    double seconds = now() - start;
    (void)close(file);
    free(piece);
    return seconds;
}

static void set_file(bench *self, rlmr_file_kind kind, const char *directory, const char *name) {
    rlmr_file *file = &self->capture.files[kind];
    file->state = RLMR_FILE_UNUSED;
    if (asprintf(&file->path, "%s/%s", directory, name) < 0) {
        exit(1);
    }
}

static void open_records(bench *self, const char *directory) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_capture_init(&self->capture);
    set_file(self, RLMR_FILE_operator_memory, directory, "operator_memory.csv");
    set_file(self, RLMR_FILE_trace_view, directory, "trace_view.json");
    require(rlmr_partial_init(&self->partial, &err), &err);
    require(rlmr_memory_open(&self->capture, &self->options, &self->partial, &self->memory, &err), &err);
    rlmr_file_damage damage = {.capture = &self->capture, .kind = RLMR_FILE_operator_memory};
    rlmr_memory_rows_begin(self->memory, &damage);
    require(rlmr_csv_read(self->capture.files[RLMR_FILE_operator_memory].path, rlmr_memory_row, self->memory,
                          &no_damage, NULL, &err),
            &err);
    rlmr_memory_rows_end(self->memory);
}

/* @return seconds */
static double map_trace(bench *self) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_file_damage damage = {.capture = &self->capture, .kind = RLMR_FILE_trace_view};
    double start = now();
    rlmr_memory_events_begin(self->memory, &damage);
    require(rlmr_trace_read(self->capture.files[RLMR_FILE_trace_view].path, false, rlmr_memory_event,
                            self->memory, &no_damage, NULL, &self->events, &err),
            &err);
    require(rlmr_memory_finish(self->memory, &damage, &err), &err);
    return now() - start;
}

static void close_records(bench *self) {
    rlmr_memory_close(self->memory);
    rlmr_partial_release(&self->partial);
    rlmr_capture_release(&self->capture);
}

int main(int argc, char **argv) {
    int runs = argc > 2 ? atoi(argv[2]) : 5;
    double read_s = 0;
    double map_s = 0;
    bench self = {.options = {.match = RLMR_MATCH_BEST}};
    int64_t matched = 0;
    struct stat info = {0};
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_trace_map CAPTURE [RUNS]\n");
        return 2;
    }
    rlmr_tables_keep_memory();
    for (int run = 0; run < (runs == 0 ? 1 : runs); run++) {
        open_records(&self, argv[1]);
        const char *path = self.capture.files[RLMR_FILE_trace_view].path;
        (void)stat(path, &info);
        double read_now = runs == 0 ? 0 : read_file(path);
        double map_now = map_trace(&self);
        matched = self.capture.rows_matched;
        close_records(&self);
        read_s = run == 0 || read_now < read_s ? read_now : read_s;
        map_s = run == 0 || map_now < map_s ? map_now : map_s;
    }
    printf("%.4f %.4f %lld %llu %lld\n", read_s, map_s, (long long)info.st_size,
           (unsigned long long)self.events, (long long)matched);
    return 0;
}
