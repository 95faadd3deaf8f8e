#include "rlmr/error.h"

#include <CUnit/Basic.h>

#include <errno.h>
#include <string.h>

static rlmr_error empty_record(void) {
    rlmr_error err;
    memset(&err, 0x55, sizeof err);
    rlmr_error_clear(&err);
    return err;
}

/* A text of `bytes` letters, owned by the function. */
static const char *letters(char letter, size_t bytes) {
    static char text[4 * RLMR_ERROR_TEXT_BYTES];
    memset(text, letter, bytes);
    text[bytes] = '\0';
    return text;
}

static void test_a_cleared_record_holds_no_error(void) {
    rlmr_error err = empty_record();
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
    CU_ASSERT_EQUAL(err.sys_errno, 0);
    CU_ASSERT_EQUAL(err.offset, -1);
    CU_ASSERT_STRING_EQUAL(err.message, "");
}

static void test_setting_fills_the_record_and_returns_the_code(void) {
    rlmr_error err = empty_record();
    CU_ASSERT_EQUAL(rlmr_error_set(&err, RLMR_E_PARSE, "row %d of %s", 7, "a file"), RLMR_E_PARSE);
    CU_ASSERT_EQUAL(err.code, RLMR_E_PARSE);
    CU_ASSERT_EQUAL(err.sys_errno, 0);
    CU_ASSERT_EQUAL(err.offset, -1);
    CU_ASSERT_STRING_EQUAL(err.message, "row 7 of a file");
}

