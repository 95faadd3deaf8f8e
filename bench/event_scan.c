/** Measure the scan of a trace against reading it: GB of the file a second of processor time, which is less disturbed than
 *  the clock on the wall; the best of the runs, page cache warm.
 *
 *    bench_event_scan TRACE [RUNS]
 *
 *  TRACE is an array of events that begins with its bracket. */
#include "rlmr/event_fields.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)256 * 1024)

typedef struct {
    bool fields;  /* look into events */
    char *text;   /* what is at hand of the file: the last piece, and before it the event at hand */
    int64_t from; /* offset of its first byte */
    rlmr_scan_path path;
    uint64_t events;
    uint64_t wanted;
    uint64_t wanted_bytes;
    uint64_t unsure;
} bench;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static rlmr_status on_event(void *self, const rlmr_event_bounds *event, rlmr_error *err) {
    bench *out = self;
    (void)err;
    out->events++;
    if (event->flags != 0) {
        out->wanted++;
        out->wanted_bytes += (uint64_t)(event->end - event->start);
        if (out->fields) {
            rlmr_event_fields fields;
            rlmr_slice text = {.text = out->text + (event->start - out->from),
                               .bytes = (size_t)(event->end - event->start)};
            out->unsure += !rlmr_event_fields_find(out->path, text, 1, &fields);
        }
    }
    return RLMR_OK;
}

/* Read the file, and scan it or not. @return seconds */
static double pass(int file, bench *out, bool scanned) {
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, out->path, 1, 1);
    out->events = out->wanted = out->wanted_bytes = out->unsure = 0;
    double start = now();
    size_t kept = 0;
    ssize_t got;
    out->from = lseek(file, 1, SEEK_SET);
    while ((got = read(file, out->text + kept, PIECE_BYTES)) > 0) {
        rlmr_slice piece = {.text = out->text + kept, .bytes = (size_t)got};
        if (scanned && rlmr_event_scan_feed(&scan, piece, on_event, out, NULL) != RLMR_OK) {
            exit(EXIT_FAILURE);
        }
        if (scanned && out->fields && scan.state == RLMR_SCAN_OPEN) {
            kept = (size_t)(scan.at - scan.good);
            memmove(out->text, out->text + (scan.good - out->from), kept);
            out->from = scan.good;
        }
    }
    double seconds = now() - start;
    if (scanned && scan.state != RLMR_SCAN_CLOSED) {
        (void)fprintf(stderr, "error: no array of events, or damaged behind byte %lld\n",
                      (long long)scan.good);
        exit(EXIT_FAILURE);
    }
    return seconds;
}

static double least(double a, double b) {
    return b == 0 || a < b ? a : b;
}

int main(int argc, char **argv) {
    static const char *const names[RLMR_SCAN_PATHS] = {"portable", "avx2", "neon"};
    int runs = argc > 2 ? atoi(argv[2]) : 9;
    int file = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        (void)fprintf(stderr, "usage: %s TRACE [RUNS]\n", argv[0]);
        return 2;
    }
    size_t bytes = (size_t)status.st_size;
    bench out = {.text = malloc(RLMR_LIMIT_EVENT_BYTES + 2 * PIECE_BYTES)};
    if (out.text == NULL) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    double seconds[1 + 2 * RLMR_SCAN_PATHS] = {0}; /* read; of each path, bounds and fields */
    for (int run = 0; run < runs; run++) {
        seconds[0] = least(pass(file, &out, false), seconds[0]);
        for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
            out.path = (rlmr_scan_path)path;
            for (int fields = 0; rlmr_scan_has(out.path) && fields < 2; fields++) {
                out.fields = fields == 1;
                double *best = &seconds[1 + 2 * path + fields];
                *best = least(pass(file, &out, true), *best);
            }
        }
    }
    (void)printf("%zu bytes, %llu events, %llu wanted with %llu bytes, %llu unsure\n", bytes,
                 (unsigned long long)out.events, (unsigned long long)out.wanted,
                 (unsigned long long)out.wanted_bytes, (unsigned long long)out.unsure);
    (void)printf("%-33s %6.2f GB/s\n", "read", 1e-9 * (double)bytes / seconds[0]);
    for (int i = 0; i < 2 * RLMR_SCAN_PATHS; i++) {
        if (seconds[1 + i] > 0) {
            (void)printf("read, %-17s, %-8s %6.2f GB/s, 1/%.2f of read\n",
                         i % 2 ? "bounds and fields" : "bounds", names[i / 2],
                         1e-9 * (double)bytes / seconds[1 + i], seconds[1 + i] / seconds[0]);
        }
    }
    free(out.text);
    (void)close(file);
    return EXIT_SUCCESS;
}
