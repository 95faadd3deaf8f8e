#include "rlmr/reducer.h"

#include "heap.h"

#include <CUnit/Basic.h>

#include <stdlib.h>
#include <string.h>

/* Two text columns, one of them in the key, which is not in the order of the columns. */
#define ENTRY(X)                                                                                             \
    X(F64, value, "ms", STORED, "a value, no key")                                                           \
    X(TEXT, name, "", STORED, "a text, no key")                                                              \
    X(TEXT, role, "", STORED, "a text of the key")                                                           \
    X(I32, rank, "1", STORED, "a rank")                                                                      \
    X(I64, time, "ns", STORED, "a time")                                                                     \
    X(I64, place, "1", HIDDEN, "makes the key unique")

/* The key is the last column: what lies behind it is not the table's. */
#define STEP(X)                                                                                              \
    X(I32, run, "1", STORED, "where it came from")                                                           \
    X(I64, time, "ns", STORED, "the whole key")

RLMR_TABLE_DECLARE(entry, ENTRY)
RLMR_TABLE_DECLARE(step, STEP)

enum { ENTRY(RLMR_COLUMN_NUMBER) COLUMNS };
#define STEP_COLUMN_NUMBER(type, name, unit, storage, description) STEP_##name,
enum { STEP(STEP_COLUMN_NUMBER) STEP_COLUMNS };

#define RLMR_ROW rlmr_entry_row
static const rlmr_column columns[] = {ENTRY(RLMR_COLUMN)};
#undef RLMR_ROW
#define RLMR_ROW rlmr_step_row
static const rlmr_column step_columns[] = {STEP(RLMR_COLUMN)};
#undef RLMR_ROW

static const size_t key[] = {COLUMN_time, COLUMN_role, COLUMN_rank, COLUMN_place};
static const size_t step_key[] = {STEP_time};

static const rlmr_schema schema = {.name = "entry",
                                   .description = "two text columns",
                                   .columns = columns,
                                   .columns_count = COLUMNS,
                                   .index = -1,
                                   .key = key,
                                   .key_count = sizeof key / sizeof key[0]};
static const rlmr_schema step_schema = {.name = "step",
                                        .description = "a key of one column",
                                        .columns = step_columns,
                                        .columns_count = STEP_COLUMNS,
                                        .index = -1,
                                        .key = step_key,
                                        .key_count = 1};

enum { PROCESSES_MAX = 5, NEVER = 1 << 30 };

/* ---- A sink that keeps what it is given ---- */

typedef struct {
    double value;
    uint32_t name;
    uint32_t role;
    int32_t rank;
    int64_t time;
    int64_t place;
} kept_row;

typedef struct {
    char **texts[COLUMNS];
    size_t texts_count[COLUMNS];
    kept_row *rows;
    size_t rows_count;
    size_t short_calls; /* of rows() with fewer rows than a block */
    bool rows_after_short_call;
    bool disorder; /* of the texts */
    int calls;
    int fail_at; /* the call that fails, from 0 */
} recorder;

static rlmr_status count_call(recorder *self, rlmr_error *err) {
    return self->calls++ == self->fail_at ? rlmr_error_set(err, RLMR_E_OUTPUT, "the sink is full") : RLMR_OK;
}

static rlmr_status keep_categories(void *context, size_t column, const rlmr_slice *texts, size_t count,
                                   rlmr_error *err) {
    recorder *self = context;
    rlmr_status status = count_call(self, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        size_t at = self->texts_count[column]++;
        self->texts[column] = realloc(self->texts[column], (at + 1) * sizeof(char *));
        self->texts[column][at] = strndup(texts[i].text, texts[i].bytes);
        self->disorder =
            self->disorder || (at > 0 && strcmp(self->texts[column][at - 1], self->texts[column][at]) >= 0);
    }
    return status;
}

