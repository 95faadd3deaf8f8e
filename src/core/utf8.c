#include "rlmr/utf8.h"

/* Well-formed byte sequences of Unicode 15, table 3-7: the range of the second byte depends on the first. */
static size_t sequence_bytes(uint8_t lead, uint8_t *low, uint8_t *high) {
    *low = 0x80;
    *high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        *low = lead == 0xE0 ? 0xA0 : 0x80;
        *high = lead == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        *low = lead == 0xF0 ? 0x90 : 0x80;
        *high = lead == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

/* Bytes of the character at `text`, or of the maximal part of one that is broken there; *good says which. */
static size_t next_character(const uint8_t *text, size_t bytes, bool *good) {
    if (text[0] < 0x80) {
        *good = text[0] != 0;
        return 1;
    }
    uint8_t low;
    uint8_t high;
    size_t want = sequence_bytes(text[0], &low, &high);
    size_t have = 1;
    while (have < want && have < bytes && text[have] >= low && text[have] <= high) {
        have++;
        low = 0x80;
        high = 0xBF;
    }
    *good = want != 0 && have == want;
    return have;
}

static size_t valid_prefix(rlmr_slice text) {
    const uint8_t *bytes = (const uint8_t *)text.text;
    size_t at = 0;
    while (at < text.bytes) {
        if (bytes[at] >= 0x01 && bytes[at] < 0x80) {
            at++;
            continue;
        }
        bool good;
        size_t length = next_character(bytes + at, text.bytes - at, &good);
        if (!good) {
            break;
        }
        at += length;
    }
    return at;
}

bool rlmr_utf8_is_clean(rlmr_slice text) {
    return valid_prefix(text) == text.bytes;
}

uint32_t rlmr_utf8_next(rlmr_slice text, size_t *at) {
    uint8_t lead = (uint8_t)text.text[(*at)++];
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    uint32_t character = more == 0 ? lead : lead & (0x3FU >> more);
    for (; more > 0 && *at < text.bytes; more--) {
        character = character << 6 | ((uint8_t)text.text[(*at)++] & 0x3FU);
    }
    return character;
}

rlmr_status rlmr_utf8_clean(rlmr_slice text, rlmr_bytes *out, rlmr_error *err) {
    size_t at = valid_prefix(text);
    rlmr_status status = rlmr_bytes_append(out, text.text, at, err);
    while (status == RLMR_OK && at < text.bytes) {
        bool good;
        size_t length = next_character((const uint8_t *)text.text + at, text.bytes - at, &good);
        status = good ? rlmr_bytes_append(out, text.text + at, length, err)
                      : rlmr_bytes_append(out, "\xEF\xBF\xBD", 3, err);
        at += length;
    }
    return status;
}

char *rlmr_utf8_copy(rlmr_slice text, rlmr_error *err) {
    rlmr_bytes clean = {0};
    rlmr_status status = rlmr_utf8_clean(text, &clean, err);
    status = status == RLMR_OK ? rlmr_bytes_append(&clean, "", 1, err) : status;
    if (status != RLMR_OK) {
        rlmr_bytes_release(&clean);
        return NULL;
    }
    return (char *)clean.data;
}
