#include "pack_rows.h"

#include "rlmr/chunk.h"

#include <CUnit/Basic.h>

static rlmr_status pack_column(const rlmr_sink *sink, rlmr_packer *packer, rlmr_chunk chunk, rlmr_type type,
                               const void *values, rlmr_error *err) {
    for (size_t i = 0; i < chunk.rows && type == RLMR_TYPE_TEXT; i++) {
        uint32_t code = ((const uint32_t *)values)[i];
        chunk.greatest = code > chunk.greatest ? code : chunk.greatest;
    }
    chunk.bytes = rlmr_pack(packer, values, chunk.rows, rlmr_type_bytes(type));
    return sink->chunk(sink->self, &chunk, err);
}

rlmr_status pack_rows(const rlmr_sink *sink, const rlmr_rows *rows, size_t first, rlmr_error *err) {
    static int64_t numbers[RLMR_BLOCK_ROWS];
    const rlmr_schema *schema = rows->schema;
    rlmr_packer *packer = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_packer_open(&packer, NULL), RLMR_OK);
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < schema->columns_count && status == RLMR_OK; c++) {
        if (schema->columns[c].storage == RLMR_STORED) {
            status = pack_column(sink, packer, (rlmr_chunk){.column = c, .rows = rows->rows},
                                 schema->columns[c].type, rows->columns[c], err);
        }
    }
    if (schema->index < 0 && status == RLMR_OK) {
        for (size_t i = 0; i < rows->rows; i++) {
            numbers[i] = (int64_t)(first + i);
        }
        status = pack_column(sink, packer, (rlmr_chunk){.column = schema->columns_count, .rows = rows->rows},
                             RLMR_TYPE_I64, numbers, err);
    }
    rlmr_packer_close(packer);
    return status;
}
