#include "rlmr/share.h"

#include "capture_fixture.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One capture, mapped by one process and by several ---- */

enum { PIECES_MAX = 8 };

static const char titles[] =
    "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB)\n";

static const char *const names[] = {"aten::add", "aten::mul", "aten::\"q\"", "back"};

/* Records and events of a few names on two threads; stacks with escapes, forward and backward operators. */
static void put_capture(capture_fixture *made, int records, int events, unsigned seed) {
    char *csv = NULL;
    char *json = NULL;
    size_t csv_bytes;
    size_t json_bytes;
    FILE *out = open_memstream(&csv, &csv_bytes);
    (void)fputs(titles, out);
    for (int i = 0; i < records; i++) {
        const char *name = names[(seed + (unsigned)i * 7) % 4];
        (void)fprintf(out, "\"%s%s\",%d,%d.5,%s,,1.%d\n",
                      strchr(name, '"') == NULL ? name : "aten::\"\"q\"\"", i % 5 == 0 ? "" : "", i,
                      100 + 3 * i, i % 3 == 0 ? "900000" : "", i);
    }
    (void)fclose(out);
    out = open_memstream(&json, &json_bytes);
    (void)fputs("[", out);
    for (int i = 0; i < events; i++) {
        unsigned kind = (seed + (unsigned)i * 13) % 7;
        (void)fprintf(out,
                      "%s\n{\"ph\": \"X\", \"name\": \"%s\", \"cat\": \"%s\", \"ts\": %d.25, \"dur\": %d, "
                      "\"pid\": 1, \"tid\": %d, "
                      "\"args\": {",
                      i == 0 ? "" : ",", kind == 2 ? "aten::\\\"q\\\"" : names[kind % 4 == 2 ? 0 : kind % 4],
                      kind == 6 ? "device" : "cpu_op", 90 + 2 * i, 5 + i % 11, 1 + i % 2);
        if (kind < 4) {
            (void)fprintf(out, "\"Call stack\": \"file%d.py(%d): f;\\r\\nmain {\\\"\"", i % 5, i % 3);
        }
        if (kind % 2 == 1) {
            (void)fprintf(out, "%s\"Sequence number\": %d, \"Fwd thread id\": %d", kind < 4 ? ", " : "",
                          i % 9, kind == 5);
        }
        (void)fputs("}}", out);
    }
    (void)fputs("\n]\n", out);
    (void)fclose(out);
    capture_fixture_put(made, RLMR_FILE_operator_memory, "operator_memory.csv", (rlmr_slice){csv, csv_bytes});
    capture_fixture_put(made, RLMR_FILE_trace_view, "trace_view.json", (rlmr_slice){json, json_bytes});
    free(csv);
    free(json);
}

/* What `pieces` processes do. @return whether the share holds */
static bool share(capture_fixture *made, int pieces, const int64_t *cuts) {
    rlmr_share *shares[PIECES_MAX];
    int64_t of = cuts[pieces];
    for (int i = 0; i < pieces; i++) {
        rlmr_piece piece = {.index = i, .count = pieces, .from = cuts[i], .to = cuts[i + 1], .of = of};
        CU_ASSERT_EQUAL_FATAL(rlmr_share_open(&made->capture, &piece, &made->options, &made->partial,
                                              &made->meter, &shares[i], NULL),
                              RLMR_OK);
    }
    for (rlmr_share_step step = RLMR_SHARE_RECORDS; step < RLMR_SHARE_STEPS; step++) {
        for (int i = 0; i < pieces; i++) {
            CU_ASSERT_EQUAL(rlmr_share_work(shares[i], step, NULL), RLMR_OK);
        }
        rlmr_bytes told[PIECES_MAX][PIECES_MAX] = {{{0}}};
        for (int i = 0; i < pieces * pieces; i++) {
            if (i / pieces != i % pieces) {
                CU_ASSERT_EQUAL(rlmr_share_tell(shares[i / pieces], step, i % pieces,
                                                &told[i / pieces][i % pieces], NULL),
                                RLMR_OK);
            }
        }
        for (int to = 0; to < pieces; to++) {
            for (int from = pieces - 1; from >= 0; from--) {
                rlmr_bytes *part = &told[from][to];
                rlmr_slice text = {.text = (const char *)part->data, .bytes = part->bytes};
                if (from != to) {
                    CU_ASSERT_EQUAL(rlmr_share_hear(shares[to], step, from, text, NULL), RLMR_OK);
                }
                rlmr_bytes_release(part);
            }
        }
    }
    bool holds = rlmr_share_holds(shares[0]);
    for (int i = 0; i < pieces; i++) {
        CU_ASSERT_EQUAL(rlmr_share_holds(shares[i]), holds);
        CU_ASSERT_EQUAL(rlmr_share_finish(shares[i], NULL), RLMR_OK);
    }
    made->status = rlmr_map_capture(&made->capture, &made->options, &made->partial, shares[0], &made->meter,
                                    NULL, &made->err);
    for (int i = 0; i < pieces; i++) {
        rlmr_share_close(shares[i]);
    }
    return holds;
}

