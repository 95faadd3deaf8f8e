#include "json_blocks.h"

#if defined(__x86_64__)

#include "json_block_masks.h"

#include <immintrin.h>

#define PATH __attribute__((target("avx2,pclmul,bmi")))

typedef struct {
    __m256i low;
    __m256i high;
} json_text;

PATH static inline json_text load(const char *text) {
    return (json_text){.low = _mm256_loadu_si256((const __m256i *)(const void *)text),
                       .high = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32))};
}

PATH static inline uint64_t high_bits(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

PATH static inline uint64_t equal(const json_text *text, char byte) {
    __m256i wanted = _mm256_set1_epi8(byte);
    return high_bits(_mm256_cmpeq_epi8(text->low, wanted), _mm256_cmpeq_epi8(text->high, wanted));
}

/* Bytes that `table` has for their low four bits. */
PATH static inline uint64_t looked_up(const json_text *text, __m128i table) {
    __m256i both = _mm256_broadcastsi128_si256(table);
    return high_bits(_mm256_cmpeq_epi8(text->low, _mm256_shuffle_epi8(both, text->low)),
                     _mm256_cmpeq_epi8(text->high, _mm256_shuffle_epi8(both, text->high)));
}

PATH static inline uint64_t quotes(const json_text *text) {
    return equal(text, '"');
}

PATH static inline uint64_t backslashes(const json_text *text) {
    return equal(text, '\\');
}

PATH static inline uint64_t controls(const json_text *text) {
    const __m256i limit = _mm256_set1_epi8(0x1F);
    return high_bits(_mm256_cmpeq_epi8(_mm256_min_epu8(text->low, limit), text->low),
                     _mm256_cmpeq_epi8(_mm256_min_epu8(text->high, limit), text->high));
}

/* In the tables, 1 stands where no byte is meant: it is not looked up there, and what is there, 0, is not 1. */
PATH static inline json_bytes classify(const json_text *text) {
    const __m256i bit5 = _mm256_set1_epi8(0x20); /* makes {} of [] */
    const json_text braced = {.low = _mm256_or_si256(text->low, bit5),
                              .high = _mm256_or_si256(text->high, bit5)};
    json_bytes bytes;
    bytes.backslash = backslashes(text);
    bytes.control = controls(text);
    bytes.blank = looked_up(text, _mm_setr_epi8(' ', 0, 1, 1, 1, 1, 1, 1, 1, '\t', '\n', 1, 1, '\r', 1, 1));
    bytes.letter = looked_up(text, _mm_setr_epi8('p', 0, 'r', 1, 1, 1, 1, 1, 1, 1, 1, 'k', 1, 1, 1, 1));
    bytes.mark = looked_up(&braced, _mm_setr_epi8(1, 0, 1, 1, 1, 1, 1, 1, 1, 1, ':', '{', ',', '}', 1, 1)) &
                 ~bytes.control;
    /* Of the marks only brackets have bit 6. */
    bytes.bracket = bytes.mark & high_bits(_mm256_slli_epi16(text->low, 1), _mm256_slli_epi16(text->high, 1));
    return bytes;
}

/* The product with all ones, without carries. */
PATH static inline uint64_t parities(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

#include "json_block_loop.h"

void rlmr_json_blocks_avx2(rlmr_scan_carry *carry, const char *text, size_t count, rlmr_json_block *blocks) {
    look_at_blocks(carry, text, count, blocks);
}

#endif
