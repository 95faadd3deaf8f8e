#include "rlmr/trace_reader.h"

#include "json_parser.h"
#include "rlmr/input.h"
#include "rlmr/limits.h"

#include <string.h>

#define FIELD_ENUM(field, key) FIELD_##field,
enum {
    RLMR_EVENT_FIELDS(FIELD_ENUM) ARGS_FIRST,
    ARGS_BEFORE = ARGS_FIRST - 1,
    RLMR_ARGS_FIELDS(FIELD_ENUM) FIELDS
};

#define FIELD_KEY(field, key) {.text = (key), .bytes = sizeof(key) - 1},
static const rlmr_slice field_keys[FIELDS] = {RLMR_EVENT_FIELDS(FIELD_KEY) RLMR_ARGS_FIELDS(FIELD_KEY)};

/* What a parser costs that gives up at once, in bytes parsed. */
#define PARSER_BYTES 256

#define TOO_LONG "an event with too many bytes" RLMR_LIMIT_TEXT(EVENT_BYTES)

typedef struct {
    rlmr_on_event on_event;
    void *self;
    const rlmr_damage *damage;
    rlmr_status refused; /* what a callback returned: it ends the reading */
    rlmr_input *input;
    uint64_t events;

    rlmr_json_parser *parser; /* NULL while the next event is searched for */
    int64_t at;               /* offset of what is parsed or searched next */
    int64_t fed;              /* offset of what the parser was given last */
    int64_t floor;            /* from there on the file's bytes are at hand */
    int64_t passed;           /* offset behind the last token taken */
    char last;                /* while searching: the last byte passed that is no blank */
    bool done;                /* no event follows */
    bool proving;             /* the parser stands at what may be an event */
    int64_t candidate;        /* the offset of that */
    int64_t reread;           /* bytes parsed in vain behind damage */

    int array_depth;     /* depth of the elements of the event array, -1 before it is found */
    bool found;          /* the array was found, now or before damage */
    bool resumed;        /* a parser was started behind damage */
    bool in_object;      /* the document is an object */
    bool in_array;       /* between the array's brackets */
    bool events_next;    /* the root object's key just read is traceEvents */
    int64_t event_start; /* of the event being read, -1 between events */
    bool named;          /* it has a key ph or name */
    bool in_args;        /* inside its `args` object */
    bool args_next;      /* the key just read is args */
    int field;           /* that the key just read names, or -1 */
    rlmr_bytes text;     /* of the fields of the event */
    size_t start[FIELDS];
    size_t length[FIELDS];
} trace;

/* Offset behind the token at hand. */
static int64_t token_end(const trace *self) {
    return self->fed + (int64_t)rlmr_json_parser_at(self->parser);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Offset of the token that ends before `end`, the first behind those that were taken. */
static int64_t token_start(const trace *self, int64_t end) {
    int64_t start = self->passed < self->floor ? self->floor : self->passed;
    rlmr_slice text = rlmr_input_from(self->input, start);
    size_t first = 0;
    while (first < text.bytes && is_blank(text.text[first])) {
        first++;
    }
    size_t at = first;
    while (at < text.bytes && (is_blank(text.text[at]) || text.text[at] == ',' || text.text[at] == ':')) {
        at++;
    }
    if (start + (int64_t)at < end) {
        return start + (int64_t)at;
    }
    /* The token is such a mark itself, or one of which the parser has taken nothing. */
    return start + (int64_t)first < end - 1 ? end - 1 : start + (int64_t)first;
}

static rlmr_status tell(trace *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    self->refused = self->damage->met(self->damage->self, offset, lost, reason, err);
    return self->refused;
}

static int find_field(rlmr_slice key, int first, int end) {
    for (int field = first; field < end; field++) {
        if (rlmr_slice_equal(key, field_keys[field])) {
            return field;
        }
    }
    return -1;
}

static void begin_event(trace *self) {
    self->event_start = token_end(self) - 1;
    self->named = false;
    rlmr_bytes_clear(&self->text);
    memset(self->length, 0, sizeof self->length);
    self->field = -1;
    self->args_next = false;
    self->in_args = false;
}

static rlmr_status end_event(trace *self, rlmr_error *err) {
    if (token_end(self) - self->event_start > RLMR_LIMIT_EVENT_BYTES) {
        return rlmr_error_set(err, RLMR_E_LIMIT, TOO_LONG);
    }
    if (self->proving && !self->named) {
        return rlmr_error_set(err, RLMR_E_PARSE, "no event");
    }
    self->proving = false;
    self->found = true;
    rlmr_slice values[FIELDS];
    for (int field = 0; field < FIELDS; field++) {
        values[field] = (rlmr_slice){.text = "", .bytes = self->length[field]};
        if (self->length[field] > 0) { /* else there may be no buffer, and nothing may be added to NULL */
            values[field].text = (const char *)self->text.data + self->start[field];
        }
    }
#define FIELD_SET(field, key) .field = values[FIELD_##field],
    rlmr_trace_event event = {RLMR_EVENT_FIELDS(FIELD_SET) RLMR_ARGS_FIELDS(FIELD_SET).number = self->events,
                              .offset = self->event_start};
    self->events++;
    self->event_start = -1;
    self->refused = self->on_event(self->self, &event, err);
    return self->refused;
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
    self->start[field] = self->text.bytes;
    self->length[field] = text.bytes;
    return rlmr_bytes_append(&self->text, text.text, text.bytes, err);
}

static rlmr_status in_event(trace *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    if (depth == 1) {
        if (kind == RLMR_JSON_KEY) {
            self->field = find_field(text, 0, ARGS_FIRST);
            self->named =
                self->named || self->field == FIELD_name || rlmr_slice_equal(text, RLMR_SLICE("ph"));
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
        self->found = true;
    }
    self->in_object = self->in_object || (depth == 0 && kind == RLMR_JSON_OBJECT);
    self->events_next =
        depth == 1 && kind == RLMR_JSON_KEY && rlmr_slice_equal(text, RLMR_SLICE("traceEvents"));
    return RLMR_OK;
}

static rlmr_status take_token(trace *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
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
        return tell(self, token_start(self, token_end(self)), true, "an element that is no event object",
                    err);
    }
    return RLMR_OK;
}

static rlmr_status on_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    trace *self = context;
    rlmr_status status = take_token(self, kind, text, depth, err);
    self->passed = status == RLMR_OK ? token_end(self) : self->passed;
    return status;
}