/* Rows as text, in the order of the file. */
static char *rows_of(const capture_fixture *made) {
    const rlmr_table *table = &made->partial.tables[RLMR_TABLE_memory_events];
    char *text = NULL;
    size_t bytes;
    size_t row_column = rlmr_schema_column(table->schema, "file_row");
    FILE *out = open_memstream(&text, &bytes);
    for (int64_t number = 0; number <= (int64_t)table->rows; number++) {
        for (uint64_t row = 0; row < table->rows; row++) {
            if (*(const int64_t *)rlmr_table_value(table, row, row_column) != number) {
                continue;
            }
            for (size_t c = 0; c < table->schema->columns_count; c++) {
                const void *value = rlmr_table_value(table, row, c);
                size_t value_bytes = rlmr_type_bytes(table->schema->columns[c].type);
                if (table->schema->columns[c].type == RLMR_TYPE_TEXT) {
                    rlmr_slice words = rlmr_symtab_text(made->partial.texts, *(const uint32_t *)value);
                    (void)fprintf(out, "|%.*s", (int)words.bytes, words.text);
                }
                for (size_t i = 0; table->schema->columns[c].type != RLMR_TYPE_TEXT && i < value_bytes; i++) {
                    (void)fprintf(out, "%s%02x", i == 0 ? "|" : "", ((const uint8_t *)value)[i]);
                }
            }
            (void)fputc('\n', out);
        }
    }
    (void)fclose(out);
    return text;
}

static void open_capture(capture_fixture *made, int records, int events, unsigned seed) {
    capture_fixture_open(made, RLMR_ANALYSIS_MEMORY);
    made->options.split_bytes = 1;
    put_capture(made, records, events, seed);
}

static void check_same(const capture_fixture *one, const capture_fixture *other) {
    char *expected = rows_of(one);
    char *rows = rows_of(other);
    CU_ASSERT_STRING_EQUAL(rows, expected);
    free(expected);
    free(rows);
    const rlmr_capture *a = &one->capture;
    const rlmr_capture *b = &other->capture;
    CU_ASSERT_EQUAL(a->status, b->status);
    CU_ASSERT_EQUAL(a->events_seen, b->events_seen);
    CU_ASSERT_EQUAL(a->events_with_stack, b->events_with_stack);
    CU_ASSERT_EQUAL(a->memory_rows, b->memory_rows);
    CU_ASSERT_EQUAL(a->rows_matched, b->rows_matched);
    CU_ASSERT_EQUAL(a->bad_cells, b->bad_cells);
    CU_ASSERT_EQUAL(a->first_error_offset, b->first_error_offset);
    CU_ASSERT_TRUE(a->message == b->message ||
                   (a->message != NULL && b->message != NULL && strcmp(a->message, b->message) == 0));
    for (rlmr_file_kind kind = 0; kind < RLMR_FILES; kind++) {
        CU_ASSERT_EQUAL(a->files[kind].state, b->files[kind].state);
    }
}

