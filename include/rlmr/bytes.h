/* layer: core */
/** Byte buffers: a borrowed view (slice), an owner that grows (bytes), and a bounds-checked reader.
 *
 *  Integers are stored in the byte order of the host: what is written here only ever travels between
 *  processes of one MPI job.
 */
#ifndef RLMR_BYTES_H
#define RLMR_BYTES_H

#include "rlmr/error.h"

#include <stdbool.h>
#include <stddef.h>

/** Borrowed text or bytes; not NUL-terminated. `text` may be NULL if `bytes` is 0. */
typedef struct {
    const char *text;
    size_t bytes;
} rlmr_slice;

/** Slice of a string literal. */
#define RLMR_SLICE(literal) ((rlmr_slice){.text = (literal), .bytes = sizeof(literal) - 1})

/** Slice of a NUL-terminated string, without its NUL. */
rlmr_slice rlmr_slice_of(const char *text);

bool rlmr_slice_equal(rlmr_slice a, rlmr_slice b);

/** Bytewise order, a prefix before its extensions: negative, 0 or positive. The text order of every table. */
int rlmr_slice_compare(rlmr_slice a, rlmr_slice b);

/** A buffer that owns its memory; all zero is a valid empty buffer. */
typedef struct {
    uint8_t *data;
    size_t bytes;
    size_t capacity;
} rlmr_bytes;

void rlmr_bytes_release(rlmr_bytes *buffer);

/** Forget the content, keep the memory. */
void rlmr_bytes_clear(rlmr_bytes *buffer);

/** Ask the kernel for large pages behind memory of some MB that is about to be filled, or be read all over: fewer page faults, and fewer
 *  addresses to look up. Neighbouring memory may be given large pages as well. A hint, which changes no content. */
void rlmr_prefer_large_pages(void *memory, size_t bytes);

/** Make room for `extra` more bytes. @return OK or E_NOMEM, which leaves the buffer as it was. */
RLMR_MUST_CHECK rlmr_status rlmr_bytes_reserve(rlmr_bytes *buffer, size_t extra, rlmr_error *err);

/** Append; `data` may be NULL if `count` is 0. @return OK or E_NOMEM, which leaves the buffer as it was. */
RLMR_MUST_CHECK rlmr_status rlmr_bytes_append(rlmr_bytes *buffer, const void *data, size_t count,
                                              rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_bytes_append_u32(rlmr_bytes *buffer, uint32_t value, rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_bytes_append_i64(rlmr_bytes *buffer, int64_t value, rlmr_error *err);

/** Append the length as 64 bits, then the text. */
RLMR_MUST_CHECK rlmr_status rlmr_bytes_append_slice(rlmr_bytes *buffer, rlmr_slice text, rlmr_error *err);

/** Reads what the append functions wrote; never past `bytes`. */
typedef struct {
    const uint8_t *data;
    size_t bytes;
    size_t at;
} rlmr_reader;

/** Each takes one value and moves on. @return OK, or E_PARSE if fewer bytes are left, which moves nothing. */
RLMR_MUST_CHECK rlmr_status rlmr_reader_u32(rlmr_reader *reader, uint32_t *value, rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_reader_i64(rlmr_reader *reader, int64_t *value, rlmr_error *err);

/** The slice points into the reader's data. */
RLMR_MUST_CHECK rlmr_status rlmr_reader_slice(rlmr_reader *reader, rlmr_slice *text, rlmr_error *err);

#endif
