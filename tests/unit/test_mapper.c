#include "capture_fixture.h"

#include <CUnit/Basic.h>
#include <sqlite3.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef capture_fixture fixture;

static void open_fixture(fixture *made) {
    capture_fixture_open(made, RLMR_ANALYSIS_MEMORY);
}

static void close_fixture(fixture *made) {
    capture_fixture_close(made);
}

static void put_file(fixture *made, rlmr_file_kind kind, const char *name, rlmr_slice content) {
    capture_fixture_put(made, kind, name, content);
}

static void map(fixture *made) {
    capture_fixture_map(made);
}

/* NULL is an absent file. */
static void map_files(fixture *made, const char *csv, const char *trace) {
    open_fixture(made);
    if (csv != NULL) {
        put_file(made, RLMR_FILE_operator_memory, "operator_memory.csv", rlmr_slice_of(csv));
    }
    if (trace != NULL) {
        put_file(made, RLMR_FILE_trace_view, "trace_view.json", rlmr_slice_of(trace));
    }
    map(made);
}

/* ---- Looking at the rows ---- */

static const rlmr_table *events_of(const fixture *made) {
    return &made->partial.tables[RLMR_TABLE_memory_events];
}

static void *value_of(const fixture *made, uint64_t row, const char *column) {
    size_t at = rlmr_schema_column(&rlmr_memory_events_schema, column);
    CU_ASSERT_FATAL(at < rlmr_memory_events_schema.columns_count && row < events_of(made)->rows);
    return rlmr_table_value(events_of(made), row, at);
}

static double number(const fixture *made, uint64_t row, const char *column) {
    return *(double *)value_of(made, row, column);
}

static int64_t integer(const fixture *made, uint64_t row, const char *column) {
    return *(int64_t *)value_of(made, row, column);
}

static int released(const fixture *made, uint64_t row) {
    return *(uint8_t *)value_of(made, row, "is_released");
}

static bool has_text(const fixture *made, uint64_t row, const char *column, const char *text) {
    return rlmr_slice_equal(rlmr_symtab_text(made->partial.texts, *(uint32_t *)value_of(made, row, column)),
                            rlmr_slice_of(text));
}

static bool says(const fixture *made, const char *text) {
    bool good = made->capture.message != NULL && strstr(made->capture.message, text) != NULL;
    if (!good) {
        (void)fprintf(stderr, "\n    the message is: %s\n", made->capture.message);
    }
    return good;
}

static void check_ok(const fixture *made, uint64_t rows) {
    CU_ASSERT_EQUAL(made->status, RLMR_OK);
    CU_ASSERT_EQUAL(made->capture.status, RLMR_CAPTURE_OK);
    CU_ASSERT_EQUAL(made->capture.bad_cells, 0);
    CU_ASSERT_EQUAL(made->capture.first_error_offset, -1);
    CU_ASSERT_PTR_NULL(made->capture.message);
    CU_ASSERT_EQUAL_FATAL(events_of(made)->rows, rows);
    CU_ASSERT_EQUAL(made->capture.memory_rows, (int64_t)rows);
}

/* Partial, with rows, `bad_cells` of them, and the first damage at `offset`. */
static void check_partial(const fixture *made, uint64_t rows, int64_t bad_cells, int64_t offset) {
    CU_ASSERT_EQUAL(made->status, RLMR_OK);
    CU_ASSERT_EQUAL(made->capture.status, RLMR_CAPTURE_PARTIAL);
    CU_ASSERT_EQUAL(made->capture.bad_cells, bad_cells);
    CU_ASSERT_EQUAL(made->capture.first_error_offset, offset);
    CU_ASSERT_EQUAL_FATAL(events_of(made)->rows, rows);
    CU_ASSERT_EQUAL(made->capture.memory_rows, (int64_t)rows);
}

/* ---- Columns ---- */

#define HEADER                                                                                               \
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"               \
    "Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"                      \
    "Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"                    \
    "Release Total Active(MB),Stream Ptr,Device Type\n"
enum { HEADER_BYTES = sizeof HEADER - 1 };

#define ROW                                                                                                  \
    "aten::add,512.5,1736408883694624.810\t,\"1736408883694700.810\t\",1736408883694710.0\t,76.0\t,85.19\t," \
    "10.5,20.25,11.5,9.5,20.25,9.0,94509039890976,NPU:0\n"

static void test_a_record_becomes_a_row(void) {
    fixture made;
    map_files(&made, HEADER ROW, NULL);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(integer(&made, 0, "start_time_ns"), INT64_C(1736408883694624810));
    CU_ASSERT_EQUAL(number(&made, 0, "start_time_ms"), 1736408883694.62481);
    CU_ASSERT_TRUE(has_text(&made, 0, "name", "aten::add"));
    CU_ASSERT_TRUE(has_text(&made, 0, "role", "actor"));
    CU_ASSERT_EQUAL(*(int32_t *)value_of(&made, 0, "rank_id"), 17);
    CU_ASSERT_EQUAL(*(int32_t *)value_of(&made, 0, "capture"), 4);
    CU_ASSERT_TRUE(has_text(&made, 0, "component", "PTA"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", ""));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "none"));
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), 512.5);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.076);
    CU_ASSERT_EQUAL(number(&made, 0, "active_duration_ms"), 0.08519);
    CU_ASSERT_EQUAL(released(&made, 0), 1);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 10.5);
    CU_ASSERT_EQUAL(number(&made, 0, "total_reserved_mb"), 20.25);
    CU_ASSERT_EQUAL(number(&made, 0, "total_active_mb"), 11.5);
    CU_ASSERT_TRUE(has_text(&made, 0, "device_type", "NPU:0"));
    CU_ASSERT_TRUE(has_text(&made, 0, "stream", "94509039890976"));
    CU_ASSERT_EQUAL(integer(&made, 0, "file_row"), 1);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_READ);
    close_fixture(&made);
}

static void test_units_are_those_of_the_header(void) {
    fixture made;
    map_files(&made,
              "Device_id,Name,Size(MB),Allocation Total Allocated(KB),Allocation Total Reserved(B),"
              "Allocation Total Active (GB),Allocation Time(us)\n"
              "0,add,2.5,1536,1048576,0.5,1000\n",
              NULL);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), 2560.0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 1.5);
    CU_ASSERT_EQUAL(number(&made, 0, "total_reserved_mb"), 1.0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_active_mb"), 512.0);
    close_fixture(&made);
}

