#include "rlmr/bytes.h"

#include <CUnit/Basic.h>

#include <stdlib.h>
#include <string.h>

static void test_slices_are_equal_by_their_bytes(void) {
    CU_ASSERT_TRUE(rlmr_slice_equal(RLMR_SLICE("abc"), rlmr_slice_of("abc")));
    CU_ASSERT_FALSE(rlmr_slice_equal(RLMR_SLICE("abc"), RLMR_SLICE("abd")));
    CU_ASSERT_FALSE(rlmr_slice_equal(RLMR_SLICE("abc"), RLMR_SLICE("ab")));
    CU_ASSERT_TRUE(rlmr_slice_equal(RLMR_SLICE("a\0b"), RLMR_SLICE("a\0b")));
    CU_ASSERT_FALSE(rlmr_slice_equal(RLMR_SLICE("a\0b"), RLMR_SLICE("a\0c")));
    CU_ASSERT_TRUE(rlmr_slice_equal((rlmr_slice){0}, RLMR_SLICE("")));
    CU_ASSERT_FALSE(rlmr_slice_equal((rlmr_slice){0}, RLMR_SLICE("a")));
    CU_ASSERT_EQUAL(rlmr_slice_of("").bytes, 0);
}

static void test_slices_are_ordered_bytewise(void) {
    const rlmr_slice ascending[] = {{0},
                                    RLMR_SLICE("\0"),
                                    RLMR_SLICE("A"),
                                    RLMR_SLICE("a"),
                                    RLMR_SLICE("a\0"),
                                    RLMR_SLICE("a\0b"),
                                    RLMR_SLICE("aa"),
                                    RLMR_SLICE("b"),
                                    RLMR_SLICE("\x7F"),
                                    RLMR_SLICE("\x80"),
                                    RLMR_SLICE("\xFF")};
    const size_t count = sizeof ascending / sizeof *ascending;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = rlmr_slice_compare(ascending[i], ascending[j]);
            CU_ASSERT_EQUAL((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void test_a_buffer_grows_and_keeps_its_content(void) {
    rlmr_bytes buffer = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&buffer, i, NULL), RLMR_OK);
    }
    CU_ASSERT_EQUAL(buffer.bytes, 40000);
    CU_ASSERT_TRUE(buffer.capacity >= buffer.bytes);
    rlmr_reader reader = {.data = buffer.data, .bytes = buffer.bytes};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t value = UINT32_MAX;
        CU_ASSERT_EQUAL(rlmr_reader_u32(&reader, &value, NULL), RLMR_OK);
        wrong += value != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(reader.at, reader.bytes);
    rlmr_bytes_release(&buffer);
    CU_ASSERT_PTR_NULL(buffer.data);
    CU_ASSERT_EQUAL(buffer.capacity, 0);
}

static void test_clearing_keeps_the_memory(void) {
    rlmr_bytes buffer = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, "0123456789", 10, NULL), RLMR_OK);
    const uint8_t *data = buffer.data;
    size_t capacity = buffer.capacity;
    rlmr_bytes_clear(&buffer);
    CU_ASSERT_EQUAL(buffer.bytes, 0);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, "ab", 2, NULL), RLMR_OK);
    CU_ASSERT_PTR_EQUAL(buffer.data, data);
    CU_ASSERT_EQUAL(buffer.capacity, capacity);
    rlmr_bytes_release(&buffer);
}

static void test_appending_nothing_needs_no_data(void) {
    rlmr_bytes buffer = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, NULL, 0, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(buffer.bytes, 0);
    rlmr_bytes_release(&buffer);
}

static void test_what_does_not_fit_into_memory_leaves_the_buffer(void) {
    const size_t too_much[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX / 2, SIZE_MAX / 2 - 3};
    rlmr_bytes buffer = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, "kept", 4, NULL), RLMR_OK);
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        CU_ASSERT_EQUAL(rlmr_bytes_reserve(&buffer, too_much[i], &err), RLMR_E_NOMEM);
        CU_ASSERT_EQUAL(err.code, RLMR_E_NOMEM);
        CU_ASSERT_TRUE(buffer.bytes == 4 && memcmp(buffer.data, "kept", 4) == 0);
    }
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, "!", 1, NULL), RLMR_OK);
    CU_ASSERT_TRUE(memcmp(buffer.data, "kept!", 5) == 0);
    rlmr_bytes_release(&buffer);
}