static void test_the_first_writer_wins(void) {
    rlmr_error err = empty_record();
    (void)rlmr_error_set(&err, RLMR_E_INPUT, "first");
    CU_ASSERT_EQUAL(rlmr_error_set(&err, RLMR_E_NOMEM, "second"), RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(rlmr_error_set_errno(&err, RLMR_E_OUTPUT, ENOSPC, "third"), RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(err.code, RLMR_E_INPUT);
    CU_ASSERT_EQUAL(err.sys_errno, 0);
    CU_ASSERT_STRING_EQUAL(err.message, "first");
}

static void test_there_may_be_no_record(void) {
    CU_ASSERT_EQUAL(rlmr_error_set(NULL, RLMR_E_LIMIT, "%d", 1), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(rlmr_error_set_errno(NULL, RLMR_E_INPUT, ENOENT, "%d", 1), RLMR_E_INPUT);
    rlmr_error_prefix(NULL, "%d", 1);
}

static void test_the_text_of_errno_follows_the_message(void) {
    rlmr_error err = empty_record();
    CU_ASSERT_EQUAL(rlmr_error_set_errno(&err, RLMR_E_OUTPUT, ENOSPC, "writing %s", "x"), RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(err.sys_errno, ENOSPC);
    CU_ASSERT_STRING_EQUAL(err.message, "writing x: No space left on device");
}

static void test_a_prefix_stands_before_the_message(void) {
    rlmr_error err = empty_record();
    (void)rlmr_error_set(&err, RLMR_E_PARSE, "no comma");
    rlmr_error_prefix(&err, "%s: ", "trace_view.json");
    rlmr_error_prefix(&err, "capture %d, ", 3);
    CU_ASSERT_STRING_EQUAL(err.message, "capture 3, trace_view.json: no comma");
    CU_ASSERT_EQUAL(err.code, RLMR_E_PARSE);
}

static void test_an_empty_record_gets_no_prefix(void) {
    rlmr_error err = empty_record();
    rlmr_error_prefix(&err, "%s: ", "trace_view.json");
    CU_ASSERT_STRING_EQUAL(err.message, "");
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
}

static void test_a_message_that_is_too_long_is_cut(void) {
    rlmr_error err = empty_record();
    (void)rlmr_error_set(&err, RLMR_E_PARSE, "%s", letters('m', 3 * RLMR_ERROR_TEXT_BYTES));
    CU_ASSERT_STRING_EQUAL(err.message, letters('m', RLMR_ERROR_TEXT_BYTES - 1));

    err = empty_record();
    (void)rlmr_error_set_errno(&err, RLMR_E_INPUT, ENOENT, "%s", letters('m', 3 * RLMR_ERROR_TEXT_BYTES));
    CU_ASSERT_STRING_EQUAL(err.message, letters('m', RLMR_ERROR_TEXT_BYTES - 1));
}

static void test_a_long_prefix_cuts_the_end_of_the_message(void) {
    rlmr_error err = empty_record();
    (void)rlmr_error_set(&err, RLMR_E_PARSE, "%s", letters('m', RLMR_ERROR_TEXT_BYTES - 1));
    rlmr_error_prefix(&err, "ab");
    CU_ASSERT_EQUAL(strlen(err.message), RLMR_ERROR_TEXT_BYTES - 1);
    CU_ASSERT_EQUAL(strspn(err.message, "ab"), 2);
    CU_ASSERT_STRING_EQUAL(err.message + 2, letters('m', RLMR_ERROR_TEXT_BYTES - 3));

    rlmr_error_prefix(&err, "%s", letters('p', RLMR_ERROR_TEXT_BYTES - 2));
    CU_ASSERT_EQUAL(strspn(err.message, "p"), RLMR_ERROR_TEXT_BYTES - 2);
    CU_ASSERT_STRING_EQUAL(err.message + RLMR_ERROR_TEXT_BYTES - 2, "a");

    rlmr_error_prefix(&err, "%s", letters('q', 2 * RLMR_ERROR_TEXT_BYTES));
    CU_ASSERT_STRING_EQUAL(err.message, letters('q', RLMR_ERROR_TEXT_BYTES - 1));
}

static void test_every_status_has_a_text_and_an_exit_code(void) {
    CU_ASSERT_STRING_EQUAL(rlmr_status_text(RLMR_OK), "success");
    CU_ASSERT_STRING_EQUAL(rlmr_status_text(RLMR_E_NOMEM), "out of memory");
    CU_ASSERT_STRING_EQUAL(rlmr_status_text(RLMR_E_STOPPED), "stopped because another process failed");
    CU_ASSERT_EQUAL(rlmr_status_exit_code(RLMR_OK), 0);
    CU_ASSERT_EQUAL(rlmr_status_exit_code(RLMR_E_USAGE), 2);
    for (int code = RLMR_E_NOMEM; code <= RLMR_E_STOPPED; code++) {
        CU_ASSERT_NOT_EQUAL(rlmr_status_text((rlmr_status)code)[0], '\0');
        CU_ASSERT_EQUAL(rlmr_status_exit_code((rlmr_status)code), code == RLMR_E_USAGE ? 2 : 1);
    }
}

static void test_a_status_that_is_not_in_the_list_is_a_failure(void) {
    CU_ASSERT_STRING_EQUAL(rlmr_status_text((rlmr_status)99), "unknown status");
    CU_ASSERT_EQUAL(rlmr_status_exit_code((rlmr_status)99), 1);
}

CU_TestInfo rlmr_tests_error[] = {
    {"a cleared record holds no error", test_a_cleared_record_holds_no_error},
    {"setting fills the record and returns the code", test_setting_fills_the_record_and_returns_the_code},
    {"the first writer of a record wins", test_the_first_writer_wins},
    {"there may be no record", test_there_may_be_no_record},
    {"the text of errno follows the message", test_the_text_of_errno_follows_the_message},
    {"a prefix stands before the message", test_a_prefix_stands_before_the_message},
    {"an empty record gets no prefix", test_an_empty_record_gets_no_prefix},
    {"a message that is too long is cut", test_a_message_that_is_too_long_is_cut},
    {"a long prefix cuts the end of the message", test_a_long_prefix_cuts_the_end_of_the_message},
    {"every status has a text and an exit code", test_every_status_has_a_text_and_an_exit_code},
    {"a status that is not in the list is a failure", test_a_status_that_is_not_in_the_list_is_a_failure},
    CU_TEST_INFO_NULL,
};