static void test_a_file_of_ten_columns_is_whole(void) {
    fixture made;
    map_files(
        &made,
        "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB),"
        "Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB),Device Type\r\n"
        "aten::add,4.0,1000.5\t,1100.5\t,100.0\t,1.0,2.0,3.0,4.0,NPU:1\r\n",
        NULL);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(integer(&made, 0, "start_time_ns"), 1000500);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.1);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 1.0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_reserved_mb"), 2.0);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "total_active_mb")));
    CU_ASSERT_TRUE(isnan(number(&made, 0, "active_duration_ms")));
    CU_ASSERT_TRUE(has_text(&made, 0, "stream", ""));
    CU_ASSERT_TRUE(has_text(&made, 0, "device_type", "NPU:1"));
    close_fixture(&made);
}

static void test_a_record_that_was_never_released(void) {
    fixture made;
    map_files(&made,
              HEADER
              "add,4.0,1000\t,,,,,1.0,2.0,3.0,,,,6,NPU:0\nadd,4.0,1000,N/A,N/A,N/A,N/A,1,2,3,N/A,,,6,\n",
              NULL);
    check_ok(&made, 2);
    for (uint64_t row = 0; row < 2; row++) {
        CU_ASSERT_EQUAL(released(&made, row), 0);
        CU_ASSERT_EQUAL(number(&made, row, "duration_ms"), 0.0);
        CU_ASSERT_TRUE(isnan(number(&made, row, "active_duration_ms")));
        CU_ASSERT_EQUAL(number(&made, row, "total_active_mb"), 3.0);
    }
    close_fixture(&made);
}

static void test_a_release_or_a_duration_says_that_it_was_released(void) {
    fixture made;
    map_files(&made, HEADER "add,4.0,1000,2000,,,,,,,,,,,\nadd,4.0,1000,,,5,,,,,,,,,\n", NULL);
    check_ok(&made, 2);
    CU_ASSERT_EQUAL(released(&made, 0), 1);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.0);
    CU_ASSERT_EQUAL(released(&made, 1), 1);
    CU_ASSERT_EQUAL(number(&made, 1, "duration_ms"), 0.005);
    close_fixture(&made);
}

static void test_a_record_of_a_release_alone(void) {
    fixture made;
    map_files(&made, HEADER ",-32.5,,1500.25\t,1600\t,,,,,,7.0,8.0,9.0,6,NPU:0\n",
              "[{\"name\": \"\", \"cat\": \"cpu_op\", \"ts\": 1000, \"dur\": 1000, \"args\": {\"Call "
              "stack\": \"s\"}}]");
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(integer(&made, 0, "start_time_ns"), 1500250);
    CU_ASSERT_EQUAL(number(&made, 0, "start_time_ms"), 1.50025);
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), -32.5);
    CU_ASSERT_EQUAL(released(&made, 0), 1);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 7.0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_reserved_mb"), 8.0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_active_mb"), 9.0);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "none"));
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state,
                    RLMR_FILE_UNUSED); /* nothing to look for */
    close_fixture(&made);
}

static void test_a_release_only_record_of_a_known_name_looks_for_no_stack(void) {
    fixture made;
    map_files(&made, HEADER "add,-1,,1500,,,,,,,,,,,\nadd,1,1500,,,,,,,,,,,,\n",
              "[{\"name\": \"add\", \"cat\": \"cpu_op\", \"ts\": 1000, \"dur\": 1000, \"args\": {\"Call "
              "stack\": \"s\"}}]");
    check_ok(&made, 2);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "none"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack_match", "enclosing"));
    close_fixture(&made);
}

static void test_the_component_is_in_the_name(void) {
    fixture made;
    map_files(&made,
              HEADER "cann::,1,1,,,,,,,,,,,,\ncann:,1,1,,,,,,,,,,,,\nx "
                     "cann::a,1,1,,,,,,,,,,,,\ncann::MatMul,1,1,,,12.34,,,,,,,,,\n",
              NULL);
    check_ok(&made, 4);
    CU_ASSERT_TRUE(has_text(&made, 0, "component", "GE"));
    CU_ASSERT_TRUE(has_text(&made, 1, "component", "PTA"));
    CU_ASSERT_TRUE(has_text(&made, 2, "component", "PTA"));
    CU_ASSERT_TRUE(has_text(&made, 3, "component", "GE"));
    CU_ASSERT_TRUE(has_text(&made, 3, "name", "cann::MatMul"));
    close_fixture(&made);
}

static void test_durations_are_divided_once(void) {
    fixture made;
    map_files(&made, HEADER "add,1,1,,,49.001\t,6.02\t,,,,,,,,\nadd,1,1,,,1771.005,656126.2,,,,,,,,\n", NULL);
    check_ok(&made, 2);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.049001);
    CU_ASSERT_EQUAL(number(&made, 0, "active_duration_ms"), 0.00602);
    CU_ASSERT_EQUAL(number(&made, 1, "duration_ms"), 1.771005);
    CU_ASSERT_EQUAL(number(&made, 1, "active_duration_ms"), 656.1262);
    close_fixture(&made);
}

/* ---- Damage in the records ---- */

static void test_a_bad_cell_costs_the_cell_and_is_described(void) {
    fixture made;
    map_files(&made, HEADER ROW "add,many,1000,,,x,,1.0,2.0,3.0,,,,,\n" ROW, NULL);
    check_partial(&made, 3, 2, HEADER_BYTES + (int)strlen(ROW));
    CU_ASSERT_TRUE(isnan(number(&made, 1, "size_kb")));
    CU_ASSERT_EQUAL(number(&made, 1, "duration_ms"), 0.0);
    CU_ASSERT_EQUAL(integer(&made, 1, "start_time_ns"), 1000000);
    CU_ASSERT_EQUAL(number(&made, 1, "total_active_mb"), 3.0);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_DAMAGED);
    char where[100];
    (void)snprintf(where, sizeof where, "operator_memory.csv: row 2 at byte %d: Size \"many\": not a number",
                   HEADER_BYTES + (int)strlen(ROW));
    CU_ASSERT_TRUE(says(&made, where));
    CU_ASSERT_TRUE(says(&made, "; 2 errors in operator_memory.csv"));
    close_fixture(&made);
}