/* One value of each kind. @return the failing status, or OK */
static rlmr_status read_all(rlmr_reader *reader, rlmr_error *err) {
    uint32_t small = 0;
    int64_t large = 0;
    rlmr_slice text = {0};
    rlmr_slice nothing = {0};
    size_t before = reader->at;
    rlmr_status status = rlmr_reader_u32(reader, &small, err);
    if (status == RLMR_OK) {
        CU_ASSERT_EQUAL(small, UINT32_MAX);
        before = reader->at;
        status = rlmr_reader_i64(reader, &large, err);
    }
    if (status == RLMR_OK) {
        CU_ASSERT_EQUAL(large, INT64_MIN);
        before = reader->at;
        status = rlmr_reader_slice(reader, &text, err);
    }
    if (status == RLMR_OK) {
        CU_ASSERT_TRUE(rlmr_slice_equal(text, RLMR_SLICE("some\0text")));
        before = reader->at;
        status = rlmr_reader_slice(reader, &nothing, err);
    }
    if (status == RLMR_OK) {
        CU_ASSERT_EQUAL(nothing.bytes, 0);
    } else {
        CU_ASSERT_EQUAL(reader->at, before);
    }
    return status;
}

static void test_truncated_input_is_refused_at_every_length(void) {
    rlmr_bytes whole = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&whole, UINT32_MAX, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_bytes_append_i64(&whole, INT64_MIN, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_bytes_append_slice(&whole, RLMR_SLICE("some\0text"), NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_bytes_append_slice(&whole, (rlmr_slice){0}, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(whole.bytes, 4 + 8 + 8 + 9 + 8);
    for (size_t bytes = 0; bytes <= whole.bytes; bytes++) {
        /* A copy of its own, so that a read past its end is seen. */
        uint8_t *part = malloc(bytes);
        if (bytes > 0) {
            memcpy(part, whole.data, bytes);
        }
        rlmr_reader reader = {.data = part, .bytes = bytes};
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_status wanted = bytes == whole.bytes ? RLMR_OK : RLMR_E_PARSE;
        CU_ASSERT_EQUAL(read_all(&reader, &err), wanted);
        CU_ASSERT_EQUAL(err.code, wanted);
        free(part);
    }
    rlmr_bytes_release(&whole);
}

static void test_a_length_beyond_the_block_is_refused(void) {
    const uint64_t lengths[] = {4, INT64_MAX, UINT64_MAX - 8, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        rlmr_bytes block = {0};
        CU_ASSERT_EQUAL(rlmr_bytes_append(&block, &lengths[i], sizeof lengths[i], NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_bytes_append(&block, "abc", 3, NULL), RLMR_OK);
        rlmr_reader reader = {.data = block.data, .bytes = block.bytes};
        rlmr_slice text = RLMR_SLICE("untouched");
        CU_ASSERT_EQUAL(rlmr_reader_slice(&reader, &text, NULL), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(reader.at, 0);
        CU_ASSERT_TRUE(rlmr_slice_equal(text, RLMR_SLICE("untouched")));
        rlmr_bytes_release(&block);
    }
}

CU_TestInfo rlmr_tests_bytes[] = {
    {"slices are equal by their bytes", test_slices_are_equal_by_their_bytes},
    {"slices are ordered bytewise, a prefix first", test_slices_are_ordered_bytewise},
    {"a buffer grows and keeps its content", test_a_buffer_grows_and_keeps_its_content},
    {"clearing keeps the memory", test_clearing_keeps_the_memory},
    {"appending nothing needs no data", test_appending_nothing_needs_no_data},
    {"what does not fit into memory leaves the buffer", test_what_does_not_fit_into_memory_leaves_the_buffer},
    {"truncated input is refused at every length", test_truncated_input_is_refused_at_every_length},
    {"a length beyond the block is refused", test_a_length_beyond_the_block_is_refused},
    CU_TEST_INFO_NULL,
};
