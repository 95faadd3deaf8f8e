#include "rlmr/table.h"

#include <CUnit/Basic.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table with a column of every type; the key is not in the order of the columns. */
#define SAMPLE(X)                                                                                            \
    X(I64, place, "1", HIDDEN, "makes the key unique")                                                       \
    X(F64, value, "ms", STORED, "a value, no key")                                                           \
    X(U8, flag, "1", STORED, "0 or 1")                                                                       \
    X(I32, rank, "1", STORED, "a rank")                                                                      \
    X(TEXT, name, "", STORED, "a name")                                                                      \
    X(TEXT, note, "", STORED, "another text")                                                                \
    X(I64, time, "ns", STORED, "a time")

RLMR_TABLE_DECLARE(sample, SAMPLE)

#define RLMR_ROW rlmr_sample_row
enum { SAMPLE(RLMR_COLUMN_NUMBER) COLUMNS };
static const rlmr_column columns[] = {SAMPLE(RLMR_COLUMN)};
static const size_t key[] = {COLUMN_time, COLUMN_name, COLUMN_rank, COLUMN_flag, COLUMN_place};

static const rlmr_schema schema = {.name = "sample",
                                   .description = "a column of every type",
                                   .columns = columns,
                                   .columns_count = COLUMNS,
                                   .index = -1,
                                   .key = key,
                                   .key_count = sizeof key / sizeof key[0]};

enum { ROW_BYTES = 8 + 8 + 1 + 4 + 4 + 4 + 8 };

/* A fixed sequence of numbers (Knuth's MMIX generator). */
static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Few distinct values in every key column but the last, so that ties abound; both ends of a range occur. */
static rlmr_sample_row random_row(uint64_t *state, int64_t place) {
    static const int64_t times[] = {INT64_MIN, -1, 0, 5, INT64_MAX};
    static const uint32_t names[] = {0, 1, 2, UINT32_MAX};
    static const int32_t ranks[] = {INT32_MIN, -1, 0, 7, INT32_MAX};
    static const uint8_t flags[] = {0, 1, 255};
    return (rlmr_sample_row){.place = place,
                             .value = (double)next_random(state) / 3.0,
                             .flag = flags[next_random(state) % 3],
                             .rank = ranks[next_random(state) % 5],
                             .name = names[next_random(state) % 4],
                             .note = next_random(state),
                             .time = times[next_random(state) % 5]};
}

#define RETURN_IF_DIFFERENT(x, y)                                                                            \
    if ((x) != (y)) {                                                                                        \
        return (x) < (y) ? -1 : 1;                                                                           \
    }

static int compare_rows(const void *left, const void *right) {
    const rlmr_sample_row *a = left;
    const rlmr_sample_row *b = right;
    RETURN_IF_DIFFERENT(a->time, b->time)
    RETURN_IF_DIFFERENT(a->name, b->name)
    RETURN_IF_DIFFERENT(a->rank, b->rank)
    RETURN_IF_DIFFERENT(a->flag, b->flag)
    RETURN_IF_DIFFERENT(a->place, b->place)
    return 0;
}

/* A table of `count` random rows, and the same rows in an array. Places descend to `least`, so that sorting has work. */
static void fill_from(rlmr_table *table, rlmr_sample_row *rows, size_t count, size_t least) {
    uint64_t state = 42 + least;
    rlmr_table_init(table, &schema);
    for (size_t i = 0; i < count; i++) {
        rows[i] = random_row(&state, (int64_t)(least + count - 1 - i));
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(table, &rows[i], NULL), RLMR_OK);
    }
}

static void fill(rlmr_table *table, rlmr_sample_row *rows, size_t count) {
    fill_from(table, rows, count, 1);
}

static bool same_value(const rlmr_rows *rows, size_t at, const rlmr_sample_row *wanted, size_t column) {
    size_t bytes = rlmr_type_bytes(columns[column].type);
    return memcmp((const char *)rows->columns[column] + at * bytes,
                  (const char *)wanted + columns[column].offset, bytes) == 0;
}

static bool same_row(const rlmr_rows *rows, size_t at, const rlmr_sample_row *wanted) {
    bool same = at < rows->rows;
    for (size_t c = 0; c < COLUMNS && same; c++) {
        same = same_value(rows, at, wanted, c);
    }
    return same;
}

