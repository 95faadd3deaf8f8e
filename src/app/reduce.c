#include "reduce.h"

#include "pack.h"

#include <stdlib.h>

/* ---- What both ways begin with: texts become codes ---- */

typedef struct {
    rlmr_sink *sink; /* process 0 */
    size_t column;
} text_consumer;

static rlmr_status consume_texts(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    text_consumer *to = self;
    return rlmr_merge_dictionaries(sources, count, to->column, to->sink, err);
}

/* Collective. @param has_empty out: whether this process has the empty text */
static rlmr_status reduce_texts(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                size_t block_bytes, text_consumer *to, bool *has_empty, rlmr_error *err) {
    rlmr_dictionary *dictionary = NULL;
    rlmr_status status = rlmr_dictionary_open(table, to->column, texts, block_bytes, &dictionary, err);
    status = rlmr_comm_agree(comm, status, err);
    if (status == RLMR_OK) {
        rlmr_source source = rlmr_dictionary_source(dictionary);
        status = rlmr_comm_gather(comm, &source, consume_texts, to, err);
    }
    if (status == RLMR_OK) {
        rlmr_dictionary_translate(dictionary, table);
        *has_empty = rlmr_dictionary_has_empty(dictionary);
    }
    rlmr_dictionary_close(dictionary);
    return status;
}

/* Collective. @param empty_texts out, by column: 1 if this process has the empty text */
static rlmr_status begin(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts, size_t block_bytes,
                         rlmr_sink *sink, int64_t *empty_texts, rlmr_error *err) {
    rlmr_status status = rlmr_comm_rank(comm) == 0 ? sink->begin(sink->self, table->schema, err) : RLMR_OK;
    status = rlmr_comm_agree(comm, status, err);
    for (size_t c = 0; c < table->schema->columns_count && status == RLMR_OK; c++) {
        if (table->schema->columns[c].type == RLMR_TYPE_TEXT) {
            text_consumer to = {.sink = sink, .column = c};
            bool has_empty = false;
            status = reduce_texts(comm, table, texts, block_bytes, &to, &has_empty, err);
            empty_texts[c] = has_empty;
        }
    }
    return status;
}

/* Collective. Memory for one number for each column. */
static rlmr_status reserve_numbers(rlmr_comm *comm, const rlmr_schema *schema, int64_t **numbers,
                                   rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    *numbers = calloc(schema->columns_count + 1, sizeof **numbers);
    if (*numbers == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to reduce %s", schema->name);
    }
    return rlmr_comm_agree(comm, status, err);
}

/* ---- Collect ---- */

typedef struct {
    rlmr_sink *sink;
    const rlmr_schema *schema;
    size_t block_rows;
} row_consumer;

static rlmr_status consume_rows(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    row_consumer *to = self;
    uint64_t rows;
    rlmr_status status = rlmr_merge_rows(to->schema, sources, count, to->block_rows, to->sink, &rows, err);
    return status == RLMR_OK ? to->sink->end(to->sink->self, err) : status;
}

rlmr_status rlmr_reduce_collect(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                size_t block_bytes, rlmr_symtab *to, rlmr_collector **out, rlmr_error *err) {
    rlmr_sink sink = {0};
    int64_t *empty_texts = NULL;
    rlmr_status status = RLMR_OK;
    *out = NULL;
    if (rlmr_comm_rank(comm) == 0) {
        status = rlmr_collector_open(table->schema, to, out, err);
        sink = status == RLMR_OK ? rlmr_collector_sink(*out) : sink;
    }
    status = rlmr_comm_agree(comm, status, err);
    status = status == RLMR_OK ? reserve_numbers(comm, table->schema, &empty_texts, err) : status;
    status = status == RLMR_OK ? begin(comm, table, texts, block_bytes, &sink, empty_texts, err) : status;
    status = status == RLMR_OK ? rlmr_comm_agree(comm, rlmr_table_sort(table, err), err) : status;
    if (status == RLMR_OK) {
        row_consumer consumer = {.sink = &sink,
                                 .schema = table->schema,
                                 .block_rows = rlmr_block_rows(table->schema, block_bytes)};
        rlmr_row_run run = {.table = table, .block_rows = consumer.block_rows};
        rlmr_source source = rlmr_row_run_source(&run);
        status = rlmr_comm_gather(comm, &source, consume_rows, &consumer, err);
    }
    free(empty_texts);
    return status;
}

