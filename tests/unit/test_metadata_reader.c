#include "rlmr/metadata_reader.h"

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
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-metadata-XXXXXX", parent == NULL ? "/tmp" : parent) >
                    0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/profiler_metadata.json", made.directory) > 0);
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

typedef struct {
    FILE *out;
    int left; /* calls that are still taken, -1 for all */
} notes;

static rlmr_status count_call(notes *self, rlmr_error *err) {
    return self->left >= 0 && self->left-- == 0 ? rlmr_error_set(err, RLMR_E_PARSE, "no more of it")
                                                : RLMR_OK;
}

static rlmr_status note_group(void *context, rlmr_slice id, rlmr_slice name, const int32_t *ranks,
                              size_t count, rlmr_error *err) {
    notes *self = context;
    CU_ASSERT_EQUAL(ranks == NULL, count == 0);
    (void)fprintf(self->out, "group <%.*s><%.*s>", (int)id.bytes, id.text, (int)name.bytes, name.text);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(self->out, " %d", ranks[i]);
    }
    (void)fputs("\n", self->out);
    return count_call(self, err);
}

static rlmr_status note_distribution(void *context, const rlmr_distributed_args *args, rlmr_error *err) {
    notes *self = context;
    (void)fprintf(self->out, "args %d %d %d %d %d %d %.*s\n", args->tp, args->pp, args->dp, args->cp,
                  args->ep, args->world, (int)args->json.bytes, args->json.text);
    return count_call(self, err);
}

static rlmr_status note_damage(void *context, int64_t offset, bool lost, const char *reason,
                               rlmr_error *err) {
    notes *self = context;
    CU_ASSERT_TRUE(lost);
    (void)fprintf(self->out, "%lld %s\n", (long long)offset, reason);
    return count_call(self, err);
}

/* What was given, then which keys are there: g and d. @param told also the damage  @param text out: owned by the caller */
static rlmr_status read_and_note(rlmr_slice content, int left, bool told, char **text, rlmr_error *err) {
    size_t bytes = 0;
    bool has_groups = true;
    bool has_distribution = true;
    fixture file = write_fixture(content);
    notes self = {.out = open_memstream(text, &bytes), .left = left};
    CU_ASSERT_PTR_NOT_NULL_FATAL(self.out);
    rlmr_damage damage = {.met = note_damage, .self = &self};
    rlmr_metadata_sink sink = {.group = note_group,
                               .distribution = note_distribution,
                               .self = &self,
                               .damage = told ? &damage : NULL};
    rlmr_error_clear(err);
    rlmr_status status = rlmr_metadata_read(file.path, &sink, NULL, &has_groups, &has_distribution, err);
    CU_ASSERT_EQUAL(err->code, status);
    (void)fprintf(self.out, "%s%s", has_groups ? "g" : "", has_distribution ? "d" : "");
    CU_ASSERT_EQUAL(fclose(self.out), 0);
    remove_fixture(&file);
    return status;
}

static rlmr_status read_slice(rlmr_slice content, int left, char **text, rlmr_error *err) {
    return read_and_note(content, left, false, text, err);
}

static void check_text(const char *text, const char *wanted) {
    CU_ASSERT_STRING_EQUAL(text, wanted);
    if (strcmp(text, wanted) != 0) {
        (void)fprintf(stderr, "\n    wanted:\n%s\n    read:\n%.2000s\n", wanted, text);
    }
}

static void check(const char *content, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_slice_of(content), -1, &text, &err), RLMR_OK);
    check_text(text, wanted);
    free(text);
}

static void check_error(const char *content, rlmr_status status, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_slice_of(content), -1, &text, &err), status);
    CU_ASSERT_TRUE(err.offset >= 0 && err.offset <= (int64_t)strlen(content));
    check_text(text, wanted);
    free(text);
}

#define GROUPS(groups) "{\"parallel_group_info\": {" groups "}}"
#define ARGS(args) "{\"distributed_args\": {" args "}}"

/* ---- Groups ---- */

