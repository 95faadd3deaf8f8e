#include "datamap.h"

#include "capture_dir.h"

#include <CUnit/Basic.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- A tree of directories ---- */

static char *make_tree(void) {
    const char *parent = getenv("TMPDIR");
    char *root = NULL;
    CU_ASSERT_FATAL(asprintf(&root, "%s/rlmr-datamap-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
    return root;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(char *root) {
    CU_ASSERT_EQUAL(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(root);
}

static char *path_in(const char *root, const char *name) {
    char *path = NULL;
    CU_ASSERT_FATAL(asprintf(&path, "%s/%s", root, name) > 0);
    return path;
}

/* A directory, with those above it. */
static void put_directory(const char *root, const char *name) {
    char *path = path_in(root, name);
    for (size_t at = strlen(root) + 1; path[at] != '\0'; at++) {
        if (path[at] == '/') {
            path[at] = '\0';
            (void)mkdir(path, 0700);
            path[at] = '/';
        }
    }
    (void)mkdir(path, 0700);
    free(path);
}

/* A file, with the directories above it. */
static void put_file(const char *root, const char *name, const char *content) {
    char *above = strdup(name);
    *strrchr(above, '/') = '\0';
    put_directory(root, above);
    free(above);
    char *path = path_in(root, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE_FATAL(fputs(content, file) >= 0);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    free(path);
}

static void put_link(const char *root, const char *name, const char *target) {
    char *path = path_in(root, name);
    CU_ASSERT_EQUAL_FATAL(symlink(target, path), 0);
    free(path);
}

/* A file of a capture. */
static void put_in(const char *root, const char *capture, const char *name, const char *content) {
    char *path = path_in(capture, name);
    put_file(root, path, content);
    free(path);
}

#define OUTPUT "ASCEND_PROFILER_OUTPUT/"

/* A capture with memory records. */
static void put_capture(const char *root, const char *name, int rank) {
    char info[40];
    (void)snprintf(info, sizeof info, "profiler_info_%d.json", rank);
    put_in(root, name, info, "{}");
    put_in(root, name, OUTPUT "operator_memory.csv", "12345");
}

/* ---- The map of a tree, as text ---- */

typedef struct {
    rlmr_status status;
    rlmr_error err;
    rlmr_datamap map;
    rlmr_map_options options;
} result;

static result build_words(char **words) {
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    result got;
    rlmr_options options;
    rlmr_error_clear(&got.err);
    CU_ASSERT_EQUAL_FATAL(rlmr_options_parse(count, words, &options, &got.err), RLMR_PARSED_RUN);
    got.options = options.map;
    got.status = rlmr_datamap_build(&options, &got.map, &got.err);
    CU_ASSERT_EQUAL(got.err.code, got.status);
    rlmr_options_release(&options);
    return got;
}

#define BUILD(...) build_words((char *[]){(char[]){"rl-insight-mr"}, __VA_ARGS__, NULL})

/* A line a capture: number, role, rank, window, path. */
static char *describe(const rlmr_datamap *map) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < map->count; i++) {
        const rlmr_capture *capture = &map->captures[i];
        (void)fprintf(out, "%d %s %d %d %s\n", capture->number, capture->role, capture->rank_id,
                      capture->window, capture->path);
    }
    CU_ASSERT_EQUAL(fclose(out), 0);
    return text;
}

static void check_map(result got, const char *wanted) {
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    char *text = describe(&got.map);
    bool same = strcmp(text, wanted) == 0;
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    wanted:\n%s    got:\n%s%s\n", wanted, text, got.err.message);
    }
    free(text);
    rlmr_datamap_release(&got.map);
}

static void check_refused(result got, const char *reason) {
    CU_ASSERT_EQUAL(got.status, RLMR_E_INPUT);
    bool good = strstr(got.err.message, reason) != NULL;
    CU_ASSERT_TRUE(good);
    if (!good) {
        (void)fprintf(stderr, "\n    wanted: %s\n    said: %s\n", reason, got.err.message);
    }
    rlmr_datamap_release(&got.map);
}

/* ---- Rule 1: which directories are captures ---- */

static void test_captures_are_found_at_any_depth(void) {
    char *root = make_tree();
    put_capture(root, "a_ascend_pt", 0);
    put_capture(root, "x/b_ascend_pt", 1);
    put_capture(root, "x/y/z/c_ascend_pt", 2);
    put_capture(root, "x/_ascend_pt", 3);
    put_directory(root, "x/empty/directories");
    put_directory(root, "x/d_ascend_pt_old");
    put_directory(root, "x/ascend_pt");
    put_file(root, "x/file_ascend_pt", "no directory");
    const char *name = strrchr(root, '/') + 1;
    char wanted[200];
    (void)snprintf(
        wanted, sizeof wanted,
        "0 %s 0 0 a_ascend_pt\n1 x 1 0 x/b_ascend_pt\n2 x 3 0 x/_ascend_pt\n3 z 2 0 x/y/z/c_ascend_pt\n",
        name);
    check_map(BUILD(root), wanted);
    remove_tree(root);
}

static void test_a_capture_is_not_searched(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 0);
    put_capture(root, "x/a_ascend_pt/PROF_1/b_ascend_pt", 1);
    check_map(BUILD(root), "0 x 0 0 a_ascend_pt\n");
    remove_tree(root);
}

static void test_a_capture_may_be_the_input(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 4);
    put_capture(root, "x/b_ascend_pt", 5);
    char *capture = path_in(root, "x/a_ascend_pt");
    char *with_slash = path_in(root, "x/a_ascend_pt/");
    check_map(BUILD(capture), "0 x 4 0 a_ascend_pt\n");
    check_map(BUILD(with_slash), "0 x 4 0 a_ascend_pt\n");
    free(capture);
    free(with_slash);
    remove_tree(root);
}

static void test_a_directory_reached_twice_counts_once(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 0);
    put_capture(root, "x/y/b_ascend_pt", 1);
    put_link(root, "other_name", "x/y");
    char *part = path_in(root, "x");
    char *detour = path_in(root, "x/y/../../x/./y");
    char *capture = path_in(root, "x/y/b_ascend_pt");
    char *link = path_in(root, "other_name");
    check_map(BUILD(root, part, detour, capture, link, root), "0 x 0 0 a_ascend_pt\n1 y 1 0 y/b_ascend_pt\n");
    free(part);
    free(detour);
    free(capture);
    free(link);
    remove_tree(root);
}