static void test_a_schema_knows_its_columns(void) {
    CU_ASSERT_EQUAL(rlmr_schema_row_bytes(&schema), ROW_BYTES);
    CU_ASSERT_EQUAL(rlmr_schema_column(&schema, "place"), COLUMN_place);
    CU_ASSERT_EQUAL(rlmr_schema_column(&schema, "time"), COLUMN_time);
    CU_ASSERT_EQUAL(rlmr_schema_column(&schema, "tim"), COLUMNS);
    CU_ASSERT_EQUAL(rlmr_type_bytes(RLMR_TYPE_I64), 8);
    CU_ASSERT_EQUAL(rlmr_type_bytes(RLMR_TYPE_F64), 8);
    CU_ASSERT_EQUAL(rlmr_type_bytes(RLMR_TYPE_I32), 4);
    CU_ASSERT_EQUAL(rlmr_type_bytes(RLMR_TYPE_TEXT), 4);
    CU_ASSERT_EQUAL(rlmr_type_bytes(RLMR_TYPE_U8), 1);
}

static void test_more_rows_than_a_block_holds_are_kept(void) {
    enum { ROWS = 2 * RLMR_BLOCK_ROWS + 3 };
    rlmr_sample_row *rows = malloc(ROWS * sizeof *rows);
    rlmr_table table;
    fill(&table, rows, ROWS);
    CU_ASSERT_EQUAL(table.rows, ROWS);
    CU_ASSERT_EQUAL(table.blocks_count, 3);
    size_t wrong = 0;
    for (size_t i = 0; i < ROWS; i++) {
        wrong += *(int64_t *)rlmr_table_value(&table, i, COLUMN_place) != rows[i].place;
        wrong += *(uint32_t *)rlmr_table_value(&table, i, COLUMN_note) != rows[i].note;
        wrong += *(uint8_t *)rlmr_table_value(&table, i, COLUMN_flag) != rows[i].flag;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rlmr_table_release(&table);
    free(rows);
}

/* Encode the sorted table in blocks of `block_rows` and compare with the sorted array. */
static size_t count_differences(const rlmr_table *table, const rlmr_sample_row *sorted, size_t block_rows) {
    size_t wrong = 0;
    rlmr_bytes block = {0};
    rlmr_rows *decoded = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_rows_open(&schema, block_rows, &decoded, NULL), RLMR_OK);
    for (size_t first = 0; first < table->rows; first += block_rows) {
        size_t left = (size_t)table->rows - first;
        size_t count = left < block_rows ? left : block_rows;
        rlmr_bytes_clear(&block);
        CU_ASSERT_EQUAL_FATAL(rlmr_table_encode(table, first, count, &block, NULL), RLMR_OK);
        wrong += block.bytes != sizeof(uint32_t) + count * ROW_BYTES;
        CU_ASSERT_EQUAL_FATAL(rlmr_rows_decode(decoded, block.data, block.bytes, NULL), RLMR_OK);
        wrong += decoded->rows != count;
        for (size_t i = 0; i < count; i++) {
            wrong += !same_row(decoded, i, &sorted[first + i]);
        }
    }
    rlmr_rows_close(decoded);
    rlmr_bytes_release(&block);
    return wrong;
}

static void test_rows_are_sorted_by_all_key_columns(void) {
    enum { ROWS = 5000 };
    rlmr_sample_row *rows = malloc(ROWS * sizeof *rows);
    rlmr_table table;
    fill(&table, rows, ROWS);
    CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    qsort(rows, ROWS, sizeof *rows, compare_rows);
    const size_t block_rows[] = {1, 7, 1000, ROWS, RLMR_BLOCK_ROWS};
    for (size_t i = 0; i < sizeof block_rows / sizeof *block_rows; i++) {
        CU_ASSERT_EQUAL(count_differences(&table, rows, block_rows[i]), 0);
    }
    rlmr_table_release(&table);
    free(rows);
}

static void test_sorting_crosses_blocks(void) {
    enum { ROWS = RLMR_BLOCK_ROWS + 5000 };
    rlmr_sample_row *rows = malloc(ROWS * sizeof *rows);
    rlmr_table table;
    fill(&table, rows, ROWS);
    CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    qsort(rows, ROWS, sizeof *rows, compare_rows);
    CU_ASSERT_EQUAL(count_differences(&table, rows, 10000), 0);
    rlmr_table_release(&table);
    free(rows);
}

