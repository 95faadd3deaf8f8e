#include "rlmr/event_scan.h"

#include "json_blocks.h"

#include <string.h>

#define STACK "\"Call stack\""
#define SEQUENCE "\"Sequence number\""
#define CPU_OP "\"cpu_op\""

/* Whose masks are at hand: an event that fits is not looked at twice. */
#define WINDOW_BLOCKS (8 * JSON_BATCH_BLOCKS)

_Static_assert(sizeof SEQUENCE - 2 <= RLMR_SCAN_TAIL_BYTES,
               "the tail holds what may precede the last byte of a key");

void rlmr_event_scan_begin(rlmr_event_scan *scan, rlmr_scan_path path, int64_t offset, int depth) {
    *scan = (rlmr_event_scan){.state = RLMR_SCAN_OPEN,
                              .good = offset,
                              .at = offset,
                              .path = path,
                              .carry = {.delimiter = 1}, /* the bracket */
                              .next = RLMR_SCAN_FIRST,
                              .outer_depth = depth};
}

bool rlmr_event_scan_is_between(const rlmr_event_scan *scan) {
    return scan->state == RLMR_SCAN_OPEN && scan->depth == 0 && scan->next != RLMR_SCAN_COMMA;
}

/* What is being scanned, and who is told. */
typedef struct {
    rlmr_event_scan *scan;
    const char *text; /* the piece; scan->at is the offset of its first byte */
    rlmr_on_bounds on_event;
    void *self;
} piece;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_too_long(const rlmr_event_scan *scan, int64_t end) {
    return end - scan->start > RLMR_LIMIT_EVENT_BYTES;
}

/* Whether `key` with its quotes ends behind byte `at` of the piece. */
static bool ends_key(const piece *in, size_t at, const char *key, size_t bytes) {
    if (at + 1 >= bytes) {
        return memcmp(in->text + at + 1 - bytes, key, bytes) == 0;
    }
    size_t before = bytes - (at + 1);
    return memcmp(in->scan->tail + RLMR_SCAN_TAIL_BYTES - before, key, before) == 0 &&
           memcmp(in->text, key + before, at + 1) == 0;
}

/* The flag of the string that ends with the quote at byte `at` of the piece, by its last letter. */
static unsigned flag_of(const piece *in, size_t at) {
    switch (at > 0 ? in->text[at - 1] : in->scan->tail[RLMR_SCAN_TAIL_BYTES - 1]) {
    case 'k':
        return ends_key(in, at, STACK, sizeof STACK - 1) ? RLMR_EVENT_STACK : 0;
    case 'r':
        return ends_key(in, at, SEQUENCE, sizeof SEQUENCE - 1) ? RLMR_EVENT_SEQUENCE : 0;
    case 'p':
        return ends_key(in, at, CPU_OP, sizeof CPU_OP - 1) ? RLMR_EVENT_CPU_OP : 0;
    default:
        return 0;
    }
}

/* Flags by the bytes of one block, which begins at byte `base`, that are set in `part`. */
static void flag_event(const piece *in, size_t base, const rlmr_json_block *block, uint64_t part) {
    in->scan->flags |= (block->escaped & part) != 0 ? RLMR_EVENT_UNSURE : 0;
    for (uint64_t ends = block->key_end & part; ends != 0; ends &= ends - 1) {
        in->scan->flags |= flag_of(in, base + json_lowest(ends));
    }
}

/* Between events: the first byte of the next one from byte `at` on, or `end`. */
static size_t find_event(piece *in, size_t at, size_t end) {
    rlmr_event_scan *scan = in->scan;
    for (; at < end; at++) {
        char c = in->text[at];
        if (c == ',' && scan->next == RLMR_SCAN_COMMA) {
            scan->next = RLMR_SCAN_EVENT;
        } else if (c == '{' && scan->next != RLMR_SCAN_COMMA) {
            break;
        } else if (c == ']' && scan->next != RLMR_SCAN_EVENT) {
            scan->state = RLMR_SCAN_CLOSED;
            scan->good = scan->at + (int64_t)at + 1;
            return end;
        } else if (!is_blank(c)) {
            scan->state = RLMR_SCAN_DAMAGED;
            return end;
        }
    }
    return at;
}

