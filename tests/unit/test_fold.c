#include "rlmr/cluster.h"
#include "rlmr/reducer.h"

#include <CUnit/Basic.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Folded by group and number; place makes the key unique and gives the order within a fold. */
#define LINK(X)                                                                                              \
    X(F64, size, "MB", STORED, "is summed")                                                                  \
    X(F64, time, "ms", STORED, "is summed")                                                                  \
    X(F64, rate, "GB/s", STORED, "is the quotient")                                                          \
    X(F64, peak, "ms", STORED, "the greatest stays")                                                         \
    X(F64, start, "ms", STORED, "the first stays")                                                           \
    X(TEXT, name, "", STORED, "the first that is not empty stays")                                           \
    X(TEXT, group, "", STORED, "a text of the key")                                                          \
    X(I32, number, "1", STORED, "a number of the key")                                                       \
    X(I64, place, "1", HIDDEN, "makes the key unique")

RLMR_TABLE_DECLARE(fold_link, LINK)
enum { LINK(RLMR_COLUMN_NUMBER) COLUMNS };
#define RLMR_ROW rlmr_fold_link_row
static const rlmr_column columns[] = {LINK(RLMR_COLUMN)};
#undef RLMR_ROW

static const size_t key[] = {COLUMN_group, COLUMN_number, COLUMN_place};
static const rlmr_merge merge[COLUMNS] = {
    [COLUMN_size] = RLMR_MERGE_SUM, [COLUMN_time] = RLMR_MERGE_SUM, [COLUMN_peak] = RLMR_MERGE_MAX};
static const rlmr_quotient quotients[] = {{COLUMN_rate, COLUMN_size, COLUMN_time}};
static const rlmr_schema schema = {.name = "link",
                                   .description = "rows that are folded",
                                   .columns = columns,
                                   .columns_count = COLUMNS,
                                   .index = -1,
                                   .key = key,
                                   .key_count = 3,
                                   .fold_count = 2,
                                   .merge = merge,
                                   .quotients = quotients,
                                   .quotients_count = 1};

typedef rlmr_fold_link_row row;

/* ---- A sink that keeps what it is given ---- */

enum { NEVER = 1 << 30 };

typedef struct {
    const rlmr_schema *schema;
    row *rows;
    size_t count;
    size_t short_calls; /* of rows() with fewer rows than a block */
    bool rows_after_short_call;
    size_t texts;
    int begins;
    int ends;
    int calls;
    int fail_at; /* the call that fails, from 0 */
} recorder;

static rlmr_status count_call(recorder *self, rlmr_error *err) {
    return self->calls++ == self->fail_at ? rlmr_error_set(err, RLMR_E_OUTPUT, "the sink is full") : RLMR_OK;
}

static rlmr_status keep_begin(void *context, const rlmr_schema *of, rlmr_error *err) {
    recorder *self = context;
    self->schema = of;
    self->begins++;
    return count_call(self, err);
}

static rlmr_status keep_categories(void *context, size_t column, const rlmr_slice *texts, size_t count,
                                   rlmr_error *err) {
    (void)column;
    (void)texts;
    recorder *self = context;
    self->texts += count;
    return count_call(self, err);
}

static row row_of(const rlmr_rows *rows, size_t at) {
    row out;
    memset(&out, 0, sizeof out);
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t bytes = rlmr_type_bytes(columns[c].type);
        memcpy((char *)&out + columns[c].offset, (const char *)rows->columns[c] + at * bytes, bytes);
    }
    return out;
}

static rlmr_status keep_rows(void *context, const rlmr_rows *rows, rlmr_error *err) {
    recorder *self = context;
    rlmr_status status = count_call(self, err);
    if (status != RLMR_OK) {
        return status;
    }
    self->rows_after_short_call = self->rows_after_short_call || self->short_calls > 0;
    self->short_calls += rows->rows < RLMR_BLOCK_ROWS;
    self->rows = realloc(self->rows, (self->count + rows->rows) * sizeof *self->rows);
    for (size_t i = 0; i < rows->rows; i++) {
        self->rows[self->count++] = row_of(rows, i);
    }
    return RLMR_OK;
}

