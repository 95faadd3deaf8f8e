#include "rlmr/event_fields.h"

#include "json_blocks.h"

#include <limits.h>
#include <string.h>

/* Behind the last mark. */
#define NO_MARK SIZE_MAX

/* What stands at a mark: a quote, one of ,:{}[] outside strings, or the first byte of a number or literal. Within a string only the quote
 * that ends it is one. */
typedef struct {
    rlmr_slice event;
    rlmr_event_fields *fields;
    int outer_depth;
    int depth; /* brackets open */
    json_kinds kinds;
    bool in_args; /* inside the object of args */
    bool bad;     /* a byte cannot be there */

    uint64_t marks; /* of the block at hand that are still to come */
    size_t base;    /* byte of the event with which that block begins, or before it, modulo 2^64 */
    size_t start;   /* byte of the first block with which the event begins */
    const rlmr_json_block *block; /* the next one */
    const rlmr_json_block *end;   /* behind those at hand */
    rlmr_scan_path path;
    rlmr_scan_carry carry;
    rlmr_json_block *room; /* for the blocks of a batch; NULL if all are at hand */
    size_t looked_at;      /* bytes of the event behind which no block has been made */
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
    return a.bytes == b.bytes && a.text[0] == b.text[0] && memcmp(a.text, b.text, b.bytes) == 0;
}

static const field_key *find_key(rlmr_slice key, const field_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_same(key, keys[i].text)) {
            return &keys[i];
        }
    }
    return NULL;
}

static bool has_backslash(rlmr_slice text) {
    return memchr(text.text, '\\', text.bytes) != NULL;
}

static rlmr_slice string_between(const finder *self, size_t quote, size_t end) {
    return (rlmr_slice){.text = self->event.text + quote + 1, .bytes = end - quote - 1};
}

/* ---- Values ---- */

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

