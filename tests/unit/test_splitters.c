#include "rlmr/splitters.h"

#include <CUnit/Basic.h>

#include <stdlib.h>
#include <string.h>

#define PIECE(X)                                                                                             \
    X(I32, group, "1", STORED, "rows of a group fold together")                                              \
    X(I64, number, "1", STORED, "makes the key unique")
RLMR_TABLE_DECLARE(piece, PIECE)

#define RLMR_ROW rlmr_piece_row
enum { PIECE(RLMR_COLUMN_NUMBER) COLUMNS };
static const rlmr_column columns[] = {PIECE(RLMR_COLUMN)};
static const size_t key[] = {COLUMN_group, COLUMN_number};
static const rlmr_schema plain = {
    .name = "piece", .columns = columns, .columns_count = COLUMNS, .key = key, .key_count = 2};
static const rlmr_schema folding = {.name = "folding",
                                    .columns = columns,
                                    .columns_count = COLUMNS,
                                    .key = key,
                                    .key_count = 2,
                                    .fold_count = 1};

enum { PROCESSES_MAX = 8 };

typedef struct {
    rlmr_table tables[PROCESSES_MAX];
    int processes;
    uint64_t rows;
} whole_job;

/* How rows lie: all processes alike, one after the other, nearly all on the last, all of one group, in no order. */
enum { ALIKE, RANGES, SKEWED, ONE_GROUP, SHUFFLED, SHAPES };

static whole_job make_job(const rlmr_schema *schema, int processes, int shape, uint64_t rows) {
    whole_job job = {.processes = processes, .rows = rows};
    for (int p = 0; p < processes; p++) {
        rlmr_table_init(&job.tables[p], schema);
    }
    for (uint64_t i = 0; i < rows; i++) {
        int process = (int)(shape == RANGES   ? i * (uint64_t)processes / rows
                            : shape == SKEWED ? (uint64_t)(i % 100 < 99 ? processes - 1 : 0)
                                              : i % (uint64_t)processes);
        uint64_t number = shape == SHUFFLED ? i * 7919 % rows : i;
        rlmr_piece_row row = {.group = shape == ONE_GROUP ? 5 : (int32_t)(number / 3),
                              .number = (int64_t)number};
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&job.tables[process], &row, NULL), RLMR_OK);
    }
    return job;
}

static void release_job(whole_job *job) {
    for (int p = 0; p < job->processes; p++) {
        rlmr_table_release(&job->tables[p]);
    }
}

/* bounds[p] of each process. */
static void split(whole_job *job, const rlmr_schema *schema, int owners,
                  uint64_t bounds[][PROCESSES_MAX + 1]) {
    rlmr_bytes samples = {0};
    rlmr_bytes splitters = {0};
    for (int p = 0; p < job->processes; p++) {
        CU_ASSERT_EQUAL(rlmr_sample(&job->tables[p], p, job->processes, &samples, NULL), RLMR_OK);
    }
    CU_ASSERT_EQUAL(rlmr_splitters_choose(schema, &samples, owners, &splitters, NULL), RLMR_OK);
    for (int p = 0; p < job->processes; p++) {
        CU_ASSERT_EQUAL(
            rlmr_splitters_group(&job->tables[p], &splitters, owners, job->processes, 0, bounds[p], NULL),
            RLMR_OK);
    }
    rlmr_bytes_release(&samples);
    rlmr_bytes_release(&splitters);
}

static int32_t group_at(const rlmr_table *table, uint64_t row) {
    return *(const int32_t *)rlmr_table_value(table, row, COLUMN_group);
}

static int64_t number_at(const rlmr_table *table, uint64_t row) {
    return *(const int64_t *)rlmr_table_value(table, row, COLUMN_number);
}

/* Every row of owner o is before every row of o + 1; of a folding schema also in another group. Groups ascend with the numbers.
 * @return rows of the largest owner */
