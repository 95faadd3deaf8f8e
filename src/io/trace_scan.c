#include "trace_state.h"

#include "rlmr/event_fields.h"

void rlmr_trace_scan_begin(rlmr_trace *self) {
    rlmr_event_scan_begin(&self->scan, rlmr_scan_best(), self->at, self->array_depth);
    self->scanning = true;
    self->scan_start = self->at;
    self->passed = self->at;
}

/* ---- The fields as they are written ---- */

/* The text of a field. For those with backslashes there is room for all of the event: what was decoded before stays. */
static rlmr_status take_field(rlmr_trace *self, size_t event_bytes, rlmr_raw_field raw, rlmr_slice *out,
                              rlmr_error *err) {
    *out = raw.raw;
    if (!raw.escaped) {
        return RLMR_OK;
    }
    size_t before = self->decoded.bytes;
    rlmr_status status = before == 0 ? rlmr_bytes_reserve(&self->decoded, event_bytes, err) : RLMR_OK;
    status = status == RLMR_OK ? rlmr_json_string_decode(raw.raw, &self->decoded, err) : status;
    if (status == RLMR_OK) {
        *out = (rlmr_slice){.text = (const char *)self->decoded.data + before,
                            .bytes = self->decoded.bytes - before};
    }
    return status;
}

/* All but the call stack, of which most are never needed. */
static rlmr_status take_fields(rlmr_trace *self, size_t event_bytes, const rlmr_event_fields *fields,
                               rlmr_trace_event *event, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    rlmr_bytes_clear(&self->decoded);
#define TAKE_FIELD(field, key)                                                                               \
    status = status == RLMR_OK ? take_field(self, event_bytes, fields->field, &event->field, err) : status;
    RLMR_EVENT_FIELDS(TAKE_FIELD)
    TAKE_FIELD(sequence, )
    TAKE_FIELD(forward_thread, )
#undef TAKE_FIELD
    event->call_stack = fields->call_stack.raw;
    event->call_stack_escaped = fields->call_stack.escaped;
    return status;
}

/* ---- By the parser ---- */

static rlmr_status on_event_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                                  rlmr_error *err) {
    rlmr_trace *self = context;
    int inside = depth - self->array_depth;
    if (inside > 0) {
        return rlmr_event_tokens_take(&self->parsed, kind, text, inside, err);
    }
    self->parsed_whole = inside == 0 && kind == RLMR_JSON_OBJECT_END;
    return RLMR_OK;
}

static rlmr_status feed_event(rlmr_trace *self, rlmr_slice text, rlmr_error *err) {
    bool first = self->events_parser == NULL;
    rlmr_slice opening = self->in_object ? RLMR_SLICE("[[") : RLMR_SLICE("[");
    rlmr_status status =
        first ? rlmr_json_parser_open(on_event_token, self, &self->events_parser, err) : RLMR_OK;
    if (status == RLMR_OK) {
        status = rlmr_json_parser_feed(self->events_parser, first ? opening : RLMR_SLICE(","), err);
    }
    rlmr_event_tokens_begin(&self->parsed);
    self->parsed_whole = false;
    return status == RLMR_OK ? rlmr_json_parser_feed(self->events_parser, text, err) : status;
}

/* An event alone; if it is damaged, the parser of the file will meet it again. */
static rlmr_status parse_event(rlmr_trace *self, rlmr_slice text, rlmr_trace_event *event, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = feed_event(self, text, &trouble);
    if (status != RLMR_OK && status != RLMR_E_PARSE && status != RLMR_E_LIMIT) {
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    self->bad = status != RLMR_OK || !self->parsed_whole;
    if (self->bad) {
        return RLMR_E_STOPPED;
    }
    rlmr_event_tokens_end(&self->parsed, event);
    return RLMR_OK;
}

/* ---- Events ---- */

static rlmr_status give_event(rlmr_trace *self, const rlmr_event_bounds *bounds, rlmr_error *err) {
    rlmr_slice text = rlmr_input_from(self->input, bounds->start);
    text.bytes = (size_t)(bounds->end - bounds->start);
    rlmr_event_fields fields;
    rlmr_trace_event event = {.number = 0};
    rlmr_status status = !self->strict && rlmr_event_fields_scanned(&self->scan, bounds, text, &fields)
                             ? take_fields(self, text.bytes, &fields, &event, err)
                             : parse_event(self, text, &event, err);
    if (status == RLMR_OK) {
        event.number = self->events++;
        event.offset = bounds->start;
        self->passed = bounds->end;
        self->refused = self->on_event(self->self, &event, err);
        status = self->refused;
    }
    return status;
}

static rlmr_status on_bounds(void *context, const rlmr_event_bounds *bounds, rlmr_error *err) {
    rlmr_trace *self = context;
    if (bounds->flags != 0 || self->strict) {
        return give_event(self, bounds, err);
    }
    self->events++;
    self->passed = bounds->end;
    return RLMR_OK;
}

/* Where the range ends an event must begin. */
static void arrive(rlmr_trace *self, rlmr_slice next) {
    self->arrived = true;
    self->unsound = self->at > self->to || !rlmr_event_scan_is_between(&self->scan) || next.text[0] != '{';
}

rlmr_status rlmr_trace_scan(rlmr_trace *self, rlmr_slice bytes, rlmr_error *err) {
    if (self->at >= self->to) {
        arrive(self, bytes);
        return RLMR_OK;
    }
    int64_t rest = self->to - self->at;
    bytes.bytes = rest < (int64_t)bytes.bytes ? (size_t)rest : bytes.bytes;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = rlmr_event_scan_feed(&self->scan, bytes, on_bounds, self, &trouble);
    if (status != RLMR_OK && !self->bad) {
        rlmr_trace_set_offset(err, self->passed);
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (self->bad || self->scan.state != RLMR_SCAN_OPEN) {
        return rlmr_trace_scan_end(self, err);
    }
    self->at += (int64_t)bytes.bytes;
    self->event_start = self->scan.depth > 0 ? self->scan.start : -1;
    return RLMR_OK;
}

rlmr_status rlmr_trace_scan_end(rlmr_trace *self, rlmr_error *err) {
    if (!self->scanning) {
        return RLMR_OK;
    }
    self->scanning = false;
    self->event_start = -1;
    self->unsound = self->to != RLMR_RANGE_OPEN;
    self->at = self->passed < self->floor ? self->floor : self->passed;
    rlmr_status status = RLMR_OK;
    if (self->passed > self->scan_start) {
        status = rlmr_trace_feed_ours(self, RLMR_SLICE("{}"), err);
    }
    if (status == RLMR_OK && self->at > self->passed && self->comma) {
        status = rlmr_trace_feed_ours(self, RLMR_SLICE(","), err);
    }
    return status;
}