static rlmr_status keep_end(void *context, rlmr_error *err) {
    recorder *self = context;
    self->ends++;
    return count_call(self, err);
}

static rlmr_sink sink_of(recorder *self) {
    return (rlmr_sink){
        .begin = keep_begin, .categories = keep_categories, .rows = keep_rows, .end = keep_end, .self = self};
}

/* ---- Rows in, folded rows out ---- */

static const rlmr_slice with_empty[] = {{"", 0}, {"a", 1}, {"b", 1}};
static const rlmr_slice without_empty[] = {{"a", 1}, {"b", 1}, {"c", 1}};

/* Give the rows to a fold, `some` at a time. */
static rlmr_status fold_rows(const row *rows, size_t count, size_t some, const rlmr_slice *names,
                             recorder *out) {
    rlmr_sink inner = sink_of(out);
    rlmr_fold *fold = NULL;
    rlmr_rows *block = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_fold_open(&schema, &inner, &fold, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_rows_open(&schema, some, &block, NULL), RLMR_OK);
    rlmr_sink sink = rlmr_fold_sink(fold);
    rlmr_status status = sink.begin(sink.self, &schema, &err);
    for (size_t i = 0; i < 3 && status == RLMR_OK; i++) {
        status = sink.categories(sink.self, COLUMN_name, &names[i], 1, &err);
    }
    status = status == RLMR_OK ? sink.categories(sink.self, COLUMN_group, without_empty, 3, &err) : status;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            size_t bytes = rlmr_type_bytes(columns[c].type);
            memcpy((char *)block->columns[c] + block->rows * bytes,
                   (const char *)&rows[i] + columns[c].offset, bytes);
        }
        block->rows++;
        if (block->rows == some || i + 1 == count) {
            status = sink.rows(sink.self, block, &err);
            block->rows = 0;
        }
    }
    status = status == RLMR_OK ? sink.end(sink.self, &err) : status;
    CU_ASSERT_EQUAL(err.code, status);
    rlmr_rows_close(block);
    rlmr_fold_close(fold);
    return status;
}