static void test_pieces_give_the_rows_of_the_whole(void) {
    for (unsigned seed = 0; seed < 15; seed++) {
        int records = seed < 12 ? 40 : 2; /* so few that most parts have events alone */
        capture_fixture one;
        open_capture(&one, records, 60, seed);
        one.options.match = (rlmr_match_policy)(seed % RLMR_MATCH_COUNT);
        capture_fixture_map(&one);
        CU_ASSERT_EQUAL(one.capture.status, RLMR_CAPTURE_OK);
        CU_ASSERT_TRUE(one.capture.rows_matched > records / 4);
        for (int pieces = 1; pieces <= PIECES_MAX; pieces++) {
            capture_fixture other;
            open_capture(&other, records, 60, seed);
            other.options.match = one.options.match;
            int64_t cuts[PIECES_MAX + 1] = {0};
            for (int i = 1; i <= pieces; i++) {
                cuts[i] = cuts[i - 1] + 100 + (int64_t)((seed * 31 + (unsigned)i * 17) % 100);
            }
            CU_ASSERT_TRUE(share(&other, pieces, cuts));
            check_same(&one, &other);
            capture_fixture_close(&other);
        }
        capture_fixture_close(&one);
    }
}

/* ---- What is not right with a file ---- */

static void overwrite(capture_fixture *made, rlmr_file_kind kind, long offset, const char *text) {
    FILE *file = fopen(made->capture.files[kind].path, "r+");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void test_damage_in_any_piece_is_met_by_one_process(void) {
    static const struct {
        rlmr_file_kind kind;
        long offset;
        const char *text;
    } damage[] = {
        {RLMR_FILE_operator_memory, 200, "x\"y"}, {RLMR_FILE_operator_memory, -20, "x\"y"},
        {RLMR_FILE_trace_view, 30, "}"},          {RLMR_FILE_trace_view, 2000, "]]"},
        {RLMR_FILE_trace_view, -30, "\x01"},      {RLMR_FILE_trace_view, -2, " "},
    };
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        capture_fixture one;
        open_capture(&one, 30, 50, 3);
        overwrite(&one, damage[i].kind, damage[i].offset, damage[i].text);
        capture_fixture_map(&one);
        CU_ASSERT_EQUAL(one.capture.status, RLMR_CAPTURE_PARTIAL);
        for (int pieces = 2; pieces <= 4; pieces++) {
            capture_fixture other;
            open_capture(&other, 30, 50, 3);
            overwrite(&other, damage[i].kind, damage[i].offset, damage[i].text);
            CU_ASSERT_FALSE(share(&other, pieces, (int64_t[]){0, 10, 20, 30, 40}));
            check_same(&one, &other);
            capture_fixture_close(&other);
        }
        capture_fixture_close(&one);
    }
}

static void test_times_that_do_not_meet_are_told_once(void) {
    capture_fixture one;
    capture_fixture other;
    open_capture(&one, 10, 20, 1);
    open_capture(&other, 10, 20, 1);
    one.options.time_offset_ns = other.options.time_offset_ns = INT64_C(7200000000000);
    capture_fixture_map(&one);
    CU_ASSERT_EQUAL(one.capture.status, RLMR_CAPTURE_PARTIAL);
    CU_ASSERT_FALSE(share(&other, 3, (int64_t[]){0, 10, 20, 30}));
    check_same(&one, &other);
    capture_fixture_close(&one);
    capture_fixture_close(&other);
}

static void test_a_trace_without_records_is_not_read(void) {
    capture_fixture one;
    capture_fixture other;
    open_capture(&one, 0, 20, 1);
    open_capture(&other, 0, 20, 1);
    capture_fixture_map(&one);
    CU_ASSERT_TRUE(share(&other, 2, (int64_t[]){0, 10, 20}));
    CU_ASSERT_EQUAL(other.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_UNUSED);
    check_same(&one, &other);
    capture_fixture_close(&one);
    capture_fixture_close(&other);
}