/* ---- Write ---- */

static rlmr_status write_block(rlmr_sink *sink, const rlmr_bytes *block, rlmr_error *err) {
    rlmr_reader reader = {.data = block->data, .bytes = block->bytes};
    rlmr_status status = RLMR_OK;
    while (reader.at < reader.bytes && status == RLMR_OK) {
        rlmr_chunk chunk;
        status = rlmr_next_chunk(&reader, &chunk, err);
        status = status == RLMR_OK ? sink->chunk(sink->self, &chunk, err) : status;
    }
    return status;
}

/* One process after the other has the next chunks. */
static rlmr_status consume_chunks(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    static const rlmr_bytes no_reply = {0};
    rlmr_sink *sink = self;
    rlmr_bytes block = {0};
    rlmr_status status = RLMR_OK;
    for (int p = 0; p < count && status == RLMR_OK; p++) {
        bool more = true;
        while (more && status == RLMR_OK) {
            rlmr_bytes_clear(&block);
            status = sources[p].next(sources[p].self, &no_reply, &block, err);
            more = block.bytes > 0;
            status = status == RLMR_OK ? write_block(sink, &block, err) : status;
        }
    }
    rlmr_bytes_release(&block);
    return status == RLMR_OK ? sink->end(sink->self, err) : status;
}

/* Collective. Process 0, whose chunks come first, packs and writes one after the other, while all others pack theirs. */
static rlmr_status pack_and_write(rlmr_comm *comm, rlmr_table *table, const rlmr_part *part, rlmr_sink *sink,
                                  rlmr_error *err) {
    rlmr_packing *packing = NULL;
    rlmr_status status = rlmr_comm_agree(comm, rlmr_packing_open(table, part, &packing, err), err);
    if (status == RLMR_OK) {
        if (rlmr_comm_rank(comm) > 0) {
            rlmr_packing_ahead(packing);
        }
        rlmr_source source = rlmr_packing_source(packing);
        status = rlmr_comm_gather(comm, &source, consume_chunks, sink, err);
    }
    rlmr_packing_close(packing);
    return status;
}

/* Collective. `numbers` has the rows of this process behind what is known of its texts. */
static rlmr_status spread_and_write(rlmr_comm *comm, rlmr_table *table, int64_t *numbers, size_t block_bytes,
                                    rlmr_sink *sink, uint64_t *rows, rlmr_error *err) {
    size_t columns = table->schema->columns_count;
    rlmr_part part = {0};
    rlmr_status status = rlmr_comm_sum(comm, numbers, columns + 1, err);
    if (status == RLMR_OK) {
        status = rlmr_spread(comm, table, (uint64_t)numbers[columns], numbers,
                             rlmr_block_rows(table->schema, block_bytes), &part, err);
    }
    status = status == RLMR_OK ? pack_and_write(comm, table, &part, sink, err) : status;
    *rows = rlmr_comm_rank(comm) == 0 ? part.total : 0;
    return status;
}

rlmr_status rlmr_reduce_write(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                              size_t block_bytes, rlmr_sink *sink, uint64_t *rows, rlmr_error *err) {
    int64_t *numbers = NULL;
    *rows = 0;
    rlmr_status status = reserve_numbers(comm, table->schema, &numbers, err);
    status = status == RLMR_OK ? begin(comm, table, texts, block_bytes, sink, numbers, err) : status;
    if (status == RLMR_OK) {
        numbers[table->schema->columns_count] = (int64_t)table->rows;
        status = spread_and_write(comm, table, numbers, block_bytes, sink, rows, err);
    }
    free(numbers);
    return status;
}
