/** Reduce the partial tables of all processes: reducer over comm. */
#ifndef RLMR_REDUCE_H
#define RLMR_REDUCE_H

#include "rlmr/collector.h"
#include "rlmr/comm.h"
#include "rlmr/mapper.h"

/** Collective. All rows on process 0, in key order: for a table that it must see as a whole. None are folded.
 *
 *  @param table        this process's rows, with ids of `texts`; used up
 *  @param block_bytes  what process 0 holds of each process at a time
 *  @param to           texts of the result; may be `texts`
 *  @param out          a collector on process 0, else NULL; rlmr_collector_close() in any case
 *  @param err          not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_reduce_collect(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                                size_t block_bytes, rlmr_symtab *to, rlmr_collector **out,
                                                rlmr_error *err);

/** Collective. Sort on all processes, pack on all processes, write on process 0.
 *
 *  @param table        this process's rows, with ids of `texts`; used up
 *  @param block_bytes  what a process holds of each process at a time
 *  @param sink         of chunks; used on process 0 only
 *  @param rows         out: rows in all on process 0, else 0
 *  @param err          not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_reduce_write(rlmr_comm *comm, rlmr_table *table, const rlmr_symtab *texts,
                                              size_t block_bytes, rlmr_sink *sink, uint64_t *rows,
                                              rlmr_error *err);

#endif
