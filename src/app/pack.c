#include "pack.h"

#include "rlmr/chunk.h"

#include <stdlib.h>

typedef struct {
    rlmr_packer *packer;
    void *values;     /* of one column of one chunk */
    rlmr_bytes block; /* the chunk so far */
    size_t last;      /* bytes of the one before */
    rlmr_block_run *packed;
} packing;

static rlmr_status open(packing *to, rlmr_error *err) {
    to->values = malloc(RLMR_BLOCK_ROWS * sizeof(int64_t));
    return to->values == NULL ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory to pack rows")
                              : rlmr_packer_open(&to->packer, err);
}

static uint32_t greatest_of(const uint32_t *codes, size_t count) {
    uint32_t greatest = 0;
    for (size_t i = 0; i < count; i++) {
        greatest = codes[i] > greatest ? codes[i] : greatest;
    }
    return greatest;
}

/* What is in values, behind the columns packed before. */
static rlmr_status append_column(packing *to, size_t column, rlmr_type type, size_t count, rlmr_error *err) {
    uint32_t greatest = type == RLMR_TYPE_TEXT ? greatest_of(to->values, count) : 0;
    rlmr_slice bytes = rlmr_pack(to->packer, to->values, count, rlmr_type_bytes(type));
    rlmr_status status = rlmr_bytes_append_u32(&to->block, (uint32_t)column, err);
    status = status == RLMR_OK ? rlmr_bytes_append_u32(&to->block, (uint32_t)count, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_u32(&to->block, greatest, err) : status;
    return status == RLMR_OK ? rlmr_bytes_append_slice(&to->block, bytes, err) : status;
}

static rlmr_status pack_chunk(packing *to, const rlmr_table *table, uint64_t first, size_t count,
                              uint64_t number, rlmr_error *err) {
    const rlmr_schema *schema = table->schema;
    rlmr_status status = rlmr_bytes_reserve(&to->block, to->last + to->last / 8, err);
    for (size_t c = 0; c < schema->columns_count && status == RLMR_OK; c++) {
        if (schema->columns[c].storage == RLMR_STORED) {
            rlmr_table_copy(table, first, count, c, to->values);
            status = append_column(to, c, schema->columns[c].type, count, err);
        }
    }
    if (schema->index < 0 && status == RLMR_OK) {
        for (size_t i = 0; i < count; i++) {
            ((int64_t *)to->values)[i] = (int64_t)(number + i);
        }
        status = append_column(to, schema->columns_count, RLMR_TYPE_I64, count, err);
    }
    to->last = to->block.bytes;
    return status == RLMR_OK ? rlmr_block_run_keep(to->packed, &to->block, err) : status;
}

rlmr_status rlmr_pack_table(rlmr_table *table, const rlmr_part *part, rlmr_block_run *packed,
                            rlmr_error *err) {
    packing to = {.packed = packed};
    rlmr_status status = table->rows > part->skip ? open(&to, err) : RLMR_OK;
    size_t dropped = 0;
    for (uint64_t first = part->skip; first < table->rows && status == RLMR_OK; first += RLMR_BLOCK_ROWS) {
        uint64_t left = table->rows - first;
        size_t count = left < RLMR_BLOCK_ROWS ? (size_t)left : RLMR_BLOCK_ROWS;
        status = pack_chunk(&to, table, first, count, part->first + (first - part->skip), err);
        /* Rows in another order than their places may lie in any block. */
        while (table->order == NULL && (dropped + 1) * (uint64_t)RLMR_BLOCK_ROWS <= first + count) {
            rlmr_table_drop(table, dropped++);
        }
    }
    rlmr_packer_close(to.packer);
    free(to.values);
    rlmr_bytes_release(&to.block);
    rlmr_table_release(table);
    return status;
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
