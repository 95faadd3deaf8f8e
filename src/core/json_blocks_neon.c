#include "json_blocks.h"

#if defined(__aarch64__)

#include "json_block_masks.h"

#include <arm_neon.h>

#define PATH

typedef struct {
    uint8x16_t part[4];
} json_text;

static inline json_text load(const char *text) {
    const uint8_t *from = (const uint8_t *)text;
    return (json_text){{vld1q_u8(from), vld1q_u8(from + 16), vld1q_u8(from + 32), vld1q_u8(from + 48)}};
}

/* One bit for each byte, which is 0 or 0xFF: bit k of the k-th of eight, and neighbours added three times. */
static inline uint64_t bits(const json_text *bytes) {
    const uint8x16_t weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t a = vpaddq_u8(vandq_u8(bytes->part[0], weights), vandq_u8(bytes->part[1], weights));
    uint8x16_t b = vpaddq_u8(vandq_u8(bytes->part[2], weights), vandq_u8(bytes->part[3], weights));
    a = vpaddq_u8(a, b);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(a, a)), 0);
}

static inline uint64_t equal(const json_text *text, char byte) {
    json_text same;
    for (int i = 0; i < 4; i++) {
        same.part[i] = vceqq_u8(text->part[i], vdupq_n_u8((uint8_t)byte));
    }
    return bits(&same);
}

/* Bytes that `table` has for their low four bits. */
static inline uint64_t looked_up(const json_text *text, uint8x16_t table) {
    json_text same;
    for (int i = 0; i < 4; i++) {
        uint8x16_t low = vandq_u8(text->part[i], vdupq_n_u8(0x0F));
        same.part[i] = vceqq_u8(text->part[i], vqtbl1q_u8(table, low));
    }
    return bits(&same);
}

static inline uint64_t quotes(const json_text *text) {
    return equal(text, '"');
}

static inline uint64_t backslashes(const json_text *text) {
    return equal(text, '\\');
}

static inline uint64_t controls(const json_text *text) {
    json_text below;
    for (int i = 0; i < 4; i++) {
        below.part[i] = vcltq_u8(text->part[i], vdupq_n_u8(0x20));
    }
    return bits(&below);
}

/* In the tables, 1 stands where no byte is meant: it is not looked up there, and what is there, 0, is not 1. */
static inline json_bytes classify(const json_text *text) {
    const uint8x16_t blanks = {' ', 0, 1, 1, 1, 1, 1, 1, 1, '\t', '\n', 1, 1, '\r', 1, 1};
    const uint8x16_t letters = {'p', 0, 'r', 1, 1, 1, 1, 1, 1, 1, 1, 'k', 1, 1, 1, 1};
    const uint8x16_t marks = {1, 0, 1, 1, 1, 1, 1, 1, 1, 1, ':', '{', ',', '}', 1, 1};
    json_text braced;
    json_text bit6;
    for (int i = 0; i < 4; i++) {
        braced.part[i] = vorrq_u8(text->part[i], vdupq_n_u8(0x20)); /* makes {} of [] */
        bit6.part[i] = vtstq_u8(text->part[i], vdupq_n_u8(0x40));   /* of the marks only brackets have it */
    }
    json_bytes bytes;
    bytes.backslash = backslashes(text);
    bytes.control = controls(text);
    bytes.blank = looked_up(text, blanks);
    bytes.letter = looked_up(text, letters);
    bytes.mark = looked_up(&braced, marks) & ~bytes.control;
    bytes.bracket = bytes.mark & bits(&bit6);
    return bytes;
}

/* The product without carries, an extension, is not on every processor. */
static inline uint64_t parities(uint64_t mask) {
    for (int distance = 1; distance < 64; distance *= 2) {
        mask ^= mask << distance;
    }
    return mask;
}

#include "json_block_loop.h"

void rlmr_json_blocks_neon(rlmr_scan_carry *carry, const char *text, size_t count, rlmr_json_block *blocks) {
    look_at_blocks(carry, text, count, blocks);
}

#endif
