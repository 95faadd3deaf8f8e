#include "range_meter.h"

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    rlmr_range_meter *self = context;
    if (*self->heading || self->meter == NULL) {
        return RLMR_OK;
    }
    int64_t counted = (int64_t)bytes < self->left ? (int64_t)bytes : self->left;
    self->left -= counted;
    return self->meter->advance(self->meter->self, (size_t)counted, err);
}

rlmr_meter rlmr_range_meter_of(rlmr_range_meter *self) {
    return (rlmr_meter){.advance = advance, .self = self};
}
