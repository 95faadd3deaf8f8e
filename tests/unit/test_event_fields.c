#include "rlmr/event_fields.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is found, as text ---- */

static void put_field(FILE *out, const char *name, rlmr_raw_field field) {
    if (field.raw.bytes > 0) {
        (void)fprintf(out, " %s%s%.*s%s", name, field.text ? field.escaped ? "~\"" : "=\"" : "=",
                      (int)field.raw.bytes, field.raw.text, field.text ? "\"" : "");
    }
}

static char *text_of(const rlmr_event_fields *fields) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
#define PUT_FIELD(field, key, kind) put_field(out, #field, fields->field);
    RLMR_RAW_EVENT_FIELDS(PUT_FIELD)
    RLMR_RAW_ARGS_FIELDS(PUT_FIELD)
#undef PUT_FIELD
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
    return text;
}

/* Whether `event` is sure, in memory of its own size. */
static bool find(rlmr_scan_path path, rlmr_slice event, int depth, rlmr_event_fields *fields, char **copy) {
    *copy = malloc(event.bytes + (event.bytes == 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(*copy);
    memcpy(*copy, event.text, event.bytes);
    return rlmr_event_fields_find(path, (rlmr_slice){.text = *copy, .bytes = event.bytes}, depth, fields);
}

/* The fields of `content`, on every path; NULL if they must be unsure. */
static void check_bytes(rlmr_slice event, const char *wanted) {
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        if (!rlmr_scan_has((rlmr_scan_path)path)) {
            continue;
        }
        rlmr_event_fields fields;
        char *copy;
        bool sure = find((rlmr_scan_path)path, event, 1, &fields, &copy);
        CU_ASSERT_EQUAL(sure, wanted != NULL);
        if (sure != (wanted != NULL)) {
            (void)fprintf(stderr, "\n    %ssure: %.*s\n", sure ? "" : "un", (int)event.bytes, event.text);
        } else if (sure) {
            char *got = text_of(&fields);
            CU_ASSERT_STRING_EQUAL(got, wanted);
            if (strcmp(got, wanted) != 0) {
                (void)fprintf(stderr, "\n    in %.*s\n    %s\n", (int)event.bytes, event.text, got);
            }
            free(got);
        }
        free(copy);
    }
}

static void check(const char *content, const char *wanted) {
    check_bytes(rlmr_slice_of(content), wanted);
}

/* ---- Fields ---- */

static void test_all_fields_are_found(void) {
    check(
        "{\"ph\": \"X\", \"name\": \"aten::add\", \"cat\": \"cpu_op\", \"ts\": \"1736408883694624.810\", "
        "\"dur\": 25.5, "
        "\"pid\": 4294967295, \"tid\": \"main\", \"args\": {\"Sequence number\": 12, \"Fwd thread id\": 1, "
        "\"Call stack\": \"a.py(1);\\r\\nb.py(2)\", \"Input Dims\": [[1, 2], []]}}",
        " name=\"aten::add\" cat=\"cpu_op\" ts=\"1736408883694624.810\" dur=25.5 pid=4294967295 tid=\"main\" "
        "sequence=12 forward_thread=1 call_stack~\"a.py(1);\\r\\nb.py(2)\"");
    check("{\"args\":{\"Call stack\":\"s\"},\"tid\":-1e5,\"name\":\"n\"}",
          " name=\"n\" tid=-1e5 call_stack=\"s\"");
    check("{}", "");
    check(" {}", NULL);
    check("{} ", NULL);
}

static void test_fields_of_another_type_are_empty(void) {
    check("{\"name\": 1, \"cat\": null, \"ts\": true, \"dur\": [1], \"pid\": {\"a\": \"b\"}, \"tid\": \"\"}",
          "");
    check("{\"args\": {\"Call stack\": 5, \"Sequence number\": {\"Call stack\": \"a\"}, \"Fwd thread id\": "
          "false}}",
          "");
}

static void test_the_last_of_a_repeated_key_counts(void) {
    check("{\"name\": \"a\", \"ts\": 1, \"name\": \"b\", \"ts\": \"2\"}", " name=\"b\" ts=\"2\"");
    check("{\"name\": \"a\", \"name\": 1, \"ts\": 1, \"ts\": [2]}", "");
    check("{\"args\": {\"Call stack\": \"a\", \"Sequence number\": 1}, \"args\": {\"Call stack\": \"b\"}}",
          " call_stack=\"b\"");
    check("{\"args\": {\"Call stack\": \"a\"}, \"args\": 1}", "");
    check("{\"args\": {\"Call stack\": \"a\"}, \"args\": [{\"Call stack\": \"b\"}]}", "");
}

static void test_fields_count_at_their_place_only(void) {
    check("{\"Call stack\": \"a\", \"args\": {\"name\": \"b\", \"args\": {\"Call stack\": \"c\"}}}", "");
    check("{\"other\": {\"Call stack\": \"a\", \"name\": \"b\"}, \"args\": {}}", "");
    check(
        "{\"args\": {\"a\": {\"Call stack\": \"b\"}, \"Call stack\": \"c\"}, \"b\": {\"Call stack\": \"d\"}}",
        " call_stack=\"c\"");
    check("{\"a\": \"name\", \"b\": [\"cat\", \"ts\"], \"args\": [\"Call stack\", \"a\"]}", "");
    check("{\"names\": \"a\", \"nam\": \"b\", \"Name\": \"c\"}", "");
}

/* ---- What is unsure ---- */

static void test_keys_with_escapes_are_unsure(void) {
    check("{\"n\\u0061me\": \"a\"}", NULL);
    check("{\"a\\nb\": \"a\"}", NULL);
    check("{\"args\": {\"Call\\u0020stack\": \"a\"}}", NULL);
    check("{\"args\": {\"a\": {\"\\u0061\": \"a\"}}, \"b\": [{\"\\n\": 1}], \"name\": \"\\u4E2d\\/\"}",
          " name~\"\\u4E2d\\/\"");
}

static void test_what_is_no_json_is_unsure(void) {
    const char *const events[] = {
        "",
        "{",
        "[]",
        "1",
        "\"a\"",
        "{}}",
        "{},{}",
        "{]}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\" 1}",
        "{\"a\"::1}",
        "{\"a\":1:2}",
        "{1:2}",
        "{a:2}",
        "{{}:1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":[1:2]}",
        "{\"a\":[\"b\":2]}",
        "{\"a\":[}]}",
        "{\"a\":[1}}",
        "{\"a\":{\"b\":1]}",
        "{\"a\":{1}}",
        "{\"a\":\"b\"c}",
        "{\"a\":\"b\"\"c\"}",
        "{\"a\":\"b}",
        "{\"a\":\"\\\"}",
        "{\"a\":\"\\q\"}",
        "{\"a\":\"\\u12G4\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\U1234\"}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\x01 1}",
        "{\"a\":\\n1}",
        "{\"a\":NaN}",
        "{\"a\":-Infinity}",
        "{\"a\":N/A}",
        "{\"a\":nul}",
        "{\"a\":nulls}",
        "{\"a\":True}",
        "{\"a\":truefalse}",
        "{\"a\":true\"b\"}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1.e5}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":1.5.5}",
        "{\"a\":1-2}",
        "{\"a\":0x10}",
        "{\"a\":1\"b\"}",
        "{\"a\":'b'}",
        "{\"a\":1/*b*/}",
        "{\"a\":1} }",
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        check(events[i], NULL);
    }
    check_bytes(RLMR_SLICE("{\"a\":\0 1}"), NULL);
    check_bytes(RLMR_SLICE("{\"a\":\"\0\"}"), NULL);
}