static void test_linked_directories_are_not_followed(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 0);
    put_capture(root, "elsewhere/b_ascend_pt", 1);
    put_capture(root, "elsewhere/deep/c_ascend_pt", 2);
    put_link(root, "x/b_ascend_pt", "../elsewhere/b_ascend_pt");
    put_link(root, "x/deep", "../elsewhere/deep");
    put_link(root, "x/round", "..");
    put_link(root, "x/nowhere_ascend_pt", "absent");
    char *part = path_in(root, "x");
    check_map(BUILD(part), "0 x 0 0 a_ascend_pt\n");
    free(part);
    remove_tree(root);
}

static void test_an_input_that_is_a_link_is_followed(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 0);
    put_link(root, "link", "x");
    char *link = path_in(root, "link");
    check_map(BUILD(link), "0 x 0 0 a_ascend_pt\n");
    free(link);
    remove_tree(root);
}

static void test_names_may_be_any_bytes(void) {
    char *root = make_tree();
    put_capture(root, "\xE8\xAE\xAD\xE7\xBB\x83 1/a b_ascend_pt", 0);
    put_capture(root, "\xFF\xFE/c,\"d\"_ascend_pt", 1);
    check_map(BUILD(root), "0 \xE8\xAE\xAD\xE7\xBB\x83 1 0 0 \xE8\xAE\xAD\xE7\xBB\x83 1/a b_ascend_pt\n"
                           "1 \xEF\xBF\xBD\xEF\xBF\xBD 1 0 \xFF\xFE/c,\"d\"_ascend_pt\n");
    remove_tree(root);
}

static void test_roles_that_look_the_same_are_the_same(void) {
    char *root = make_tree();
    put_capture(root, "a\xFE/x_ascend_pt", 1);
    put_capture(root, "a\xFF/x_ascend_pt", 1);
    check_map(BUILD(root), "0 a\xEF\xBF\xBD 1 0 a\xFE/x_ascend_pt\n1 a\xEF\xBF\xBD 1 1 a\xFF/x_ascend_pt\n");
    remove_tree(root);
}

static void test_inputs_that_are_no_directories_are_errors(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 0);
    put_file(root, "x/file", "");
    char *absent = path_in(root, "absent");
    char *file = path_in(root, "x/file");
    check_refused(BUILD(root, absent), "/absent: No such file or directory");
    check_refused(BUILD(file, root), "/x/file: not a directory");
    CU_ASSERT_EQUAL(strncmp(BUILD(absent).err.message, "input ", 6), 0);
    free(absent);
    free(file);
    remove_tree(root);
}

static void test_no_capture_at_all_is_an_error(void) {
    char *root = make_tree();
    put_directory(root, "x/y");
    char *part = path_in(root, "x");
    check_refused(BUILD(root), "no capture found: no directory whose name ends in _ascend_pt below ");
    check_refused(BUILD(part, root), "/x and the other inputs");
    free(part);
    rlmr_options none = {.roots_count = 0};
    result got = {.status = RLMR_OK};
    rlmr_error_clear(&got.err);
    got.status = rlmr_datamap_build(&none, &got.map, &got.err);
    check_refused(got, "below an empty list");
    remove_tree(root);
}

/* ---- Rule 2: the rank ---- */

typedef struct {
    const char *file;
    const char *content;
    int rank;                   /* -1: failed */
    rlmr_capture_status status; /* of the capture */
    const char *message;        /* NULL for none */
} rank_case;

/* The only capture of the tree, read by itself. */
static rlmr_capture read_capture(const char *root, const char *name) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    char *path = path_in(root, name);
    CU_ASSERT_EQUAL(rlmr_capture_dir_read(path, &capture, NULL), RLMR_OK);
    free(path);
    return capture;
}

static void check_message(const rlmr_capture *capture, const char *wanted) {
    if (wanted == NULL || capture->message == NULL) {
        CU_ASSERT_PTR_EQUAL(capture->message, wanted);
        return;
    }
    bool good = strstr(capture->message, wanted) != NULL;
    CU_ASSERT_TRUE(good);
    if (!good) {
        (void)fprintf(stderr, "\n    wanted: %s\n    said: %s\n", wanted, capture->message);
    }
}

static void check_rank(const rank_case *one) {
    char *root = make_tree();
    put_in(root, "x/a_ascend_pt", OUTPUT "operator_memory.csv", "");
    put_in(root, "x/a_ascend_pt", one->file, one->content);
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.rank_id, one->rank);
    CU_ASSERT_EQUAL(capture.status, one->status);
    check_message(&capture, one->message);
    CU_ASSERT_STRING_EQUAL(capture.role, "x");
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_the_rank_is_in_the_name_of_the_file(void) {
    static const rank_case cases[] = {
        {"profiler_info_0.json", "{}", 0, RLMR_CAPTURE_OK, NULL},
        {"profiler_info_17.json", "{\"rank_id\": 3}", 17, RLMR_CAPTURE_OK, NULL},
        {"profiler_info_007.json", "not JSON", 7, RLMR_CAPTURE_OK, NULL},
        {"profiler_info_2147483647.json", "", 2147483647, RLMR_CAPTURE_OK, NULL},
        {"profiler_info_2147483648.json", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_-1.json", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_.json", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_x.json", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_1.json.bak", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_1.txt", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
        {"profiler_info_1.json/file", "", -1, RLMR_CAPTURE_FAILED, "no rank id: no profiler_info file"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_rank(&cases[i]);
    }
}

static void test_the_rank_is_in_the_file_without_one_in_its_name(void) {
    static const char not_distributed[] = "not distributed";
    static const char no_rank[] = "no rank id: rank_id in profiler_info.json is no rank";
    static const char damaged[] = "no rank id: profiler_info.json cannot be read";
    static const rank_case cases[] = {
        {"profiler_info.json", "{\"config\": {\"rank_id\": 9}, \"rank_id\": 5}", 5, RLMR_CAPTURE_OK, NULL},
        {"profiler_info.json", "{\"rank_id\": \"12\"}", 12, RLMR_CAPTURE_OK, NULL},
        {"profiler_info.json", "{}", 0, RLMR_CAPTURE_OK, not_distributed},
        {"profiler_info.json", "{\"config\": {\"rank_id\": 9}}", 0, RLMR_CAPTURE_OK, not_distributed},
        {"profiler_info.json", "{\"rank_id\": -1}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": \"\"}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": \"one\"}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": null}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": [3]}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": \"1\\u00002\"}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": 1.5}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": 2147483648}", -1, RLMR_CAPTURE_FAILED, no_rank},
        {"profiler_info.json", "{\"rank_id\": 1", -1, RLMR_CAPTURE_FAILED, damaged},
        {"profiler_info.json", "[]", -1, RLMR_CAPTURE_FAILED, damaged},
        {"profiler_info.json", "", -1, RLMR_CAPTURE_FAILED, damaged},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_rank(&cases[i]);
    }
}

