/* With RLMR_KEEP_FILE=PATH in the environment, the file of test_the_file_for_other_readers stays at PATH, for
 * check_hdf5_sink.py, which reads it with h5py and anndata. */
#include "rlmr/hdf5_sink.h"

#include "../../src/io/hdf5_driver.h"
#include "pack_rows.h"
#include "rlmr/memory_events.h"

#include <CUnit/Basic.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

#define PROBE(X)                                                                                             \
    X(I64, time_ns, "ns", STORED, "when")                                                                    \
    X(TEXT, name, "", STORED, "what")                                                                        \
    X(I32, rank_id, "1", STORED, "who, -1 if unknown")                                                       \
    X(U8, flag, "1", STORED, "0 or 1")                                                                       \
    X(F64, size, "KiB", STORED, "how much; NaN if absent")                                                   \
    X(TEXT, stack, "", STORED, "from where")                                                                 \
    X(TEXT, secret, "", HIDDEN, "a text that is not written")                                                \
    X(I64, file_row, "1", HIDDEN, "a number that is not written")

#define INDEXED(X)                                                                                           \
    X(F64, value, "ms", STORED, "a value")                                                                   \
    X(I32, item, "1", STORED, "number of the item")

#define LONELY(X) X(I64, alone, "1", STORED, "the only column")

RLMR_TABLE_DECLARE(probe, PROBE)
RLMR_TABLE_DECLARE(indexed, INDEXED)
RLMR_TABLE_DECLARE(lonely, LONELY)

enum { PROBE(RLMR_COLUMN_NUMBER) PROBE_COLUMNS };
enum { INDEXED(RLMR_COLUMN_NUMBER) INDEXED_COLUMNS };
enum { LONELY(RLMR_COLUMN_NUMBER) LONELY_COLUMNS };

#define RLMR_ROW rlmr_probe_row
static const rlmr_column probe_columns[] = {PROBE(RLMR_COLUMN)};
#undef RLMR_ROW
#define RLMR_ROW rlmr_indexed_row
static const rlmr_column indexed_columns[] = {INDEXED(RLMR_COLUMN)};
#undef RLMR_ROW
#define RLMR_ROW rlmr_lonely_row
static const rlmr_column lonely_columns[] = {LONELY(RLMR_COLUMN)};
#undef RLMR_ROW

static const rlmr_schema probe_schema = {.name = "probe",
                                         .description = "one column of each kind",
                                         .columns = probe_columns,
                                         .columns_count = PROBE_COLUMNS,
                                         .index = -1};
static const rlmr_schema indexed_schema = {.name = "indexed",
                                           .description = "a table with an index of its own",
                                           .columns = indexed_columns,
                                           .columns_count = INDEXED_COLUMNS,
                                           .index = COLUMN_item};
static const rlmr_schema lonely_schema = {.name = "lonely",
                                          .description = "a table of nothing but its index",
                                          .columns = lonely_columns,
                                          .columns_count = LONELY_COLUMNS,
                                          .index = COLUMN_alone};

/* check_hdf5_sink.py knows these numbers and the formulas below. */
enum { MANY_ROWS = 2 * RLMR_BLOCK_ROWS + 100, MANY_NAMES = 3000, MANY_STACKS = 700, TEXT_BYTES = 8192 };

static int64_t time_of(size_t row) {
    return INT64_C(1700000000000000000) +
           (int64_t)((uint64_t)row * UINT64_C(2654435761) % UINT64_C(4294967296));
}

static double size_of(size_t row) {
    return row % 10 == 3 ? NAN : (double)row * 0.5;
}

static size_t format_name(char *text, size_t number) {
    return number == 0 ? 0 : (size_t)snprintf(text, TEXT_BYTES, "name %06zu \xC3\xA9", number);
}

/* Short and long ones: up to 6 KB. */
static size_t format_stack(char *text, size_t number) {
    if (number == 0) {
        return 0;
    }
    size_t bytes = (size_t)snprintf(text, TEXT_BYTES, "stack %06zu ", number);
    size_t frames = number * 37 % 6000;
    memset(text + bytes, 'x', frames);
    return bytes + frames;
}

typedef size_t (*formatter)(char *text, size_t number);

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Gives the texts in calls of `cut`; their memory is overwritten between the calls. */
static rlmr_status give_texts(const rlmr_sink *sink, size_t column, formatter format, size_t count,
                              size_t cut, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    char *memory = malloc(cut * TEXT_BYTES);
    rlmr_slice *texts = malloc(cut * sizeof *texts);
    for (size_t at = 0; at < count && status == RLMR_OK; at += cut) {
        size_t now = count - at < cut ? count - at : cut;
        for (size_t i = 0; i < now; i++) {
            char *text = memory + i * TEXT_BYTES;
            size_t bytes = format(text, at + i);
            texts[i] = (rlmr_slice){.text = bytes == 0 ? NULL : text, .bytes = bytes};
        }
        status = sink->categories(sink->self, column, texts, now, err);
        memset(memory, 'Z', cut * TEXT_BYTES);
    }
    free(texts);
    free(memory);
    return status;
}

static void fill_probe(rlmr_rows *rows, size_t first, size_t count, size_t names, size_t stacks) {
    for (size_t i = 0; i < count; i++) {
        size_t row = first + i;
        ((int64_t *)rows->columns[COLUMN_time_ns])[i] = time_of(row);
        ((uint32_t *)rows->columns[COLUMN_name])[i] = (uint32_t)(row % names);
        ((int32_t *)rows->columns[COLUMN_rank_id])[i] = (int32_t)(row % 5) - 1;
        ((uint8_t *)rows->columns[COLUMN_flag])[i] = row & 1;
        ((double *)rows->columns[COLUMN_size])[i] = size_of(row);
        ((uint32_t *)rows->columns[COLUMN_stack])[i] = (uint32_t)(row * row % stacks);
        ((uint32_t *)rows->columns[COLUMN_secret])[i] = UINT32_MAX;
        ((int64_t *)rows->columns[COLUMN_file_row])[i] = 99;
    }
    rows->rows = count;
}

static rlmr_status give_probe_rows(const rlmr_sink *sink, size_t count, size_t names, size_t stacks,
                                   rlmr_error *err) {
    rlmr_rows *rows = NULL;
    rlmr_status status = rlmr_rows_open(&probe_schema, RLMR_BLOCK_ROWS, &rows, err);
    for (size_t at = 0; at < count && status == RLMR_OK; at += RLMR_BLOCK_ROWS) {
        size_t now = count - at < RLMR_BLOCK_ROWS ? count - at : RLMR_BLOCK_ROWS;
        fill_probe(rows, at, now, names, stacks);
        status = pack_rows(sink, rows, at, err);
    }
    rlmr_rows_close(rows);
    return status;
}

