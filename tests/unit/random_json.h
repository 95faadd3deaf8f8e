/** Random texts of events, right or damaged: what stands behind the `[` of an array. */
#ifndef RLMR_RANDOM_JSON_H
#define RLMR_RANDOM_JSON_H

#include "rlmr/bytes.h"

#include <string.h>

#define RANDOM_JSON_BYTES 2048

/* A growing text; what does not fit is left out, which makes a cut text. */
typedef struct {
    uint64_t random;
    char text[RANDOM_JSON_BYTES];
    size_t bytes;
} random_json;

/* Marsaglia's xorshift64. */
static inline size_t random_roll(random_json *out, size_t sides) {
    out->random ^= out->random << 13;
    out->random ^= out->random >> 7;
    out->random ^= out->random << 17;
    return (size_t)(out->random >> 33) % sides;
}

static inline void put(random_json *out, const char *text) {
    size_t bytes = strlen(text);
    if (out->bytes + bytes <= sizeof out->text) {
        memcpy(out->text + out->bytes, text, bytes);
        out->bytes += bytes;
    }
}

static inline void put_blanks(random_json *out) {
    static const char *const blanks[] = {"", "", "", " ", "\n", "\r\n\t", "                 "};
    put(out, blanks[random_roll(out, sizeof blanks / sizeof *blanks)]);
}

static inline void put_string(random_json *out) {
    static const char *const parts[] = {"a",
                                        "}",
                                        "{",
                                        "],",
                                        "\\\"",
                                        "\\\\",
                                        "\\\\\\\\\\\\\\\\",
                                        "\\n",
                                        "\u00e4",
                                        "k",
                                        "r",
                                        " ",
                                        ":",
                                        "Call stack",
                                        "Sequence number",
                                        "cpu_op",
                                        "u",
                                        "\xE4\xB8\xAD",
                                        "/site-packages/torch/nn/modules/module.py(1751): _call_impl"};
    put(out, "\"");
    for (size_t count = random_roll(out, 2) == 0 ? 1 : random_roll(out, 12); count > 0; count--) {
        put(out, parts[random_roll(out, sizeof parts / sizeof *parts)]);
    }
    put(out, "\"");
}

/* Mostly one that means something, at the right depth or not. @return whether it is args */
static inline bool put_key(random_json *out) {
    static const char *const keys[] = {
        "args",          "args",       "name",      "cat", "ts", "dur", "pid", "tid", "Sequence number",
        "Fwd thread id", "Call stack", "n\\u0061me"};
    size_t chosen = random_roll(out, 40);
    chosen = chosen < 36 ? chosen % 11 : chosen - 25;
    if (chosen >= sizeof keys / sizeof *keys) {
        put_string(out);
        return false;
    }
    put(out, "\"");
    put(out, keys[chosen]);
    put(out, "\"");
    return chosen < 2;
}

static inline void put_value(random_json *out, int depth);

static inline void put_elements(random_json *out, int depth, bool object) {
    put(out, object ? "{" : "[");
    put_blanks(out);
    for (size_t i = 0, count = random_roll(out, 4); i < count; i++) {
        put(out, i > 0 ? "," : "");
        put_blanks(out);
        bool args = false;
        if (object) {
            args = put_key(out);
            put_blanks(out);
            put(out, ":");
            put_blanks(out);
        }
        if (args && depth < 3 && random_roll(out, 4) > 0) {
            put_elements(out, depth + 1, true);
        } else {
            put_value(out, depth + 1);
        }
        put_blanks(out);
    }
    put(out, object ? "}" : "]");
}

static inline void put_value(random_json *out, int depth) {
    static const char *const scalars[] = {"0", "-1.5e+30", "true", "null", "1736408883694624.810", "\"\""};
    size_t kind = random_roll(out, depth > 3 ? 4 : 6);
    if (kind < 2) {
        put(out, scalars[random_roll(out, sizeof scalars / sizeof *scalars)]);
    } else if (kind < 4) {
        put_string(out);
    } else {
        put_elements(out, depth, kind == 4);
    }
}

static inline void random_events(random_json *out) {
    out->bytes = 0;
    for (size_t i = 0, count = 1 + random_roll(out, 5); i < count; i++) {
        put(out, i > 0 ? "," : "");
        put_blanks(out);
        put_elements(out, 0, true);
        put_blanks(out);
    }
    put(out, "]");
}

/* Change, take out, or put in a byte, once or more. */
static inline void random_damage(random_json *out) {
    static const char bytes[] = "{}[]\",:\\ \nxk\x01\x00\x1F\x80";
    for (size_t changes = 1 + random_roll(out, 3); changes > 0 && out->bytes > 1; changes--) {
        size_t at = random_roll(out, out->bytes);
        char byte = bytes[random_roll(out, sizeof bytes - 1)];
        size_t kind = random_roll(out, 3);
        if (kind == 0) {
            out->text[at] = byte;
        } else if (kind == 1) {
            memmove(out->text + at, out->text + at + 1, out->bytes - at - 1);
            out->bytes--;
        } else if (out->bytes < sizeof out->text) {
            memmove(out->text + at + 1, out->text + at, out->bytes - at);
            out->text[at] = byte;
            out->bytes++;
        }
    }
}

static inline rlmr_slice random_text(const random_json *out) {
    return (rlmr_slice){.text = out->text, .bytes = out->bytes};
}

#endif