static void test_numbers_that_are_none_are_bad_cells(void) {
    static const char *const cells[] = {"nan", "inf", "-", "1,5", "0x10", "1e400", "1.2.3", "12 KB"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        char csv[1000];
        fixture made;
        (void)snprintf(csv, sizeof csv, HEADER "add,\"%s\",1000,,,,,,,,,,,,\n", cells[i]);
        map_files(&made, csv, NULL);
        check_partial(&made, 1, 1, HEADER_BYTES);
        CU_ASSERT_TRUE(isnan(number(&made, 0, "size_kb")));
        close_fixture(&made);
    }
}

static void test_a_number_too_great_in_our_unit_is_a_bad_cell(void) {
    fixture made;
    map_files(&made, "Name,Size(GB),Allocation Time(us)\nadd,1e308,1000\n", NULL);
    check_partial(&made, 1, 1, 34);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "size_kb")));
    close_fixture(&made);
}

static void test_a_stamp_saved_by_a_spreadsheet_is_a_bad_cell(void) {
    fixture made;
    map_files(&made, HEADER "add,4.0,1.69512E+15,1.69512E+15,,7,,1.0,2.0,3.0,,,,,\n", NULL);
    check_partial(&made, 1, 2, HEADER_BYTES);
    CU_ASSERT_EQUAL(integer(&made, 0, "start_time_ns"), RLMR_TIME_ABSENT);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "start_time_ms")));
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), 4.0);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.007);
    CU_ASSERT_TRUE(says(&made, "Allocation Time \"1.69512E+15\""));
    CU_ASSERT_TRUE(says(&made, "precision is gone"));
    close_fixture(&made);
}

static void test_a_record_without_any_time_is_a_bad_cell(void) {
    fixture made;
    map_files(&made, HEADER "add,4.0,,,,,,1.0,2.0,3.0,,,,,\n", NULL);
    check_partial(&made, 1, 1, HEADER_BYTES);
    CU_ASSERT_EQUAL(integer(&made, 0, "start_time_ns"), RLMR_TIME_ABSENT);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "start_time_ms")));
    CU_ASSERT_EQUAL(released(&made, 0), 0);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 1.0);
    CU_ASSERT_TRUE(says(&made, "a record without any time"));
    close_fixture(&made);
}

static void test_a_text_that_is_not_utf8_is_replaced_and_counted(void) {
    fixture made;
    map_files(&made, HEADER "caf\xE9,4.0,1000,,,,,,,,,,,,\n",
              "[{\"name\": \"caf\xE9\", \"cat\": \"cpu_op\", \"ts\": 1, \"args\": {\"Call stack\": \"s\"}}]");
    check_partial(&made, 1, 1, HEADER_BYTES);
    CU_ASSERT_TRUE(has_text(&made, 0, "name", "caf\xEF\xBF\xBD"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "s"));
    CU_ASSERT_TRUE(says(&made, "not UTF-8"));
    close_fixture(&made);
}

static void test_a_cut_last_row_stays_without_its_last_cell(void) {
    fixture made;
    map_files(&made, HEADER ROW "add,4.0,1000,2000,,1.0,,5.25,6.2", NULL);
    check_partial(&made, 2, 1, HEADER_BYTES + (int)strlen(ROW));
    CU_ASSERT_TRUE(has_text(&made, 1, "name", "add"));
    CU_ASSERT_EQUAL(number(&made, 1, "total_allocated_mb"), 5.25);
    CU_ASSERT_TRUE(isnan(number(&made, 1, "total_reserved_mb"))); /* 6.2 may have been 6.25 */
    CU_ASSERT_TRUE(isnan(number(&made, 1, "total_active_mb")));
    CU_ASSERT_TRUE(says(&made, "row 2 at byte"));
    CU_ASSERT_TRUE(says(&made, "the file ends inside the row"));
    close_fixture(&made);
}

static void test_a_file_cut_at_any_byte_of_the_last_row_keeps_the_rest(void) {
    static const char first[] =
        "Name,Size(KB),Allocation Time(us),Device Type\nadd,1,1736408883694624.810\t,NPU:0\n";
    static const char last[] = "mul,2,\"1736408883694624.810\t\",NPU:0";
    for (size_t bytes = 1; bytes < sizeof last; bytes++) {
        char csv[sizeof first + sizeof last];
        fixture made;
        (void)snprintf(csv, sizeof csv, "%s%.*s", first, (int)bytes, last);
        map_files(&made, csv, NULL);
        bool misses_cells = strchr(last + bytes, ',') != NULL;
        CU_ASSERT_EQUAL(made.status, RLMR_OK);
        CU_ASSERT_EQUAL(made.capture.status, misses_cells ? RLMR_CAPTURE_PARTIAL : RLMR_CAPTURE_OK);
        CU_ASSERT_EQUAL(made.capture.bad_cells > 0, misses_cells);
        CU_ASSERT_EQUAL_FATAL(events_of(&made)->rows, 2);
        CU_ASSERT_TRUE(has_text(&made, 0, "device_type", "NPU:0"));
        /* No part of a stamp is taken for the whole. */
        int64_t time = integer(&made, 1, "start_time_ns");
        CU_ASSERT_TRUE(time == RLMR_TIME_ABSENT || time == integer(&made, 0, "start_time_ns"));
        close_fixture(&made);
    }
}

static void test_a_last_row_without_line_end_is_whole_with_all_cells(void) {
    fixture made;
    map_files(&made, HEADER "add,4.0,1000,,,,,,,,,,,6,NPU:0", NULL);
    check_ok(&made, 1);
    CU_ASSERT_TRUE(has_text(&made, 0, "device_type", "NPU:0"));
    close_fixture(&made);
}

static void test_a_row_of_too_few_or_too_many_cells_stays(void) {
    fixture made;
    map_files(&made, HEADER "add,4.0,1000,,,,,1.5\n" ROW "mul,8.0,2000,,,,,,,,,,,6,NPU:0,and,more\n", NULL);
    check_partial(&made, 3, 2, HEADER_BYTES);
    CU_ASSERT_EQUAL(number(&made, 0, "total_allocated_mb"), 1.5);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "total_reserved_mb")));
    CU_ASSERT_EQUAL(number(&made, 2, "size_kb"), 8.0);
    CU_ASSERT_TRUE(has_text(&made, 2, "device_type", "NPU:0"));
    CU_ASSERT_TRUE(says(&made, "fewer cells than the header has"));
    close_fixture(&made);
}

