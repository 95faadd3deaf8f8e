/** Reduce the partial tables of all processes into a sink on process 0: reducer over comm. */
#ifndef RLMR_REDUCE_H
#define RLMR_REDUCE_H

#include "rlmr/comm.h"
#include "rlmr/mapper.h"

/** Collective. Number the texts of each text column, sort, merge; the table's ids become codes on the way.
 *
 *  @param table        this process's rows; used up
 *  @param block_bytes  what process 0 holds of each process at a time
 *  @param sink         used on process 0 only
 *  @param rows         out: rows in all on process 0, else 0
 *  @param err          not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_reduce_table(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                              size_t block_bytes, rlmr_sink *sink, uint64_t *rows,
                                              rlmr_error *err);

#endif
