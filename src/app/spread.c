#include "spread.h"

#include "rlmr/reducer.h"
#include "rlmr/splitters.h"

#include <stdlib.h>

typedef struct {
    rlmr_comm *comm;
    int process;
    int processes;
    rlmr_table *table;
    size_t block_rows;
    uint64_t *bounds;     /* processes + 1: where the rows of each begin */
    uint64_t *next;       /* by process: the first of its rows that has not been sent */
    uint64_t *left;       /* by block of the table: rows that have not been sent */
    rlmr_block_run *runs; /* by process: what it has sent */
    rlmr_source *sources; /* of the runs */
    int64_t *counts;      /* by process: rows after the merge */
    rlmr_bytes *heads;    /* by process: rows for it whose chunk it owns, */
    rlmr_bytes *tails;    /* and what came of that from it */
} spread;

static void release(spread *at) {
    for (int p = 0; p < at->processes; p++) {
        if (at->runs != NULL) {
            rlmr_block_run_release(&at->runs[p]);
        }
        if (at->heads != NULL) {
            rlmr_bytes_release(&at->heads[p]);
        }
        if (at->tails != NULL) {
            rlmr_bytes_release(&at->tails[p]);
        }
    }
    free(at->bounds);
    free(at->next);
    free(at->left);
    free(at->runs);
    free(at->sources);
    free(at->counts);
    free(at->heads);
    free(at->tails);
}

static rlmr_status reserve(spread *at, rlmr_error *err) {
    size_t processes = (size_t)at->processes;
    at->bounds = calloc(processes + 1, sizeof *at->bounds);
    at->next = calloc(processes, sizeof *at->next);
    at->left = calloc(at->table->blocks_count + 1, sizeof *at->left);
    at->runs = calloc(processes, sizeof *at->runs);
    at->sources = calloc(processes, sizeof *at->sources);
    at->counts = calloc(processes, sizeof *at->counts);
    at->heads = calloc(processes, sizeof *at->heads);
    at->tails = calloc(processes, sizeof *at->tails);
    bool complete = at->bounds != NULL && at->next != NULL && at->left != NULL && at->runs != NULL &&
                    at->sources != NULL && at->counts != NULL && at->heads != NULL && at->tails != NULL;
    return complete ? RLMR_OK : rlmr_error_set(err, RLMR_E_NOMEM, "no memory to exchange rows");
}

/* ---- Who gets which rows ---- */

typedef struct {
    const spread *at;
    bool given;
    int owners;
    rlmr_bytes *splitters; /* process 0 */
} sampling;

/* The sample of this process, one block. */
static rlmr_status next_sample(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    (void)reply;
    sampling *sample = self;
    const spread *at = sample->at;
    if (sample->given) {
        return RLMR_OK;
    }
    sample->given = true;
    return rlmr_sample(at->table, at->process, at->processes, block, err);
}

static rlmr_status choose(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    const rlmr_bytes no_reply = {0};
    sampling *sample = self;
    rlmr_bytes samples = {0};
    rlmr_bytes block = {0};
    rlmr_status status = RLMR_OK;
    for (int p = 0; p < count && status == RLMR_OK; p++) {
        bool more = true;
        while (status == RLMR_OK && more) {
            rlmr_bytes_clear(&block);
            status = sources[p].next(sources[p].self, &no_reply, &block, err);
            more = block.bytes > 0;
            status = status == RLMR_OK ? rlmr_bytes_append(&samples, block.data, block.bytes, err) : status;
        }
    }
    status = status == RLMR_OK ? rlmr_splitters_choose(sample->at->table->schema, &samples, sample->owners,
                                                       sample->splitters, err)
                               : status;
    rlmr_bytes_release(&samples);
    rlmr_bytes_release(&block);
    return status;
}

/* Collective. Few rows go to process 0, which takes no sample. */
static rlmr_status share_out(spread *at, uint64_t rows, rlmr_error *err) {
    rlmr_bytes splitters = {0};
    sampling sample = {.at = at, .owners = rlmr_owners(rows, at->processes), .splitters = &splitters};
    rlmr_status status = RLMR_OK;
    if (sample.owners > 1) {
        rlmr_source source = {.next = next_sample, .self = &sample};
        status = rlmr_comm_gather(at->comm, &source, choose, &sample, err);
        status = status == RLMR_OK ? rlmr_comm_broadcast(at->comm, &splitters, err) : status;
        if (status == RLMR_E_COMM) {
            rlmr_bytes_release(&splitters);
            return status;
        }
    }
    if (status == RLMR_OK) {
        int owners = sample.owners > 0 ? sample.owners : 1;
        status = rlmr_splitters_bounds(at->table, &splitters, owners, at->processes, at->bounds, err);
    }
    rlmr_bytes_release(&splitters);
    return rlmr_comm_agree(at->comm, status, err);
}

/* ---- Exchange ---- */

/* A block of which all rows are sent is of no more use. */
static void note_sent(spread *at, uint64_t first, size_t count) {
    for (uint64_t row = first; row < first + count;) {
        size_t block = (size_t)(row / RLMR_BLOCK_ROWS);
        uint64_t end = (uint64_t)(block + 1) * RLMR_BLOCK_ROWS;
        end = end < first + count ? end : first + count;
        at->left[block] -= end - row;
        if (at->left[block] == 0) {
            rlmr_table_drop(at->table, block);
        }
        row = end;
    }
}

