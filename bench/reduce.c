/* The reduce phase alone, from mapped rows to the closed file, against shuffling and deflating the same columns on the same processes.
 *
 *     mpirun -np N bench_reduce OUT.h5 [ROWS]      ROWS in all processes together, 20,000,000
 *
 * Prints one line of JSON: seconds, their ratio, and the peak memory of each process. */
#include "reduce.h"
#include "pack.h"
#include "rlmr/hdf5_sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { CAPTURE_ROWS = 200000, NAMES = 60, STACKS = 400, STACK_BYTES = 2000 };
#define BLOCK_BYTES ((size_t)1 << 20)

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static rlmr_status intern(rlmr_symtab *texts, uint32_t *id, const char *kind, int number, size_t bytes,
                          rlmr_error *err) {
    char text[STACK_BYTES + 64];
    int head = snprintf(text, sizeof text, "%s %d", kind, number);
    size_t length = (size_t)head < bytes ? bytes : (size_t)head;
    memset(text + head, 'x', length - (size_t)head);
    return rlmr_symtab_intern(texts, (rlmr_slice){.text = text, .bytes = length}, id, err);
}

typedef struct {
    uint32_t names[NAMES];
    uint32_t stacks[STACKS];
    uint32_t tops[STACKS];
    uint32_t role;
    uint32_t component;
    uint32_t match[2];
    uint32_t device;
    uint32_t stream;
} text_ids;

static rlmr_status intern_all(rlmr_symtab *texts, text_ids *ids, rlmr_error *err) {
    rlmr_status status = intern(texts, &ids->role, "actor", 0, 0, err);
    status = status == RLMR_OK ? intern(texts, &ids->component, "PTA", 0, 0, err) : status;
    status = status == RLMR_OK ? intern(texts, &ids->match[0], "enclosing", 0, 0, err) : status;
    status = status == RLMR_OK ? intern(texts, &ids->match[1], "none", 0, 0, err) : status;
    status = status == RLMR_OK ? intern(texts, &ids->device, "NPU:", 0, 0, err) : status;
    status = status == RLMR_OK ? intern(texts, &ids->stream, "", 1234567, 0, err) : status;
    for (int i = 0; i < NAMES && status == RLMR_OK; i++) {
        status = intern(texts, &ids->names[i], "aten::operator", i * 37 % NAMES, 0, err);
    }
    for (int i = 0; i < STACKS && status == RLMR_OK; i++) {
        status = intern(texts, &ids->stacks[i], "stack", i * 7 % STACKS, STACK_BYTES, err);
        status = status == RLMR_OK ? intern(texts, &ids->tops[i], "top", i * 7 % STACKS, 90, err) : status;
    }
    return status;
}

/* Captures one after the other, each in the order of its times as in a file; all of the same minutes. */
static rlmr_status fill(rlmr_table *table, const text_ids *ids, uint64_t first, uint64_t rows,
                        rlmr_error *err) {
    uint64_t state = first + 1;
    int64_t time_ns = 0;
    double allocated_kb = 0;
    rlmr_status status = RLMR_OK;
    for (uint64_t i = 0; i < rows && status == RLMR_OK; i++) {
        uint64_t row = first + i;
        if (row % CAPTURE_ROWS == 0 || i == 0) {
            time_ns = INT64_C(1736408883694624810) + (int64_t)(row / CAPTURE_ROWS) * 1000;
            allocated_kb = 8e6;
        }
        time_ns += (int64_t)(next_random(&state) % 20000) * 10;
        double size_kb = (next_random(&state) % 64) * 0.5 * (next_random(&state) % 16 == 0 ? 512 : 1);
        allocated_kb += next_random(&state) % 2 == 0 ? size_kb : -size_kb;
        uint32_t stack = next_random(&state) % STACKS * (next_random(&state) % STACKS) / STACKS;
        rlmr_memory_events_row values = {
            .start_time_ns = time_ns,
            .name = ids->names[stack % NAMES],
            .role = ids->role,
            .rank_id = (int32_t)(row / CAPTURE_ROWS),
            .capture = (int32_t)(row / CAPTURE_ROWS),
            .component = ids->component,
            .call_stack = ids->stacks[stack],
            .call_stack_top = ids->tops[stack],
            .call_stack_match = ids->match[next_random(&state) % 8 == 0],
            .size_kb = size_kb,
            .start_time_ms = (double)time_ns / 1e6,
            .duration_ms = next_random(&state) % 100000 * 0.001,
            .active_duration_ms = NAN,
            .is_released = 1,
            .total_allocated_mb = allocated_kb / 1024,
            .total_reserved_mb = 10240,
            .total_active_mb = allocated_kb / 1024,
            .device_type = ids->device,
            .stream = ids->stream,
            .file_row = (int64_t)(row % CAPTURE_ROWS),
        };
        status = rlmr_table_append(table, &values, err);
    }
    return status;
}