static bool same_number(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static bool same_row(const row *a, const row *b) {
    return same_number(a->size, b->size) && same_number(a->time, b->time) && same_number(a->rate, b->rate) &&
           same_number(a->peak, b->peak) && same_number(a->start, b->start) && a->name == b->name &&
           a->group == b->group && a->number == b->number && a->place == b->place;
}

static void check_fold(const row *rows, size_t count, const rlmr_slice *names, const row *wanted,
                       size_t wanted_count) {
    for (size_t some = 1; some <= count; some++) {
        recorder out = {.fail_at = NEVER};
        CU_ASSERT_EQUAL(fold_rows(rows, count, some, names, &out), RLMR_OK);
        CU_ASSERT_EQUAL_FATAL(out.count, wanted_count);
        for (size_t i = 0; i < wanted_count; i++) {
            CU_ASSERT_TRUE(same_row(&out.rows[i], &wanted[i]));
        }
        free(out.rows);
    }
}

static void test_rows_of_equal_leading_keys_become_one(void) {
    static const row rows[] = {{.size = 1,
                                .time = 4,
                                .rate = 9,
                                .peak = 3,
                                .start = 5,
                                .name = 2,
                                .group = 0,
                                .number = 0,
                                .place = 1},
                               {.size = 2,
                                .time = 1,
                                .rate = 9,
                                .peak = 7,
                                .start = 6,
                                .name = 1,
                                .group = 0,
                                .number = 0,
                                .place = 2},
                               {.size = 3,
                                .time = 1,
                                .rate = 9,
                                .peak = 5,
                                .start = 7,
                                .name = 1,
                                .group = 0,
                                .number = 0,
                                .place = 3},
                               {.size = 8,
                                .time = 2,
                                .rate = 9,
                                .peak = 1,
                                .start = 8,
                                .name = 1,
                                .group = 0,
                                .number = 1,
                                .place = 0},
                               {.size = 1,
                                .time = 2,
                                .rate = 9,
                                .peak = 2,
                                .start = 9,
                                .name = 1,
                                .group = 1,
                                .number = 1,
                                .place = 0},
                               {.size = 2,
                                .time = 4,
                                .rate = 9,
                                .peak = 1,
                                .start = 1,
                                .name = 2,
                                .group = 1,
                                .number = 1,
                                .place = 5}};
    static const row wanted[] = {{.size = 6,
                                  .time = 6,
                                  .rate = 1,
                                  .peak = 7,
                                  .start = 5,
                                  .name = 2,
                                  .group = 0,
                                  .number = 0,
                                  .place = 1},
                                 {.size = 8,
                                  .time = 2,
                                  .rate = 4,
                                  .peak = 1,
                                  .start = 8,
                                  .name = 1,
                                  .group = 0,
                                  .number = 1,
                                  .place = 0},
                                 {.size = 3,
                                  .time = 6,
                                  .rate = .5,
                                  .peak = 2,
                                  .start = 9,
                                  .name = 1,
                                  .group = 1,
                                  .number = 1,
                                  .place = 0}};
    check_fold(rows, 6, with_empty, wanted, 3);
}

static void test_a_value_that_is_absent_takes_no_part(void) {
    static const row rows[] = {{.size = NAN, .time = 2, .peak = NAN, .start = NAN, .number = 0, .place = 0},
                               {.size = 3, .time = NAN, .peak = -4, .start = 1, .number = 0, .place = 1},
                               {.size = NAN, .time = 1, .peak = NAN, .start = 2, .number = 0, .place = 2},
                               {.size = NAN, .time = 2, .peak = NAN, .number = 1, .place = 0},
                               {.size = NAN, .time = 2, .peak = NAN, .number = 1, .place = 1},
                               {.size = 2, .time = NAN, .peak = 1, .number = 2, .place = 0}};
    static const row wanted[] = {
        {.size = 3, .time = 3, .rate = 1, .peak = -4, .start = NAN, .number = 0, .place = 0},
        {.size = NAN, .time = 4, .rate = NAN, .peak = NAN, .number = 1, .place = 0},
        {.size = 2, .time = NAN, .rate = NAN, .peak = 1, .number = 2, .place = 0}};
    check_fold(rows, 6, without_empty, wanted, 3);
}

static void test_a_quotient_by_nothing_is_0(void) {
    static const row rows[] = {{.size = 5, .time = 0, .rate = 7, .number = 0},
                               {.size = 0, .time = 0, .rate = 7, .number = 1},
                               {.size = 5, .time = -0.0, .rate = 7, .number = 2},
                               {.size = NAN, .time = 0, .rate = 7, .number = 3}};
    static const row wanted[] = {{.size = 5, .time = 0, .rate = 0, .number = 0},
                                 {.size = 0, .time = 0, .rate = 0, .number = 1},
                                 {.size = 5, .time = -0.0, .rate = 0, .number = 2},
                                 {.size = NAN, .time = 0, .rate = NAN, .number = 3}};
    check_fold(rows, 4, without_empty, wanted, 4);
}

/* 1 + 1e100 + 1 - 1e100 is 2; term by term it would be 0. The next sum does not inherit what this one lost. */
static void test_sums_are_compensated(void) {
    static const row rows[] = {{.size = 1, .time = 1e100, .number = 0, .place = 0},
                               {.size = 1e100, .time = 1, .number = 0, .place = 1},
                               {.size = 1, .time = 1, .number = 0, .place = 2},
                               {.size = -1e100, .time = -1e100, .number = 0, .place = 3},
                               {.size = 1, .time = 2, .number = 1, .place = 0},
                               {.size = 1, .time = 2, .number = 1, .place = 1}};
    static const row wanted[] = {{.size = 2, .time = 2, .rate = 1, .number = 0, .place = 0},
                                 {.size = 2, .time = 4, .rate = .5, .number = 1, .place = 0}};
    check_fold(rows, 6, without_empty, wanted, 2);
}

static void test_sums_without_bound_stay_what_they_are(void) {
    static const row rows[] = {{.size = INFINITY, .time = INFINITY, .number = 0, .place = 0},
                               {.size = 1, .time = -INFINITY, .number = 0, .place = 1},
                               {.size = 1, .time = INFINITY, .number = 0, .place = 2},
                               {.size = -0.0, .time = 1, .number = 1, .place = 0}};
    static const row wanted[] = {{.size = INFINITY, .time = NAN, .rate = NAN, .number = 0, .place = 0},
                                 {.size = -0.0, .time = 1, .rate = -0.0, .number = 1, .place = 0}};
    check_fold(rows, 4, without_empty, wanted, 2);
}

static void test_the_greatest_of_two_zeros_is_the_positive_one(void) {
    static const row rows[] = {{.peak = -0.0, .number = 0, .place = 0},
                               {.peak = 0.0, .number = 0, .place = 1},
                               {.peak = 0.0, .number = 1, .place = 0},
                               {.peak = -0.0, .number = 1, .place = 1}};
    static const row wanted[] = {{.peak = 0.0, .number = 0, .place = 0},
                                 {.peak = 0.0, .number = 1, .place = 0}};
    check_fold(rows, 4, without_empty, wanted, 2);
}

static void test_the_first_text_that_is_not_empty_stays(void) {
    static const row rows[] = {{.name = 0, .number = 0, .place = 0},
                               {.name = 2, .number = 0, .place = 1},
                               {.name = 1, .number = 0, .place = 2},
                               {.name = 0, .number = 1, .place = 0},
                               {.name = 0, .number = 1, .place = 1}};
    static const row wanted[] = {{.name = 2, .number = 0, .place = 0}, {.name = 0, .number = 1, .place = 0}};
    check_fold(rows, 5, with_empty, wanted, 2);
}

/* Where no row has the empty text, code 0 is a text like another. */
static void test_code_0_need_not_be_the_empty_text(void) {
    static const row rows[] = {{.name = 0, .number = 0, .place = 0}, {.name = 2, .number = 0, .place = 1}};
    static const row wanted[] = {{.name = 0, .number = 0, .place = 0}};
    check_fold(rows, 2, without_empty, wanted, 1);
}

/* Each pair is one row, and a triple lies where an output block ends. */
static void test_the_sink_gets_full_blocks_but_for_the_last(void) {
    size_t groups = RLMR_BLOCK_ROWS + 5;
    size_t count = 2 * groups + 1;
    row *rows = calloc(count, sizeof *rows);
    size_t at = 0;
    for (size_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < (g == RLMR_BLOCK_ROWS - 1 ? 3 : 2); i++) {
            rows[at++] = (row){.size = 1, .number = (int32_t)g, .place = i};
        }
    }
    for (size_t some = RLMR_BLOCK_ROWS - 1; some <= RLMR_BLOCK_ROWS; some++) {
        recorder out = {.fail_at = NEVER};
        CU_ASSERT_EQUAL(fold_rows(rows, count, some, without_empty, &out), RLMR_OK);
        CU_ASSERT_EQUAL_FATAL(out.count, groups);
        CU_ASSERT_EQUAL(out.short_calls, 1);
        CU_ASSERT_FALSE(out.rows_after_short_call);
        bool right = true;
        for (size_t g = 0; g < groups; g++) {
            right = right && out.rows[g].number == (int32_t)g &&
                    out.rows[g].size == (g == RLMR_BLOCK_ROWS - 1 ? 3 : 2);
        }
        CU_ASSERT_TRUE(right);
        free(out.rows);
    }
    free(rows);
}