static void test_damage_of_the_rank_file_has_its_offset(void) {
    char *root = make_tree();
    put_in(root, "x/a_ascend_pt", "profiler_info.json", "{\"rank_id\": 1");
    put_in(root, "x/a_ascend_pt", OUTPUT "operator_memory.csv", "");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.first_error_offset, 13);
    CU_ASSERT_EQUAL(capture.files[RLMR_FILE_profiler_info].state, RLMR_FILE_DAMAGED);
    check_message(&capture, "profiler_info.json: ");
    check_message(&capture, " at byte 13; no rank id");
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_several_ranks_are_none(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 1);
    put_in(root, "x/a_ascend_pt", "profiler_info_2.json", "{}");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.rank_id, -1);
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_FAILED);
    check_message(&capture, "no rank id: several profiler_info_<rank>.json");
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_the_name_with_a_rank_goes_first(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 3);
    put_in(root, "x/a_ascend_pt", "profiler_info.json", "{\"rank_id\": 8}");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.rank_id, 3);
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(capture.files[RLMR_FILE_profiler_info].path, "profiler_info_3.json"));
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_a_capture_without_any_file_has_no_rank(void) {
    char *root = make_tree();
    put_directory(root, "x/a_ascend_pt");
    check_map(BUILD(root), "0 x -1 0 a_ascend_pt\n");
    remove_tree(root);
}

/* ---- Rule 3: the role ---- */