static rlmr_status keep_rows(void *context, const rlmr_rows *rows, rlmr_error *err) {
    recorder *self = context;
    rlmr_status status = count_call(self, err);
    if (status != RLMR_OK) {
        return status;
    }
    self->rows_after_short_call = self->rows_after_short_call || self->short_calls > 0;
    self->short_calls += rows->rows < RLMR_BLOCK_ROWS;
    self->rows = realloc(self->rows, (self->rows_count + rows->rows) * sizeof *self->rows);
    for (size_t i = 0; i < rows->rows; i++) {
        self->rows[self->rows_count++] =
            (kept_row){.value = ((const double *)rows->columns[COLUMN_value])[i],
                       .name = ((const uint32_t *)rows->columns[COLUMN_name])[i],
                       .role = ((const uint32_t *)rows->columns[COLUMN_role])[i],
                       .rank = ((const int32_t *)rows->columns[COLUMN_rank])[i],
                       .time = ((const int64_t *)rows->columns[COLUMN_time])[i],
                       .place = ((const int64_t *)rows->columns[COLUMN_place])[i]};
    }
    return RLMR_OK;
}

static rlmr_sink sink_of(recorder *self) {
    return (rlmr_sink){.categories = keep_categories, .rows = keep_rows, .self = self};
}

static void release_recorder(recorder *self) {
    for (size_t column = 0; column < COLUMNS; column++) {
        for (size_t i = 0; i < self->texts_count[column]; i++) {
            free(self->texts[column][i]);
        }
        free(self->texts[column]);
    }
    free(self->rows);
}

/* ---- What goes in ---- */

static const char *const words[] = {"",  "a", "aa",       "ab", "actor", "actor_rollout",
                                    "b", "Z", "\xC3\xA9", "zz"};
enum { WORDS = sizeof words / sizeof words[0] };

/* A row as everything-at-once sorting sees it: with its texts. */
typedef struct {
    rlmr_entry_row row;
    const char *name;
    const char *role;
} whole_row;

typedef struct {
    rlmr_symtab *texts[PROCESSES_MAX];
    rlmr_table tables[PROCESSES_MAX];
    int processes;
    whole_row *rows; /* of all processes */
    size_t count;
} whole_job;

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static uint32_t intern(rlmr_symtab *texts, const char *text) {
    uint32_t id = UINT32_MAX;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_intern(texts, rlmr_slice_of(text), &id, NULL), RLMR_OK);
    return id;
}

static void add_row(whole_job *job, int process, whole_row whole) {
    whole.row.name = intern(job->texts[process], whole.name);
    whole.row.role = intern(job->texts[process], whole.role);
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&job->tables[process], &whole.row, NULL), RLMR_OK);
    job->rows[job->count++] = whole;
}

static void open_job(whole_job *job, int processes, size_t rows_max) {
    job->processes = processes;
    job->count = 0;
    job->rows = malloc((rows_max + 1) * sizeof *job->rows);
    for (int p = 0; p < processes; p++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&job->texts[p], NULL), RLMR_OK);
        rlmr_table_init(&job->tables[p], &schema);
        /* Ids are not those of another process. */
        for (int word = p; word > 0; word--) {
            (void)intern(job->texts[p], words[WORDS - word]);
        }
    }
}

static void close_job(whole_job *job) {
    for (int p = 0; p < job->processes; p++) {
        rlmr_symtab_close(job->texts[p]);
        rlmr_table_release(&job->tables[p]);
    }
    free(job->rows);
}

/* Few distinct values, so that ties abound. Row counts differ: process p of `skip` gets none. */
static void fill_job(whole_job *job, int processes, size_t rows, uint64_t seed, int skip) {
    uint64_t state = seed;
    open_job(job, processes, rows);
    for (size_t i = 0; i < rows; i++) {
        int process = (int)(next_random(&state) % (uint32_t)processes);
        if (process == skip) {
            continue;
        }
        whole_row whole = {.row = {.value = (double)next_random(&state),
                                   .rank = (int32_t)(next_random(&state) % 3) - 1,
                                   .time = (int64_t)(next_random(&state) % 4) - 2,
                                   .place = (int64_t)(rows - i)},
                           .name = words[next_random(&state) % WORDS],
                           .role = words[next_random(&state) % 4 + 3]};
        add_row(job, process, whole);
    }
}

/* ---- Merging ---- */

/* Passes a source on until a call, from 0, that fails. */
typedef struct {
    rlmr_source inner;
    int calls;
    int fail_at;
} faulty;

static rlmr_status next_or_fail(void *context, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    faulty *self = context;
    if (self->calls++ == self->fail_at) {
        return rlmr_error_set(err, RLMR_E_COMM, "the line is cut");
    }
    return self->inner.next(self->inner.self, reply, block, err);
}