static void test_a_table_without_rows_stays_empty(void) {
    recorder out = {.fail_at = NEVER};
    CU_ASSERT_EQUAL(fold_rows(NULL, 0, 1, with_empty, &out), RLMR_OK);
    CU_ASSERT_TRUE(out.schema == &schema);
    CU_ASSERT_TRUE(out.begins == 1 && out.ends == 1 && out.count == 0 && out.short_calls == 0);
    CU_ASSERT_EQUAL(out.texts, 6);
}

static void test_a_sink_that_fails_fails_the_fold_at_any_call(void) {
    size_t count = RLMR_BLOCK_ROWS + 1;
    row *rows = calloc(count, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        rows[i].number = (int32_t)i;
    }
    int fail_at = 0;
    for (rlmr_status status = RLMR_E_OUTPUT; status != RLMR_OK; fail_at++) {
        recorder out = {.fail_at = fail_at};
        status = fold_rows(rows, count, 1000, without_empty, &out);
        CU_ASSERT_TRUE(status == RLMR_E_OUTPUT || (status == RLMR_OK && out.count == count));
        CU_ASSERT_EQUAL(out.calls, status == RLMR_OK ? fail_at : fail_at + 1);
        CU_ASSERT_FATAL(fail_at < 100);
        free(out.rows);
    }
    CU_ASSERT_EQUAL(fail_at - 1, 8); /* begin, 4 of categories, 2 of rows, end */
    free(rows);
}

