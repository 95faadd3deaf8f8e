#include "options.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static rlmr_parsed parse_words(rlmr_options *options, rlmr_error *err, char **words) {
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    rlmr_error_clear(err);
    rlmr_parsed parsed = rlmr_options_parse(count, words, options, err);
    CU_ASSERT_EQUAL(err->code != RLMR_OK, parsed == RLMR_PARSED_ERROR);
    return parsed;
}

#define PARSE(options, err, ...)                                                                             \
    parse_words(options, err, (char *[]){(char[]){"rl-insight-mr"}, __VA_ARGS__, NULL})

static void check_error_text(rlmr_options *options, const rlmr_error *err, rlmr_parsed parsed,
                             const char *message) {
    CU_ASSERT_EQUAL(parsed, RLMR_PARSED_ERROR);
    CU_ASSERT_EQUAL(err->code, RLMR_E_USAGE);
    bool same = strcmp(err->message, message) == 0;
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    wanted: %s\n    said: %s\n", message, err->message);
    }
    rlmr_options_release(options);
}

#define CHECK_ERROR(text, ...)                                                                               \
    do {                                                                                                     \
        rlmr_options options;                                                                                \
        rlmr_error err;                                                                                      \
        rlmr_parsed parsed = PARSE(&options, &err, __VA_ARGS__);                                             \
        check_error_text(&options, &err, parsed, text);                                                      \
    } while (0)

/* ---- What is set ---- */

static void test_defaults(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job"), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL_FATAL(options.roots_count, 1);
    CU_ASSERT_STRING_EQUAL(options.roots[0], "job");
    CU_ASSERT_PTR_NULL(options.input_list);
    CU_ASSERT_STRING_EQUAL(options.output, "rl-insight.h5");
    CU_ASSERT_STRING_EQUAL(options.mode, "all");
    CU_ASSERT_STRING_EQUAL(options.rank_list, "all");
    CU_ASSERT_STRING_EQUAL(options.role, "all");
    CU_ASSERT_EQUAL(options.ranks_count, 0);
    CU_ASSERT_EQUAL(options.roles_count, 0);
    CU_ASSERT_TRUE(options.map.analyses[RLMR_ANALYSIS_MEMORY]);
    CU_ASSERT_EQUAL(options.map.match, RLMR_MATCH_BEST);
    CU_ASSERT_EQUAL(options.map.time_offset_ns, 0);
    CU_ASSERT_FALSE(options.map.strict);
    CU_ASSERT_EQUAL(options.progress, RLMR_PROGRESS_AUTO);
    CU_ASSERT_FALSE(options.force);
    CU_ASSERT_FALSE(options.check);
    CU_ASSERT_EQUAL(options.verbosity, 0);
    rlmr_options_release(&options);
    CU_ASSERT_PTR_NULL(options.output);
}

static void test_options_with_an_argument(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--input-list", "list.txt", "--output=out.h5", "--mode", "memory",
                          "--rank-list", "0,2", "--role=actor,critic", "--match", "nearest", "--time-offset",
                          "-1.5", "--progress", "always", "job"),
                    RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.input_list, "list.txt");
    CU_ASSERT_STRING_EQUAL(options.output, "out.h5");
    CU_ASSERT_STRING_EQUAL(options.mode, "memory");
    CU_ASSERT_STRING_EQUAL(options.rank_list, "0,2");
    CU_ASSERT_STRING_EQUAL(options.role, "actor,critic");
    CU_ASSERT_EQUAL(options.roles_count, 2);
    CU_ASSERT_EQUAL(options.map.match, RLMR_MATCH_NEAREST);
    CU_ASSERT_EQUAL(options.map.time_offset_ns, -1500);
    CU_ASSERT_EQUAL(options.progress, RLMR_PROGRESS_ALWAYS);
    rlmr_options_release(&options);
}

static void test_options_without_an_argument(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--force", "--check", "--strict", "--quiet", "job"),
                    RLMR_PARSED_RUN);
    CU_ASSERT_TRUE(options.force);
    CU_ASSERT_TRUE(options.check);
    CU_ASSERT_TRUE(options.map.strict);
    CU_ASSERT_EQUAL(options.verbosity, -1);
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--verbose", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(options.verbosity, 1);
    rlmr_options_release(&options);
}

static void test_short_letters(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "-fvo", "out.h5", "-mmemory", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_TRUE(options.force);
    CU_ASSERT_EQUAL(options.verbosity, 1);
    CU_ASSERT_STRING_EQUAL(options.output, "out.h5");
    CU_ASSERT_STRING_EQUAL(options.mode, "memory");
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "-q", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(options.verbosity, -1);
    rlmr_options_release(&options);
}

