#include "run.h"

#include "complete.h"
#include "datamap.h"
#include "map_phase.h"
#include "progress.h"
#include "reduce.h"
#include "report.h"
#include "rlmr/cleanup.h"
#include "rlmr/hdf5_sink.h"
#include "rlmr/message.h"
#include "rlmr/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FORMAT_VERSION 1
#define EXIT_DAMAGED 3

/* Captures with less are not worth the telling between processes. */
#define SPLIT_BYTES_DEFAULT (INT64_C(64) << 20)

/* A process holds one block of each other one while it merges; together they stay below this. */
#define MERGE_BYTES ((size_t)64 << 20)
#define BLOCK_BYTES_MIN ((size_t)64 << 10)

/* What is added up over all processes. */
typedef struct {
    int64_t statuses[RLMR_CAPTURE_STATUSES];
    int64_t bytes_read;
    int64_t unreadable; /* directories */
} totals;

typedef struct {
    rlmr_options *options;
    rlmr_comm *comm;
    bool first; /* this is process 0 */
    rlmr_datamap mine;
    rlmr_partial partial;
    rlmr_progress progress;
    size_t message_bytes;
    rlmr_hdf5 *file; /* process 0 only */
    totals sum;
    uint64_t rows[RLMR_TABLE_COUNT];
} run;

/* Tests set some hundred bytes, so that small data takes many messages and is split; the result is the same. */
static int64_t bytes_from_environment(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    long value = text == NULL ? 0 : strtol(text, NULL, 10);
    return value > 0 ? value : otherwise;
}

static size_t block_bytes(const run *self) {
    size_t share = MERGE_BYTES / (size_t)rlmr_comm_size(self->comm);
    share = share < BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN : share;
    return share < self->message_bytes ? share : self->message_bytes;
}

static void list_capture(const rlmr_capture *capture) {
    printf("%d\t%s\t%d\t%d\t", capture->number, rlmr_capture_status_text(capture->status), capture->rank_id,
           capture->window);
    rlmr_message_put(stdout, capture->role);
    (void)putchar('\t');
    rlmr_message_put(stdout, capture->path);
    char separator = '\t';
    for (rlmr_file_kind kind = 0; kind < RLMR_FILES; kind++) {
        if (capture->files[kind].state != RLMR_FILE_ABSENT) {
            printf("%c%s=%" PRId64, separator, rlmr_file_kind_text(kind), capture->files[kind].bytes);
            separator = ',';
        }
    }
    printf("%s\t", separator == '\t' ? "\t" : "");
    rlmr_message_put(stdout, capture->message == NULL ? "" : capture->message);
    (void)putchar('\n');
}

/* --check: what the DataMap alone says. */
static void list_datamap(const rlmr_datamap *map) {
    printf("capture\tstatus\trank_id\twindow\trole\tpath\tfiles\tmessage\n");
    for (size_t i = 0; i < map->count; i++) {
        list_capture(&map->captures[i]);
    }
}

/* A capture that is bad already ends a strict run before any file is read. */
static rlmr_status check_strict(const run *self, const rlmr_datamap *map, rlmr_error *err) {
    for (size_t i = 0; i < map->count && self->options->map.strict && !self->options->check; i++) {
        const rlmr_capture *capture = &map->captures[i];
        if (capture->status == RLMR_CAPTURE_FAILED || capture->status == RLMR_CAPTURE_PARTIAL) {
            return rlmr_error_set(err, RLMR_E_PARSE, "--strict: capture %s is %s: %s", capture->path,
                                  rlmr_capture_status_text(capture->status), capture->message);
        }
    }
    if (self->options->map.strict && map->unreadable > 0) {
        return rlmr_error_set(err, RLMR_E_INPUT, "--strict: %zu directories cannot be searched",
                              map->unreadable);
    }
    return RLMR_OK;
}

/* On process 0: the DataMap, shared out. */
static rlmr_status make_shares(run *self, rlmr_bytes *parts, rlmr_error *err) {
    rlmr_datamap map = {0};
    rlmr_status status = rlmr_options_read_list(self->options, err);
    status = status == RLMR_OK ? rlmr_datamap_build(self->options, &map, err) : status;
    status = status == RLMR_OK ? check_strict(self, &map, err) : status;
    status = status == RLMR_OK
                 ? rlmr_datamap_share(&map, &self->options->map, parts, rlmr_comm_size(self->comm), err)
                 : status;
    if (status == RLMR_OK) {
        int64_t bytes = 0;
        for (size_t i = 0; i < map.count; i++) {
            bytes += rlmr_datamap_weight(&map.captures[i], &self->options->map);
        }
        self->sum.unreadable = (int64_t)map.unreadable;
        rlmr_progress_start(&self->progress, self->options, bytes, true);
        rlmr_message(self->options->verbosity, RLMR_LEVEL_DEBUG,
                     "%zu captures, %" PRId64 " bytes, on %d processes", map.count, bytes,
                     rlmr_comm_size(self->comm));
        if (self->options->check) {
            list_datamap(&map);
        }
    }
    rlmr_datamap_release(&map);
    return status;
}

