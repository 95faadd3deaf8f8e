#include "rlmr/number_text.h"
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

/* The character at `at`, which moves behind it. The text is UTF-8, as all text in tables. */
static uint32_t next_character(rlmr_slice text, size_t *at) {
    uint8_t lead = (uint8_t)text.text[(*at)++];
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    uint32_t character = more == 0 ? lead : lead & (0x3FU >> more);
    for (; more > 0 && *at < text.bytes; more--) {
        character = character << 6 | ((uint8_t)text.text[(*at)++] & 0x3FU);
    }
    return character;
}

static const char *short_escape(uint32_t character) {
    switch (character) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static void put_escaped(rlmr_text *file, uint32_t character) {
    char text[16];
    const char *escape = short_escape(character);
    if (escape != NULL) {
        rlmr_text_put(file, rlmr_slice_of(escape));
    } else if (character < 0x10000) {
        rlmr_text_put(file, (rlmr_slice){text, (size_t)sprintf(text, "\\u%04x", character)});
    } else {
        uint32_t above = character - 0x10000;
        rlmr_text_put(file, (rlmr_slice){text, (size_t)sprintf(text, "\\u%04x\\u%04x", 0xD800 + (above >> 10),
                                                               0xDC00 + (above & 0x3FF))});
    }
}

static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static void put_characters(rlmr_text *file, rlmr_slice text) {
    for (size_t at = 0; at < text.bytes;) {
        size_t plain = at;
        while (plain < text.bytes && is_plain(text.text[plain])) {
            plain++;
        }
        rlmr_text_put(file, (rlmr_slice){text.text + at, plain - at});
        at = plain;
        if (at < text.bytes) {
            put_escaped(file, next_character(text, &at));
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