/* ---- Through the merge ---- */

enum { RUNS_MAX = 5, ROWS = 300 };

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Numbers of very different size, so that the order of a sum shows. */
static double random_number(uint64_t *state) {
    uint32_t kind = next_random(state) % 8;
    double number = (double)next_random(state) / 3 - 1e8;
    return kind == 0 ? NAN : ldexp(number, (int)(kind * 11) - 40);
}

static void make_rows(row *rows, uint64_t seed) {
    uint64_t state = seed;
    for (int i = 0; i < ROWS; i++) {
        rows[i] = (row){.size = random_number(&state),
                        .time = random_number(&state),
                        .peak = random_number(&state),
                        .start = random_number(&state),
                        .name = next_random(&state) % 3,
                        .group = next_random(&state) % 3,
                        .number = (int32_t)(next_random(&state) % 5) - 2,
                        .place = i};
    }
}

static void fold_runs(const row *rows, int runs_count, uint64_t seed, size_t block_rows, recorder *out) {
    uint64_t state = seed;
    rlmr_table tables[RUNS_MAX];
    rlmr_row_run runs[RUNS_MAX];
    rlmr_source sources[RUNS_MAX];
    for (int r = 0; r < runs_count; r++) {
        rlmr_table_init(&tables[r], &schema);
    }
    for (int i = 0; i < ROWS; i++) {
        uint32_t r = next_random(&state) % (uint32_t)runs_count;
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&tables[r], &rows[i], NULL), RLMR_OK);
    }
    for (int r = 0; r < runs_count; r++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&tables[r], NULL), RLMR_OK);
        runs[r] = (rlmr_row_run){.table = &tables[r], .block_rows = block_rows};
        sources[r] = rlmr_row_run_source(&runs[r]);
    }
    rlmr_sink inner = sink_of(out);
    rlmr_fold *fold = NULL;
    uint64_t merged = 0;
    CU_ASSERT_EQUAL_FATAL(rlmr_fold_open(&schema, &inner, &fold, NULL), RLMR_OK);
    rlmr_sink sink = rlmr_fold_sink(fold);
    CU_ASSERT_EQUAL(sink.categories(sink.self, COLUMN_name, with_empty, 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_merge_rows(&schema, sources, runs_count, block_rows, &sink, &merged, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(sink.end(sink.self, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(merged, ROWS);
    rlmr_fold_close(fold);
    for (int r = 0; r < runs_count; r++) {
        rlmr_table_release(&tables[r]);
    }
}

/* What came out of one run; any other number of runs and size of blocks must give the same. */
static void test_the_result_does_not_depend_on_runs_and_blocks(void) {
    static const size_t block_rows[] = {1, 2, 7, 64, 1000};
    row rows[ROWS];
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_rows(rows, seed);
        recorder whole = {.fail_at = NEVER};
        fold_runs(rows, 1, 1, 1000, &whole);
        CU_ASSERT_EQUAL_FATAL(whole.count, 15);
        for (int runs = 1; runs <= RUNS_MAX; runs++) {
            for (size_t b = 0; b < sizeof block_rows / sizeof *block_rows; b++) {
                recorder out = {.fail_at = NEVER};
                fold_runs(rows, runs, seed + b, block_rows[b], &out);
                CU_ASSERT_EQUAL_FATAL(out.count, whole.count);
                size_t wrong = 0;
                for (size_t i = 0; i < whole.count; i++) {
                    wrong += !same_row(&out.rows[i], &whole.rows[i]);
                }
                CU_ASSERT_EQUAL(wrong, 0);
                free(out.rows);
            }
        }
        free(whole.rows);
    }
}

/* ---- The tables that are folded ---- */

static const char *column_name(const rlmr_schema *of, size_t column) {
    return of->columns[column].name;
}

static void test_the_schemas_of_the_cluster_say_how(void) {
    const rlmr_schema *links = &rlmr_cluster_communication_matrix_schema;
    CU_ASSERT_STRING_EQUAL(column_name(links, links->key[links->fold_count - 1]), "transport_type");
    CU_ASSERT_EQUAL(links->merge[rlmr_schema_column(links, "transit_size")], RLMR_MERGE_SUM);
    CU_ASSERT_EQUAL(links->merge[rlmr_schema_column(links, "transit_time")], RLMR_MERGE_SUM);
    CU_ASSERT_EQUAL(links->merge[rlmr_schema_column(links, "op_name")], RLMR_MERGE_FIRST);
    const rlmr_schema *steps = &rlmr_cluster_step_trace_time_schema;
    CU_ASSERT_EQUAL(steps->fold_count, steps->key_count);
    CU_ASSERT_EQUAL(steps->merge[rlmr_schema_column(steps, "computing")], RLMR_MERGE_MAX);
    CU_ASSERT_EQUAL(steps->merge[rlmr_schema_column(steps, "dp_index")], RLMR_MERGE_FIRST);
    const rlmr_schema *all[] = {links, steps};
    for (size_t s = 0; s < 2; s++) {
        for (size_t c = 0; c < all[s]->columns_count; c++) {
            CU_ASSERT_TRUE(all[s]->merge[c] == RLMR_MERGE_FIRST || all[s]->columns[c].type == RLMR_TYPE_F64);
        }
    }
}

CU_TestInfo rlmr_tests_fold[] = {
    {"rows of equal leading keys become one", test_rows_of_equal_leading_keys_become_one},
    {"a value that is absent takes no part", test_a_value_that_is_absent_takes_no_part},
    {"a quotient by nothing is 0", test_a_quotient_by_nothing_is_0},
    {"sums are compensated", test_sums_are_compensated},
    {"sums without bound stay what they are", test_sums_without_bound_stay_what_they_are},
    {"the greatest of two zeros is the positive one", test_the_greatest_of_two_zeros_is_the_positive_one},
    {"the first text that is not empty stays", test_the_first_text_that_is_not_empty_stays},
    {"code 0 need not be the empty text", test_code_0_need_not_be_the_empty_text},
    {"the sink gets full blocks but for the last", test_the_sink_gets_full_blocks_but_for_the_last},
    {"a table without rows stays empty", test_a_table_without_rows_stays_empty},
    {"a sink that fails fails the fold at any call", test_a_sink_that_fails_fails_the_fold_at_any_call},
    {"the result does not depend on runs and blocks", test_the_result_does_not_depend_on_runs_and_blocks},
    {"the schemas of the cluster say how", test_the_schemas_of_the_cluster_say_how},
    CU_TEST_INFO_NULL,
};
