#include "rlmr/event_fields.h"

#include "json_blocks.h"

#include <string.h>

/* What may stand next. */
typedef enum {
    KEY_OR_END,
    KEY,
    KEY_QUOTE, /* the one that ends it */
    COLON,
    VALUE_OR_END,
    VALUE,
    VALUE_QUOTE,
    COMMA_OR_END,
    NOTHING,
} expectation;

typedef struct {
    rlmr_slice event;
    rlmr_event_fields *fields;
    expectation next;
    int outer_depth;
    int depth; /* brackets open */
    json_kinds kinds;
    size_t quote;          /* the one that began the string at hand */
    rlmr_raw_field *field; /* that the key just read names, or NULL */
    bool text_only;        /* so is that field */
    bool args_next;        /* the key just read is args */
    bool in_args;          /* inside its object */
} finder;

/* ---- Keys ---- */

typedef struct {
    rlmr_slice text;
    size_t offset; /* of the field */
    bool text_only;
} field_key;

#define TEXT_ONLY_TEXT true
#define TEXT_ONLY_VALUE false
#define FIELD_KEY(field, key, kind)                                                                          \
    {.text = {.text = (key), .bytes = sizeof(key) - 1},                                                      \
     .offset = offsetof(rlmr_event_fields, field),                                                           \
     .text_only = TEXT_ONLY_##kind},
static const field_key event_keys[] = {RLMR_RAW_EVENT_FIELDS(FIELD_KEY)};
static const field_key args_keys[] = {RLMR_RAW_ARGS_FIELDS(FIELD_KEY)};

static bool is_same(rlmr_slice a, rlmr_slice b) {
    return a.bytes == b.bytes && memcmp(a.text, b.text, b.bytes) == 0;
}

static void choose_field(finder *self, rlmr_slice key, const field_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_same(key, keys[i].text)) {
            self->field = (rlmr_raw_field *)(void *)((char *)self->fields + keys[i].offset);
            self->text_only = keys[i].text_only;
            return;
        }
    }
}

static bool has_backslash(rlmr_slice text) {
    return memchr(text.text, '\\', text.bytes) != NULL;
}

/* The string at hand, which ends before `at`. */
static rlmr_slice string_before(const finder *self, size_t at) {
    return (rlmr_slice){.text = self->event.text + self->quote + 1, .bytes = at - self->quote - 1};
}

static bool end_key(finder *self, size_t at) {
    self->next = COLON;
    self->field = NULL;
    self->args_next = false;
    bool outermost = self->depth == 1;
    if (!outermost && !(self->depth == 2 && self->in_args)) {
        return true;
    }
    rlmr_slice key = string_before(self, at);
    if (outermost) {
        self->args_next = is_same(key, RLMR_SLICE("args"));
        choose_field(self, key, event_keys, sizeof event_keys / sizeof *event_keys);
    } else {
        choose_field(self, key, args_keys, sizeof args_keys / sizeof *args_keys);
    }
    return self->args_next || self->field != NULL || !has_backslash(key);
}

/* ---- Values ---- */

/* A value of the key just read begins; whatever its field had is no longer so. */
static void begin_value(finder *self, bool object) {
    if (self->args_next) {
        const size_t first = offsetof(rlmr_event_fields, sequence);
        memset((char *)self->fields + first, 0, sizeof *self->fields - first);
        self->in_args = object;
        self->args_next = false;
    }
    if (self->field != NULL) {
        *self->field = (rlmr_raw_field){.text = false};
    }
}

static void end_string(finder *self, size_t at) {
    self->next = COMMA_OR_END;
    if (self->field != NULL) {
        rlmr_slice raw = string_before(self, at);
        *self->field = (rlmr_raw_field){.raw = raw, .text = true, .escaped = has_backslash(raw)};
    }
    self->field = NULL;
}

static char byte_at(const finder *self, size_t at) {
    return at < self->event.bytes ? self->event.text[at] : '\0';
}