static rlmr_status give_rows(void *self, int to, rlmr_bytes *block, rlmr_error *err) {
    spread *at = self;
    uint64_t first = at->next[to];
    uint64_t left = at->bounds[to + 1] - first;
    size_t count = left < at->block_rows ? (size_t)left : at->block_rows;
    if (count == 0) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_table_encode(at->table, first, count, block, err);
    if (status == RLMR_OK) {
        at->next[to] += count;
        note_sent(at, first, count);
    }
    return status;
}

static rlmr_status take_rows(void *self, int from, rlmr_bytes *block, rlmr_error *err) {
    spread *at = self;
    return rlmr_block_run_keep(&at->runs[from], block, err);
}

/* Collective, not agreed. */
static rlmr_status exchange(spread *at, rlmr_error *err) {
    const rlmr_exchange between = {.produce = give_rows, .consume = take_rows, .self = at};
    for (size_t b = 0; b < at->table->blocks_count; b++) {
        at->left[b] = at->table->blocks[b]->rows;
    }
    for (int p = 0; p < at->processes; p++) {
        at->next[p] = at->bounds[p];
    }
    return rlmr_comm_exchange(at->comm, &between, err);
}

/* ---- Merge ---- */

static rlmr_status merge_into(spread *at, rlmr_sink *sink, rlmr_error *err) {
    uint64_t rows;
    for (int p = 0; p < at->processes; p++) {
        at->sources[p] = rlmr_block_run_source(&at->runs[p]);
    }
    rlmr_status status =
        rlmr_merge_rows(at->table->schema, at->sources, at->processes, at->block_rows, sink, &rows, err);
    return status == RLMR_OK ? sink->end(sink->self, err) : status;
}

static rlmr_status merge_and_fold(spread *at, rlmr_sink *sink, const int64_t *empty_texts, rlmr_error *err) {
    static const rlmr_slice empty = {.text = "", .bytes = 0};
    rlmr_fold *fold = NULL;
    rlmr_status status = rlmr_fold_open(at->table->schema, sink, &fold, err);
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_sink folding = rlmr_fold_sink(fold);
    for (size_t c = 0; c < at->table->schema->columns_count && status == RLMR_OK; c++) {
        status = empty_texts[c] > 0 ? folding.categories(folding.self, c, &empty, 1, err) : status;
    }
    status = status == RLMR_OK ? merge_into(at, &folding, err) : status;
    rlmr_fold_close(fold);
    return status;
}

/* The runs, in order, become the table. */
static rlmr_status merge(spread *at, const int64_t *empty_texts, rlmr_error *err) {
    const rlmr_schema *schema = at->table->schema;
    rlmr_table_release(at->table);
    rlmr_sink sink = rlmr_table_sink(at->table);
    return schema->fold_count > 0 ? merge_and_fold(at, &sink, empty_texts, err) : merge_into(at, &sink, err);
}

/* ---- Whole chunks ---- */

static rlmr_status append_block(rlmr_table *table, const rlmr_bytes *block, rlmr_error *err) {
    rlmr_rows *rows = NULL;
    if (block->bytes == 0) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_rows_open(table->schema, RLMR_BLOCK_ROWS, &rows, err);
    status = status == RLMR_OK ? rlmr_rows_decode(rows, block->data, block->bytes, err) : status;
    status = status == RLMR_OK ? rlmr_table_append_rows(table, rows, err) : status;
    rlmr_rows_close(rows);
    return status;
}

/* Collective. A process whose rows begin inside a chunk sends them, as far as the chunk goes, to the process on which it begins. */
static rlmr_status complete_chunks(spread *at, rlmr_part *part, rlmr_error *err) {
    int owner = 0;
    at->counts[at->process] = (int64_t)at->table->rows;
    rlmr_status status = rlmr_comm_sum(at->comm, at->counts, (size_t)at->processes, err);
    if (status != RLMR_OK) {
        return status;
    }
    *part = (rlmr_part){.skip = rlmr_head_rows(at->counts, at->process, &owner)};
    for (int p = 0; p < at->processes; p++) {
        part->first += p < at->process ? (uint64_t)at->counts[p] : 0;
        part->total += (uint64_t)at->counts[p];
    }
    part->first += part->skip;
    if (part->skip > 0) {
        status = rlmr_table_encode(at->table, 0, (size_t)part->skip, &at->heads[owner], err);
    }
    status = rlmr_comm_agree(at->comm, status, err);
    status = status == RLMR_OK ? rlmr_comm_exchange_parts(at->comm, at->heads, at->tails, err) : status;
    for (int p = 0; p < at->processes && status == RLMR_OK; p++) {
        status = append_block(at->table, &at->tails[p], err);
    }
    return status == RLMR_E_COMM ? status : rlmr_comm_agree(at->comm, status, err);
}

rlmr_status rlmr_spread(rlmr_comm *comm, rlmr_table *table, uint64_t rows, const int64_t *empty_texts,
                        size_t block_rows, rlmr_part *part, rlmr_error *err) {
    spread at = {.comm = comm,
                 .process = rlmr_comm_rank(comm),
                 .processes = rlmr_comm_size(comm),
                 .table = table,
                 .block_rows = block_rows};
    rlmr_status status = rlmr_comm_agree(comm, reserve(&at, err), err);
    status = status == RLMR_OK ? share_out(&at, rows, err) : status;
    if (status == RLMR_OK) {
        status = exchange(&at, err);
        status = status == RLMR_OK ? merge(&at, empty_texts, err) : status;
        status = status == RLMR_E_COMM ? status : rlmr_comm_agree(comm, status, err);
    }
    status = status == RLMR_OK ? complete_chunks(&at, part, err) : status;
    release(&at);
    return status;
}