static void test_groups_come_with_name_and_members(void) {
    check("{\"ENV_VARIABLES\": {\"HCCL_ALGO\": \"\"}, \"role\": \"actor\", \"parallel_group_info\": {"
          "\"10.0.0.1%eth0_60000_0_17\": {\"group_name\": \"default_group\", \"group_rank\": 2, "
          "\"global_ranks\": [0, 1, 2, 3]}, "
          "\"group_name_7\": {\"global_ranks\": [9, 3, 2147483647], \"group_name\": \"dp_cp\"}}}",
          "group <10.0.0.1%eth0_60000_0_17><default_group> 0 1 2 3\ngroup <group_name_7><dp_cp> 9 3 "
          "2147483647\ng");
}

static void test_members_may_be_texts(void) {
    check(GROUPS("\"a\": {\"global_ranks\": [\"4\", 5]}"), "group <a><> 4 5\ng");
}

static void test_a_group_without_members_has_none(void) {
    check(GROUPS("\"a\": {\"group_name\": \"tp\"}, \"b\": {\"global_ranks\": []}, \"c\": {}"),
          "group <a><tp>\ngroup <b><>\ngroup <c><>\ng");
}

static void test_nothing_of_a_group_stays_for_the_next(void) {
    check(GROUPS("\"a\": {\"group_name\": \"tp\", \"global_ranks\": [1, 2]}, \"b\": {}, \"c\": "
                 "{\"global_ranks\": [3, -1]}, "
                 "\"d\": {\"global_ranks\": [4]}"),
          "group <a><tp> 1 2\ngroup <b><>\ngroup <c><>\ngroup <d><> 4\ng");
}

static void test_what_is_no_list_of_ranks_has_no_members(void) {
    static const char *const values[] = {
        "3",      "\"0\"",  "null",     "{}",       "{\"a\": [1, 2]}", "[0, -1]", "[0, null]", "[0, 1.5]",
        "[true]", "[\"\"]", "[0, [1]]", "[[0, 1]]", "[2147483648]",    "[{}, 1]", "[1e3]"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *content = NULL;
        CU_ASSERT_FATAL(asprintf(&content,
                                 GROUPS("\"a\": {\"global_ranks\": %s, \"group_name\": \"x\"}, \"b\": "
                                        "{\"global_ranks\": [7]}"),
                                 values[i]) > 0);
        check(content, "group <a><x>\ngroup <b><> 7\ng");
        free(content);
    }
}

static void test_a_name_is_only_ever_a_text(void) {
    check(
        GROUPS("\"a\": {\"group_name\": 5}, \"b\": {\"group_name\": null}, \"c\": {\"group_name\": [\"x\"]}, "
               "\"d\": {\"group_name\": {\"group_name\": \"x\"}}"),
        "group <a><>\ngroup <b><>\ngroup <c><>\ngroup <d><>\ng");
}

static void test_a_group_that_is_no_object_is_left_out(void) {
    check(GROUPS("\"a\": 3, \"b\": [{\"group_name\": \"x\"}, 1], \"c\": null, \"d\": \"x\", \"e\": {}"),
          "group <e><>\ng");
}

static void test_groups_that_are_no_object_are_none(void) {
    check("{\"parallel_group_info\": [{\"a\": {}}]}", "g");
    check("{\"parallel_group_info\": null}", "g");
    check("{\"parallel_group_info\": {}}", "g");
}

static void test_of_a_repeated_key_in_a_group_the_last_counts(void) {
    check(
        GROUPS(
            "\"a\": {\"group_name\": \"x\", \"group_name\": \"y\", \"global_ranks\": [1, 2], "
            "\"global_ranks\": [3]}, "
            "\"b\": {\"group_name\": \"x\", \"group_name\": 5, \"global_ranks\": [1], \"global_ranks\": 2}, "
            "\"c\": {\"global_ranks\": [-1], \"global_ranks\": [4]}"),
        "group <a><y> 3\ngroup <b><>\ngroup <c><> 4\ng");
}

