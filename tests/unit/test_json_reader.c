#include "rlmr/json_reader.h"

#include "rlmr/limits.h"
#include "temp_file.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are read at once: a token may lie on the border of two such pieces. */
#define PIECE_BYTES ((size_t)256 * 1024)

/* ---- The file that is read ---- */

static temp_file write_fixture(rlmr_slice content) {
    temp_file made = temp_file_open("file.json");
    temp_file_write(&made, content);
    return made;
}

/* ---- What comes of it, as text ---- */

/* Each token is its depth and a sign of its kind, with its text in angle brackets if the kind has one. */
static rlmr_status note_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                              rlmr_error *err) {
    static const char signs[] = {'{', '}', '[', ']', 'k', 's', 'n', 'l'};
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "%d%c", depth, signs[kind]);
    if (kind >= RLMR_JSON_KEY) {
        (void)fputc('<', out);
        (void)fwrite(text.text, 1, text.bytes, out);
        (void)fputc('>', out);
    }
    (void)fputc(' ', out);
    return RLMR_OK;
}

static rlmr_status read_tokens(rlmr_slice content, char **text, size_t *bytes, rlmr_error *err) {
    temp_file file = write_fixture(content);
    FILE *out = open_memstream(text, bytes);
    rlmr_error_clear(err);
    rlmr_status status = rlmr_json_read(file.path, note_token, out, NULL, err);
    CU_ASSERT_EQUAL(fclose(out), 0);
    CU_ASSERT_EQUAL(err->code, status);
    temp_file_remove(&file);
    return status;
}

static void check_slice(rlmr_slice content, rlmr_slice wanted) {
    char *text = NULL;
    size_t bytes = 0;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_tokens(content, &text, &bytes, &err), RLMR_OK);
    bool same = rlmr_slice_equal((rlmr_slice){text, bytes}, wanted);
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    read: %.300s %s\n", text, err.message);
    }
    free(text);
}

static void check(const char *content, const char *wanted) {
    check_slice(rlmr_slice_of(content), rlmr_slice_of(wanted));
}

/* The tokens before the error, and where it was met: at a byte from that of the token at fault to the one
 * behind it. */
static void check_error(const char *content, const char *wanted, int64_t first, int64_t token_bytes) {
    char *text = NULL;
    size_t bytes = 0;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_tokens(rlmr_slice_of(content), &text, &bytes, &err), RLMR_E_PARSE);
    bool same = strcmp(text, wanted) == 0 && err.offset >= first && err.offset <= first + token_bytes;
    CU_ASSERT_TRUE(same);
    CU_ASSERT_NOT_EQUAL(err.message[0], '\0');
    CU_ASSERT_PTR_NULL(strchr(err.message, '\n'));
    if (!same) {
        (void)fprintf(stderr, "\n    '%s' gives %sand %lld: %s\n", content, text, (long long)err.offset,
                      err.message);
    }
    free(text);
}

/* ---- Tokens ---- */

static void test_tokens_have_kind_text_and_depth(void) {
    check("{\"a\": [1, \"two\", true, false, null, {}], \"b\": {\"c\": []}}",
          "0{ 1k<a> 1[ 2n<1> 2s<two> 2l<true> 2l<false> 2l<null> 2{ 2} 1] 1k<b> 1{ 2k<c> 2[ 2] 1} 0} ");
}

static void test_any_value_may_be_the_whole_file(void) {
    check("[]", "0[ 0] ");
    check("{}", "0{ 0} ");
    check(" \"text\" ", "0s<text> ");
    check("17", "0n<17> ");
    check("null\n", "0l<null> ");
}

static void test_blanks_between_tokens_do_not_matter(void) {
    check("\n\t [\r\n 1 ,\t2\n]\n\n", "0[ 1n<1> 1n<2> 0] ");
}

