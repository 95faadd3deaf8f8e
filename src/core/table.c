#include "rlmr/table.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

size_t rlmr_type_bytes(rlmr_type type) {
    switch (type) {
    case RLMR_TYPE_I64:
    case RLMR_TYPE_F64:
        return 8;
    case RLMR_TYPE_I32:
    case RLMR_TYPE_TEXT:
        return 4;
    case RLMR_TYPE_U8:
        return 1;
    }
    return 0;
}

size_t rlmr_schema_row_bytes(const rlmr_schema *schema) {
    size_t bytes = 0;
    for (size_t c = 0; c < schema->columns_count; c++) {
        bytes += rlmr_type_bytes(schema->columns[c].type);
    }
    return bytes;
}

size_t rlmr_schema_column(const rlmr_schema *schema, const char *name) {
    size_t c = 0;
    while (c < schema->columns_count && strcmp(schema->columns[c].name, name) != 0) {
        c++;
    }
    return c;
}

static size_t column_bytes(const rlmr_rows *rows, size_t column) {
    return rlmr_type_bytes(rows->schema->columns[column].type);
}

static void *value_at(const rlmr_rows *rows, size_t at, size_t column) {
    return (char *)rows->columns[column] + at * column_bytes(rows, column);
}

rlmr_status rlmr_rows_open(const rlmr_schema *schema, size_t capacity, rlmr_rows **out, rlmr_error *err) {
    *out = NULL;
    /* Each array starts at a multiple of 8; pages that are never written cost no memory. */
    size_t head = sizeof(rlmr_rows) + schema->columns_count * sizeof(void *);
    size_t bytes = head;
    for (size_t c = 0; c < schema->columns_count; c++) {
        bytes += (capacity * rlmr_type_bytes(schema->columns[c].type) + 7) / 8 * 8;
    }
    rlmr_rows *rows = malloc(bytes);
    if (rows == NULL) {
        (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu rows of %s", capacity, schema->name);
        return RLMR_E_NOMEM;
    }
    *rows = (rlmr_rows){.schema = schema, .capacity = capacity, .columns = (void **)(rows + 1)};
    char *place = (char *)rows + head;
    for (size_t c = 0; c < schema->columns_count; c++) {
        rows->columns[c] = place;
        place += (capacity * rlmr_type_bytes(schema->columns[c].type) + 7) / 8 * 8;
    }
    *out = rows;
    return RLMR_OK;
}

void rlmr_rows_close(rlmr_rows *rows) {
    free(rows);
}

void rlmr_rows_copy(rlmr_rows *to, const rlmr_rows *from, size_t at, size_t count) {
    for (size_t c = 0; c < to->schema->columns_count; c++) {
        memcpy(value_at(to, to->rows, c), value_at(from, at, c), count * column_bytes(to, c));
    }
    to->rows += count;
}

int64_t rlmr_rows_key(const rlmr_rows *rows, size_t at, size_t k) {
    size_t column = rows->schema->key[k];
    const void *values = rows->columns[column];
    switch (rows->schema->columns[column].type) {
    case RLMR_TYPE_I64:
        return ((const int64_t *)values)[at];
    case RLMR_TYPE_I32:
        return ((const int32_t *)values)[at];
    case RLMR_TYPE_U8:
        return ((const uint8_t *)values)[at];
    case RLMR_TYPE_TEXT:
        return ((const uint32_t *)values)[at];
    case RLMR_TYPE_F64:
        break;
    }
    return 0;
}

int rlmr_rows_compare(const rlmr_rows *a, size_t at_a, const rlmr_rows *b, size_t at_b) {
    const rlmr_schema *schema = a->schema;
    for (size_t k = 0; k < schema->key_count; k++) {
        int64_t x = rlmr_rows_key(a, at_a, k);
        int64_t y = rlmr_rows_key(b, at_b, k);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

rlmr_status rlmr_rows_decode(rlmr_rows *rows, const uint8_t *data, size_t bytes, rlmr_error *err) {
    uint32_t count = 0;
    size_t row_bytes = rlmr_schema_row_bytes(rows->schema);
    if (bytes >= sizeof count) {
        memcpy(&count, data, sizeof count);
    }
    if (bytes < sizeof count || count > rows->capacity || bytes - sizeof count != count * row_bytes) {
        return rlmr_error_set(err, RLMR_E_PARSE, "%zu bytes are not a block of at most %zu rows of %s", bytes,
                              rows->capacity, rows->schema->name);
    }
    const uint8_t *from = data + sizeof count;
    for (size_t c = 0; c < rows->schema->columns_count; c++) {
        size_t size = count * column_bytes(rows, c);
        memcpy(rows->columns[c], from, size);
        from += size;
    }
    rows->rows = count;
    return RLMR_OK;
}

void rlmr_tables_keep_memory(void) {
    enum { MMAP_BYTES = 32 << 20 }; /* the most that glibc takes: larger ones are not from its heap */
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

void rlmr_table_init(rlmr_table *table, const rlmr_schema *schema) {
    *table = (rlmr_table){.schema = schema};
}

void rlmr_table_release(rlmr_table *table) {
    for (size_t b = 0; b < table->blocks_count; b++) {
        rlmr_rows_close(table->blocks[b]);
    }
    free(table->blocks);
    rlmr_table_init(table, table->schema);
}

static rlmr_status add_block(rlmr_table *table, rlmr_error *err) {
    if (table->blocks_count == table->blocks_capacity) {
        size_t capacity = table->blocks_capacity == 0 ? 16 : table->blocks_capacity * 2;
        rlmr_rows **blocks = realloc(table->blocks, capacity * sizeof(rlmr_rows *));
        if (blocks == NULL) {
            (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu blocks of %s", capacity,
                                 table->schema->name);
            return RLMR_E_NOMEM;
        }
        table->blocks = blocks;
        table->blocks_capacity = capacity;
    }
    rlmr_status status =
        rlmr_rows_open(table->schema, RLMR_BLOCK_ROWS, &table->blocks[table->blocks_count], err);
    if (status == RLMR_OK) {
        table->blocks_count++;
    }
    return status;
}

rlmr_status rlmr_table_append(rlmr_table *table, const void *row, rlmr_error *err) {
    if (table->rows == (uint64_t)table->blocks_count * RLMR_BLOCK_ROWS) {
        rlmr_status status = add_block(table, err);
        if (status != RLMR_OK) {
            return status;
        }
    }
    rlmr_rows *block = table->blocks[table->blocks_count - 1];
    for (size_t c = 0; c < table->schema->columns_count; c++) {
        memcpy(value_at(block, block->rows, c), (const char *)row + table->schema->columns[c].offset,
               column_bytes(block, c));
    }
    block->rows++;
    table->rows++;
    return RLMR_OK;
}

rlmr_status rlmr_table_append_rows(rlmr_table *table, const rlmr_rows *rows, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < rows->rows && status == RLMR_OK;) {
        if (table->rows == (uint64_t)table->blocks_count * RLMR_BLOCK_ROWS) {
            status = add_block(table, err);
        }
        if (status == RLMR_OK) {
            rlmr_rows *block = table->blocks[table->blocks_count - 1];
            size_t left = rows->rows - at;
            size_t count = block->capacity - block->rows < left ? block->capacity - block->rows : left;
            rlmr_rows_copy(block, rows, at, count);
            table->rows += count;
            at += count;
        }
    }
    return status;
}

void rlmr_table_drop(rlmr_table *table, size_t block) {
    rlmr_rows_close(table->blocks[block]);
    table->blocks[block] = NULL;
}

void *rlmr_table_value(const rlmr_table *table, uint64_t row, size_t column) {
    return value_at(table->blocks[row / RLMR_BLOCK_ROWS], row % RLMR_BLOCK_ROWS, column);
}

void rlmr_table_translate(rlmr_table *table, size_t column, const uint32_t *map) {
    for (size_t b = 0; b < table->blocks_count; b++) {
        uint32_t *ids = table->blocks[b]->columns[column];
        for (size_t i = 0; i < table->blocks[b]->rows; i++) {
            ids[i] = map[ids[i]];
        }
    }
}

/* Sorting: a merge sort that begins with the runs that are there, since rows come from files that are mostly in order (Knuth, TAOCP 3,
 * 5.2.4). */

enum { RUN_LEAST = 16 };

/* Row numbers, not rows or keys, change places: fresh memory costs more than looking at the table, where runs lie side by side. */
typedef struct {
    const rlmr_table *table;
    size_t count;
    uint32_t *items; /* in order once it is sorted */
    uint32_t *spare; /* room for as many */
    size_t *starts;  /* of the runs in items, then count */
    size_t runs;
} sorter;

static bool before(const rlmr_table *table, uint32_t a, uint32_t b) {
    return rlmr_rows_compare(table->blocks[a / RLMR_BLOCK_ROWS], a % RLMR_BLOCK_ROWS,
                             table->blocks[b / RLMR_BLOCK_ROWS], b % RLMR_BLOCK_ROWS) < 0;
}

/* The end of the run that begins at `start`; a short one is made longer by insertion. */
static size_t find_run(sorter *sort, size_t start) {
    uint32_t *items = sort->items;
    size_t end = start + 1;
    while (end < sort->count && !before(sort->table, items[end], items[end - 1])) {
        end++;
    }
    for (; end < sort->count && end - start < RUN_LEAST; end++) {
        uint32_t item = items[end];
        size_t at = end;
        for (; at > start && before(sort->table, item, items[at - 1]); at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
    return end;
}

/* The runs start .. middle - 1 and middle .. end - 1 of items as one of spare. */
static void merge_runs(sorter *sort, size_t start, size_t middle, size_t end) {
    const uint32_t *items = sort->items;
    size_t left = start;
    size_t right = middle;
    for (size_t to = start; to < end; to++) {
        bool from_right = right < end && (left == middle || before(sort->table, items[right], items[left]));
        sort->spare[to] = from_right ? items[right++] : items[left++];
    }
}

/* Merge each two neighbours, so that there are half as many runs. */
static void merge_pairs(sorter *sort) {
    size_t merged = 0;
    for (size_t run = 0; run < sort->runs; run += 2) {
        size_t middle = sort->starts[run + 1];
        size_t end = run + 1 < sort->runs ? sort->starts[run + 2] : middle;
        merge_runs(sort, sort->starts[run], middle, end);
        sort->starts[merged++] = sort->starts[run];
    }
    sort->starts[merged] = sort->count;
    sort->runs = merged;
    uint32_t *sorted = sort->spare;
    sort->spare = sort->items;
    sort->items = sorted;
}

/* @return whether rows change places */
static bool sort_items(sorter *sort) {
    for (size_t row = 0; row < sort->count; row++) {
        sort->items[row] = (uint32_t)row;
    }
    for (size_t start = 0; start < sort->count; start = sort->starts[sort->runs]) {
        sort->starts[sort->runs] = start;
        sort->starts[++sort->runs] = find_run(sort, start);
    }
    bool moved = sort->runs > 1;
    for (size_t i = 0; i < sort->count && !moved; i++) {
        moved = sort->items[i] != i;
    }
    while (sort->runs > 1) {
        merge_pairs(sort);
    }
    return moved;
}

/* The values of one column in the order of the rows. Where each comes from is all that differs between the types. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type in a declaration has none
#define GATHER(type)                                                                                         \
    static void gather_##type(type to[], const rlmr_table *table, const uint32_t *rows, size_t count,        \
                              size_t column) {                                                               \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const type *values = table->blocks[rows[i] / RLMR_BLOCK_ROWS]->columns[column];                  \
            to[i] = values[rows[i] % RLMR_BLOCK_ROWS];                                                       \
        }                                                                                                    \
    }
// NOLINTEND(bugprone-macro-parentheses)
GATHER(uint64_t)
GATHER(uint32_t)
GATHER(uint8_t)

/* One column at a time passes through `values`. */
static void arrange_column(const rlmr_table *table, const uint32_t *rows, void *values, size_t column) {
    size_t count = (size_t)table->rows;
    size_t bytes = rlmr_type_bytes(table->schema->columns[column].type);
    switch (bytes) {
    case sizeof(uint64_t):
        gather_uint64_t(values, table, rows, count, column);
        break;
    case sizeof(uint32_t):
        gather_uint32_t(values, table, rows, count, column);
        break;
    default:
        gather_uint8_t(values, table, rows, count, column);
        break;
    }
    for (size_t b = 0; b < table->blocks_count; b++) {
        memcpy(table->blocks[b]->columns[column], (char *)values + b * RLMR_BLOCK_ROWS * bytes,
               table->blocks[b]->rows * bytes);
    }
}

rlmr_status rlmr_table_sort(rlmr_table *table, rlmr_error *err) {
    if (table->rows > UINT32_MAX) {
        return rlmr_error_set(err, RLMR_E_RANGE, "more than %" PRIu32 " rows of %s on one process",
                              UINT32_MAX, table->schema->name);
    }
    size_t count = (size_t)table->rows;
    uint32_t *items = malloc((count + 1) * sizeof *items);
    uint64_t *values = malloc((count + 1) * sizeof *values); /* of one column; first the spare room */
    size_t *starts = malloc((count / RUN_LEAST + 2) * sizeof *starts);
    rlmr_status status = RLMR_OK;
    if (items == NULL || values == NULL || starts == NULL) {
        status =
            rlmr_error_set(err, RLMR_E_NOMEM, "no memory to sort %zu rows of %s", count, table->schema->name);
    } else {
        sorter sort = {
            .table = table, .count = count, .items = items, .spare = (uint32_t *)values, .starts = starts};
        bool moved = sort_items(&sort);
        if (sort.items != items) {
            memcpy(items, sort.items, count * sizeof *items); /* values get their place */
        }
        for (size_t c = 0; moved && c < table->schema->columns_count; c++) {
            arrange_column(table, items, values, c);
        }
    }
    free(items);
    free(values);
    free(starts);
    return status;
}

void rlmr_table_copy(const rlmr_table *table, uint64_t first, size_t count, size_t column, void *to) {
    size_t bytes = rlmr_type_bytes(table->schema->columns[column].type);
    for (size_t done = 0; done < count;) {
        uint64_t row = first + done;
        size_t in_block = RLMR_BLOCK_ROWS - (size_t)(row % RLMR_BLOCK_ROWS);
        size_t some = count - done < in_block ? count - done : in_block;
        memcpy((char *)to + done * bytes, rlmr_table_value(table, row, column), some * bytes);
        done += some;
    }
}

rlmr_status rlmr_table_encode(const rlmr_table *table, uint64_t first, size_t count, rlmr_bytes *out,
                              rlmr_error *err) {
    size_t bytes = sizeof(uint32_t) + count * rlmr_schema_row_bytes(table->schema);
    rlmr_status status = rlmr_bytes_reserve(out, bytes, err);
    if (status == RLMR_OK) {
        status = rlmr_bytes_append_u32(out, (uint32_t)count, err);
    }
    for (size_t c = 0; status == RLMR_OK && c < table->schema->columns_count; c++) {
        rlmr_table_copy(table, first, count, c, out->data + out->bytes);
        out->bytes += count * rlmr_type_bytes(table->schema->columns[c].type);
    }
    return status;
}