static void test_every_json_value_is_sure(void) {
    check("{\"a\":[0,-0,10,-1.5,1e5,1E-5,0.25e+7,true,false,null,\"\",[],{}, [ ] , { } ]\n,\r\t\"b\" : -9}",
          "");
    check("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\uABcd\x7F\xFF\"}", "");
}

static void test_depth_has_a_limit(void) {
    char text[4 * RLMR_LIMIT_JSON_DEPTH] = "{\"a\":";
    const size_t begin = strlen(text);
    for (int outer = 1; outer <= 2; outer++) {
        for (int deeper = 0; deeper <= 1; deeper++) {
            size_t arrays = (size_t)(RLMR_LIMIT_JSON_DEPTH - outer - 1 + deeper);
            memset(text + begin, '[', arrays);
            memset(text + begin + arrays, ']', arrays);
            text[begin + 2 * arrays] = '}';
            rlmr_event_fields fields;
            char *copy;
            rlmr_slice event = {.text = text, .bytes = begin + 2 * arrays + 1};
            CU_ASSERT_EQUAL(find(rlmr_scan_best(), event, outer, &fields, &copy), deeper == 0);
            free(copy);
        }
    }
}

static void test_an_event_that_may_hold_too_long_a_string_is_unsure(void) {
    char *text = malloc((size_t)RLMR_LIMIT_STRING_BYTES + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t more = 0; more <= 1; more++) {
        size_t bytes = (size_t)RLMR_LIMIT_STRING_BYTES + more;
        memset(text, 'x', bytes);
        memcpy(text, "{\"name\":\"", 9);
        memcpy(text + bytes - 2, "\"}", 2);
        rlmr_event_fields fields;
        rlmr_slice event = {.text = text, .bytes = bytes};
        CU_ASSERT_EQUAL(rlmr_event_fields_find(rlmr_scan_best(), event, 1, &fields), more == 0);
        CU_ASSERT_TRUE(more == 1 || fields.name.raw.bytes == bytes - 11);
    }
    free(text);
}

static void test_fields_are_found_at_every_place_of_a_block(void) {
    static const char rest[] =
        "\"name\":\"a\\\\\",\"ts\":12345.678,\"args\":{\"Call stack\":\"x(1): f;\\r\\ny(2): g\","
        "\"Sequence number\":123456}}";
    char text[128 + sizeof rest];
    for (size_t blanks = 0; blanks < 128; blanks++) {
        text[0] = '{';
        memset(text + 1, ' ', blanks);
        memcpy(text + 1 + blanks, rest, sizeof rest);
        check(text, " name~\"a\\\\\" ts=12345.678 sequence=123456 call_stack~\"x(1): f;\\r\\ny(2): g\"");
    }
}

CU_TestInfo rlmr_tests_event_fields[] = {
    {"all fields are found", test_all_fields_are_found},
    {"fields of another type are empty", test_fields_of_another_type_are_empty},
    {"the last of a repeated key counts", test_the_last_of_a_repeated_key_counts},
    {"fields count at their place only", test_fields_count_at_their_place_only},
    {"keys with escapes are unsure", test_keys_with_escapes_are_unsure},
    {"what is no json is unsure", test_what_is_no_json_is_unsure},
    {"every json value is sure", test_every_json_value_is_sure},
    {"depth has a limit", test_depth_has_a_limit},
    {"an event that may hold too long a string is unsure",
     test_an_event_that_may_hold_too_long_a_string_is_unsure},
    {"fields are found at every place of a block", test_fields_are_found_at_every_place_of_a_block},
    CU_TEST_INFO_NULL,
};
