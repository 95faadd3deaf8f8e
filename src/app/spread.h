/** Bring the rows of all processes into the final order, each process a range of it: parallel sort and exchange. */
#ifndef RLMR_SPREAD_H
#define RLMR_SPREAD_H

#include "rlmr/comm.h"

/** What this process owns of a table then: whole chunks, in rows `skip` .. rows - 1 of its table. */
typedef struct {
    uint64_t skip;  /**< rows that are now on another process as well, which owns their chunk */
    uint64_t first; /**< place of the first own row in the final order, a multiple of RLMR_BLOCK_ROWS */
    uint64_t total; /**< rows of all processes */
} rlmr_part;

/** Collective. Exchange, sort and fold.
 *
 *  @param table         texts as codes; replaced by what this process owns, sorted
 *  @param rows          of all processes
 *  @param empty_texts   by column: whether code 0 is the empty text, more than 0 if it is
 *  @param block_rows    rows in a block on the way
 *  @param err           not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_spread(rlmr_comm *comm, rlmr_table *table, uint64_t rows,
                                        const int64_t *empty_texts, size_t block_rows, rlmr_part *part,
                                        rlmr_error *err);

#endif
