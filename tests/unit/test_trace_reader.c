#include "rlmr/trace_reader.h"

#include "rlmr/json_reader.h"
#include "rlmr/limits.h"

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

static rlmr_slice stack_of(const rlmr_trace_event *event, rlmr_bytes *decoded) {
    if (!event->call_stack_escaped) {
        return event->call_stack;
    }
    CU_ASSERT_PTR_NOT_NULL(memchr(event->call_stack.text, '\\', event->call_stack.bytes));
    CU_ASSERT_EQUAL(rlmr_json_string_decode(event->call_stack, decoded, NULL), RLMR_OK);
    return (rlmr_slice){.text = (const char *)decoded->data, .bytes = decoded->bytes};
}

/* An event is a line: its number, and its fields that are not empty. */
static rlmr_status note_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    FILE *out = context;
    rlmr_bytes decoded = {0};
    rlmr_trace_event shown = *event;
    shown.call_stack = stack_of(event, &decoded);
    (void)err;
    (void)fprintf(out, "%llu", (unsigned long long)shown.number);
#define PUT_FIELD(field, key) put_field(out, #field, shown.field);
    RLMR_EVENT_FIELDS(PUT_FIELD)
    RLMR_ARGS_FIELDS(PUT_FIELD)
#undef PUT_FIELD
    (void)fputc('\n', out);
    rlmr_bytes_release(&decoded);
    return RLMR_OK;
}

/* What was told of damage. */
typedef struct {
    uint64_t errors;
    uint64_t lost;
    int64_t offset;   /* of the first */
    char reason[256]; /* of the first */
} damage_seen;

static rlmr_status note_damage(void *context, int64_t offset, bool lost, const char *reason,
                               rlmr_error *err) {
    damage_seen *seen = context;
    (void)err;
    if (seen->errors == 0) {
        seen->offset = offset;
        (void)snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    }
    seen->errors++;
    seen->lost += lost;
    return RLMR_OK;
}

typedef struct {
    rlmr_status status;
    rlmr_error err;
    uint64_t events;
    damage_seen damage;
    char *text;
    size_t bytes;
} reading;

static reading read_as(rlmr_slice content, bool strict) {
    reading got = {.text = NULL};
    fixture file = write_fixture(content);
    FILE *out = open_memstream(&got.text, &got.bytes);
    rlmr_error_clear(&got.err);
    rlmr_damage damage = {.met = note_damage, .self = &got.damage};
    got.status = rlmr_trace_read(file.path, strict, note_event, out, &damage, NULL, &got.events, &got.err);
    CU_ASSERT_EQUAL(got.err.code, got.status);
    CU_ASSERT_EQUAL(fclose(out), 0);
    remove_fixture(&file);
    return got;
}

static bool is_wanted(const char *line, size_t bytes) {
    return memmem(line, bytes, " call_stack=", 12) != NULL || memmem(line, bytes, " sequence=", 10) != NULL ||
           memmem(line, bytes, " cat=cpu_op", 11) != NULL;
}

/* Behind the line, which may hold CRLF. */
static const char *line_end(const char *line) {
    const char *end = strchr(line, '\n');
    while (end[-1] == '\r') {
        end = strchr(end + 1, '\n');
    }
    return end + 1;
}

/* Some of the lines, in their order, and all of those that matching can use. */
static bool has_what_is_wanted(const char *some, const char *all) {
    while (*all != '\0') {
        size_t bytes = (size_t)(line_end(all) - all);
        if (strncmp(some, all, bytes) == 0) {
            some += bytes;
        } else if (is_wanted(all, bytes)) {
            return false;
        }
        all += bytes;
    }
    return *some == '\0';
}

static bool is_same_damage(const damage_seen *a, const damage_seen *b) {
    return a->errors == b->errors && a->lost == b->lost && a->offset == b->offset &&
           strcmp(a->reason, b->reason) == 0;
}

