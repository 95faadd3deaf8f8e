#include "rlmr/text_writer.h"

#include "rlmr/output_place.h"

#include <CUnit/Basic.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char path[512];
    char target[600]; /* "out.txt" in it */
} scratch;

static scratch scratch_open(void) {
    scratch made;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(made.path, sizeof made.path, "%s/rlmr-text-XXXXXX", parent == NULL ? "/tmp" : parent);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.path));
    (void)snprintf(made.target, sizeof made.target, "%s/out.txt", made.path);
    return made;
}

/* Nothing but the target may be left. */
static void scratch_close(const scratch *used) {
    (void)unlink(used->target);
    CU_ASSERT_EQUAL(rmdir(used->path), 0);
}

static rlmr_text *create(const scratch *place, bool replace) {
    rlmr_text *file = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_text_create(place->target, replace, &file, &err), RLMR_OK);
    return file;
}

/* Commits, and compares with what is in the file then. */
static void check_content(const scratch *place, rlmr_text *file, const char *expected) {
    char content[4096] = "";
    CU_ASSERT_EQUAL_FATAL(rlmr_text_commit(file, NULL), RLMR_OK);
    FILE *stream = fopen(place->target, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    size_t bytes = fread(content, 1, sizeof content - 1, stream);
    (void)fclose(stream);
    CU_ASSERT_EQUAL(bytes, strlen(expected));
    CU_ASSERT_STRING_EQUAL(content, expected);
}

static void test_csv_cells_are_quoted_where_needed(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    rlmr_csv_text(file, RLMR_SLICE("plain text"));
    rlmr_csv_text(file, RLMR_SLICE("a,b"));
    rlmr_csv_text(file, RLMR_SLICE("say \"x\", \"y\""));
    rlmr_csv_text(file, RLMR_SLICE("f;\r\ng"));
    rlmr_csv_text(file, RLMR_SLICE("\r"));
    rlmr_csv_text(file, RLMR_SLICE("\n"));
    rlmr_csv_text(file, (rlmr_slice){NULL, 0});
    rlmr_csv_end_row(file);
    rlmr_csv_i64(file, INT64_MIN);
    rlmr_csv_f64(file, 0.1);
    rlmr_csv_f64(file, NAN);
    rlmr_csv_end_row(file);
    check_content(&place, file,
                  "plain text,\"a,b\",\"say \"\"x\"\", \"\"y\"\"\",\"f;\r\ng\",\"\r\",\"\n\",\r\n"
                  "-9223372036854775808,0.1,\r\n");
    scratch_close(&place);
}

static void test_a_lone_empty_cell_is_no_empty_line(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    rlmr_csv_text(file, RLMR_SLICE(""));
    rlmr_csv_end_row(file);
    rlmr_csv_f64(file, NAN);
    rlmr_csv_end_row(file);
    rlmr_csv_f64(file, 1);
    rlmr_csv_end_row(file);
    check_content(&place, file, "\"\"\r\n\"\"\r\n1.0\r\n");
    scratch_close(&place);
}

static void test_json_has_commas_where_they_belong(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    rlmr_json_open(file, '{');
    rlmr_json_key(file, RLMR_SLICE("a"));
    rlmr_json_open(file, '[');
    rlmr_json_i64(file, -1);
    rlmr_json_f64(file, 2);
    rlmr_json_open(file, '{');
    rlmr_json_close(file, '}');
    rlmr_json_close(file, ']');
    rlmr_json_key_of(file, RLMR_SLICE("b"), RLMR_SLICE("@"), RLMR_SLICE("c"));
    rlmr_json_open(file, '{');
    rlmr_json_key(file, RLMR_SLICE(""));
    rlmr_json_text(file, RLMR_SLICE(""));
    rlmr_json_close(file, '}');
    rlmr_json_key(file, RLMR_SLICE("d"));
    rlmr_json_number(file, RLMR_SLICE("1.50"));
    rlmr_json_close(file, '}');
    check_content(&place, file, "{\"a\": [-1, 2.0, {}], \"b@c\": {\"\": \"\"}, \"d\": 1.50}");
    scratch_close(&place);
}

static void test_json_text_is_ascii(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    rlmr_json_open(file, '[');
    rlmr_json_text(file, RLMR_SLICE("\"\\/\b\f\n\r\t\x01\x1f\x7f~"));
    rlmr_json_text(file, RLMR_SLICE("\xC3\xA4\xE4\xB8\xAD\xEF\xBF\xBD\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF"));
    rlmr_json_close(file, ']');
    check_content(&place, file,
                  "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f~\", "
                  "\"\\u00e4\\u4e2d\\ufffd\\ud83d\\ude00\\udbff\\udfff\"]");
    scratch_close(&place);
}

static void test_json_numbers_are_those_of_python(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    rlmr_json_open(file, '[');
    rlmr_json_f64(file, NAN);
    rlmr_json_f64(file, INFINITY);
    rlmr_json_f64(file, -INFINITY);
    rlmr_json_f64(file, 4e-06);
    rlmr_json_close(file, ']');
    check_content(&place, file, "[NaN, Infinity, -Infinity, 4e-06]");
    scratch_close(&place);
}

static void test_objects_too_deep_are_an_error(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    for (int i = 0; i < 17; i++) {
        rlmr_json_open(file, '[');
    }
    CU_ASSERT_EQUAL(rlmr_text_commit(file, NULL), RLMR_E_RANGE);
    CU_ASSERT_NOT_EQUAL(access(place.target, F_OK), 0);
    scratch_close(&place);
}

/* Pieces that fit into no buffer, and that cross its end. */
static void test_long_content_is_whole(void) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    size_t bytes = 300000;
    char *text = malloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < bytes; i++) {
        text[i] = (char)('a' + i % 26);
    }
    for (size_t at = 0, piece = 1; at < bytes; piece = piece * 3 % 200003) {
        size_t now = piece < bytes - at ? piece : bytes - at;
        rlmr_text_put(file, (rlmr_slice){text + at, now});
        at += now;
    }
    CU_ASSERT_EQUAL_FATAL(rlmr_text_commit(file, NULL), RLMR_OK);
    FILE *stream = fopen(place.target, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    char *content = malloc(bytes + 1);
    CU_ASSERT_EQUAL(fread(content, 1, bytes + 1, stream), bytes);
    CU_ASSERT_EQUAL(memcmp(content, text, bytes), 0);
    (void)fclose(stream);
    free(content);
    free(text);
    scratch_close(&place);
}