static void check_no_header(const char *csv, const char *column) {
    char reason[100];
    fixture made;
    map_files(&made, csv, "[]");
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_EQUAL(events_of(&made)->rows, 0);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_DAMAGED);
    (void)snprintf(reason, sizeof reason, "column \"%s\": not in the header, nothing can be read", column);
    CU_ASSERT_TRUE(says(&made, reason));
    close_fixture(&made);
}

static void test_without_a_needed_column_nothing_is_read(void) {
    check_no_header("Size(KB),Allocation Time(us)\n1,2\n3,4\n", "Name");
    check_no_header("Name,Allocation Time(us)\nadd,2\n", "Size");
    check_no_header("Name,Size(KB)\nadd,2\n", "Allocation Time");
    check_no_header("aten::add,512,1000\naten::mul,5,2000\n", "Name");
}

static void test_a_needed_column_of_an_unknown_unit_is_missing(void) {
    fixture made;
    map_files(&made, "Name,Size(KB),Allocation Time(ms)\nadd,1,2\n", "[]");
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_EQUAL(events_of(&made)->rows, 0);
    CU_ASSERT_TRUE(says(&made, "Allocation Time \"Allocation Time(ms)\": a unit that is not known"));
    close_fixture(&made);
}

static void test_a_column_of_an_unknown_unit_is_left_out(void) {
    fixture made;
    map_files(&made,
              "Name,Size(KB),Allocation Time(us),Duration(ms),Allocation Total Active(TB)\nadd,1,2,3,4\n",
              NULL);
    check_partial(&made, 1, 2, 0);
    CU_ASSERT_EQUAL(number(&made, 0, "duration_ms"), 0.0);
    CU_ASSERT_EQUAL(released(&made, 0), 0);
    CU_ASSERT_TRUE(isnan(number(&made, 0, "total_active_mb")));
    CU_ASSERT_TRUE(says(&made, "Duration \"Duration(ms)\": a unit that is not known"));
    close_fixture(&made);
}

static void test_of_a_repeated_column_the_first_counts(void) {
    fixture made;
    map_files(&made, "Name,Size(KB),Allocation Time(us),Size(MB)\nadd,1,2,3\n", NULL);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), 1.0);
    close_fixture(&made);
}

static void test_a_header_alone_or_nothing_at_all_is_whole(void) {
    static const char *const files[] = {HEADER, "", "\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        fixture made;
        map_files(&made, files[i], "[]");
        check_ok(&made, 0);
        CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_READ);
        CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_UNUSED);
        close_fixture(&made);
    }
}

static void test_records_that_cannot_be_read_fail_the_capture(void) {
    fixture made;
    open_fixture(&made);
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv", RLMR_SLICE(HEADER ROW));
    CU_ASSERT_EQUAL(remove(made.capture.files[RLMR_FILE_operator_memory].path), 0);
    map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_TRUE(says(&made, "No such file or directory"));
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 1);
    close_fixture(&made);
}

/* ---- The trace ---- */

#define ADD(ts, stack)                                                                                       \
    "{\"name\": \"add\", \"cat\": \"cpu_op\", \"ts\": " ts                                                   \
    ", \"dur\": 10, \"args\": {\"Call stack\": \"" stack "\"}}"

static void test_records_find_their_stacks(void) {
    fixture made;
    map_files(&made,
              HEADER
              "add,1,1005,,,,,,,,,,,,\nadd,1,1050,,,,,,,,,,,,\nmul,1,1005,,,,,,,,,,,,\nadd,1,1,,,,,,,,,,,,\n",
              "[" ADD("1000", "a.py(1);\\r\\nb.py(2);\\r\\nc.py(3)") ", {\"ph\": \"C\", \"ts\": 3}, " ADD(
                  "1040", "d.py(4)") "]");
    check_ok(&made, 4);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "a.py(1);\r\nb.py(2);\r\nc.py(3)"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_top", "a.py(1)"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "enclosing"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack", "d.py(4)"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack_top", "d.py(4)"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack_match", "nearest"));
    CU_ASSERT_TRUE(has_text(&made, 2, "call_stack", ""));
    CU_ASSERT_TRUE(has_text(&made, 2, "call_stack_top", ""));
    CU_ASSERT_TRUE(has_text(&made, 2, "call_stack_match", "none"));
    CU_ASSERT_TRUE(has_text(&made, 3, "call_stack_match", "none"));
    CU_ASSERT_EQUAL(made.capture.events_seen, 3);
    CU_ASSERT_EQUAL(made.capture.events_with_stack, 2);
    CU_ASSERT_EQUAL(made.capture.events_skipped, 0);
    CU_ASSERT_EQUAL(made.capture.rows_matched, 2);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_READ);
    close_fixture(&made);
}

static void test_without_a_trace_rows_have_no_stack(void) {
    fixture made;
    map_files(&made, HEADER ROW, NULL);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(made.capture.rows_matched, 0);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_ABSENT);
    close_fixture(&made);
}

static void test_without_records_there_are_no_rows(void) {
    fixture made;
    map_files(&made, NULL, "[" ADD("1", "s") "]");
    check_ok(&made, 0);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_UNUSED);
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 1);
    close_fixture(&made);
}

static void test_a_trace_without_events_is_whole(void) {
    fixture made;
    map_files(&made, HEADER ROW, "[]");
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_READ);
    close_fixture(&made);
}

static void test_a_cut_trace_gives_the_stacks_before_the_cut(void) {
    static const char trace[] = "[" ADD("1000", "s") ", " ADD("1020", "t") ", {\"name\": \"ad";
    char where[200];
    fixture made;
    map_files(&made, HEADER "add,1,1005,,,,,,,,,,,,\nadd,1,1090,,,,,,,,,,,,\n", trace);
    check_partial(&made, 2, 0, (int)strlen(trace));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "s"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack", "t"));
    CU_ASSERT_EQUAL(made.capture.events_seen, 2);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_DAMAGED);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_READ);
    (void)snprintf(where, sizeof where, "trace_view.json: parse error: premature EOF at byte %zu",
                   strlen(trace));
    CU_ASSERT_TRUE(says(&made, where));
    close_fixture(&made);
}

static void test_a_trace_that_is_none_is_damaged(void) {
    static const char *const traces[] = {"{}", "5", "", "{\"traceEvents\": 1}", "not JSON"};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        fixture made;
        map_files(&made, HEADER ROW, traces[i]);
        CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_PARTIAL);
        CU_ASSERT_EQUAL(events_of(&made)->rows, 1);
        CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state, RLMR_FILE_DAMAGED);
        CU_ASSERT_TRUE(says(&made, "trace_view.json: "));
        close_fixture(&made);
    }
}