static void set_offset(rlmr_error *err, int64_t offset) {
    if (err != NULL && err->offset < 0) {
        err->offset = offset;
    }
}

static void close_parser(trace *self) {
    rlmr_json_parser_close(self->parser);
    self->parser = NULL;
}

static rlmr_status open_parser(trace *self, rlmr_error *err) {
    self->array_depth = -1;
    self->in_array = false;
    self->events_next = false;
    self->event_start = -1;
    return rlmr_json_parser_open(on_token, self, &self->parser, err);
}

/* A parser that stands in the event array, before what may be an event. */
static rlmr_status open_at_candidate(trace *self, rlmr_error *err) {
    rlmr_slice opening = self->in_object ? RLMR_SLICE("{\"traceEvents\":[") : RLMR_SLICE("[");
    bool found = self->found;
    rlmr_status status = open_parser(self, err);
    status = status == RLMR_OK ? rlmr_json_parser_feed(self->parser, opening, err) : status;
    self->found = found; /* the opening is ours */
    self->resumed = true;
    self->proving = true;
    self->candidate = self->at;
    self->passed = self->at;
    return status;
}

/* Search from `offset` on, with what lies before it as far as it is at hand: for an event's bytes it is. */
static void start_search(trace *self, int64_t offset) {
    close_parser(self);
    self->at = offset;
    self->last = '\0';
    self->event_start = -1;
    rlmr_slice before = rlmr_input_from(self->input, self->floor);
    for (int64_t i = offset - self->floor - 1; i >= 0 && self->last == '\0'; i--) {
        self->last = is_blank(before.text[i]) ? '\0' : before.text[i];
    }
}

static rlmr_status search(trace *self, rlmr_slice bytes, rlmr_error *err) {
    for (size_t i = 0; i < bytes.bytes && !self->done; i++) {
        char c = bytes.text[i];
        if (c == '{' && self->last == ',') {
            self->at += (int64_t)i;
            return open_at_candidate(self, err);
        }
        self->last = is_blank(c) ? self->last : c;
    }
    self->at += (int64_t)bytes.bytes;
    return RLMR_OK;
}

/* Bytes were parsed in vain. */
static rlmr_status charge(trace *self, int64_t bytes, rlmr_error *err) {
    self->reread += bytes + PARSER_BYTES;
    if (self->reread > RLMR_LIMIT_REREAD_BYTES) {
        set_offset(err, self->at);
        return rlmr_error_set(err, RLMR_E_LIMIT,
                              "more than %d bytes read again behind damage" RLMR_LIMIT_TEXT(REREAD_BYTES),
                              RLMR_LIMIT_REREAD_BYTES);
    }
    return RLMR_OK;
}

/* What seemed to be an event is none: search on behind its brace. */
static rlmr_status drop_candidate(trace *self, rlmr_error *err) {
    rlmr_status status = charge(self, self->at - self->candidate, err);
    close_parser(self);
    self->at = self->candidate + 1;
    self->last = '{';
    self->proving = false;
    self->event_start = -1;
    return status;
}

/* The error is one of the file, not of a callback or of memory. */
static bool is_salvageable(const trace *self, const rlmr_error *trouble) {
    return self->refused == RLMR_OK && (trouble->code == RLMR_E_PARSE || trouble->code == RLMR_E_LIMIT);
}