/* Rows of two tables, of which the second gives its own to the first, whose rows from `kept` on have gone before. */
static void take_in(rlmr_table *table, const rlmr_table *other, size_t kept, size_t block_rows) {
    rlmr_row_places places = {.free = table->order + kept, .free_count = (size_t)table->rows - kept};
    rlmr_bytes block = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&places.taken, table->order, kept * sizeof(uint32_t), NULL), RLMR_OK);
    for (size_t at = 0; at < other->rows; at += block_rows) {
        size_t left = (size_t)other->rows - at;
        rlmr_bytes_clear(&block);
        CU_ASSERT_EQUAL(rlmr_table_encode(other, at, left < block_rows ? left : block_rows, &block, NULL),
                        RLMR_OK);
        CU_ASSERT_EQUAL_FATAL(rlmr_table_take(table, &places, &block, NULL), RLMR_OK);
    }
    rlmr_bytes_release(&block);
    size_t rows = places.taken.bytes / sizeof(uint32_t);
    rlmr_table_set_order(table, (uint32_t *)(void *)places.taken.data, rows);
}

/* More come than went, as many, and fewer. */
static void test_rows_that_come_take_the_places_of_those_that_went(void) {
    enum { ROWS = RLMR_BLOCK_ROWS + 900 };
    static const size_t kept[] = {0, 1, 400, ROWS - 300, ROWS};
    static const size_t coming[] = {0, 300, ROWS};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        for (size_t c = 0; c < sizeof coming / sizeof *coming; c++) {
            rlmr_sample_row *rows = malloc(2 * ROWS * sizeof *rows);
            rlmr_sample_row *others = malloc((coming[c] + 1) * sizeof *others);
            rlmr_table table;
            rlmr_table other;
            fill(&table, rows, ROWS);
            fill_from(&other, others, coming[c], 2 * ROWS);
            CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&table, NULL), RLMR_OK);
            qsort(rows, ROWS, sizeof *rows, compare_rows);
            take_in(&table, &other, kept[k], 777);
            memcpy(rows + kept[k], others, coming[c] * sizeof *rows);
            size_t wanted = kept[k] + coming[c];
            CU_ASSERT_EQUAL(table.rows, wanted);
            size_t most = wanted > ROWS ? wanted : ROWS;
            CU_ASSERT_EQUAL(table.blocks_count, (most + RLMR_BLOCK_ROWS - 1) / RLMR_BLOCK_ROWS);
            CU_ASSERT_EQUAL(count_differences(&table, rows, 10000), 0);
            CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&table, NULL), RLMR_OK);
            CU_ASSERT_EQUAL(table.rows, wanted);
            qsort(rows, wanted, sizeof *rows, compare_rows);
            CU_ASSERT_EQUAL(count_differences(&table, rows, 10000), 0);
            rlmr_table_release(&table);
            rlmr_table_release(&other);
            free(rows);
            free(others);
        }
    }
}

