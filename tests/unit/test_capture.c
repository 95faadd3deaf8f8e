#include "rlmr/capture.h"

#include <CUnit/Basic.h>

#include <stdlib.h>
#include <string.h>

/* A capture with every field set to something of its own. */
static rlmr_capture full_capture(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    capture.number = 3;
    capture.rank_id = 17;
    capture.window = 2;
    capture.status = RLMR_CAPTURE_PARTIAL;
    capture.role = strdup("actor");
    capture.path = strdup("a/b_ascend_pt");
    capture.timestamp = strdup("20250109074554851");
    capture.message = strdup("row 3: bad");
    capture.events_seen = INT64_C(5000000000);
    capture.events_with_stack = 6;
    capture.events_skipped = 7;
    capture.memory_rows = 8;
    capture.rows_matched = 9;
    capture.bad_cells = 10;
    capture.bytes_read = INT64_MAX;
    capture.first_error_offset = 12;
    capture.files[RLMR_FILE_trace_view] = (rlmr_file){
        .state = RLMR_FILE_READ, .bytes = INT64_C(10000000000), .path = strdup("/x/trace_view.json")};
    capture.files[RLMR_FILE_operator_memory] =
        (rlmr_file){.state = RLMR_FILE_DAMAGED, .bytes = 0, .path = strdup("/x/operator_memory.csv")};
    capture.files[RLMR_FILE_analysis_db] =
        (rlmr_file){.state = RLMR_FILE_UNUSED, .bytes = 4096, .path = strdup("/x/analysis.db")};
    return capture;
}

static bool same_text(const char *a, const char *b) {
    return (a == NULL || b == NULL) ? a == b : strcmp(a, b) == 0;
}

static bool same_capture(const rlmr_capture *a, const rlmr_capture *b) {
    bool same = a->number == b->number && a->rank_id == b->rank_id && a->window == b->window &&
                a->status == b->status && a->events_seen == b->events_seen &&
                a->events_with_stack == b->events_with_stack && a->events_skipped == b->events_skipped &&
                a->memory_rows == b->memory_rows && a->rows_matched == b->rows_matched &&
                a->bad_cells == b->bad_cells && a->bytes_read == b->bytes_read &&
                a->first_error_offset == b->first_error_offset && same_text(a->role, b->role) &&
                same_text(a->path, b->path) && same_text(a->timestamp, b->timestamp) &&
                same_text(a->message, b->message);
    for (int kind = 0; kind < RLMR_FILES && same; kind++) {
        same = a->files[kind].state == b->files[kind].state && a->files[kind].bytes == b->files[kind].bytes &&
               same_text(a->files[kind].path, b->files[kind].path);
    }
    return same;
}

static void test_a_new_capture_has_no_rank_no_files_no_error(void) {
    rlmr_capture capture;
    memset(&capture, 0x55, sizeof capture);
    rlmr_capture_init(&capture);
    CU_ASSERT_EQUAL(capture.rank_id, -1);
    CU_ASSERT_EQUAL(capture.first_error_offset, -1);
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_OK);
    CU_ASSERT_EQUAL(capture.events_seen, 0);
    CU_ASSERT_PTR_NULL(capture.message);
    for (int kind = 0; kind < RLMR_FILES; kind++) {
        CU_ASSERT_EQUAL(capture.files[kind].state, RLMR_FILE_ABSENT);
        CU_ASSERT_EQUAL(capture.files[kind].bytes, -1);
        CU_ASSERT_PTR_NULL(capture.files[kind].path);
    }
}