static void test_numbers_keep_their_digits(void) {
    check("[11022204950826225271, -0, 1.50, 1e-06, 2E+3, 123456789012345678901234567890.000]",
          "0[ 1n<11022204950826225271> 1n<-0> 1n<1.50> 1n<1e-06> 1n<2E+3> "
          "1n<123456789012345678901234567890.000> 0] ");
}

static void test_escapes_are_decoded(void) {
    check("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u00e9\\u20AC\\ud83d\\ude00\", \"a;\\r\\nb\"]",
          "0[ 1s<\"\\/\b\f\n\r\t> 1s<\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80> 1s<a;\r\nb> 0] ");
    check_slice(RLMR_SLICE("[\"x\\u0000y\"]"), RLMR_SLICE("0[ 1s<x\0y> 0] "));
    check("{\"k\\u0065y\": 1}", "0{ 1k<key> 1n<1> 0} ");
}

static void test_texts_need_not_be_utf8(void) {
    check("[\"caf\xE9\", \"\xFF\xFE\"]", "0[ 1s<caf\xE9> 1s<\xFF\xFE> 0] ");
}

/* ---- Damage ---- */

static void test_a_syntax_error_has_its_offset(void) {
    check_error("[1, x]", "0[ 1n<1> ", 4, 1);
    check_error("[1, NaN]", "0[ 1n<1> ", 4, 1);
    check_error("[1, N/A]", "0[ 1n<1> ", 4, 1);
    check_error("[1, Infinity]", "0[ 1n<1> ", 4, 1);
    check_error("[1,]", "0[ 1n<1> ", 3, 1);
    check_error("[1 2]", "0[ 1n<1> ", 3, 1);
    check_error("{\"a\" 1}", "0{ 1k<a> ", 5, 1);
    check_error("{1: 2}", "0{ ", 1, 1);
    check_error("{\"a\": \"b\"c\"}", "0{ 1k<a> 1s<b> ", 9, 1);
    check_error("[1}", "0[ 1n<1> ", 2, 1);
    check_error("[1 \"two\"]", "0[ 1n<1> ", 3, 5);
}

static void test_what_follows_the_end_is_an_error(void) {
    check_error("[] x", "0[ 0] ", 3, 1);
    check_error("{}\n{}", "0{ 0} ", 3, 1);
    check_error("1 2", "0n<1> ", 2, 1);
}

static void test_a_bad_text_is_an_error(void) {
    check_error("[1, \"a\nb\"]", "0[ 1n<1> ", 6, 0);
    check_error("[1, \"a\\qb\"]", "0[ 1n<1> ", 7, 0);
    check_error("[1, \"a\\u12x4\"]", "0[ 1n<1> ", 10, 0);
}

