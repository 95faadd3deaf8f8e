#include "rlmr/chunk.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values in the file are little-endian");

enum {
    DEFLATE_LEVEL = 2, /* docs/decisions/0007-packing-with-libdeflate.md */
    VALUE_BYTES = 8,   /* at most */
    CHUNK_BYTES = RLMR_BLOCK_ROWS * VALUE_BYTES,
    /* Chunks of no more rows are stored, with runs of zeros between. */
    FEW_ROWS = RLMR_BLOCK_ROWS < 2048 ? RLMR_BLOCK_ROWS / 2 : 1024,
    RUN_MATCH = 258, /* zeros of one match */
    FEW_BYTES =
        64 + CHUNK_BYTES / 4 / RUN_MATCH + VALUE_BYTES * (FEW_ROWS + 100), /* of such a chunk, at most */
};

struct rlmr_packer {
    struct libdeflate_compressor *compressor;
    uint8_t *shuffled; /* CHUNK_BYTES: first the bytes 0 of all values, then their bytes 1, ... */
    uint8_t *packed;
    size_t room;
};

rlmr_status rlmr_packer_open(rlmr_packer **out, rlmr_error *err) {
    *out = NULL;
    rlmr_packer *packer = calloc(1, sizeof *packer);
    if (packer != NULL) {
        packer->compressor = libdeflate_alloc_compressor(DEFLATE_LEVEL);
        packer->room = libdeflate_zlib_compress_bound(NULL, CHUNK_BYTES);
        packer->room = packer->room < FEW_BYTES ? FEW_BYTES : packer->room;
        packer->shuffled = malloc(CHUNK_BYTES);
        packer->packed = malloc(packer->room);
    }
    if (packer == NULL || packer->compressor == NULL || packer->shuffled == NULL || packer->packed == NULL) {
        rlmr_packer_close(packer);
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to pack rows");
    }
    *out = packer;
    return RLMR_OK;
}

void rlmr_packer_close(rlmr_packer *packer) {
    if (packer != NULL) {
        if (packer->compressor != NULL) {
            libdeflate_free_compressor(packer->compressor);
        }
        free(packer->shuffled);
        free(packer->packed);
        free(packer);
    }
}

/* `to` gets value_bytes planes of `rows` bytes, `stride` bytes apart. */
static void shuffle(uint8_t *to, size_t stride, const uint8_t *values, size_t rows, size_t value_bytes) {
    switch (value_bytes) {
    case 8:
        for (size_t i = 0; i < rows; i++) {
            for (size_t b = 0; b < 8; b++) {
                to[b * stride + i] = values[8 * i + b];
            }
        }
        break;
    case 4:
        for (size_t i = 0; i < rows; i++) {
            for (size_t b = 0; b < 4; b++) {
                to[b * stride + i] = values[4 * i + b];
            }
        }
        break;
    default:
        memcpy(to, values, rows);
        break;
    }
}

/* A zlib stream (RFC 1950, 1951) made without looking at the zeros: bytes are stored, runs of zeros are blocks with a code of three
 * symbols. */
typedef struct {
    uint8_t *at;
    unsigned bits; /* that are not a whole byte yet */
    unsigned bits_count;
    uint32_t adler;
    size_t zeros; /* that are still to be written */
} stream;

static void put_bits(stream *to, unsigned bits, unsigned count) {
    to->bits |= bits << to->bits_count;
    to->bits_count += count;
    for (; to->bits_count >= 8; to->bits_count -= 8) {
        *to->at++ = (uint8_t)to->bits;
        to->bits >>= 8;
    }
}

static void fill_byte(stream *to) {
    put_bits(to, 0, (8 - to->bits_count) % 8);
}

/* The head of a block with three symbols: "0" for 258 bytes as before, and another "0" for the distance of 1; "10" for a zero; "11" for
 * the end. Codes are put with their first bit lowest. */
