/* layer: reducer */
/** How the rows of one table are shared out, so that process after process holds a range of the final order. The processes that get rows,
 *  the owners, are the first ones. */
#ifndef RLMR_SPLITTERS_H
#define RLMR_SPLITTERS_H

#include "rlmr/table.h"

/** How many of the processes share `rows` rows: none gets less than a chunk as long as another has more. */
int rlmr_owners(uint64_t rows, int processes);

/** Leading columns of the key by which rows are told apart: rows that fold into one stay together. */
size_t rlmr_split_columns(const rlmr_schema *schema);

/** Append to `out` a regular sample of a table, each with the number of rows that it stands for. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_sample(const rlmr_table *table, int process, int processes, rlmr_bytes *out,
                                        rlmr_error *err);

/** Choose the keys with which the second and each further owner begins, so that the owners get about the same number of rows.
 *
 *  @param samples  of all processes, one behind the other; sorted by the call
 *  @param out      appended to  @return OK, E_NOMEM, E_PARSE (no samples) */
RLMR_MUST_CHECK rlmr_status rlmr_splitters_choose(const rlmr_schema *schema, rlmr_bytes *samples, int owners,
                                                  rlmr_bytes *out, rlmr_error *err);

/** Give the table an order by the process that gets each row: first the rows of process `first`, then those of the ones behind it in turn, and
 *  after the last those of process 0. The rows of the i-th of these are bounds[i] .. bounds[i + 1] - 1.
 *
 *  @param splitters  what rlmr_splitters_choose() has made; empty for one owner
 *  @param bounds     out: processes + 1  @return OK, E_PARSE, E_NOMEM, E_RANGE (2^32 rows) */
RLMR_MUST_CHECK rlmr_status rlmr_splitters_group(rlmr_table *table, const rlmr_bytes *splitters, int owners,
                                                 int processes, int first, uint64_t *bounds, rlmr_error *err);

/** How many of the first rows of `process` belong to a chunk that begins on an earlier one.
 *
 *  @param counts  rows of each process
 *  @param owner   out: the process on which that chunk begins; `process` if there are none */
uint64_t rlmr_head_rows(const int64_t *counts, int process, int *owner);

#endif