static void test_events_that_are_lost_are_counted(void) {
    fixture made;
    map_files(&made, HEADER "add,1,1005,,,,,,,,,,,,\n",
              "[" ADD("1000", "s") ", 5, null, " ADD("\"soon\"", "t") "]");
    check_partial(&made, 1, 0, (int)strlen("[" ADD("1000", "s") ", "));
    CU_ASSERT_EQUAL(made.capture.events_seen, 2);
    CU_ASSERT_EQUAL(made.capture.events_skipped, 3);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "s"));
    CU_ASSERT_TRUE(says(&made, "trace_view.json: an element that is no event object at byte"));
    CU_ASSERT_TRUE(says(&made, "; 3 errors in trace_view.json, the last: event 1 at byte"));
    close_fixture(&made);
}

static void test_the_policy_is_kept_to(void) {
    static const struct {
        rlmr_match_policy match;
        const char *found;
    } cases[] = {
        {RLMR_MATCH_BEST, "nearest"}, {RLMR_MATCH_NEAREST, "nearest"}, {RLMR_MATCH_ENCLOSING, "none"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture made;
        open_fixture(&made);
        made.options.match = cases[i].match;
        put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv",
                 RLMR_SLICE(HEADER "add,1,1050,,,,,,,,,,,,\n"));
        put_file(&made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("[" ADD("1000", "s") "]"));
        map(&made);
        check_ok(&made, 1);
        CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", cases[i].found));
        close_fixture(&made);
    }
}

/* ---- Clocks ---- */

/* A record at `time` (us) and an operator from 10 s to 10.00001 s, shifted by `offset_ns`. */
static void map_clocks(fixture *made, const char *time, int64_t offset_ns) {
    char csv[1000];
    open_fixture(made);
    made->options.time_offset_ns = offset_ns;
    (void)snprintf(csv, sizeof csv, HEADER "add,1,%s,,,,,,,,,,,,\n", time);
    put_file(made, RLMR_FILE_operator_memory, "operator_memory.csv", rlmr_slice_of(csv));
    put_file(made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("[" ADD("10000000", "s") "]"));
    map(made);
}

static void test_times_more_than_an_hour_apart_do_not_meet(void) {
    fixture made;
    map_clocks(&made, "3610000010.001", 0);
    check_partial(&made, 1, 0, -1);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "none"));
    CU_ASSERT_EQUAL(made.capture.rows_matched, 0);
    CU_ASSERT_TRUE(says(&made, "times do not meet"));
    CU_ASSERT_TRUE(says(&made, "trace_view.json 10000000000..10000010000 ns, "));
    CU_ASSERT_TRUE(says(&made, "operator_memory.csv 3610000010001..3610000010001 ns"));
    CU_ASSERT_TRUE(says(&made, "--time-offset"));
    close_fixture(&made);

    map_clocks(&made, "-3590000000.001", 0);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_PARTIAL);
    CU_ASSERT_TRUE(says(&made, "times do not meet"));
    close_fixture(&made);
}

static void test_times_an_hour_apart_still_meet(void) {
    fixture made;
    map_clocks(&made, "3610000010.000", 0);
    check_ok(&made, 1);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "nearest"));
    close_fixture(&made);
    map_clocks(&made, "-3590000000.000", 0);
    check_ok(&made, 1);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "none"));
    close_fixture(&made);
}

static void test_an_offset_cures_times_that_do_not_meet(void) {
    fixture made;
    map_clocks(&made, "1736408883694624.810", INT64_C(1736408873694624810));
    check_ok(&made, 1);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "enclosing"));
    close_fixture(&made);

    map_clocks(&made, "1736408883694624.810", INT64_C(1736400000000000000));
    check_partial(&made, 1, 0, -1);
    CU_ASSERT_TRUE(says(&made, "trace_view.json 1736400010000000000..1736400010000010000 ns (shifted)"));
    close_fixture(&made);
}

static void test_times_at_the_ends_of_the_range_do_not_overflow(void) {
    fixture made;
    map_clocks(&made, "-9223372036854775.807", 0);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_PARTIAL);
    CU_ASSERT_TRUE(says(&made, "times do not meet"));
    close_fixture(&made);
    map_clocks(&made, "9223372036854775.807", 0);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_PARTIAL);
    close_fixture(&made);
}

/* ---- The whole ---- */

static void test_the_row_of_the_capture_comes_with_its_counts(void) {
    fixture made;
    map_files(&made, HEADER "add,x,1005,,,,,,,,,,,,\nadd,1,1050,,,,,,,,,,,,\n", "[" ADD("1000", "s") "]");
    const rlmr_table *captures = &made.partial.tables[RLMR_TABLE_captures];
    CU_ASSERT_EQUAL_FATAL(captures->rows, 1);
    static const struct {
        const char *column;
        int64_t value;
    } wanted[] = {{"memory_rows", 2},
                  {"rows_matched", 2},
                  {"bad_cells", 1},
                  {"events_seen", 1},
                  {"events_with_stack", 1}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t at = rlmr_schema_column(&rlmr_captures_schema, wanted[i].column);
        CU_ASSERT_EQUAL(*(int64_t *)rlmr_table_value(captures, 0, at), wanted[i].value);
    }
    close_fixture(&made);
}

static void test_captures_share_the_tables_of_a_process(void) {
    fixture made;
    map_files(&made, HEADER "add,1,1005,,,,,,,,,,,,\n", "[" ADD("1000", "s") "]");
    rlmr_capture_release(&made.capture);
    made.capture.number = 5;
    made.capture.rank_id = 18;
    made.capture.role = strdup("critic");
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv",
             RLMR_SLICE(HEADER "add,2,1005,,,,,,,,,,,,\nadd,3,1,,,,,,,,,,,,\n"));
    put_file(&made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("[" ADD("1000", "t") "]"));
    map(&made);
    CU_ASSERT_EQUAL_FATAL(events_of(&made)->rows, 3);
    CU_ASSERT_EQUAL(made.capture.memory_rows, 2);
    CU_ASSERT_EQUAL(made.capture.rows_matched, 1);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "s"));
    CU_ASSERT_TRUE(has_text(&made, 0, "role", "actor"));
    CU_ASSERT_TRUE(has_text(&made, 1, "call_stack", "t"));
    CU_ASSERT_TRUE(has_text(&made, 1, "role", "critic"));
    CU_ASSERT_EQUAL(*(int32_t *)value_of(&made, 1, "capture"), 5);
    CU_ASSERT_TRUE(has_text(&made, 2, "call_stack_match", "none"));
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 2);
    close_fixture(&made);
}

