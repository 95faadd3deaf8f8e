#include "rlmr/collector.h"

#include <CUnit/Basic.h>

#include <stdlib.h>

/* A text stands first and last, so that the place of a value in the row struct matters. */
#define PIECE(X)                                                                                             \
    X(TEXT, name, "", STORED, "a text")                                                                      \
    X(I64, time, "ns", STORED, "a time")                                                                     \
    X(U8, flag, "1", STORED, "a byte")                                                                       \
    X(F64, value, "ms", STORED, "a value")                                                                   \
    X(I32, rank, "1", HIDDEN, "a rank")                                                                      \
    X(TEXT, role, "", STORED, "another text")

RLMR_TABLE_DECLARE(piece, PIECE)
enum { PIECE(RLMR_COLUMN_NUMBER) COLUMNS };
#define RLMR_ROW rlmr_piece_row
static const rlmr_column columns[] = {PIECE(RLMR_COLUMN)};
#undef RLMR_ROW
static const size_t key[] = {COLUMN_time};
static const rlmr_schema schema = {.name = "piece",
                                   .description = "rows to keep",
                                   .columns = columns,
                                   .columns_count = COLUMNS,
                                   .index = -1,
                                   .key = key,
                                   .key_count = 1};

static const rlmr_slice names[] = {{"", 0}, {"a", 1}, {"b", 1}};
static const rlmr_slice roles[] = {{"b", 1}, {"c", 1}};

static rlmr_symtab *open_texts(void) {
    rlmr_symtab *texts = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&texts, NULL), RLMR_OK);
    return texts;
}

static void begin(const rlmr_sink *sink) {
    CU_ASSERT_EQUAL(sink->begin(sink->self, &schema, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink->categories(sink->self, COLUMN_name, names, 2, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink->categories(sink->self, COLUMN_name, &names[2], 1, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink->categories(sink->self, COLUMN_role, roles, 2, NULL), RLMR_OK);
}

/* Row `i` of a table of any length. */
static rlmr_piece_row piece(size_t i) {
    return (rlmr_piece_row){.name = (uint32_t)(i % 3),
                            .time = (int64_t)i - 5,
                            .flag = (uint8_t)(i % 251),
                            .value = (double)i / 3,
                            .rank = -(int32_t)i,
                            .role = (uint32_t)(i % 2)};
}

static rlmr_status give(const rlmr_sink *sink, const rlmr_piece_row *row, size_t count, rlmr_error *err) {
    rlmr_rows *rows = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_rows_open(&schema, count, &rows, NULL), RLMR_OK);
    for (size_t i = 0; i < count; i++) {
        ((uint32_t *)rows->columns[COLUMN_name])[i] = row[i].name;
        ((int64_t *)rows->columns[COLUMN_time])[i] = row[i].time;
        ((uint8_t *)rows->columns[COLUMN_flag])[i] = row[i].flag;
        ((double *)rows->columns[COLUMN_value])[i] = row[i].value;
        ((int32_t *)rows->columns[COLUMN_rank])[i] = row[i].rank;
        ((uint32_t *)rows->columns[COLUMN_role])[i] = row[i].role;
    }
    rows->rows = count;
    rlmr_status status = sink->rows(sink->self, rows, err);
    rlmr_rows_close(rows);
    return status;
}

static rlmr_slice text_at(const rlmr_table *table, const rlmr_symtab *texts, uint64_t row, size_t column) {
    return rlmr_symtab_text(texts, *(const uint32_t *)rlmr_table_value(table, row, column));
}

static bool holds(const rlmr_table *table, const rlmr_symtab *texts, uint64_t at) {
    rlmr_piece_row row = piece(at);
    return rlmr_slice_equal(text_at(table, texts, at, COLUMN_name), names[row.name]) &&
           rlmr_slice_equal(text_at(table, texts, at, COLUMN_role), roles[row.role]) &&
           *(const int64_t *)rlmr_table_value(table, at, COLUMN_time) == row.time &&
           *(const uint8_t *)rlmr_table_value(table, at, COLUMN_flag) == row.flag &&
           *(const double *)rlmr_table_value(table, at, COLUMN_value) == row.value &&
           *(const int32_t *)rlmr_table_value(table, at, COLUMN_rank) == row.rank;
}

static void test_rows_are_kept_in_their_order(void) {
    static const size_t parts[] = {RLMR_BLOCK_ROWS, 7};
    rlmr_symtab *texts = open_texts();
    rlmr_collector *collector = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_collector_open(&schema, texts, &collector, NULL), RLMR_OK);
    rlmr_sink sink = rlmr_collector_sink(collector);
    rlmr_piece_row *rows = malloc(RLMR_BLOCK_ROWS * sizeof *rows);
    begin(&sink);
    size_t count = 0;
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < parts[p]; i++) {
            rows[i] = piece(count + i);
        }
        CU_ASSERT_EQUAL(give(&sink, rows, parts[p], NULL), RLMR_OK);
        count += parts[p];
        CU_ASSERT_EQUAL(rlmr_collector_table(collector)->rows, count);
    }
    CU_ASSERT_EQUAL(sink.end(sink.self, NULL), RLMR_OK);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += !holds(rlmr_collector_table(collector), texts, i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(rows);
    rlmr_collector_close(collector);
    rlmr_symtab_close(texts);
}

static void test_tables_can_share_their_texts(void) {
    rlmr_symtab *texts = open_texts();
    rlmr_collector *collectors[2] = {NULL};
    rlmr_piece_row row = piece(0);
    row.name = 2; /* "b" */
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_collector_open(&schema, texts, &collectors[i], NULL), RLMR_OK);
        rlmr_sink sink = rlmr_collector_sink(collectors[i]);
        begin(&sink);
        CU_ASSERT_EQUAL(give(&sink, &row, 1, NULL), RLMR_OK);
    }
    for (size_t i = 0; i < 2; i++) {
        const rlmr_table *table = rlmr_collector_table(collectors[i]);
        CU_ASSERT_TRUE(rlmr_slice_equal(text_at(table, texts, 0, COLUMN_name), RLMR_SLICE("b")));
        CU_ASSERT_TRUE(rlmr_slice_equal(text_at(table, texts, 0, COLUMN_role), RLMR_SLICE("b")));
    }
    CU_ASSERT_EQUAL(rlmr_symtab_count(texts), 4);
    rlmr_collector_close(collectors[0]);
    rlmr_collector_close(collectors[1]);
    rlmr_symtab_close(texts);
}

static void test_a_text_that_was_not_announced_is_refused(void) {
    rlmr_symtab *texts = open_texts();
    rlmr_collector *collector = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_collector_open(&schema, texts, &collector, NULL), RLMR_OK);
    rlmr_sink sink = rlmr_collector_sink(collector);
    begin(&sink);
    rlmr_piece_row row = piece(0);
    row.role = 2;
    CU_ASSERT_EQUAL(give(&sink, &row, 1, &err), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(err.code, RLMR_E_PARSE);
    row.role = 1;
    row.name = UINT32_MAX;
    CU_ASSERT_EQUAL(give(&sink, &row, 1, NULL), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(rlmr_collector_table(collector)->rows, 0);
    rlmr_collector_close(collector);
    rlmr_collector_close(NULL);
    rlmr_symtab_close(texts);
}

CU_TestInfo rlmr_tests_collector[] = {
    {"rows are kept in their order", test_rows_are_kept_in_their_order},
    {"tables can share their texts", test_tables_can_share_their_texts},
    {"a text that was not announced is refused", test_a_text_that_was_not_announced_is_refused},
    CU_TEST_INFO_NULL,
};