typedef struct {
    size_t block_bytes;
    int fail_process; /* whose source fails */
    int fail_at;      /* at which call, counted over both kinds of run */
} plan;

static void wrap(rlmr_source *source, faulty *around, const plan *how, int process) {
    around->inner = *source;
    around->fail_at = process == how->fail_process ? how->fail_at : NEVER;
    *source = (rlmr_source){.next = next_or_fail, .self = around};
}

static rlmr_status merge_column(whole_job *job, size_t column, const plan *how, faulty *faults,
                                rlmr_sink *sink, rlmr_error *err) {
    rlmr_dictionary *dictionaries[PROCESSES_MAX] = {NULL};
    rlmr_source sources[PROCESSES_MAX];
    for (int p = 0; p < job->processes; p++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_dictionary_open(&job->tables[p], column, job->texts[p], how->block_bytes,
                                                   &dictionaries[p], NULL),
                              RLMR_OK);
        sources[p] = rlmr_dictionary_source(dictionaries[p]);
        wrap(&sources[p], &faults[p], how, p);
    }
    rlmr_status status = rlmr_merge_dictionaries(sources, job->processes, column, sink, err);
    for (int p = 0; p < job->processes; p++) {
        if (status == RLMR_OK) {
            rlmr_dictionary_translate(dictionaries[p], &job->tables[p]);
        }
        rlmr_dictionary_close(dictionaries[p]);
    }
    return status;
}

static rlmr_status merge_rows(whole_job *job, const plan *how, faulty *faults, rlmr_sink *sink,
                              uint64_t *rows, rlmr_error *err) {
    size_t block_rows = rlmr_block_rows(&schema, how->block_bytes);
    rlmr_row_run runs[PROCESSES_MAX];
    rlmr_source sources[PROCESSES_MAX];
    for (int p = 0; p < job->processes; p++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&job->tables[p], NULL), RLMR_OK);
        runs[p] = (rlmr_row_run){.table = &job->tables[p], .block_rows = block_rows};
        sources[p] = rlmr_row_run_source(&runs[p]);
        wrap(&sources[p], &faults[p], how, p);
    }
    return rlmr_merge_rows(&schema, sources, job->processes, block_rows, sink, rows, err);
}

static rlmr_status reduce(whole_job *job, const plan *how, recorder *out, uint64_t *rows, rlmr_error *err) {
    faulty faults[PROCESSES_MAX] = {{.calls = 0}};
    rlmr_sink sink = sink_of(out);
    *rows = 0;
    rlmr_status status = merge_column(job, COLUMN_name, how, faults, &sink, err);
    status = status == RLMR_OK ? merge_column(job, COLUMN_role, how, faults, &sink, err) : status;
    return status == RLMR_OK ? merge_rows(job, how, faults, &sink, rows, err) : status;
}

/* ---- What must come out ---- */

#define RETURN_IF_DIFFERENT(x, y)                                                                            \
    if ((x) != (y)) {                                                                                        \
        return (x) < (y) ? -1 : 1;                                                                           \
    }

static int compare_whole(const void *left, const void *right) {
    const whole_row *a = left;
    const whole_row *b = right;
    RETURN_IF_DIFFERENT(a->row.time, b->row.time)
    int order = strcmp(a->role, b->role);
    if (order != 0) {
        return order;
    }
    RETURN_IF_DIFFERENT(a->row.rank, b->row.rank)
    RETURN_IF_DIFFERENT(a->row.place, b->row.place)
    return 0;
}

static bool uses(const whole_job *job, const char *word, bool role) {
    bool used = false;
    for (size_t i = 0; i < job->count && !used; i++) {
        used = strcmp(role ? job->rows[i].role : job->rows[i].name, word) == 0;
    }
    return used;
}

static void check_categories(const whole_job *job, const recorder *out, size_t column, bool role) {
    size_t wanted = 0;
    for (size_t word = 0; word < WORDS; word++) {
        wanted += uses(job, words[word], role);
    }
    CU_ASSERT_EQUAL(out->texts_count[column], wanted);
    CU_ASSERT_FALSE(out->disorder);
}