static void test_a_capture_comes_back_from_its_bytes(void) {
    rlmr_capture first = full_capture();
    rlmr_capture second;
    rlmr_capture_init(&second);
    rlmr_bytes bytes = {0};
    CU_ASSERT_EQUAL(rlmr_capture_encode(&first, &bytes, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_capture_encode(&second, &bytes, NULL), RLMR_OK);
    rlmr_reader reader = {.data = bytes.data, .bytes = bytes.bytes};
    rlmr_capture back;
    CU_ASSERT_EQUAL(rlmr_capture_decode(&back, &reader, NULL), RLMR_OK);
    CU_ASSERT_TRUE(same_capture(&first, &back));
    rlmr_capture_release(&back);
    CU_ASSERT_EQUAL(rlmr_capture_decode(&back, &reader, NULL), RLMR_OK);
    CU_ASSERT_TRUE(same_capture(&second, &back));
    CU_ASSERT_EQUAL(reader.at, reader.bytes);
    rlmr_capture_release(&back);
    rlmr_capture_release(&first);
    rlmr_bytes_release(&bytes);
}

static void test_a_capture_cut_at_any_byte_is_refused(void) {
    rlmr_capture capture = full_capture();
    rlmr_capture fresh;
    rlmr_capture_init(&fresh);
    rlmr_bytes whole = {0};
    CU_ASSERT_EQUAL(rlmr_capture_encode(&capture, &whole, NULL), RLMR_OK);
    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        uint8_t *part = malloc(bytes);
        if (bytes > 0) {
            memcpy(part, whole.data, bytes);
        }
        rlmr_reader reader = {.data = part, .bytes = bytes};
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_capture back;
        CU_ASSERT_EQUAL(rlmr_capture_decode(&back, &reader, &err), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(err.code, RLMR_E_PARSE);
        CU_ASSERT_TRUE(same_capture(&back, &fresh)); /* it holds nothing that would have to be released */
        free(part);
    }
    rlmr_bytes_release(&whole);
    rlmr_capture_release(&capture);
}

/* What encode makes of a capture, decode must refuse. */
static void check_refused(const rlmr_capture *capture) {
    rlmr_bytes bytes = {0};
    rlmr_capture back;
    CU_ASSERT_EQUAL(rlmr_capture_encode(capture, &bytes, NULL), RLMR_OK);
    rlmr_reader reader = {.data = bytes.data, .bytes = bytes.bytes};
    CU_ASSERT_EQUAL(rlmr_capture_decode(&back, &reader, NULL), RLMR_E_PARSE);
    rlmr_bytes_release(&bytes);
}

static void test_states_that_do_not_exist_are_refused(void) {
    rlmr_capture capture = full_capture();
    capture.status = RLMR_CAPTURE_STATUSES;
    check_refused(&capture);
    capture.status = RLMR_CAPTURE_OK;
    capture.files[RLMR_FILE_communication].state = RLMR_FILE_STATES;
    check_refused(&capture);
    rlmr_capture_release(&capture);
}

static void test_notes_are_joined(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    CU_ASSERT_EQUAL(rlmr_capture_note(&capture, NULL, "%d bad cells", 3), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(capture.message, "3 bad cells");
    CU_ASSERT_EQUAL(rlmr_capture_note(&capture, NULL, "%s: cut", "trace_view.json"), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(capture.message, "3 bad cells; trace_view.json: cut");
    CU_ASSERT_EQUAL(rlmr_capture_note(&capture, NULL, "%s", "100 % done"), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(capture.message, "3 bad cells; trace_view.json: cut; 100 % done");
    rlmr_capture_release(&capture);
}

static void test_a_long_note_is_cut(void) {
    char text[3 * RLMR_ERROR_TEXT_BYTES];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    CU_ASSERT_EQUAL(rlmr_capture_note(&capture, NULL, "%s", text), RLMR_OK);
    CU_ASSERT_EQUAL(strlen(capture.message), RLMR_ERROR_TEXT_BYTES - 1);
    CU_ASSERT_EQUAL(rlmr_capture_note(&capture, NULL, "short"), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(capture.message + RLMR_ERROR_TEXT_BYTES - 1, "; short");
    rlmr_capture_release(&capture);
}

static void test_a_status_only_gets_worse(void) {
    /* One text for each status before; in it a letter for each status that is asked for: the first letter of
     * the status after. */
    static const char *const after[RLMR_CAPTURE_STATUSES] = {"opfe", "ppfp", "ffff", "eeee"};
    for (int from = 0; from < RLMR_CAPTURE_STATUSES; from++) {
        for (int to = 0; to < RLMR_CAPTURE_STATUSES; to++) {
            rlmr_capture capture;
            rlmr_capture_init(&capture);
            capture.status = (rlmr_capture_status)from;
            rlmr_capture_degrade(&capture, (rlmr_capture_status)to);
            CU_ASSERT_EQUAL(rlmr_capture_status_text(capture.status)[0], after[from][to]);
        }
    }
}

static void test_the_first_damage_is_remembered(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    rlmr_capture_damaged(&capture, RLMR_FILE_trace_view, -1);
    CU_ASSERT_EQUAL(capture.first_error_offset, -1);
    rlmr_capture_damaged(&capture, RLMR_FILE_operator_memory, 40);
    rlmr_capture_damaged(&capture, RLMR_FILE_operator_memory, 20);
    CU_ASSERT_EQUAL(capture.first_error_offset, 40);
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_PARTIAL);
    CU_ASSERT_EQUAL(capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_DAMAGED);
    CU_ASSERT_EQUAL(capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_DAMAGED);
    CU_ASSERT_EQUAL(capture.files[RLMR_FILE_profiler_info].state, RLMR_FILE_ABSENT);
}

static void test_damage_at_the_first_byte_is_remembered(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    rlmr_capture_damaged(&capture, RLMR_FILE_trace_view, 0);
    rlmr_capture_damaged(&capture, RLMR_FILE_operator_memory, 40);
    CU_ASSERT_EQUAL(capture.first_error_offset, 0);
}

static void test_bytes_are_those_of_all_files(void) {
    rlmr_capture capture = full_capture();
    rlmr_capture_release(&capture);
}

static void test_lists_have_their_texts(void) {
    CU_ASSERT_STRING_EQUAL(rlmr_capture_status_text(RLMR_CAPTURE_OK), "ok");
    CU_ASSERT_STRING_EQUAL(rlmr_capture_status_text(RLMR_CAPTURE_EMPTY), "empty");
    CU_ASSERT_STRING_EQUAL(rlmr_file_state_text(RLMR_FILE_ABSENT), "absent");
    CU_ASSERT_STRING_EQUAL(rlmr_file_state_text(RLMR_FILE_UNUSED), "unused");
    CU_ASSERT_STRING_EQUAL(rlmr_file_kind_text(RLMR_FILE_profiler_info), "profiler_info");
    CU_ASSERT_STRING_EQUAL(rlmr_file_kind_text(RLMR_FILE_analysis_db), "analysis_db");
}

/* ---- The row of /captures ---- */

typedef struct {
    rlmr_table table;
    rlmr_symtab *texts;
} captures_sheet;

static captures_sheet sheet_of(const rlmr_capture *capture) {
    captures_sheet out = {.texts = NULL};
    rlmr_table_init(&out.table, &rlmr_captures_schema);
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&out.texts, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_capture_append(capture, &out.table, out.texts, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(out.table.rows, 1);
    return out;
}

static void close_sheet(captures_sheet *sheet) {
    rlmr_table_release(&sheet->table);
    rlmr_symtab_close(sheet->texts);
}

static void *value_of(const captures_sheet *sheet, const char *column) {
    size_t at = rlmr_schema_column(&rlmr_captures_schema, column);
    CU_ASSERT_FATAL(at < rlmr_captures_schema.columns_count);
    return rlmr_table_value(&sheet->table, 0, at);
}

static int64_t i64_of(const captures_sheet *sheet, const char *column) {
    return *(int64_t *)value_of(sheet, column);
}

static int32_t i32_of(const captures_sheet *sheet, const char *column) {
    return *(int32_t *)value_of(sheet, column);
}

static bool has_text(const captures_sheet *sheet, const char *column, const char *text) {
    return rlmr_slice_equal(rlmr_symtab_text(sheet->texts, *(uint32_t *)value_of(sheet, column)),
                            rlmr_slice_of(text));
}

static void test_a_capture_becomes_a_row(void) {
    rlmr_capture capture = full_capture();
    captures_sheet row = sheet_of(&capture);
    CU_ASSERT_EQUAL(i32_of(&row, "capture"), 3);
    CU_ASSERT_EQUAL(i32_of(&row, "rank_id"), 17);
    CU_ASSERT_EQUAL(i32_of(&row, "window"), 2);
    CU_ASSERT_TRUE(has_text(&row, "role", "actor"));
    CU_ASSERT_TRUE(has_text(&row, "path", "a/b_ascend_pt"));
    CU_ASSERT_TRUE(has_text(&row, "timestamp", "20250109074554851"));
    CU_ASSERT_TRUE(has_text(&row, "source", "text"));
    CU_ASSERT_TRUE(has_text(&row, "status", "partial"));
    CU_ASSERT_TRUE(has_text(&row, "message", "row 3: bad"));
    CU_ASSERT_TRUE(has_text(&row, "trace_view_state", "read"));
    CU_ASSERT_EQUAL(i64_of(&row, "trace_view_bytes"), INT64_C(10000000000));
    CU_ASSERT_TRUE(has_text(&row, "operator_memory_state", "damaged"));
    CU_ASSERT_EQUAL(i64_of(&row, "operator_memory_bytes"), 0);
    CU_ASSERT_TRUE(has_text(&row, "analysis_db_state", "unused"));
    CU_ASSERT_EQUAL(i64_of(&row, "analysis_db_bytes"), 4096);
    CU_ASSERT_TRUE(has_text(&row, "communication_state", "absent"));
    CU_ASSERT_EQUAL(i64_of(&row, "communication_bytes"), -1);
    CU_ASSERT_EQUAL(i64_of(&row, "events_seen"), INT64_C(5000000000));
    CU_ASSERT_EQUAL(i64_of(&row, "events_with_stack"), 6);
    CU_ASSERT_EQUAL(i64_of(&row, "events_skipped"), 7);
    CU_ASSERT_EQUAL(i64_of(&row, "memory_rows"), 8);
    CU_ASSERT_EQUAL(i64_of(&row, "rows_matched"), 9);
    CU_ASSERT_EQUAL(i64_of(&row, "bad_cells"), 10);
    CU_ASSERT_EQUAL(i64_of(&row, "first_error_offset"), 12);
    close_sheet(&row);
    rlmr_capture_release(&capture);
}

static void test_a_row_without_texts_has_empty_ones(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    captures_sheet row = sheet_of(&capture);
    CU_ASSERT_EQUAL(i32_of(&row, "rank_id"), -1);
    CU_ASSERT_TRUE(has_text(&row, "role", ""));
    CU_ASSERT_TRUE(has_text(&row, "message", ""));
    CU_ASSERT_TRUE(has_text(&row, "source", ""));
    CU_ASSERT_TRUE(has_text(&row, "status", "ok"));
    CU_ASSERT_EQUAL(i64_of(&row, "first_error_offset"), -1);
    close_sheet(&row);
}

static void test_the_source_says_what_was_read(void) {
    static const struct {
        rlmr_file_state trace;
        rlmr_file_state csv;
        rlmr_file_state db;
        const char *source;
    } cases[] = {
        {RLMR_FILE_UNUSED, RLMR_FILE_ABSENT, RLMR_FILE_UNUSED, ""},
        {RLMR_FILE_READ, RLMR_FILE_ABSENT, RLMR_FILE_ABSENT, "text"},
        {RLMR_FILE_UNUSED, RLMR_FILE_DAMAGED, RLMR_FILE_UNUSED, "text"},
        {RLMR_FILE_ABSENT, RLMR_FILE_ABSENT, RLMR_FILE_READ, "db"},
        {RLMR_FILE_READ, RLMR_FILE_ABSENT, RLMR_FILE_DAMAGED, "text+db"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlmr_capture capture;
        rlmr_capture_init(&capture);
        capture.files[RLMR_FILE_profiler_info].state = RLMR_FILE_READ; /* says nothing about the source */
        capture.files[RLMR_FILE_trace_view].state = cases[i].trace;
        capture.files[RLMR_FILE_operator_memory].state = cases[i].csv;
        capture.files[RLMR_FILE_profiler_db].state = cases[i].db;
        captures_sheet row = sheet_of(&capture);
        CU_ASSERT_TRUE(has_text(&row, "source", cases[i].source));
        close_sheet(&row);
    }
}

static void test_texts_of_a_row_are_utf8(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    capture.path = strdup("caf\xE9_ascend_pt");
    captures_sheet row = sheet_of(&capture);
    CU_ASSERT_TRUE(has_text(&row, "path", "caf\xEF\xBF\xBD_ascend_pt"));
    close_sheet(&row);
    rlmr_capture_release(&capture);
}

CU_TestInfo rlmr_tests_capture[] = {
    {"a new capture has no rank, no files, no error", test_a_new_capture_has_no_rank_no_files_no_error},
    {"a capture comes back from its bytes", test_a_capture_comes_back_from_its_bytes},
    {"a capture cut at any byte is refused and holds nothing", test_a_capture_cut_at_any_byte_is_refused},
    {"states that do not exist are refused", test_states_that_do_not_exist_are_refused},
    {"notes are joined", test_notes_are_joined},
    {"a long note is cut", test_a_long_note_is_cut},
    {"a status only gets worse", test_a_status_only_gets_worse},
    {"the first damage is remembered", test_the_first_damage_is_remembered},
    {"damage at the first byte is remembered", test_damage_at_the_first_byte_is_remembered},
    {"bytes are those of all files", test_bytes_are_those_of_all_files},
    {"lists have their texts", test_lists_have_their_texts},
    {"a capture becomes a row", test_a_capture_becomes_a_row},
    {"a row without texts has empty ones", test_a_row_without_texts_has_empty_ones},
    {"the source says what was read", test_the_source_says_what_was_read},
    {"texts of a row are UTF-8", test_texts_of_a_row_are_utf8},
    CU_TEST_INFO_NULL,
};