static void test_inputs_stand_anywhere_and_anything_behind_two_dashes(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "a", "-f", "b c", "--match", "best", "--", "-o", "--help"),
                    RLMR_PARSED_RUN);
    static const char *const roots[] = {"a", "b c", "-o", "--help"};
    CU_ASSERT_EQUAL_FATAL(options.roots_count, COUNT(roots));
    for (size_t i = 0; i < COUNT(roots); i++) {
        CU_ASSERT_STRING_EQUAL(options.roots[i], roots[i]);
    }
    CU_ASSERT_TRUE(options.force);
    CU_ASSERT_STRING_EQUAL(options.output, "rl-insight.h5");
    rlmr_options_release(&options);
}

static void test_every_policy_and_progress_is_known(void) {
    static char *const policies[] = {"best", "nearest", "enclosing"};
    static char *const progress[] = {"auto", "always", "never"};
    for (size_t i = 0; i < 3; i++) {
        rlmr_options options;
        rlmr_error err;
        CU_ASSERT_EQUAL(PARSE(&options, &err, "--match", policies[i], "--progress", progress[i], "job"),
                        RLMR_PARSED_RUN);
        CU_ASSERT_EQUAL((size_t)options.map.match, i);
        CU_ASSERT_EQUAL((size_t)options.progress, i);
        rlmr_options_release(&options);
    }
}

static void test_of_a_repeated_option_the_last_counts(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "-o", "a", "-o", "b", "--rank-list", "1", "--rank-list", "5-6",
                          "--match", "nearest", "--match", "enclosing", "--input-list", "x", "--input-list",
                          "y", "--time-offset", "1", "--time-offset", "2", "-q", "-v"),
                    RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.output, "b");
    CU_ASSERT_STRING_EQUAL(options.rank_list, "5-6");
    CU_ASSERT_FALSE(rlmr_options_wants_rank(&options, 1));
    CU_ASSERT_EQUAL(options.map.match, RLMR_MATCH_ENCLOSING);
    CU_ASSERT_STRING_EQUAL(options.input_list, "y");
    CU_ASSERT_EQUAL(options.map.time_offset_ns, 2000);
    CU_ASSERT_EQUAL(options.verbosity, 1);
    rlmr_options_release(&options);

    CU_ASSERT_EQUAL(PARSE(&options, &err, "--rank-list", "1", "--rank-list", "all", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.rank_list, "all");
    CU_ASSERT_TRUE(rlmr_options_wants_rank(&options, 7));
    rlmr_options_release(&options);
}

static void test_roles_that_are_wanted_are_the_roles_that_are_told(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--role", "actor", "--role", "critic", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.role, "critic");
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, "critic"));
    CU_ASSERT_FALSE(rlmr_options_wants_role(&options, "actor"));
    rlmr_options_release(&options);
}

static void test_help_and_version_need_no_input(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--help"), RLMR_PARSED_HELP);
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "-h"), RLMR_PARSED_HELP);
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--version"), RLMR_PARSED_VERSION);
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job", "-V", "--nonsense"), RLMR_PARSED_VERSION);
    rlmr_options_release(&options);
}

static void test_an_unambiguous_beginning_is_enough(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--out", "a", "--ran=3", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.output, "a");
    CU_ASSERT_STRING_EQUAL(options.rank_list, "3");
    rlmr_options_release(&options);
}

/* ---- Errors ---- */

static void test_errors_of_the_command_line_have_their_texts(void) {
    CHECK_ERROR("unknown or ambiguous option --nonsense", "--nonsense", "job");
    CHECK_ERROR("unknown or ambiguous option --nonsense=1", "job", "--nonsense=1");
    CHECK_ERROR("unknown or ambiguous option --r", "--r", "job");
    CHECK_ERROR("unknown option -x", "-x", "job");
    CHECK_ERROR("unknown option -x", "job", "-fx");
    CHECK_ERROR("option --output needs an argument", "job", "--output");
    CHECK_ERROR("option -o needs an argument", "job", "-o");
    CHECK_ERROR("option --force=yes takes no argument", "--force=yes", "job");
    CHECK_ERROR("no INPUT given", "-f");
    CHECK_ERROR("no INPUT given", "--");
}

