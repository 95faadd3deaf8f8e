/** What the readers of ranges of a file have in common. */
#ifndef RLMR_FILE_RANGE_H
#define RLMR_FILE_RANGE_H

#include "rlmr/input.h"

/** A meter for one range of a file: it is told neither of the file's beginning, read before, nor of what is read behind it. */
typedef struct {
    const rlmr_meter *meter; /**< told of the bytes of the range; NULL for none */
    const bool *heading;     /**< while it is so, what is read is the file's beginning */
    int64_t left;            /**< bytes of the range not told of */
} rlmr_range_meter;

/** @param self borrowed by what is returned */
rlmr_meter rlmr_range_meter_of(rlmr_range_meter *self);

/** Finds where something seems to begin at or behind a byte of an input. @param start out: untouched if nothing does */
typedef rlmr_status (*rlmr_find_start)(rlmr_input *input, int64_t offset, int64_t *start, rlmr_error *err);

/** Where a range may begin. @param start out: 0 for the offset 0; the file's size if `find` finds nothing, or the file is packed
 *  @return OK, E_INPUT or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_range_guess(const char *path, int64_t offset, rlmr_find_start find,
                                             int64_t *start, rlmr_error *err);

#endif