static bool same_row(const recorder *out, const kept_row *kept, const whole_row *wanted) {
    return kept->name < out->texts_count[COLUMN_name] && kept->role < out->texts_count[COLUMN_role] &&
           strcmp(out->texts[COLUMN_name][kept->name], wanted->name) == 0 &&
           strcmp(out->texts[COLUMN_role][kept->role], wanted->role) == 0 && kept->rank == wanted->row.rank &&
           kept->time == wanted->row.time && kept->place == wanted->row.place &&
           kept->value == wanted->row.value;
}

static void check_result(whole_job *job, const recorder *out, uint64_t rows) {
    check_categories(job, out, COLUMN_name, false);
    check_categories(job, out, COLUMN_role, true);
    CU_ASSERT_EQUAL(rows, job->count);
    CU_ASSERT_EQUAL_FATAL(out->rows_count, job->count);
    CU_ASSERT_FALSE(out->rows_after_short_call);
    qsort(job->rows, job->count, sizeof *job->rows, compare_whole);
    size_t wrong = 0;
    for (size_t i = 0; i < job->count; i++) {
        wrong += !same_row(out, &out->rows[i], &job->rows[i]);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Reduce, compare with sorting everything at once, close. */
static void reduce_and_check(whole_job *job, size_t block_bytes) {
    recorder out = {.fail_at = NEVER};
    plan how = {.block_bytes = block_bytes, .fail_process = -1};
    uint64_t rows;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(reduce(job, &how, &out, &rows, &err), RLMR_OK);
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
    check_result(job, &out, rows);
    release_recorder(&out);
    close_job(job);
}

/* ---- Tests of the whole ---- */

static void test_the_result_is_that_of_sorting_everything_at_once(void) {
    static const size_t block_bytes[] = {1, 10, 37, 100, 1000, 1 << 20};
    for (int processes = 1; processes <= PROCESSES_MAX; processes++) {
        for (size_t b = 0; b < sizeof block_bytes / sizeof *block_bytes; b++) {
            for (uint64_t seed = 1; seed <= 5; seed++) {
                whole_job job;
                fill_job(&job, processes, 40 * (size_t)seed, seed, -1);
                reduce_and_check(&job, block_bytes[b]);
            }
        }
    }
}

static void test_empty_runs_take_no_part(void) {
    for (int skip = 0; skip < 3; skip++) {
        whole_job job;
        fill_job(&job, 3, 50, 7, skip);
        reduce_and_check(&job, 40);
    }
}

static void test_nothing_comes_of_empty_tables(void) {
    for (int processes = 1; processes <= PROCESSES_MAX; processes++) {
        whole_job job;
        open_job(&job, processes, 0);
        reduce_and_check(&job, 100);
    }
}

static void test_one_row_is_enough(void) {
    whole_job job;
    open_job(&job, 4, 1);
    add_row(&job, 2, (whole_row){.row = {.time = 5}, .name = "a", .role = ""});
    reduce_and_check(&job, 1);
}

static void test_the_sink_gets_full_blocks_but_for_the_last(void) {
    whole_job job;
    fill_job(&job, 3, 2 * RLMR_BLOCK_ROWS + 10, 11, -1);
    recorder out = {.fail_at = NEVER};
    plan how = {.block_bytes = 1 << 18, .fail_process = -1};
    uint64_t rows;
    CU_ASSERT_EQUAL(reduce(&job, &how, &out, &rows, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(out.calls - (int)(out.texts_count[COLUMN_name] + out.texts_count[COLUMN_role]), 3);
    CU_ASSERT_EQUAL(out.short_calls, 1);
    check_result(&job, &out, rows);
    release_recorder(&out);
    close_job(&job);
}

static void test_a_source_that_fails_ends_the_merge_at_any_block(void) {
    bool failed = true;
    for (int fail_at = 0; failed; fail_at++) {
        CU_ASSERT_FATAL(fail_at < 1000);
        whole_job job;
        fill_job(&job, 3, 30, 3, -1);
        recorder out = {.fail_at = NEVER};
        plan how = {.block_bytes = 40, .fail_process = 1, .fail_at = fail_at};
        rlmr_error err;
        rlmr_error_clear(&err);
        uint64_t rows;
        rlmr_status status = reduce(&job, &how, &out, &rows, &err);
        failed = status != RLMR_OK;
        CU_ASSERT_EQUAL(err.code, status);
        if (failed) {
            CU_ASSERT_EQUAL(status, RLMR_E_COMM);
            CU_ASSERT_STRING_EQUAL(err.message, "the line is cut");
        } else {
            check_result(&job, &out, rows);
        }
        release_recorder(&out);
        close_job(&job);
    }
}

static void test_a_sink_that_fails_ends_the_merge_at_any_call(void) {
    bool failed = true;
    for (int fail_at = 0; failed; fail_at++) {
        CU_ASSERT_FATAL(fail_at < 1000);
        whole_job job;
        fill_job(&job, 3, 30, 3, -1);
        recorder out = {.fail_at = fail_at};
        plan how = {.block_bytes = 40, .fail_process = -1};
        rlmr_error err;
        rlmr_error_clear(&err);
        uint64_t rows;
        rlmr_status status = reduce(&job, &how, &out, &rows, &err);
        failed = status != RLMR_OK;
        CU_ASSERT_EQUAL(err.code, status);
        if (failed) {
            CU_ASSERT_EQUAL(status, RLMR_E_OUTPUT);
            CU_ASSERT_EQUAL(out.calls, fail_at + 1); /* and none after it */
        }
        release_recorder(&out);
        close_job(&job);
    }
}

/* ---- Dictionaries ---- */

/* Texts of a block, each followed by a bar. */
static void read_block(const rlmr_bytes *block, char *out, size_t room) {
    rlmr_reader reader = {.data = block->data, .bytes = block->bytes};
    size_t used = 0;
    while (reader.at < reader.bytes) {
        rlmr_slice text = {0};
        CU_ASSERT_EQUAL_FATAL(rlmr_reader_slice(&reader, &text, NULL), RLMR_OK);
        CU_ASSERT_FATAL(used + text.bytes + 2 < room);
        memcpy(out + used, text.text, text.bytes);
        used += text.bytes;
        out[used++] = '|';
    }
    out[used] = '\0';
}

static void open_words(whole_job *job, const char *const *names, size_t count) {
    open_job(job, 1, count);
    for (size_t i = 0; i < count; i++) {
        add_row(job, 0, (whole_row){.row = {.place = (int64_t)i}, .name = names[i], .role = ""});
    }
}

static void test_a_dictionary_offers_each_text_once_and_in_order(void) {
    static const char *const names[] = {"cc", "a", "", "cc", "bb", "a", "b", "cc"};
    whole_job job;
    open_words(&job, names, 8);
    rlmr_dictionary *dictionary = NULL;
    CU_ASSERT_EQUAL_FATAL(
        rlmr_dictionary_open(&job.tables[0], COLUMN_name, job.texts[0], 1 << 20, &dictionary, NULL), RLMR_OK);
    rlmr_source source = rlmr_dictionary_source(dictionary);
    rlmr_bytes block = {0};
    rlmr_bytes reply = {0};
    char texts[100];
    CU_ASSERT_EQUAL(source.next(source.self, &reply, &block, NULL), RLMR_OK);
    read_block(&block, texts, sizeof texts);
    CU_ASSERT_STRING_EQUAL(texts, "|a|b|bb|cc|");
    for (uint32_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&reply, 10 * i, NULL), RLMR_OK);
    }
    rlmr_bytes_clear(&block);
    CU_ASSERT_EQUAL(source.next(source.self, &reply, &block, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(block.bytes, 0);
    rlmr_dictionary_translate(dictionary, &job.tables[0]);
    static const uint32_t codes[] = {40, 10, 0, 40, 30, 10, 20, 40};
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(*(uint32_t *)rlmr_table_value(&job.tables[0], i, COLUMN_name), codes[i]);
    }
    rlmr_bytes_release(&block);
    rlmr_bytes_release(&reply);
    rlmr_dictionary_close(dictionary);
    rlmr_dictionary_close(NULL);
    close_job(&job);
}

static void test_a_block_ends_with_the_text_that_reaches_its_size(void) {
    static const char *const names[] = {"aaaa", "bbbb", "cccc", "dddd", "eeee"};
    static const struct {
        size_t block_bytes;
        const char *first;
    } cases[] = {{1, "aaaa|"},
                 {12, "aaaa|"},
                 {13, "aaaa|bbbb|"},
                 {24, "aaaa|bbbb|"},
                 {60, "aaaa|bbbb|cccc|dddd|eeee|"}};
    whole_job job;
    open_words(&job, names, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlmr_dictionary *dictionary = NULL;
        CU_ASSERT_EQUAL_FATAL(rlmr_dictionary_open(&job.tables[0], COLUMN_name, job.texts[0],
                                                   cases[i].block_bytes, &dictionary, NULL),
                              RLMR_OK);
        rlmr_source source = rlmr_dictionary_source(dictionary);
        rlmr_bytes block = {0};
        const rlmr_bytes no_reply = {0};
        char texts[100];
        CU_ASSERT_EQUAL(source.next(source.self, &no_reply, &block, NULL), RLMR_OK);
        read_block(&block, texts, sizeof texts);
        CU_ASSERT_STRING_EQUAL(texts, cases[i].first);
        /* An answer without the codes is no answer. */
        CU_ASSERT_EQUAL(source.next(source.self, &no_reply, &block, NULL), RLMR_E_PARSE);
        rlmr_bytes_release(&block);
        rlmr_dictionary_close(dictionary);
    }
    close_job(&job);
}

/* Gives prepared blocks. */
typedef struct {
    const rlmr_bytes *blocks;
    size_t count;
    size_t at;
} canned;

static rlmr_status next_canned(void *context, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    canned *self = context;
    (void)reply;
    rlmr_bytes_clear(block);
    if (self->at == self->count) {
        return RLMR_OK;
    }
    const rlmr_bytes *from = &self->blocks[self->at++];
    return rlmr_bytes_append(block, from->data, from->bytes, err);
}

static rlmr_bytes text_block(const char *const *texts, size_t count) {
    rlmr_bytes block = {0};
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL_FATAL(rlmr_bytes_append_slice(&block, rlmr_slice_of(texts[i]), NULL), RLMR_OK);
    }
    return block;
}

static rlmr_status merge_canned_texts(const rlmr_bytes *blocks, size_t count, recorder *out) {
    canned run = {.blocks = blocks, .count = count};
    rlmr_source source = {.next = next_canned, .self = &run};
    rlmr_sink sink = sink_of(out);
    return rlmr_merge_dictionaries(&source, 1, COLUMN_name, &sink, NULL);
}

static void test_texts_out_of_order_are_refused(void) {
    static const char *const order[] = {"b", "a"};
    recorder out = {.fail_at = NEVER};
    rlmr_bytes one = text_block(order, 2);
    CU_ASSERT_EQUAL(merge_canned_texts(&one, 1, &out), RLMR_E_PARSE);
    rlmr_bytes_release(&one);
    release_recorder(&out);

    recorder again = {.fail_at = NEVER};
    rlmr_bytes two[] = {text_block(&order[0], 1), text_block(&order[1], 1)};
    CU_ASSERT_EQUAL(merge_canned_texts(two, 2, &again), RLMR_E_PARSE);
    rlmr_bytes_release(&two[0]);
    rlmr_bytes_release(&two[1]);
    release_recorder(&again);
}

static void test_a_block_of_texts_cut_at_any_byte_is_refused(void) {
    static const char *const texts[] = {"a", "bcd"};
    rlmr_bytes whole = text_block(texts, 2);
    for (size_t bytes = 0; bytes <= whole.bytes; bytes++) {
        rlmr_bytes part = {0};
        recorder out = {.fail_at = NEVER};
        CU_ASSERT_EQUAL(rlmr_bytes_append(&part, whole.data, bytes, NULL), RLMR_OK);
        bool complete = bytes == 0 || bytes == 8 + 1 || bytes == whole.bytes;
        CU_ASSERT_EQUAL(merge_canned_texts(&part, 1, &out), complete ? RLMR_OK : RLMR_E_PARSE);
        release_recorder(&out);
        rlmr_bytes_release(&part);
    }
    rlmr_bytes_release(&whole);
}

/* ---- Rows ---- */

typedef struct {
    int32_t *runs;
    size_t count;
    bool fails;
} step_recorder;

static rlmr_status keep_steps(void *context, const rlmr_rows *rows, rlmr_error *err) {
    step_recorder *self = context;
    if (self->fails) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "the sink is full");
    }
    self->runs = realloc(self->runs, (self->count + rows->rows) * sizeof *self->runs);
    memcpy(self->runs + self->count, rows->columns[STEP_run], rows->rows * sizeof *self->runs);
    self->count += rows->rows;
    return RLMR_OK;
}