static void test_a_file_cut_at_any_byte_is_noticed(void) {
    static const char whole[] = "{\"a\": [1, \"two\\n\", true], \"b\": {\"c\": -1.5e3}}";
    for (size_t bytes = 0; bytes < sizeof whole - 1; bytes++) {
        char *text = NULL;
        size_t length = 0;
        rlmr_error err;
        CU_ASSERT_EQUAL(read_tokens((rlmr_slice){whole, bytes}, &text, &length, &err), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(err.offset, (int64_t)bytes);
        free(text);
    }
}

static void test_a_file_without_a_value_is_damaged(void) {
    check_error("", "", 0, 0);
    check_error(" \n", "", 2, 0);
}

/* ---- Limits ---- */

/* `depth` brackets and, if it is closed, as many that close. */
static rlmr_status read_nested(int depth, const char *open, const char *close, rlmr_error *err) {
    char content[4 * (RLMR_LIMIT_JSON_DEPTH + 2) * 5];
    char *at = content;
    for (int i = 0; i < depth; i++) {
        at = stpcpy(at, open);
    }
    at = stpcpy(at, "1");
    for (int i = 0; i < depth; i++) {
        at = stpcpy(at, close);
    }
    char *text = NULL;
    size_t bytes = 0;
    rlmr_status status = read_tokens((rlmr_slice){content, (size_t)(at - content)}, &text, &bytes, err);
    free(text);
    return status;
}

static void test_nesting_has_a_limit(void) {
    rlmr_error err;
    CU_ASSERT_EQUAL(read_nested(RLMR_LIMIT_JSON_DEPTH - 1, "[", "]", &err), RLMR_OK);
    CU_ASSERT_EQUAL(read_nested(RLMR_LIMIT_JSON_DEPTH, "[", "]", &err), RLMR_OK);
    CU_ASSERT_EQUAL(read_nested(RLMR_LIMIT_JSON_DEPTH, "{\"a\":", "}", &err), RLMR_OK);
    CU_ASSERT_EQUAL(read_nested(RLMR_LIMIT_JSON_DEPTH + 1, "[", "]", &err), RLMR_E_LIMIT);
    CU_ASSERT_STRING_EQUAL(err.message, "nested deeper than 128 (limit JSON_DEPTH)");
    CU_ASSERT_TRUE(err.offset == RLMR_LIMIT_JSON_DEPTH || err.offset == RLMR_LIMIT_JSON_DEPTH + 1);
    CU_ASSERT_EQUAL(read_nested(RLMR_LIMIT_JSON_DEPTH + 1, "{\"a\":", "}", &err), RLMR_E_LIMIT);
    CU_ASSERT_TRUE(err.offset == 5 * RLMR_LIMIT_JSON_DEPTH || err.offset == 5 * RLMR_LIMIT_JSON_DEPTH + 1);
}

static void test_a_bomb_of_brackets_is_refused(void) {
    enum { BYTES = 1 << 20 };
    char *content = malloc(BYTES);
    memset(content, '[', BYTES);
    temp_file file = write_fixture((rlmr_slice){content, BYTES});
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_EQUAL(rlmr_json_read(file.path, note_token, out, NULL, NULL), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(fclose(out), 0);
    free(text);
    free(content);
    temp_file_remove(&file);
}

static rlmr_status add_length(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                              rlmr_error *err) {
    (void)kind;
    (void)depth;
    (void)err;
    *(size_t *)context += text.bytes;
    return RLMR_OK;
}

/* A file that holds one text of `bytes` bytes. */
static rlmr_status read_text_of(size_t bytes, size_t *length, rlmr_error *err) {
    char *content = malloc(bytes + 2);
    memset(content, 'x', bytes + 2);
    content[0] = '"';
    content[bytes + 1] = '"';
    temp_file file = write_fixture((rlmr_slice){content, bytes + 2});
    free(content);
    *length = 0;
    rlmr_error_clear(err);
    rlmr_status status = rlmr_json_read(file.path, add_length, length, NULL, err);
    temp_file_remove(&file);
    return status;
}

static void test_a_text_has_a_limit(void) {
    size_t length;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_text_of(4 << 20, &length, &err), RLMR_OK);
    CU_ASSERT_EQUAL(length, 4 << 20);
    CU_ASSERT_EQUAL(read_text_of(RLMR_LIMIT_STRING_BYTES, &length, &err), RLMR_OK);
    CU_ASSERT_EQUAL(length, RLMR_LIMIT_STRING_BYTES);
    CU_ASSERT_EQUAL(read_text_of(RLMR_LIMIT_STRING_BYTES + 1, &length, &err), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(length, 0);
    CU_ASSERT_EQUAL(err.code, RLMR_E_LIMIT);
    CU_ASSERT_STRING_EQUAL(err.message, "a string of more than 8388608 bytes (limit STRING_BYTES)");
    CU_ASSERT_TRUE(err.offset >= 0 && err.offset <= (int64_t)RLMR_LIMIT_STRING_BYTES + 3);
}

/* ---- The border between two pieces ---- */

/* `token` at every place around the first border, in an array of itself and a 1. */
static void check_on_border(const char *token, const char *wanted_token) {
    char *content = malloc(PIECE_BYTES + 100);
    char wanted[100];
    (void)snprintf(wanted, sizeof wanted, "0[ 1%s 1n<1> 0] ", wanted_token);
    for (size_t before = 0; before <= strlen(token) + 2; before++) {
        size_t start = PIECE_BYTES - before;
        memset(content, ' ', start);
        content[0] = '[';
        int bytes = snprintf(content + start, 100, "%s,1]", token);
        check_slice((rlmr_slice){content, start + (size_t)bytes}, rlmr_slice_of(wanted));
    }
    free(content);
}

static void test_tokens_lie_anywhere_on_the_border_of_pieces(void) {
    check_on_border("\"some text\"", "s<some text>");
    check_on_border("\"a\\n\\u00e9\\ud83d\\ude00\\\\\"", "s<a\n\xC3\xA9\xF0\x9F\x98\x80\\>");
    check_on_border("-12345678901234567890.5e+7", "n<-12345678901234567890.5e+7>");
    check_on_border("false", "l<false>");
}

static void test_an_error_behind_the_border_has_its_offset_in_the_file(void) {
    char *content = malloc(PIECE_BYTES + 100);
    for (size_t before = 0; before <= 6; before++) {
        size_t start = PIECE_BYTES - before;
        memset(content, ' ', start);
        content[0] = '[';
        memcpy(content + start, "17 ,x]", 6);
        char *text = NULL;
        size_t bytes = 0;
        rlmr_error err;
        CU_ASSERT_EQUAL(read_tokens((rlmr_slice){content, start + 6}, &text, &bytes, &err), RLMR_E_PARSE);
        CU_ASSERT_STRING_EQUAL(text, "0[ 1n<17> ");
        CU_ASSERT_TRUE(err.offset == (int64_t)start + 4 || err.offset == (int64_t)start + 5);
        free(text);
    }
    free(content);
}

/* ---- Ends ---- */

typedef struct {
    int tokens;
    int fail_at;
} counter;

static rlmr_status count_tokens(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                                rlmr_error *err) {
    counter *self = context;
    (void)kind;
    (void)text;
    (void)depth;
    return self->tokens++ == self->fail_at ? rlmr_error_set(err, RLMR_E_RANGE, "no more of it") : RLMR_OK;
}

static void test_the_taker_of_tokens_may_end_the_reading(void) {
    temp_file file = write_fixture(RLMR_SLICE("[1, {\"a\": \"b\"}, true, 2]"));
    for (int fail_at = 0; fail_at < 9; fail_at++) {
        counter state = {.fail_at = fail_at};
        rlmr_error err;
        rlmr_error_clear(&err);
        CU_ASSERT_EQUAL(rlmr_json_read(file.path, count_tokens, &state, NULL, &err), RLMR_E_RANGE);
        CU_ASSERT_EQUAL(state.tokens, fail_at + 1);
        CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    }
    temp_file_remove(&file);
}

typedef struct {
    size_t bytes;
    size_t limit;
} meter_state;

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    meter_state *self = context;
    self->bytes += bytes;
    return self->bytes > self->limit ? rlmr_error_set(err, RLMR_E_STOPPED, "enough") : RLMR_OK;
}

static void test_the_meter_hears_of_all_bytes_and_may_end_the_reading(void) {
    size_t bytes = 3 * PIECE_BYTES;
    char *content = malloc(bytes);
    memset(content, ' ', bytes);
    content[0] = '1';
    temp_file file = write_fixture((rlmr_slice){content, bytes});
    free(content);
    meter_state state = {.limit = SIZE_MAX};
    rlmr_meter meter = {.advance = advance, .self = &state};
    counter tokens = {.fail_at = -1};
    CU_ASSERT_EQUAL(rlmr_json_read(file.path, count_tokens, &tokens, &meter, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(state.bytes, bytes);
    state = (meter_state){.limit = PIECE_BYTES};
    CU_ASSERT_EQUAL(rlmr_json_read(file.path, count_tokens, &tokens, &meter, NULL), RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(state.bytes, 2 * PIECE_BYTES);
    temp_file_remove(&file);
}

static void check_unreadable(const char *path, const char *reason) {
    counter state = {.fail_at = -1};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_json_read(path, count_tokens, &state, NULL, &err), RLMR_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, reason));
    CU_ASSERT_EQUAL(state.tokens, 0);
}

static void test_only_regular_files_are_read(void) {
    temp_file made = temp_file_open("file.json");
    check_unreadable(made.path, "cannot be opened: No such file or directory");
    check_unreadable(made.directory, "not a regular file");
    CU_ASSERT_EQUAL_FATAL(mkfifo(made.path, 0600), 0);
    check_unreadable(made.path, "not a regular file"); /* and does not wait for a writer */
    temp_file_remove(&made);
}

/* ---- Looking up one value ---- */

static void check_scalar(const char *content, const char *wanted) {
    temp_file file = write_fixture(rlmr_slice_of(content));
    char *value = NULL;
    bool present = false;
    CU_ASSERT_EQUAL(rlmr_json_scalar(file.path, "rank_id", true, &present, &value, NULL), RLMR_OK);
    if (wanted == NULL || value == NULL) {
        CU_ASSERT_PTR_EQUAL(value, wanted);
    } else {
        CU_ASSERT_STRING_EQUAL(value, wanted);
    }
    free(value);
    temp_file_remove(&file);
}

static void test_a_scalar_is_found_by_its_key(void) {
    check_scalar("{\"rank_id\": 12}", "12");
    check_scalar("{\"rank_id\": \"12\"}", "12");
    check_scalar("{\"rank_id\": \"\"}", "");
    check_scalar("{\"a\": [1, {\"b\": 2}], \"rank_id\": 1.50, \"c\": 3}", "1.50");
    check_scalar("{\"rank_id\": 1, \"rank_id\": \"2\"}", "2");
}

static void test_a_scalar_that_is_not_there_is_absent(void) {
    check_scalar("{}", NULL);
    check_scalar("{\"rank\": 1, \"rank_id_2\": 2}", NULL);
    check_scalar("{\"config\": {\"rank_id\": 1}}", NULL);
    check_scalar("{\"rank_id\": {\"rank_id\": 1}}", NULL);
    check_scalar("{\"rank_id\": [1]}", NULL);
    check_scalar("{\"rank_id\": true}", NULL);
    check_scalar("{\"rank_id\": null, \"a\": 1}", NULL);
    check_scalar("{\"a\": \"rank_id\", \"b\": 2}", NULL);
}

static void test_no_scalar_is_taken_from_damage(void) {
    static const char *const damaged[] = {
        "", "[]", "[{\"rank_id\": 1}]", "7", "{\"rank_id\": 1", "{\"rank_id\": 1}}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        temp_file file = write_fixture(rlmr_slice_of(damaged[i]));
        char *value = file.path;
        bool present = false;
        CU_ASSERT_EQUAL(rlmr_json_scalar(file.path, "rank_id", true, &present, &value, NULL), RLMR_E_PARSE);
        CU_ASSERT_PTR_NULL(value);
        temp_file_remove(&file);
    }
    char *value = NULL;
    bool present = false;
    temp_file made = temp_file_open("file.json");
    CU_ASSERT_EQUAL(rlmr_json_scalar(made.path, "rank_id", true, &present, &value, NULL), RLMR_E_INPUT);
    CU_ASSERT_PTR_NULL(value);
    temp_file_remove(&made);
}

/* ---- One string ---- */

/* `wanted` NULL: it is no string. */
static void check_decoded(const char *raw, const char *wanted) {
    rlmr_bytes out = {0};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_bytes_append(&out, "<", 1, NULL), RLMR_OK);
    rlmr_status status = rlmr_json_string_decode(rlmr_slice_of(raw), &out, &err);
    CU_ASSERT_EQUAL(status, wanted == NULL ? RLMR_E_PARSE : RLMR_OK);
    CU_ASSERT_EQUAL(err.code, status);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&out, ">", 2, NULL), RLMR_OK);
    char whole[100];
    (void)snprintf(whole, sizeof whole, "<%s>", wanted == NULL ? "" : wanted);
    CU_ASSERT_STRING_EQUAL((const char *)out.data, whole);
    rlmr_bytes_release(&out);
}