static void check_role(const char *metadata, const char *role, rlmr_capture_status status) {
    char *root = make_tree();
    put_capture(root, "the parent/a_ascend_pt", 3);
    put_in(root, "the parent/a_ascend_pt", "profiler_metadata.json", metadata);
    rlmr_capture capture = read_capture(root, "the parent/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.status, status);
    CU_ASSERT_STRING_EQUAL(capture.role, role);
    CU_ASSERT_EQUAL(capture.rank_id, 3);
    CU_ASSERT_EQUAL(capture.message == NULL, status == RLMR_CAPTURE_OK);
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_the_role_is_in_the_metadata_or_the_name_of_the_parent(void) {
    check_role("{\"role\": \"actor_rollout\", \"ENV_VARIABLES\": {\"role\": \"x\"}}", "actor_rollout",
               RLMR_CAPTURE_OK);
    check_role("{\"role\": \"\xE6\xBC\x94\\u5458\"}", "\xE6\xBC\x94\xE5\x91\x98", RLMR_CAPTURE_OK);
    check_role("{\"role\": \"ab\\u0000cd\"}",
               "ab\xEF\xBF\xBD"
               "cd",
               RLMR_CAPTURE_OK);
    check_role("{\"role\": \"\"}", "the parent", RLMR_CAPTURE_OK);
    check_role("{\"ENV_VARIABLES\": {\"role\": \"x\"}}", "the parent", RLMR_CAPTURE_OK);
    check_role("{\"role\": null}", "the parent", RLMR_CAPTURE_OK);
    check_role("{\"role\": [\"actor\"]}", "the parent", RLMR_CAPTURE_OK);
}

static void test_a_role_that_is_no_text_is_none(void) {
    check_role("{\"role\": 5}", "the parent", RLMR_CAPTURE_OK);
}

static void test_damaged_metadata_give_no_role(void) {
    check_role("{\"role\": \"actor\"", "the parent", RLMR_CAPTURE_PARTIAL);
    check_role("[]", "the parent", RLMR_CAPTURE_PARTIAL);
    check_role("", "the parent", RLMR_CAPTURE_PARTIAL);
}

/* ---- Rule 4: windows ---- */

static void test_stamps_of_all_forms_are_padded(void) {
    static const struct {
        const char *name;
        const char *stamp;
    } cases[] = {
        {"host_123_20250109074554851_ascend_pt", "20250109074554851"},
        {"20260526_085155_ascend_pt", "20260526085155000"},
        {"20260526085155_ascend_pt", "20260526085155000"},
        {"202605260851557_ascend_pt", "20260526085155700"},
        {"2026052608515577_ascend_pt", "20260526085155770"},
        {"rank0_ascend_pt", ""},
        {"rank_0_ascend_pt", ""},
        {"host_1234567_ascend_pt", ""},
        {"2026052608515_ascend_pt", ""},
        {"202605260851557777_ascend_pt", ""},
        {"20260526_0851550_ascend_pt", ""},
        {"20260526_08515_ascend_pt", ""},
        {"120260526_085155_ascend_pt", ""},
        {"20240101000000000_20250109074554851_ascend_pt", "20250109074554851"},
        {"20250109074554851_20240101_000000_ascend_pt", "20240101000000000"},
        {"dp0_pp0_tp0_rank0_20250109074554851_ascend_pt", "20250109074554851"},
        {"20250109074554851x123456789012345678_ascend_pt", "20250109074554851"},
        {"20260101_20260526_085155_ascend_pt", "20260526085155000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *root = make_tree();
        char *name = path_in("20990101000000000", cases[i].name); /* the parent has no say */
        put_capture(root, name, 0);
        rlmr_capture capture = read_capture(root, name);
        CU_ASSERT_STRING_EQUAL(capture.timestamp, cases[i].stamp);
        rlmr_capture_release(&capture);
        free(name);
        remove_tree(root);
    }
}

static void test_windows_are_in_order_of_the_stamps_then_the_paths(void) {
    char *root = make_tree();
    put_capture(root, "p/actor/z_20250101000000000_ascend_pt", 0);
    put_capture(root, "p/actor/a_20250103_000000_ascend_pt", 0);
    put_capture(root, "p/actor/b_20250102000000_ascend_pt", 0);
    put_capture(root, "p/actor/y_ascend_pt", 0);
    put_capture(root, "p/actor/x_ascend_pt", 0);
    put_capture(root, "p/actor/c_20250102000000_ascend_pt", 1);
    put_capture(root, "q/actor/a_20250102000000000_ascend_pt", 0);
    put_capture(root, "p/critic/a_20250102000000000_ascend_pt", 0);
    check_map(BUILD(root), "0 actor 0 0 p/actor/x_ascend_pt\n"
                           "1 actor 0 1 p/actor/y_ascend_pt\n"
                           "2 actor 0 2 p/actor/z_20250101000000000_ascend_pt\n"
                           "3 actor 0 3 p/actor/b_20250102000000_ascend_pt\n"
                           "4 actor 0 4 q/actor/a_20250102000000000_ascend_pt\n"
                           "5 actor 0 5 p/actor/a_20250103_000000_ascend_pt\n"
                           "6 actor 1 0 p/actor/c_20250102000000_ascend_pt\n"
                           "7 critic 0 0 p/critic/a_20250102000000000_ascend_pt\n");
    remove_tree(root);
}

static void test_captures_are_numbered_by_role_rank_window(void) {
    char *root = make_tree();
    put_capture(root, "b/10_ascend_pt", 10);
    put_capture(root, "b/9_ascend_pt", 9);
    put_capture(root, "a/x_ascend_pt", 11);
    put_capture(root, "Z/x_ascend_pt", 12);
    put_in(root, "b/none_ascend_pt", OUTPUT "operator_memory.csv", "");
    check_map(BUILD(root), "0 Z 12 0 Z/x_ascend_pt\n1 a 11 0 a/x_ascend_pt\n2 b -1 0 b/none_ascend_pt\n"
                           "3 b 9 0 b/9_ascend_pt\n4 b 10 0 b/10_ascend_pt\n");
    remove_tree(root);
}

static void test_roles_of_the_metadata_make_the_groups(void) {
    char *root = make_tree();
    put_capture(root, "1/a_20250101000000000_ascend_pt", 0);
    put_in(root, "1/a_20250101000000000_ascend_pt", "profiler_metadata.json", "{\"role\": \"actor\"}");
    put_capture(root, "2/a_20250102000000000_ascend_pt", 0);
    put_in(root, "2/a_20250102000000000_ascend_pt", "profiler_metadata.json", "{\"role\": \"actor\"}");
    check_map(BUILD(root),
              "0 actor 0 0 1/a_20250101000000000_ascend_pt\n1 actor 0 1 2/a_20250102000000000_ascend_pt\n");
    remove_tree(root);
}

/* The job's role of each capture, in their order. */
static void check_job_roles(const char *root, const char *filter, const char *expected) {
    result got =
        filter == NULL ? BUILD((char *)root) : BUILD((char[]){"--rank-list"}, (char *)filter, (char *)root);
    CU_ASSERT_EQUAL_FATAL(got.status, RLMR_OK);
    char text[200] = "";
    for (size_t i = 0; i < got.map.count; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "<%s>", got.map.captures[i].job_role);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    rlmr_datamap_release(&got.map);
}

static void test_a_parent_is_a_role_of_the_job_if_a_rank_lies_under_two(void) {
    char *root = make_tree();
    put_capture(root, "node0/a_ascend_pt", 0);
    put_capture(root, "node1/b_ascend_pt", 1);
    put_in(root, "node1/none_ascend_pt", OUTPUT "operator_memory.csv", "");
    put_in(root, "node0/none_ascend_pt", OUTPUT "operator_memory.csv",
           ""); /* without a rank, so not the same */
    put_capture(root, "node1/c_ascend_pt", 0);
    put_in(root, "node1/c_ascend_pt", "profiler_metadata.json", "{\"role\": \"critic\"}");
    check_job_roles(root, NULL, "<critic><><><><>");
    put_capture(root, "node1/later_ascend_pt", 0);
    check_job_roles(root, NULL, "<critic><node0><node0><node1><node1><node1>");
    check_job_roles(root, "1", "<node1>");
    remove_tree(root);
}

/* ---- Rule 5: the files ---- */

static void check_file(const rlmr_capture *capture, rlmr_file_kind kind, const char *name, int64_t bytes) {
    const rlmr_file *file = &capture->files[kind];
    if (name == NULL) {
        CU_ASSERT_EQUAL(file->state, RLMR_FILE_ABSENT);
        CU_ASSERT_EQUAL(file->bytes, -1);
        return;
    }
    CU_ASSERT_EQUAL(file->state, RLMR_FILE_UNUSED);
    CU_ASSERT_EQUAL(file->bytes, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file->path);
    CU_ASSERT_STRING_EQUAL(strrchr(file->path, '/') + 1, name);
}

static void test_files_are_found_by_their_names(void) {
    char *root = make_tree();
    static const char *const names[] = {
        "trace_view.json", "operator_memory.csv",       "step_trace_time.csv",         "communication.json",
        "analysis.db",     "communication_matrix.json", "ascend_pytorch_profiler_3.db"};
    put_in(root, "x/a_ascend_pt", "profiler_info_3.json", "{}");
    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = path_in("ASCEND_PROFILER_OUTPUT", names[i]);
        put_in(root, "x/a_ascend_pt", path, &"1234567890"[i]);
        free(path);
    }
    put_in(root, "x/a_ascend_pt", OUTPUT "kernel_details.csv", "not used yet");
    put_in(root, "x/a_ascend_pt", "operator_memory.csv", "in the wrong place");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    check_file(&capture, RLMR_FILE_profiler_info, "profiler_info_3.json", 2);
    check_file(&capture, RLMR_FILE_profiler_metadata, NULL, 0);
    check_file(&capture, RLMR_FILE_trace_view, names[0], 10);
    check_file(&capture, RLMR_FILE_operator_memory, names[1], 9);
    check_file(&capture, RLMR_FILE_step_trace_time, names[2], 8);
    check_file(&capture, RLMR_FILE_communication, names[3], 7);
    check_file(&capture, RLMR_FILE_analysis_db, names[4], 6);
    check_file(&capture, RLMR_FILE_communication_matrix, names[5], 5);
    check_file(&capture, RLMR_FILE_profiler_db, names[6], 4);
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_OK);
    CU_ASSERT_PTR_NULL(capture.message);
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void check_only_file(const char *name, rlmr_file_kind kind, bool known) {
    char *root = make_tree();
    char *path = path_in("ASCEND_PROFILER_OUTPUT", name);
    put_in(root, "x/a_ascend_pt", "profiler_info_3.json", "{}");
    put_in(root, "x/a_ascend_pt", path, "abc");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    check_file(&capture, kind, known ? name : NULL, 3);
    CU_ASSERT_EQUAL(capture.status, known ? RLMR_CAPTURE_OK : RLMR_CAPTURE_EMPTY);
    rlmr_capture_release(&capture);
    free(path);
    remove_tree(root);
}

static void test_some_files_have_several_names(void) {
    check_only_file("trace_view.json.gz", RLMR_FILE_trace_view, true);
    check_only_file("ascend_pytorch_profiler.db", RLMR_FILE_profiler_db, true);
    check_only_file("ascend_pytorch_profiler_12.db", RLMR_FILE_profiler_db, true);
    check_only_file("ascend_pytorch_profiler_.db", RLMR_FILE_profiler_db, false);
    check_only_file("ascend_pytorch_profiler_x.db", RLMR_FILE_profiler_db, false);
    check_only_file("ascend_pytorch_profiler_1.db-wal", RLMR_FILE_profiler_db, false);
    check_only_file("trace_view.json.bak", RLMR_FILE_trace_view, false);
    check_only_file("Operator_Memory.csv", RLMR_FILE_operator_memory, false);
}

static void test_a_directory_with_the_name_of_a_file_is_not_absent(void) {
    char *root = make_tree();
    put_in(root, "x/a_ascend_pt", "profiler_info_3.json", "{}");
    put_in(root, "x/a_ascend_pt", OUTPUT "trace_view.json/file", "abc");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    check_file(&capture, RLMR_FILE_trace_view, "trace_view.json", 0);
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_a_plain_trace_goes_before_a_packed_one(void) {
    char *root = make_tree();
    put_in(root, "x/a_ascend_pt", "profiler_info_3.json", "{}");
    put_in(root, "x/a_ascend_pt", OUTPUT "trace_view.json.gz", "packed");
    put_in(root, "x/a_ascend_pt", OUTPUT "trace_view.json", "[]");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    check_file(&capture, RLMR_FILE_trace_view, "trace_view.json", 2);
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void check_empty(const char *directory, const char *message) {
    char *root = make_tree();
    char *path = path_in("x/a_ascend_pt", directory);
    put_in(root, "x/a_ascend_pt", "profiler_info_3.json", "{}");
    put_directory(root, path);
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_EMPTY);
    CU_ASSERT_EQUAL(capture.rank_id, 3);
    check_message(&capture, message);
    rlmr_capture_release(&capture);
    free(path);
    remove_tree(root);
}

static void test_a_capture_without_data_is_empty(void) {
    check_empty("FRAMEWORK", "raw data, not analysed: run torch_npu.profiler.profiler.analyse(path)");
    check_empty("PROF_000001_20250109", "raw data, not analysed");
    check_empty("logs", "no ASCEND_PROFILER_OUTPUT");
    check_empty("ASCEND_PROFILER_OUTPUT", "no known file in ASCEND_PROFILER_OUTPUT");
}

static void test_raw_data_beside_the_output_do_not_matter(void) {
    char *root = make_tree();
    put_capture(root, "x/a_ascend_pt", 3);
    put_directory(root, "x/a_ascend_pt/FRAMEWORK");
    put_directory(root, "x/a_ascend_pt/PROF_1");
    rlmr_capture capture = read_capture(root, "x/a_ascend_pt");
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_OK);
    rlmr_capture_release(&capture);
    remove_tree(root);
}

static void test_a_capture_that_is_gone_has_failed(void) {
    char *root = make_tree();
    rlmr_capture capture = read_capture(root, "x/a_20250109074554851_ascend_pt");
    CU_ASSERT_EQUAL(capture.status, RLMR_CAPTURE_FAILED);
    CU_ASSERT_STRING_EQUAL(capture.role, "x");
    CU_ASSERT_STRING_EQUAL(capture.timestamp, "20250109074554851");
    check_message(&capture, "No such file or directory");
    rlmr_capture_release(&capture);
    remove_tree(root);
}

/* ---- Paths ---- */

static void test_paths_are_relative_to_what_holds_all_captures(void) {
    char *root = make_tree();
    put_capture(root, "job/one/a_ascend_pt", 0);
    put_capture(root, "job/one_more/b_ascend_pt", 1);
    char *one = path_in(root, "job/one");
    char *more = path_in(root, "job/one_more");
    check_map(BUILD(root), "0 one 0 0 one/a_ascend_pt\n1 one_more 1 0 one_more/b_ascend_pt\n");
    check_map(BUILD(more, one), "0 one 0 0 one/a_ascend_pt\n1 one_more 1 0 one_more/b_ascend_pt\n");
    check_map(BUILD(one), "0 one 0 0 a_ascend_pt\n");
    free(one);
    free(more);
    remove_tree(root);
}

static void test_names_with_a_common_beginning_are_whole(void) {
    char *root = make_tree();
    put_capture(root, "x/rank1_ascend_pt", 0);
    put_capture(root, "x/rank10_ascend_pt", 1);
    put_capture(root, "x/rank1_ascend_pt_more/c_ascend_pt", 2);
    check_map(BUILD(root), "0 rank1_ascend_pt_more 2 0 rank1_ascend_pt_more/c_ascend_pt\n"
                           "1 x 0 0 rank1_ascend_pt\n2 x 1 0 rank10_ascend_pt\n");
    remove_tree(root);
}

static void test_a_filter_does_not_change_paths_and_windows(void) {
    char *root = make_tree();
    put_capture(root, "p/actor/1_ascend_pt", 0);
    put_capture(root, "p/actor/2_ascend_pt", 0);
    put_capture(root, "q/critic/1_ascend_pt", 1);
    check_map(BUILD(root, "--role", "actor"),
              "0 actor 0 0 p/actor/1_ascend_pt\n1 actor 0 1 p/actor/2_ascend_pt\n");
    check_map(BUILD(root, "--role", "critic"), "0 critic 1 0 q/critic/1_ascend_pt\n");
    remove_tree(root);
}

/* ---- Filters ---- */

/* Messages go to stderr; here they are read. */
static char *warnings_of(const char *root, char **words, result *got) {
    char *path = path_in(root, "messages");
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int kept = dup(STDERR_FILENO);
    CU_ASSERT_FATAL(file >= 0 && kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    *got = build_words(words);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    char *text = calloc(1, 1000);
    CU_ASSERT_TRUE(pread(file, text, 999, 0) >= 0);
    (void)close(file);
    free(path);
    return text;
}

static void test_ranks_and_roles_are_chosen(void) {
    char *root = make_tree();
    static const char *const roles[] = {"actor", "critic", "reward"};
    for (size_t role = 0; role < COUNT(roles); role++) {
        for (int rank = 0; rank < 4; rank++) {
            char name[40];
            (void)snprintf(name, sizeof name, "%s/%d_ascend_pt", roles[role], rank);
            put_capture(root, name, rank);
        }
    }
    check_map(BUILD(root, "--rank-list", "1-2", "--role", "actor,reward"),
              "0 actor 1 0 actor/1_ascend_pt\n1 actor 2 0 actor/2_ascend_pt\n"
              "2 reward 1 0 reward/1_ascend_pt\n3 reward 2 0 reward/2_ascend_pt\n");
    result got = BUILD(root, "--rank-list", "3");
    CU_ASSERT_EQUAL(got.map.found, 12);
    CU_ASSERT_EQUAL(got.map.count, 3);
    rlmr_datamap_release(&got.map);
    check_refused(BUILD(root, "--rank-list", "4-9"),
                  "no capture is left of 12 found: check --rank-list 4-9 and --role all");
    check_refused(BUILD(root, "--role", "acto"), "check --rank-list all and --role acto");
    remove_tree(root);
}

static void test_captures_without_a_rank_are_left_out_with_a_warning(void) {
    char *root = make_tree();
    put_capture(root, "x/1_ascend_pt", 1);
    put_in(root, "x/none_ascend_pt", OUTPUT "operator_memory.csv", "");
    check_map(BUILD(root), "0 x -1 0 none_ascend_pt\n1 x 1 0 1_ascend_pt\n");
    result got;
    char *said =
        warnings_of(root, (char *[]){(char[]){"rl-insight-mr"}, root, "-q", "--rank-list", "1", NULL}, &got);
    CU_ASSERT_STRING_EQUAL(strchr(said, ':'),
                           ": warning: 1 captures without a rank id are left out by --rank-list\n");
    check_map(got, "0 x 1 0 1_ascend_pt\n");
    free(said);
    remove_tree(root);
}

/* ---- Shares ---- */

/* A map of captures whose traces have these sizes; number i for the i-th. */
static rlmr_datamap map_of(const int64_t *bytes, size_t count) {
    rlmr_datamap map = {.captures = calloc(count + 1, sizeof(rlmr_capture)), .count = count, .found = count};
    for (size_t i = 0; i < count; i++) {
        rlmr_capture_init(&map.captures[i]);
        map.captures[i].number = (int32_t)i;
        map.captures[i].role = strdup("actor");
        map.captures[i].files[RLMR_FILE_trace_view].bytes = bytes[i];
        map.captures[i].files[RLMR_FILE_communication].bytes = 1000000; /* not read by any analysis */
    }
    return map;
}

static const rlmr_map_options memory_only = {.analyses[RLMR_ANALYSIS_MEMORY] = true};

enum { PROCESSES_MAX = 8, CAPTURES_MAX = 100 };

/* Share out, decode again: every capture is in one share. loads[p] are the bytes of process p. */
static void share(const int64_t *bytes, size_t count, int processes, int64_t *loads, size_t *counts) {
    rlmr_datamap map = map_of(bytes, count);
    rlmr_bytes parts[PROCESSES_MAX] = {{.data = NULL}};
    int seen[CAPTURES_MAX] = {0};
    CU_ASSERT_EQUAL(rlmr_datamap_share(&map, &memory_only, parts, processes, NULL), RLMR_OK);
    for (int p = 0; p < processes; p++) {
        rlmr_datamap mine;
        CU_ASSERT_EQUAL(rlmr_datamap_decode(&parts[p], &mine, NULL), RLMR_OK);
        loads[p] = 0;
        counts[p] = mine.count;
        for (size_t i = 0; i < mine.count; i++) {
            const rlmr_capture *capture = &mine.captures[i];
            CU_ASSERT_FATAL(capture->number >= 0 && capture->number < (int32_t)count);
            seen[capture->number]++;
            CU_ASSERT_STRING_EQUAL(capture->role, "actor");
            CU_ASSERT_EQUAL(capture->files[RLMR_FILE_trace_view].bytes, bytes[capture->number]);
            loads[p] += bytes[capture->number] > 0 ? bytes[capture->number] : 0;
        }
        rlmr_datamap_release(&mine);
        rlmr_bytes_release(&parts[p]);
    }
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(seen[i], 1);
    }
    rlmr_datamap_release(&map);
}

static void test_shares_are_made_largest_first(void) {
    static const int64_t bytes[] = {100, 700, 400, 500, 300, 600};
    int64_t loads[PROCESSES_MAX];
    size_t counts[PROCESSES_MAX];
    share(bytes, COUNT(bytes), 3, loads, counts);
    /* 700, 600, 500; then 400 to the third, 300 to the second, 100 to the first. */
    CU_ASSERT_EQUAL(loads[0], 800);
    CU_ASSERT_EQUAL(loads[1], 900);
    CU_ASSERT_EQUAL(loads[2], 900);
}

static void test_shares_differ_by_no_more_than_the_largest_capture(void) {
    uint64_t state = 3;
    for (int processes = 1; processes <= PROCESSES_MAX; processes++) {
        int64_t bytes[CAPTURES_MAX];
        int64_t loads[PROCESSES_MAX];
        size_t counts[PROCESSES_MAX];
        int64_t largest = 0;
        for (size_t i = 0; i < CAPTURES_MAX; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i] = (int64_t)(state >> 40);
            largest = bytes[i] > largest ? bytes[i] : largest;
        }
        share(bytes, CAPTURES_MAX, processes, loads, counts);
        for (int p = 0; p < processes; p++) {
            for (int q = 0; q < processes; q++) {
                CU_ASSERT_TRUE(loads[p] - loads[q] <= largest + CAPTURES_MAX);
            }
        }
    }
}

static void test_captures_without_data_are_shared_out_too(void) {
    static const int64_t bytes[] = {-1, -1, 0, -1, -1, -1, 0, -1};
    int64_t loads[PROCESSES_MAX];
    size_t counts[PROCESSES_MAX];
    share(bytes, COUNT(bytes), 4, loads, counts);
    for (int p = 0; p < 4; p++) {
        CU_ASSERT_EQUAL(counts[p], 2);
    }
}

static void test_there_may_be_more_processes_than_captures(void) {
    static const int64_t bytes[] = {5, 10};
    int64_t loads[PROCESSES_MAX];
    size_t counts[PROCESSES_MAX];
    share(bytes, COUNT(bytes), 5, loads, counts);
    CU_ASSERT_EQUAL(loads[0], 10);
    CU_ASSERT_EQUAL(loads[1], 5);
    CU_ASSERT_EQUAL(counts[2] + counts[3] + counts[4], 0);
    share(bytes, 0, 3, loads, counts);
    CU_ASSERT_EQUAL(counts[0] + counts[1] + counts[2], 0);
}

/* ---- Pieces ---- */

static const rlmr_map_options splitting = {.analyses[RLMR_ANALYSIS_MEMORY] = true, .split_bytes = 400};

/* As map_of(), of captures that can be split; a tenth of their bytes are records. */
static rlmr_datamap map_of_large(const int64_t *bytes, size_t count) {
    rlmr_datamap map = map_of(bytes, count);
    for (size_t i = 0; i < count; i++) {
        rlmr_file *records = &map.captures[i].files[RLMR_FILE_operator_memory];
        rlmr_file *trace = &map.captures[i].files[RLMR_FILE_trace_view];
        records->bytes = bytes[i] / 10;
        trace->bytes = bytes[i] - records->bytes;
        records->state = trace->state = RLMR_FILE_UNUSED;
        records->path = strdup("operator_memory.csv");
        trace->path = strdup("trace_view.json");
    }
    return map;
}

/* Share out; the pieces of each capture follow one another without a gap, on processes that do. */
static void split(const int64_t *bytes, size_t count, int processes, int64_t *loads, int *pieces) {
    rlmr_datamap map = map_of_large(bytes, count);
    rlmr_bytes parts[PROCESSES_MAX] = {{.data = NULL}};
    int64_t next[CAPTURES_MAX] = {0};
    memset(pieces, 0, count * sizeof *pieces);
    CU_ASSERT_EQUAL(rlmr_datamap_share(&map, &splitting, parts, processes, NULL), RLMR_OK);
    for (int p = 0; p < processes; p++) {
        rlmr_datamap mine;
        CU_ASSERT_EQUAL(rlmr_datamap_decode(&parts[p], &mine, NULL), RLMR_OK);
        loads[p] = 0;
        for (size_t i = 0; i < mine.count; i++) {
            int32_t number = mine.captures[i].number;
            const rlmr_piece *piece = &mine.pieces[i];
            CU_ASSERT_EQUAL(piece->index, pieces[number]);
            CU_ASSERT_EQUAL(piece->first_process + piece->index, p);
            CU_ASSERT_EQUAL(piece->from, next[number]);
            CU_ASSERT_TRUE(piece->to > piece->from);
            CU_ASSERT_EQUAL(piece->to == piece->of, piece->index + 1 == piece->count);
            CU_ASSERT_EQUAL(piece->of, bytes[number]);
            next[number] = piece->to;
            pieces[number]++;
            loads[p] += piece->to - piece->from;
        }
        rlmr_datamap_release(&mine);
        rlmr_bytes_release(&parts[p]);
    }
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(next[i], bytes[i]);
    }
    rlmr_datamap_release(&map);
}