/* Tables of two processes, with the same times in both. */
static void open_steps(rlmr_table *tables, size_t rows) {
    for (int32_t run = 0; run < 2; run++) {
        rlmr_table_init(&tables[run], &step_schema);
        for (size_t i = 0; i < rows; i++) {
            rlmr_step_row row = {.run = run, .time = (int64_t)i};
            CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&tables[run], &row, NULL), RLMR_OK);
        }
        CU_ASSERT_EQUAL_FATAL(rlmr_table_sort(&tables[run], NULL), RLMR_OK);
    }
}

static rlmr_status merge_steps(rlmr_table *tables, size_t block_rows, step_recorder *out, uint64_t *rows) {
    rlmr_row_run runs[2];
    rlmr_source sources[2];
    for (int run = 0; run < 2; run++) {
        runs[run] = (rlmr_row_run){.table = &tables[run], .block_rows = block_rows};
        sources[run] = rlmr_row_run_source(&runs[run]);
    }
    rlmr_sink sink = {.rows = keep_steps, .self = out};
    rlmr_status status = rlmr_merge_rows(&step_schema, sources, 2, block_rows, &sink, rows, NULL);
    rlmr_table_release(&tables[0]);
    rlmr_table_release(&tables[1]);
    return status;
}

static void test_equal_keys_come_in_the_order_of_the_processes(void) {
    for (size_t block_rows = 1; block_rows <= 7; block_rows++) {
        rlmr_table tables[2];
        step_recorder out = {.fails = false};
        uint64_t rows;
        open_steps(tables, 6);
        CU_ASSERT_EQUAL(merge_steps(tables, block_rows, &out, &rows), RLMR_OK);
        CU_ASSERT_EQUAL(rows, 12);
        CU_ASSERT_EQUAL_FATAL(out.count, 12);
        for (size_t i = 0; i < 12; i++) {
            CU_ASSERT_EQUAL(out.runs[i], (int32_t)(i % 2));
        }
        free(out.runs);
    }
}

