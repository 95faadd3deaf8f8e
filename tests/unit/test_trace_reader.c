#include "rlmr/trace_reader.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The file that is read ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static fixture write_fixture(rlmr_slice content) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-trace-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/trace_view.json", made.directory) > 0);
    FILE *file = fopen(made.path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(content.text, 1, content.bytes, file), content.bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    return made;
}

static void remove_fixture(fixture *made) {
    CU_ASSERT_EQUAL(unlink(made->path), 0);
    CU_ASSERT_EQUAL(rmdir(made->directory), 0);
    free(made->path);
    free(made->directory);
}

/* ---- What comes of it, as text ---- */

static void put_field(FILE *out, const char *field, rlmr_slice value) {
    if (value.bytes > 0) {
        (void)fprintf(out, " %s=", field);
        (void)fwrite(value.text, 1, value.bytes, out);
    }
}

/* An event is a line: its number, and its fields that are not empty. */
static rlmr_status note_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "%llu", (unsigned long long)event->number);
#define PUT_FIELD(field, key) put_field(out, #field, event->field);
    RLMR_EVENT_FIELDS(PUT_FIELD)
    RLMR_ARGS_FIELDS(PUT_FIELD)
#undef PUT_FIELD
    (void)fputc('\n', out);
    return RLMR_OK;
}

typedef struct {
    rlmr_status status;
    rlmr_error err;
    uint64_t events;
    uint64_t skipped;
    char *text;
    size_t bytes;
} reading;

static reading read_trace(rlmr_slice content) {
    reading got = {.text = NULL};
    fixture file = write_fixture(content);
    FILE *out = open_memstream(&got.text, &got.bytes);
    rlmr_error_clear(&got.err);
    got.status = rlmr_trace_read(file.path, note_event, out, NULL, &got.events, &got.skipped, &got.err);
    CU_ASSERT_EQUAL(got.err.code, got.status);
    CU_ASSERT_EQUAL(fclose(out), 0);
    remove_fixture(&file);
    return got;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (char before = '\0'; *text != '\0'; before = *text++) {
        lines += *text == '\n' && before != '\r'; /* which is inside a stack */
    }
    return lines;
}

static void check_skipping(const char *content, const char *wanted, uint64_t skipped) {
    reading got = read_trace(rlmr_slice_of(content));
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_EQUAL(got.skipped, skipped);
    CU_ASSERT_EQUAL(got.events, count_lines(wanted));
    bool same = strcmp(got.text, wanted) == 0;
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    wanted:\n%s    read:\n%s", wanted, got.text);
    }
    free(got.text);
}

static void check(const char *content, const char *wanted) {
    check_skipping(content, wanted, 0);
}

static void check_damaged(const char *content, const char *wanted) {
    reading got = read_trace(rlmr_slice_of(content));
    CU_ASSERT_EQUAL(got.status, RLMR_E_PARSE);
    CU_ASSERT_STRING_EQUAL(got.text, wanted);
    CU_ASSERT_EQUAL(got.events, count_lines(wanted));
    free(got.text);
}

/* ---- Forms ---- */

#define FULL                                                                                                 \
    "{\"ph\": \"X\", \"name\": \"aten::add\", \"cat\": \"cpu_op\", \"ts\": \"1736408883694624.810\", "       \
    "\"dur\": 25.5, \"pid\": 4294967295, \"tid\": \"main\", \"args\": {\"Sequence number\": 12, "            \
    "\"Fwd thread id\": 1, \"Call stack\": \"a.py(1);\\r\\nb.py(2)\", \"Input Dims\": [[1, 2], []]}}"
#define FULL_LINE                                                                                            \
    " name=aten::add cat=cpu_op ts=1736408883694624.810 dur=25.5 pid=4294967295 tid=main sequence=12 "       \
    "forward_thread=1 call_stack=a.py(1);\r\nb.py(2)\n"

static void test_an_array_of_events_is_read(void) {
    check("[" FULL ", {\"name\": \"b\"}]", "0" FULL_LINE "1 name=b\n");
    check("[\n  " FULL ",\n  " FULL "\n]\n", "0" FULL_LINE "1" FULL_LINE);
}

static void test_an_object_with_the_events_is_read(void) {
    check("{\"traceEvents\": [" FULL "]}", "0" FULL_LINE);
    check("{\"schemaVersion\": 1, \"deviceProperties\": [{\"name\": \"NPU\", \"id\": 0}], \"traceEvents\": "
          "[" FULL ", {\"name\": \"b\"}], \"traceName\": \"x\", \"more\": {\"list\": [{\"name\": \"c\"}]}}",
          "0" FULL_LINE "1 name=b\n");
}