/* Collective. Build the DataMap on process 0 and give each process its captures. */
static rlmr_status scatter_datamap(run *self, rlmr_error *err) {
    size_t size = (size_t)rlmr_comm_size(self->comm);
    rlmr_bytes *parts = calloc(size, sizeof *parts);
    rlmr_bytes mine = {0};
    rlmr_status status =
        parts == NULL ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap") : RLMR_OK;
    if (status == RLMR_OK && self->first) {
        status = make_shares(self, parts, err);
    }
    status = rlmr_comm_agree(self->comm, status, err);
    if (status == RLMR_OK) {
        status = rlmr_comm_scatter(self->comm, parts, &mine, err);
        status = status == RLMR_OK ? rlmr_datamap_decode(&mine, &self->mine, err) : status;
        status = rlmr_comm_agree(self->comm, status, err);
    }
    for (size_t process = 0; parts != NULL && process < size; process++) {
        rlmr_bytes_release(&parts[process]);
    }
    free(parts);
    rlmr_bytes_release(&mine);
    return status;
}

/* Collective. Map this process's captures and pieces. */
static rlmr_status map_captures(run *self, rlmr_error *err) {
    rlmr_map_phase phase = {.comm = self->comm,
                            .options = self->options,
                            .mine = &self->mine,
                            .partial = &self->partial,
                            .progress = &self->progress};
    rlmr_status status = rlmr_partial_init(&self->partial, err);
    status = rlmr_map_phase_run(&phase, status, err);
    self->sum.bytes_read = phase.bytes_read;
    for (size_t i = 0; i < self->mine.count; i++) {
        self->sum.statuses[self->mine.captures[i].status] += self->mine.pieces[i].index == 0;
    }
    return status;
}

/* Collective. */
static rlmr_status add_up(run *self, rlmr_error *err) {
    _Static_assert(sizeof(totals) % sizeof(int64_t) == 0, "totals are an array of int64");
    return rlmr_comm_sum(self->comm, (int64_t *)&self->sum, sizeof self->sum / sizeof(int64_t), err);
}

static rlmr_status write_attributes(const run *self, rlmr_error *err) {
    const rlmr_options *options = self->options;
    const struct {
        const char *name;
        const char *value;
    } texts[] = {{"format", "rl-insight-mr"},       {"producer", "rl-insight-mr " RLMR_VERSION},
                 {"mode", options->mode},           {"match", rlmr_options_match(options)},
                 {"rank_list", options->rank_list}, {"role", options->role},
                 {"parallel_strategy", ""}};
    rlmr_status status = rlmr_hdf5_attribute_i64(self->file, "format_version", FORMAT_VERSION, err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == RLMR_OK; i++) {
        status = rlmr_hdf5_attribute_text(self->file, texts[i].name, texts[i].value, err);
    }
    return status == RLMR_OK ? rlmr_hdf5_attribute_f64(self->file, "time_offset_us",
                                                       (double)options->map.time_offset_ns / 1e3, err)
                             : status;
}

/* On process 0: the file is begun before any work, so that a wrong path fails at once. */
static rlmr_status create_file(run *self, rlmr_error *err) {
    rlmr_cleanup_put_off();
    rlmr_status status = rlmr_hdf5_create(self->options->output, self->options->force, &self->file, err);
    rlmr_status known = rlmr_cleanup_file(status == RLMR_OK ? rlmr_hdf5_temporary(self->file) : NULL, err);
    status = status == RLMR_OK ? known : status;
    return status == RLMR_OK ? write_attributes(self, err) : status;
}

/* On process 0: the file gets its name, or is gone. */
static rlmr_status close_file(run *self, rlmr_status status, rlmr_error *err) {
    if (status == RLMR_OK) {
        status = rlmr_hdf5_commit(self->file, err);
    } else {
        rlmr_hdf5_discard(self->file);
    }
    self->file = NULL;
    return status;
}

/* Collective. Every table of the chosen analyses into the file. */
static rlmr_status reduce_tables(run *self, rlmr_error *err) {
    rlmr_sink sink = {0};
    if (self->first) {
        sink = rlmr_hdf5_sink(self->file);
    }
    rlmr_status status =
        rlmr_report_captures(self->comm, &self->partial, block_bytes(self), self->options->verbosity, err);
    for (int table = 0; table < RLMR_TABLE_COUNT && status == RLMR_OK; table++) {
        if (rlmr_map_makes(&self->options->map, table)) {
            status = rlmr_reduce_write(self->comm, &self->partial.tables[table], self->partial.texts,
                                       block_bytes(self), &sink, &self->rows[table], err);
        }
    }
    return status;
}