static void test_errors_of_values_have_their_texts(void) {
    CHECK_ERROR("--match does not know 'closest'", "--match", "closest", "job");
    CHECK_ERROR("--match does not know ''", "--match=", "job");
    CHECK_ERROR("--match does not know 'bes'", "--match", "bes", "job");
    CHECK_ERROR("--progress does not know 'sometimes'", "--progress", "sometimes", "job");
    CHECK_ERROR("--time-offset needs microseconds, not '1 s'", "--time-offset", "1 s", "job");
    CHECK_ERROR("--time-offset needs microseconds, not ''", "--time-offset", "", "job");
    CHECK_ERROR("--time-offset needs microseconds, not '9223372036854776'", "--time-offset",
                "9223372036854776", "job");
    CHECK_ERROR("--role has an empty item in ''", "--role", "", "job");
    CHECK_ERROR("--role has an empty item in 'a,,b'", "--role", "a,,b", "job");
}

static void test_modes_that_are_not_built_are_refused(void) {
    CHECK_ERROR("mode summary is not built yet", "--mode", "summary", "job");
    CHECK_ERROR("mode timeline is not built yet", "-m", "communication_matrix,timeline", "job");
    CHECK_ERROR("--mode does not know 'nonsense'", "-m", "nonsense", "job");
    CHECK_ERROR("--mode does not know 'memor'", "-m", "memor", "job");
    CHECK_ERROR("--mode does not know 'all'", "-m", "memory,all", "job");
    CHECK_ERROR("--mode has an empty item in 'memory,'", "-m", "memory,", "job");
    CHECK_ERROR("--mode has an empty item in ''", "-m", "", "job");
}

static void test_a_parallel_strategy_is_refused_with_and_without_a_role(void) {
    CHECK_ERROR("--parallel-strategy serves the mode summary, which is not built yet", "--parallel-strategy",
                "tp=2", "job");
    CHECK_ERROR("--parallel-strategy serves the mode summary, which is not built yet", "--parallel-strategy",
                "actor:tp=2", "job");
}

static void test_a_mode_may_be_named_twice(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "-m", "memory,memory", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_STRING_EQUAL(options.mode, "memory");
    CU_ASSERT_TRUE(options.map.analyses[RLMR_ANALYSIS_MEMORY]);
    rlmr_options_release(&options);
}

/* ---- Ranks and roles ---- */

static void test_ranks_are_told_in_their_normal_form(void) {
    static const struct {
        char *list;
        const char *normal;
    } cases[] = {
        {"all", "all"},
        {"0", "0"},
        {"007", "7"},
        {"3,1,2", "1-3"},
        {"0,2,8-15", "0,2,8-15"},
        {"8-15,2,0", "0,2,8-15"},
        {"5,5,5", "5"},
        {"1-3,2-5", "1-5"},
        {"1-9,2-3", "1-9"},
        {"1-2,3-4", "1-4"},
        {"1-2,4", "1-2,4"},
        {"4-4", "4"},
        {"2147483647", "2147483647"},
        {"2147483646,2147483647,0", "0,2147483646-2147483647"},
        {"0-2147483647,5", "0-2147483647"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rlmr_options options;
        rlmr_error err;
        CU_ASSERT_EQUAL(PARSE(&options, &err, "--rank-list", cases[i].list, "job"), RLMR_PARSED_RUN);
        CU_ASSERT_STRING_EQUAL(options.rank_list, cases[i].normal);
        rlmr_options_release(&options);
    }
}

static void test_a_list_without_ranks_is_refused(void) {
    static const struct {
        char *list;
        const char *message;
    } cases[] = {
        {"", "--rank-list has an empty item in ''"},
        {",1", "--rank-list has an empty item in ',1'"},
        {"1,", "--rank-list has an empty item in '1,'"},
        {"1,,2", "--rank-list has an empty item in '1,,2'"},
        {"-1", "--rank-list has no rank or range in '-1'"},
        {"1-", "--rank-list has no rank or range in '1-'"},
        {"5-3", "--rank-list has no rank or range in '5-3'"},
        {"1-2-3", "--rank-list has no rank or range in '1-2-3'"},
        {"1--3", "--rank-list has no rank or range in '1--3'"},
        {"+1", "--rank-list has no rank or range in '+1'"},
        {"0,1-+3", "--rank-list has no rank or range in '1-+3'"},
        {"0, 2", "--rank-list has no rank or range in ' 2'"},
        {"1.0", "--rank-list has no rank or range in '1.0'"},
        {"1e2", "--rank-list has no rank or range in '1e2'"},
        {"one", "--rank-list has no rank or range in 'one'"},
        {"all,1", "--rank-list has no rank or range in 'all'"},
        {"2147483648", "--rank-list has no rank or range in '2147483648'"},
        {"0-99999999999999999999", "--rank-list has no rank or range in '0-99999999999999999999'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK_ERROR(cases[i].message, "--rank-list", cases[i].list, "job");
    }
}

static void test_ranks_in_the_list_are_wanted(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--rank-list", "2,8-10,2147483647", "job"), RLMR_PARSED_RUN);
    static const int32_t wanted[] = {2, 8, 9, 10, INT32_MAX};
    static const int32_t others[] = {-1, INT32_MIN, 0, 1, 3, 7, 11, INT32_MAX - 1};
    for (size_t i = 0; i < COUNT(wanted); i++) {
        CU_ASSERT_TRUE(rlmr_options_wants_rank(&options, wanted[i]));
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        CU_ASSERT_FALSE(rlmr_options_wants_rank(&options, others[i]));
    }
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job"), RLMR_PARSED_RUN);
    CU_ASSERT_TRUE(rlmr_options_wants_rank(&options, -1));
    CU_ASSERT_TRUE(rlmr_options_wants_rank(&options, 5));
    rlmr_options_release(&options);
}

static void test_roles_in_the_list_are_wanted(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--role", "actor,with blank,\xE4\xB8\xAD", "job"), RLMR_PARSED_RUN);
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, "actor"));
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, "with blank"));
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, "\xE4\xB8\xAD"));
    CU_ASSERT_FALSE(rlmr_options_wants_role(&options, "acto"));
    CU_ASSERT_FALSE(rlmr_options_wants_role(&options, "actor_rollout"));
    CU_ASSERT_FALSE(rlmr_options_wants_role(&options, "actor,with blank"));
    CU_ASSERT_FALSE(rlmr_options_wants_role(&options, ""));
    rlmr_options_release(&options);
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job"), RLMR_PARSED_RUN);
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, "anything"));
    CU_ASSERT_TRUE(rlmr_options_wants_role(&options, ""));
    rlmr_options_release(&options);
}

