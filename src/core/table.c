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

/* Rows in a block that rlmr_table_encode() has made. */
static rlmr_status count_rows(const rlmr_schema *schema, const uint8_t *data, size_t bytes, size_t most,
                              uint32_t *count, rlmr_error *err) {
    *count = 0;
    if (bytes >= sizeof *count) {
        memcpy(count, data, sizeof *count);
    }
    if (bytes < sizeof *count || *count > most ||
        bytes - sizeof *count != *count * rlmr_schema_row_bytes(schema)) {
        return rlmr_error_set(err, RLMR_E_PARSE, "%zu bytes are not a block of at most %zu rows of %s", bytes,
                              most, schema->name);
    }
    return RLMR_OK;
}

rlmr_status rlmr_rows_decode(rlmr_rows *rows, const uint8_t *data, size_t bytes, rlmr_error *err) {
    uint32_t count;
    rlmr_status status = count_rows(rows->schema, data, bytes, rows->capacity, &count, err);
    if (status != RLMR_OK) {
        return status;
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
    enum { MMAP_BYTES = 32 << 20 }; /* the most that glibc takes: what is larger grows by mremap() */
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
    free(table->order);
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

rlmr_status rlmr_table_move(rlmr_table *to, rlmr_table *from, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    if (to->rows == 0) {
        rlmr_table_release(to);
        *to = *from;
        rlmr_table_init(from, from->schema);
        return RLMR_OK;
    }
    for (size_t block = 0; block < from->blocks_count && status == RLMR_OK; block++) {
        status = rlmr_table_append_rows(to, from->blocks[block], err);
        rlmr_table_drop(from, block);
    }
    rlmr_table_release(from);
    return status;
}

/* ---- Order ---- */

static rlmr_status too_many_rows(const rlmr_table *table, rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_RANGE, "more than %" PRIu32 " rows of %s on one process", UINT32_MAX,
                          table->schema->name);
}

uint64_t rlmr_table_place(const rlmr_table *table, uint64_t row) {
    return table->order == NULL ? row : table->order[row];
}

static rlmr_status no_order(const rlmr_table *table, rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the order of %" PRIu64 " rows of %s", table->rows,
                          table->schema->name);
}

rlmr_status rlmr_table_new_order(const rlmr_table *table, uint32_t **out, rlmr_error *err) {
    if (table->rows > UINT32_MAX) {
        return too_many_rows(table, err);
    }
    size_t bytes = ((size_t)table->rows + 1) * sizeof **out;
    *out = malloc(bytes);
    if (*out == NULL) {
        return no_order(table, err);
    }
    rlmr_prefer_large_pages(*out, bytes);
    return RLMR_OK;
}

/* The order that a table without one has. */
static rlmr_status make_order(rlmr_table *table, rlmr_error *err) {
    uint32_t *order = NULL;
    rlmr_status status = rlmr_table_new_order(table, &order, err);
    for (uint64_t row = 0; order != NULL && row < table->rows; row++) {
        order[row] = (uint32_t)row;
    }
    table->order = order;
    return status;
}

rlmr_status rlmr_table_extend_order(rlmr_table *table, const rlmr_bytes *places, rlmr_error *err) {
    rlmr_status status = table->order == NULL ? make_order(table, err) : RLMR_OK;
    size_t more = places->bytes / sizeof *table->order;
    uint64_t rows = table->rows + more;
    if (status == RLMR_OK && rows > UINT32_MAX) {
        status = too_many_rows(table, err);
    }
    if (status == RLMR_OK && more > 0) {
        uint32_t *order = realloc(table->order, (size_t)rows * sizeof *order);
        if (order == NULL) {
            return no_order(table, err);
        }
        memcpy(order + table->rows, places->data, places->bytes);
        table->order = order;
        table->rows = rows;
    }
    return status;
}

void rlmr_table_set_order(rlmr_table *table, uint32_t *order, uint64_t rows) {
    free(table->order);
    table->order = order;
    table->rows = rows;
}

/* Values at places, which lie in many runs: more of them than the processor foresees by itself. Where each lies is all that differs
 * between the types. In a block on its way they lie at any address. */
enum { FORESEEN = 64 };