static void test_an_array_may_be_empty(void) {
    check("[]", "");
    check(" [ ] \n", "");
    check("{\"traceEvents\": []}", "");
}

static void test_a_file_without_events_is_damaged(void) {
    check_damaged("{}", "");
    check_damaged("{\"events\": [{\"name\": \"a\"}]}", "");
    check_damaged("{\"traceEvents\": {\"name\": \"a\"}}", "");
    check_damaged("{\"traceEvents\": 1, \"other\": [{\"name\": \"a\"}]}", "");
    check_damaged("{\"other\": \"traceEvents\", \"more\": [{\"name\": \"a\"}]}", "");
    check_damaged("{\"data\": {\"traceEvents\": [{\"name\": \"a\"}]}}", "");
    check_damaged("{\"data\": [{\"traceEvents\": [{\"name\": \"a\"}]}]}", "");
    check_damaged("5", "");
    check_damaged("\"traceEvents\"", "");
    check_damaged("", "");
}

/* ---- Fields ---- */

static void test_keys_come_in_any_order(void) {
    check("[{\"args\": {\"Call stack\": \"s\", \"Sequence number\": 3}, \"tid\": 7, \"ts\": 5, \"name\": "
          "\"n\", "
          "\"cat\": \"cpu_op\", \"ph\": \"X\"}]",
          "0 name=n cat=cpu_op ts=5 tid=7 sequence=3 call_stack=s\n");
}

static void test_numbers_and_texts_are_both_kept(void) {
    check(
        "[{\"ts\": 1736408883694624.810, \"dur\": \"0\", \"pid\": \"Main 1\", \"tid\": 12345678901234567890, "
        "\"args\": {\"Sequence number\": \"17\", \"Fwd thread id\": \"2\"}}]",
        "0 ts=1736408883694624.810 dur=0 pid=Main 1 tid=12345678901234567890 sequence=17 forward_thread=2\n");
}

static void test_a_field_of_another_type_is_absent(void) {
    check("[{\"name\": 1, \"cat\": 2, \"args\": {\"Call stack\": 3}}]", "0\n");
    check("[{\"name\": null, \"ts\": true, \"dur\": [1, 2], \"pid\": {\"name\": \"x\"}, \"cat\": "
          "[\"cpu_op\"]}]",
          "0\n");
    check("[{\"args\": {\"Call stack\": {\"Call stack\": \"x\"}, \"Sequence number\": [1], \"Fwd thread "
          "id\": null}}]",
          "0\n");
    check("[{\"name\": \"\", \"ts\": \"\"}]", "0\n");
}

static void test_args_may_be_anything(void) {
    check("[{\"args\": null, \"name\": \"a\"}, {\"args\": [\"Call stack\", \"x\"], \"name\": \"b\"}, "
          "{\"args\": \"Call stack\", \"name\": \"c\"}, {\"args\": {}, \"name\": \"d\"}]",
          "0 name=a\n1 name=b\n2 name=c\n3 name=d\n");
}

static void test_only_the_level_of_a_key_counts(void) {
    check("[{\"Call stack\": \"x\", \"Sequence number\": 1}]", "0\n");
    check("[{\"name\": \"a\", \"args\": {\"name\": \"b\", \"ts\": 5, \"cat\": \"x\"}}]", "0 name=a\n");
    check("[{\"args\": {\"args\": {\"Call stack\": \"x\"}}, \"name\": \"a\"}]", "0 name=a\n");
    check("[{\"other\": {\"Call stack\": \"x\", \"args\": {\"Call stack\": \"y\"}}, \"name\": \"a\"}]",
          "0 name=a\n");
    check("[{\"args\": {\"list\": [\"Call stack\", {\"Call stack\": \"x\"}]}, \"name\": \"a\"}]",
          "0 name=a\n");
}

static void test_fields_of_one_event_do_not_reach_the_next(void) {
    check("[" FULL ", {}, {\"args\": {}}]", "0" FULL_LINE "1\n2\n");
}

static void test_the_last_of_repeated_keys_counts(void) {
    check("[{\"name\": \"a\", \"name\": \"longer\", \"ts\": 1, \"ts\": \"2\"}]", "0 name=longer ts=2\n");
    check("[{\"name\": \"a\", \"name\": 5, \"ts\": 1, \"ts\": null, \"dur\": 1, \"dur\": {}}]", "0\n");
    check("[{\"args\": {\"Call stack\": \"x\", \"Call stack\": \"y\", \"Sequence number\": 1, \"Sequence "
          "number\": []}}]",
          "0 call_stack=y\n");
}