static void test_a_sink_that_fails_where_a_block_ends_is_no_read_past_it(void) {
    rlmr_table tables[2];
    step_recorder out = {.fails = true};
    uint64_t rows;
    open_steps(tables, RLMR_BLOCK_ROWS / 2 + 1);
    CU_ASSERT_EQUAL(merge_steps(tables, 1, &out, &rows), RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(rows, RLMR_BLOCK_ROWS);
}

static rlmr_status merge_canned_rows(const rlmr_bytes *block, size_t block_rows, recorder *out) {
    canned run = {.blocks = block, .count = 1};
    rlmr_source source = {.next = next_canned, .self = &run};
    rlmr_sink sink = sink_of(out);
    uint64_t rows;
    return rlmr_merge_rows(&schema, &source, 1, block_rows, &sink, &rows, NULL);
}

static void test_a_block_of_rows_that_is_none_is_refused(void) {
    whole_job job;
    rlmr_bytes whole = {0};
    fill_job(&job, 1, 2, 5, -1);
    CU_ASSERT_EQUAL(rlmr_table_sort(&job.tables[0], NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_table_encode(&job.tables[0], 0, 2, &whole, NULL), RLMR_OK);
    for (size_t bytes = 0; bytes <= whole.bytes; bytes++) {
        rlmr_bytes part = {0};
        recorder out = {.fail_at = NEVER};
        CU_ASSERT_EQUAL(rlmr_bytes_append(&part, whole.data, bytes, NULL), RLMR_OK);
        bool complete = bytes == 0 || bytes == whole.bytes;
        CU_ASSERT_EQUAL(merge_canned_rows(&part, 2, &out), complete ? RLMR_OK : RLMR_E_PARSE);
        CU_ASSERT_EQUAL(merge_canned_rows(&part, 1, &out), bytes == 0 ? RLMR_OK : RLMR_E_PARSE);
        release_recorder(&out);
        rlmr_bytes_release(&part);
    }
    rlmr_bytes_release(&whole);
    close_job(&job);
}

static void test_a_block_without_rows_does_not_pass_for_the_end(void) {
    static const uint32_t no_rows = 0;
    rlmr_bytes block = {0};
    recorder out = {.fail_at = NEVER};
    CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&block, no_rows, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(merge_canned_rows(&block, 1, &out), RLMR_E_PARSE);
    release_recorder(&out);
    rlmr_bytes_release(&block);
}

static void test_rows_in_a_block_keep_to_their_limits(void) {
    size_t row_bytes = rlmr_schema_row_bytes(&schema);
    CU_ASSERT_EQUAL(row_bytes, 36);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, 0), 1);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, 1), 1);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, 2 * row_bytes - 1), 1);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, 2 * row_bytes), 2);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, RLMR_BLOCK_ROWS * row_bytes - 1), RLMR_BLOCK_ROWS - 1);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, RLMR_BLOCK_ROWS * row_bytes), RLMR_BLOCK_ROWS);
    CU_ASSERT_EQUAL(rlmr_block_rows(&schema, SIZE_MAX), RLMR_BLOCK_ROWS);
}

