#include "event_tokens.h"

#include <string.h>

#define FIELD_KEY(field, key) {.text = (key), .bytes = sizeof(key) - 1},
static const rlmr_slice field_keys[RLMR_EVENT_FIELD_COUNT] = {RLMR_EVENT_FIELDS(FIELD_KEY)
                                                                  RLMR_ARGS_FIELDS(FIELD_KEY)};

void rlmr_event_tokens_release(rlmr_event_tokens *self) {
    rlmr_bytes_release(&self->text);
}

void rlmr_event_tokens_begin(rlmr_event_tokens *self) {
    self->named = false;
    rlmr_bytes_clear(&self->text);
    memset(self->length, 0, sizeof self->length);
    self->field = -1;
    self->args_next = false;
    self->in_args = false;
}

static int find_field(rlmr_slice key, int first, int end) {
    for (int field = first; field < end; field++) {
        if (rlmr_slice_equal(key, field_keys[field])) {
            return field;
        }
    }
    return -1;
}

static bool is_text_only(int field) {
    return field == RLMR_EVENT_FIELD_name || field == RLMR_EVENT_FIELD_cat ||
           field == RLMR_EVENT_FIELD_call_stack;
}

/* A value in the event object or in its args. */
static rlmr_status keep_value(rlmr_event_tokens *self, rlmr_json_kind kind, rlmr_slice text,
                              rlmr_error *err) {
    int field = self->field;
    self->field = -1;
    if (field < 0) {
        return RLMR_OK;
    }
    self->length[field] = 0;
    if (kind != RLMR_JSON_STRING && (kind != RLMR_JSON_NUMBER || is_text_only(field))) {
        return RLMR_OK;
    }
    self->start[field] = self->text.bytes;
    self->length[field] = text.bytes;
    return rlmr_bytes_append(&self->text, text.text, text.bytes, err);
}

rlmr_status rlmr_event_tokens_take(rlmr_event_tokens *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                   rlmr_error *err) {
    if (depth == 1) {
        if (kind == RLMR_JSON_KEY) {
            self->field = find_field(text, 0, RLMR_EVENT_ARGS_FIRST);
            self->named = self->named || self->field == RLMR_EVENT_FIELD_name ||
                          rlmr_slice_equal(text, RLMR_SLICE("ph"));
            self->args_next = rlmr_slice_equal(text, RLMR_SLICE("args"));
            return RLMR_OK;
        }
        if (self->args_next) {
            /* A repeated `args` replaces the one before it, as in every reader that keeps objects as maps. */
            self->in_args = kind == RLMR_JSON_OBJECT;
            memset(self->length + RLMR_EVENT_ARGS_FIRST, 0,
                   (RLMR_EVENT_FIELD_COUNT - RLMR_EVENT_ARGS_FIRST) * sizeof self->length[0]);
            self->args_next = false;
        } else if (kind == RLMR_JSON_OBJECT_END) {
            self->in_args = false;
        }
        return keep_value(self, kind, text, err);
    }
    if (depth == 2 && self->in_args) {
        if (kind == RLMR_JSON_KEY) {
            self->field = find_field(text, RLMR_EVENT_ARGS_FIRST, RLMR_EVENT_FIELD_COUNT);
            return RLMR_OK;
        }
        return keep_value(self, kind, text, err);
    }
    return RLMR_OK;
}

void rlmr_event_tokens_end(const rlmr_event_tokens *self, rlmr_trace_event *event) {
    rlmr_slice values[RLMR_EVENT_FIELD_COUNT];
    for (int field = 0; field < RLMR_EVENT_FIELD_COUNT; field++) {
        values[field] = (rlmr_slice){.text = "", .bytes = self->length[field]};
        if (self->length[field] > 0) { /* else there may be no buffer, and nothing may be added to NULL */
            values[field].text = (const char *)self->text.data + self->start[field];
        }
    }
#define FIELD_SET(field, key) .field = values[RLMR_EVENT_FIELD_##field],
    *event = (rlmr_trace_event){RLMR_EVENT_FIELDS(FIELD_SET) RLMR_ARGS_FIELDS(FIELD_SET)};
#undef FIELD_SET
}
