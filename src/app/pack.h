/** The chunks that a process owns, packed, on their way to process 0. */
#ifndef RLMR_PACK_H
#define RLMR_PACK_H

#include "rlmr/reducer.h"
#include "spread.h"

/** The own rows of a table, chunk by chunk: of each every stored column, then the number of the row if the table has no other index. All
 *  columns of a chunk are one block, so that process 0 does not wait for each. */
typedef struct rlmr_packing rlmr_packing;

/** @param table  released by close; its memory is freed meanwhile if its rows lie in their order
 *  @param out    owned by the caller, rlmr_packing_close(), also if this fails  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_packing_open(rlmr_table *table, const rlmr_part *part, rlmr_packing **out,
                                              rlmr_error *err);
void rlmr_packing_close(rlmr_packing *packing);

/** Pack all chunks, and keep them. An error is told by the source. */
void rlmr_packing_ahead(rlmr_packing *packing);

/** The chunks as a source: each is packed when it is asked for, unless it has been packed ahead. Valid until close. */
rlmr_source rlmr_packing_source(rlmr_packing *packing);

/** Take the next column from a block of a packing. @param chunk out: its bytes point into the block  @return OK or E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_next_chunk(rlmr_reader *block, rlmr_chunk *chunk, rlmr_error *err);

#endif