static void test_large_captures_are_split_so_that_loads_are_equal(void) {
    static const int64_t bytes[] = {90000, 30, 6000, 900, 90000};
    int64_t loads[PROCESSES_MAX];
    int pieces[COUNT(bytes)];
    split(bytes, COUNT(bytes), 3, loads, pieces);
    for (int p = 0; p < 3; p++) {
        CU_ASSERT_TRUE(loads[p] > 62310 - 200 && loads[p] < 62310 + 200);
    }
    CU_ASSERT_EQUAL(pieces[0], 2);
    CU_ASSERT_EQUAL(pieces[1], 1);
    CU_ASSERT_EQUAL(pieces[2], 1);
    CU_ASSERT_EQUAL(pieces[4], 2);
    split(bytes, COUNT(bytes), 1, loads, pieces);
    CU_ASSERT_EQUAL(pieces[0], 1);
    split(bytes, 1, 8, loads, pieces);
    CU_ASSERT_EQUAL(pieces[0], 8);
}

static void test_random_captures_are_split_so_that_loads_are_nearly_equal(void) {
    uint64_t state = 5;
    for (int round = 0; round < 400; round++) {
        int64_t bytes[CAPTURES_MAX];
        int64_t loads[PROCESSES_MAX];
        int pieces[CAPTURES_MAX];
        int64_t sum = 0;
        size_t count = (size_t)round % 20 + 1;
        int processes = round % PROCESSES_MAX + 1;
        for (size_t i = 0; i < count; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i] = (int64_t)(state >> (40 + state % 12)) + 1;
            sum += bytes[i];
        }
        split(bytes, count, processes, loads, pieces);
        for (int p = 0; p < processes; p++) {
            CU_ASSERT_TRUE(loads[p] <= sum / processes + sum / processes / 8 + 2 * splitting.split_bytes);
        }
    }
}