/* All is parsed; with the scan in front it comes to the same, but for events that nobody wants. */
static reading read_trace(rlmr_slice content) {
    reading all = read_as(content, true);
    reading some = read_as(content, false);
    bool same = some.status == all.status && some.events == all.events &&
                is_same_damage(&some.damage, &all.damage) && has_what_is_wanted(some.text, all.text);
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(
            stderr,
            "\n    in:\n%.*s\n    parsed, %d errors at %lld: %s\n%s    scanned, %d errors at %lld: %s\n%s",
            (int)(content.bytes < 300 ? content.bytes : 300), content.text, (int)all.damage.errors,
            (long long)all.damage.offset, all.damage.reason, all.text, (int)some.damage.errors,
            (long long)some.damage.offset, some.damage.reason, some.text);
    }
    free(some.text);
    return all;
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
    CU_ASSERT_EQUAL(got.damage.lost, skipped);
    CU_ASSERT_EQUAL(got.damage.errors, skipped);
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

/* Damage of `errors` errors that cost `lost` events, the first met at `offset`. */
static void check_salvage(const char *content, const char *wanted, uint64_t errors, uint64_t lost,
                          int64_t offset) {
    reading got = read_trace(rlmr_slice_of(content));
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    bool same = strcmp(got.text, wanted) == 0 && got.damage.errors == errors && got.damage.lost == lost &&
                got.damage.offset == offset;
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    in:\n%s\n    wanted:\n%s    read, %d errors, %d lost, at %lld:\n%s",
                      content, wanted, (int)got.damage.errors, (int)got.damage.lost,
                      (long long)got.damage.offset, got.text);
    }
    CU_ASSERT_EQUAL(got.events, count_lines(wanted));
    free(got.text);
}