static void print_summary(const run *self) {
    int64_t found = 0;
    for (int status = 0; status < RLMR_CAPTURE_STATUSES; status++) {
        found += self->sum.statuses[status];
    }
    printf("captures: %" PRId64 " found", found);
    for (int status = 0; status < RLMR_CAPTURE_STATUSES; status++) {
        printf(", %" PRId64 " %s", self->sum.statuses[status],
               rlmr_capture_status_text((rlmr_capture_status)status));
    }
    printf("\n");
    for (int table = 0; table < RLMR_TABLE_COUNT && !self->options->check; table++) {
        if (rlmr_map_makes(&self->options->map, table)) {
            printf("rows of /%s: %" PRIu64 "\n", rlmr_table_schemas[table]->name, self->rows[table]);
        }
    }
    if (!self->options->check) {
        printf("bytes read: %" PRId64 "\noutput: %s\n", self->sum.bytes_read, self->options->output);
    }
}

/* Collective. --check: count what the DataMap says. */
static rlmr_status check_only(run *self, rlmr_error *err) {
    rlmr_status status = scatter_datamap(self, err);
    for (size_t i = 0; i < self->mine.count && status == RLMR_OK; i++) {
        self->sum.statuses[self->mine.captures[i].status] += self->mine.pieces[i].index == 0;
    }
    return status == RLMR_OK ? add_up(self, err) : status;
}

/* Collective. The pipeline. */
static rlmr_status analyse(run *self, rlmr_error *err) {
    rlmr_status status = self->first ? create_file(self, err) : RLMR_OK;
    status = rlmr_comm_agree(self->comm, status, err);
    status = status == RLMR_OK ? scatter_datamap(self, err) : status;
    status = status == RLMR_OK ? map_captures(self, err) : status;
    status = status == RLMR_OK ? add_up(self, err) : status;
    status = status == RLMR_OK
                 ? rlmr_complete(self->comm, &self->partial, &self->options->map, block_bytes(self), err)
                 : status;
    status = status == RLMR_OK ? reduce_tables(self, err) : status;
    rlmr_cleanup_end(); /* on all processes: one that leaves now would take process 0 with it */
    if (self->file != NULL) {
        status = close_file(self, status, err);
    }
    return rlmr_comm_agree(self->comm, status, err);
}

static int exit_code(const run *self, rlmr_status status) {
    if (status != RLMR_OK) {
        return rlmr_status_exit_code(status);
    }
    bool damaged = self->sum.statuses[RLMR_CAPTURE_PARTIAL] > 0 ||
                   self->sum.statuses[RLMR_CAPTURE_FAILED] > 0 || self->sum.unreadable > 0;
    return damaged ? EXIT_DAMAGED : 0;
}

int rlmr_run(rlmr_options *options) {
    run self = {.options = options,
                .message_bytes =
                    (size_t)bytes_from_environment("RLMR_MESSAGE_BYTES", RLMR_MESSAGE_BYTES_DEFAULT)};
    options->map.split_bytes = bytes_from_environment("RLMR_SPLIT_BYTES", SPLIT_BYTES_DEFAULT);
    rlmr_error error;
    rlmr_error_clear(&error);
    rlmr_tables_keep_memory();
    rlmr_status status = rlmr_comm_open(self.message_bytes, &self.comm, &error);
    if (status != RLMR_OK && rlmr_message_silent()) {
        return rlmr_status_exit_code(status);
    }
    if (status != RLMR_OK) {
        rlmr_message(options->verbosity, RLMR_LEVEL_ERROR, "%s", error.message);
        return rlmr_status_exit_code(status);
    }
    self.first = rlmr_comm_rank(self.comm) == 0;
    rlmr_cleanup_install(self.first ? "rl-insight-mr: error: ended by a signal, nothing was written\n"
                                    : NULL);
    status = options->check ? check_only(&self, &error) : analyse(&self, &error);
    rlmr_cleanup_end();
    /* A failure of MPI is not agreed: who has met it says so, and ends the others. */
    if (status == RLMR_E_COMM || (status != RLMR_OK && self.first)) {
        rlmr_message(options->verbosity, RLMR_LEVEL_ERROR, "%s", error.message);
    }
    if (status == RLMR_OK && self.first) {
        print_summary(&self);
    }
    /* mpirun ends the others when a process ends with an error: all must have been said before MPI ends. */
    bool said = rlmr_message_flush(options->verbosity);
    if (status == RLMR_E_COMM) {
        rlmr_comm_abort(self.comm, rlmr_status_exit_code(status));
    }
    rlmr_datamap_release(&self.mine);
    rlmr_partial_release(&self.partial);
    rlmr_comm_close(self.comm);
    int code = exit_code(&self, status);
    return said || !options->check
               ? code
               : rlmr_status_exit_code(RLMR_E_OUTPUT); /* the list is all that --check makes */
}
