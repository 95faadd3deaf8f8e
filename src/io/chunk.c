#include "rlmr/chunk.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values in the file are little-endian");

enum {
    DEFLATE_LEVEL = 2, /* docs/decisions/0007-packing-with-libdeflate.md */
    VALUE_BYTES = 8,   /* at most */
    CHUNK_BYTES = RLMR_BLOCK_ROWS * VALUE_BYTES,
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

/* `to` gets value_bytes planes of a chunk's rows, the last of them zeros. */
static void shuffle(uint8_t *to, const uint8_t *values, size_t rows, size_t value_bytes) {
    const size_t stride = RLMR_BLOCK_ROWS;
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
    for (size_t b = 0; b < value_bytes; b++) {
        memset(to + b * stride + rows, 0, stride - rows);
    }
}

rlmr_slice rlmr_pack(rlmr_packer *packer, const void *values, size_t rows, size_t value_bytes) {
    shuffle(packer->shuffled, values, rows, value_bytes);
    size_t bytes = libdeflate_zlib_compress(packer->compressor, packer->shuffled,
                                            RLMR_BLOCK_ROWS * value_bytes, packer->packed, packer->room);
    return (rlmr_slice){.text = (const char *)packer->packed, .bytes = bytes};
}