static void test_the_last_of_repeated_args_counts(void) {
    check("[{\"args\": {\"Call stack\": \"x\", \"Sequence number\": 1}, \"args\": {\"Sequence number\": 2}}]",
          "0 sequence=2\n");
    check("[{\"args\": {\"Call stack\": \"x\"}, \"name\": \"a\", \"args\": 5}]", "0 name=a\n");
    check("[{\"args\": {\"Call stack\": \"x\"}, \"args\": []}]", "0\n");
    check("[{\"args\": 5, \"args\": {\"Call stack\": \"x\"}}]", "0 call_stack=x\n");
}

static void test_keys_may_be_escaped(void) {
    check("[{\"n\\u0061me\": \"a\", \"args\": {\"Call\\u0020stack\": \"x\"}}]", "0 name=a call_stack=x\n");
}

static void test_elements_that_are_no_objects_are_skipped(void) {
    check_skipping("[1, \"x\", null, true, [], {\"name\": \"a\"}, [{\"name\": \"inner\"}], -1.5]",
                   "0 name=a\n", 7);
    check_skipping("[[[{\"name\": \"a\", \"args\": {\"Call stack\": \"x\"}}], 2], {}]", "0\n", 1);
    check_skipping("{\"traceEvents\": [null, {\"name\": \"a\"}]}", "0 name=a\n", 1);
}

static void test_long_texts_are_whole(void) {
    enum { STACK_BYTES = 700000 };
    char *content = malloc(STACK_BYTES + 100);
    char *at = stpcpy(content, "[{\"args\": {\"Call stack\": \"");
    memset(at, 's', STACK_BYTES);
    at = stpcpy(at + STACK_BYTES, "\"}, \"name\": \"n\"}]");
    reading got = read_trace((rlmr_slice){content, (size_t)(at - content)});
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_EQUAL(got.bytes, strlen("0 name=n call_stack=\n") + STACK_BYTES);
    CU_ASSERT_EQUAL(strspn(got.text + strlen("0 name=n call_stack="), "s"), STACK_BYTES);
    free(got.text);
    free(content);
}

/* ---- Damage ---- */

/* Each proper prefix gives the events that are complete in it, and the error lies at its end. */
static void check_every_cut(const char *whole, const char *lines) {
    size_t length = strlen(whole);
    for (size_t bytes = 0; bytes < length; bytes++) {
        reading got = read_trace((rlmr_slice){whole, bytes});
        size_t complete = 0;
        for (size_t at = 0; at + 1 <= bytes; at++) {
            complete += whole[at] == '}' && whole[at + 1] == '\n'; /* only an event ends a line */
        }
        const char *rest = lines;
        for (size_t i = 0; i < complete; i++) {
            rest = strchr(rest, '\n') + 1;
        }
        CU_ASSERT_EQUAL(got.status, RLMR_E_PARSE);
        CU_ASSERT_EQUAL(got.err.offset, (int64_t)bytes);
        CU_ASSERT_EQUAL(got.events, complete);
        CU_ASSERT_TRUE(
            rlmr_slice_equal((rlmr_slice){got.text, got.bytes}, (rlmr_slice){lines, (size_t)(rest - lines)}));
        free(got.text);
    }
    check(whole, lines);
}

/* Three events, each with a line of its own. */
#define SMALL                                                                                                \
    "[{\"name\": \"a\", \"args\": {\"Call stack\": \"x\\u0020y\"}, \"ts\": \"12.5\"}\n"                      \
    ",{\"ts\": -17e3, \"pid\": null, \"args\": [{}]}\n"                                                      \
    ",{\"cat\": \"cpu_op\", \"args\": {\"Sequence number\": 1}}\n]"
#define SMALL_LINES "0 name=a ts=12.5 call_stack=x y\n1 ts=-17e3\n2 cat=cpu_op sequence=1\n"

static void test_a_cut_at_any_byte_keeps_the_events_before_it(void) {
    check_every_cut(SMALL, SMALL_LINES);
}

static void test_a_cut_of_the_object_form_keeps_the_events_before_it(void) {
    check_every_cut("{\"a\": [{}], \"traceEvents\": " SMALL ", \"b\": {}}", SMALL_LINES);
}

