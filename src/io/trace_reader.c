#include "rlmr/trace_reader.h"

#include "rlmr/limits.h"
#include "trace_state.h"

#include <string.h>

/* What a parser costs that gives up at once, in bytes parsed. */
#define PARSER_BYTES 256

#define TOO_LONG "an event with too many bytes" RLMR_LIMIT_TEXT(EVENT_BYTES)

/* Offset behind the token at hand. */
static int64_t token_end(const rlmr_trace *self) {
    return self->fed + (int64_t)rlmr_json_parser_at(self->parser);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Offset of the token that ends before `end`, the first behind those that were taken. */
static int64_t token_start(const rlmr_trace *self, int64_t end) {
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

static rlmr_status tell(rlmr_trace *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    self->refused = self->damage->met(self->damage->self, offset, lost, reason, err);
    return self->refused;
}

static void begin_event(rlmr_trace *self) {
    self->event_start = token_end(self) - 1;
    rlmr_event_tokens_begin(&self->fields);
}

static rlmr_status end_event(rlmr_trace *self, rlmr_error *err) {
    if (token_end(self) - self->event_start > RLMR_LIMIT_EVENT_BYTES) {
        return rlmr_error_set(err, RLMR_E_LIMIT, TOO_LONG);
    }
    if (self->proving && !self->fields.named) {
        return rlmr_error_set(err, RLMR_E_PARSE, "no event");
    }
    self->proving = false;
    self->found = true;
    rlmr_trace_event event;
    rlmr_event_tokens_end(&self->fields, &event);
    event.number = self->events++;
    event.offset = self->event_start;
    self->event_start = -1;
    self->refused = self->on_event(self->self, &event, err);
    return self->refused;
}

/* Outside the event array: look for it. */
static rlmr_status before_array(rlmr_trace *self, rlmr_json_kind kind, rlmr_slice text, int depth,
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

static rlmr_status take_token(rlmr_trace *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                              rlmr_error *err) {
    if (!self->in_array) {
        return before_array(self, kind, text, depth, err);
    }
    int inside = depth - self->array_depth;
    if (inside > 0) {
        return rlmr_event_tokens_take(&self->fields, kind, text, inside, err);
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
    rlmr_trace *self = context;
    if (self->ours) {
        return RLMR_OK;
    }
    rlmr_status status = take_token(self, kind, text, depth, err);
    self->passed = status == RLMR_OK ? token_end(self) : self->passed;
    return status;
}

void rlmr_trace_set_offset(rlmr_error *err, int64_t offset) {
    if (err != NULL && err->offset < 0) {
        err->offset = offset;
    }
}

static void close_parser(rlmr_trace *self) {
    rlmr_json_parser_close(self->parser);
    self->parser = NULL;
}

static rlmr_status open_parser(rlmr_trace *self, rlmr_error *err) {
    self->array_depth = -1;
    self->in_array = false;
    self->events_next = false;
    self->event_start = -1;
    return rlmr_json_parser_open(on_token, self, &self->parser, err);
}

/* A parser that stands in the event array, before what may be an event. */
static rlmr_status open_at_candidate(rlmr_trace *self, rlmr_error *err) {
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
static void start_search(rlmr_trace *self, int64_t offset) {
    close_parser(self);
    self->at = offset;
    self->last = '\0';
    self->event_start = -1;
    rlmr_slice before = rlmr_input_from(self->input, self->floor);
    for (int64_t i = offset - self->floor - 1; i >= 0 && self->last == '\0'; i--) {
        self->last = is_blank(before.text[i]) ? '\0' : before.text[i];
    }
}

static rlmr_status search(rlmr_trace *self, rlmr_slice bytes, rlmr_error *err) {
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
static rlmr_status charge(rlmr_trace *self, int64_t bytes, rlmr_error *err) {
    self->reread += bytes + PARSER_BYTES;
    if (self->reread > RLMR_LIMIT_REREAD_BYTES) {
        rlmr_trace_set_offset(err, self->at);
        return rlmr_error_set(err, RLMR_E_LIMIT,
                              "more than %d bytes read again behind damage" RLMR_LIMIT_TEXT(REREAD_BYTES),
                              RLMR_LIMIT_REREAD_BYTES);
    }
    return RLMR_OK;
}

/* What seemed to be an event is none: search on behind its brace. */
static rlmr_status drop_candidate(rlmr_trace *self, rlmr_error *err) {
    rlmr_status status = charge(self, self->at - self->candidate, err);
    close_parser(self);
    self->at = self->candidate + 1;
    self->last = '{';
    self->proving = false;
    self->event_start = -1;
    return status;
}

/* The error is one of the file, not of a callback or of memory. */
static bool is_salvageable(const rlmr_trace *self, const rlmr_error *trouble) {
    return self->refused == RLMR_OK && (trouble->code == RLMR_E_PARSE || trouble->code == RLMR_E_LIMIT);
}

/* An error of the parser, told; then the next event is searched for, from the token at fault on. */
static rlmr_status meet_error(rlmr_trace *self, const rlmr_error *trouble, rlmr_error *err) {
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

static bool is_too_long(const rlmr_trace *self) {
    return self->event_start >= 0 && self->at - self->event_start > RLMR_LIMIT_EVENT_BYTES;
}

/* What takes so much for an event is most likely a hole in the file, with events behind it. */
static rlmr_status give_up_event(rlmr_trace *self, rlmr_error *err) {
    int64_t start = self->event_start;
    rlmr_status status = tell(self, start, true, TOO_LONG, err);
    status = status == RLMR_OK ? charge(self, self->at - start, err) : status;
    if (status == RLMR_OK) {
        start_search(self, start + 1);
    }
    return status;
}

rlmr_status rlmr_trace_feed_ours(rlmr_trace *self, rlmr_slice text, rlmr_error *err) {
    self->ours = true;
    rlmr_status status = rlmr_json_parser_feed(self->parser, text, err);
    self->ours = false;
    return status;
}

/* The array has just been found. */
static rlmr_status begin_scan(rlmr_trace *self, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    self->may_scan = false;
    if (self->heading) {
        self->heading = false;
        self->unsound = self->from < self->at;
        self->at = self->from;
        status = rlmr_input_seek(self->input, self->from, err);
        status = status == RLMR_OK ? rlmr_trace_feed_ours(self, RLMR_SLICE("{},"), err) : status;
    }
    rlmr_trace_scan_begin(self);
    return status;
}

/* The bytes up to and with the first bracket: behind it may be the events. */
static rlmr_slice up_to_bracket(rlmr_slice bytes) {
    const char *bracket = memchr(bytes.text, '[', bytes.bytes);
    bytes.bytes = bracket == NULL ? bytes.bytes : (size_t)(bracket - bytes.text) + 1;
    return bytes;
}

static rlmr_status parse(rlmr_trace *self, rlmr_slice bytes, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    self->fed = self->at;
    bytes = self->may_scan ? up_to_bracket(bytes) : bytes;
    rlmr_status status = rlmr_json_parser_feed(self->parser, bytes, &trouble);
    self->at += (int64_t)rlmr_json_parser_at(self->parser);
    if (status == RLMR_OK && !is_too_long(self)) {
        return self->may_scan && self->in_array ? begin_scan(self, err) : RLMR_OK;
    }
    self->may_scan = false;
    if (status != RLMR_OK && !is_salvageable(self, &trouble)) {
        rlmr_trace_set_offset(err, self->at);
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (self->proving) {
        return drop_candidate(self, err);
    }
    return is_too_long(self) ? give_up_event(self, err) : meet_error(self, &trouble, err);
}

/* All that is read and not yet scanned, parsed or searched. */
static rlmr_status work_off(rlmr_trace *self, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    while (status == RLMR_OK && self->at < rlmr_input_end(self->input) && !self->arrived && !self->unsound) {
        rlmr_slice bytes = rlmr_input_from(self->input, self->at);
        if (self->scanning) {
            status = rlmr_trace_scan(self, bytes, err);
        } else {
            status = self->parser == NULL ? search(self, bytes, err) : parse(self, bytes, err);
        }
    }
    return status;
}

/* The end of the file, whole or cut. */
static rlmr_status finish(rlmr_trace *self, bool told, rlmr_error *err) {
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
static void keep_what_may_be_needed(rlmr_trace *self) {
    bool token = self->parser != NULL && self->at - self->passed <= RLMR_LIMIT_STRING_BYTES;
    self->floor = token ? self->passed : self->at;
    self->floor = self->event_start >= 0 ? self->event_start : self->floor;
    self->floor = self->proving ? self->candidate : self->floor;
    self->comma = self->scanning && self->scan.next == RLMR_SCAN_EVENT;
    rlmr_input_keep(self->input, self->floor);
}

/* The file has ended; if `trouble` says so, in what cannot be read, as if it were cut there. */
static rlmr_status end(rlmr_trace *self, const rlmr_error *trouble, rlmr_error *err) {
    rlmr_status status = rlmr_trace_scan_end(self, err);
    status = status == RLMR_OK ? work_off(self, err) : status;
    if (status == RLMR_OK && trouble != NULL) {
        status = tell(self, trouble->offset, self->event_start >= 0 && !self->proving, trouble->message, err);
    }
    return status == RLMR_OK && !self->unsound ? finish(self, trouble != NULL, err) : status;
}

static rlmr_status read_events(rlmr_trace *self, rlmr_error *err) {
    rlmr_status status = open_parser(self, err);
    while (status == RLMR_OK && !self->arrived && !self->unsound) {
        rlmr_slice piece;
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        keep_what_may_be_needed(self);
        status = rlmr_input_read(self->input, &piece, &trouble);
        bool cut = status == RLMR_E_PARSE || status == RLMR_E_INPUT;
        if (status != RLMR_OK && !cut) {
            return rlmr_error_set(err, status, "%s", trouble.message);
        }
        if (cut || piece.bytes == 0) {
            return end(self, cut ? &trouble : NULL, err);
        }
        self->at += (int64_t)(piece.bytes - rlmr_input_text(self->input).bytes);
        status = work_off(self, err);
        /* A range that ends before the array begins. */
        self->unsound = self->unsound || (!self->scanning && self->at >= self->to);
    }
    return status;
}

rlmr_status rlmr_trace_read_all(rlmr_trace *self, const char *path, const rlmr_meter *meter,
                                rlmr_error *err) {
    rlmr_status status = rlmr_input_open(path, meter, &self->input, err);
    if (status == RLMR_OK) {
        int64_t size = rlmr_input_size(self->input);
        self->to = self->to < size ? self->to : RLMR_RANGE_OPEN;
        self->arrived = self->from > 0 && self->from >= size;
        status = read_events(self, err);
    }
    close_parser(self);
    rlmr_json_parser_close(self->events_parser);
    rlmr_input_close(self->input);
    rlmr_event_tokens_release(&self->fields);
    rlmr_event_tokens_release(&self->parsed);
    rlmr_bytes_release(&self->decoded);
    return status;
}

rlmr_status rlmr_trace_read(const char *path, bool strict, rlmr_on_event on_event, void *self,
                            const rlmr_damage *damage, const rlmr_meter *meter, uint64_t *events,
                            rlmr_error *err) {
    rlmr_trace state = {
        .on_event = on_event, .self = self, .damage = damage, .may_scan = !strict, .to = RLMR_RANGE_OPEN};
    rlmr_status status = rlmr_trace_read_all(&state, path, meter, err);
    *events = state.events;
    return status;
}
