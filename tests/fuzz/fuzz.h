/** What the fuzz targets share. A target is one LLVMFuzzerTestOneInput(); linked with libFuzzer it searches, linked with
 *  replay.c it runs over a directory of inputs. */
#ifndef RLMR_FUZZ_H
#define RLMR_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A property of the code under test: prints and aborts if it does not hold. */
#define FUZZ_REQUIRE(condition) fuzz_require((condition), #condition, __FILE__, __LINE__)
void fuzz_require(bool holds, const char *condition, const char *file, int line);

/** Takes an input apart; past its end every number is 0 and every piece is empty. */
typedef struct {
    const uint8_t *data;
    size_t bytes;
} fuzz_bytes;

uint8_t fuzz_take_u8(fuzz_bytes *from);
uint16_t fuzz_take_u16(fuzz_bytes *from);
fuzz_bytes fuzz_take(fuzz_bytes *from, size_t bytes);

/** 64-bit FNV-1a, to compare long results: start with FUZZ_HASH. */
#define FUZZ_HASH UINT64_C(14695981039346656037)
uint64_t fuzz_hash(uint64_t hash, const void *data, size_t bytes);

/** Whether to run a costly part for the input with this hash: each for one input of eight, all in a replay. */
bool fuzz_wants(unsigned part, uint64_t hash);

#endif