static size_t skip_digits(const finder *self, size_t at) {
    while (byte_at(self, at) >= '0' && byte_at(self, at) <= '9') {
        at++;
    }
    return at;
}

/* Behind at least one digit from `at` on, or 0. */
static size_t pass_digits(const finder *self, size_t at) {
    size_t end = skip_digits(self, at);
    return end > at ? end : 0;
}

/* Behind the number at `at`, or 0 if there is none. */
static size_t pass_number(const finder *self, size_t at) {
    at += byte_at(self, at) == '-';
    at = byte_at(self, at) == '0' ? at + 1 : pass_digits(self, at);
    if (at > 0 && byte_at(self, at) == '.') {
        at = pass_digits(self, at + 1);
    }
    if (at > 0 && (byte_at(self, at) == 'e' || byte_at(self, at) == 'E')) {
        at++;
        at += byte_at(self, at) == '-' || byte_at(self, at) == '+';
        at = pass_digits(self, at);
    }
    return at;
}

/* Behind the literal at `at`, or 0 if there is none. */
static size_t pass_literal(const finder *self, size_t at) {
    static const rlmr_slice literals[] = {
        {.text = "true", .bytes = 4}, {.text = "false", .bytes = 5}, {.text = "null", .bytes = 4}};
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        if (self->event.bytes - at >= literals[i].bytes &&
            memcmp(self->event.text + at, literals[i].text, literals[i].bytes) == 0) {
            return at + literals[i].bytes;
        }
    }
    return 0;
}