static void test_other_fields_of_a_group_are_passed_over(void) {
    check(GROUPS("\"a\": {\"global_ranks\": [1], \"group_name\": {\"a\": \"x\", \"b\": 7}, \"other\": "
                 "{\"global_ranks\": [9], "
                 "\"group_name\": \"y\"}, \"more\": [2, [3]], \"group_rank\": 5}"),
          "group <a><> 1\ng");
}

static void test_only_keys_of_the_file_itself_count(void) {
    check("{\"parallel_group_info\": {\"a\": {}}, \"ENV\": {\"b\": {}}, \"distributed_args\": {\"a\": 1}, "
          "\"END\": {\"b\": 2}}",
          "group <a><>\nargs -1 -1 -1 -1 -1 -1 {\"a\": 1}\ngd");
    check("{\"other\": {\"parallel_group_info\": {\"a\": {}}, \"distributed_args\": {\"world_size\": 8}}, "
          "\"list\": "
          "[{\"distributed_args\": {\"a\": 1}}]}",
          "");
}

/* ---- distributed_args ---- */

static void test_sizes_are_taken_and_the_object_is_kept_without_rank(void) {
    check(ARGS("\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 3, "
               "\"data_parallel_size\": 4, "
               "\"context_parallel_size\": 5, \"expert_model_parallel_size\": 6, \"sequence_parallel\": "
               "false, \"rank\": 2, "
               "\"world_size\": 120"),
          "args 2 3 4 5 6 120 {\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 3, "
          "\"data_parallel_size\": 4, \"context_parallel_size\": 5, \"expert_model_parallel_size\": 6, "
          "\"sequence_parallel\": false, \"world_size\": 120}\nd");
}

static void test_a_size_that_is_no_integer_of_32_bits_is_unknown(void) {
    check(ARGS("\"tensor_model_parallel_size\":2.0,\"pipeline_model_parallel_size\":null,\"data_parallel_"
               "size\":2147483648,"
               "\"context_parallel_size\":[1],\"expert_model_parallel_size\":true,\"world_size\":{\"world_"
               "size\":1}"),
          "args -1 -1 -1 -1 -1 -1 {\"tensor_model_parallel_size\": 2.0, \"pipeline_model_parallel_size\": "
          "null, "
          "\"data_parallel_size\": 2147483648, \"context_parallel_size\": [1], "
          "\"expert_model_parallel_size\": true, "
          "\"world_size\": {\"world_size\": 1}}\nd");
    check(ARGS("\"world_size\": \"8\", \"data_parallel_size\": 0, \"context_parallel_size\": -2147483649, "
               "\"expert_model_parallel_size\": 2147483647"),
          "args -1 -1 0 -1 2147483647 8 {\"world_size\": \"8\", \"data_parallel_size\": 0, "
          "\"context_parallel_size\": "
          "-2147483649, \"expert_model_parallel_size\": 2147483647}\nd");
}

static void test_sizes_within_other_values_do_not_count(void) {
    check(ARGS("\"other\": {\"world_size\": 8, \"rank\": 1}, \"list\": [{\"rank\": 2}], \"rank\": "
               "{\"world_size\": 9, \"a\": [1]}, "
               "\"dp\": 1"),
          "args -1 -1 -1 -1 -1 -1 {\"other\": {\"world_size\": 8, \"rank\": 1}, \"list\": [{\"rank\": 2}], "
          "\"dp\": 1}\nd");
}

static void test_the_object_is_one_line_as_python_writes_it(void) {
    check(ARGS("\n \"a\" : [ ] , \"b\":{ },\"c\":[1,[2,{\"d\":null}],\"\",\" "
               "\"],\"rank\":[0],\"e\":-0.50e+3,\"f\":\"\""),
          "args -1 -1 -1 -1 -1 -1 {\"a\": [], \"b\": {}, \"c\": [1, [2, {\"d\": null}], \"\", \" \"], \"e\": "
          "-0.50e+3, \"f\": "
          "\"\"}\nd");
}

