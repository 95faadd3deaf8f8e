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
    uint64_t *bounds; /* processes + 1: where the rows of this process begin, of the one behind it, ... */
    uint64_t sent;    /* the first row that has not been sent */
    rlmr_row_places places; /* of the rows of this process */
    int64_t *counts;        /* by process: rows that it owns */
    rlmr_bytes *heads;      /* by process: rows for it whose chunk it owns, */
    rlmr_bytes *tails;      /* and what came of that from it */
} spread;

static void release(spread *at) {
    for (int p = 0; p < at->processes; p++) {
        if (at->heads != NULL) {
            rlmr_bytes_release(&at->heads[p]);
        }
        if (at->tails != NULL) {
            rlmr_bytes_release(&at->tails[p]);
        }
    }
    free(at->bounds);
    rlmr_bytes_release(&at->places.taken);
    free(at->counts);
    free(at->heads);
    free(at->tails);
}

static rlmr_status reserve(spread *at, rlmr_error *err) {
    size_t processes = (size_t)at->processes;
    at->bounds = calloc(processes + 1, sizeof *at->bounds);
    at->counts = calloc(processes, sizeof *at->counts);
    at->heads = calloc(processes, sizeof *at->heads);
    at->tails = calloc(processes, sizeof *at->tails);
    bool complete = at->bounds != NULL && at->counts != NULL && at->heads != NULL && at->tails != NULL;
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
        status =
            rlmr_splitters_group(at->table, &splitters, owners, at->processes, at->process, at->bounds, err);
    }
    rlmr_bytes_release(&splitters);
    return rlmr_comm_agree(at->comm, status, err);
}

/* ---- Exchange ---- */

static rlmr_status give_rows(void *self, int to, rlmr_bytes *block, rlmr_error *err) {
    spread *at = self;
    int step = (to - at->process + at->processes) % at->processes;
    uint64_t left = at->bounds[step + 1] - at->sent;
    size_t count = left < at->block_rows ? (size_t)left : at->block_rows;
    if (step == 0 || count == 0) { /* its own rows stay where they are */
        return RLMR_OK;
    }
    rlmr_status status = rlmr_table_encode(at->table, at->sent, count, block, err);
    at->sent += count;
    at->places.free_count += count;
    return status;
}

/* Rows that come take the places of those that went. */
static rlmr_status take_rows(void *self, int from, rlmr_bytes *block, rlmr_error *err) {
    (void)from;
    spread *at = self;
    return rlmr_table_take(at->table, &at->places, block, err);
}

/* Collective, not agreed. */
static rlmr_status exchange(spread *at, rlmr_error *err) {
    const rlmr_exchange between = {.produce = give_rows, .consume = take_rows, .self = at};
    rlmr_bytes *taken = &at->places.taken;
    at->sent = at->bounds[1];
    at->places.free = at->table->order + at->sent;
    rlmr_status kept = rlmr_bytes_append(taken, at->table->order, (size_t)at->sent * sizeof(uint32_t), err);
    rlmr_status status = rlmr_comm_agree(at->comm, kept, err);
    status = status == RLMR_OK ? rlmr_comm_exchange(at->comm, &between, err) : status;
    if (status == RLMR_OK) {
        rlmr_table_set_order(at->table, (uint32_t *)(void *)taken->data, taken->bytes / sizeof(uint32_t));
        *taken = (rlmr_bytes){0};
    }
    return status;
}

/* ---- Sort and fold ---- */

static rlmr_status fold_rows(const rlmr_table *table, const rlmr_sink *folding, rlmr_error *err) {
    rlmr_rows *rows = NULL;
    rlmr_status status = rlmr_rows_open(table->schema, RLMR_BLOCK_ROWS, &rows, err);
    for (uint64_t first = 0; first < table->rows && status == RLMR_OK; first += RLMR_BLOCK_ROWS) {
        uint64_t left = table->rows - first;
        rows->rows = left < RLMR_BLOCK_ROWS ? (size_t)left : RLMR_BLOCK_ROWS;
        for (size_t c = 0; c < table->schema->columns_count; c++) {
            rlmr_table_copy(table, first, rows->rows, c, rows->columns[c]);
        }
        status = folding->rows(folding->self, rows, err);
    }
    rlmr_rows_close(rows);
    return status == RLMR_OK ? folding->end(folding->self, err) : status;
}

/* The rows of the sorted table, folded, become the table. */
static rlmr_status fold_table(rlmr_table *table, const int64_t *empty_texts, rlmr_error *err) {
    static const rlmr_slice empty = {.text = "", .bytes = 0};
    rlmr_table folded;
    rlmr_table_init(&folded, table->schema);
    rlmr_sink sink = rlmr_table_sink(&folded);
    rlmr_fold *fold = NULL;
    rlmr_status status = rlmr_fold_open(table->schema, &sink, &fold, err);
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_sink folding = rlmr_fold_sink(fold);
    for (size_t c = 0; c < table->schema->columns_count && status == RLMR_OK; c++) {
        status = empty_texts[c] > 0 ? folding.categories(folding.self, c, &empty, 1, err) : status;
    }
    status = status == RLMR_OK ? fold_rows(table, &folding, err) : status;
    rlmr_fold_close(fold);
    rlmr_table_release(table);
    *table = folded;
    return status;
}

static rlmr_status sort_and_fold(rlmr_table *table, const int64_t *empty_texts, rlmr_error *err) {
    rlmr_status status = rlmr_table_sort(table, err);
    bool folds = table->schema->fold_count > 0;
    return status == RLMR_OK && folds ? fold_table(table, empty_texts, err) : status;
}

/* ---- Whole chunks ---- */

/* Behind all others. */
static rlmr_status append_rows(rlmr_table *table, const rlmr_bytes *block, rlmr_error *err) {
    rlmr_row_places places = {.free_count = 0};
    rlmr_status status = rlmr_table_take(table, &places, block, err);
    status = status == RLMR_OK ? rlmr_table_extend_order(table, &places.taken, err) : status;
    rlmr_bytes_release(&places.taken);
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
        status = at->tails[p].bytes > 0 ? append_rows(at->table, &at->tails[p], err) : status;
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
    if (at.processes > 1) {
        status = status == RLMR_OK ? share_out(&at, rows, err) : status;
        status = status == RLMR_OK ? exchange(&at, err) : status;
    }
    status = status == RLMR_OK ? sort_and_fold(table, empty_texts, err) : status;
    status = status == RLMR_E_COMM ? status : rlmr_comm_agree(comm, status, err);
    status = status == RLMR_OK ? complete_chunks(&at, part, err) : status;
    release(&at);
    return status;
}