/* The table `probe`, with its texts given in calls of `cut`. */
static rlmr_status write_probe(rlmr_hdf5 *file, size_t rows, size_t names, size_t stacks, size_t cut,
                               rlmr_error *err) {
    rlmr_sink sink = rlmr_hdf5_sink(file);
    rlmr_status status = sink.begin(sink.self, &probe_schema, err);
    if (status == RLMR_OK) {
        status = give_texts(&sink, COLUMN_name, format_name, names, cut, err);
    }
    if (status == RLMR_OK) {
        status = give_texts(&sink, COLUMN_secret, format_name, 3, 3, err);
    }
    if (status == RLMR_OK) {
        status = give_texts(&sink, COLUMN_stack, format_stack, stacks, cut, err);
    }
    if (status == RLMR_OK) {
        status = give_probe_rows(&sink, rows, names, stacks, err);
    }
    return status == RLMR_OK ? sink.end(sink.self, err) : status;
}

static rlmr_status write_indexed(rlmr_hdf5 *file, size_t count, rlmr_error *err) {
    rlmr_sink sink = rlmr_hdf5_sink(file);
    rlmr_rows *rows = NULL;
    rlmr_status status = rlmr_rows_open(&indexed_schema, count, &rows, err);
    if (status == RLMR_OK) {
        status = sink.begin(sink.self, &indexed_schema, err);
    }
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        ((double *)rows->columns[COLUMN_value])[i] = (double)i / 4;
        ((int32_t *)rows->columns[COLUMN_item])[i] = (int32_t)i * 10;
        rows->rows = i + 1;
    }
    if (status == RLMR_OK) {
        status = pack_rows(&sink, rows, 0, err);
    }
    rlmr_rows_close(rows);
    return status == RLMR_OK ? sink.end(sink.self, err) : status;
}

static rlmr_status write_empty(rlmr_hdf5 *file, const rlmr_schema *schema, rlmr_error *err) {
    rlmr_sink sink = rlmr_hdf5_sink(file);
    rlmr_status status = sink.begin(sink.self, schema, err);
    return status == RLMR_OK ? sink.end(sink.self, err) : status;
}

/* ---- A directory for each test ----------------------------------------------------------------------------------- */

typedef struct {
    char path[512];
    char target[600]; /* "out.h5" in it */
} scratch;

static scratch scratch_open(void) {
    scratch made;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(made.path, sizeof made.path, "%s/rlmr-hdf5-XXXXXX", parent == NULL ? "/tmp" : parent);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.path));
    (void)snprintf(made.target, sizeof made.target, "%s/out.h5", made.path);
    return made;
}

static int count_entries(const char *directory) {
    int count = 0;
    DIR *listing = opendir(directory);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    return count;
}

static void scratch_close(const scratch *used) {
    DIR *listing = opendir(used->path);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        if (unlinkat(dirfd(listing), entry->d_name, 0) != 0) {
            (void)unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    CU_ASSERT_EQUAL(rmdir(used->path), 0);
}

static rlmr_hdf5 *create(const char *target, bool replace) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = NULL;
    if (rlmr_hdf5_create(target, replace, &file, &err) != RLMR_OK) {
        CU_FAIL(err.message);
        (void)fprintf(stderr, "%s\n", err.message);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    return file;
}

/* A file with the table `probe`. */
static void write_file(const char *target, size_t rows, size_t names, size_t stacks, size_t cut) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(target, true);
    CU_ASSERT_EQUAL(write_probe(file, rows, names, stacks, cut, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, &err), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(err.message, "");
}

static void put_file(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    (void)fputs(text, stream);
    (void)fclose(stream);
}

/* The content of a file, to be freed; NULL if there is none. */
static char *take_file(const char *path, size_t *bytes) {
    *bytes = 0;
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return NULL;
    }
    (void)fseek(stream, 0, SEEK_END);
    *bytes = (size_t)ftell(stream);
    rewind(stream);
    char *data = calloc(1, *bytes + 1);
    *bytes = fread(data, 1, *bytes, stream);
    (void)fclose(stream);
    return data;
}

static bool same_files(const char *path_a, const char *path_b) {
    size_t bytes_a = 0;
    size_t bytes_b = 0;
    char *a = take_file(path_a, &bytes_a);
    char *b = take_file(path_b, &bytes_b);
    bool same = a != NULL && b != NULL && bytes_a == bytes_b && memcmp(a, b, bytes_a) == 0;
    free(a);
    free(b);
    return same;
}

static bool holds_text(const char *path, const char *text) {
    size_t bytes = 0;
    char *data = take_file(path, &bytes);
    bool same = data != NULL && bytes == strlen(text) && memcmp(data, text, bytes) == 0;
    free(data);
    return same;
}

/* ---- Reading back ------------------------------------------------------------------------------------------------ */

static hid_t open_read(const char *path) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    return file;
}

static bool has(hid_t file, const char *path) {
    return H5Lexists(file, path, H5P_DEFAULT) > 0;
}

/* Rows of a 1-D dataset. */
static size_t length_of(hid_t file, const char *path) {
    hsize_t size = SIZE_MAX;
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    CU_ASSERT_FATAL(dataset >= 0);
    hid_t space = H5Dget_space(dataset);
    CU_ASSERT_EQUAL(H5Sget_simple_extent_ndims(space), 1);
    (void)H5Sget_simple_extent_dims(space, &size, NULL);
    (void)H5Sclose(space);
    (void)H5Dclose(dataset);
    return (size_t)size;
}

static void *read_values(hid_t file, const char *path, hid_t type) {
    void *values = calloc(length_of(file, path) + 1, 8);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    CU_ASSERT(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(dataset);
    return values;
}

static hid_t utf8(void) {
    hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* Whether a scalar attribute is a variable-length UTF-8 text of that value. */
static bool attribute_is(hid_t file, const char *path, const char *name, const char *expected) {
    char *value = NULL;
    hid_t attribute = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) {
        return false;
    }
    hid_t type = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    hid_t memory = utf8();
    bool same = H5Tequal(type, memory) > 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR &&
                H5Aread(attribute, memory, &value) >= 0 && strcmp(value, expected) == 0;
    (void)H5free_memory(value);
    (void)H5Tclose(memory);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return same;
}

/* The texts of a 1-D attribute, with a comma behind each. */
static void join_attribute(hid_t file, const char *path, const char *name, char *out, size_t bytes) {
    char *texts[32] = {0};
    hsize_t size = 0;
    hid_t memory = utf8();
    hid_t attribute = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Aget_space(attribute);
    CU_ASSERT_EQUAL(H5Sget_simple_extent_ndims(space), 1);
    (void)H5Sget_simple_extent_dims(space, &size, NULL);
    CU_ASSERT_FATAL(size <= 32);
    CU_ASSERT(size == 0 || H5Aread(attribute, memory, texts) >= 0);
    out[0] = '\0';
    for (size_t i = 0; i < size; i++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, bytes - used, "%s,", texts[i]);
        (void)H5free_memory(texts[i]);
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    (void)H5Tclose(memory);
}

/* New handles of kinds that HDF5 does not count; it numbers the handles of a kind one after the other. */
typedef struct {
    hid_t space;
    hid_t list;
    hid_t type;
    hid_t errors;
} handle_mark;

static handle_mark mark_handles(void) {
    handle_mark mark = {.space = H5Screate(H5S_SCALAR),
                        .list = H5Pcreate(H5P_DATASET_ACCESS),
                        .type = H5Tcopy(H5T_C_S1),
                        .errors = H5Ecreate_stack()};
    (void)H5Sclose(mark.space);
    (void)H5Pclose(mark.list);
    (void)H5Tclose(mark.type);
    (void)H5Eclose_stack(mark.errors);
    return mark;
}

static long count_valid(hid_t from, hid_t to) {
    long count = 0;
    for (hid_t id = from; id < to; id++) {
        count += H5Iis_valid(id) > 0;
    }
    return count;
}

/* Handles that have been opened since the mark was made, and not closed. */
static long open_handles(handle_mark since) {
    handle_mark now = mark_handles();
    return count_valid(since.space, now.space) + count_valid(since.list, now.list) +
           count_valid(since.type, now.type) + count_valid(since.errors, now.errors) +
           (long)H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL);
}

