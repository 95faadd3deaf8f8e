/* layer: core */
/** Sets of ranks as arrays of int32_t. */
#ifndef RLMR_RANK_SET_H
#define RLMR_RANK_SET_H

#include "rlmr/bytes.h"

/** Read what a declared group says, "0 2 4", in its order. Anything else, and the empty text, says nothing.
 *  @param ranks out: cleared and filled  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_ranks_parse(rlmr_slice text, rlmr_bytes *ranks, rlmr_error *err);

/** Sort, and leave out what is there twice. */
void rlmr_ranks_make_set(rlmr_bytes *ranks);

/** Append the text of a set, ascending, as Python prints a tuple: "(2, 3)", "(2,)", "()". @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_ranks_print(const int32_t *ranks, size_t count, rlmr_bytes *out,
                                             rlmr_error *err);

#endif
