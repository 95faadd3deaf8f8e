/** A meter for one range of a file: it is told neither of the file's beginning, read before, nor of what is read behind it. */
#ifndef RLMR_RANGE_METER_H
#define RLMR_RANGE_METER_H

#include "rlmr/stream.h"

typedef struct {
    const rlmr_meter *meter; /**< told of the bytes of the range; NULL for none */
    const bool *heading;     /**< while it is so, what is read is the file's beginning */
    int64_t left;            /**< bytes of the range not told of */
} rlmr_range_meter;

/** @param self borrowed by what is returned */
rlmr_meter rlmr_range_meter_of(rlmr_range_meter *self);

#endif
