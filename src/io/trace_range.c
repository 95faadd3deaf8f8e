#include "file_range.h"
#include "rlmr/event_guess.h"
#include "trace_state.h"

/* In which an event is looked for. */
#define WINDOW_BYTES ((size_t)4 << 20)

static rlmr_status find_event(rlmr_input *input, int64_t offset, int64_t *start, rlmr_error *err) {
    size_t tried = 0;
    rlmr_status status = rlmr_input_seek(input, offset, err);
    while (status == RLMR_OK) {
        rlmr_slice piece;
        rlmr_input_keep(input, offset);
        status = rlmr_input_read(input, &piece, err);
        if (status != RLMR_OK) {
            break;
        }
        rlmr_slice text = rlmr_input_from(input, offset);
        bool last = piece.bytes == 0 || text.bytes >= WINDOW_BYTES;
        if (last || text.bytes >= 2 * tried) {
            size_t at;
            tried = text.bytes;
            if (rlmr_event_guess(rlmr_scan_best(), text, &at)) {
                *start = offset + (int64_t)at;
                break;
            }
        }
        if (last) {
            break;
        }
    }
    return status;
}

rlmr_status rlmr_trace_guess(const char *path, int64_t offset, int64_t *start, rlmr_error *err) {
    return rlmr_range_guess(path, offset, find_event, start, err);
}

static rlmr_status on_damage(void *context, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    rlmr_trace *self = context;
    (void)offset;
    (void)lost;
    (void)reason;
    (void)err;
    self->unsound = true;
    return RLMR_E_STOPPED;
}

static rlmr_status read_range(rlmr_trace *self, const char *path, const rlmr_meter *meter, rlmr_error *err) {
    rlmr_range_meter own = {.meter = meter, .heading = &self->heading, .left = self->to - self->from};
    rlmr_meter within = rlmr_range_meter_of(&own);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = rlmr_trace_read_all(self, path, &within, &trouble);
    if (self->unsound) {
        return RLMR_OK;
    }
    if (status != RLMR_OK && err != NULL && err->code == RLMR_OK) {
        *err = trouble;
    }
    return status;
}

rlmr_status rlmr_trace_read_range(const rlmr_file_range *range, bool strict, rlmr_on_event on_event,
                                  void *self, const rlmr_meter *meter, uint64_t *events, bool *sound,
                                  rlmr_error *err) {
    *events = 0;
    *sound = range->from == range->to;
    if (range->from >= range->to) {
        return RLMR_OK;
    }
    rlmr_trace state = {.on_event = on_event,
                        .self = self,
                        .may_scan = true,
                        .strict = strict,
                        .from = range->from,
                        .heading = range->from > 0,
                        .to = range->to};
    rlmr_damage damage = {.met = on_damage, .self = &state};
    state.damage = &damage;
    rlmr_status status = read_range(&state, range->path, meter, err);
    *events = state.events;
    *sound = status == RLMR_OK && !state.unsound;
    return status;
}