static void push(rlmr_event_scan *scan, bool object) {
    json_push(scan->kinds, object);
    scan->depth++;
}

/* The last byte before `at` that is no blank. */
static char byte_before(const piece *in, size_t at) {
    while (at > 0 && is_blank(in->text[at - 1])) {
        at--;
    }
    return at > 0 ? in->text[at - 1] : in->scan->last;
}

/* Whether a bracket may open at byte `at`, inside an event. */
static bool may_open(const piece *in, size_t at) {
    const rlmr_event_scan *scan = in->scan;
    char before = byte_before(in, at);
    bool value = json_in_object(scan->kinds) ? before == ':' : before == ',' || before == '[';
    return value && scan->outer_depth + scan->depth < RLMR_LIMIT_JSON_DEPTH;
}

static void damage(rlmr_event_scan *scan) {
    scan->state = RLMR_SCAN_DAMAGED;
}

static void begin_event(piece *in, size_t at) {
    in->scan->start = in->scan->at + (int64_t)at;
    in->scan->flags = 0;
    push(in->scan, true);
}

static rlmr_status end_event(piece *in, size_t at, rlmr_error *err) {
    rlmr_event_scan *scan = in->scan;
    int64_t end = scan->at + (int64_t)at + 1;
    if (is_too_long(scan, end)) {
        damage(scan);
        return RLMR_OK;
    }
    /* Only then can one of its strings be too long. */
    unsigned long_strings = end - scan->start > RLMR_LIMIT_STRING_BYTES ? RLMR_EVENT_UNSURE : 0;
    rlmr_event_bounds event = {
        .start = scan->start, .end = end, .number = scan->events, .flags = scan->flags | long_strings};
    scan->events++;
    scan->good = end;
    scan->next = RLMR_SCAN_COMMA;
    return in->on_event(in->self, &event, err);
}

/* A bracket at byte `at`, inside an event. */
static void take_bracket(piece *in, size_t at) {
    rlmr_event_scan *scan = in->scan;
    char c = in->text[at];
    bool object = c == '{' || c == '}';
    if (c == '{' || c == '[') {
        if (may_open(in, at)) {
            push(scan, object);
        } else {
            damage(scan);
        }
    } else if (json_in_object(scan->kinds) == object) {
        json_pop(scan->kinds);
        scan->depth--;
    } else {
        damage(scan);
    }
}

/* A block of `bytes` bytes from byte `base` of the piece on. */
static rlmr_status walk_block(piece *in, size_t base, size_t bytes, const rlmr_json_block *block,
                              rlmr_error *err) {
    rlmr_event_scan *scan = in->scan;
    bytes = block->bad != 0 ? json_lowest(block->bad) : bytes;
    uint64_t brackets = block->bracket & json_bits_below(bytes);
    uint64_t rest = json_bits_below(bytes); /* of the event at hand */
    size_t from = 0;                        /* behind the last event */
    for (;;) {
        if (scan->depth == 0) {
            size_t at = find_event(in, base + from, base + bytes) - base;
            rest = at < bytes ? json_bits_below(bytes) & ~json_bits_below(at + 1) : 0;
            brackets &= rest;
            if (at == bytes) {
                break;
            }
            begin_event(in, base + at);
        }
        if (brackets == 0) {
            break;
        }
        size_t at = json_lowest(brackets);
        uint64_t below = (brackets - 1) & ~brackets;
        brackets &= brackets - 1;
        take_bracket(in, base + at);
        if (scan->depth == 0) {
            flag_event(in, base, block, rest & below);
            rlmr_status status = end_event(in, base + at, err);
            if (status != RLMR_OK) {
                return status;
            }
            from = at + 1;
        }
        if (scan->state != RLMR_SCAN_OPEN) {
            return RLMR_OK;
        }
    }
    flag_event(in, base, block, rest);
    if (block->bad != 0 && scan->state == RLMR_SCAN_OPEN) {
        damage(scan);
    }
    return RLMR_OK;
}

