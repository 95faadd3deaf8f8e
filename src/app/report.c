#include "report.h"

#include "reduce.h"
#include "rlmr/message.h"

static rlmr_slice text_of(const rlmr_table *captures, const rlmr_symtab *texts, uint64_t row,
                          const char *name) {
    size_t column = rlmr_schema_column(captures->schema, name);
    return rlmr_symtab_text(texts, *(const uint32_t *)rlmr_table_value(captures, row, column));
}

static void say(const rlmr_table *captures, const rlmr_symtab *texts, uint64_t row, int verbosity) {
    rlmr_slice path = text_of(captures, texts, row, "path");
    rlmr_slice status = text_of(captures, texts, row, "status");
    rlmr_slice message = text_of(captures, texts, row, "message");
    bool ok = rlmr_slice_equal(status, RLMR_SLICE("ok"));
    if (ok && message.bytes == 0) {
        return;
    }
    rlmr_message(verbosity, ok ? RLMR_LEVEL_INFO : RLMR_LEVEL_WARNING, "capture %.*s is %.*s: %.*s",
                 (int)path.bytes, path.text, (int)status.bytes, status.text, (int)message.bytes,
                 message.text);
}

rlmr_status rlmr_report_captures(rlmr_comm *comm, rlmr_partial *partial, size_t block_bytes, int verbosity,
                                 rlmr_error *err) {
    rlmr_table *captures = &partial->tables[RLMR_TABLE_captures];
    rlmr_collector *collected = NULL;
    rlmr_status status =
        rlmr_reduce_collect(comm, captures, partial->texts, block_bytes, partial->texts, &collected, err);
    rlmr_table_release(captures);
    if (status == RLMR_OK && collected != NULL) {
        rlmr_table *all = rlmr_collector_table(collected);
        for (uint64_t row = 0; row < all->rows; row++) {
            say(all, partial->texts, row, verbosity);
        }
        *captures = *all;
        rlmr_table_init(all, captures->schema);
    }
    rlmr_collector_close(collected);
    return status;
}
