/* layer: io */
/** Where several files of output go: looked at before the first is written, and the directories they need. */
#ifndef RLMR_OUTPUT_PLACE_H
#define RLMR_OUTPUT_PLACE_H

#include "rlmr/bytes.h"

/** Whether a file may be written there: nothing is, or with `replace` a regular file.
 *  @return OK, E_NOMEM, E_OUTPUT with a cure in the text */
RLMR_MUST_CHECK rlmr_status rlmr_place_check(const char *path, bool replace, rlmr_error *err);

/** Directories that were made; all zero is none. */
typedef struct {
    rlmr_bytes paths; /**< NUL-terminated, one behind the other */
} rlmr_places;

/** Make the directories above a file that are not there. @return OK, E_NOMEM, E_OUTPUT with a cure in the text */
RLMR_MUST_CHECK rlmr_status rlmr_places_make(rlmr_places *made, const char *path, rlmr_error *err);

/** Remove those directories that were made and hold nothing, the last first. */
void rlmr_places_take_back(const rlmr_places *made);
void rlmr_places_release(rlmr_places *made);

#endif