static void test_the_weight_is_what_the_analyses_read(void) {
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    CU_ASSERT_EQUAL(rlmr_datamap_weight(&capture, &memory_only), 0);
    for (int kind = 0; kind < RLMR_FILES; kind++) {
        capture.files[kind].bytes = INT64_C(1) << kind;
        capture.files[kind].state = RLMR_FILE_UNUSED;
    }
    CU_ASSERT_EQUAL(rlmr_datamap_weight(&capture, &memory_only),
                    (1 << RLMR_FILE_trace_view) + (1 << RLMR_FILE_operator_memory));
    CU_ASSERT_EQUAL(rlmr_datamap_weight(&capture, &(rlmr_map_options){.strict = true}), 0);
}

static void test_a_cut_share_is_refused(void) {
    static const int64_t bytes[] = {5, 10};
    rlmr_datamap map = map_of(bytes, 2);
    rlmr_bytes whole = {0};
    CU_ASSERT_EQUAL(rlmr_datamap_share(&map, &memory_only, &whole, 1, NULL), RLMR_OK);
    size_t refused = 0;
    for (size_t length = 0; length <= whole.bytes; length++) {
        rlmr_bytes part = {.data = whole.data, .bytes = length};
        rlmr_datamap mine;
        rlmr_status status = rlmr_datamap_decode(&part, &mine, NULL);
        CU_ASSERT_TRUE(status == RLMR_OK || status == RLMR_E_PARSE);
        refused += status != RLMR_OK;
        rlmr_datamap_release(&mine);
    }
    CU_ASSERT_EQUAL(refused, whole.bytes + 1 - 3); /* none, one and both captures are shares */
    rlmr_bytes_release(&whole);
    rlmr_datamap_release(&map);
}