static void test_nothing_is_read_of_a_capture_that_is_lost_already(void) {
    static const rlmr_capture_status lost[] = {RLMR_CAPTURE_FAILED, RLMR_CAPTURE_EMPTY};
    for (size_t i = 0; i < 2; i++) {
        fixture made;
        open_fixture(&made);
        put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv", RLMR_SLICE(HEADER ROW));
        made.capture.status = lost[i];
        map(&made);
        CU_ASSERT_EQUAL(made.status, RLMR_OK);
        CU_ASSERT_EQUAL(made.metered, 0);
        CU_ASSERT_EQUAL(events_of(&made)->rows, 0);
        CU_ASSERT_EQUAL(made.capture.status, lost[i]);
        CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 1);
        close_fixture(&made);
    }
}

/* ---- Databases ---- */

#define DB_RECORDS                                                                                           \
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"                                          \
    "INSERT INTO STRING_IDS VALUES (1, 'add'), (2, 'MatMul'), (3, 'a.py(1): f'), (4, 'b.py(2): g');"         \
    "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, duration INTEGER,"          \
    " allocationTotalAllocated INTEGER, allocationTotalActive INTEGER, streamPtr INTEGER, deviceId "         \
    "INTEGER);"                                                                                              \
    "INSERT INTO OP_MEMORY VALUES (1, 512, 1736408883694624810, 49001, 1572864, 1048576, 6, 0),"             \
    " (2, 1024, 1736408883694624811, NULL, 1572864, NULL, NULL, 1);"
#define DB_EVENTS                                                                                            \
    "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, name INTEGER, sequenceNumber "   \
    "INTEGER,"                                                                                               \
    " fwdThreadId INTEGER, callchainId INTEGER, type INTEGER);"                                              \
    "INSERT INTO PYTORCH_API VALUES ('1736408883694624800', '1736408883694624900', 7, 1, -1, 0, 0, 50001);"  \
    "CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);"                       \
    "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 3, 0), (0, 4, 1);"

static void put_db(fixture *made, const char *sql) {
    put_file(made, RLMR_FILE_profiler_db, "ascend_pytorch_profiler_0.db", RLMR_SLICE(""));
    sqlite3 *db;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(made->capture.files[RLMR_FILE_profiler_db].path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
}

static void check_db_rows(fixture *made) {
    CU_ASSERT_EQUAL_FATAL(events_of(made)->rows, 2);
    CU_ASSERT_EQUAL(integer(made, 0, "start_time_ns"), 1736408883694624810);
    CU_ASSERT_EQUAL(number(made, 0, "size_kb"), 0.5);
    CU_ASSERT_EQUAL(number(made, 0, "duration_ms"), 0.049001);
    CU_ASSERT_EQUAL(number(made, 0, "total_allocated_mb"), 1.5);
    CU_ASSERT_EQUAL(number(made, 0, "total_active_mb"), 1.0);
    CU_ASSERT_TRUE(isnan(number(made, 0, "total_reserved_mb")));
    CU_ASSERT_TRUE(has_text(made, 0, "name", "add"));
    CU_ASSERT_TRUE(has_text(made, 0, "component", "PTA"));
    CU_ASSERT_TRUE(has_text(made, 0, "stream", "6"));
    CU_ASSERT_TRUE(has_text(made, 0, "device_type", "NPU:0"));
    CU_ASSERT_TRUE(has_text(made, 1, "name", "cann::MatMul"));
    CU_ASSERT_TRUE(has_text(made, 1, "component", "GE"));
    CU_ASSERT_TRUE(has_text(made, 1, "call_stack_match", "none"));
}

static void check_metadata(const char *text, rlmr_file_state state, uint64_t groups) {
    fixture made;
    open_fixture(&made);
    made.options.analyses[RLMR_ANALYSIS_MEMORY] = false;
    made.options.analyses[RLMR_ANALYSIS_STEP_TRACE] = true;
    put_db(&made, "CREATE TABLE META_DATA (name TEXT, value TEXT); INSERT INTO META_DATA VALUES "
                  "('parallel_group_info', '{\"g\": {\"global_ranks\": [0, 1]}}'), "
                  "('distributed_args', '{\"world_size\": 2}')");
    put_file(&made, RLMR_FILE_profiler_metadata, "profiler_metadata.json", rlmr_slice_of(text));
    made.capture.files[RLMR_FILE_profiler_metadata].state = state;
    capture_fixture_map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_group_declared].rows, groups);
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_job_distribution].rows, groups);
    close_fixture(&made);
}

static void test_a_database_gives_the_metadata_that_the_text_lacks(void) {
    check_metadata("{}", RLMR_FILE_READ, 1);
    check_metadata("{\"parallel_group_info\": {}, \"distributed_args\": {}}", RLMR_FILE_READ, 0);
    check_metadata("{\"ro", RLMR_FILE_DAMAGED, 0); /* as the search for captures leaves it */
}

static void test_a_database_gives_records_and_their_stacks(void) {
    fixture made;
    open_fixture(&made);
    put_db(&made, DB_RECORDS DB_EVENTS);
    map(&made);
    check_ok(&made, 2);
    check_db_rows(&made);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "a.py(1): f;\r\nb.py(2): g"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_top", "a.py(1): f"));
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "enclosing"));
    CU_ASSERT_EQUAL(made.capture.events_seen, 1);
    CU_ASSERT_EQUAL(made.capture.events_with_stack, 1);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_profiler_db].state, RLMR_FILE_READ);
    close_fixture(&made);
}

