#include "rlmr/event_range.h"

#include "json_blocks.h"

#include <string.h>

/* How far a guess is tried. */
#define TRIAL_BYTES ((size_t)1 << 16)

rlmr_scan_carry rlmr_range_before_event(void) {
    return (rlmr_scan_carry){.delimiter = 1};
}

static void add_block(rlmr_range_effect *effect, const char *text, const rlmr_json_block *block) {
    effect->damaged = effect->damaged || block->bad != 0;
    for (uint64_t brackets = block->bracket; brackets != 0; brackets &= brackets - 1) {
        char c = text[json_lowest(brackets)];
        effect->depth += c == '{' || c == '[' ? 1 : -1;
        effect->lowest = effect->depth < effect->lowest ? effect->depth : effect->lowest;
    }
}

rlmr_range_effect rlmr_range_effect_of(rlmr_scan_path path, rlmr_scan_carry start, rlmr_slice text) {
    rlmr_range_effect effect = {.start = start, .end = start, .holds = true};
    rlmr_json_block blocks[JSON_BATCH_BLOCKS];
    for (size_t at = 0; at < text.bytes;) {
        size_t bytes = text.bytes - at < JSON_BATCH_BYTES ? text.bytes - at : JSON_BATCH_BYTES;
        size_t count = rlmr_json_blocks(path, &effect.end, text.text + at, bytes, blocks);
        for (size_t i = 0; i < count; i++) {
            add_block(&effect, text.text + at + i * JSON_BLOCK_BYTES, &blocks[i]);
        }
        at += bytes;
    }
    return effect;
}

/* The letter changes nothing of what an effect says. */
static bool is_same_state(const rlmr_scan_carry *a, const rlmr_scan_carry *b) {
    return a->string == b->string && a->escaped == b->escaped && a->closed == b->closed &&
           a->delimiter == b->delimiter;
}

rlmr_range_effect rlmr_range_effect_join(const rlmr_range_effect *first, const rlmr_range_effect *then) {
    int64_t lowest = first->depth + then->lowest;
    return (rlmr_range_effect){.start = first->start,
                               .end = then->end,
                               .depth = first->depth + then->depth,
                               .lowest = lowest < first->lowest ? lowest : first->lowest,
                               .damaged = first->damaged || then->damaged,
                               .holds =
                                   first->holds && then->holds && is_same_state(&first->end, &then->start)};
}

/* ---- Guessing ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The byte before `at` that is no blank, and its place; 0 if there is none. */
static char byte_before(rlmr_slice text, size_t *at) {
    while (*at > 0) {
        (*at)--;
        if (!is_blank(text.text[*at])) {
            return text.text[*at];
        }
    }
    return '\0';
}

/* Whether the brace at `at` follows an object and a comma. */
static bool may_be_next(rlmr_slice text, size_t at) {
    bool comma = byte_before(text, &at) == ',';
    return comma && byte_before(text, &at) == '}';
}

static rlmr_status go_on(void *self, const rlmr_event_bounds *event, rlmr_error *err) {
    (void)self;
    (void)event;
    (void)err;
    return RLMR_OK;
}

bool rlmr_range_guess(rlmr_scan_path path, rlmr_slice text, size_t *at) {
    for (size_t from = 0; from < text.bytes;) {
        const char *brace = memchr(text.text + from, '{', text.bytes - from);
        if (brace == NULL) {
            return false;
        }
        *at = (size_t)(brace - text.text);
        from = *at + 1;
        if (!may_be_next(text, *at)) {
            continue;
        }
        size_t bytes = text.bytes - *at < TRIAL_BYTES ? text.bytes - *at : TRIAL_BYTES;
        rlmr_event_scan scan;
        rlmr_event_scan_begin(&scan, path, (int64_t)*at, 1);
        rlmr_status status =
            rlmr_event_scan_feed(&scan, (rlmr_slice){.text = brace, .bytes = bytes}, go_on, NULL, NULL);
        if (status == RLMR_OK && scan.state == RLMR_SCAN_OPEN && scan.events > 0) {
            return true;
        }
        /* What was taken for events there is none either. */
        from = (size_t)scan.good > from ? (size_t)scan.good : from;
    }
    return false;
}
