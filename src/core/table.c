#include "rlmr/table.h"

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

void rlmr_rows_copy(rlmr_rows *to, const rlmr_rows *from, size_t at) {
    for (size_t c = 0; c < to->schema->columns_count; c++) {
        memcpy(value_at(to, to->rows, c), value_at(from, at, c), column_bytes(to, c));
    }
    to->rows++;
}

/* Key columns are integers or text ids; every one of them fits int64 in order. */
static int64_t key_value(const rlmr_rows *rows, size_t at, size_t column) {
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
        int64_t x = key_value(a, at_a, schema->key[k]);
        int64_t y = key_value(b, at_b, schema->key[k]);
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

rlmr_status rlmr_table_append_all(rlmr_table *table, const rlmr_table *from, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    uint64_t before = table->rows;
    size_t blocks_before = table->blocks_count;
    while (status == RLMR_OK && (uint64_t)table->blocks_count * RLMR_BLOCK_ROWS < before + from->rows) {
        status = add_block(table, err);
    }
    for (uint64_t row = 0; row < from->rows && status == RLMR_OK; row++, table->rows++) {
        rlmr_rows_copy(table->blocks[table->rows / RLMR_BLOCK_ROWS], from->blocks[row / RLMR_BLOCK_ROWS],
                       row % RLMR_BLOCK_ROWS);
    }
    while (status != RLMR_OK && table->blocks_count > blocks_before) {
        rlmr_rows_close(table->blocks[--table->blocks_count]);
    }
    return status;
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

/* The first key beside the row number: most comparisons end there without touching the table. */
typedef struct {
    int64_t first;
    uint64_t row;
} sort_item;

static int compare_items(const void *left, const void *right, void *context) {
    const sort_item *a = left;
    const sort_item *b = right;
    const rlmr_table *table = context;
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return rlmr_rows_compare(table->blocks[a->row / RLMR_BLOCK_ROWS], a->row % RLMR_BLOCK_ROWS,
                             table->blocks[b->row / RLMR_BLOCK_ROWS], b->row % RLMR_BLOCK_ROWS);
}

rlmr_status rlmr_table_sort(rlmr_table *table, rlmr_error *err) {
    sort_item *items = malloc((table->rows + 1) * sizeof *items);
    uint64_t *order = realloc(table->order, (table->rows + 1) * sizeof *order);
    if (order != NULL) {
        table->order = order;
    }
    if (items == NULL || order == NULL) {
        free(items);
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to sort %llu rows of %s",
                              (unsigned long long)table->rows, table->schema->name);
    }
    for (uint64_t row = 0; row < table->rows; row++) {
        items[row] = (sort_item){.first = key_value(table->blocks[row / RLMR_BLOCK_ROWS],
                                                    row % RLMR_BLOCK_ROWS, table->schema->key[0]),
                                 .row = row};
    }
    qsort_r(items, table->rows, sizeof *items, compare_items, table);
    for (uint64_t i = 0; i < table->rows; i++) {
        order[i] = items[i].row;
    }
    free(items);
    return RLMR_OK;
}

rlmr_status rlmr_table_encode(const rlmr_table *table, uint64_t first, size_t count, rlmr_bytes *out,
                              rlmr_error *err) {
    size_t bytes = sizeof(uint32_t) + count * rlmr_schema_row_bytes(table->schema);
    rlmr_status status = rlmr_bytes_reserve(out, bytes, err);
    if (status == RLMR_OK) {
        status = rlmr_bytes_append_u32(out, (uint32_t)count, err);
    }
    if (status != RLMR_OK) {
        return status;
    }
    uint8_t *to = out->data + out->bytes;
    for (size_t c = 0; c < table->schema->columns_count; c++) {
        size_t size = rlmr_type_bytes(table->schema->columns[c].type);
        for (size_t i = 0; i < count; i++) {
            memcpy(to, rlmr_table_value(table, table->order[first + i], c), size);
            to += size;
        }
    }
    out->bytes += bytes - sizeof(uint32_t);
    return RLMR_OK;
}