static uint64_t check_split(const whole_job *job, const rlmr_schema *schema, int owners,
                            uint64_t bounds[][PROCESSES_MAX + 1]) {
    uint64_t largest = 0;
    uint64_t all = 0;
    int64_t last = -1;
    int32_t last_group = -1;
    for (int o = 0; o < job->processes; o++) {
        uint64_t rows = 0;
        size_t wrong = 0;
        int64_t greatest = last;
        int32_t greatest_group = last_group;
        for (int p = 0; p < job->processes; p++) {
            for (uint64_t row = bounds[p][o]; row < bounds[p][o + 1]; row++) {
                int64_t number = number_at(&job->tables[p], row);
                int32_t group = group_at(&job->tables[p], row);
                wrong += number <= last || (schema->fold_count > 0 && group <= last_group);
                greatest = number > greatest ? number : greatest;
                greatest_group = group > greatest_group ? group : greatest_group;
                rows++;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_TRUE(o < owners || rows == 0);
        largest = rows > largest ? rows : largest;
        last = greatest;
        last_group = greatest_group;
        all += rows;
    }
    CU_ASSERT_EQUAL(all, job->rows);
    return largest;
}

static void test_owners_get_ranges_of_nearly_equal_size(void) {
    for (int processes = 1; processes <= PROCESSES_MAX; processes += processes < 4 ? 1 : 2) {
        for (int shape = 0; shape < SHAPES; shape++) {
            for (int owners = 1; owners <= processes; owners++) {
                uint64_t bounds[PROCESSES_MAX][PROCESSES_MAX + 1];
                whole_job job = make_job(&plain, processes, shape, 20000);
                split(&job, &plain, owners, bounds);
                uint64_t largest = check_split(&job, &plain, owners, bounds);
                CU_ASSERT_TRUE(largest <= job.rows / (uint64_t)owners + job.rows / 100 + 1);
                release_job(&job);
            }
        }
    }
}

static void test_rows_that_fold_stay_together(void) {
    uint64_t bounds[PROCESSES_MAX][PROCESSES_MAX + 1];
    for (int shape = 0; shape < SHAPES; shape++) {
        whole_job job = make_job(&folding, 4, shape, 3000);
        split(&job, &folding, 4, bounds);
        uint64_t largest = check_split(&job, &folding, 4, bounds);
        CU_ASSERT_EQUAL(largest == job.rows, shape == ONE_GROUP);
        release_job(&job);
    }
}

/* With process `first` in front, the same rows go to each. */
static void test_the_order_begins_with_any_process(void) {
    enum { PROCESSES = 5 };
    whole_job job = make_job(&plain, 1, SHUFFLED, 1000);
    rlmr_bytes samples = {0};
    rlmr_bytes splitters = {0};
    uint64_t whole[PROCESSES + 1];
    uint64_t bounds[PROCESSES + 1];
    size_t wrong = 0;
    CU_ASSERT_EQUAL(rlmr_sample(&job.tables[0], 0, 1, &samples, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_splitters_choose(&plain, &samples, 3, &splitters, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_splitters_group(&job.tables[0], &splitters, 3, PROCESSES, 0, whole, NULL), RLMR_OK);
    for (int first = 1; first < PROCESSES; first++) {
        CU_ASSERT_EQUAL(rlmr_splitters_group(&job.tables[0], &splitters, 3, PROCESSES, first, bounds, NULL),
                        RLMR_OK);
        CU_ASSERT_EQUAL(bounds[PROCESSES], 1000);
        for (int step = 0; step < PROCESSES; step++) {
            int p = (first + step) % PROCESSES;
            wrong += bounds[step + 1] - bounds[step] != whole[p + 1] - whole[p];
            for (uint64_t row = bounds[step]; row < bounds[step + 1]; row++) {
                int64_t number = number_at(&job.tables[0], row);
                wrong += (uint64_t)number < whole[p] || (uint64_t)number >= whole[p + 1];
            }
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rlmr_bytes_release(&samples);
    rlmr_bytes_release(&splitters);
    release_job(&job);
}

static void test_more_owners_than_rows_are_allowed(void) {
    uint64_t bounds[PROCESSES_MAX][PROCESSES_MAX + 1];
    whole_job job = make_job(&plain, 8, RANGES, 3); /* the others have no row */
    split(&job, &plain, 8, bounds);
    (void)check_split(&job, &plain, 8, bounds);
    release_job(&job);
}

/* Or the samples of equal tables would lie on top of each other, and say less. */
static void test_processes_sample_equal_tables_at_other_places(void) {
    enum { ROWS = 4096, SAMPLES = 1024 };
    whole_job job = make_job(&plain, 1, ALIKE, ROWS);
    for (int process = 0; process < 4; process++) {
        rlmr_bytes sample = {0};
        CU_ASSERT_EQUAL(rlmr_sample(&job.tables[0], process, 4, &sample, NULL), RLMR_OK);
        CU_ASSERT_EQUAL_FATAL(sample.bytes, (size_t)SAMPLES * 3 * sizeof(int64_t));
        const int64_t *at = (const int64_t *)(const void *)sample.data;
        size_t wrong = 0;
        for (size_t i = 0; i < SAMPLES; i++) {
            wrong += at[3 * i + 1] != (int64_t)(4 * i) + process || at[3 * i + 2] != 4;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        rlmr_bytes_release(&sample);
    }
    release_job(&job);
}

static void test_what_is_no_sample_is_refused(void) {
    rlmr_bytes bytes = {0};
    rlmr_bytes out = {0};
    rlmr_table table;
    uint64_t bounds[3];
    rlmr_table_init(&table, &plain);
    CU_ASSERT_EQUAL(rlmr_splitters_choose(&plain, &bytes, 2, &out, NULL), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&bytes, "12345678", 8, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_splitters_choose(&plain, &bytes, 2, &out, NULL), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(rlmr_splitters_group(&table, &bytes, 2, 2, 0, bounds, NULL), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&bytes, "1234567812345678", 16, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_splitters_group(&table, &bytes, 2, 2, 0, bounds, NULL), RLMR_E_PARSE);
    rlmr_bytes_release(&bytes);
    rlmr_bytes_release(&out);
}

static void test_few_rows_have_few_owners(void) {
    CU_ASSERT_EQUAL(rlmr_owners(0, 4), 0);
    CU_ASSERT_EQUAL(rlmr_owners(1, 4), 1);
    CU_ASSERT_EQUAL(rlmr_owners(RLMR_BLOCK_ROWS, 4), 1);
    CU_ASSERT_EQUAL(rlmr_owners(RLMR_BLOCK_ROWS + 1, 4), 2);
    CU_ASSERT_EQUAL(rlmr_owners((uint64_t)9 * RLMR_BLOCK_ROWS, 4), 4);
}

static void check_head(const int64_t *counts, int process, uint64_t rows, int owner) {
    int found = -1;
    CU_ASSERT_EQUAL(rlmr_head_rows(counts, process, &found), rows);
    CU_ASSERT_EQUAL(found, owner);
}

static void test_heads_go_to_where_the_chunk_begins(void) {
    enum { B = RLMR_BLOCK_ROWS };
    const int64_t even[] = {B, 2 * B, 0, 5};
    check_head(even, 0, 0, 0);
    check_head(even, 1, 0, 1);
    check_head(even, 2, 0, 2);
    check_head(even, 3, 0, 3);
    const int64_t odd[] = {B - 1, 2, B, 1, 0, 3};
    check_head(odd, 1, 1, 0);
    check_head(odd, 2, B - 1, 1); /* the chunk begins with the last row of process 1 */
    check_head(odd, 3, 1, 2);
    check_head(odd, 4, 0, 4);
    check_head(odd, 5, 3, 2);
    const int64_t many[] = {0, 1, 0, 2, 3, B, 0, 1}; /* one chunk on five processes */
    check_head(many, 1, 0, 1);
    check_head(many, 3, 2, 1);
    check_head(many, 4, 3, 1);
    check_head(many, 5, B - 6, 1);
    check_head(many, 7, 1, 5);
}

CU_TestInfo rlmr_tests_splitters[] = {
    {"owners get ranges of nearly equal size, however rows lie", test_owners_get_ranges_of_nearly_equal_size},
    {"rows that fold stay together", test_rows_that_fold_stay_together},
    {"the order begins with any process", test_the_order_begins_with_any_process},
    {"more owners than rows are allowed", test_more_owners_than_rows_are_allowed},
    {"processes sample equal tables at other places", test_processes_sample_equal_tables_at_other_places},
    {"what is no sample is refused", test_what_is_no_sample_is_refused},
    {"few rows have few owners", test_few_rows_have_few_owners},
    {"heads go to the process on which their chunk begins", test_heads_go_to_where_the_chunk_begins},
    CU_TEST_INFO_NULL,
};
