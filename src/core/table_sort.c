/* Sorting: a merge sort that begins with the runs that are there, since rows come from files that are mostly in order, and merges many of
 * them at once with a tree of losers (Knuth, TAOCP 3, 5.2.4 and 5.4.1). */
#include "rlmr/table.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    RUN_LEAST = 16,
    MERGED_AT_ONCE = 2048, /* runs: what is known of each stays in the second cache */
};

/* A run in a merge. */
typedef struct {
    const uint32_t *at;
    const uint32_t *end;
} head;

/* The numbers of places are sorted, not the rows. */
typedef struct {
    const rlmr_table *table;
    size_t count;
    size_t key_bytes; /* of the leading key */
    uint32_t *items;  /* in order once it is sorted */
    uint32_t *spare;  /* room for as many */
    size_t *starts;   /* of the runs in items, then count */
    size_t runs;
    head heads[MERGED_AT_ONCE];
    int64_t keys
        [MERGED_AT_ONCE]; /* the leading one of each run's first row: most comparisons do not look at the table */
    uint32_t losers[MERGED_AT_ONCE]; /* by node of the tree, 1 is the root: the run that lost there */
} sorter;

static bool before(const rlmr_table *table, uint32_t a, uint32_t b) {
    return rlmr_rows_compare(table->blocks[a / RLMR_BLOCK_ROWS], a % RLMR_BLOCK_ROWS,
                             table->blocks[b / RLMR_BLOCK_ROWS], b % RLMR_BLOCK_ROWS) < 0;
}

static int64_t leading_key(const sorter *sort, uint32_t place) {
    return rlmr_rows_key(sort->table->blocks[place / RLMR_BLOCK_ROWS], place % RLMR_BLOCK_ROWS, 0);
}