static void test_a_string_is_decoded_alone(void) {
    check_decoded("", "");
    check_decoded("a.py(1): f", "a.py(1): f");
    check_decoded("a;\\r\\nb", "a;\r\nb");
    check_decoded("\\\"\\\\\\/\\u00e9\\ud83d\\ude00", "\"\\/\xC3\xA9\xF0\x9F\x98\x80");
    check_decoded("\xFF", "\xFF");
}

static void test_what_is_no_string_is_not_decoded(void) {
    static const char *const bad[] = {"\"",    "a\"b", "a\", \"b", "\\",     "\\q",
                                      "\\u12", "\n",   "\" ",      "\\\\\\", "\" 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_decoded(bad[i], NULL);
    }
}

static void test_a_string_decoded_alone_has_the_limit(void) {
    size_t bytes = RLMR_LIMIT_STRING_BYTES;
    char *raw = malloc(bytes + 1);
    memset(raw, 'x', bytes + 1);
    rlmr_bytes out = {0};
    CU_ASSERT_EQUAL(rlmr_json_string_decode((rlmr_slice){raw, bytes + 1}, &out, NULL), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(out.bytes, 0);
    CU_ASSERT_EQUAL(rlmr_json_string_decode((rlmr_slice){raw, bytes}, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(out.bytes, bytes);
    rlmr_bytes_release(&out);
    free(raw);
}

CU_TestInfo rlmr_tests_json_reader[] = {
    {"tokens have kind, text and depth", test_tokens_have_kind_text_and_depth},
    {"any value may be the whole file", test_any_value_may_be_the_whole_file},
    {"blanks between tokens do not matter", test_blanks_between_tokens_do_not_matter},
    {"numbers keep their digits", test_numbers_keep_their_digits},
    {"escapes are decoded", test_escapes_are_decoded},
    {"texts need not be UTF-8", test_texts_need_not_be_utf8},
    {"a syntax error has its offset", test_a_syntax_error_has_its_offset},
    {"what follows the end is an error", test_what_follows_the_end_is_an_error},
    {"a bad text is an error", test_a_bad_text_is_an_error},
    {"a file cut at any byte is noticed, at its length", test_a_file_cut_at_any_byte_is_noticed},
    {"a file without a value is damaged", test_a_file_without_a_value_is_damaged},
    {"nesting has a limit", test_nesting_has_a_limit},
    {"a bomb of brackets is refused", test_a_bomb_of_brackets_is_refused},
    {"a text has a limit", test_a_text_has_a_limit},
    {"tokens lie anywhere on the border of pieces", test_tokens_lie_anywhere_on_the_border_of_pieces},
    {"an error behind the border has its offset in the file",
     test_an_error_behind_the_border_has_its_offset_in_the_file},
    {"the taker of tokens may end the reading", test_the_taker_of_tokens_may_end_the_reading},
    {"the meter hears of all bytes and may end the reading",
     test_the_meter_hears_of_all_bytes_and_may_end_the_reading},
    {"only regular files are read", test_only_regular_files_are_read},
    {"a scalar is found by its key", test_a_scalar_is_found_by_its_key},
    {"a scalar that is not there is absent", test_a_scalar_that_is_not_there_is_absent},
    {"no scalar is taken from damage", test_no_scalar_is_taken_from_damage},
    {"a string is decoded alone", test_a_string_is_decoded_alone},
    {"what is no string is not decoded", test_what_is_no_string_is_not_decoded},
    {"a string decoded alone has the limit", test_a_string_decoded_alone_has_the_limit},
    CU_TEST_INFO_NULL,
};