// NOLINTBEGIN(bugprone-macro-parentheses): a type in a declaration has none
#define GATHER_AND_SCATTER(type)                                                                             \
    static type *at_##type(const rlmr_table *table, uint32_t place, size_t column) {                         \
        return (type *)table->blocks[place / RLMR_BLOCK_ROWS]->columns[column] + place % RLMR_BLOCK_ROWS;    \
    }                                                                                                        \
    static void gather_##type(char *to, const rlmr_table *table, const uint32_t *places, size_t count,       \
                              size_t column) {                                                               \
        for (size_t i = 0; i < count; i++) {                                                                 \
            __builtin_prefetch(at_##type(table, places[i + FORESEEN < count ? i + FORESEEN : i], column));   \
            memcpy(to + i * sizeof(type), at_##type(table, places[i], column), sizeof(type));                \
        }                                                                                                    \
    }                                                                                                        \
    static void scatter_##type(const rlmr_table *table, const uint32_t *places, size_t count, size_t column, \
                               const uint8_t *from) {                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            memcpy(at_##type(table, places[i], column), from + i * sizeof(type), sizeof(type));              \
        }                                                                                                    \
    }
// NOLINTEND(bugprone-macro-parentheses)
GATHER_AND_SCATTER(uint64_t)
GATHER_AND_SCATTER(uint32_t)
GATHER_AND_SCATTER(uint8_t)

static void gather(const rlmr_table *table, const uint32_t *places, size_t count, size_t column, void *to) {
    switch (rlmr_type_bytes(table->schema->columns[column].type)) {
    case sizeof(uint64_t):
        gather_uint64_t(to, table, places, count, column);
        break;
    case sizeof(uint32_t):
        gather_uint32_t(to, table, places, count, column);
        break;
    default:
        gather_uint8_t(to, table, places, count, column);
        break;
    }
}

static void scatter(const rlmr_table *table, const uint32_t *places, size_t count, size_t column,
                    const uint8_t *from) {
    switch (rlmr_type_bytes(table->schema->columns[column].type)) {
    case sizeof(uint64_t):
        scatter_uint64_t(table, places, count, column, from);
        break;
    case sizeof(uint32_t):
        scatter_uint32_t(table, places, count, column, from);
        break;
    default:
        scatter_uint8_t(table, places, count, column, from);
        break;
    }
}

/* Places behind those that there are, for rows in no order yet. */
static rlmr_status add_places(rlmr_table *table, uint32_t *places, size_t count, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < count && status == RLMR_OK;) {
        rlmr_rows *last = table->blocks_count == 0 ? NULL : table->blocks[table->blocks_count - 1];
        if (last == NULL || last->rows == last->capacity) {
            status = add_block(table, err);
            continue;
        }
        uint64_t place = (uint64_t)(table->blocks_count - 1) * RLMR_BLOCK_ROWS + last->rows;
        if (place > UINT32_MAX) {
            return too_many_rows(table, err);
        }
        last->rows++;
        places[at++] = (uint32_t)place;
    }
    return status;
}

rlmr_status rlmr_table_take(rlmr_table *table, rlmr_row_places *places, const rlmr_bytes *block,
                            rlmr_error *err) {
    uint32_t count;
    rlmr_status status = count_rows(table->schema, block->data, block->bytes, RLMR_BLOCK_ROWS, &count, err);
    status = status == RLMR_OK ? rlmr_bytes_reserve(&places->taken, count * sizeof(uint32_t), err) : status;
    if (status != RLMR_OK || count == 0) {
        return status;
    }
    uint32_t *to = (uint32_t *)(void *)(places->taken.data + places->taken.bytes);
    size_t reused = places->free_count < count ? places->free_count : count;
    if (reused > 0) {
        memcpy(to, places->free, reused * sizeof *to);
        places->free += reused;
        places->free_count -= reused;
    }
    status = add_places(table, to + reused, count - reused, err);
    if (status == RLMR_OK) {
        const uint8_t *from = block->data + sizeof count;
        for (size_t c = 0; c < table->schema->columns_count; c++) {
            scatter(table, to, count, c, from);
            from += count * rlmr_type_bytes(table->schema->columns[c].type);
        }
        places->taken.bytes += count * sizeof *to;
    }
    return status;
}

void rlmr_table_drop(rlmr_table *table, size_t block) {
    rlmr_rows_close(table->blocks[block]);
    table->blocks[block] = NULL;
}

void *rlmr_table_value(const rlmr_table *table, uint64_t row, size_t column) {
    row = rlmr_table_place(table, row);
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

void rlmr_table_copy(const rlmr_table *table, uint64_t first, size_t count, size_t column, void *to) {
    size_t bytes = rlmr_type_bytes(table->schema->columns[column].type);
    if (table->order != NULL) {
        gather(table, table->order + first, count, column, to);
        return;
    }
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