static void test_texts_in_the_object_are_ascii(void) {
    check(ARGS("\"k\\u00e9y \xE4\xBD\xA0\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F~ "
               "\xF0\x9F\x98\x80\xEF\xBF\xBD\""),
          "args -1 -1 -1 -1 -1 -1 {\"k\\u00e9y \\u4f60\": "
          "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f~ \\ud83d\\ude00\\ufffd\"}\nd");
    check(ARGS("\"a\": \"x\xFFy\xC3\", \"b\": \"\\u0000\""),
          "args -1 -1 -1 -1 -1 -1 {\"a\": \"x\\ufffdy\\ufffd\", \"b\": \"\\ufffd\"}\nd");
}

static void test_an_empty_object_or_none_is_not_given(void) {
    check(ARGS(""), "d");
    check(ARGS("\"rank\": 3"), "d");
    check("{\"distributed_args\": [{\"world_size\": 8}]}", "d");
    check("{\"distributed_args\": null}", "d");
    check("{\"distributed_args\": \"{}\"}", "d");
    check("{}", "");
}

static void test_nothing_stays_for_a_second_object(void) {
    check("{\"distributed_args\": {\"world_size\": 8}, \"distributed_args\": {\"data_parallel_size\": 2}}",
          "args -1 -1 -1 -1 -1 8 {\"world_size\": 8}\nargs -1 -1 2 -1 -1 -1 {\"data_parallel_size\": 2}\nd");
}

/* ---- Damage ---- */

static void check_told(const char *content, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_and_note(rlmr_slice_of(content), -1, true, &text, &err), RLMR_OK);
    check_text(text, wanted);
    free(text);
}

static void test_what_has_another_form_is_told(void) {
    check_told("{\"parallel_group_info\": [{}], \"distributed_args\": 5}",
               "25 parallel_group_info: no object\n51 distributed_args: no object\ngd");
    check_told(GROUPS("\"a\": 3, \"b\": [1], \"c\": {\"group_name\": 5}"),
               "31 parallel_group_info: a: no object\n39 parallel_group_info: b: no object\n"
               "65 parallel_group_info: c: group_name is no text\ngroup <c><>\ng");
    check_told(GROUPS("\"a\": {\"global_ranks\": \"0\"}, \"b\": {\"global_ranks\": [0, -1, {}]}"),
               "51 parallel_group_info: a: global_ranks is no list\ngroup <a><>\n"
               "87 parallel_group_info: b: global_ranks holds what is no rank\ngroup <b><>\ng");
    check_told(ARGS("\"world_size\": {\"a\": [1]}, \"rank\": [], \"other\": [2.5]"),
               "37 distributed_args: world_size: not an integer\n"
               "args -1 -1 -1 -1 -1 -1 {\"world_size\": {\"a\": [1]}, \"other\": [2.5]}\nd");
}

static void test_what_is_absent_null_or_replaced_is_not_told(void) {
    check_told("{\"parallel_group_info\": null, \"distributed_args\": null}", "gd");
    check_told(GROUPS("\"a\": null, \"b\": {}, \"c\": {\"global_ranks\": null, \"group_name\": null}"),
               "group <b><>\ngroup <c><>\ng");
    check_told(GROUPS("\"a\": {\"global_ranks\": [-1], \"global_ranks\": [1], \"group_name\": 5, "
                      "\"group_name\": \"x\"}, \"b\": {}"),
               "group <a><x> 1\ngroup <b><>\ng");
    check_told(ARGS("\"world_size\": null, \"data_parallel_size\": \"-3\""),
               "args -1 -1 -3 -1 -1 -1 {\"world_size\": null, \"data_parallel_size\": \"-3\"}\nd");
}

static void test_who_is_told_of_damage_may_end_the_reading(void) {
    static const char *const contents[] = {
        GROUPS("\"a\": 3"), GROUPS("\"a\": {\"global_ranks\": 1}"), GROUPS("\"a\": {\"group_name\": 1}"),
        ARGS("\"world_size\": 1.5, \"a\": 1"), "{\"distributed_args\": 1}"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        char *text;
        rlmr_error err;
        CU_ASSERT_EQUAL(read_and_note(rlmr_slice_of(contents[i]), 0, true, &text, &err), RLMR_E_PARSE);
        CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
        CU_ASSERT_PTR_EQUAL(strchr(text, '\n'), strrchr(text, '\n'));
        free(text);
    }
}

