#include "rlmr/event_guess.h"

#include <string.h>

/* How far a guess is tried. */
#define TRIAL_BYTES ((size_t)1 << 16)

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

bool rlmr_event_guess(rlmr_scan_path path, rlmr_slice text, size_t *at) {
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
