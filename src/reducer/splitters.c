/* Parallel sorting by regular sampling (Shi and Schaeffer, 1992). */
#include "rlmr/splitters.h"

#include <stdlib.h>
#include <string.h>

/* Of all processes together: process 0 sorts them. */
#define SAMPLES_MOST ((uint64_t)1 << 18)
#define SAMPLES_LEAST 16
#define SAMPLES_ENOUGH 1024

size_t rlmr_split_columns(const rlmr_schema *schema) {
    return schema->fold_count > 0 ? schema->fold_count : schema->key_count;
}

/* Value `k` of a row's key. */
static int64_t key_of(const rlmr_table *table, uint64_t row, size_t k) {
    uint64_t place = rlmr_table_place(table, row);
    return rlmr_rows_key(table->blocks[place / RLMR_BLOCK_ROWS], place % RLMR_BLOCK_ROWS, k);
}

static uint64_t samples_of(int processes) {
    uint64_t share = SAMPLES_MOST / (uint64_t)processes;
    if (share < SAMPLES_LEAST) {
        return SAMPLES_LEAST;
    }
    return share < SAMPLES_ENOUGH ? share : SAMPLES_ENOUGH;
}

/* Every process begins at another fraction of its stride, so that equal tables do not give equal samples. */
rlmr_status rlmr_sample(const rlmr_table *table, int process, int processes, rlmr_bytes *out,
                        rlmr_error *err) {
    uint64_t most = samples_of(processes);
    uint64_t count = table->rows < most ? table->rows : most;
    rlmr_status status = RLMR_OK;
    for (uint64_t i = 0; i < count && status == RLMR_OK; i++) {
        uint64_t first = table->rows * i / count;
        uint64_t stands_for = table->rows * (i + 1) / count - first;
        uint64_t row = first + stands_for * (uint64_t)process / (uint64_t)processes;
        for (size_t k = 0; k < rlmr_split_columns(table->schema) && status == RLMR_OK; k++) {
            status = rlmr_bytes_append_i64(out, key_of(table, row, k), err);
        }
        status = status == RLMR_OK ? rlmr_bytes_append_i64(out, (int64_t)stands_for, err) : status;
    }
    return status;
}

static int compare_samples(const void *left, const void *right, void *columns) {
    const int64_t *a = left;
    const int64_t *b = right;
    for (size_t k = 0; k < *(const size_t *)columns; k++) {
        if (a[k] != b[k]) {
            return a[k] < b[k] ? -1 : 1;
        }
    }
    return 0;
}

rlmr_status rlmr_splitters_choose(const rlmr_schema *schema, rlmr_bytes *samples, int owners, rlmr_bytes *out,
                                  rlmr_error *err) {
    size_t columns = rlmr_split_columns(schema);
    size_t sample_bytes = (columns + 1) * sizeof(int64_t);
    if (samples->bytes == 0 || samples->bytes % sample_bytes != 0) {
        return rlmr_error_set(err, RLMR_E_PARSE, "%zu bytes are no samples of %s", samples->bytes,
                              schema->name);
    }
    size_t count = samples->bytes / sample_bytes;
    int64_t *at = (int64_t *)(void *)samples->data;
    int64_t rows = 0;
    qsort_r(at, count, sample_bytes, compare_samples, &columns);
    for (size_t i = 0; i < count; i++) {
        rows += at[i * (columns + 1) + columns];
    }
    rlmr_status status = RLMR_OK;
    int64_t before = 0; /* rows that the samples before `at` stand for */
    size_t i = 0;
    for (int owner = 1; owner < owners && status == RLMR_OK; owner++) {
        int64_t wanted = rows / owners * owner + rows % owners * owner / owners;
        while (i + 1 < count && before + at[columns] / 2 < wanted) {
            before += at[columns];
            at += columns + 1;
            i++;
        }
        status = rlmr_bytes_append(out, at, columns * sizeof(int64_t), err);
    }
    return status;
}

/* Keys that split rows, `columns` numbers each. */
typedef struct {
    const int64_t *keys;
    size_t columns;
    uint32_t owners;
} splits;