/* Collective. The greatest of all processes, and each of them. */
static rlmr_status share(rlmr_comm *comm, double value, double *greatest, int64_t *all, rlmr_error *err) {
    int size = rlmr_comm_size(comm);
    memset(all, 0, (size_t)size * sizeof *all);
    all[rlmr_comm_rank(comm)] = (int64_t)(value * 1e6);
    rlmr_status status = rlmr_comm_sum(comm, all, (size_t)size, err);
    *greatest = 0;
    for (int p = 0; p < size; p++) {
        *greatest = (double)all[p] / 1e6 > *greatest ? (double)all[p] / 1e6 : *greatest;
    }
    return status;
}

typedef struct {
    rlmr_comm *comm;
    rlmr_symtab *texts;
    text_ids ids;
    rlmr_table table;
    uint64_t first;
    uint64_t rows;
    int64_t *all;
} bench;

static rlmr_status refill(bench *self, rlmr_error *err) {
    double all_ready;
    rlmr_status status = fill(&self->table, &self->ids, self->first, self->rows, err);
    status = rlmr_comm_agree(self->comm, status, err);
    return status == RLMR_OK ? share(self->comm, 0, &all_ready, self->all, err) : status;
}

static rlmr_status time_reduce(bench *self, const char *path, double *seconds, rlmr_error *err) {
    rlmr_hdf5 *file = NULL;
    rlmr_sink sink = {0};
    uint64_t rows;
    bool first = rlmr_comm_rank(self->comm) == 0;
    rlmr_status status = first ? rlmr_hdf5_create(path, true, &file, err) : RLMR_OK;
    status = rlmr_comm_agree(self->comm, status, err);
    if (status != RLMR_OK) {
        return status;
    }
    sink = first ? rlmr_hdf5_sink(file) : sink;
    double start = now();
    status = rlmr_reduce_write(self->comm, &self->table, self->texts, BLOCK_BYTES, &sink, &rows, err);
    if (first && status == RLMR_OK) {
        status = rlmr_hdf5_commit(file, err);
    } else if (first) {
        rlmr_hdf5_discard(file);
    }
    status = rlmr_comm_agree(self->comm, status, err);
    return status == RLMR_OK ? share(self->comm, now() - start, seconds, self->all, err) : status;
}

/* Bring the values to the place of their row. */
static rlmr_status arrange(rlmr_table *table, rlmr_error *err) {
    rlmr_table arranged;
    rlmr_rows *rows = NULL;
    rlmr_table_init(&arranged, table->schema);
    rlmr_status status = rlmr_table_sort(table, err);
    status = status == RLMR_OK ? rlmr_rows_open(table->schema, RLMR_BLOCK_ROWS, &rows, err) : status;
    for (uint64_t first = 0; first < table->rows && status == RLMR_OK; first += RLMR_BLOCK_ROWS) {
        uint64_t left = table->rows - first;
        rows->rows = left < RLMR_BLOCK_ROWS ? (size_t)left : RLMR_BLOCK_ROWS;
        for (size_t c = 0; c < table->schema->columns_count; c++) {
            rlmr_table_copy(table, first, rows->rows, c, rows->columns[c]);
        }
        status = rlmr_table_append_rows(&arranged, rows, err);
    }
    rlmr_rows_close(rows);
    rlmr_table_release(table);
    *table = arranged;
    return status;
}

