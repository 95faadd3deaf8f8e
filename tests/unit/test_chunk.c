/* What rlmr_pack() makes is read by HDF5, which knows nothing of how it was made. */
#include "rlmr/chunk.h"

#include <CUnit/Basic.h>

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of values. */
enum { ZEROS, SMALL, TIMES, RANDOM, LAST_ONLY, KINDS };

static uint64_t value_of(int kind, size_t row, size_t rows, uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    switch (kind) {
    case SMALL:
        return *state >> 62;
    case TIMES:
        return UINT64_C(1736408883694624810) + row * 1000;
    case RANDOM:
        return *state ^ *state >> 29;
    case LAST_ONLY:
        return row + 1 == rows ? UINT64_MAX : 0;
    default:
        return 0;
    }
}

static uint8_t *make_values(int kind, size_t rows, size_t value_bytes) {
    uint64_t state = rows;
    uint8_t *values = malloc(rows * value_bytes); /* exactly: a read past them is seen */
    for (size_t i = 0; i < rows; i++) {
        uint64_t value = value_of(kind, i, rows, &state);
        memcpy(values + i * value_bytes, &value, value_bytes);
    }
    return values;
}

/* Write `packed` as the one chunk of a dataset in memory and read it. */
static void read_chunk(rlmr_slice packed, size_t value_bytes, void *out) {
    const hsize_t rows = RLMR_BLOCK_ROWS;
    const hsize_t first = 0;
    hid_t type = value_bytes == 8 ? H5T_STD_U64LE : value_bytes == 4 ? H5T_STD_U32LE : H5T_STD_U8LE;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CU_ASSERT(H5Pset_fapl_core(access, 1 << 20, false) >= 0);
    hid_t file = H5Fcreate("chunk.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(1, &rows, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CU_ASSERT(H5Pset_chunk(creation, 1, &rows) >= 0 && H5Pset_shuffle(creation) >= 0 &&
              H5Pset_deflate(creation, 1) >= 0);
    hid_t dataset = H5Dcreate2(file, "values", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CU_ASSERT(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &first, packed.bytes, packed.text) >= 0);
    CU_ASSERT(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    (void)H5Dclose(dataset);
    (void)H5Pclose(creation);
    (void)H5Sclose(space);
    (void)H5Fclose(file);
    (void)H5Pclose(access);
}

static void test_hdf5_reads_what_is_packed(void) {
    static const size_t counts[] = {1,    2,    15,   16,   17,   31,    32,    255,   256,  257,
                                    1000, 1023, 1024, 1025, 1281, 30000, 65278, 65535, 65536};
    uint8_t *read = malloc(RLMR_BLOCK_ROWS * 8);
    rlmr_packer *packer = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_packer_open(&packer, NULL), RLMR_OK);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t value_bytes = 1; value_bytes <= 8; value_bytes += value_bytes < 4 ? 3 : 4) {
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                size_t bytes = counts[c] * value_bytes;
                uint8_t *values = make_values(kind, counts[c], value_bytes);
                memset(read, 0xEE, RLMR_BLOCK_ROWS * value_bytes);
                read_chunk(rlmr_pack(packer, values, counts[c], value_bytes), value_bytes, read);
                CU_ASSERT_EQUAL(memcmp(read, values, bytes), 0);
                size_t padding = 0;
                while (bytes + padding < RLMR_BLOCK_ROWS * value_bytes && read[bytes + padding] == 0) {
                    padding++;
                }
                CU_ASSERT_EQUAL(bytes + padding, RLMR_BLOCK_ROWS * value_bytes);
                free(values);
            }
        }
    }
    rlmr_packer_close(packer);
    rlmr_packer_close(NULL);
    free(read);
}

static void test_few_values_take_few_bytes(void) {
    rlmr_packer *packer = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_packer_open(&packer, NULL), RLMR_OK);
    uint8_t *values = make_values(RANDOM, 100, 8);
    CU_ASSERT_TRUE(rlmr_pack(packer, values, 100, 8).bytes < 8 * (100 + 5 + 150));
    free(values);
    values = make_values(ZEROS, 100, 8);
    CU_ASSERT_TRUE(rlmr_pack(packer, values, 100, 8).bytes < 700);
    free(values);
    rlmr_packer_close(packer);
}

/* A packer that has packed other values packs the same bytes. */
static void test_the_bytes_depend_on_the_values_alone(void) {
    static const size_t counts[] = {10, 1024, 2000, 65536};
    rlmr_packer *used = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_packer_open(&used, NULL), RLMR_OK);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        rlmr_packer *fresh = NULL;
        CU_ASSERT_EQUAL_FATAL(rlmr_packer_open(&fresh, NULL), RLMR_OK);
        uint8_t *values = make_values(RANDOM, counts[c], 4);
        rlmr_slice a = rlmr_pack(used, values, counts[c], 4);
        rlmr_slice b = rlmr_pack(fresh, values, counts[c], 4);
        CU_ASSERT_TRUE(rlmr_slice_equal(a, b));
        free(values);
        rlmr_packer_close(fresh);
    }
    rlmr_packer_close(used);
}

CU_TestInfo rlmr_tests_chunk[] = {
    {"HDF5 reads what is packed, of any length and kind", test_hdf5_reads_what_is_packed},
    {"few values take few bytes", test_few_values_take_few_bytes},
    {"the bytes depend on the values alone", test_the_bytes_depend_on_the_values_alone},
    CU_TEST_INFO_NULL,
};