/* ---- The heap ---- */

enum { RUNS = 50 };

static bool run_before(const void *context, int a, int b) {
    const int *values = context;
    return values[a] < values[b] || (values[a] == values[b] && a < b);
}

static void test_a_heap_gives_its_items_in_order(void) {
    uint64_t state = 9;
    for (int count = 0; count <= RUNS; count++) {
        int values[RUNS];
        int items[RUNS];
        rlmr_heap heap = {.items = items, .before = run_before, .context = values};
        for (int run = 0; run < count; run++) {
            values[run] = (int)(next_random(&state) % 10);
        }
        for (int run = count - 1; run >= 0; run--) {
            rlmr_heap_push(&heap, run);
        }
        CU_ASSERT_EQUAL(heap.count, count);
        int last = -1;
        for (int i = 0; i < count; i++) {
            int least = heap.items[0];
            CU_ASSERT_TRUE(last < 0 || run_before(values, last, least));
            last = least;
            rlmr_heap_pop(&heap);
        }
        CU_ASSERT_EQUAL(heap.count, 0);
    }
}

static void test_an_item_that_has_grown_sinks(void) {
    uint64_t state = 10;
    int values[RUNS];
    int items[RUNS];
    rlmr_heap heap = {.items = items, .before = run_before, .context = values};
    for (int run = 0; run < RUNS; run++) {
        values[run] = (int)(next_random(&state) % 20);
        rlmr_heap_push(&heap, run);
    }
    for (int step = 0; step < 2000; step++) {
        int least = 0;
        for (int run = 1; run < RUNS; run++) {
            least = run_before(values, run, least) ? run : least;
        }
        CU_ASSERT_EQUAL_FATAL(heap.items[0], least);
        values[least] += (int)(next_random(&state) % 5);
        rlmr_heap_sink(&heap);
    }
}