static rlmr_status time_pack(bench *self, double *seconds, rlmr_error *err) {
    const rlmr_part part = {0};
    rlmr_packing *packing = NULL;
    double start = 0;
    rlmr_status status = rlmr_comm_agree(self->comm, arrange(&self->table, err), err);
    if (status == RLMR_OK) {
        start = now();
        status = rlmr_packing_open(&self->table, &part, &packing, err);
        if (status == RLMR_OK) {
            rlmr_packing_ahead(packing);
        }
        status = rlmr_comm_agree(self->comm, status, err);
    }
    rlmr_packing_close(packing);
    return status == RLMR_OK ? share(self->comm, now() - start, seconds, self->all, err) : status;
}

static double peak_mb(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static rlmr_status measure(bench *self, const char *path, rlmr_error *err) {
    int size = rlmr_comm_size(self->comm);
    double reduce_s = 0;
    double pack_s = 0;
    double mb = 0;
    int64_t *peaks = calloc((size_t)size, sizeof *peaks);
    rlmr_status status = peaks == NULL ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory") : RLMR_OK;
    status = rlmr_comm_agree(self->comm, status, err);
    status = status == RLMR_OK ? refill(self, err) : status;
    double mapped_mb = peak_mb();
    status = status == RLMR_OK ? time_reduce(self, path, &reduce_s, err) : status;
    status = status == RLMR_OK ? share(self->comm, peak_mb(), &mb, peaks, err) : status;
    status = status == RLMR_OK ? refill(self, err) : status;
    status = status == RLMR_OK ? time_pack(self, &pack_s, err) : status;
    if (status == RLMR_OK && rlmr_comm_rank(self->comm) == 0) {
        printf("{\"rows\": %" PRIu64 ", \"processes\": %d, \"reduce_s\": %.3f, \"pack_s\": %.3f, "
               "\"ratio\": %.2f, \"mapped_mb\": %.0f, \"peak_mb\": [",
               self->rows * (uint64_t)size, size, reduce_s, pack_s, reduce_s / pack_s, mapped_mb);
        for (int p = 0; p < size; p++) {
            printf("%s%.0f", p == 0 ? "" : ", ", (double)peaks[p] / 1e6);
        }
        printf("]}\n");
    }
    free(peaks);
    return status;
}

int main(int argc, char **argv) {
    bench self = {0};
    rlmr_error err;
    rlmr_error_clear(&err);
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_reduce OUT.h5 [ROWS]\n");
        return 2;
    }
    uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000000;
    rlmr_tables_keep_memory();
    rlmr_status status = rlmr_comm_open(RLMR_MESSAGE_BYTES_DEFAULT, &self.comm, &err);
    if (status == RLMR_OK) {
        self.rows = rows / (uint64_t)rlmr_comm_size(self.comm);
        self.first = self.rows * (uint64_t)rlmr_comm_rank(self.comm);
        self.all = calloc((size_t)rlmr_comm_size(self.comm), sizeof *self.all);
        rlmr_table_init(&self.table, &rlmr_memory_events_schema);
        status = self.all == NULL ? rlmr_error_set(&err, RLMR_E_NOMEM, "no memory") : RLMR_OK;
        status = status == RLMR_OK ? rlmr_symtab_open(&self.texts, &err) : status;
        status = status == RLMR_OK ? intern_all(self.texts, &self.ids, &err) : status;
        status = rlmr_comm_agree(self.comm, status, &err);
        status = status == RLMR_OK ? measure(&self, argv[1], &err) : status;
        rlmr_table_release(&self.table);
        rlmr_symtab_close(self.texts);
        free(self.all);
    }
    if (status != RLMR_OK) {
        (void)fprintf(stderr, "bench_reduce: %s\n", err.message);
    }
    rlmr_comm_close(self.comm);
    return status == RLMR_OK ? 0 : 1;
}