/* File drivers that are registered, HDF5's own included; so many numbers are far more than the tests use. */
static long count_drivers(void) {
    hid_t first = H5FD_SEC2;
    return count_valid(first, first + 5000);
}

/* ---- Form of the file -------------------------------------------------------------------------------------------- */

static void test_a_table_is_a_dataframe(void) {
    scratch dir = scratch_open();
    write_file(dir.target, 10, 3, 3, 3);
    hid_t file = open_read(dir.target);
    char order[200];
    CU_ASSERT(attribute_is(file, "probe", "encoding-type", "dataframe"));
    CU_ASSERT(attribute_is(file, "probe", "encoding-version", "0.2.0"));
    CU_ASSERT(attribute_is(file, "probe", "_index", "row"));
    CU_ASSERT(attribute_is(file, "probe", "description", "one column of each kind"));
    join_attribute(file, "probe", "column-order", order, sizeof order);
    CU_ASSERT_STRING_EQUAL(order, "time_ns,name,rank_id,flag,size,stack,");
    CU_ASSERT_FALSE(has(file, "probe/secret"));
    CU_ASSERT_FALSE(has(file, "probe/file_row"));
    (void)H5Fclose(file);
    scratch_close(&dir);
}

/* Shuffle and deflate, in this order, chunks of one block, and room to grow. */
static void check_layout(hid_t file, const char *path, hid_t type) {
    hsize_t chunk = 0;
    hsize_t size_max = 0;
    unsigned flags = 0;
    unsigned level = 0;
    size_t count = 1;
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    CU_ASSERT_FATAL(dataset >= 0);
    hid_t stored = H5Dget_type(dataset);
    hid_t list = H5Dget_create_plist(dataset);
    hid_t space = H5Dget_space(dataset);
    CU_ASSERT(H5Tequal(stored, type) > 0);
    CU_ASSERT_EQUAL(H5Pget_chunk(list, 1, &chunk), 1);
    CU_ASSERT_EQUAL(chunk, 65536);
    CU_ASSERT_EQUAL(H5Pget_nfilters(list), 2);
    CU_ASSERT_EQUAL(H5Pget_filter2(list, 0, &flags, NULL, NULL, 0, NULL, NULL), H5Z_FILTER_SHUFFLE);
    CU_ASSERT_EQUAL(H5Pget_filter2(list, 1, &flags, &count, &level, 0, NULL, NULL), H5Z_FILTER_DEFLATE);
    CU_ASSERT_EQUAL(level, 1);
    CU_ASSERT_EQUAL(H5Sget_simple_extent_dims(space, NULL, &size_max), 1);
    CU_ASSERT_EQUAL(size_max, H5S_UNLIMITED);
    (void)H5Sclose(space);
    (void)H5Pclose(list);
    (void)H5Tclose(stored);
    (void)H5Dclose(dataset);
}