static void test_rows_are_put_behind_all_others(void) {
    rlmr_sample_row rows[3] = {{.time = 9}, {.time = 4}, {.time = 6}};
    for (int sorted = 0; sorted <= 1; sorted++) {
        rlmr_table table;
        rlmr_table last;
        rlmr_row_places places = {.free_count = 0};
        rlmr_bytes block = {0};
        rlmr_table_init(&table, &schema);
        rlmr_table_init(&last, &schema);
        CU_ASSERT_EQUAL(rlmr_table_append(&table, &rows[sorted == 1 ? 0 : 1], NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_append(&table, &rows[sorted == 1 ? 1 : 0], NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_append(&last, &rows[2], NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(table.order != NULL, sorted == 1);
        CU_ASSERT_EQUAL(rlmr_table_encode(&last, 0, 0, &block, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_take(&table, &places, &block, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(places.taken.bytes, 0);
        rlmr_bytes_clear(&block);
        CU_ASSERT_EQUAL(rlmr_table_encode(&last, 0, 1, &block, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_take(&table, &places, &block, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_table_extend_order(&table, &places.taken, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(table.rows, 3);
        const rlmr_sample_row wanted[] = {rows[1], rows[0], rows[2]};
        CU_ASSERT_EQUAL(count_differences(&table, wanted, 2), 0);
        CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
        const rlmr_sample_row at_last[] = {rows[1], rows[2], rows[0]};
        CU_ASSERT_EQUAL(count_differences(&table, at_last, 2), 0);
        rlmr_bytes_release(&places.taken);
        rlmr_bytes_release(&block);
        rlmr_table_release(&table);
        rlmr_table_release(&last);
    }
}

static void test_an_empty_table_is_sorted_and_encoded(void) {
    rlmr_table table;
    rlmr_table_init(&table, &schema);
    CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    rlmr_bytes block = {0};
    rlmr_rows *rows = NULL;
    CU_ASSERT_EQUAL(rlmr_table_encode(&table, 0, 0, &block, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_rows_open(&schema, 1, &rows, NULL), RLMR_OK);
    rows->rows = 1;
    CU_ASSERT_EQUAL(rlmr_rows_decode(rows, block.data, block.bytes, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rows->rows, 0);
    rlmr_rows_close(rows);
    rlmr_bytes_release(&block);
    rlmr_table_release(&table);
    rlmr_table_release(&table);
}

static void test_encoding_appends_behind_what_is_there(void) {
    rlmr_sample_row row = {
        .value = NAN, .time = 3, .flag = 200, .rank = -5, .name = 1, .note = 2, .place = 4};
    rlmr_table table;
    rlmr_table_init(&table, &schema);
    CU_ASSERT_EQUAL(rlmr_table_append(&table, &row, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    rlmr_bytes block = {0};
    rlmr_rows *rows = NULL;
    CU_ASSERT_EQUAL(rlmr_bytes_append(&block, "head", 4, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_table_encode(&table, 0, 1, &block, NULL), RLMR_OK);
    CU_ASSERT_TRUE(memcmp(block.data, "head", 4) == 0);
    CU_ASSERT_EQUAL(rlmr_rows_open(&schema, 1, &rows, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_rows_decode(rows, block.data + 4, block.bytes - 4, NULL), RLMR_OK);
    CU_ASSERT_TRUE(same_row(rows, 0, &row));
    rlmr_rows_close(rows);
    rlmr_bytes_release(&block);
    rlmr_table_release(&table);
}

/* Decode a copy of exactly `bytes` bytes, so that a read past its end is seen. */
static rlmr_status decode_copy(rlmr_rows *rows, const uint8_t *data, size_t bytes) {
    uint8_t *copy = malloc(bytes);
    rlmr_error err;
    rlmr_error_clear(&err);
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    rlmr_status status = rlmr_rows_decode(rows, copy, bytes, &err);
    CU_ASSERT_EQUAL(err.code, status);
    free(copy);
    return status;
}

static void test_a_block_of_any_other_length_is_refused(void) {
    rlmr_sample_row rows[3];
    rlmr_table table;
    fill(&table, rows, 3);
    CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    rlmr_bytes block = {0};
    rlmr_rows *decoded = NULL;
    CU_ASSERT_EQUAL(rlmr_table_encode(&table, 0, 3, &block, NULL), RLMR_OK);
    size_t whole = block.bytes;
    CU_ASSERT_EQUAL(rlmr_bytes_append(&block, "more", 4, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_rows_open(&schema, 3, &decoded, NULL), RLMR_OK);
    for (size_t bytes = 0; bytes <= whole + 4; bytes++) {
        CU_ASSERT_EQUAL(decode_copy(decoded, block.data, bytes), bytes == whole ? RLMR_OK : RLMR_E_PARSE);
    }
    rlmr_rows_close(decoded);
    rlmr_bytes_release(&block);
    rlmr_table_release(&table);
}

static void test_a_block_of_more_rows_than_there_is_room_is_refused(void) {
    rlmr_sample_row rows[3];
    rlmr_table table;
    fill(&table, rows, 3);
    CU_ASSERT_EQUAL(rlmr_table_sort(&table, NULL), RLMR_OK);
    rlmr_bytes block = {0};
    rlmr_rows *small = NULL;
    CU_ASSERT_EQUAL(rlmr_table_encode(&table, 0, 3, &block, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_rows_open(&schema, 2, &small, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(decode_copy(small, block.data, block.bytes), RLMR_E_PARSE);
    const uint32_t absurd = UINT32_MAX;
    memcpy(block.data, &absurd, sizeof absurd);
    CU_ASSERT_EQUAL(decode_copy(small, block.data, block.bytes), RLMR_E_PARSE);
    rlmr_rows_close(small);
    rlmr_bytes_release(&block);
    rlmr_table_release(&table);
}

/* Equal keys stay as they came; whether rows come in order, reversed, in runs, or in none. */
static void test_sorting_is_stable_whatever_order_was_there(void) {
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 100, 1000, RLMR_BLOCK_ROWS + 100};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int shape = 0; shape < 4; shape++) {
            rlmr_table table;
            rlmr_table_init(&table, &schema);
            for (size_t i = 0; i < counts[c]; i++) {
                const size_t times[] = {i / 3, counts[c] - i / 3, i * 7 % 90, i * 7919 % 1009};
                rlmr_sample_row row = {
                    .time = (int64_t)times[shape], .note = (uint32_t)i, .value = (double)i};
                CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&table, &row, NULL), RLMR_OK);
            }
            CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&table, NULL), RLMR_OK);
            size_t wrong = 0;
            for (size_t i = 1; i < counts[c]; i++) {
                int64_t left = *(int64_t *)rlmr_table_value(&table, i - 1, COLUMN_time);
                int64_t right = *(int64_t *)rlmr_table_value(&table, i, COLUMN_time);
                uint32_t note = *(uint32_t *)rlmr_table_value(&table, i, COLUMN_note);
                wrong += left > right ||
                         (left == right && *(uint32_t *)rlmr_table_value(&table, i - 1, COLUMN_note) > note);
                wrong += *(double *)rlmr_table_value(&table, i, COLUMN_value) != note;
            }
            CU_ASSERT_EQUAL(wrong, 0);
            rlmr_table_release(&table);
        }
    }
}

static void test_rows_are_appended_and_copied_in_pieces(void) {
    enum { ROWS = RLMR_BLOCK_ROWS + 700, SOME = 333 };
    rlmr_rows *some = NULL;
    rlmr_table table;
    rlmr_table_init(&table, &schema);
    CU_ASSERT_EQUAL_FATAL(rlmr_rows_open(&schema, SOME, &some, NULL), RLMR_OK);
    for (size_t at = 0; at < ROWS; at += some->rows) {
        some->rows = ROWS - at < SOME ? ROWS - at : SOME;
        for (size_t i = 0; i < some->rows; i++) {
            ((int64_t *)some->columns[COLUMN_place])[i] = (int64_t)(at + i);
            ((uint8_t *)some->columns[COLUMN_flag])[i] = (uint8_t)(at + i);
        }
        CU_ASSERT_EQUAL(rlmr_table_append_rows(&table, some, NULL), RLMR_OK);
    }
    rlmr_rows_close(some);
    CU_ASSERT_EQUAL_FATAL(table.rows, ROWS);
    int64_t *places = malloc(ROWS * sizeof *places);
    uint8_t flag = 0;
    rlmr_table_copy(&table, 1, ROWS - 1, COLUMN_place, places);
    rlmr_table_copy(&table, ROWS - 1, 1, COLUMN_flag, &flag);
    size_t wrong = flag != (uint8_t)(ROWS - 1);
    for (size_t i = 0; i < ROWS - 1; i++) {
        wrong += places[i] != (int64_t)i + 1;
    }
    rlmr_table_drop(&table, 0);
    wrong += *(int64_t *)rlmr_table_value(&table, RLMR_BLOCK_ROWS, COLUMN_place) != RLMR_BLOCK_ROWS;
    CU_ASSERT_EQUAL(wrong, 0);
    free(places);
    rlmr_table_release(&table);
}

static void append_places(rlmr_table *table, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        rlmr_sample_row row = {.place = first + i};
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(table, &row, NULL), RLMR_OK);
    }
}

static void test_rows_are_moved_behind_others(void) {
    enum { FIRST = RLMR_BLOCK_ROWS + 10, SECOND = 2 * RLMR_BLOCK_ROWS };
    rlmr_table all;
    rlmr_table some;
    rlmr_table_init(&all, &schema);
    rlmr_table_init(&some, &schema);
    append_places(&some, 0, FIRST);
    const rlmr_rows *block = some.blocks[0];
    CU_ASSERT_EQUAL(rlmr_table_move(&all, &some, NULL), RLMR_OK);
    CU_ASSERT_PTR_EQUAL(all.blocks[0], block); /* not copied */
    append_places(&some, FIRST, SECOND);
    CU_ASSERT_EQUAL(rlmr_table_move(&all, &some, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_table_move(&all, &some, NULL), RLMR_OK); /* it has none left */
    CU_ASSERT_EQUAL_FATAL(all.rows, FIRST + SECOND);
    CU_ASSERT_EQUAL(some.rows, 0);
    size_t wrong = 0;
    for (uint64_t row = 0; row < all.rows; row++) {
        wrong += *(int64_t *)rlmr_table_value(&all, row, COLUMN_place) != (int64_t)row;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rlmr_table_release(&all);
    rlmr_table_release(&some);
}

static void test_translation_replaces_the_ids_of_one_column(void) {
    static const uint32_t map[] = {5, 0, 9};
    enum { ROWS = RLMR_BLOCK_ROWS + 10 };
    rlmr_table table;
    rlmr_table_init(&table, &schema);
    for (uint32_t i = 0; i < ROWS; i++) {
        rlmr_sample_row row = {.name = i % 3, .note = i % 3, .place = i};
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&table, &row, NULL), RLMR_OK);
    }
    rlmr_table_translate(&table, COLUMN_note, map);
    size_t wrong = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        wrong += *(uint32_t *)rlmr_table_value(&table, i, COLUMN_note) != map[i % 3];
        wrong += *(uint32_t *)rlmr_table_value(&table, i, COLUMN_name) != i % 3;
        wrong += *(int64_t *)rlmr_table_value(&table, i, COLUMN_place) != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rlmr_table_release(&table);
}

static void test_rows_are_copied_and_compared(void) {
    enum { ROWS = 200 };
    rlmr_sample_row rows[ROWS];
    rlmr_table table;
    fill(&table, rows, ROWS);
    const rlmr_rows *block = table.blocks[0];
    rlmr_rows *copy = NULL;
    CU_ASSERT_EQUAL(rlmr_rows_open(&schema, ROWS, &copy, NULL), RLMR_OK);
    for (size_t i = 0; i < ROWS; i++) {
        rlmr_rows_copy(copy, block, ROWS - 1 - i, 1);
    }
    CU_ASSERT_EQUAL(copy->rows, ROWS);
    size_t wrong = 0;
    for (size_t i = 0; i < ROWS; i++) {
        wrong += !same_row(copy, i, &rows[ROWS - 1 - i]);
        for (size_t j = 0; j < ROWS; j++) {
            int order = rlmr_rows_compare(block, i, copy, j);
            int wanted = compare_rows(&rows[i], &rows[ROWS - 1 - j]);
            wrong += (order > 0) - (order < 0) != wanted;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rlmr_rows_close(copy);
    rlmr_rows_close(NULL);
    rlmr_table_release(&table);
}

CU_TestInfo rlmr_tests_table[] = {
    {"a schema knows its columns", test_a_schema_knows_its_columns},
    {"more rows than a block holds are kept", test_more_rows_than_a_block_holds_are_kept},
    {"rows are sorted by all key columns, and come back from any block",
     test_rows_are_sorted_by_all_key_columns},
    {"sorting crosses blocks", test_sorting_crosses_blocks},
    {"rows that come take the places of those that went",
     test_rows_that_come_take_the_places_of_those_that_went},
    {"rows are put behind all others", test_rows_are_put_behind_all_others},
    {"an empty table is sorted and encoded", test_an_empty_table_is_sorted_and_encoded},
    {"encoding appends behind what is there", test_encoding_appends_behind_what_is_there},
    {"a block of any other length is refused", test_a_block_of_any_other_length_is_refused},
    {"a block of more rows than there is room for is refused",
     test_a_block_of_more_rows_than_there_is_room_is_refused},
    {"sorting is stable, whatever order was there", test_sorting_is_stable_whatever_order_was_there},
    {"rows are appended and copied in pieces", test_rows_are_appended_and_copied_in_pieces},
    {"rows are moved behind others", test_rows_are_moved_behind_others},
    {"translation replaces the ids of one column", test_translation_replaces_the_ids_of_one_column},
    {"rows are copied, and compared by the key", test_rows_are_copied_and_compared},
    CU_TEST_INFO_NULL,
};