/* ---- Inputs from a file, help on standard output ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static fixture write_fixture(const char *content) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-options-XXXXXX", parent == NULL ? "/tmp" : parent) >
                    0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/file", made.directory) > 0);
    FILE *file = fopen(made.path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE_FATAL(fputs(content, file) >= 0);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    return made;
}

static void remove_fixture(fixture *made) {
    CU_ASSERT_EQUAL(unlink(made->path), 0);
    CU_ASSERT_EQUAL(rmdir(made->directory), 0);
    free(made->path);
    free(made->directory);
}

static void check_roots(const rlmr_options *options, const char *const *roots, size_t count) {
    CU_ASSERT_EQUAL_FATAL(options->roots_count, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_STRING_EQUAL(options->roots[i], roots[i]);
    }
}

static void test_inputs_are_read_from_a_file_one_a_line(void) {
    static const char *const roots[] = {"first", "a b", "#c", " d ", "\xE4\xB8\xAD", "last"};
    fixture list = write_fixture("a b\n\n#c\r\n d \n\r\n\xE4\xB8\xAD\nlast");
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "first", "--input-list", list.path), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(rlmr_options_read_list(&options, &err), RLMR_OK);
    check_roots(&options, roots, COUNT(roots));
    rlmr_options_release(&options);
    remove_fixture(&list);
}

static void test_a_list_alone_is_enough_and_may_be_empty(void) {
    fixture list = write_fixture("\n\n");
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--input-list", list.path), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(rlmr_options_read_list(&options, &err), RLMR_OK);
    CU_ASSERT_EQUAL(options.roots_count, 0);
    rlmr_options_release(&options);
    remove_fixture(&list);
}

static void test_a_dash_is_standard_input(void) {
    static const char *const roots[] = {"one", "two"};
    fixture list = write_fixture("one\ntwo\n");
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_PTR_NOT_NULL_FATAL(freopen(list.path, "r", stdin));
    CU_ASSERT_EQUAL(PARSE(&options, &err, "--input-list", "-"), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(rlmr_options_read_list(&options, &err), RLMR_OK);
    check_roots(&options, roots, COUNT(roots));
    rlmr_options_release(&options);
    remove_fixture(&list);
}

static void test_without_a_list_nothing_is_read(void) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job"), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(rlmr_options_read_list(&options, &err), RLMR_OK);
    CU_ASSERT_EQUAL(options.roots_count, 1);
    rlmr_options_release(&options);
}

static void check_unreadable_list(char *path, const char *reason) {
    rlmr_options options;
    rlmr_error err;
    CU_ASSERT_EQUAL(PARSE(&options, &err, "job", "--input-list", path), RLMR_PARSED_RUN);
    CU_ASSERT_EQUAL(rlmr_options_read_list(&options, &err), RLMR_E_INPUT);
    CU_ASSERT_EQUAL(strncmp(err.message, "--input-list ", 13), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, reason));
    rlmr_options_release(&options);
}

static void test_a_list_that_cannot_be_read_is_an_error(void) {
    fixture list = write_fixture("");
    char *absent = NULL;
    CU_ASSERT_FATAL(asprintf(&absent, "%s/absent", list.directory) > 0);
    check_unreadable_list(absent, "/absent: No such file or directory");
    check_unreadable_list(list.directory, ": Is a directory");
    free(absent);
    remove_fixture(&list);
}

/* What rlmr_options_help() prints. */
static char *read_help(void) {
    fixture file = write_fixture("");
    (void)fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    FILE *out = fopen(file.path, "w+");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_FATAL(kept >= 0 && dup2(fileno(out), STDOUT_FILENO) >= 0);
    rlmr_options_help();
    (void)fflush(stdout);
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(kept);
    char *text = calloc(1, 20000);
    (void)fseek(out, 0, SEEK_SET);
    CU_ASSERT_TRUE(fread(text, 1, 19999, out) > 0);
    (void)fclose(out);
    remove_fixture(&file);
    return text;
}