CU_TestInfo rlmr_tests_datamap[] = {
    {"captures are found at any depth", test_captures_are_found_at_any_depth},
    {"a capture is not searched", test_a_capture_is_not_searched},
    {"a capture may be the input", test_a_capture_may_be_the_input},
    {"a directory reached twice counts once", test_a_directory_reached_twice_counts_once},
    {"linked directories are not followed", test_linked_directories_are_not_followed},
    {"an input that is a link is followed", test_an_input_that_is_a_link_is_followed},
    {"names may be any bytes", test_names_may_be_any_bytes},
    {"roles that look the same are the same", test_roles_that_look_the_same_are_the_same},
    {"inputs that are no directories are errors", test_inputs_that_are_no_directories_are_errors},
    {"no capture at all is an error", test_no_capture_at_all_is_an_error},
    {"the rank is in the name of the file", test_the_rank_is_in_the_name_of_the_file},
    {"the rank is in the file without one in its name", test_the_rank_is_in_the_file_without_one_in_its_name},
    {"damage of the rank file has its offset", test_damage_of_the_rank_file_has_its_offset},
    {"several ranks are none", test_several_ranks_are_none},
    {"the name with a rank goes first", test_the_name_with_a_rank_goes_first},
    {"a capture without any file has no rank", test_a_capture_without_any_file_has_no_rank},
    {"the role is in the metadata, or the name of the parent",
     test_the_role_is_in_the_metadata_or_the_name_of_the_parent},
    {"a role that is no text is none", test_a_role_that_is_no_text_is_none},
    {"damaged metadata give no role", test_damaged_metadata_give_no_role},
    {"stamps of all forms are padded", test_stamps_of_all_forms_are_padded},
    {"windows are in order of the stamps, then the paths",
     test_windows_are_in_order_of_the_stamps_then_the_paths},
    {"captures are numbered by role, rank, window", test_captures_are_numbered_by_role_rank_window},
    {"roles of the metadata make the groups", test_roles_of_the_metadata_make_the_groups},
    {"a parent is a role of the job if a rank lies under two",
     test_a_parent_is_a_role_of_the_job_if_a_rank_lies_under_two},
    {"files are found by their names", test_files_are_found_by_their_names},
    {"some files have several names", test_some_files_have_several_names},
    {"a directory with the name of a file is not absent",
     test_a_directory_with_the_name_of_a_file_is_not_absent},
    {"a plain trace goes before a packed one", test_a_plain_trace_goes_before_a_packed_one},
    {"a capture without data is empty", test_a_capture_without_data_is_empty},
    {"raw data beside the output do not matter", test_raw_data_beside_the_output_do_not_matter},
    {"a capture that is gone has failed", test_a_capture_that_is_gone_has_failed},
    {"paths are relative to what holds all captures", test_paths_are_relative_to_what_holds_all_captures},
    {"names with a common beginning are whole", test_names_with_a_common_beginning_are_whole},
    {"a filter does not change paths and windows", test_a_filter_does_not_change_paths_and_windows},
    {"ranks and roles are chosen", test_ranks_and_roles_are_chosen},
    {"captures without a rank are left out with a warning",
     test_captures_without_a_rank_are_left_out_with_a_warning},
    {"shares are made largest first", test_shares_are_made_largest_first},
    {"shares differ by no more than the largest capture",
     test_shares_differ_by_no_more_than_the_largest_capture},
    {"captures without data are shared out too", test_captures_without_data_are_shared_out_too},
    {"there may be more processes than captures", test_there_may_be_more_processes_than_captures},
    {"the weight is what the analyses read", test_the_weight_is_what_the_analyses_read},
    {"a cut share is refused", test_a_cut_share_is_refused},
    {"large captures are split so that loads are equal",
     test_large_captures_are_split_so_that_loads_are_equal},
    {"random captures are split so that loads are nearly equal",
     test_random_captures_are_split_so_that_loads_are_nearly_equal},
    CU_TEST_INFO_NULL,
};