static void test_which_captures_are_shared(void) {
    capture_fixture made;
    open_capture(&made, 10, 10, 1);
    int64_t bytes =
        made.capture.files[RLMR_FILE_trace_view].bytes + made.capture.files[RLMR_FILE_operator_memory].bytes;
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), bytes);
    made.options.split_bytes = bytes + 1;
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), 0);
    made.options.split_bytes = 0;
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), 0);
    made.options.split_bytes = bytes;
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), bytes);
    made.capture.status = RLMR_CAPTURE_FAILED;
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), 0);
    made.capture.status = RLMR_CAPTURE_OK;
    free(made.capture.files[RLMR_FILE_trace_view].path);
    made.capture.files[RLMR_FILE_trace_view].path = strdup("trace_view.json.gz");
    CU_ASSERT_EQUAL(rlmr_share_bytes(&made.capture, &made.options), 0);
    capture_fixture_close(&made);
}

static void test_what_is_told_may_be_malformed(void) {
    capture_fixture made;
    open_capture(&made, 10, 30, 2);
    rlmr_share *shares[2];
    for (int i = 0; i < 2; i++) {
        rlmr_piece piece = {.index = i, .count = 2, .from = i, .to = i + 1, .of = 2};
        CU_ASSERT_EQUAL_FATAL(rlmr_share_open(&made.capture, &piece, &made.options, &made.partial,
                                              &made.meter, &shares[i], NULL),
                              RLMR_OK);
    }
    for (rlmr_share_step step = RLMR_SHARE_RECORDS; step <= RLMR_SHARE_ANSWERS; step++) {
        rlmr_bytes told = {0};
        CU_ASSERT_EQUAL(rlmr_share_work(shares[0], step, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_share_work(shares[1], step, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_share_tell(shares[1], step, 0, &told, NULL), RLMR_OK);
        for (size_t bytes = 0; bytes < told.bytes && bytes < 300; bytes++) {
            rlmr_status status =
                rlmr_share_hear(shares[0], step, 1, (rlmr_slice){(const char *)told.data, bytes}, NULL);
            CU_ASSERT_TRUE(status == RLMR_OK || status == RLMR_E_PARSE);
        }
        rlmr_slice whole = {.text = (const char *)told.data, .bytes = told.bytes};
        CU_ASSERT_EQUAL(rlmr_share_hear(shares[0], step, -1, whole, NULL), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(rlmr_share_hear(shares[0], step, 0, whole, NULL), RLMR_E_PARSE); /* its own */
        CU_ASSERT_EQUAL(rlmr_share_hear(shares[0], step, 2, whole, NULL), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(rlmr_share_hear(shares[0], step, (INT64_C(1) << 32) + 1, whole, NULL), RLMR_E_PARSE);
        for (size_t i = 0; i < 2; i++) { /* no file has so many rows */
            memcpy(told.data + sizeof(uint32_t), &(int64_t[]){INT64_MAX, -1}[i], sizeof(int64_t));
            CU_ASSERT_EQUAL(rlmr_share_hear(shares[0], step, 1, whole, NULL), RLMR_E_PARSE);
        }
        rlmr_bytes_release(&told);
    }
    rlmr_share_close(shares[0]);
    rlmr_share_close(shares[1]);
    capture_fixture_close(&made);
}

CU_TestInfo rlmr_tests_share[] = {
    {"pieces give the rows of the whole", test_pieces_give_the_rows_of_the_whole},
    {"damage in any piece is met by one process", test_damage_in_any_piece_is_met_by_one_process},
    {"times that do not meet are told once", test_times_that_do_not_meet_are_told_once},
    {"a trace without records is not read", test_a_trace_without_records_is_not_read},
    {"which captures are shared", test_which_captures_are_shared},
    {"what is told may be malformed", test_what_is_told_may_be_malformed},
    CU_TEST_INFO_NULL,
};