static void test_help_names_every_option_and_exit_status(void) {
    static const char *const wanted[] = {
        "--input-list FILE",
        "-o, --output FILE",
        "-f, --force",
        "-m, --mode LIST",
        "--rank-list LIST",
        "--role LIST",
        "--match POLICY",
        "--time-offset US",
        "--parallel-strategy [ROLE:]SPEC",
        "--check",
        "--strict",
        "-q, --quiet",
        "-v, --verbose",
        "--progress WHEN",
        "-h, --help",
        "-V, --version",
        "Usage: rl-insight-mr [OPTION]... INPUT...",
        "Exit status: 0",
        "1 nothing was written",
        "2 wrong usage",
    };
    char *help = read_help();
    for (size_t i = 0; i < COUNT(wanted); i++) {
        bool there = strstr(help, wanted[i]) != NULL;
        CU_ASSERT_TRUE(there);
        if (!there) {
            (void)fprintf(stderr, "\n    not in the help: %s\n", wanted[i]);
        }
    }
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
        CU_ASSERT_TRUE(strcspn(line, "\n") <= 100);
    }
    free(help);
}

CU_TestInfo rlmr_tests_options[] = {
    {"everything has its default", test_defaults},
    {"options with an argument are taken", test_options_with_an_argument},
    {"options without an argument are taken", test_options_without_an_argument},
    {"short letters are taken", test_short_letters},
    {"inputs stand anywhere, and anything behind two dashes",
     test_inputs_stand_anywhere_and_anything_behind_two_dashes},
    {"every policy and progress is known", test_every_policy_and_progress_is_known},
    {"of a repeated option the last counts", test_of_a_repeated_option_the_last_counts},
    {"roles that are wanted are the roles that are told",
     test_roles_that_are_wanted_are_the_roles_that_are_told},
    {"help and version need no input", test_help_and_version_need_no_input},
    {"an unambiguous beginning is enough", test_an_unambiguous_beginning_is_enough},
    {"errors of the command line have their texts", test_errors_of_the_command_line_have_their_texts},
    {"errors of values have their texts", test_errors_of_values_have_their_texts},
    {"modes that are not built are refused", test_modes_that_are_not_built_are_refused},
    {"a parallel strategy is refused with and without a role",
     test_a_parallel_strategy_is_refused_with_and_without_a_role},
    {"a mode may be named twice", test_a_mode_may_be_named_twice},
    {"ranks are told in their normal form", test_ranks_are_told_in_their_normal_form},
    {"a list without ranks is refused", test_a_list_without_ranks_is_refused},
    {"ranks in the list are wanted", test_ranks_in_the_list_are_wanted},
    {"roles in the list are wanted", test_roles_in_the_list_are_wanted},
    {"inputs are read from a file, one a line", test_inputs_are_read_from_a_file_one_a_line},
    {"a list alone is enough, and may be empty", test_a_list_alone_is_enough_and_may_be_empty},
    {"a dash is standard input", test_a_dash_is_standard_input},
    {"without a list nothing is read", test_without_a_list_nothing_is_read},
    {"a list that cannot be read is an error", test_a_list_that_cannot_be_read_is_an_error},
    {"help names every option and exit status", test_help_names_every_option_and_exit_status},
    CU_TEST_INFO_NULL,
};