static void test_events_before_damage_are_given(void) {
    check_damaged("[{\"name\": \"a\"}, {\"name\": \"b\"},]", "0 name=a\n1 name=b\n");
    check_damaged("[{\"name\": \"a\"}] []", "0 name=a\n");
    check_damaged("[{\"name\": \"a\"}, {\"name\": \"b\", \"ts\": NaN}]", "0 name=a\n");
    check_damaged("[{\"name\": \"a\"}, {\"name\": \"b\" \"c\"}]", "0 name=a\n");
}

/* ---- Ends ---- */

static rlmr_status refuse_third(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    ++*(int *)context;
    return event->number == 2 ? rlmr_error_set(err, RLMR_E_RANGE, "no more of it") : RLMR_OK;
}

static void test_the_taker_of_events_may_end_the_reading(void) {
    fixture file = write_fixture(RLMR_SLICE("[{}, 5, {}, {}, {}, 6]"));
    int calls = 0;
    uint64_t events;
    uint64_t skipped;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_trace_read(file.path, refuse_third, &calls, NULL, &events, &skipped, &err),
                    RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    CU_ASSERT_EQUAL(calls, 3);
    CU_ASSERT_EQUAL(events, 3);
    CU_ASSERT_EQUAL(skipped, 1);
    remove_fixture(&file);
}

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    *(size_t *)context += bytes;
    return *(size_t *)context > 5 ? rlmr_error_set(err, RLMR_E_STOPPED, "enough") : RLMR_OK;
}

static void test_the_meter_may_end_the_reading(void) {
    fixture file = write_fixture(RLMR_SLICE("[{}, {}]"));
    size_t metered = 0;
    int calls = 0;
    uint64_t events = 99;
    uint64_t skipped = 99;
    rlmr_meter meter = {.advance = advance, .self = &metered};
    CU_ASSERT_EQUAL(rlmr_trace_read(file.path, refuse_third, &calls, &meter, &events, &skipped, NULL),
                    RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(metered, 8);
    CU_ASSERT_EQUAL(events, (uint64_t)calls);
    CU_ASSERT_EQUAL(skipped, 0);
    remove_fixture(&file);
}

static void test_a_file_that_is_not_there_has_no_events(void) {
    fixture file = write_fixture(RLMR_SLICE("[{}]"));
    int calls = 0;
    uint64_t events = 99;
    uint64_t skipped = 99;
    CU_ASSERT_EQUAL(rlmr_trace_read(file.directory, refuse_third, &calls, NULL, &events, &skipped, NULL),
                    RLMR_E_INPUT);
    CU_ASSERT_EQUAL(events, 0);
    CU_ASSERT_EQUAL(skipped, 0);
    remove_fixture(&file);
}

CU_TestInfo rlmr_tests_trace_reader[] = {
    {"an array of events is read", test_an_array_of_events_is_read},
    {"an object with the events is read", test_an_object_with_the_events_is_read},
    {"an array may be empty", test_an_array_may_be_empty},
    {"a file without events is damaged", test_a_file_without_events_is_damaged},
    {"keys come in any order", test_keys_come_in_any_order},
    {"numbers and texts are both kept as written", test_numbers_and_texts_are_both_kept},
    {"a field of another type is absent", test_a_field_of_another_type_is_absent},
    {"args may be anything", test_args_may_be_anything},
    {"only the level of a key counts", test_only_the_level_of_a_key_counts},
    {"fields of one event do not reach the next", test_fields_of_one_event_do_not_reach_the_next},
    {"the last of repeated keys counts", test_the_last_of_repeated_keys_counts},
    {"the last of repeated args counts", test_the_last_of_repeated_args_counts},
    {"keys may be escaped", test_keys_may_be_escaped},
    {"elements that are no objects are skipped", test_elements_that_are_no_objects_are_skipped},
    {"long texts are whole", test_long_texts_are_whole},
    {"a cut at any byte keeps the events before it", test_a_cut_at_any_byte_keeps_the_events_before_it},
    {"a cut of the object form keeps the events before it",
     test_a_cut_of_the_object_form_keeps_the_events_before_it},
    {"events before damage are given", test_events_before_damage_are_given},
    {"the taker of events may end the reading", test_the_taker_of_events_may_end_the_reading},
    {"the meter may end the reading", test_the_meter_may_end_the_reading},
    {"a file that is not there has no events", test_a_file_that_is_not_there_has_no_events},
    CU_TEST_INFO_NULL,
};