static void test_each_kind_of_text_goes_before_the_database(void) {
    fixture made;
    open_fixture(&made); /* records as text, events from the database */
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv",
             RLMR_SLICE(HEADER "add,4.0,1736408883694624.850,,,,,,,,,,,,\n"));
    put_db(&made, DB_RECORDS DB_EVENTS);
    map(&made);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(number(&made, 0, "size_kb"), 4.0);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack_match", "enclosing"));
    close_fixture(&made);

    open_fixture(&made); /* the other way round */
    put_file(&made, RLMR_FILE_trace_view, "trace_view.json",
             RLMR_SLICE("[" ADD("1736408883694624.8", "s") "]"));
    put_db(&made, DB_RECORDS DB_EVENTS);
    map(&made);
    check_ok(&made, 2);
    check_db_rows(&made);
    CU_ASSERT_TRUE(has_text(&made, 0, "call_stack", "s"));
    close_fixture(&made);

    open_fixture(&made); /* all as text, be it damaged */
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv", RLMR_SLICE("no header\n1\n"));
    put_file(&made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("["));
    put_db(&made, DB_RECORDS DB_EVENTS);
    map(&made);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_profiler_db].state, RLMR_FILE_UNUSED);
    close_fixture(&made);
}

static void test_a_database_without_records_has_none(void) {
    fixture made;
    open_fixture(&made);
    put_db(&made, DB_EVENTS);
    map(&made);
    check_ok(&made, 0);
    close_fixture(&made);
}

static void test_a_damaged_database_is_said(void) {
    fixture made;
    open_fixture(&made);
    put_file(
        &made, RLMR_FILE_profiler_db, "ascend_pytorch_profiler_0.db",
        RLMR_SLICE(
            "this is no database, and has some hundred bytes to say so: ................................"));
    map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    CU_ASSERT_EQUAL(made.capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_profiler_db].state, RLMR_FILE_DAMAGED);
    CU_ASSERT_TRUE(says(&made, "ascend_pytorch_profiler_0.db: "));
    close_fixture(&made);

    open_fixture(&made);
    put_db(&made, DB_RECORDS "UPDATE OP_MEMORY SET name = 99, allocationTime = 'soon' WHERE deviceId = 1;");
    map(&made);
    check_partial(&made, 2, 1, -1); /* no time; the name is no cell */
    CU_ASSERT_TRUE(says(&made, "ascend_pytorch_profiler_0.db: row 2: Allocation Time \"soon\": no time"));
    CU_ASSERT_TRUE(says(&made, " errors in ascend_pytorch_profiler_0.db"));
    close_fixture(&made);
}

/* ---- The log of errors ---- */

static void add_line(void *self, const rlmr_capture *capture, const char *file, const char *text) {
    (void)fprintf(self, "%s: %s: %s\n", capture->path, file, text);
}

static void test_every_error_goes_to_the_log(void) {
    fixture made;
    char *lines = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&lines, &bytes);
    rlmr_damage_log log = {.met = add_line, .self = out};
    open_fixture(&made);
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv",
             RLMR_SLICE("Name,Size(KB),Allocation Time(us)\nadd,x,1000\nadd,y,1000\nadd,\"1,2\n"));
    put_file(&made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("[5, {\"name\": NaN}]"));
    CU_ASSERT_EQUAL(
        rlmr_map_capture(&made.capture, &made.options, &made.partial, NULL, &made.meter, &log, &made.err),
        RLMR_OK);
    CU_ASSERT_EQUAL(fclose(out), 0);
    CU_ASSERT_STRING_EQUAL(
        lines, "a_ascend_pt: operator_memory.csv: row 1 at byte 34: Size \"x\": not a number\n"
               "a_ascend_pt: operator_memory.csv: row 2 at byte 45: Size \"y\": not a number\n"
               "a_ascend_pt: operator_memory.csv: a quote that is not closed at byte 56\n"
               "a_ascend_pt: trace_view.json: an element that is no event object at byte 1\n"
               "a_ascend_pt: trace_view.json: lexical error: invalid char in json text. at byte 13\n");
    free(lines);
    close_fixture(&made);
}

static void test_an_analysis_that_is_not_chosen_reads_nothing(void) {
    fixture made;
    open_fixture(&made);
    made.options.analyses[RLMR_ANALYSIS_MEMORY] = false;
    put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv", RLMR_SLICE(HEADER ROW));
    map(&made);
    check_ok(&made, 0);
    CU_ASSERT_EQUAL(made.metered, 0);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_operator_memory].state, RLMR_FILE_UNUSED);
    CU_ASSERT_FALSE(rlmr_map_reads(&made.options, &made.capture, RLMR_FILE_operator_memory));
    CU_ASSERT_FALSE(rlmr_map_makes(&made.options, RLMR_TABLE_memory_events));
    CU_ASSERT_TRUE(rlmr_map_makes(&made.options, RLMR_TABLE_captures));
    close_fixture(&made);
}

/* ---- Strict ---- */

static void map_strictly(fixture *made, const char *csv, const char *trace) {
    open_fixture(made);
    made->options.strict = true;
    put_file(made, RLMR_FILE_operator_memory, "operator_memory.csv", rlmr_slice_of(csv));
    put_file(made, RLMR_FILE_trace_view, "trace_view.json", rlmr_slice_of(trace));
    map(made);
}

static void test_strict_makes_damage_an_error(void) {
    fixture made;
    map_strictly(&made, HEADER "add,1,1005,,,,,,,,,,,,\n", "[" ADD("1000", "s"));
    CU_ASSERT_EQUAL(made.status, RLMR_E_PARSE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(made.err.message, "--strict: capture a_ascend_pt is partial: trace_view.json: "));
    CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 0);
    close_fixture(&made);

    map_strictly(&made, HEADER "add,x,1005,,,,,,,,,,,,\n", "[" ADD("1000", "s") "]");
    CU_ASSERT_EQUAL(made.status, RLMR_E_PARSE);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.err.message, "row 1 at byte"));
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_trace_view].state,
                    RLMR_FILE_UNUSED); /* it has failed by then */
    close_fixture(&made);
}

static void test_strict_lets_whole_and_empty_captures_pass(void) {
    fixture made;
    map_strictly(&made, HEADER "add,1,1005,,,,,,,,,,,,\n", "[" ADD("1000", "s") "]");
    check_ok(&made, 1);
    close_fixture(&made);

    open_fixture(&made);
    made.options.strict = true;
    made.capture.status = RLMR_CAPTURE_EMPTY;
    map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_OK);
    close_fixture(&made);

    open_fixture(&made);
    made.options.strict = true;
    made.capture.status = RLMR_CAPTURE_FAILED;
    CU_ASSERT_EQUAL(rlmr_capture_note(&made.capture, NULL, "no rank id"), RLMR_OK);
    map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_E_PARSE);
    CU_ASSERT_STRING_EQUAL(made.err.message, "--strict: capture a_ascend_pt is failed: no rank id");
    close_fixture(&made);
}

