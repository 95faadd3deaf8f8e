#include "progress.h"

#include <CUnit/Basic.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- What is written to stderr ---- */

static int saved = -1;
static FILE *caught;

static void catch_stderr(void) {
    (void)fflush(stderr);
    saved = dup(STDERR_FILENO);
    caught = tmpfile();
    CU_ASSERT_TRUE_FATAL(saved >= 0 && caught != NULL && dup2(fileno(caught), STDERR_FILENO) >= 0);
}

/* @return what was written; valid until the next call */
static const char *release_stderr(void) {
    static char text[2000];
    (void)fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = '\0';
    (void)fclose(caught);
    return text;
}

static int lines_of(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static rlmr_progress start(rlmr_progress_when when, int verbosity, bool shown) {
    rlmr_options options = {.progress = when, .verbosity = verbosity};
    rlmr_progress progress;
    rlmr_progress_start(&progress, &options, 200000000, shown);
    return progress;
}

static void test_lines_have_bytes_rate_and_time_left(void) {
    rlmr_progress progress = start(RLMR_PROGRESS_ALWAYS, 0, true);
    double bytes;
    double total;
    double rate;
    int percent;
    int left_s;
    progress.start_s -= 10; /* 50 MB in 10 s: the other 150 MB take 30 s */
    progress.last_s -= 10;
    catch_stderr();
    rlmr_progress_update(&progress, 50000000);
    rlmr_progress_update(&progress, 60000000); /* too soon for a line */
    const char *text = release_stderr();
    CU_ASSERT_EQUAL(sscanf(text, "rl-insight-mr: progress: %lf of %lf MB (%d %%), %lf MB/s, %d s left",
                           &bytes, &total, &percent, &rate, &left_s),
                    5);
    CU_ASSERT_EQUAL(lines_of(text), 1);
    CU_ASSERT_EQUAL(bytes, 50);
    CU_ASSERT_EQUAL(total, 200);
    CU_ASSERT_EQUAL(percent, 25);
    CU_ASSERT_TRUE(rate > 4.5 && rate <= 5);
    CU_ASSERT_TRUE(left_s >= 30 && left_s < 34);
    catch_stderr();
    rlmr_progress_end(&progress);
    rlmr_progress_end(&progress);
    text = release_stderr();
    CU_ASSERT_EQUAL(lines_of(text), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "60.0 of 200.0 MB (30 %)"));
}

static void test_bytes_read_again_do_not_exceed_the_total(void) {
    rlmr_progress progress = start(RLMR_PROGRESS_ALWAYS, 0, true);
    catch_stderr();
    rlmr_progress_update(&progress, 260000000);
    rlmr_progress_end(&progress);
    const char *text = release_stderr();
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "200.0 of 200.0 MB (100 %)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ", 0 s left"));
}

static void test_who_sees_nothing(void) {
    rlmr_progress progress[] = {start(RLMR_PROGRESS_NEVER, 1, true), start(RLMR_PROGRESS_AUTO, -1, true),
                                start(RLMR_PROGRESS_ALWAYS, 0, false), start(RLMR_PROGRESS_AUTO, 0, true)};
    catch_stderr();
    for (size_t i = 0; i < sizeof progress / sizeof progress[0]; i++) {
        progress[i].last_s -= i == 3 ? 0 : 1000; /* the last one is over too soon for a line */
        rlmr_progress_update(&progress[i], 1000000);
        rlmr_progress_end(&progress[i]);
    }
    CU_ASSERT_STRING_EQUAL(release_stderr(), "");
}

CU_TestInfo rlmr_tests_progress[] = {
    {"lines have bytes, rate and time left", test_lines_have_bytes_rate_and_time_left},
    {"bytes read again do not exceed the total", test_bytes_read_again_do_not_exceed_the_total},
    {"who sees nothing", test_who_sees_nothing},
    CU_TEST_INFO_NULL,
};
