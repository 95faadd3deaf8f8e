#include "rlmr/trace_reader.h"

#include "rlmr/json_reader.h"

#include <string.h>

#define FIELD_ENUM(field, key) FIELD_##field,
enum {
    RLMR_EVENT_FIELDS(FIELD_ENUM) ARGS_FIRST,
    ARGS_BEFORE = ARGS_FIRST - 1,
    RLMR_ARGS_FIELDS(FIELD_ENUM) FIELDS
};

#define FIELD_KEY(field, key) {.text = (key), .bytes = sizeof(key) - 1},
static const rlmr_slice field_keys[FIELDS] = {RLMR_EVENT_FIELDS(FIELD_KEY) RLMR_ARGS_FIELDS(FIELD_KEY)};

typedef struct {
    rlmr_on_event on_event;
    void *self;
    int array_depth;  /* depth of the elements of the event array, -1 before it is found */
    bool in_array;    /* between its brackets */
    bool events_next; /* the root object's key just read is traceEvents */
    bool in_args;     /* inside the event's `args` object, the key of which was just read */
    bool args_next;
    int field;       /* that the key just read names, or -1 */
    rlmr_bytes text; /* of the fields of the event being read */
    size_t start[FIELDS];
    size_t length[FIELDS];
    uint64_t events;
    uint64_t skipped;
} trace;

static int find_field(rlmr_slice key, int first, int end) {
    for (int field = first; field < end; field++) {
        if (rlmr_slice_equal(key, field_keys[field])) {
            return field;
        }
    }
    return -1;
}

static void begin_event(trace *self) {
    rlmr_bytes_clear(&self->text);
    memset(self->length, 0, sizeof self->length);
    self->field = -1;
    self->args_next = false;
    self->in_args = false;
}

static rlmr_status end_event(trace *self, rlmr_error *err) {
    rlmr_slice values[FIELDS];
    for (int field = 0; field < FIELDS; field++) {
        values[field] = (rlmr_slice){.text = (const char *)self->text.data + self->start[field],
                                     .bytes = self->length[field]};
        if (self->length[field] == 0) {
            values[field].text = "";
        }
    }
#define FIELD_SET(field, key) .field = values[FIELD_##field],
    rlmr_trace_event event = {RLMR_EVENT_FIELDS(FIELD_SET) RLMR_ARGS_FIELDS(FIELD_SET).number = self->events};
    self->events++;
    return self->on_event(self->self, &event, err);
}

static bool is_text_only(int field) {
    return field == FIELD_name || field == FIELD_cat || field == FIELD_call_stack;
}

/* A value in the event object or in its args. */
static rlmr_status keep_value(trace *self, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    int field = self->field;
    self->field = -1;
    if (field < 0) {
        return RLMR_OK;
    }
    self->length[field] = 0;
    if (kind != RLMR_JSON_STRING && (kind != RLMR_JSON_NUMBER || is_text_only(field))) {
        return RLMR_OK;
    }
    if (text.bytes > RLMR_JSON_TEXT_BYTES_MAX - self->text.bytes) {
        return rlmr_error_set(err, RLMR_E_LIMIT, "an event with more than %zu bytes of text",
                              RLMR_JSON_TEXT_BYTES_MAX);
    }
    self->start[field] = self->text.bytes;
    self->length[field] = text.bytes;
    return rlmr_bytes_append(&self->text, text.text, text.bytes, err);
}

static rlmr_status in_event(trace *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    if (depth == 1) {
        if (kind == RLMR_JSON_KEY) {
            self->field = find_field(text, 0, ARGS_FIRST);
            self->args_next = rlmr_slice_equal(text, RLMR_SLICE("args"));
            return RLMR_OK;
        }
        if (self->args_next) {
            /* A repeated `args` replaces the one before it, as in every reader that keeps objects as maps. */
            self->in_args = kind == RLMR_JSON_OBJECT;
            memset(self->length + ARGS_FIRST, 0, (FIELDS - ARGS_FIRST) * sizeof self->length[0]);
            self->args_next = false;
        } else if (kind == RLMR_JSON_OBJECT_END) {
            self->in_args = false;
        }
        return keep_value(self, kind, text, err);
    }
    if (depth == 2 && self->in_args) {
        if (kind == RLMR_JSON_KEY) {
            self->field = find_field(text, ARGS_FIRST, FIELDS);
            return RLMR_OK;
        }
        return keep_value(self, kind, text, err);
    }
    return RLMR_OK;
}

/* Outside the event array: look for it. */
static rlmr_status before_array(trace *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                rlmr_error *err) {
    if (depth == 0 && kind != RLMR_JSON_ARRAY && kind != RLMR_JSON_OBJECT && kind != RLMR_JSON_OBJECT_END) {
        return rlmr_error_set(err, RLMR_E_PARSE, "neither an array of events nor an object");
    }
    bool starts = kind == RLMR_JSON_ARRAY && (depth == 0 || (depth == 1 && self->events_next));
    if (starts) {
        self->array_depth = depth + 1;
        self->in_array = true;
    }
    self->events_next =
        depth == 1 && kind == RLMR_JSON_KEY && rlmr_slice_equal(text, RLMR_SLICE("traceEvents"));
    return RLMR_OK;
}

static rlmr_status on_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    trace *self = context;
    if (!self->in_array) {
        return before_array(self, kind, text, depth, err);
    }
    int inside = depth - self->array_depth;
    if (inside > 0) {
        return in_event(self, kind, text, inside, err);
    }
    if (inside < 0) {
        self->in_array = false;
    } else if (kind == RLMR_JSON_OBJECT) {
        begin_event(self);
    } else if (kind == RLMR_JSON_OBJECT_END) {
        return end_event(self, err);
    } else if (kind != RLMR_JSON_ARRAY_END) {
        self->skipped++;
    }
    return RLMR_OK;
}

rlmr_status rlmr_trace_read(const char *path, rlmr_on_event on_event, void *self, const rlmr_meter *meter,
                            uint64_t *events, uint64_t *skipped, rlmr_error *err) {
    trace state = {.on_event = on_event, .self = self, .array_depth = -1};
    rlmr_status status = rlmr_json_read(path, on_token, &state, meter, err);
    if (status == RLMR_OK && state.array_depth < 0) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "no array of events under the key traceEvents");
    }
    rlmr_bytes_release(&state.text);
    *events = state.events;
    *skipped = state.skipped;
    return status;
}