/* An error of the parser, told; then the next event is searched for, from the token at fault on. */
static rlmr_status meet_error(trace *self, const rlmr_error *trouble, rlmr_error *err) {
    bool inside = self->event_start >= 0;
    int64_t fault = token_start(self, self->at);
    fault = fault < self->floor ? self->floor : fault;
    rlmr_slice rest = rlmr_input_from(self->input, fault);
    bool lost = inside || (self->in_array && rest.bytes > 0 && rest.text[0] == '{');
    rlmr_status status = tell(self, fault, lost, trouble->message, err);
    if (status == RLMR_OK) {
        /* What the object has behind its events are none. */
        bool behind = self->in_object && self->found && !self->in_array && !self->resumed;
        self->done = behind;
        start_search(self, inside && fault <= self->event_start ? self->event_start + 1 : fault);
    }
    return status;
}

static bool is_too_long(const trace *self) {
    return self->event_start >= 0 && self->at - self->event_start > RLMR_LIMIT_EVENT_BYTES;
}

/* What takes so much for an event is most likely a hole in the file, with events behind it. */
static rlmr_status give_up_event(trace *self, rlmr_error *err) {
    int64_t start = self->event_start;
    rlmr_status status = tell(self, start, true, TOO_LONG, err);
    status = status == RLMR_OK ? charge(self, self->at - start, err) : status;
    if (status == RLMR_OK) {
        start_search(self, start + 1);
    }
    return status;
}

static rlmr_status parse(trace *self, rlmr_slice bytes, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    self->fed = self->at;
    rlmr_status status = rlmr_json_parser_feed(self->parser, bytes, &trouble);
    self->at += (int64_t)rlmr_json_parser_at(self->parser);
    if (status == RLMR_OK && !is_too_long(self)) {
        return RLMR_OK;
    }
    if (status != RLMR_OK && !is_salvageable(self, &trouble)) {
        set_offset(err, self->at);
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (self->proving) {
        return drop_candidate(self, err);
    }
    return is_too_long(self) ? give_up_event(self, err) : meet_error(self, &trouble, err);
}

/* All that is read and not yet parsed or searched. */
static rlmr_status work_off(trace *self, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    while (status == RLMR_OK && self->at < rlmr_input_end(self->input)) {
        rlmr_slice bytes = rlmr_input_from(self->input, self->at);
        status = self->parser == NULL ? search(self, bytes, err) : parse(self, bytes, err);
    }
    return status;
}

/* The end of the file, whole or cut. */
static rlmr_status finish(trace *self, bool told, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    while (status == RLMR_OK && self->parser != NULL) {
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        self->fed = self->at;
        if (rlmr_json_parser_feed(self->parser, (rlmr_slice){0}, &trouble) == RLMR_OK) {
            break;
        }
        if (!is_salvageable(self, &trouble)) {
            return rlmr_error_set(err, trouble.code, "%s", trouble.message);
        }
        if (self->proving) {
            status = drop_candidate(self, err);
            status = status == RLMR_OK ? work_off(self, err) : status;
        } else {
            /* Nothing follows the end. */
            status = told ? RLMR_OK : tell(self, self->at, self->event_start >= 0, trouble.message, err);
            close_parser(self);
        }
    }
    if (status == RLMR_OK && !self->found) {
        status = tell(self, -1, false, "no array of events, alone or under the key traceEvents", err);
    }
    return status;
}

/* The event, or what may be one; outside events the token that has not ended, unless there are only blanks. */
static void keep_what_may_be_needed(trace *self) {
    bool token = self->parser != NULL && self->at - self->passed <= RLMR_LIMIT_STRING_BYTES;
    self->floor = token ? self->passed : self->at;
    self->floor = self->event_start >= 0 ? self->event_start : self->floor;
    self->floor = self->proving ? self->candidate : self->floor;
    rlmr_input_keep(self->input, self->floor);
}

static rlmr_status read_events(trace *self, rlmr_error *err) {
    rlmr_status status = open_parser(self, err);
    while (status == RLMR_OK) {
        rlmr_slice piece;
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        keep_what_may_be_needed(self);
        status = rlmr_input_read(self->input, &piece, &trouble);
        if (status == RLMR_E_PARSE || status == RLMR_E_INPUT) { /* as if the file were cut here */
            status =
                tell(self, trouble.offset, self->event_start >= 0 && !self->proving, trouble.message, err);
            return status == RLMR_OK ? finish(self, true, err) : status;
        }
        if (status != RLMR_OK) {
            return rlmr_error_set(err, status, "%s", trouble.message);
        }
        if (piece.bytes == 0) {
            return finish(self, false, err);
        }
        self->at += (int64_t)(piece.bytes - rlmr_input_text(self->input).bytes);
        status = work_off(self, err);
    }
    return status;
}

rlmr_status rlmr_trace_read(const char *path, rlmr_on_event on_event, void *self, const rlmr_damage *damage,
                            const rlmr_meter *meter, uint64_t *events, rlmr_error *err) {
    trace state = {.on_event = on_event, .self = self, .damage = damage};
    rlmr_status status = rlmr_input_open(path, meter, &state.input, err);
    if (status == RLMR_OK) {
        status = read_events(&state, err);
    }
    close_parser(&state);
    rlmr_input_close(state.input);
    rlmr_bytes_release(&state.text);
    *events = state.events;
    return status;
}