/* ---- The meter ---- */

static void test_the_meter_hears_of_all_bytes(void) {
    static const char csv[] = HEADER "add,1,1005,,,,,,,,,,,,\n";
    static const char trace[] = "[" ADD("1000", "s") "]";
    fixture made;
    map_files(&made, csv, trace);
    check_ok(&made, 1);
    CU_ASSERT_EQUAL(made.metered, sizeof csv + sizeof trace - 2);
    CU_ASSERT_EQUAL(made.capture.bytes_read, (int64_t)made.metered);
    close_fixture(&made);
}

static void test_the_meter_may_end_the_work(void) {
    static const char csv[] = HEADER "add,1,1005,,,,,,,,,,,,\n";
    const size_t limits[] = {0, sizeof csv - 2, sizeof csv - 1, sizeof csv + 5};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        fixture made;
        open_fixture(&made);
        made.metered_max = limits[i];
        put_file(&made, RLMR_FILE_operator_memory, "operator_memory.csv", rlmr_slice_of(csv));
        put_file(&made, RLMR_FILE_trace_view, "trace_view.json", RLMR_SLICE("[" ADD("1000", "s") "]"));
        map(&made);
        CU_ASSERT_EQUAL(made.status, RLMR_E_STOPPED);
        CU_ASSERT_STRING_EQUAL(made.err.message, "enough");
        CU_ASSERT_EQUAL(made.partial.tables[RLMR_TABLE_captures].rows, 0);
        close_fixture(&made);
    }
}

CU_TestInfo rlmr_tests_mapper[] = {
    {"a record becomes a row", test_a_record_becomes_a_row},
    {"units are those of the header", test_units_are_those_of_the_header},
    {"a file of ten columns is whole", test_a_file_of_ten_columns_is_whole},
    {"a record that was never released has no duration", test_a_record_that_was_never_released},
    {"a release or a duration says that a record was released",
     test_a_release_or_a_duration_says_that_it_was_released},
    {"a record of a release alone has the values of the release", test_a_record_of_a_release_alone},
    {"a release-only record of a known name looks for no stack",
     test_a_release_only_record_of_a_known_name_looks_for_no_stack},
    {"the component is in the name", test_the_component_is_in_the_name},
    {"durations are divided once", test_durations_are_divided_once},
    {"a bad cell costs the cell and is described", test_a_bad_cell_costs_the_cell_and_is_described},
    {"numbers that are none are bad cells", test_numbers_that_are_none_are_bad_cells},
    {"a number too great in our unit is a bad cell", test_a_number_too_great_in_our_unit_is_a_bad_cell},
    {"a stamp saved by a spreadsheet is a bad cell", test_a_stamp_saved_by_a_spreadsheet_is_a_bad_cell},
    {"a record without any time is a bad cell", test_a_record_without_any_time_is_a_bad_cell},
    {"a text that is not UTF-8 is replaced and counted",
     test_a_text_that_is_not_utf8_is_replaced_and_counted},
    {"a cut last row stays without its last cell", test_a_cut_last_row_stays_without_its_last_cell},
    {"a file cut at any byte of the last row keeps the rest",
     test_a_file_cut_at_any_byte_of_the_last_row_keeps_the_rest},
    {"a last row without line end is whole with all cells",
     test_a_last_row_without_line_end_is_whole_with_all_cells},
    {"a row of too few or too many cells stays", test_a_row_of_too_few_or_too_many_cells_stays},
    {"without a needed column nothing is read", test_without_a_needed_column_nothing_is_read},
    {"a needed column of an unknown unit is missing", test_a_needed_column_of_an_unknown_unit_is_missing},
    {"a column of an unknown unit is left out", test_a_column_of_an_unknown_unit_is_left_out},
    {"of a repeated column the first counts", test_of_a_repeated_column_the_first_counts},
    {"a header alone, or nothing at all, is whole", test_a_header_alone_or_nothing_at_all_is_whole},
    {"records that cannot be read fail the capture", test_records_that_cannot_be_read_fail_the_capture},
    {"records find their stacks", test_records_find_their_stacks},
    {"without a trace rows have no stack", test_without_a_trace_rows_have_no_stack},
    {"without records there are no rows", test_without_records_there_are_no_rows},
    {"a trace without events is whole", test_a_trace_without_events_is_whole},
    {"a cut trace gives the stacks before the cut", test_a_cut_trace_gives_the_stacks_before_the_cut},
    {"a trace that is none is damaged", test_a_trace_that_is_none_is_damaged},
    {"events that are lost are counted", test_events_that_are_lost_are_counted},
    {"the policy is kept to", test_the_policy_is_kept_to},
    {"times more than an hour apart do not meet", test_times_more_than_an_hour_apart_do_not_meet},
    {"times an hour apart still meet", test_times_an_hour_apart_still_meet},
    {"an offset cures times that do not meet", test_an_offset_cures_times_that_do_not_meet},
    {"times at the ends of the range do not overflow", test_times_at_the_ends_of_the_range_do_not_overflow},
    {"the row of the capture comes with its counts", test_the_row_of_the_capture_comes_with_its_counts},
    {"captures share the tables of a process", test_captures_share_the_tables_of_a_process},
    {"nothing is read of a capture that is lost already",
     test_nothing_is_read_of_a_capture_that_is_lost_already},
    {"a database gives the metadata that the text lacks",
     test_a_database_gives_the_metadata_that_the_text_lacks},
    {"a database gives records and their stacks", test_a_database_gives_records_and_their_stacks},
    {"each kind of text goes before the database", test_each_kind_of_text_goes_before_the_database},
    {"a database without records has none", test_a_database_without_records_has_none},
    {"a damaged database is said", test_a_damaged_database_is_said},
    {"every error goes to the log", test_every_error_goes_to_the_log},
    {"an analysis that is not chosen reads nothing", test_an_analysis_that_is_not_chosen_reads_nothing},
    {"strict makes damage an error", test_strict_makes_damage_an_error},
    {"strict lets whole and empty captures pass", test_strict_lets_whole_and_empty_captures_pass},
    {"the meter hears of all bytes", test_the_meter_hears_of_all_bytes},
    {"the meter may end the work", test_the_meter_may_end_the_work},
    CU_TEST_INFO_NULL,
};