static void test_a_file_that_is_no_object_cannot_be_parsed(void) {
    check_error("[]", RLMR_E_PARSE, "");
    check_error("\"x\"", RLMR_E_PARSE, "");
    check_error("", RLMR_E_PARSE, "");
}

static void test_what_comes_before_an_error_is_given(void) {
    check_error(
        "{\"parallel_group_info\": {\"a\": {}, \"b\": {\"group_name\": N/A}}, \"distributed_args\": {}}",
        RLMR_E_PARSE, "group <a><>\ng");
}

static const char whole_file[] = "{\"distributed_args\": {\"rank\": 1, \"world_size\": 8, \"x\": [1, {\"y\": "
                                 "\"\\u00e9\"}]}, \"ENV\": {\"a\": \"b\"}, "
                                 "\"parallel_group_info\": {\"g\": {\"group_name\": \"tp\", "
                                 "\"global_ranks\": [0, 12]}, \"h\": {\"global_ranks\": [3]}}}";

/* Without the signs of the keys. */
static size_t length_of_records(const char *text) {
    const char *end = strrchr(text, '\n');
    return end == NULL ? 0 : (size_t)(end + 1 - text);
}

static void test_a_file_cut_at_any_byte_gives_what_is_complete(void) {
    char *whole;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_slice_of(whole_file), -1, &whole, &err), RLMR_OK);
    CU_ASSERT_STRING_EQUAL(whole + length_of_records(whole), "gd");
    size_t longest = 0;
    for (size_t bytes = 0; bytes < sizeof whole_file - 1; bytes++) {
        char *text;
        CU_ASSERT_EQUAL(read_slice((rlmr_slice){whole_file, bytes}, -1, &text, &err), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(err.offset, (int64_t)bytes);
        size_t length = length_of_records(text);
        CU_ASSERT_TRUE(length >= longest && strncmp(text, whole, length) == 0);
        longest = length;
        free(text);
    }
    CU_ASSERT_EQUAL(longest, length_of_records(whole));
    free(whole);
}

/* ---- Limits ---- */

/* `before`, then `part` so often that there are `bytes` of them, then `after`. */
static rlmr_slice fill(const char *before, const char *part, size_t bytes, const char *after) {
    size_t times = bytes / strlen(part) + 1;
    char *content = malloc(strlen(before) + times * strlen(part) + strlen(after) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(content);
    char *at = stpcpy(content, before);
    for (size_t i = 0; i < times; i++) {
        at = stpcpy(at, part);
    }
    at = stpcpy(at, after);
    return (rlmr_slice){.text = content, .bytes = (size_t)(at - content)};
}

static void check_too_large(rlmr_slice content, const char *limit, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(content, -1, &text, &err), RLMR_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, limit));
    CU_ASSERT_TRUE(err.offset > 0);
    check_text(text, wanted);
    free(text);
    free((char *)content.text);
}

static void test_what_is_held_has_a_limit(void) {
    check_too_large(fill("{\"parallel_group_info\": {\"a\": {}, \"b\": {\"global_ranks\": [0", ",1",
                         RLMR_LIMIT_RECORD_BYTES / 2, "]}}}"),
                    "(limit RECORD_BYTES)", "group <a><>\ng");
    check_too_large(fill("{\"distributed_args\": {\"a\": [0", ",11", RLMR_LIMIT_RECORD_BYTES, "]}}"),
                    "(limit RECORD_BYTES)", "d");
    check_too_large(fill("{\"parallel_group_info\": {\"a\": {}, \"", "0123456789abcdef",
                         RLMR_LIMIT_STRING_BYTES, "\": {}}}"),
                    "(limit STRING_BYTES)", "group <a><>\ng");
    check_too_large(fill("{\"distributed_args\": {\"a\": ", "[", RLMR_LIMIT_JSON_DEPTH, ""),
                    "(limit JSON_DEPTH)", "d");
}

