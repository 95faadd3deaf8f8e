#include "pack.h"

#include "rlmr/chunk.h"

#include <stdlib.h>

struct rlmr_packing {
    rlmr_table *table;
    rlmr_part part;
    uint64_t next; /* row of the table with which the next chunk begins */
    rlmr_packer *packer;
    void *values;          /* of one column of one chunk */
    size_t last;           /* bytes of the chunk before */
    rlmr_block_run packed; /* ahead */
    rlmr_source ahead;
    rlmr_status status; /* of packing ahead, */
    rlmr_error error;   /* which is told when the next chunk is asked for */
};

rlmr_status rlmr_packing_open(rlmr_table *table, const rlmr_part *part, rlmr_packing **out, rlmr_error *err) {
    rlmr_packing *packing = calloc(1, sizeof *packing);
    *out = packing;
    if (packing != NULL) {
        packing->table = table;
        packing->part = *part;
        packing->next = part->skip;
        packing->ahead = rlmr_block_run_source(&packing->packed);
        rlmr_error_clear(&packing->error);
        packing->values = malloc(RLMR_BLOCK_ROWS * sizeof(int64_t));
    }
    return packing == NULL || packing->values == NULL
               ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory to pack rows")
               : rlmr_packer_open(&packing->packer, err);
}

void rlmr_packing_close(rlmr_packing *packing) {
    if (packing != NULL) {
        rlmr_block_run_release(&packing->packed);
        rlmr_packer_close(packing->packer);
        rlmr_table_release(packing->table);
        free(packing->values);
        free(packing);
    }
}

static uint32_t greatest_of(const uint32_t *codes, size_t count) {
    uint32_t greatest = 0;
    for (size_t i = 0; i < count; i++) {
        greatest = codes[i] > greatest ? codes[i] : greatest;
    }
    return greatest;
}

/* What is in values, behind the columns packed before. */
static rlmr_status append_column(const rlmr_packing *from, size_t column, rlmr_type type, size_t count,
                                 rlmr_bytes *block, rlmr_error *err) {
    uint32_t greatest = type == RLMR_TYPE_TEXT ? greatest_of(from->values, count) : 0;
    rlmr_slice bytes = rlmr_pack(from->packer, from->values, count, rlmr_type_bytes(type));
    rlmr_status status = rlmr_bytes_append_u32(block, (uint32_t)column, err);
    status = status == RLMR_OK ? rlmr_bytes_append_u32(block, (uint32_t)count, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_u32(block, greatest, err) : status;
    return status == RLMR_OK ? rlmr_bytes_append_slice(block, bytes, err) : status;
}

/* Rows next .. next + count - 1 of the table. */
static rlmr_status pack_columns(rlmr_packing *from, size_t count, rlmr_bytes *block, rlmr_error *err) {
    const rlmr_schema *schema = from->table->schema;
    int64_t *values = from->values;
    rlmr_status status = rlmr_bytes_reserve(block, from->last + from->last / 8, err);
    for (size_t c = 0; c < schema->columns_count && status == RLMR_OK; c++) {
        if (schema->columns[c].storage == RLMR_STORED) {
            rlmr_table_copy(from->table, from->next, count, c, values);
            status = append_column(from, c, schema->columns[c].type, count, block, err);
        }
    }
    if (schema->index < 0 && status == RLMR_OK) {
        uint64_t number = from->part.first + (from->next - from->part.skip);
        for (size_t i = 0; i < count; i++) {
            values[i] = (int64_t)(number + i);
        }
        status = append_column(from, schema->columns_count, RLMR_TYPE_I64, count, block, err);
    }
    return status;
}

/* The next chunk, behind what is in `block`; nothing behind the last. */
static rlmr_status pack_chunk(rlmr_packing *from, rlmr_bytes *block, rlmr_error *err) {
    rlmr_table *table = from->table;
    if (from->next >= table->rows) {
        return RLMR_OK;
    }
    uint64_t left = table->rows - from->next;
    size_t count = left < RLMR_BLOCK_ROWS ? (size_t)left : RLMR_BLOCK_ROWS;
    rlmr_status status = pack_columns(from, count, block, err);
    from->last = block->bytes;
    /* Rows in another order than their places may lie in any block. */
    size_t block_of = (size_t)(from->next / RLMR_BLOCK_ROWS);
    from->next += count;
    if (table->order == NULL && from->next >= (block_of + 1) * (uint64_t)RLMR_BLOCK_ROWS) {
        rlmr_table_drop(table, block_of);
    }
    return status;
}

void rlmr_packing_ahead(rlmr_packing *packing) {
    rlmr_bytes block = {0};
    while (packing->next < packing->table->rows && packing->status == RLMR_OK) {
        packing->status = pack_chunk(packing, &block, &packing->error);
        if (packing->status == RLMR_OK) {
            packing->status = rlmr_block_run_keep(&packing->packed, &block, &packing->error);
        }
    }
    rlmr_bytes_release(&block);
}

static rlmr_status next_chunk(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    rlmr_packing *packing = self;
    if (packing->status != RLMR_OK) {
        return rlmr_error_set(err, packing->status, "%s", packing->error.message);
    }
    if (packing->packed.at < packing->packed.count) {
        return packing->ahead.next(packing->ahead.self, reply, block, err);
    }
    rlmr_bytes_clear(block);
    return pack_chunk(packing, block, err);
}

rlmr_source rlmr_packing_source(rlmr_packing *packing) {
    return (rlmr_source){.next = next_chunk, .self = packing};
}

rlmr_status rlmr_next_chunk(rlmr_reader *block, rlmr_chunk *chunk, rlmr_error *err) {
    uint32_t column = 0;
    uint32_t rows = 0;
    rlmr_status status = rlmr_reader_u32(block, &column, err);
    status = status == RLMR_OK ? rlmr_reader_u32(block, &rows, err) : status;
    status = status == RLMR_OK ? rlmr_reader_u32(block, &chunk->greatest, err) : status;
    status = status == RLMR_OK ? rlmr_reader_slice(block, &chunk->bytes, err) : status;
    chunk->column = column;
    chunk->rows = rows;
    return status;
}
