#include "json_blocks.h"

#include "json_block_masks.h"

#include <string.h>

/* ---- Without special instructions ---- */

#define PATH

typedef struct {
    const char *bytes;
} json_text;

/* Classes of a byte; bit k is that of mask k below. */
enum { BACKSLASH = 1, CONTROL = 2, BLANK = 4, MARK = 8, BRACKET = 16, LETTER = 32 };
enum { CLASSES = 6 };

#define FOUR(first, class)                                                                                   \
    [(first)] = (class), [(first) + 1] = (class), [(first) + 2] = (class), [(first) + 3] = (class)

static const uint8_t classes[256] = {
    FOUR(0, CONTROL),
    FOUR(4, CONTROL),
    [8] = CONTROL,
    ['\t'] = CONTROL | BLANK,
    ['\n'] = CONTROL | BLANK,
    [11] = CONTROL,
    [12] = CONTROL,
    ['\r'] = CONTROL | BLANK,
    [14] = CONTROL,
    [15] = CONTROL,
    FOUR(16, CONTROL),
    FOUR(20, CONTROL),
    FOUR(24, CONTROL),
    FOUR(28, CONTROL),
    [' '] = BLANK,
    [','] = MARK,
    [':'] = MARK,
    ['['] = MARK | BRACKET,
    ['\\'] = BACKSLASH,
    [']'] = MARK | BRACKET,
    ['k'] = LETTER,
    ['p'] = LETTER,
    ['r'] = LETTER,
    ['{'] = MARK | BRACKET,
    ['}'] = MARK | BRACKET,
};

/* Eight bytes as a number, the first in its low bits. */
static uint64_t eight_bytes(const char *text) {
    uint64_t eight = 0;
    for (int i = 0; i < 8; i++) {
        eight |= (uint64_t)(unsigned char)text[i] << (8 * i);
    }
    return eight;
}

#define EACH(byte) (0x0101010101010101 * (uint64_t)(byte))

/* One bit for each of 64 bytes: whether it equals `byte` in the bits of `under`. */
static uint64_t equal(const json_text *text, uint8_t byte, uint8_t under) {
    uint64_t mask = 0;
    for (size_t at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        uint64_t other = (eight_bytes(text->bytes + at) ^ EACH(byte)) & EACH(under);
        uint64_t high = ~(((other & EACH(0x7F)) + EACH(0x7F)) | other) & EACH(0x80); /* where it is 0 */
        /* The product moves the bit of byte i to bit 56 + i, and nothing else there. */
        mask |= ((high >> 7) * 0x0102040810204080 >> 56) << at;
    }
    return mask;
}

static uint64_t quotes(const json_text *text) {
    return equal(text, '"', 0xFF);
}

static uint64_t backslashes(const json_text *text) {
    return equal(text, '\\', 0xFF);
}

static uint64_t controls(const json_text *text) {
    return equal(text, 0, 0xE0);
}

static json_text load(const char *text) {
    return (json_text){.bytes = text};
}

/* Bit j of byte i becomes bit i of byte j: blocks of 1, 2 and 4 bits change places over the diagonal. */
static uint64_t transpose(uint64_t bits) {
    uint64_t swap = (bits ^ (bits >> 7)) & 0x00AA00AA00AA00AA;
    bits ^= swap ^ (swap << 7);
    swap = (bits ^ (bits >> 14)) & 0x0000CCCC0000CCCC;
    bits ^= swap ^ (swap << 14);
    swap = (bits ^ (bits >> 28)) & 0x00000000F0F0F0F0;
    return bits ^ swap ^ (swap << 28);
}

static json_bytes classify(const json_text *text) {
    uint64_t masks[CLASSES] = {0};
    for (size_t at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        char found[8];
        for (size_t i = 0; i < sizeof found; i++) {
            found[i] = (char)classes[(unsigned char)text->bytes[at + i]];
        }
        uint64_t eight = transpose(eight_bytes(found));
        for (size_t k = 0; k < CLASSES; k++) {
            masks[k] |= (eight >> (8 * k) & 0xFF) << at;
        }
    }
    return (json_bytes){.backslash = masks[0],
                        .control = masks[1],
                        .blank = masks[2],
                        .mark = masks[3],
                        .bracket = masks[4],
                        .letter = masks[5]};
}

static uint64_t parities(uint64_t bits) {
    for (int distance = 1; distance < 64; distance *= 2) {
        bits ^= bits << distance;
    }
    return bits;
}

#include "json_block_loop.h"

void rlmr_json_blocks_portable(rlmr_scan_carry *carry, const char *text, size_t count,
                               rlmr_json_block *blocks) {
    look_at_blocks(carry, text, count, blocks);
}

/* ---- Dispatch ---- */

bool rlmr_scan_has(rlmr_scan_path path) {
    switch (path) {
    case RLMR_SCAN_PORTABLE:
        return true;
    case RLMR_SCAN_AVX2:
#if defined(__x86_64__)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
#else
        return false;
#endif
    case RLMR_SCAN_NEON:
#if defined(__aarch64__)
        return true;
#else
        return false;
#endif
    case RLMR_SCAN_PATHS:
        return false;
    }
    return false;
}

rlmr_scan_path rlmr_scan_best(void) {
    if (rlmr_scan_has(RLMR_SCAN_AVX2)) {
        return RLMR_SCAN_AVX2;
    }
    return rlmr_scan_has(RLMR_SCAN_NEON) ? RLMR_SCAN_NEON : RLMR_SCAN_PORTABLE;
}

static void whole_blocks(rlmr_scan_path path, rlmr_scan_carry *carry, const char *text, size_t count,
                         rlmr_json_block *blocks) {
#if defined(__x86_64__)
    if (path == RLMR_SCAN_AVX2) {
        rlmr_json_blocks_avx2(carry, text, count, blocks);
        return;
    }
#elif defined(__aarch64__)
    if (path == RLMR_SCAN_NEON) {
        rlmr_json_blocks_neon(carry, text, count, blocks);
        return;
    }
#endif
    rlmr_json_blocks_portable(carry, text, count, blocks);
}

/* The last bytes, filled up with blanks, which change nothing but what the next byte must know of the last. */
static void last_block(rlmr_scan_path path, rlmr_scan_carry *carry, const char *text, size_t bytes,
                       rlmr_json_block *block) {
    char filled[JSON_BLOCK_BYTES];
    memcpy(filled, text, bytes);
    memset(filled + bytes, ' ', sizeof filled - bytes);
    whole_blocks(path, carry, filled, 1, block);
    uint8_t last = classes[(unsigned char)text[bytes - 1]];
    carry->escaped = block->escaped >> bytes & 1;
    carry->closed = carry->string == 0 && (block->quote >> (bytes - 1) & 1) != 0;
    carry->delimiter = carry->string == 0 && (last & (BLANK | MARK)) != 0;
    carry->letter = (last & LETTER) != 0;
    block->escaped &= json_bits_below(bytes);
}

size_t rlmr_json_blocks(rlmr_scan_path path, rlmr_scan_carry *carry, const char *text, size_t bytes,
                        rlmr_json_block *blocks) {
    size_t count = bytes / JSON_BLOCK_BYTES;
    size_t rest = bytes % JSON_BLOCK_BYTES;
    whole_blocks(path, carry, text, count, blocks);
    if (rest > 0) {
        last_block(path, carry, text + count * JSON_BLOCK_BYTES, rest, &blocks[count]);
        count++;
    }
    return count;
}