static void test_a_group_within_the_limit_is_given(void) {
    rlmr_slice content =
        fill("{\"parallel_group_info\": {\"a\": {\"global_ranks\": [0", ",1", 2 * (1 << 20), "]}}}");
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(content, -1, &text, &err), RLMR_OK);
    CU_ASSERT_TRUE(strlen(text) > 2 * (1 << 20));
    free(text);
    free((char *)content.text);
}

/* ---- Ends ---- */

static void test_who_is_told_may_end_the_reading(void) {
    char *whole;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_slice_of(whole_file), -1, &whole, &err), RLMR_OK);
    for (int left = 0; left < 3; left++) {
        char *text;
        CU_ASSERT_EQUAL(read_slice(rlmr_slice_of(whole_file), left, &text, &err), RLMR_E_PARSE);
        CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
        CU_ASSERT_EQUAL(strncmp(text, whole, length_of_records(text)), 0);
        int calls = 0;
        for (const char *at = text; *at != '\0'; at++) {
            calls += *at == '\n';
        }
        CU_ASSERT_EQUAL(calls, left + 1);
        free(text);
    }
    free(whole);
}

static void test_a_file_that_is_not_there_cannot_be_read(void) {
    bool has_groups = true;
    bool has_distribution = true;
    CU_ASSERT_EQUAL(rlmr_metadata_read("/nowhere/profiler_metadata.json", NULL, NULL, &has_groups,
                                       &has_distribution, NULL),
                    RLMR_E_INPUT);
    CU_ASSERT_FALSE(has_groups || has_distribution);
}

CU_TestInfo rlmr_tests_metadata_reader[] = {
    {"what has another form is told", test_what_has_another_form_is_told},
    {"what is absent, null or replaced is not told", test_what_is_absent_null_or_replaced_is_not_told},
    {"who is told of damage may end the reading", test_who_is_told_of_damage_may_end_the_reading},
    {"groups come with name and members", test_groups_come_with_name_and_members},
    {"members may be texts", test_members_may_be_texts},
    {"a group without members has none", test_a_group_without_members_has_none},
    {"nothing of a group stays for the next", test_nothing_of_a_group_stays_for_the_next},
    {"what is no list of ranks has no members", test_what_is_no_list_of_ranks_has_no_members},
    {"a name is only ever a text", test_a_name_is_only_ever_a_text},
    {"a group that is no object is left out", test_a_group_that_is_no_object_is_left_out},
    {"groups that are no object are none", test_groups_that_are_no_object_are_none},
    {"of a repeated key in a group the last counts", test_of_a_repeated_key_in_a_group_the_last_counts},
    {"other fields of a group are passed over", test_other_fields_of_a_group_are_passed_over},
    {"only keys of the file itself count", test_only_keys_of_the_file_itself_count},
    {"sizes are taken and the object is kept without rank",
     test_sizes_are_taken_and_the_object_is_kept_without_rank},
    {"a size that is no integer of 32 bits is unknown", test_a_size_that_is_no_integer_of_32_bits_is_unknown},
    {"sizes within other values do not count", test_sizes_within_other_values_do_not_count},
    {"the object is one line as python writes it", test_the_object_is_one_line_as_python_writes_it},
    {"texts in the object are ascii", test_texts_in_the_object_are_ascii},
    {"an empty object or none is not given", test_an_empty_object_or_none_is_not_given},
    {"nothing stays for a second object", test_nothing_stays_for_a_second_object},
    {"a file that is no object cannot be parsed", test_a_file_that_is_no_object_cannot_be_parsed},
    {"what comes before an error is given", test_what_comes_before_an_error_is_given},
    {"a file cut at any byte gives what is complete", test_a_file_cut_at_any_byte_gives_what_is_complete},
    {"what is held has a limit", test_what_is_held_has_a_limit},
    {"a group within the limit is given", test_a_group_within_the_limit_is_given},
    {"who is told may end the reading", test_who_is_told_may_end_the_reading},
    {"a file that is not there cannot be read", test_a_file_that_is_not_there_cannot_be_read},
    CU_TEST_INFO_NULL,
};
