/* Each hostile file is a good one in which one thing was changed. */
#include "rlmr/hdf5_source.h"

#include "pack_rows.h"
#include "rlmr/hdf5_sink.h"

#include <CUnit/Basic.h>

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE(X)                                                                                             \
    X(I64, time_ns, "ns", STORED, "when")                                                                    \
    X(TEXT, name, "", STORED, "what")                                                                        \
    X(I32, rank_id, "1", STORED, "who")                                                                      \
    X(U8, flag, "1", STORED, "0 or 1")                                                                       \
    X(F64, size, "KiB", STORED, "how much; NaN if absent")                                                   \
    X(TEXT, secret, "", HIDDEN, "a text that is not written")                                                \
    X(I64, file_row, "1", HIDDEN, "a number that is not written")

RLMR_TABLE_DECLARE(probe, PROBE)
enum { PROBE(RLMR_COLUMN_NUMBER) PROBE_COLUMNS };
#define RLMR_ROW rlmr_probe_row
static const rlmr_column probe_columns[] = {PROBE(RLMR_COLUMN)};
#undef RLMR_ROW
static const rlmr_schema probe_schema = {.name = "probe",
                                         .description = "one column of each kind",
                                         .columns = probe_columns,
                                         .columns_count = PROBE_COLUMNS,
                                         .index = -1};
static const rlmr_schema indexed_schema = {.name = "indexed",
                                           .description = "with an index of its own",
                                           .columns = probe_columns,
                                           .columns_count = PROBE_COLUMNS,
                                           .index = COLUMN_rank_id};

enum { ROWS = RLMR_BLOCK_ROWS + 1000, NAMES = 700 };

typedef struct {
    char path[512];
    char file[600];
} scratch;

static scratch scratch_open(void) {
    scratch made;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(made.path, sizeof made.path, "%s/rlmr-source-XXXXXX", parent == NULL ? "/tmp" : parent);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.path));
    (void)snprintf(made.file, sizeof made.file, "%s/in.h5", made.path);
    return made;
}

static void scratch_close(const scratch *used) {
    (void)unlink(used->file);
    CU_ASSERT_EQUAL(rmdir(used->path), 0);
}

/* ---- A good file -------------------------------------------------------------------------------------------------- */

static void format_name(char *text, size_t number) {
    (void)sprintf(text, "%s%04zu", number == 0 ? "" : "name ", number);
    text[number == 0 ? 0 : strlen(text)] = '\0'; /* the first is empty */
}

static void write_table(const rlmr_sink *sink, const rlmr_schema *schema, size_t count) {
    rlmr_rows *rows = NULL;
    CU_ASSERT_EQUAL(sink->begin(sink->self, schema, NULL), RLMR_OK);
    for (size_t i = 0; i < NAMES; i++) {
        char text[32];
        format_name(text, i);
        rlmr_slice name = rlmr_slice_of(text);
        CU_ASSERT_EQUAL(sink->categories(sink->self, COLUMN_name, &name, 1, NULL), RLMR_OK);
    }
    CU_ASSERT_EQUAL_FATAL(rlmr_rows_open(schema, RLMR_BLOCK_ROWS, &rows, NULL), RLMR_OK);
    for (size_t row = 0; row < count; row++) {
        size_t i = row % RLMR_BLOCK_ROWS;
        ((int64_t *)rows->columns[COLUMN_time_ns])[i] = INT64_C(1700000000000000000) + (int64_t)row;
        ((uint32_t *)rows->columns[COLUMN_name])[i] = (uint32_t)(row % NAMES);
        ((int32_t *)rows->columns[COLUMN_rank_id])[i] = (int32_t)(row % 5) - 1;
        ((uint8_t *)rows->columns[COLUMN_flag])[i] = row & 1;
        ((double *)rows->columns[COLUMN_size])[i] = row % 10 == 3 ? NAN : (double)row / 2;
        rows->rows = i + 1;
        if (i + 1 == RLMR_BLOCK_ROWS || row + 1 == count) {
            CU_ASSERT_EQUAL(pack_rows(sink, rows, row - i, NULL), RLMR_OK);
        }
    }
    rlmr_rows_close(rows);
    CU_ASSERT_EQUAL(sink->end(sink->self, NULL), RLMR_OK);
}

