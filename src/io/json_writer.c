#include "json_escape.h"
#include "rlmr/number_text.h"
#include "rlmr/utf8.h"
#include "text_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What stands before a value or key. */
static void begin_value(rlmr_text *file) {
    if (file->keyed) {
        file->keyed = false;
    } else if (file->depth > 0) {
        if (file->filled[file->depth - 1]) {
            rlmr_text_put(file, RLMR_SLICE(", "));
        }
        file->filled[file->depth - 1] = true;
    }
}

void rlmr_json_open(rlmr_text *file, char bracket) {
    begin_value(file);
    rlmr_text_put(file, (rlmr_slice){&bracket, 1});
    if (file->depth == RLMR_JSON_DEPTH) {
        (void)rlmr_error_set(&file->error, RLMR_E_RANGE, "more than %d objects inside one another",
                             RLMR_JSON_DEPTH);
    } else {
        file->filled[file->depth++] = false;
    }
}

void rlmr_json_close(rlmr_text *file, char bracket) {
    file->depth--;
    rlmr_text_put(file, (rlmr_slice){&bracket, 1});
}

static void put_characters(rlmr_text *file, rlmr_slice text) {
    for (size_t at = 0; at < text.bytes;) {
        size_t plain = at;
        while (plain < text.bytes && rlmr_json_is_plain(text.text[plain])) {
            plain++;
        }
        rlmr_text_put(file, (rlmr_slice){text.text + at, plain - at});
        at = plain;
        if (at < text.bytes) {
            char escape[RLMR_JSON_ESCAPE_BYTES];
            size_t bytes = rlmr_json_escape(rlmr_utf8_next(text, &at), escape);
            rlmr_text_put(file, (rlmr_slice){escape, bytes});
        }
    }
}

void rlmr_json_key_of(rlmr_text *file, rlmr_slice first, rlmr_slice second, rlmr_slice third) {
    begin_value(file);
    rlmr_text_put(file, RLMR_SLICE("\""));
    put_characters(file, first);
    put_characters(file, second);
    put_characters(file, third);
    rlmr_text_put(file, RLMR_SLICE("\": "));
    file->keyed = true;
}

void rlmr_json_key(rlmr_text *file, rlmr_slice key) {
    rlmr_json_key_of(file, key, RLMR_SLICE(""), RLMR_SLICE(""));
}

void rlmr_json_text(rlmr_text *file, rlmr_slice value) {
    begin_value(file);
    rlmr_text_put(file, RLMR_SLICE("\""));
    put_characters(file, value);
    rlmr_text_put(file, RLMR_SLICE("\""));
}

void rlmr_json_number(rlmr_text *file, rlmr_slice digits) {
    begin_value(file);
    rlmr_text_put(file, digits);
}

void rlmr_json_i64(rlmr_text *file, int64_t value) {
    char text[RLMR_NUMBER_TEXT_BYTES];
    rlmr_json_number(file, (rlmr_slice){text, (size_t)sprintf(text, "%" PRId64, value)});
}

void rlmr_json_f64(rlmr_text *file, double value) {
    char text[RLMR_NUMBER_TEXT_BYTES];
    if (isnan(value)) {
        rlmr_json_number(file, RLMR_SLICE("NaN"));
    } else if (isinf(value)) {
        rlmr_json_number(file, value > 0 ? RLMR_SLICE("Infinity") : RLMR_SLICE("-Infinity"));
    } else {
        rlmr_json_number(file, (rlmr_slice){text, rlmr_number_text(value, text)});
    }
}
