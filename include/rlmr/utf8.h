/* layer: core */
/** What text may hold in the output: UTF-8 without NUL. Each byte that is not part of it is replaced by U+FFFD, one for
 *  each maximal part of a character, as Unicode 3.9 recommends; each NUL too. */
#ifndef RLMR_UTF8_H
#define RLMR_UTF8_H

#include "rlmr/bytes.h"

bool rlmr_utf8_is_clean(rlmr_slice text);

/** The character at byte `*at` of text that is clean, or has NULs besides; moves `*at` behind it. */
uint32_t rlmr_utf8_next(rlmr_slice text, size_t *at);

/** Append the text, clean, to `out`. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_utf8_clean(rlmr_slice text, rlmr_bytes *out, rlmr_error *err);

/** The text, clean and NUL-terminated; owned by the caller, free(). @return NULL without memory */
RLMR_MUST_CHECK char *rlmr_utf8_copy(rlmr_slice text, rlmr_error *err);

#endif