static void write_file(const scratch *place, size_t count) {
    rlmr_hdf5 *file = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_hdf5_create(place->file, true, &file, NULL), RLMR_OK);
    rlmr_sink sink = rlmr_hdf5_sink(file);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_text(file, "format", "rl-insight-mr", NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_attribute_i64(file, "format_version", 1, NULL), RLMR_OK);
    write_table(&sink, &probe_schema, count);
    write_table(&sink, &indexed_schema, 3);
    CU_ASSERT_EQUAL(rlmr_hdf5_commit(file, NULL), RLMR_OK);
}

static rlmr_hdf5_source *open_good(const scratch *place) {
    rlmr_hdf5_source *source = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    if (rlmr_hdf5_source_open(place->file, &source, &err) != RLMR_OK) {
        (void)fprintf(stderr, "\n    %s\n", err.message);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(source);
    return source;
}

/* ---- Reading it --------------------------------------------------------------------------------------------------- */

static void check_block(const rlmr_hdf5_reader *reader, const rlmr_rows *rows, size_t first) {
    int wrong = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        size_t row = first + i;
        char name[32];
        format_name(name, row % NAMES);
        double size = ((const double *)rows->columns[COLUMN_size])[i];
        rlmr_slice text =
            rlmr_hdf5_reader_text(reader, COLUMN_name, ((const uint32_t *)rows->columns[COLUMN_name])[i]);
        wrong += ((const int64_t *)rows->columns[COLUMN_time_ns])[i] !=
                 INT64_C(1700000000000000000) + (int64_t)row;
        wrong += ((const int32_t *)rows->columns[COLUMN_rank_id])[i] != (int32_t)(row % 5) - 1;
        wrong += ((const uint8_t *)rows->columns[COLUMN_flag])[i] != (row & 1);
        wrong += row % 10 == 3 ? isnan(size) == 0 : size != (double)row / 2;
        wrong += !rlmr_slice_equal(text, rlmr_slice_of(name));
        wrong += ((const uint32_t *)rows->columns[COLUMN_secret])[i] != 0;
        wrong += ((const int64_t *)rows->columns[COLUMN_file_row])[i] != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_rows_come_back_block_by_block(void) {
    scratch place = scratch_open();
    write_file(&place, ROWS);
    rlmr_hdf5_source *source = open_good(&place);
    rlmr_hdf5_reader *reader = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_hdf5_reader_open(source, &probe_schema, &reader, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_hdf5_reader_rows(reader), ROWS);
    size_t seen = 0;
    const rlmr_rows *rows;
    rlmr_status status = rlmr_hdf5_reader_next(reader, &rows, NULL);
    while (status == RLMR_OK && rows->rows > 0) {
        check_block(reader, rows, seen);
        seen += rows->rows;
        status = rlmr_hdf5_reader_next(reader, &rows, NULL);
    }
    CU_ASSERT_EQUAL(status, RLMR_OK);
    CU_ASSERT_EQUAL(seen, ROWS);
    rlmr_hdf5_reader_close(reader);
    rlmr_hdf5_source_close(source);
    scratch_close(&place);
}

static void test_a_table_comes_as_an_array_of_its_rows(void) {
    scratch place = scratch_open();
    write_file(&place, ROWS);
    rlmr_hdf5_source *source = open_good(&place);
    rlmr_symtab *texts = NULL;
    void *rows = NULL;
    size_t count = 0;
    uint32_t id;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&texts, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_symtab_intern(texts, RLMR_SLICE("before"), &id, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(
        rlmr_hdf5_source_load(source, &probe_schema, sizeof(rlmr_probe_row), texts, &rows, &count, NULL),
        RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(count, ROWS);
    const rlmr_probe_row *row = (const rlmr_probe_row *)rows + 65537;
    CU_ASSERT_EQUAL(row->time_ns, INT64_C(1700000000000065537));
    CU_ASSERT_EQUAL(row->rank_id, 1);
    CU_ASSERT_EQUAL(row->flag, 1);
    CU_ASSERT_EQUAL(row->size, 65537 / 2.0);
    CU_ASSERT_EQUAL(row->secret, 0);
    CU_ASSERT_TRUE(rlmr_slice_equal(rlmr_symtab_text(texts, row->name), RLMR_SLICE("name 0437")));
    CU_ASSERT_EQUAL(((const rlmr_probe_row *)rows)->name, 0); /* the empty text */
    free(rows);
    rlmr_symtab_close(texts);
    rlmr_hdf5_source_close(source);
    scratch_close(&place);
}

static void test_a_table_that_is_not_there_has_no_rows(void) {
    scratch place = scratch_open();
    rlmr_schema other = probe_schema;
    void *rows = &other;
    size_t count = 9;
    other.name = "other";
    write_file(&place, 3);
    rlmr_hdf5_source *source = open_good(&place);
    rlmr_symtab *texts = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&texts, NULL), RLMR_OK);
    CU_ASSERT_FALSE(rlmr_hdf5_source_has(source, "other"));
    CU_ASSERT_EQUAL(rlmr_hdf5_source_load(source, &other, sizeof(rlmr_probe_row), texts, &rows, &count, NULL),
                    RLMR_OK);
    CU_ASSERT_TRUE(rows == NULL && count == 0);
    rlmr_symtab_close(texts);
    rlmr_hdf5_source_close(source);
    scratch_close(&place);
}

/* Without a schema: the columns as the file has them. */
static void test_any_table_tells_its_columns(void) {
    scratch place = scratch_open();
    static const rlmr_type types[] = {RLMR_TYPE_I64, RLMR_TYPE_TEXT, RLMR_TYPE_I32, RLMR_TYPE_U8,
                                      RLMR_TYPE_F64};
    static const size_t order[] = {COLUMN_rank_id, COLUMN_time_ns, COLUMN_name, COLUMN_flag, COLUMN_size};
    rlmr_hdf5_reader *reader = NULL;
    write_file(&place, 0);
    rlmr_hdf5_source *source = open_good(&place);
    CU_ASSERT_EQUAL_FATAL(rlmr_hdf5_source_tables(source), 2);
    CU_ASSERT_STRING_EQUAL(rlmr_hdf5_source_table(source, 0), "indexed");
    CU_ASSERT_STRING_EQUAL(rlmr_hdf5_source_table(source, 1), "probe");
    CU_ASSERT_EQUAL_FATAL(rlmr_hdf5_reader_open_any(source, "probe", &reader, NULL), RLMR_OK);
    const rlmr_schema *schema = rlmr_hdf5_reader_schema(reader);
    CU_ASSERT_EQUAL_FATAL(schema->columns_count, 5); /* without `row` and what is hidden */
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_STRING_EQUAL(schema->columns[i].name, probe_columns[i].name);
        CU_ASSERT_EQUAL(schema->columns[i].type, types[i]);
    }
    CU_ASSERT_EQUAL(rlmr_hdf5_reader_rows(reader), 0);
    rlmr_hdf5_reader_close(reader);
    CU_ASSERT_EQUAL_FATAL(rlmr_hdf5_reader_open_any(source, "indexed", &reader, NULL), RLMR_OK);
    schema = rlmr_hdf5_reader_schema(reader);
    CU_ASSERT_EQUAL_FATAL(schema->columns_count, 5);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_STRING_EQUAL(schema->columns[i].name, probe_columns[order[i]].name);
    }
    CU_ASSERT_EQUAL(rlmr_hdf5_reader_rows(reader), 3);
    rlmr_hdf5_reader_close(reader);
    rlmr_hdf5_source_close(source);
    scratch_close(&place);
}