static void put_run_head(stream *to, bool last) {
    static const struct {
        uint8_t bits;
        uint8_t count;
    } head[] = {
        {2, 2}, {29, 5},
        {0, 5}, {14, 4}, /* a code of its own, of symbols 0 .. 285 and one distance; 18 lengths follow */
        {0, 6}, {1, 3},  /* in the code of lengths "0" is a run of zeros, 11 and more, */
        {0, 8}, {0, 8},
        {0, 8}, {0, 8}, /* (nothing is used of 12 others) */
        {0, 4}, {2, 3},
        {0, 3}, {2, 3}, /* "11" is length 2, "10" is length 1 */
        {3, 2},         /* symbol 0 */
        {0, 1}, {127, 7},
        {0, 1}, {106, 7}, /* 138 and 117 without a code */
        {3, 2},           /* symbol 256, the end */
        {0, 1}, {17, 7},  /* 28 without a code */
        {1, 2}, {1, 2},   /* symbol 285; the distance */
    };
    put_bits(to, last, 1);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        put_bits(to, head[i].bits, head[i].count);
    }
}

static void put_zeros(stream *to, bool last) {
    if (to->zeros == 0) {
        return;
    }
    put_run_head(to, last);
    put_bits(to, 1, 2);
    for (size_t i = 0; i < (to->zeros - 1) / RUN_MATCH; i++) {
        put_bits(to, 0, 2);
    }
    for (size_t i = 0; i < (to->zeros - 1) % RUN_MATCH; i++) {
        put_bits(to, 1, 2);
    }
    put_bits(to, 3, 2);
    uint64_t low = to->adler & 0xFFFF;
    uint64_t high = ((to->adler >> 16) + to->zeros * low) % 65521;
    to->adler = (uint32_t)(high << 16 | low);
    to->zeros = 0;
}

static void put_stored(stream *to, const uint8_t *data, size_t bytes) {
    put_zeros(to, false);
    put_bits(to, 0, 3);
    fill_byte(to);
    put_bits(to, (unsigned)bytes, 16);
    put_bits(to, (unsigned)~bytes & 0xFFFF, 16);
    memcpy(to->at, data, bytes);
    to->at += bytes;
    to->adler = libdeflate_adler32(to->adler, data, bytes);
}

static bool is_zero(const uint8_t *data, size_t bytes) {
    size_t i = 0;
    while (i < bytes && data[i] == 0) {
        i++;
    }
    return i == bytes;
}

static size_t pack_few(rlmr_packer *packer, size_t rows, size_t value_bytes) {
    stream to = {.at = packer->packed, .adler = 1};
    put_bits(&to, 0x0178, 16); /* a window of 32 KiB, no dictionary, the fastest */
    for (size_t b = 0; b < value_bytes; b++) {
        const uint8_t *plane = packer->shuffled + b * rows;
        if (is_zero(plane, rows)) {
            to.zeros += RLMR_BLOCK_ROWS;
        } else {
            put_stored(&to, plane, rows);
            to.zeros = RLMR_BLOCK_ROWS - rows;
        }
    }
    put_zeros(&to, true);
    fill_byte(&to);
    for (int shift = 24; shift >= 0; shift -= 8) {
        put_bits(&to, to.adler >> shift & 0xFF, 8);
    }
    return (size_t)(to.at - packer->packed);
}

rlmr_slice rlmr_pack(rlmr_packer *packer, const void *values, size_t rows, size_t value_bytes) {
    size_t bytes = 0;
    if (rows <= FEW_ROWS) {
        shuffle(packer->shuffled, rows, values, rows, value_bytes);
        bytes = pack_few(packer, rows, value_bytes);
    } else {
        shuffle(packer->shuffled, RLMR_BLOCK_ROWS, values, rows, value_bytes);
        for (size_t b = 0; b < value_bytes; b++) {
            memset(packer->shuffled + b * RLMR_BLOCK_ROWS + rows, 0, RLMR_BLOCK_ROWS - rows);
        }
        bytes = libdeflate_zlib_compress(packer->compressor, packer->shuffled, RLMR_BLOCK_ROWS * value_bytes,
                                         packer->packed, packer->room);
    }
    return (rlmr_slice){.text = (const char *)packer->packed, .bytes = bytes};
}
