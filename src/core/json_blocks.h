/** JSON in blocks of 64 bytes, as masks: bit i is byte i of the block. */
#ifndef RLMR_JSON_BLOCKS_H
#define RLMR_JSON_BLOCKS_H

#include "rlmr/event_scan.h"

#define JSON_BLOCK_BYTES ((size_t)64)

/* At a time: text and masks stay in the first cache. */
#define JSON_BATCH_BLOCKS ((size_t)32)
#define JSON_BATCH_BYTES (JSON_BATCH_BLOCKS * JSON_BLOCK_BYTES)

typedef struct rlmr_json_block {
    uint64_t quote;   /* opens or closes a string */
    uint64_t mark;    /* one of ,:{}[] outside strings */
    uint64_t bracket; /* one of {}[] outside strings */
    uint64_t scalar;  /* the first byte of anything else outside strings */
    uint64_t escaped; /* no backslash, and behind an odd run of them */
    uint64_t bad;     /* cannot be there, by the byte or by the one before it */
    uint64_t key_end; /* closes a string that ends in the last letter of a text looked for */
} rlmr_json_block;

/** The masks of `bytes` bytes, at most a batch, behind those that `carry` knows. No bit behind the
 *  end is set.
 *
 *  @return the number of blocks */
size_t rlmr_json_blocks(rlmr_scan_path path, rlmr_scan_carry *carry, const char *text, size_t bytes,
                        rlmr_json_block *blocks);

/** The paths: whole blocks only. */
void rlmr_json_blocks_portable(rlmr_scan_carry *carry, const char *text, size_t count,
                               rlmr_json_block *blocks);
#if defined(__x86_64__)
void rlmr_json_blocks_avx2(rlmr_scan_carry *carry, const char *text, size_t count, rlmr_json_block *blocks);
#elif defined(__aarch64__)
void rlmr_json_blocks_neon(rlmr_scan_carry *carry, const char *text, size_t count, rlmr_json_block *blocks);
#endif

/** The kinds of the brackets open, one bit each, the innermost in the lowest: 1 for an object, 0 for an array. */
typedef uint64_t json_kinds[2];

_Static_assert(RLMR_LIMIT_JSON_DEPTH <= 128, "two words hold the kinds of all brackets that may be open");

static inline void json_push(json_kinds kinds, bool object) {
    kinds[1] = kinds[1] << 1 | kinds[0] >> 63;
    kinds[0] = kinds[0] << 1 | object;
}

static inline void json_pop(json_kinds kinds) {
    kinds[0] = kinds[0] >> 1 | kinds[1] << 63;
    kinds[1] >>= 1;
}

/** Whether the innermost is an object. */
static inline bool json_in_object(const json_kinds kinds) {
    return (kinds[0] & 1) != 0;
}

/** The bits below `bit`, 0 .. 64. */
static inline uint64_t json_bits_below(size_t bit) {
    return bit < 64 ? ((uint64_t)1 << bit) - 1 : UINT64_MAX;
}

/** Number of the lowest bit of `mask`, which has one. */
static inline size_t json_lowest(uint64_t mask) {
    return (size_t)__builtin_ctzll(mask);
}

#endif