static void test_an_existing_file_is_refused_or_replaced_at_the_commit(void) {
    scratch place = scratch_open();
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_text *file = create(&place, false);
    CU_ASSERT_NOT_EQUAL(access(place.target, F_OK), 0);
    CU_ASSERT_EQUAL(access(rlmr_text_temporary(file), F_OK), 0);
    check_content(&place, file, "");
    CU_ASSERT_EQUAL(rlmr_place_check(place.target, false, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "out.txt exists; use --force to replace it"));
    CU_ASSERT_EQUAL(rlmr_text_create(place.target, false, &file, NULL), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NULL(file);
    CU_ASSERT_EQUAL(rlmr_place_check(place.target, true, NULL), RLMR_OK);
    file = create(&place, true);
    rlmr_text_put(file, RLMR_SLICE("given up"));
    rlmr_text_discard(file);
    file = create(&place, true);
    rlmr_text_put(file, RLMR_SLICE("new"));
    check_content(&place, file, "new");
    scratch_close(&place);
}

/* Write so many bytes where 1000 are allowed. The last of them may be what is too much. */
static void check_full(size_t pieces) {
    scratch place = scratch_open();
    rlmr_text *file = create(&place, false);
    struct rlimit old;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    CU_ASSERT_EQUAL_FATAL(sigaction(SIGXFSZ, &ignore, &before), 0);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit small = {.rlim_cur = 1000, .rlim_max = old.rlim_max};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (size_t i = 0; i < pieces; i++) {
        rlmr_text_put(file, RLMR_SLICE("0123456789"));
    }
    rlmr_status seen = rlmr_text_status(file, NULL);
    rlmr_status status = rlmr_text_commit(file, &err);
    (void)setrlimit(RLIMIT_FSIZE, &old);
    (void)sigaction(SIGXFSZ, &before, NULL);
    CU_ASSERT_EQUAL(seen, pieces > 10000 ? RLMR_E_OUTPUT : RLMR_OK);
    CU_ASSERT_EQUAL(status, RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ulimit -f"));
    CU_ASSERT_NOT_EQUAL(access(place.target, F_OK), 0);
    scratch_close(&place);
}

static void test_a_write_error_is_kept_and_nothing_is_left(void) {
    check_full(100000);
    check_full(101); /* only the end of the last write fails */
}

static void test_directories_are_made_and_taken_back(void) {
    scratch place = scratch_open();
    char path[800];
    char kept[800];
    rlmr_places made = {0};
    (void)snprintf(path, sizeof path, "%s/a/b/c/out.txt", place.path);
    (void)snprintf(kept, sizeof kept, "%s/a/kept", place.path);
    CU_ASSERT_EQUAL(rlmr_places_make(&made, path, NULL), RLMR_OK);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT_EQUAL(mkdir(kept, 0700), 0);
    rlmr_places_take_back(&made);
    rlmr_places_release(&made);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0); /* a/b is gone */
    CU_ASSERT_EQUAL(access(kept, F_OK), 0);
    CU_ASSERT_EQUAL(rmdir(kept), 0);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL(rmdir(path), 0);
    scratch_close(&place);
}

static void test_a_file_in_the_way_of_a_directory_is_named(void) {
    scratch place = scratch_open();
    char path[800];
    rlmr_places made = {0};
    rlmr_error err;
    rlmr_error_clear(&err);
    check_content(&place, create(&place, false), "");
    (void)snprintf(path, sizeof path, "%s/x/out.txt", place.target);
    CU_ASSERT_EQUAL(rlmr_places_make(&made, path, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "out.txt is no directory"));
    rlmr_places_release(&made);
    scratch_close(&place);
}

CU_TestInfo rlmr_tests_text_writer[] = {
    {"CSV cells are quoted where needed", test_csv_cells_are_quoted_where_needed},
    {"a lone empty cell is no empty line", test_a_lone_empty_cell_is_no_empty_line},
    {"JSON has commas where they belong", test_json_has_commas_where_they_belong},
    {"JSON text is ASCII, with surrogates", test_json_text_is_ascii},
    {"JSON numbers are those of Python", test_json_numbers_are_those_of_python},
    {"objects too deep are an error", test_objects_too_deep_are_an_error},
    {"long content is whole", test_long_content_is_whole},
    {"an existing file is refused, or replaced at the commit",
     test_an_existing_file_is_refused_or_replaced_at_the_commit},
    {"a write error is kept, and nothing is left", test_a_write_error_is_kept_and_nothing_is_left},
    {"directories are made, and taken back if they are empty", test_directories_are_made_and_taken_back},
    {"a file in the way of a directory is named", test_a_file_in_the_way_of_a_directory_is_named},
    CU_TEST_INFO_NULL,
};