/* The end of the run that begins at `start`; a short one is made longer by insertion. */
static size_t find_run(const sorter *sort, size_t start) {
    uint32_t *items = sort->items;
    size_t end = start + 1;
    int64_t last = leading_key(sort, items[start]);
    for (; end < sort->count; end++) {
        int64_t key = leading_key(sort, items[end]);
        if (key < last || (key == last && before(sort->table, items[end], items[end - 1]))) {
            break;
        }
        last = key;
    }
    for (; end < sort->count && end - start < RUN_LEAST; end++) {
        uint32_t item = items[end];
        size_t at = end;
        for (; at > start && before(sort->table, item, items[at - 1]); at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
    return end;
}

/* Runs that are used up have the greatest key, and come last. */
static bool equal_before(const sorter *sort, uint32_t a, uint32_t b) {
    const head *x = &sort->heads[a];
    const head *y = &sort->heads[b];
    if (x->at == x->end || y->at == y->end) {
        return y->at == y->end && (x->at < x->end || a < b);
    }
    return before(sort->table, *x->at, *y->at) || (a < b && !before(sort->table, *y->at, *x->at));
}

static bool run_before(const sorter *sort, uint32_t a, uint32_t b) {
    int64_t x = sort->keys[a];
    int64_t y = sort->keys[b];
    return x == y ? equal_before(sort, a, b) : x < y;
}

/* So many rows of a run come before one whose key is asked for now: with many runs the processor does not foresee them. */
enum { FORESEEN = 8 };

static void read_key(sorter *sort, uint32_t run) {
    const head *from = &sort->heads[run];
    sort->keys[run] = from->at < from->end ? leading_key(sort, *from->at) : INT64_MAX;
    if (from->end - from->at > FORESEEN) {
        uint32_t place = from->at[FORESEEN];
        const rlmr_rows *block = sort->table->blocks[place / RLMR_BLOCK_ROWS];
        size_t column = sort->table->schema->key[0];
        __builtin_prefetch((const char *)block->columns[column] + place % RLMR_BLOCK_ROWS * sort->key_bytes);
    }
}

/* Before the losers are known, losers[node] is the winner there. Node n has the children 2n and 2n + 1; from `count` on they are the runs. */
static uint32_t winner_of(const sorter *sort, uint32_t node, uint32_t count) {
    return node < count ? sort->losers[node] : node - count;
}

/* Let all runs play. @return the winner */
static uint32_t play(sorter *sort, uint32_t count) {
    for (uint32_t node = count - 1; node > 0; node--) {
        uint32_t left = winner_of(sort, 2 * node, count);
        uint32_t right = winner_of(sort, 2 * node + 1, count);
        sort->losers[node] = run_before(sort, right, left) ? right : left;
    }
    uint32_t winner = winner_of(sort, 1, count);
    for (uint32_t node = 1; node < count; node++) {
        uint32_t left = winner_of(sort, 2 * node, count);
        uint32_t right = winner_of(sort, 2 * node + 1, count);
        sort->losers[node] = sort->losers[node] == left ? right : left;
    }
    return winner;
}

/* The run that won before has another row: let it play again, up to the root. Who wins cannot be foreseen, so masks choose, not branches.
 * @return the winner */
static uint32_t play_again(sorter *sort, uint32_t run, uint32_t count) {
    uint64_t key = (uint64_t)sort->keys[run];
    for (uint32_t node = (run + count) / 2; node > 0; node /= 2) {
        uint32_t loser = sort->losers[node];
        uint64_t other = (uint64_t)sort->keys[loser];
        bool changes = (int64_t)other < (int64_t)key;
        if (__builtin_expect(other == key, false)) {
            changes = equal_before(sort, loser, run);
        }
        uint64_t mask = 0 - (uint64_t)changes;
        uint32_t swap = (loser ^ run) & (uint32_t)mask;
        sort->losers[node] = loser ^ swap;
        run ^= swap;
        key ^= (key ^ other) & mask;
    }
    return run;
}

/* Runs first .. first + count - 1 of items as one of spare. */
static void merge_runs(sorter *sort, size_t first, uint32_t count) {
    uint32_t *to = sort->spare + sort->starts[first];
    const uint32_t *end = sort->spare + sort->starts[first + count];
    for (uint32_t run = 0; run < count; run++) {
        sort->heads[run].at = sort->items + sort->starts[first + run];
        sort->heads[run].end = sort->items + sort->starts[first + run + 1];
        read_key(sort, run);
    }
    uint32_t winner = play(sort, count);
    while (to < end) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the winner is one of the runs above
        *to++ = *sort->heads[winner].at++;
        read_key(sort, winner);
        winner = play_again(sort, winner, count);
    }
}

/* Merge neighbours, so that there are far fewer runs. */
static void merge_neighbours(sorter *sort) {
    size_t merged = 0;
    for (size_t run = 0; run < sort->runs; run += MERGED_AT_ONCE) {
        size_t left = sort->runs - run;
        merge_runs(sort, run, left < MERGED_AT_ONCE ? (uint32_t)left : MERGED_AT_ONCE);
        sort->starts[merged++] = sort->starts[run];
    }
    sort->starts[merged] = sort->count;
    sort->runs = merged;
    uint32_t *sorted = sort->spare;
    sort->spare = sort->items;
    sort->items = sorted;
}

/* @return whether rows are in another order than their places */
static bool sort_items(sorter *sort) {
    for (size_t row = 0; row < sort->count; row++) {
        sort->items[row] = (uint32_t)rlmr_table_place(sort->table, row);
    }
    for (size_t start = 0; start < sort->count; start = sort->starts[sort->runs]) {
        sort->starts[sort->runs] = start;
        sort->starts[++sort->runs] = find_run(sort, start);
    }
    bool moved = sort->runs > 1;
    for (size_t i = 0; i < sort->count && !moved; i++) {
        moved = sort->items[i] != i; /* short runs were sorted already */
    }
    while (sort->runs > 1) {
        merge_neighbours(sort);
    }
    return moved;
}

rlmr_status rlmr_table_sort(rlmr_table *table, rlmr_error *err) {
    uint32_t *items = NULL;
    uint32_t *spare = NULL;
    rlmr_status status = rlmr_table_new_order(table, &items, err);
    status = status == RLMR_OK ? rlmr_table_new_order(table, &spare, err) : status;
    size_t count = (size_t)table->rows;
    size_t *starts = status == RLMR_OK ? malloc((count / RUN_LEAST + 2) * sizeof *starts) : NULL;
    sorter *sort = malloc(sizeof *sort);
    if (spare != NULL && starts != NULL && sort != NULL) {
        *sort = (sorter){.table = table,
                         .count = count,
                         .key_bytes = rlmr_type_bytes(table->schema->columns[table->schema->key[0]].type),
                         .items = items,
                         .spare = spare,
                         .starts = starts};
        bool moved = sort_items(sort);
        items = sort->items;
        spare = sort->spare;
        rlmr_table_set_order(table, moved ? items : NULL, count);
        items = moved ? NULL : items;
    } else if (status == RLMR_OK) {
        status =
            rlmr_error_set(err, RLMR_E_NOMEM, "no memory to sort %zu rows of %s", count, table->schema->name);
    }
    free(items);
    free(spare);
    free(starts);
    free(sort);
    return status;
}