static void test_numbers_are_arrays(void) {
    scratch dir = scratch_open();
    write_file(dir.target, 10, 3, 3, 3);
    hid_t file = open_read(dir.target);
    check_layout(file, "probe/row", H5T_STD_I64LE);
    check_layout(file, "probe/time_ns", H5T_STD_I64LE);
    check_layout(file, "probe/rank_id", H5T_STD_I32LE);
    check_layout(file, "probe/flag", H5T_STD_U8LE);
    check_layout(file, "probe/size", H5T_IEEE_F64LE);
    CU_ASSERT(attribute_is(file, "probe/size", "encoding-type", "array"));
    CU_ASSERT(attribute_is(file, "probe/size", "encoding-version", "0.2.0"));
    CU_ASSERT(attribute_is(file, "probe/size", "unit", "KiB"));
    CU_ASSERT(attribute_is(file, "probe/size", "description", "how much; NaN if absent"));
    CU_ASSERT(attribute_is(file, "probe/row", "encoding-type", "array"));
    CU_ASSERT(attribute_is(file, "probe/row", "unit", "1"));
    CU_ASSERT(attribute_is(file, "probe/row", "description", "number of the row, from 0"));
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void test_texts_are_categoricals(void) {
    scratch dir = scratch_open();
    write_file(dir.target, 10, 3, 3, 3);
    hid_t file = open_read(dir.target);
    hid_t text = utf8();
    int8_t ordered = 1;
    CU_ASSERT(attribute_is(file, "probe/name", "encoding-type", "categorical"));
    CU_ASSERT(attribute_is(file, "probe/name", "encoding-version", "0.2.0"));
    CU_ASSERT(attribute_is(file, "probe/name", "unit", ""));
    CU_ASSERT(attribute_is(file, "probe/name", "description", "what"));
    CU_ASSERT(attribute_is(file, "probe/name/codes", "encoding-type", "array"));
    CU_ASSERT(attribute_is(file, "probe/name/codes", "encoding-version", "0.2.0"));
    CU_ASSERT(attribute_is(file, "probe/name/categories", "encoding-type", "string-array"));
    CU_ASSERT(attribute_is(file, "probe/name/categories", "encoding-version", "0.2.0"));
    check_layout(file, "probe/name/codes", H5T_STD_I32LE);
    check_layout(file, "probe/name/categories", text);
    hid_t attribute = H5Aopen_by_name(file, "probe/name", "ordered", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    CU_ASSERT_EQUAL(H5Tget_class(type), H5T_ENUM);
    CU_ASSERT_EQUAL(H5Tget_size(type), 1);
    CU_ASSERT(H5Aread(attribute, type, &ordered) >= 0);
    CU_ASSERT_EQUAL(ordered, 0);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    (void)H5Tclose(text);
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void test_an_index_column_is_the_index(void) {
    scratch dir = scratch_open();
    rlmr_hdf5 *writing = create(dir.target, false);
    CU_ASSERT_EQUAL(write_indexed(writing, 5, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_empty(writing, &lonely_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(writing, NULL), RLMR_OK);
    hid_t file = open_read(dir.target);
    char order[200];
    CU_ASSERT(attribute_is(file, "indexed", "_index", "item"));
    join_attribute(file, "indexed", "column-order", order, sizeof order);
    CU_ASSERT_STRING_EQUAL(order, "value,");
    CU_ASSERT_FALSE(has(file, "indexed/row"));
    int32_t *items = read_values(file, "indexed/item", H5T_NATIVE_INT32);
    CU_ASSERT_EQUAL(items[4], 40);
    free(items);
    CU_ASSERT(attribute_is(file, "lonely", "_index", "alone"));
    join_attribute(file, "lonely", "column-order", order, sizeof order);
    CU_ASSERT_STRING_EQUAL(order, "");
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void test_an_empty_table_has_all_its_datasets(void) {
    scratch dir = scratch_open();
    rlmr_hdf5 *writing = create(dir.target, false);
    CU_ASSERT_EQUAL(write_empty(writing, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(writing, NULL), RLMR_OK);
    hid_t file = open_read(dir.target);
    CU_ASSERT_EQUAL(length_of(file, "probe/row"), 0);
    CU_ASSERT_EQUAL(length_of(file, "probe/time_ns"), 0);
    CU_ASSERT_EQUAL(length_of(file, "probe/name/codes"), 0);
    CU_ASSERT_EQUAL(length_of(file, "probe/name/categories"), 0);
    check_layout(file, "probe/flag", H5T_STD_U8LE);
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void check_probe_numbers(hid_t file, size_t rows) {
    int64_t *row = read_values(file, "probe/row", H5T_NATIVE_INT64);
    int64_t *time = read_values(file, "probe/time_ns", H5T_NATIVE_INT64);
    int32_t *rank = read_values(file, "probe/rank_id", H5T_NATIVE_INT32);
    uint8_t *flag = read_values(file, "probe/flag", H5T_NATIVE_UINT8);
    double *size = read_values(file, "probe/size", H5T_NATIVE_DOUBLE);
    size_t wrong = 0;
    CU_ASSERT_EQUAL_FATAL(length_of(file, "probe/row"), rows);
    for (size_t i = 0; i < rows; i++) {
        wrong += row[i] != (int64_t)i || time[i] != time_of(i) || rank[i] != (int32_t)(i % 5) - 1 ||
                 flag[i] != (i & 1) || (size[i] != size_of(i) && !(isnan(size[i]) && isnan(size_of(i))));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(size);
    free(flag);
    free(rank);
    free(time);
    free(row);
}

static void check_texts(hid_t file, const char *path, formatter format, size_t count) {
    char expected[TEXT_BYTES];
    size_t wrong = 0;
    hid_t type = utf8();
    CU_ASSERT_EQUAL_FATAL(length_of(file, path), count);
    char **texts = read_values(file, path, type);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = format(expected, i);
        wrong += texts[i] == NULL || strlen(texts[i]) != bytes || memcmp(texts[i], expected, bytes) != 0;
        (void)H5free_memory(texts[i]);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(texts);
    (void)H5Tclose(type);
}

static void test_many_rows_and_texts_come_back(void) {
    scratch dir = scratch_open();
    write_file(dir.target, MANY_ROWS, MANY_NAMES, MANY_STACKS, 100);
    hid_t file = open_read(dir.target);
    check_probe_numbers(file, MANY_ROWS);
    check_texts(file, "probe/name/categories", format_name, MANY_NAMES);
    check_texts(file, "probe/stack/categories", format_stack, MANY_STACKS);
    int32_t *codes = read_values(file, "probe/stack/codes", H5T_NATIVE_INT32);
    size_t wrong = 0;
    for (size_t i = 0; i < MANY_ROWS; i++) {
        wrong += codes[i] != (int32_t)(i * i % MANY_STACKS);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(codes);
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void test_root_attributes_keep_type_and_value(void) {
    scratch dir = scratch_open();
    int64_t version = 0;
    double offset = 0;
    rlmr_hdf5 *writing = create(dir.target, false);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_text(writing, "role", "actor \xE2\x82\xAC", NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_text(writing, "empty", "", NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(writing, "format_version", INT64_MIN, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_f64(writing, "time_offset_us", -0.125, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(writing, NULL), RLMR_OK);
    hid_t file = open_read(dir.target);
    CU_ASSERT(attribute_is(file, "/", "role", "actor \xE2\x82\xAC"));
    CU_ASSERT(attribute_is(file, "/", "empty", ""));
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    CU_ASSERT(H5Aread(attribute, H5T_NATIVE_INT64, &version) >= 0);
    CU_ASSERT_EQUAL(version, INT64_MIN);
    (void)H5Aclose(attribute);
    attribute = H5Aopen(file, "time_offset_us", H5P_DEFAULT);
    CU_ASSERT(H5Aread(attribute, H5T_NATIVE_DOUBLE, &offset) >= 0);
    CU_ASSERT_EQUAL(offset, -0.125);
    (void)H5Aclose(attribute);
    (void)H5Fclose(file);
    scratch_close(&dir);
}

static void test_old_libraries_can_read_the_file(void) {
    scratch dir = scratch_open();
    write_file(dir.target, 10, 3, 3, 3);
    size_t bytes = 0;
    char *data = take_file(dir.target, &bytes);
    CU_ASSERT_FATAL(bytes > 8);
    CU_ASSERT_EQUAL(memcmp(data, "\x89HDF\r\n\x1a\n", 8), 0);
    CU_ASSERT_EQUAL(data[8], 0); /* version of the superblock */
    free(data);
    scratch_close(&dir);
}

/* For check_hdf5_sink.py: every kind of table in one file. */
static void test_the_file_for_other_readers(void) {
    scratch dir = scratch_open();
    const char *kept = getenv("RLMR_KEEP_FILE");
    rlmr_hdf5 *file = create(kept == NULL ? dir.target : kept, true);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_text(file, "format", "rl-insight-mr", NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(file, "format_version", 1, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_f64(file, "time_offset_us", 0.5, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_probe(file, MANY_ROWS, MANY_NAMES, MANY_STACKS, 1000, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_indexed(file, 5, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_empty(file, &lonely_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_empty(file, &rlmr_memory_events_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
    scratch_close(&dir);
}

/* ---- The same bytes ---------------------------------------------------------------------------------------------- */

static void test_bytes_do_not_depend_on_calls(void) {
    scratch dir = scratch_open();
    scratch other = scratch_open();
    char longer[700];
    (void)snprintf(longer, sizeof longer, "%s/another, longer name.h5", other.path);
    const size_t cuts[] = {1, 1000, 1025, MANY_NAMES};
    write_file(dir.target, 70000, MANY_NAMES, MANY_STACKS, 64);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        write_file(longer, 70000, MANY_NAMES, MANY_STACKS, cuts[i]);
        CU_ASSERT(same_files(dir.target, longer));
    }
    scratch_close(&other);
    scratch_close(&dir);
}

/* HDF5 keeps freed memory of its own, so that is given back between the files. */
static void test_bytes_do_not_depend_on_old_memory(void) {
    scratch dir = scratch_open();
    char other[700];
    (void)snprintf(other, sizeof other, "%s/other.h5", dir.path);
    (void)mallopt(M_PERTURB, 0x55);
    write_file(dir.target, 70000, MANY_NAMES, MANY_STACKS, 64);
    (void)H5garbage_collect();
    (void)mallopt(M_PERTURB, 0xA6);
    write_file(other, 70000, MANY_NAMES, MANY_STACKS, 64);
    CU_ASSERT(same_files(dir.target, other));
    (void)mallopt(M_PERTURB, 0);
    write_file(other, 500, 10, MANY_STACKS, 64); /* leaves other bytes in HDF5's own pools */
    write_file(other, 70000, MANY_NAMES, MANY_STACKS, 64);
    CU_ASSERT(same_files(dir.target, other));
    scratch_close(&dir);
}

static herr_t add_times(hid_t object, const char *name, const H5O_info_t *info, void *data) {
    (void)object;
    (void)name;
    long *sum = data;
    *sum += info->atime + info->mtime + info->ctime + info->btime;
    return 0;
}

static void test_no_object_has_a_time(void) {
    scratch dir = scratch_open();
    long sum = 0;
    write_file(dir.target, 10, 3, 3, 3);
    hid_t file = open_read(dir.target);
    CU_ASSERT(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, add_times, &sum, H5O_INFO_TIME) >= 0);
    CU_ASSERT_EQUAL(sum, 0);
    (void)H5Fclose(file);
    scratch_close(&dir);
}

/* ---- The target -------------------------------------------------------------------------------------------------- */

/* Whether creating fails with a text that has `expected` in it. */
static bool create_fails(const char *target, bool replace, const char *expected) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = NULL;
    rlmr_status status = rlmr_hdf5_create(target, replace, &file, &err);
    bool good = status == RLMR_E_OUTPUT && err.code == RLMR_E_OUTPUT && file == NULL &&
                strstr(err.message, expected) != NULL && strstr(err.message, target) != NULL;
    if (!good) {
        (void)fprintf(stderr, "expected \"%s\", got %d \"%s\"\n", expected, (int)status, err.message);
    }
    if (status == RLMR_OK) {
        rlmr_hdf5_discard(file);
    }
    return good;
}

static void test_an_existing_file_is_refused(void) {
    scratch dir = scratch_open();
    put_file(dir.target, "precious");
    CU_ASSERT(create_fails(dir.target, false, "exists; use --force to replace it"));
    CU_ASSERT(holds_text(dir.target, "precious"));
    CU_ASSERT_EQUAL(count_entries(dir.path), 1);
    scratch_close(&dir);
}

static void test_replace_replaces_at_the_commit(void) {
    scratch dir = scratch_open();
    put_file(dir.target, "old");
    rlmr_hdf5 *file = create(dir.target, true);
    CU_ASSERT_EQUAL(write_probe(file, 10, 3, 3, 3, NULL), RLMR_OK);
    CU_ASSERT(holds_text(dir.target, "old"));
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
    CU_ASSERT(H5Fis_hdf5(dir.target) > 0);
    CU_ASSERT_EQUAL(count_entries(dir.path), 1);
    scratch_close(&dir);
}

static void test_a_file_that_appears_meanwhile_is_kept(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    put_file(dir.target, "precious");
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "exists; use --force to replace it"));
    CU_ASSERT(holds_text(dir.target, "precious"));
    CU_ASSERT_EQUAL(count_entries(dir.path), 1);
    scratch_close(&dir);
}

static void test_only_a_regular_file_is_replaced(void) {
    scratch dir = scratch_open();
    char path[700];
    CU_ASSERT(create_fails(dir.path, true, "is a directory; give the path of a file"));
    CU_ASSERT_EQUAL(symlink("/dev/null", dir.target), 0);
    CU_ASSERT(create_fails(dir.target, true, "is a symbolic link"));
    CU_ASSERT(create_fails("/dev/null", true, "is not a regular file"));
    CU_ASSERT(create_fails("", true, "names no file"));
    (void)snprintf(path, sizeof path, "%s/new/", dir.path);
    CU_ASSERT(create_fails(path, true, "names no file"));
    (void)snprintf(path, sizeof path, "%s/fifo", dir.path);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT(create_fails(path, true, "is not a regular file"));
    CU_ASSERT_EQUAL(count_entries(dir.path), 2);
    scratch_close(&dir);
}

static void test_a_directory_that_does_not_serve_is_named(void) {
    scratch dir = scratch_open();
    char path[1000];
    bool root = geteuid() == 0;
    (void)snprintf(path, sizeof path, "%s/missing/out.h5", dir.path);
    CU_ASSERT(create_fails(path, false, "first): No such file or directory"));
    (void)chmod(dir.path, 0555);
    CU_ASSERT(!root || seteuid(65534) == 0);
    CU_ASSERT(create_fails(dir.target, false, "(choose a writable place): Permission denied"));
    CU_ASSERT(!root || seteuid(0) == 0);
    (void)chmod(dir.path, 0755);
    put_file(dir.target, "");
    (void)snprintf(path, sizeof path, "%s/out.h5", dir.target);
    CU_ASSERT(create_fails(path, false, "Not a directory"));
    (void)snprintf(path, sizeof path, "%s/%0300d", dir.path, 1);
    CU_ASSERT(create_fails(path, false, "File name too long"));
    scratch_close(&dir);
}

static void test_the_longest_name_can_be_written(void) {
    scratch dir = scratch_open();
    char path[1000];
    (void)snprintf(path, sizeof path, "%s/%0255d", dir.path, 1);
    rlmr_hdf5 *file = create(path, false);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
    CU_ASSERT(H5Fis_hdf5(path) > 0);
    scratch_close(&dir);
}

static void test_a_name_without_directory_is_in_the_current_one(void) {
    scratch dir = scratch_open();
    char *before = getcwd(NULL, 0);
    CU_ASSERT_EQUAL_FATAL(chdir(dir.path), 0);
    rlmr_hdf5 *file = create("out.h5", false);
    CU_ASSERT_EQUAL(strncmp(rlmr_hdf5_temporary(file), ".out.h5.", 8), 0);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(chdir(before), 0);
    CU_ASSERT(H5Fis_hdf5(dir.target) > 0);
    free(before);
    scratch_close(&dir);
}

static void test_the_umask_decides_on_the_mode(void) {
    scratch dir = scratch_open();
    struct stat seen;
    mode_t before = umask(027);
    write_file(dir.target, 10, 3, 3, 3);
    (void)umask(before);
    CU_ASSERT_EQUAL_FATAL(stat(dir.target, &seen), 0);
    CU_ASSERT_EQUAL(seen.st_mode & 07777, 0640);
    CU_ASSERT_EQUAL(seen.st_nlink, 1);
    scratch_close(&dir);
}

static void test_the_temporary_is_beside_the_target(void) {
    scratch dir = scratch_open();
    rlmr_hdf5 *file = create(dir.target, false);
    char start[700];
    (void)snprintf(start, sizeof start, "%s/.out.h5.", dir.path);
    const char *temporary = rlmr_hdf5_temporary(file);
    CU_ASSERT_EQUAL(strncmp(temporary, start, strlen(start)), 0);
    CU_ASSERT_STRING_EQUAL(temporary + strlen(temporary) - 4, ".tmp");
    CU_ASSERT_EQUAL(access(temporary, F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(dir.target, F_OK), 0);
    rlmr_hdf5_discard(file);
    CU_ASSERT_EQUAL(count_entries(dir.path), 0);
    rlmr_hdf5_discard(NULL);
    scratch_close(&dir);
}

/* As a handler of SIGTERM does. */
static void test_a_removed_temporary_fails_the_commit(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, true);
    CU_ASSERT_EQUAL(unlink(rlmr_hdf5_temporary(file)), 0);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, &err), RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(err.sys_errno, ENOENT);
    CU_ASSERT_EQUAL(count_entries(dir.path), 0);
    scratch_close(&dir);
}

/* ---- In a process of its own ------------------------------------------------------------------------------------- */

/* Runs `body` in a child, which must return true, exit in good order and print nothing. */
static bool passes_in_child(bool (*body)(const scratch *dir), const scratch *dir) {
    char log[700];
    size_t bytes = 0;
    int result = -1;
    (void)snprintf(log, sizeof log, "%s.log", dir->path);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int descriptor = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        (void)dup2(descriptor, STDOUT_FILENO);
        (void)dup2(descriptor, STDERR_FILENO);
        (void)alarm(300);
        exit(body(dir) ? 0 : 1);
    }
    (void)waitpid(child, &result, 0);
    char *printed = take_file(log, &bytes);
    if (result != 0 || bytes != 0) {
        (void)fprintf(stderr, "child: wait status %d, printed: %s\n", result, printed);
    }
    free(printed);
    (void)unlink(log);
    return result == 0 && bytes == 0;
}

static bool deny(int number, int sys_errno) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)sys_errno),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool deny_links(void) {
#ifdef SYS_link
    if (!deny(SYS_link, EPERM)) {
        return false;
    }
#endif
    return deny(SYS_linkat, EPERM);
}

/* A commit to a new name, and one that finds a file there. */
static bool commits_without_replacing(const scratch *dir) {
    rlmr_hdf5 *file = NULL;
    if (rlmr_hdf5_create(dir->target, false, &file, NULL) != RLMR_OK ||
        rlmr_hdf5_commit(file, NULL) != RLMR_OK || H5Fis_hdf5(dir->target) <= 0 ||
        count_entries(dir->path) != 1 || unlink(dir->target) != 0) {
        return false;
    }
    if (rlmr_hdf5_create(dir->target, false, &file, NULL) != RLMR_OK) {
        return false;
    }
    put_file(dir->target, "precious");
    rlmr_error err;
    rlmr_error_clear(&err);
    return rlmr_hdf5_commit(file, &err) == RLMR_E_OUTPUT &&
           strstr(err.message, "exists; use --force") != NULL && holds_text(dir->target, "precious") &&
           count_entries(dir->path) == 1;
}

static bool commits_by_link(const scratch *dir) {
    return !deny(SYS_renameat2, EINVAL) || commits_without_replacing(dir);
}

static bool commits_by_look(const scratch *dir) {
    return !deny(SYS_renameat2, EINVAL) || !deny_links() || commits_without_replacing(dir);
}

static void test_file_systems_without_rename_flags_serve(void) {
    scratch dir = scratch_open();
    CU_ASSERT(passes_in_child(commits_by_link, &dir));
    scratch_close(&dir);
    dir = scratch_open();
    CU_ASSERT(passes_in_child(commits_by_look, &dir));
    scratch_close(&dir);
}

static bool exits_while_writing(const scratch *dir) {
    static rlmr_hdf5 *file; /* static, so that it is no leak */
    return rlmr_hdf5_create(dir->target, false, &file, NULL) == RLMR_OK &&
           write_probe(file, 10, 3, 3, 3, NULL) == RLMR_OK;
}

static void test_a_process_that_just_exits_leaves_no_target(void) {
    scratch dir = scratch_open();
    CU_ASSERT(passes_in_child(exits_while_writing, &dir));
    CU_ASSERT_NOT_EQUAL(access(dir.target, F_OK), 0);
    scratch_close(&dir);
}

/* ---- A full disk, here a limit on the size of files -------------------------------------------------------------- */

enum { FULL_ROWS = 3000, FULL_NAMES = 300, FULL_STACKS = 40, FULL_STEPS = 60 };

static rlmr_status write_all(const char *target, rlmr_error *err) {
    rlmr_hdf5 *file = NULL;
    rlmr_status status = rlmr_hdf5_create(target, true, &file, err);
    if (status != RLMR_OK) {
        return status;
    }
    status = write_probe(file, FULL_ROWS, FULL_NAMES, FULL_STACKS, 64, err);
    if (status == RLMR_OK) {
        status = write_indexed(file, 5, err);
    }
    if (status == RLMR_OK) {
        status = write_empty(file, &lonely_schema, err); /* which is written when the file is closed */
    }
    if (status != RLMR_OK) {
        rlmr_hdf5_discard(file);
        return status;
    }
    return rlmr_hdf5_commit(file, err);
}

static bool limit_files(rlim_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return false;
    }
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* One attempt that must fail, leave the old file alone and no handle open, and name the cure. */
static bool fails_below(const scratch *dir, size_t limit) {
    rlmr_error err;
    rlmr_error_clear(&err);
    int entries = count_entries(dir->path);
    long drivers = count_drivers();
    handle_mark handles = mark_handles();
    bool limited = limit_files(limit);
    rlmr_status status = write_all(dir->target, &err);
    bool good = limit_files(RLIM_INFINITY) && limited && status == RLMR_E_OUTPUT && err.sys_errno == EFBIG &&
                strstr(err.message, "ulimit -f") != NULL && strstr(err.message, dir->target) != NULL &&
                count_entries(dir->path) == entries && holds_text(dir->target, "precious") &&
                open_handles(handles) == 0 && count_drivers() == drivers;
    if (!good) {
        (void)fprintf(stderr, "limit %zu: status %d, errno %d, %s; %d entries, %ld handles\n", limit,
                      (int)status, err.sys_errno, err.message, count_entries(dir->path),
                      open_handles(handles));
    }
    return good;
}

static bool survives_full_disks(const scratch *dir) {
    char whole[700];
    struct stat seen;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)snprintf(whole, sizeof whole, "%s/whole.h5", dir->path);
    put_file(dir->target, "precious");
    if (write_all(whole, NULL) != RLMR_OK || stat(whole, &seen) != 0) {
        return false;
    }
    size_t bytes = (size_t)seen.st_size;
    size_t step = bytes / FULL_STEPS;
    for (size_t limit = 0; limit < bytes; limit += step) {
        if (!fails_below(dir, limit)) {
            return false;
        }
    }
    return fails_below(dir, bytes - 1) && write_all(dir->target, NULL) == RLMR_OK &&
           same_files(dir->target, whole);
}

static void test_a_full_disk_is_an_error_and_no_more(void) {
    scratch dir = scratch_open();
    CU_ASSERT(passes_in_child(survives_full_disks, &dir));
    scratch_close(&dir);
}

/* Numbers that went to a file whose disk is full, as HDF5 reads them back before it closes. */
static bool reads_lost_numbers(hid_t file) {
    static int64_t written[20000]; /* more than HDF5 buffers */
    static int64_t taken[20000];
    hsize_t size = sizeof written / sizeof written[0];
    for (size_t i = 0; i < size; i++) {
        written[i] = time_of(i);
    }
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t dataset = H5Dcreate2(file, "numbers", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool good = H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0 &&
                H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, taken) >= 0 &&
                memcmp(written, taken, sizeof written) == 0;
    return H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && good;
}

/* Space that no write has touched: HDF5 sets the length of the file when it closes. */
static bool allocates_too_much(hid_t file) {
    hsize_t size = 1 << 20;
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    (void)H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
    hid_t dataset = H5Dcreate2(file, "space", H5T_STD_I64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    return H5Dclose(dataset) >= 0 && H5Pclose(list) >= 0 && H5Sclose(space) >= 0;
}

/* Whether HDF5 can do `fill` to a file of at most 50 KB and close it, while the driver knows of the error. */
static bool closes_after(bool (*fill)(hid_t file), const scratch *dir) {
    rlmr_hdf5_driver *driver = NULL;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    int descriptor = open(dir->target, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (!limit_files(50000) || rlmr_hdf5_driver_open(descriptor, &driver, NULL) != RLMR_OK ||
        rlmr_hdf5_driver_attach(driver, access, NULL) != RLMR_OK) {
        return false;
    }
    hid_t file = H5Fcreate(dir->target, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    bool good = rlmr_hdf5_driver_errno(driver) == 0 && fill(file);
    good = H5Fclose(file) >= 0 && H5Pclose(access) >= 0 && rlmr_hdf5_driver_errno(driver) == EFBIG && good;
    rlmr_hdf5_driver_close(driver);
    return close(descriptor) == 0 && good;
}

static bool closes_what_is_lost(const scratch *dir) {
    return closes_after(reads_lost_numbers, dir);
}

static bool closes_what_is_too_long(const scratch *dir) {
    return closes_after(allocates_too_much, dir);
}

static void test_hdf5_finds_again_what_could_not_be_written(void) {
    scratch dir = scratch_open();
    CU_ASSERT(passes_in_child(closes_what_is_lost, &dir));
    CU_ASSERT(passes_in_child(closes_what_is_too_long, &dir));
    scratch_close(&dir);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* After a failure with `expected` in its text, everything else fails with the same text and nothing is left. */
static void check_given_up(rlmr_hdf5 *file, const scratch *dir, const rlmr_error *first,
                           const char *expected) {
    rlmr_sink sink = rlmr_hdf5_sink(file);
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_PTR_NOT_NULL(strstr(first->message, expected));
    CU_ASSERT_PTR_NOT_NULL(strstr(first->message, dir->target));
    CU_ASSERT_EQUAL(sink.begin(sink.self, &lonely_schema, &err), first->code);
    CU_ASSERT_STRING_EQUAL(err.message, first->message);
    CU_ASSERT_EQUAL(sink.categories(sink.self, 0, NULL, 0, NULL), first->code);
    CU_ASSERT_EQUAL(sink.chunk(sink.self, NULL, NULL), first->code);
    CU_ASSERT_EQUAL(sink.end(sink.self, NULL), first->code);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_text(file, "a", "", NULL), first->code);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(file, "b", 0, NULL), first->code);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_f64(file, "c", 0, NULL), first->code);
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, &err), first->code);
    CU_ASSERT_STRING_EQUAL(err.message, first->message);
    CU_ASSERT_EQUAL(count_entries(dir->path), 0);
}

static void test_an_error_of_hdf5_is_readable(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    CU_ASSERT_EQUAL(write_empty(file, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_empty(file, &probe_schema, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "table probe: cannot be created: name already exists (HDF5, ");
    scratch_close(&dir);
}

static bool fails_in_silence(const scratch *dir) {
    rlmr_hdf5 *file = NULL;
    rlmr_status status = rlmr_hdf5_create(dir->target, false, &file, NULL);
    if (status == RLMR_OK) {
        status = write_empty(file, &lonely_schema, NULL);
    }
    if (status == RLMR_OK) {
        status = write_empty(file, &lonely_schema, NULL);
        rlmr_hdf5_discard(file);
    }
    return status == RLMR_E_OUTPUT;
}

static void test_hdf5_prints_nothing(void) {
    scratch dir = scratch_open();
    CU_ASSERT(passes_in_child(fails_in_silence, &dir));
    scratch_close(&dir);
}

static void test_an_attribute_given_twice_is_an_error(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(file, "twice", 1, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(file, "twice", 2, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "attribute twice: ");
    scratch_close(&dir);
}

static void test_a_column_named_as_another_is_an_error(void) {
    rlmr_column twins[] = {indexed_columns[0], indexed_columns[0]};
    rlmr_schema schema = {
        .name = "twins", .description = "", .columns = twins, .columns_count = 2, .index = -1};
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    CU_ASSERT_EQUAL(write_empty(file, &schema, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "table twins, column value: cannot be created: name already exists");
    scratch_close(&dir);
}

static void test_a_code_without_a_text_is_an_error(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(give_texts(&sink, COLUMN_name, format_name, 3, 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(give_texts(&sink, COLUMN_stack, format_stack, 2, 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(give_probe_rows(&sink, 10, 4, 2, &err), RLMR_E_RANGE);
    check_given_up(file, &dir, &err, "table probe, column name: the rows from 0 have code 3 of 3 texts");
    scratch_close(&dir);
}

static void test_a_text_with_a_nul_byte_is_an_error(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    const rlmr_slice texts[] = {RLMR_SLICE("a"), RLMR_SLICE("b\0c")};
    rlmr_hdf5 *file = create(dir.target, false);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink.categories(sink.self, COLUMN_name, texts, 2, &err), RLMR_E_RANGE);
    check_given_up(file, &dir, &err, "table probe, column name: text 1 holds a NUL byte");
    scratch_close(&dir);
}

static void test_texts_for_another_column_are_an_error(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    const rlmr_slice text = RLMR_SLICE("a");
    rlmr_hdf5 *file = create(dir.target, false);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink.categories(sink.self, COLUMN_size, &text, 1, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "table probe, column size: takes no texts");
    rlmr_error_clear(&err);
    file = create(dir.target, false);
    sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink.categories(sink.self, PROBE_COLUMNS, &text, 1, &err), RLMR_E_RANGE);
    check_given_up(file, &dir, &err, "table probe has no column 8");
    scratch_close(&dir);
}

static void test_tables_begin_and_end_in_turn(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_hdf5 *file = create(dir.target, false);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.end(sink.self, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "no table has begun");
    rlmr_error_clear(&err);
    file = create(dir.target, false);
    sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &lonely_schema, &err), RLMR_E_OUTPUT);
    check_given_up(file, &dir, &err, "table lonely begins before table probe has ended");
    rlmr_error_clear(&err);
    file = create(dir.target, false);
    sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "table probe has not ended"));
    CU_ASSERT_EQUAL(count_entries(dir.path), 0);
    scratch_close(&dir);
}

static void test_an_earlier_error_of_the_caller_is_kept(void) {
    scratch dir = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    (void)rlmr_error_set(&err, RLMR_E_INPUT, "earlier");
    rlmr_hdf5 *file = create(dir.target, false);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.end(sink.self, &err), RLMR_E_OUTPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "earlier");
    rlmr_hdf5_discard(file);
    scratch_close(&dir);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static void test_no_handle_stays_open(void) {
    scratch dir = scratch_open();
    write_file(dir.target, 10, 3, 3, 3);
    long drivers = count_drivers();
    handle_mark mark = mark_handles();
    rlmr_hdf5 *file = create(dir.target, true);
    CU_ASSERT_EQUAL(write_probe(file, 10, 3, 3, 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_ATTR), 0);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(open_handles(mark), 0);
    file = create(dir.target, true);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(sink.begin(sink.self, &probe_schema, NULL), RLMR_OK);
    rlmr_hdf5_discard(file);
    CU_ASSERT_EQUAL(open_handles(mark), 0);
    file = create(dir.target, true);
    CU_ASSERT_EQUAL(write_empty(file, &lonely_schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(write_empty(file, &lonely_schema, NULL), RLMR_E_OUTPUT);
    rlmr_hdf5_discard(file);
    CU_ASSERT_EQUAL(open_handles(mark), 0);
    CU_ASSERT(create_fails(dir.target, false, "exists"));
    CU_ASSERT_EQUAL(open_handles(mark), 0);
    CU_ASSERT_EQUAL(count_drivers(), drivers);
    scratch_close(&dir);
}

static int count_descriptors(void) {
    return count_entries("/proc/self/fd");
}

static void test_no_descriptor_stays_open(void) {
    scratch dir = scratch_open();
    int before = count_descriptors();
    write_file(dir.target, 10, 3, 3, 3);
    CU_ASSERT(create_fails(dir.target, false, "exists"));
    rlmr_hdf5 *file = create(dir.target, true);
    CU_ASSERT_EQUAL(count_descriptors(), before + 1);
    rlmr_hdf5_discard(file);
    CU_ASSERT_EQUAL(count_descriptors(), before);
    scratch_close(&dir);
}

CU_TestInfo rlmr_tests_hdf5_sink[] = {
    {"a table is a group in the dataframe encoding, without its hidden columns", test_a_table_is_a_dataframe},
    {"numbers are compressed arrays of their column's type", test_numbers_are_arrays},
    {"texts are categoricals", test_texts_are_categoricals},
    {"a column can be the index", test_an_index_column_is_the_index},
    {"an empty table has all its datasets", test_an_empty_table_has_all_its_datasets},
    {"rows of several blocks and texts of several batches come back", test_many_rows_and_texts_come_back},
    {"root attributes keep their type and value", test_root_attributes_keep_type_and_value},
    {"the file has the format version of HDF5 1.8 and before", test_old_libraries_can_read_the_file},
    {"a file with every kind of table is written for other readers", test_the_file_for_other_readers},
    {"the bytes do not depend on the path or on how calls are cut", test_bytes_do_not_depend_on_calls},
    {"the bytes do not depend on what was in memory before", test_bytes_do_not_depend_on_old_memory},
    {"no object has a time", test_no_object_has_a_time},
    {"an existing file is refused and untouched", test_an_existing_file_is_refused},
    {"an existing file is replaced at the commit, not before", test_replace_replaces_at_the_commit},
    {"a file that appears meanwhile is kept", test_a_file_that_appears_meanwhile_is_kept},
    {"only a regular file is replaced", test_only_a_regular_file_is_replaced},
    {"a directory that does not serve is an error with the reason",
     test_a_directory_that_does_not_serve_is_named},
    {"a file name may be as long as the file system allows", test_the_longest_name_can_be_written},
    {"a name without a directory is in the current one", test_a_name_without_directory_is_in_the_current_one},
    {"the umask decides on the mode of the file", test_the_umask_decides_on_the_mode},
    {"the temporary is beside the target and goes with a discard", test_the_temporary_is_beside_the_target},
    {"a temporary that somebody removed fails the commit", test_a_removed_temporary_fails_the_commit},
    {"nothing is replaced where rename cannot be told so", test_file_systems_without_rename_flags_serve},
    {"a process that exits while writing leaves no target", test_a_process_that_just_exits_leaves_no_target},
    {"a full disk, at whatever size, is an error and no more", test_a_full_disk_is_an_error_and_no_more},
    {"HDF5 closes a file whose disk is full, and finds again what was not written",
     test_hdf5_finds_again_what_could_not_be_written},
    {"an error of HDF5 is readable and final", test_an_error_of_hdf5_is_readable},
    {"HDF5 prints nothing about an error", test_hdf5_prints_nothing},
    {"an attribute given twice is an error", test_an_attribute_given_twice_is_an_error},
    {"a column named as another is an error that names it", test_a_column_named_as_another_is_an_error},
    {"a code without a text is an error", test_a_code_without_a_text_is_an_error},
    {"a text with a NUL byte is an error", test_a_text_with_a_nul_byte_is_an_error},
    {"texts for a column that has none are an error", test_texts_for_another_column_are_an_error},
    {"tables begin and end in turn", test_tables_begin_and_end_in_turn},
    {"an earlier error of the caller is kept", test_an_earlier_error_of_the_caller_is_kept},
    {"no handle of HDF5 stays open", test_no_handle_stays_open},
    {"no descriptor stays open", test_no_descriptor_stays_open},
    CU_TEST_INFO_NULL,
};