/* Whether the row comes before all of the owner behind that splitter. */
static bool is_before(const rlmr_table *table, uint64_t row, const splits *at, uint32_t splitter) {
    const int64_t *key = at->keys + splitter * at->columns;
    for (size_t k = 0; k < at->columns; k++) {
        int64_t value = key_of(table, row, k);
        if (value != key[k]) {
            return value < key[k];
        }
    }
    return false;
}

/* The owner of a row, by bisection unless it is that of the row before, which it mostly is. */
static uint32_t owner_of(const rlmr_table *table, uint64_t row, const splits *at, uint32_t before) {
    bool same = (before == 0 || !is_before(table, row, at, before - 1)) &&
                (before + 1 == at->owners || is_before(table, row, at, before));
    uint32_t least = same ? before : 0;
    uint32_t most = same ? before : at->owners - 1;
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        if (is_before(table, row, at, middle)) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    return least;
}

static void find_owners(const rlmr_table *table, const splits *at, uint32_t *owners) {
    for (uint64_t row = 0; row < table->rows; row++) {
        owners[row] = owner_of(table, row, at, row > 0 ? owners[row - 1] : 0);
    }
}

/* Counting sort: how many rows each has, where they begin, and then where they end, which is where the next begin. */
static void group(const rlmr_table *table, uint32_t *owners, uint32_t processes, uint32_t first,
                  uint64_t *bounds, uint32_t *order) {
    memset(bounds, 0, ((size_t)processes + 1) * sizeof *bounds);
    for (uint64_t row = 0; row < table->rows; row++) {
        owners[row] = owners[row] >= first ? owners[row] - first : owners[row] + processes - first;
        bounds[owners[row] + 1]++;
    }
    for (uint32_t p = 0; p < processes; p++) {
        bounds[p + 1] += bounds[p];
    }
    for (uint64_t row = 0; row < table->rows; row++) {
        order[bounds[owners[row]]++] = (uint32_t)rlmr_table_place(table, row);
    }
    memmove(bounds + 1, bounds, processes * sizeof *bounds);
    bounds[0] = 0;
}

rlmr_status rlmr_splitters_group(rlmr_table *table, const rlmr_bytes *splitters, int owners, int processes,
                                 int first, uint64_t *bounds, rlmr_error *err) {
    splits at = {.keys = (const int64_t *)(const void *)splitters->data,
                 .columns = rlmr_split_columns(table->schema),
                 .owners = (uint32_t)owners};
    if (splitters->bytes != (size_t)(owners - 1) * at.columns * sizeof(int64_t)) {
        return rlmr_error_set(err, RLMR_E_PARSE, "%zu bytes do not split %s for %d processes",
                              splitters->bytes, table->schema->name, owners);
    }
    uint32_t *owner = NULL;
    uint32_t *order = NULL;
    rlmr_status status = rlmr_table_new_order(table, &owner, err);
    status = status == RLMR_OK ? rlmr_table_new_order(table, &order, err) : status;
    if (status == RLMR_OK) {
        find_owners(table, &at, owner);
        group(table, owner, (uint32_t)processes, (uint32_t)first, bounds, order);
        rlmr_table_set_order(table, order, table->rows);
        order = NULL;
    }
    free(owner);
    free(order);
    return status;
}

int rlmr_owners(uint64_t rows, int processes) {
    uint64_t chunks = rows / RLMR_BLOCK_ROWS + (rows % RLMR_BLOCK_ROWS > 0);
    return chunks < (uint64_t)processes ? (int)chunks : processes;
}

uint64_t rlmr_head_rows(const int64_t *counts, int process, int *owner) {
    uint64_t first = 0;
    for (int p = 0; p < process; p++) {
        first += (uint64_t)counts[p];
    }
    *owner = process;
    uint64_t behind = first % RLMR_BLOCK_ROWS; /* rows of the chunk that other processes have */
    if (behind == 0 || counts[process] == 0) {
        return 0;
    }
    for (uint64_t missing = behind; missing > 0;) {
        uint64_t rows = (uint64_t)counts[--*owner];
        missing -= rows < missing ? rows : missing;
    }
    uint64_t head = RLMR_BLOCK_ROWS - behind;
    return head < (uint64_t)counts[process] ? head : (uint64_t)counts[process];
}