CU_TestInfo rlmr_tests_reducer[] = {
    {"the result is that of sorting everything at once",
     test_the_result_is_that_of_sorting_everything_at_once},
    {"empty runs take no part", test_empty_runs_take_no_part},
    {"nothing comes of empty tables", test_nothing_comes_of_empty_tables},
    {"one row is enough", test_one_row_is_enough},
    {"the sink gets full blocks but for the last", test_the_sink_gets_full_blocks_but_for_the_last},
    {"a source that fails ends the merge at any block", test_a_source_that_fails_ends_the_merge_at_any_block},
    {"a sink that fails ends the merge at any call", test_a_sink_that_fails_ends_the_merge_at_any_call},
    {"a dictionary offers each text once and in order", test_a_dictionary_offers_each_text_once_and_in_order},
    {"a block ends with the text that reaches its size",
     test_a_block_ends_with_the_text_that_reaches_its_size},
    {"texts out of order are refused", test_texts_out_of_order_are_refused},
    {"a block of texts cut at any byte is refused", test_a_block_of_texts_cut_at_any_byte_is_refused},
    {"equal keys come in the order of the processes", test_equal_keys_come_in_the_order_of_the_processes},
    {"a sink that fails where a block ends is no read past it",
     test_a_sink_that_fails_where_a_block_ends_is_no_read_past_it},
    {"a block of rows that is none is refused", test_a_block_of_rows_that_is_none_is_refused},
    {"a block without rows does not pass for the end", test_a_block_without_rows_does_not_pass_for_the_end},
    {"rows in a block keep to their limits", test_rows_in_a_block_keep_to_their_limits},
    {"a heap gives its items in order", test_a_heap_gives_its_items_in_order},
    {"an item that has grown sinks", test_an_item_that_has_grown_sinks},
    CU_TEST_INFO_NULL,
};
