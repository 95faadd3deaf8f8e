#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_require(bool holds, const char *condition, const char *file, int line) {
    if (!holds) {
        (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
        abort();
    }
}

fuzz_bytes fuzz_take(fuzz_bytes *from, size_t bytes) {
    fuzz_bytes piece = {.data = from->data, .bytes = bytes < from->bytes ? bytes : from->bytes};
    if (piece.bytes > 0) {
        from->data += piece.bytes;
        from->bytes -= piece.bytes;
    }
    return piece;
}

uint8_t fuzz_take_u8(fuzz_bytes *from) {
    fuzz_bytes piece = fuzz_take(from, 1);
    return piece.bytes == 0 ? 0 : piece.data[0];
}

uint16_t fuzz_take_u16(fuzz_bytes *from) {
    unsigned low = fuzz_take_u8(from);
    unsigned high = fuzz_take_u8(from);
    return (uint16_t)(high << 8 | low);
}

uint64_t fuzz_hash(uint64_t hash, const void *data, size_t bytes) {
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

bool fuzz_wants(unsigned part, uint64_t hash) {
#if defined(FUZZ_REPLAY)
    (void)part;
    (void)hash;
    return true;
#else
    return (hash >> 32) % 8 == part;
#endif
}