/* What the next piece must know of this one. */
static void leave_piece(piece *in, size_t bytes) {
    rlmr_event_scan *scan = in->scan;
    size_t kept = bytes < RLMR_SCAN_TAIL_BYTES ? RLMR_SCAN_TAIL_BYTES - bytes : 0;
    memmove(scan->tail, scan->tail + RLMR_SCAN_TAIL_BYTES - kept, kept);
    memcpy(scan->tail + kept, in->text + bytes - (RLMR_SCAN_TAIL_BYTES - kept), RLMR_SCAN_TAIL_BYTES - kept);
    scan->last = byte_before(in, bytes);
    scan->at += (int64_t)bytes;
    if (scan->depth > 0 && is_too_long(scan, scan->at)) {
        scan->state = RLMR_SCAN_DAMAGED;
    }
}

/* Room for a batch that begins with block `next` of the piece. The blocks of the event at hand stay, if there is room for them. */
static rlmr_json_block *make_room(rlmr_event_scan *scan, rlmr_json_block *blocks, size_t next) {
    size_t held = next - scan->first_block;
    if (held + JSON_BATCH_BLOCKS > WINDOW_BLOCKS) {
        int64_t start = scan->start - scan->at;
        size_t first = scan->depth > 0 && start >= 0 ? (size_t)start / JSON_BLOCK_BYTES : next;
        bool fits = first >= scan->first_block && next - first + JSON_BATCH_BLOCKS <= WINDOW_BLOCKS;
        size_t kept = fits ? next - first : 0;
        memmove(blocks, blocks + held - kept, kept * sizeof *blocks);
        scan->first_block = next - kept;
        held = kept;
    }
    return blocks + held;
}

/* Blocks of `bytes` bytes from byte `at` of the piece on. */
static rlmr_status walk_batch(piece *in, size_t at, size_t bytes, const rlmr_json_block *blocks, size_t count,
                              rlmr_error *err) {
    rlmr_event_scan *scan = in->scan;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && scan->state == RLMR_SCAN_OPEN && status == RLMR_OK; i++) {
        size_t base = i * JSON_BLOCK_BYTES;
        size_t here = bytes - base < JSON_BLOCK_BYTES ? bytes - base : JSON_BLOCK_BYTES;
        if (scan->depth > 0 && (blocks[i].bracket | blocks[i].bad | blocks[i].key_end) == 0) {
            scan->flags |= blocks[i].escaped != 0 ? RLMR_EVENT_UNSURE : 0;
        } else {
            status = walk_block(in, at + base, here, &blocks[i], err);
        }
    }
    return status;
}

rlmr_status rlmr_event_scan_feed(rlmr_event_scan *scan, rlmr_slice text, rlmr_on_bounds on_event, void *self,
                                 rlmr_error *err) {
    piece in = {.scan = scan, .text = text.text, .on_event = on_event, .self = self};
    rlmr_json_block blocks[WINDOW_BLOCKS];
    rlmr_status status = RLMR_OK;
    scan->blocks = blocks;
    scan->first_block = 0;
    for (size_t at = 0; at < text.bytes && scan->state == RLMR_SCAN_OPEN && status == RLMR_OK;) {
        size_t bytes = text.bytes - at < JSON_BATCH_BYTES ? text.bytes - at : JSON_BATCH_BYTES;
        rlmr_json_block *batch = make_room(scan, blocks, at / JSON_BLOCK_BYTES);
        size_t count = rlmr_json_blocks(scan->path, &scan->carry, text.text + at, bytes, batch);
        status = walk_batch(&in, at, bytes, batch, count, err);
        at += bytes;
    }
    scan->blocks = NULL;
    if (status == RLMR_OK && scan->state == RLMR_SCAN_OPEN && text.bytes > 0) {
        leave_piece(&in, text.bytes);
    }
    return status;
}