/* A number or literal; `field` gets a number, if it may be one. */
static bool take_scalar(const finder *self, size_t at, rlmr_raw_field *field) {
    size_t end = pass_number(self, at);
    if (end == 0) {
        end = pass_literal(self, at);
    } else if (field != NULL) {
        field->raw = (rlmr_slice){.text = self->event.text + at, .bytes = end - at};
    }
    return end > 0 && is_delimiter(byte_at(self, end));
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Whether the byte at `at` may follow a backslash. */
static bool is_escape(const finder *self, size_t at) {
    static const bool plain[UCHAR_MAX + 1] = {['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
                                              ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true};
    char c = self->event.text[at];
    return plain[(unsigned char)c] ||
           (c == 'u' && is_hex(byte_at(self, at + 1)) && is_hex(byte_at(self, at + 2)) &&
            is_hex(byte_at(self, at + 3)) && is_hex(byte_at(self, at + 4)));
}

/* ---- Marks ---- */

/* The next blocks of an event that was not scanned. */
static bool look_further(finder *self) {
    size_t left = self->event.bytes - self->looked_at;
    if (self->room == NULL || left == 0) {
        return false;
    }
    size_t bytes = left < JSON_BATCH_BYTES ? left : JSON_BATCH_BYTES;
    const char *text = self->event.text + self->looked_at;
    self->block = self->room;
    self->end = self->room + rlmr_json_blocks(self->path, &self->carry, text, bytes, self->room);
    self->looked_at += bytes;
    return true;
}

/* Whether all escapes of a block are some. */
static bool has_good_escapes(const finder *self, uint64_t escapes) {
    bool good = true;
    for (; good && escapes != 0; escapes &= escapes - 1) {
        good = is_escape(self, self->base + json_lowest(escapes));
    }
    return good;
}

/* The marks of the next block that has some. @return false if there is none, or if the event must be parsed */
__attribute__((noinline)) static bool next_block(finder *self) {
    while (self->block < self->end || look_further(self)) {
        const rlmr_json_block *block = self->block++;
        self->base += JSON_BLOCK_BYTES;
        size_t left = self->event.bytes - self->base; /* also if the base is before the event */
        uint64_t part = left < JSON_BLOCK_BYTES ? json_bits_below(left) : UINT64_MAX;
        part &= ~json_bits_below(self->start);
        self->start = 0;
        self->marks = (block->quote | block->mark | block->scalar) & part;
        self->bad = (block->bad & part) != 0 || !has_good_escapes(self, block->escaped & part);
        if (self->bad || self->marks != 0) {
            return !self->bad;
        }
    }
    return false;
}

static inline size_t next_mark(finder *self) {
    if (self->marks == 0 && !next_block(self)) {
        return NO_MARK;
    }
    size_t at = self->base + json_lowest(self->marks);
    self->marks &= self->marks - 1;
    return at;
}

/* The byte at a mark. */
static char mark_byte(const finder *self, size_t mark) {
    return mark != NO_MARK ? self->event.text[mark] : '\0';
}

/* ---- The event ---- */

/* What the key just read names. */
typedef struct {
    rlmr_raw_field *field; /* or NULL */
    bool text_only;        /* so is that field */
    bool args;
} named;

/* A key, with its colon. */
static bool take_key(finder *self, size_t quote, named *out) {
    size_t end = next_mark(self);
    size_t colon = next_mark(self);
    *out = (named){.args = false};
    if (mark_byte(self, quote) != '"' || mark_byte(self, end) != '"' || mark_byte(self, colon) != ':') {
        return false;
    }
    bool outermost = self->depth == 1;
    if (!outermost && !(self->depth == 2 && self->in_args)) {
        return true;
    }
    rlmr_slice key = string_between(self, quote, end);
    const field_key *found = outermost ? find_key(key, event_keys, sizeof event_keys / sizeof *event_keys)
                                       : find_key(key, args_keys, sizeof args_keys / sizeof *args_keys);
    if (found != NULL) {
        out->field = (rlmr_raw_field *)(void *)((char *)self->fields + found->offset);
        out->text_only = found->text_only;
        return true;
    }
    out->args = outermost && is_same(key, RLMR_SLICE("args"));
    return out->args || !has_backslash(key);
}

static bool open_bracket(finder *self, bool object) {
    if (self->outer_depth + self->depth >= RLMR_LIMIT_JSON_DEPTH) {
        return false;
    }
    json_push(self->kinds, object);
    self->depth++;
    return true;
}

static bool close_bracket(finder *self, bool object) {
    if (json_in_object(self->kinds) != object) {
        return false;
    }
    json_pop(self->kinds);
    self->depth--;
    self->in_args = self->in_args && self->depth > 1;
    return true;
}

/* A value of that key begins; whatever its field had is no longer so. */
static void begin_value(finder *self, const named *key, bool object) {
    if (key->args) {
        const size_t first = offsetof(rlmr_event_fields, sequence);
        memset((char *)self->fields + first, 0, sizeof *self->fields - first);
        self->in_args = object;
    }
    if (key->field != NULL) {
        *key->field = (rlmr_raw_field){.text = false};
    }
}

/* @param opened out: the value is an object or array, and goes on */
static bool take_value(finder *self, size_t at, const named *key, bool *opened) {
    char c = mark_byte(self, at);
    *opened = c == '{' || c == '[';
    begin_value(self, key, c == '{');
    if (c == '"') {
        size_t end = next_mark(self);
        if (end != NO_MARK && key->field != NULL) {
            rlmr_slice raw = string_between(self, at, end);
            *key->field = (rlmr_raw_field){.raw = raw, .text = true, .escaped = has_backslash(raw)};
        }
        return end != NO_MARK;
    }
    if (*opened) {
        return open_bracket(self, c == '{');
    }
    bool mark = c == '}' || c == ']' || c == ',' || c == ':';
    return at != NO_MARK && !mark && take_scalar(self, at, key->text_only ? NULL : key->field);
}

/* Behind a value, up to the next one in the same object or array. @param at out: where that begins, with its key if it has one */
static bool pass_value(finder *self, size_t *at) {
    while (self->depth > 0) {
        char c = mark_byte(self, next_mark(self));
        if (c == ',') {
            *at = next_mark(self);
            return *at != NO_MARK;
        }
        if ((c != '}' && c != ']') || !close_bracket(self, c == '}')) {
            return false;
        }
    }
    *at = NO_MARK;
    return true;
}

/* Inside a bracket that has just opened: the same for its first value, or behind it if it has none. */
static bool enter(finder *self, size_t *at) {
    *at = next_mark(self);
    char c = mark_byte(self, *at);
    char closing = json_in_object(self->kinds) ? '}' : ']';
    if (c != closing) {
        return true;
    }
    return close_bracket(self, c == '}') && pass_value(self, at);
}

static bool take_event(finder *self) {
    static const named no_key = {.args = false};
    size_t at = next_mark(self);
    bool opened = true;
    bool good = mark_byte(self, at) == '{' && open_bracket(self, true) && enter(self, &at);
    while (good && self->depth > 0) {
        named key = no_key;
        if (json_in_object(self->kinds)) {
            good = take_key(self, at, &key);
            at = good ? next_mark(self) : at;
        }
        good = good && take_value(self, at, &key, &opened);
        good = good && (opened ? enter(self, &at) : pass_value(self, &at));
    }
    return good && next_mark(self) == NO_MARK && !self->bad;
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
    rlmr_json_block blocks[JSON_BATCH_BLOCKS];
    finder self = {.event = event,
                   .fields = fields,
                   .outer_depth = depth,
                   .base = 0 - JSON_BLOCK_BYTES,
                   .block = blocks,
                   .end = blocks,
                   .path = path,
                   .carry = {.delimiter = 1},
                   .room = blocks};
    return take_event(&self);
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
    size_t in_block = (size_t)start % JSON_BLOCK_BYTES;
    size_t count = (in_block + text.bytes + JSON_BLOCK_BYTES - 1) / JSON_BLOCK_BYTES;
    const rlmr_json_block *block = &scan->blocks[first - scan->first_block];
    finder self = {.event = text,
                   .fields = fields,
                   .outer_depth = scan->outer_depth,
                   .base = 0 - in_block - JSON_BLOCK_BYTES,
                   .start = in_block,
                   .block = block,
                   .end = block + count};
    return take_event(&self);
}