static bool is_delimiter(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool take_scalar(finder *self, size_t at) {
    self->next = COMMA_OR_END;
    size_t end = pass_number(self, at);
    if (end == 0) {
        end = pass_literal(self, at);
    } else if (self->field != NULL && !self->text_only) {
        self->field->raw = (rlmr_slice){.text = self->event.text + at, .bytes = end - at};
    }
    self->field = NULL;
    return end > 0 && is_delimiter(byte_at(self, end));
}

static bool open_bracket(finder *self, bool object) {
    if (self->outer_depth + self->depth >= RLMR_LIMIT_JSON_DEPTH) {
        return false;
    }
    json_push(self->kinds, object);
    self->depth++;
    self->field = NULL;
    self->next = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

static bool close_bracket(finder *self, bool object) {
    if (json_in_object(self->kinds) != object) {
        return false;
    }
    json_pop(self->kinds);
    self->depth--;
    self->in_args = self->in_args && self->depth > 1;
    self->next = self->depth > 0 ? COMMA_OR_END : NOTHING;
    return true;
}

static bool take_value(finder *self, size_t at) {
    char c = self->event.text[at];
    begin_value(self, c == '{');
    switch (c) {
    case '"':
        self->quote = at;
        self->next = VALUE_QUOTE;
        return true;
    case '{':
    case '[':
        return open_bracket(self, c == '{');
    case '}':
    case ']':
    case ',':
    case ':':
        return false;
    default:
        return take_scalar(self, at);
    }
}

/* ---- The event ---- */

static bool take_key_quote(finder *self, size_t at) {
    self->quote = at;
    self->next = KEY_QUOTE;
    return self->event.text[at] == '"';
}

static bool take_behind_value(finder *self, char c) {
    if (c == ',') {
        self->next = json_in_object(self->kinds) ? KEY : VALUE;
        return true;
    }
    return (c == '}' || c == ']') && close_bracket(self, c == '}');
}

/* A quote, a mark outside strings, or the first byte of a number or literal. Within a string, only its quote comes. */
static bool take_mark(finder *self, size_t at) {
    char c = self->event.text[at];
    switch (self->next) {
    case KEY_OR_END:
        return c == '}' ? close_bracket(self, true) : take_key_quote(self, at);
    case KEY:
        return take_key_quote(self, at);
    case KEY_QUOTE:
        return end_key(self, at);
    case COLON:
        self->next = VALUE;
        return c == ':';
    case VALUE_OR_END:
        return c == ']' ? close_bracket(self, false) : take_value(self, at);
    case VALUE:
        return take_value(self, at);
    case VALUE_QUOTE:
        end_string(self, at);
        return true;
    case COMMA_OR_END:
        return take_behind_value(self, c);
    case NOTHING:
        return false;
    }
    return false;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Whether the byte at `at` may follow a backslash. */
static bool is_escape(const finder *self, size_t at) {
    switch (self->event.text[at]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return true;
    case 'u':
        return is_hex(byte_at(self, at + 1)) && is_hex(byte_at(self, at + 2)) &&
               is_hex(byte_at(self, at + 3)) && is_hex(byte_at(self, at + 4));
    default:
        return false;
    }
}

/* The bytes of a block that are set in `part`. The block begins at byte `base` of the event, or before it, modulo 2^64. */
static bool take_block(finder *self, size_t base, const rlmr_json_block *block, uint64_t part) {
    bool good = (block->bad & part) == 0;
    for (uint64_t escapes = block->escaped & part; good && escapes != 0; escapes &= escapes - 1) {
        good = is_escape(self, base + json_lowest(escapes));
    }
    for (uint64_t marks = (block->quote | block->mark | block->scalar) & part; good && marks != 0;
         marks &= marks - 1) {
        good = take_mark(self, base + json_lowest(marks));
    }
    return good;
}

/* Whether it may be an event, with no string beyond the limit. */
static bool begin(rlmr_slice event, rlmr_event_fields *fields) {
    *fields = (rlmr_event_fields){.name = {.text = false}};
    return event.bytes <= RLMR_LIMIT_STRING_BYTES && event.bytes > 0 && event.text[0] == '{' &&
           event.text[event.bytes - 1] == '}';
}

bool rlmr_event_fields_find(rlmr_scan_path path, rlmr_slice event, int depth, rlmr_event_fields *fields) {
    if (!begin(event, fields)) {
        return false;
    }
    finder self = {.event = event, .fields = fields, .next = VALUE, .outer_depth = depth};
    rlmr_scan_carry carry = {.delimiter = 1};
    rlmr_json_block blocks[JSON_BATCH_BLOCKS];
    for (size_t at = 0; at < event.bytes;) {
        size_t bytes = event.bytes - at < JSON_BATCH_BYTES ? event.bytes - at : JSON_BATCH_BYTES;
        size_t count = rlmr_json_blocks(path, &carry, event.text + at, bytes, blocks);
        for (size_t i = 0; i < count; i++) {
            if (!take_block(&self, at + i * JSON_BLOCK_BYTES, &blocks[i], UINT64_MAX)) {
                return false;
            }
        }
        at += bytes;
    }
    return self.next == NOTHING;
}

bool rlmr_event_fields_scanned(const rlmr_event_scan *scan, const rlmr_event_bounds *event, rlmr_slice text,
                               rlmr_event_fields *fields) {
    int64_t start = event->start - scan->at;
    size_t first = start < 0 ? 0 : (size_t)start / JSON_BLOCK_BYTES;
    if (start < 0 || first < scan->first_block) {
        return rlmr_event_fields_find(scan->path, text, scan->outer_depth, fields);
    }
    if (!begin(text, fields)) {
        return false;
    }
    finder self = {.event = text, .fields = fields, .next = VALUE, .outer_depth = scan->outer_depth};
    size_t end = (size_t)(event->end - scan->at);
    for (size_t base = first * JSON_BLOCK_BYTES; base < end; base += JSON_BLOCK_BYTES) {
        uint64_t part = base < (size_t)start ? ~json_bits_below((size_t)start - base) : UINT64_MAX;
        part &= json_bits_below(end - base);
        const rlmr_json_block *block = &scan->blocks[base / JSON_BLOCK_BYTES - scan->first_block];
        if (!take_block(&self, base - (size_t)start, block, part)) {
            return false;
        }
    }
    return self.next == NOTHING;
}
