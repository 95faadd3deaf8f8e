#include "rlmr/bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE_BYTES ((size_t)2 << 20)

rlmr_slice rlmr_slice_of(const char *text) {
    return (rlmr_slice){.text = text, .bytes = strlen(text)};
}

bool rlmr_slice_equal(rlmr_slice a, rlmr_slice b) {
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}

int rlmr_slice_compare(rlmr_slice a, rlmr_slice b) {
    size_t shared = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = shared == 0 ? 0 : memcmp(a.text, b.text, shared);
    if (order != 0) {
        return order;
    }
    return (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

void rlmr_bytes_release(rlmr_bytes *buffer) {
    free(buffer->data);
    *buffer = (rlmr_bytes){0};
}

void rlmr_bytes_clear(rlmr_bytes *buffer) {
    buffer->bytes = 0;
}

void rlmr_prefer_large_pages(void *memory, size_t bytes) {
    long page_bytes = sysconf(_SC_PAGESIZE); /* 64 KB on some ARM hosts */
    if (bytes >= 2 * LARGE_PAGE_BYTES && page_bytes > 0) {
        size_t before = (size_t)((uintptr_t)memory % (uintptr_t)page_bytes);
        (void)madvise((char *)memory - before, before + bytes, MADV_HUGEPAGE);
    }
}

rlmr_status rlmr_bytes_reserve(rlmr_bytes *buffer, size_t extra, rlmr_error *err) {
    if (extra <= buffer->capacity - buffer->bytes) {
        return RLMR_OK;
    }
    if (extra > SIZE_MAX / 2 - buffer->bytes) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu more bytes", extra);
    }
    size_t capacity = buffer->capacity == 0 ? extra : 2 * buffer->capacity;
    capacity = capacity - buffer->bytes < extra ? buffer->bytes + extra : capacity;
    capacity = capacity < 64 ? 64 : capacity;
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a buffer of %zu bytes", capacity);
    }
    buffer->data = data;
    buffer->capacity = capacity;
    rlmr_prefer_large_pages(data, capacity);
    return RLMR_OK;
}

rlmr_status rlmr_bytes_append(rlmr_bytes *buffer, const void *data, size_t count, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_reserve(buffer, count, err);
    if (status == RLMR_OK && count > 0) {
        memcpy(buffer->data + buffer->bytes, data, count);
        buffer->bytes += count;
    }
    return status;
}

rlmr_status rlmr_bytes_append_u32(rlmr_bytes *buffer, uint32_t value, rlmr_error *err) {
    return rlmr_bytes_append(buffer, &value, sizeof value, err);
}

rlmr_status rlmr_bytes_append_i64(rlmr_bytes *buffer, int64_t value, rlmr_error *err) {
    return rlmr_bytes_append(buffer, &value, sizeof value, err);
}

rlmr_status rlmr_bytes_append_slice(rlmr_bytes *buffer, rlmr_slice text, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_reserve(buffer, sizeof(uint64_t) + text.bytes, err);
    if (status == RLMR_OK) {
        uint64_t length = text.bytes;
        status = rlmr_bytes_append(buffer, &length, sizeof length, err);
    }
    return status == RLMR_OK ? rlmr_bytes_append(buffer, text.text, text.bytes, err) : status;
}

static rlmr_status take(rlmr_reader *reader, void *value, size_t count, rlmr_error *err) {
    if (reader->bytes - reader->at < count) {
        return rlmr_error_set(err, RLMR_E_PARSE, "a block of %zu bytes ends inside a value", reader->bytes);
    }
    memcpy(value, reader->data + reader->at, count);
    reader->at += count;
    return RLMR_OK;
}

rlmr_status rlmr_reader_u32(rlmr_reader *reader, uint32_t *value, rlmr_error *err) {
    return take(reader, value, sizeof *value, err);
}

rlmr_status rlmr_reader_i64(rlmr_reader *reader, int64_t *value, rlmr_error *err) {
    return take(reader, value, sizeof *value, err);
}

rlmr_status rlmr_reader_slice(rlmr_reader *reader, rlmr_slice *text, rlmr_error *err) {
    size_t start = reader->at;
    uint64_t length = 0;
    rlmr_status status = take(reader, &length, sizeof length, err);
    if (status == RLMR_OK && reader->bytes - reader->at < length) {
        reader->at = start;
        status = rlmr_error_set(err, RLMR_E_PARSE, "a block of %zu bytes ends inside a text", reader->bytes);
    }
    if (status == RLMR_OK) {
        *text = (rlmr_slice){.text = (const char *)reader->data + reader->at, .bytes = (size_t)length};
        reader->at += (size_t)length;
    }
    return status;
}
