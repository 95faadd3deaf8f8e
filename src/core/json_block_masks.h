/** What all paths do with the masks of single bytes. Inline, so that each path compiles it for its instructions. */
#ifndef RLMR_JSON_BLOCK_MASKS_H
#define RLMR_JSON_BLOCK_MASKS_H

#include "json_blocks.h"

/** Masks of a block by the byte alone. */
typedef struct {
    uint64_t backslash;
    uint64_t control; /* below 0x20 */
    uint64_t blank;
    uint64_t mark;    /* one of ,:{}[] */
    uint64_t bracket; /* one of {}[] */
    uint64_t letter;  /* k, p or r, see rlmr_json_block.key_end */
} json_bytes;

/** The bytes behind odd runs of backslashes. A run that begins at an even bit is odd if the bit behind it is odd, and the other
 *  way round; adding its first bit to a run carries into the bit behind it. */
static inline uint64_t json_escaped(uint64_t backslash, rlmr_scan_carry *carry) {
    const uint64_t even = 0x5555555555555555;
    uint64_t first = carry->escaped;
    uint64_t run = backslash & ~first; /* escaped itself, it escapes nothing */
    uint64_t starts = run & ~(run << 1);
    uint64_t behind_even = run + (starts & even);
    uint64_t behind_odd = run + (starts & ~even);
    carry->escaped = behind_odd < run; /* an odd run up to the end */
    return ((behind_even & ~even) | (behind_odd & even) | first) & ~backslash;
}

/** The block lies within a string: none of its bytes is a quote, so a key that is looked for does not end behind it. */
static inline void json_string_block(uint64_t backslash, uint64_t control, rlmr_scan_carry *carry,
                                     rlmr_json_block *block) {
    *block = (rlmr_json_block){.escaped = json_escaped(backslash, carry), .bad = control};
    carry->closed = 0;
    carry->delimiter = 0;
    carry->letter = 0;
}

/** Any block. `string`: from each opening quote to the byte before the closing one. */
static inline void json_any_block(const json_bytes *bytes, uint64_t quote, uint64_t escaped, uint64_t string,
                                  rlmr_scan_carry *carry, rlmr_json_block *block) {
    uint64_t opening = quote & string;
    uint64_t closing = quote & ~string;
    uint64_t delimiter = bytes->blank | bytes->mark;
    uint64_t scalar = ~(delimiter | string | quote);
    uint64_t beside =
        ((closing << 1 | carry->closed) & ~delimiter) | (opening & ~(delimiter << 1 | carry->delimiter));
    block->quote = quote;
    block->mark = bytes->mark & ~string;
    block->bracket = bytes->bracket & ~string;
    block->scalar = scalar & (delimiter << 1 | carry->delimiter);
    block->escaped = escaped;
    block->bad = beside | (bytes->control & (string | ~bytes->blank)) | (bytes->backslash & ~string);
    block->key_end = closing & (bytes->letter << 1 | carry->letter);
    carry->string = 0 - (string >> 63);
    carry->closed = closing >> 63;
    carry->delimiter = (delimiter & ~string) >> 63;
    carry->letter = bytes->letter >> 63;
}

#endif