static void check_damaged(const char *content, const char *wanted) {
    reading got = read_trace(rlmr_slice_of(content));
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_TRUE(got.damage.errors > 0);
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
        CU_ASSERT_EQUAL(got.status, RLMR_OK);
        CU_ASSERT_TRUE(got.damage.errors > 0 && got.damage.lost <= 1);
        CU_ASSERT_EQUAL(got.damage.offset, (int64_t)bytes);
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

#define A "{\"name\": \"a\"}"
#define B "{\"ph\": \"X\", \"ts\": 2}"
#define C "{\"name\": \"c\"}"
#define WANTED ", \"cat\": \"cpu_op\""

static void test_damage_outside_events_costs_none(void) {
    check_salvage("[" A ", " B ",]", "0 name=a\n1 ts=2\n", 1, 0, 37);
    check_salvage("[" A "] []", "0 name=a\n", 1, 0, 16);
    check_salvage("[" A "]]", "0 name=a\n", 1, 0, 15);
    check_salvage("[" A ",," B "]", "0 name=a\n1 ts=2\n", 1, 0, 15);
    check_salvage("[" A ", x ," B "]", "0 name=a\n1 ts=2\n", 1, 0, 16);
    check_salvage("[" A "]garbage", "0 name=a\n", 1, 0, 15);
}

static void test_an_error_in_an_event_costs_that_event(void) {
    static const char *const bad[] = {
        "{\"name\": \"b\", \"ts\": NaN" WANTED "}",
        "{\"name\": \"b\", \"ts\": Infinity" WANTED "}",
        "{\"name\": \"b\", \"ts\": N/A" WANTED "}",
        "{\"name\": \"b\" \"c\"" WANTED "}",
        "{\"name\": \"b\"x\", \"ts\": 1}",
        "{\"name\": \"b\x01\"}",
        "{\"name\": \"\\q\"}",
        "{\"name\": \"b\", \"args\": {\"Call stack\": \"x\"}",
        "{\"name\": " WANTED "}",
        "{]",
        "{5: 6" WANTED "}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char content[256];
        (void)snprintf(content, sizeof content, "[" A ", %s , " B ",\n " C "]", bad[i]);
        reading got = read_trace(rlmr_slice_of(content));
        CU_ASSERT_STRING_EQUAL(got.text, "0 name=a\n1 ts=2\n2 name=c\n");
        CU_ASSERT_EQUAL(got.damage.errors, 1);
        CU_ASSERT_EQUAL(got.damage.lost, 1);
        CU_ASSERT_TRUE(got.damage.offset >= 17 && got.damage.offset <= 20 + (int64_t)strlen(bad[i]));
        if (got.damage.errors != 1 || got.events != 3) {
            (void)fprintf(stderr, "\n    %s: %d errors, %d events", bad[i], (int)got.damage.errors,
                          (int)got.events);
        }
        free(got.text);
        (void)snprintf(content, sizeof content, "{\"traceEvents\": [%s, " B "], \"more\": [1, 2]}", bad[i]);
        check_damaged(content, "0 ts=2\n");
    }
}

/* A quote that is missing makes a text of what follows, up to the next quote: the next event's first. */
static void test_a_quote_that_is_not_closed_costs_the_next_event_too(void) {
    check_salvage("[" A ",{\"name\": \"b," B "," C "]", "0 name=a\n1 name=c\n", 1, 1, 29);
}

static void test_the_token_at_fault_may_be_the_next_event(void) {
    check_salvage("[" A ",{\"name\": \"cut\"," B "," C "]", "0 name=a\n1 ts=2\n2 name=c\n", 1, 1, 30);
}

static void test_an_event_without_a_comma_before_it_is_lost(void) {
    check_salvage("[" A " " B "," C "]", "0 name=a\n1 name=c\n", 1, 1, 15);
}

static void test_only_what_looks_like_an_event_ends_the_search(void) {
    check_salvage("[" A ", {\"b\": NaN" WANTED ", \"args\": [1, {\"x\": 1}, {\"y\": [{}, {\"z\": 2}]}]}, " B
                  "]",
                  "0 name=a\n1 ts=2\n", 1, 1, 22);
    /* the definition: an inner object that looks like one is taken for one */
    check_damaged("[" A ", {\"b\": NaN" WANTED ", \"args\": [1, " C "]}]", "0 name=a\n1 name=c\n");
    check_salvage("[" A ", {\"b\": NaN" WANTED "}, {\"name\": \"c\"", "0 name=a\n", 1, 1, 22);
    check_salvage("[" A ", {\"b\": NaN" WANTED "}, {\"name\": 1, \"args\": {\"list\": [1, {\"ph\": 1}, ",
                  "0 name=a\n1\n", 2, 1, 22);
}

static void test_a_comma_may_stand_far_before_the_next_event(void) {
    check_salvage("[" A ", {\"b\": NaN" WANTED "}\n\t, \r\n " B "]", "0 name=a\n1 ts=2\n", 1, 1, 22);
}

static void test_damage_before_the_events_costs_the_first(void) {
    check_salvage("{\"x\": NaN, \"traceEvents\": [" A "," B "," C "]}", "0 ts=2\n1 name=c\n", 1, 0, 6);
    check_damaged("\x01[" A "," B "," C "]", "0 ts=2\n1 name=c\n");
}

static void test_objects_behind_the_events_are_none(void) {
    check_salvage("{\"traceEvents\": [" A "], \"devices\": [{\"name\": \"d\"}, NaN, {\"name\": \"e\"}]}",
                  "0 name=a\n", 1, 0, 60);
    /* but the array may only seem to have ended, behind an event that was damaged */
    check_damaged("{\"traceEvents\": [" A ", {\"b\": NaN" WANTED ", \"l\": [1, " B "]}, " C "]}",
                  "0 name=a\n1 ts=2\n2 name=c\n");
}

/* An array that is not closed takes all that follows for its elements. */
static void test_events_behind_a_hole_are_found(void) {
    enum { EVENTS = 1200000, EVENT_BYTES = 21 };
    char *content = malloc((size_t)EVENTS * EVENT_BYTES + 100);
    char *at = stpcpy(content, "[" A ",{\"name\":\"hole\",\"args\":{\"l\":[[1,2]");
    for (int i = 0; i < EVENTS; i++) {
        at = stpcpy(at, "," B);
    }
    fixture file = write_fixture((rlmr_slice){content, (size_t)(at - content)});
    free(content);
    damage_seen seen = {0};
    rlmr_damage damage = {.met = note_damage, .self = &seen};
    uint64_t events = 0;
    FILE *out = fopen("/dev/null", "w");
    CU_ASSERT_EQUAL(rlmr_trace_read(file.path, true, note_event, out, &damage, NULL, &events, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(fclose(out), 0);
    CU_ASSERT_EQUAL(events, 1 + EVENTS);
    CU_ASSERT_EQUAL(seen.offset, 15);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.reason, "(limit EVENT_BYTES)"));
    remove_fixture(&file);
}

static void test_a_byte_order_mark_is_passed_over(void) {
    check("\xEF\xBB\xBF[" A "]", "0 name=a\n");
}

static void test_reasons_are_told(void) {
    reading got = read_trace(RLMR_SLICE("[{\"a\": NaN" WANTED "}]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got.damage.reason, "lexical error: invalid char in json text"));
    free(got.text);
    got = read_trace(RLMR_SLICE("[{\"a\": 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got.damage.reason, "premature EOF"));
    free(got.text);
    got = read_trace(RLMR_SLICE("{}"));
    CU_ASSERT_STRING_EQUAL(got.damage.reason, "no array of events, alone or under the key traceEvents");
    CU_ASSERT_EQUAL(got.damage.offset, -1);
    free(got.text);
}

/* ---- The scan ---- */

/* What is given without --strict, and with it. */
static void check_scan(const char *content, const char *wanted, uint64_t events, const char *all,
                       uint64_t errors) {
    reading some = read_as(rlmr_slice_of(content), false);
    CU_ASSERT_STRING_EQUAL(some.text, wanted);
    CU_ASSERT_EQUAL(some.events, events);
    CU_ASSERT_EQUAL(some.damage.errors, 0);
    free(some.text);
    reading strict = read_as(rlmr_slice_of(content), true);
    CU_ASSERT_STRING_EQUAL(strict.text, all);
    CU_ASSERT_EQUAL(strict.damage.errors, errors);
    free(strict.text);
}

static void test_events_that_nobody_wants_are_counted_only(void) {
    check_scan("[" A "," B "]", "", 2, "0 name=a\n1 ts=2\n", 0);
    check_scan("{\"x\": [[]], \"traceEvents\": [" A "," FULL "," B "," FULL "], \"y\": 1}",
               "1" FULL_LINE "3" FULL_LINE, 4, "0 name=a\n1" FULL_LINE "2 ts=2\n3" FULL_LINE, 0);
}

static void test_each_mark_alone_makes_an_event_wanted(void) {
    static const char *const marks[] = {"\"Call stack\": 1",
                                        "\"Sequence number\": []",
                                        "\"b\": \"cpu_op\"",
                                        "\"cpu_op\": 2",
                                        "\"b\": [{\"c\": [\"Call stack\"]}]",
                                        "\"b\": \"\\/\""};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char content[200];
        (void)snprintf(content, sizeof content, "[" A ", {\"name\": \"b\", %s}, " C "]", marks[i]);
        check_scan(content, "1 name=b\n", 3, "0 name=a\n1 name=b\n2 name=c\n", 0);
    }
    check_scan("[{\"name\": \"cpu_ops\", \"cat\": \"xcpu_op\", \"Call stac\": \"k\"}]", "", 1,
               "0 name=cpu_ops cat=xcpu_op\n", 0);
}

static void test_what_is_wrong_inside_an_event_that_nobody_wants_goes_unnoticed(void) {
    static const char *const bad[] = {"{\"name\": \"b\", \"ts\": NaN}",
                                      "{\"name\": \"b\" \"c\"}",
                                      "{\"name\": }",
                                      "{5: 6}",
                                      "{,}",
                                      "{:[}],]",
                                      "{\"a\": 01}",
                                      "{\"a\": tru}",
                                      "{\"a\", \"b\"}",
                                      "{\"a\": 1,}",
                                      "{\"a\": [1,, 2]}",
                                      "{\"a\": \xC3\xA9}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char content[200];
        (void)snprintf(content, sizeof content, "[" A ", %s, " C "]", bad[i]);
        if (strchr(bad[i], ']') > strchr(bad[i], '}')) { /* but brackets are looked at */
            check_damaged(content, "0 name=a\n1 name=c\n");
        } else {
            check_scan(content, "", 3, "0 name=a\n1 name=c\n", 1);
        }
    }
}

static void test_behind_damage_everything_is_looked_into(void) {
    check_salvage("[" A ", 1, {\"b\": NaN}, " C "]", "0 name=a\n1 name=c\n", 2, 2, 16);
    check_salvage("{\"x\": [[NaN]], \"traceEvents\": [{}, " A ", {\"b\": NaN}, " C "]}",
                  "0 name=a\n1 name=c\n", 2, 1, 8);
    /* with what nobody wants in front of it unnoticed */
    reading got = read_as(RLMR_SLICE("[{\"b\": NaN}, " FULL ", 1, {\"b\": NaN}, " C "]"), false);
    CU_ASSERT_STRING_EQUAL(got.text, "1" FULL_LINE "2 name=c\n");
    CU_ASSERT_EQUAL(got.damage.errors, 2);
    CU_ASSERT_EQUAL(got.events, 3);
    free(got.text);
}

/* Blanks are not kept, so that they cannot fill the memory; the comma among them counts all the same. */
static void test_blanks_between_events_may_be_long(void) {
    enum { BLANKS = RLMR_LIMIT_STRING_BYTES + (1 << 20) };
    static const char *const rest[] = {"]", B "]", ", " B "]", "," C ", {", "1]"};
    char *content = malloc(2 * BLANKS + 100);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        for (int comma = 0; comma < 2; comma++) {
            char *at = stpcpy(content, "[" A);
            memset(at, ' ', 2 * BLANKS);
            at[BLANKS] = comma ? ',' : ' ';
            at = stpcpy(at + 2 * BLANKS, rest[i]);
            reading got = read_trace((rlmr_slice){content, (size_t)(at - content)});
            free(got.text);
        }
    }
    free(content);
}

/* Damage at every place relative to the border of two pieces costs the same. */
static void test_damage_lies_anywhere_on_the_border_of_pieces(void) {
    static const char damage[] = "{\"name\": \"b\", \"ts\": NaN" WANTED "} , ";
    enum { PIECE_BYTES = 256 * 1024 };
    char *content = malloc(PIECE_BYTES + 200);
    for (size_t before = 0; before < sizeof damage + 30; before++) {
        size_t start = PIECE_BYTES - before;
        memset(content, ' ', start);
        memcpy(content, "[" A ",", 15);
        char *end = stpcpy(stpcpy(content + start, damage), B "," C "]");
        reading got = read_trace((rlmr_slice){content, (size_t)(end - content)});
        CU_ASSERT_STRING_EQUAL(got.text, "0 name=a\n1 ts=2\n2 name=c\n");
        CU_ASSERT_EQUAL(got.damage.errors, 1);
        CU_ASSERT_EQUAL(got.damage.offset, (int64_t)start + 20);
        free(got.text);
    }
    free(content);
}

/* ---- Limits ---- */

/* Between two events one that begins with `opening`, has `bytes` bytes of x, and ends with `closing`. */
static reading read_filled(const char *opening, size_t bytes, const char *closing) {
    char *content = malloc(strlen(opening) + bytes + strlen(closing) + 100);
    char *at = stpcpy(stpcpy(content, "[" A ","), opening);
    memset(at, 'x', bytes);
    at = stpcpy(stpcpy(at + bytes, closing), "," C "]");
    reading got = read_trace((rlmr_slice){content, (size_t)(at - content)});
    free(content);
    return got;
}

static void check_limit(const char *opening, size_t bytes, const char *closing, const char *reason) {
    reading got = read_filled(opening, bytes, closing);
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_EQUAL(got.events, reason == NULL ? 3 : 2);
    CU_ASSERT_EQUAL(got.damage.errors, reason == NULL ? 0 : 1);
    CU_ASSERT_EQUAL(got.damage.lost, got.damage.errors);
    CU_ASSERT_PTR_NOT_NULL(strstr(got.damage.reason, reason == NULL ? "" : reason));
    free(got.text);
}

static void test_a_string_has_a_limit(void) {
    check_limit("{\"ph\":\"", RLMR_LIMIT_STRING_BYTES - 1, "\"}", NULL);
    check_limit("{\"ph\":\"", RLMR_LIMIT_STRING_BYTES, "\"}", NULL);
    check_limit("{\"ph\":\"", RLMR_LIMIT_STRING_BYTES + 1, "\"}", "(limit STRING_BYTES)");
    check_limit("{\"", RLMR_LIMIT_STRING_BYTES + 1, "\":1}", "(limit STRING_BYTES)");
}

static void test_an_event_has_a_limit(void) {
    const size_t part = RLMR_LIMIT_STRING_BYTES / 4 * 3;
    char *opening = malloc(RLMR_LIMIT_EVENT_BYTES);
    char *at = stpcpy(opening, "{\"a\":\"\\u0078"); /* an escape, so that the text is copied */
    memset(at, 'y', part);
    at = stpcpy(at + part, "\",\"b\":\"");
    memset(at, 'z', part);
    at = stpcpy(at + part, "\",\"ph\":\"");
    size_t rest = RLMR_LIMIT_EVENT_BYTES - (size_t)(at - opening) - strlen("\"}");
    check_limit(opening, rest - 1, "\"}", NULL);
    check_limit(opening, rest, "\"}", NULL);
    check_limit(opening, rest + 1, "\"}", "(limit EVENT_BYTES)");
    free(opening);
}

static void test_nesting_has_a_limit(void) {
    /* the array of events, the event, then these */
    for (int depth = RLMR_LIMIT_JSON_DEPTH - 3; depth <= RLMR_LIMIT_JSON_DEPTH - 1; depth++) {
        char opening[RLMR_LIMIT_JSON_DEPTH + 20];
        char closing[RLMR_LIMIT_JSON_DEPTH + 20];
        char *at = stpcpy(opening, "{\"ph\":");
        memset(at, '[', (size_t)depth);
        at[depth] = '\0';
        memset(closing, ']', (size_t)depth);
        (void)strcpy(closing + depth, "}");
        check_limit(opening, 0, closing, depth <= RLMR_LIMIT_JSON_DEPTH - 2 ? NULL : "(limit JSON_DEPTH)");
    }
}

static void test_a_string_that_does_not_end_is_given_up(void) {
    check_limit("{\"ph\":\"", 6 * (size_t)RLMR_LIMIT_STRING_BYTES, "", "(limit EVENT_BYTES)");
}

static void test_a_bomb_of_brackets_is_given_up(void) {
    enum { BYTES = 1 << 20 };
    char *content = malloc(BYTES);
    for (size_t at = 0; at < BYTES; at++) {
        content[at] = "[{\"a\":"[at % 6];
    }
    content[0] = '[';
    reading got = read_trace((rlmr_slice){content, BYTES});
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_EQUAL(got.events, 0);
    CU_ASSERT_TRUE(got.damage.errors > 0);
    free(got.text);
    free(content);
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
    damage_seen seen = {0};
    rlmr_damage damage = {.met = note_damage, .self = &seen};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_trace_read(file.path, true, refuse_third, &calls, &damage, NULL, &events, &err),
                    RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    CU_ASSERT_EQUAL(calls, 3);
    CU_ASSERT_EQUAL(events, 3);
    CU_ASSERT_EQUAL(seen.lost, 1);
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
    damage_seen seen = {0};
    rlmr_damage damage = {.met = note_damage, .self = &seen};
    rlmr_meter meter = {.advance = advance, .self = &metered};
    CU_ASSERT_EQUAL(rlmr_trace_read(file.path, true, refuse_third, &calls, &damage, &meter, &events, NULL),
                    RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(metered, 8);
    CU_ASSERT_EQUAL(events, (uint64_t)calls);
    CU_ASSERT_EQUAL(seen.errors, 0);
    remove_fixture(&file);
}

static void test_a_file_that_is_not_there_has_no_events(void) {
    fixture file = write_fixture(RLMR_SLICE("[{}]"));
    int calls = 0;
    uint64_t events = 99;
    damage_seen seen = {0};
    rlmr_damage damage = {.met = note_damage, .self = &seen};
    CU_ASSERT_EQUAL(rlmr_trace_read(file.directory, true, refuse_third, &calls, &damage, NULL, &events, NULL),
                    RLMR_E_INPUT);
    CU_ASSERT_EQUAL(events, 0);
    CU_ASSERT_EQUAL(seen.errors, 0);
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
    {"damage outside events costs none", test_damage_outside_events_costs_none},
    {"an error in an event costs that event", test_an_error_in_an_event_costs_that_event},
    {"a quote that is not closed costs the next event too",
     test_a_quote_that_is_not_closed_costs_the_next_event_too},
    {"the token at fault may be the next event", test_the_token_at_fault_may_be_the_next_event},
    {"an event without a comma before it is lost", test_an_event_without_a_comma_before_it_is_lost},
    {"only what looks like an event ends the search", test_only_what_looks_like_an_event_ends_the_search},
    {"a comma may stand far before the next event", test_a_comma_may_stand_far_before_the_next_event},
    {"damage before the events costs the first", test_damage_before_the_events_costs_the_first},
    {"objects behind the events are none", test_objects_behind_the_events_are_none},
    {"events behind a hole are found", test_events_behind_a_hole_are_found},
    {"a byte order mark is passed over", test_a_byte_order_mark_is_passed_over},
    {"reasons are told", test_reasons_are_told},
    {"events that nobody wants are counted only", test_events_that_nobody_wants_are_counted_only},
    {"each mark alone makes an event wanted", test_each_mark_alone_makes_an_event_wanted},
    {"what is wrong inside an event that nobody wants goes unnoticed",
     test_what_is_wrong_inside_an_event_that_nobody_wants_goes_unnoticed},
    {"behind damage everything is looked into", test_behind_damage_everything_is_looked_into},
    {"blanks between events may be long", test_blanks_between_events_may_be_long},
    {"damage lies anywhere on the border of pieces", test_damage_lies_anywhere_on_the_border_of_pieces},
    {"a string has a limit", test_a_string_has_a_limit},
    {"an event has a limit", test_an_event_has_a_limit},
    {"nesting has a limit", test_nesting_has_a_limit},
    {"a string that does not end is given up", test_a_string_that_does_not_end_is_given_up},
    {"a bomb of brackets is given up", test_a_bomb_of_brackets_is_given_up},
    {"the taker of events may end the reading", test_the_taker_of_events_may_end_the_reading},
    {"the meter may end the reading", test_the_meter_may_end_the_reading},
    {"a file that is not there has no events", test_a_file_that_is_not_there_has_no_events},
    CU_TEST_INFO_NULL,
};
