/** The chunks that a process owns, packed, on their way to process 0. */
#ifndef RLMR_PACK_H
#define RLMR_PACK_H

#include "rlmr/reducer.h"
#include "spread.h"

/** Pack the own rows of a table: of each chunk every stored column, then the number of the row if the table has no other index. All columns
 *  of a chunk are one block of `packed`, so that process 0 does not wait for each.
 *
 *  @param table  used up, its memory freed meanwhile if its rows lie in their order  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_pack_table(rlmr_table *table, const rlmr_part *part, rlmr_block_run *packed,
                                            rlmr_error *err);

/** Take the next column from a block of rlmr_pack_table(). @param chunk out: its bytes point into the block  @return OK or E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_next_chunk(rlmr_reader *block, rlmr_chunk *chunk, rlmr_error *err);

#endif
