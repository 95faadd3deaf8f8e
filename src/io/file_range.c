#include "file_range.h"

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

rlmr_status rlmr_range_guess(const char *path, int64_t offset, rlmr_find_start find, int64_t *start,
                             rlmr_error *err) {
    rlmr_input *input;
    rlmr_status status = rlmr_input_open(path, NULL, &input, err);
    if (status != RLMR_OK) {
        return status;
    }
    int64_t size = rlmr_input_size(input);
    *start = offset <= 0 ? 0 : size;
    if (offset > 0 && offset < size && !rlmr_input_is_packed(input)) {
        status = find(input, offset, start, err);
    }
    rlmr_input_close(input);
    return status;
}
