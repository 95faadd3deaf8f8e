#include "reduce.h"

#include "rlmr/reducer.h"

typedef struct {
    rlmr_sink *sink;
    const rlmr_schema *schema;
    size_t column;
    size_t block_rows;
    uint64_t rows;
} consumer;

static rlmr_status consume_texts(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    consumer *to = self;
    return rlmr_merge_dictionaries(sources, count, to->column, to->sink, err);
}

static rlmr_status consume_rows(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    consumer *to = self;
    rlmr_status status =
        rlmr_merge_rows(to->schema, sources, count, to->block_rows, to->sink, &to->rows, err);
    return status == RLMR_OK ? to->sink->end(to->sink->self, err) : status;
}

static rlmr_status reduce_texts(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                size_t block_bytes, consumer *to, rlmr_error *err) {
    rlmr_dictionary *dictionary = NULL;
    rlmr_status status = rlmr_dictionary_open(table, to->column, texts, block_bytes, &dictionary, err);
    status = rlmr_comm_agree(comm, status, err);
    if (status == RLMR_OK) {
        rlmr_source source = rlmr_dictionary_source(dictionary);
        status = rlmr_comm_gather(comm, &source, consume_texts, to, err);
    }
    if (status == RLMR_OK) {
        rlmr_dictionary_translate(dictionary, table);
    }
    rlmr_dictionary_close(dictionary);
    return status;
}

/* On process 0: put a fold before the sink if the table wants one, and begin. */
static rlmr_status begin(consumer *to, rlmr_fold **fold, rlmr_sink *folding, rlmr_error *err) {
    if (to->schema->fold_count > 0) {
        rlmr_status status = rlmr_fold_open(to->schema, to->sink, fold, err);
        if (status != RLMR_OK) {
            return status;
        }
        *folding = rlmr_fold_sink(*fold);
        to->sink = folding;
    }
    return to->sink->begin(to->sink->self, to->schema, err);
}

rlmr_status rlmr_reduce_table(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                              size_t block_bytes, rlmr_sink *sink, uint64_t *rows, rlmr_error *err) {
    consumer to = {
        .sink = sink, .schema = table->schema, .block_rows = rlmr_block_rows(table->schema, block_bytes)};
    rlmr_fold *fold = NULL;
    rlmr_sink folding;
    rlmr_status status = RLMR_OK;
    if (rlmr_comm_rank(comm) == 0) {
        status = begin(&to, &fold, &folding, err);
    }
    status = rlmr_comm_agree(comm, status, err);
    for (; to.column < table->schema->columns_count && status == RLMR_OK; to.column++) {
        if (table->schema->columns[to.column].type == RLMR_TYPE_TEXT) {
            status = reduce_texts(comm, table, texts, block_bytes, &to, err);
        }
    }
    if (status == RLMR_OK) {
        status = rlmr_comm_agree(comm, rlmr_table_sort(table, err), err);
    }
    if (status == RLMR_OK) {
        rlmr_row_run run = {.table = table, .block_rows = to.block_rows};
        rlmr_source source = rlmr_row_run_source(&run);
        status = rlmr_comm_gather(comm, &source, consume_rows, &to, err);
    }
    *rows = fold != NULL ? rlmr_fold_rows(fold) : to.rows;
    rlmr_fold_close(fold);
    return status;
}