/* ---- Files that are not good -------------------------------------------------------------------------------------- */

static rlmr_status read_all(const char *path, rlmr_error *err) {
    rlmr_hdf5_source *source = NULL;
    rlmr_hdf5_reader *reader = NULL;
    const rlmr_rows *rows = NULL;
    rlmr_status status = rlmr_hdf5_source_open(path, &source, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_reader_open(source, &probe_schema, &reader, err);
    }
    while (status == RLMR_OK) {
        status = rlmr_hdf5_reader_next(reader, &rows, err);
        if (status == RLMR_OK && rows->rows == 0) {
            break;
        }
    }
    rlmr_hdf5_reader_close(reader);
    rlmr_hdf5_source_close(source);
    return status;
}

static void check_refused(const char *path, const char *reason) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_status status = read_all(path, &err);
    bool named = strstr(err.message, path) != NULL && strstr(err.message, reason) != NULL;
    CU_ASSERT_NOT_EQUAL(status, RLMR_OK);
    CU_ASSERT_TRUE(named);
    if (!named) {
        (void)fprintf(stderr, "\n    no '%s' in: %s\n", reason, err.message);
    }
}

typedef void (*change)(hid_t file);

static void check_changed(change make, const char *reason) {
    scratch place = scratch_open();
    write_file(&place, 100);
    hid_t file = H5Fopen(place.file, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    make(file);
    CU_ASSERT_EQUAL(H5Fclose(file), 0);
    check_refused(place.file, reason);
    scratch_close(&place);
}

static void put_dataset(hid_t file, const char *path, hid_t type, int rank, hsize_t count, hid_t creation) {
    hsize_t sizes[] = {count, 1};
    (void)H5Ldelete(file, path, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, sizes, NULL);
    hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CU_ASSERT(dataset >= 0);
    void *zeros = calloc(1000, 16);
    if (count <= 1000 && H5Tget_class(type) != H5T_STRING) {
        CU_ASSERT(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    }
    free(zeros);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

static void put_attribute(hid_t file, const char *name, hid_t type, const void *value) {
    (void)H5Adelete(file, name);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(attribute >= 0 && H5Awrite(attribute, type, value) >= 0);
    (void)H5Aclose(attribute);
    (void)H5Sclose(space);
}

static hid_t text_type(void) {
    hid_t type = H5Tcopy(H5T_C_S1);
    CU_ASSERT(H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0);
    return type;
}

static void other_format(hid_t file) {
    hid_t type = text_type();
    const char *value = "something else";
    put_attribute(file, "format", type, &value);
    (void)H5Tclose(type);
}

static void number_as_format(hid_t file) {
    int value = 3;
    put_attribute(file, "format", H5T_NATIVE_INT, &value);
}

static void no_format(hid_t file) {
    (void)H5Adelete(file, "format");
}

static void later_version(hid_t file) {
    int value = 2;
    put_attribute(file, "format_version", H5T_NATIVE_INT, &value);
}

static void text_as_version(hid_t file) {
    hid_t type = text_type();
    const char *value = "1";
    put_attribute(file, "format_version", type, &value);
    (void)H5Tclose(type);
}

static void no_table(hid_t file) {
    (void)H5Ldelete(file, "probe", H5P_DEFAULT);
}

static void dataset_as_table(hid_t file) {
    put_dataset(file, "probe", H5T_STD_I32LE, 1, 100, H5P_DEFAULT);
}

static void no_column(hid_t file) {
    (void)H5Ldelete(file, "probe/size", H5P_DEFAULT);
}

static void no_codes(hid_t file) {
    (void)H5Ldelete(file, "probe/name/codes", H5P_DEFAULT);
}

static void group_as_column(hid_t file) {
    (void)H5Ldelete(file, "probe/size", H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "probe/size", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Gclose(group);
}

static void numbers_as_text(hid_t file) {
    put_dataset(file, "probe/name", H5T_STD_I32LE, 1, 100, H5P_DEFAULT);
}

static void other_size(hid_t file) {
    put_dataset(file, "probe/rank_id", H5T_STD_I64LE, 1, 100, H5P_DEFAULT);
}

static void unsigned_numbers(hid_t file) {
    put_dataset(file, "probe/rank_id", H5T_STD_U32LE, 1, 100, H5P_DEFAULT);
}

static void short_floats(hid_t file) {
    put_dataset(file, "probe/size", H5T_IEEE_F32LE, 1, 100, H5P_DEFAULT);
}

static void two_dimensions(hid_t file) {
    put_dataset(file, "probe/size", H5T_IEEE_F64LE, 2, 100, H5P_DEFAULT);
}

static void other_length(hid_t file) {
    put_dataset(file, "probe/size", H5T_IEEE_F64LE, 1, 99, H5P_DEFAULT);
}

static void unsigned_codes(hid_t file) {
    put_dataset(file, "probe/name/codes", H5T_STD_U32LE, 1, 100, H5P_DEFAULT);
}

static void numbers_as_categories(hid_t file) {
    put_dataset(file, "probe/name/categories", H5T_STD_I32LE, 1, 100, H5P_DEFAULT);
}

static void set_code(hid_t file, int32_t code) {
    int32_t codes[100] = {0};
    codes[57] = code;
    hid_t dataset = H5Dopen2(file, "probe/name/codes", H5P_DEFAULT);
    CU_ASSERT(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, codes) >= 0);
    (void)H5Dclose(dataset);
}

static void great_code(hid_t file) {
    set_code(file, NAMES);
}

static void negative_code(hid_t file) {
    set_code(file, -1);
}

static hid_t chunks(hsize_t bytes) {
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CU_ASSERT(H5Pset_chunk(creation, 1, &bytes) >= 0);
    return creation;
}

/* Chunks that are not written read as zeros: no rows, but a long time. */
static void rows_without_bytes(hid_t file) {
    hid_t creation = chunks(1000);
    for (int c = 0; c < PROBE_COLUMNS; c++) {
        char path[64];
        (void)snprintf(path, sizeof path, "probe/%s", probe_columns[c].name);
        if (probe_columns[c].type == RLMR_TYPE_I64) {
            put_dataset(file, path, H5T_STD_I64LE, 1, (hsize_t)1 << 60, creation);
        }
    }
    (void)H5Pclose(creation);
}

static void large_chunks(hid_t file) {
    hid_t creation = chunks((hsize_t)400 << 20);
    put_dataset(file, "probe/size", H5T_IEEE_F64LE, 1, (hsize_t)400 << 20, creation);
    (void)H5Pclose(creation);
}

static void values_elsewhere(hid_t file) {
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CU_ASSERT(H5Pset_external(creation, "/etc/passwd", 0, 2000 * sizeof(double)) >= 0);
    put_dataset(file, "probe/size", H5T_IEEE_F64LE, 1, 2000, creation);
    (void)H5Pclose(creation);
}

static void link_elsewhere(hid_t file) {
    (void)H5Ldelete(file, "probe/size", H5P_DEFAULT);
    CU_ASSERT(H5Lcreate_external("other.h5", "/size", file, "probe/size", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void link_to_another_name(hid_t file) {
    (void)H5Ldelete(file, "probe/size", H5P_DEFAULT);
    CU_ASSERT(H5Lcreate_soft("/indexed/size", file, "probe/size", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void other_filter(hid_t file) {
    hid_t creation = chunks(100);
    CU_ASSERT(H5Pset_nbit(creation) >= 0);
    put_dataset(file, "probe/size", H5T_IEEE_F64LE, 1, 100, creation);
    (void)H5Pclose(creation);
}

/* One text of a megabyte, named by many references: written as one, and the reference copied in the file's bytes. */
static void put_categories(hid_t file, char *const *texts, hsize_t count) {
    hid_t type = text_type();
    hid_t space = H5Screate_simple(1, &count, NULL);
    (void)H5Ldelete(file, "probe/name/categories", H5P_DEFAULT);
    hid_t dataset =
        H5Dcreate2(file, "probe/name/categories", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void broken_text(hid_t file) {
    char text[] = "\xC3(";
    char *texts[NAMES];
    for (size_t i = 0; i < NAMES; i++) {
        texts[i] = text;
    }
    put_categories(file, texts, NAMES);
}

static const struct {
    change make;
    const char *reason;
} changes[] = {
    {other_format, "was not made by rl-insight-mr"},
    {number_as_format, "was not made by rl-insight-mr"},
    {no_format, "was not made by rl-insight-mr"},
    {later_version, "has format version 2, and this program reads 1"},
    {text_as_version, "attribute format_version: there is no integer"},
    {no_table, "there is no group \"probe\""},
    {dataset_as_table, "there is no group \"probe\""},
    {no_column, "table probe, column size: there is no dataset \"size\""},
    {no_codes, "table probe, column name: there is no dataset \"codes\""},
    {group_as_column, "table probe, column size: there is no dataset"},
    {numbers_as_text, "table probe, column name: there is no group"},
    {other_size, "table probe, column rank_id: its values have another type"},
    {unsigned_numbers, "table probe, column rank_id: its values have a type that no column has"},
    {short_floats, "table probe, column size: its values have a type that no column has"},
    {two_dimensions, "table probe, column size: it is no column"},
    {other_length, "table probe, column size: it has 99 rows, the columns before have 100"},
    {unsigned_codes, "table probe, column name: its values have a type that no column has"},
    {numbers_as_categories, "table probe, column name: codes and categories have another type"},
    {great_code, "table probe, column name: row 57 has code 700 of 700 texts"},
    {negative_code, "table probe, column name: row 57 has code -1 of 700 texts"},
    {rows_without_bytes,
     "table probe, column time_ns: it claims 1152921504606846976 entries, but stores 0 bytes"},
    {large_chunks, "table probe, column size: its chunks are too large"},
    {values_elsewhere, "table probe, column size: its values lie outside of the file"},
    {link_elsewhere, "table probe, column size: there is no dataset"},
    {link_to_another_name, "table probe, column size: there is no dataset"},
    {other_filter, "table probe, column size: it needs a filter"},
    {broken_text, "table probe, column name: a text is not UTF-8"},
};

static void test_what_does_not_fit_is_named(void) {
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        check_changed(changes[i].make, changes[i].reason);
    }
}

static char *take_file(const char *path, size_t *bytes) {
    FILE *stream = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    (void)fseek(stream, 0, SEEK_END);
    *bytes = (size_t)ftell(stream);
    rewind(stream);
    char *data = malloc(*bytes + 1);
    *bytes = fread(data, 1, *bytes, stream);
    (void)fclose(stream);
    return data;
}

static void put_file(const char *path, const char *data, size_t bytes) {
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL(fwrite(data, 1, bytes, stream), bytes);
    (void)fclose(stream);
}

/* References to texts are 16 bytes: length, address, number. All of them are made to name the longest text. */
static void test_one_text_named_often_does_not_fill_memory(void) {
    scratch place = scratch_open();
    write_file(&place, 100);
    size_t long_bytes = 1 << 20;
    char *long_text = malloc(long_bytes + 1);
    char *texts[NAMES];
    char short_text[] = "x";
    memset(long_text, 'a', long_bytes);
    long_text[long_bytes] = '\0';
    for (size_t i = 0; i < NAMES; i++) {
        texts[i] = i == 0 ? long_text : short_text;
    }
    hid_t file = H5Fopen(place.file, H5F_ACC_RDWR, H5P_DEFAULT);
    put_categories(file, texts, NAMES);
    hid_t dataset = H5Dopen2(file, "probe/name/categories", H5P_DEFAULT);
    haddr_t at = H5Dget_offset(dataset);
    (void)H5Dclose(dataset);
    CU_ASSERT_EQUAL(H5Fclose(file), 0);
    size_t bytes;
    char *data = take_file(place.file, &bytes);
    CU_ASSERT_FATAL(at + 16 * NAMES <= bytes);
    for (size_t i = 1; i < NAMES; i++) {
        memcpy(data + at + 16 * i, data + at, 16);
    }
    put_file(place.file, data, bytes);
    check_refused(place.file, "table probe, column name: its texts are longer than the file");
    free(data);
    free(long_text);
    scratch_close(&place);
}

/* A file that is cut, at any place: an error, or, where only unused bytes are lost, none. */
static void test_a_cut_file_is_an_error(void) {
    scratch place = scratch_open();
    write_file(&place, 2000);
    size_t bytes;
    char *data = take_file(place.file, &bytes);
    long accepted = 0;
    for (size_t end = 0; end < bytes; end += 1 + bytes / 300) {
        put_file(place.file, data, end);
        accepted += read_all(place.file, NULL) == RLMR_OK;
    }
    CU_ASSERT_EQUAL(accepted, 0);
    check_refused(place.file, "it is no HDF5 file, or a damaged one");
    free(data);
    scratch_close(&place);
}

static void test_a_file_that_cannot_be_read_is_named(void) {
    scratch place = scratch_open();
    check_refused(place.file, "cannot read");
    check_refused(place.path, "it is no HDF5 file");
    put_file(place.file, "text", 4);
    check_refused(place.file, "give a file that rl-insight-mr has made");
    scratch_close(&place);
}

static void test_no_handle_stays_open(void) {
    CU_ASSERT_EQUAL(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

CU_TestInfo rlmr_tests_hdf5_source[] = {
    {"rows come back block by block", test_rows_come_back_block_by_block},
    {"a table comes as an array of its rows", test_a_table_comes_as_an_array_of_its_rows},
    {"a table that is not there has no rows", test_a_table_that_is_not_there_has_no_rows},
    {"any table tells its columns", test_any_table_tells_its_columns},
    {"what does not fit is named", test_what_does_not_fit_is_named},
    {"one text that is named often does not fill memory", test_one_text_named_often_does_not_fill_memory},
    {"a cut file is an error", test_a_cut_file_is_an_error},
    {"a file that cannot be read is named", test_a_file_that_cannot_be_read_is_named},
    {"no handle of HDF5 stays open", test_no_handle_stays_open},
    CU_TEST_INFO_NULL,
};
