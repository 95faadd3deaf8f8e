/** As much of CUnit as the unit tests of core use, for machines for which there is none; in cunit.c. */
#ifndef RLMR_CROSS_CUNIT_H
#define RLMR_CROSS_CUNIT_H

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
    const char *pName;
    void (*pTestFunc)(void);
} CU_TestInfo;

typedef struct {
    const char *pName;
    CU_TestInfo *pTests;
} CU_SuiteInfo;

#define CU_TEST_INFO_NULL                                                                                    \
    { .pName = NULL }
#define CU_SUITE_INFO_NULL                                                                                   \
    { .pName = NULL }

enum { CUE_SUCCESS = 0 };
enum { CU_BRM_NORMAL = 0 };

int CU_initialize_registry(void);
int CU_register_suites(CU_SuiteInfo *suites);
const char *CU_get_error_msg(void);
void CU_basic_set_mode(int mode);
int CU_basic_run_tests(void);
unsigned CU_get_number_of_failures(void);
unsigned CU_get_number_of_tests_run(void);
void CU_cleanup_registry(void);

/** Count an assertion, and end the test if it is fatal and does not hold. */
void rlmr_cunit_check(bool holds, bool fatal, const char *text, const char *file, int line);

#define CU_CHECK(holds, fatal, text) rlmr_cunit_check((holds), (fatal), (text), __FILE__, __LINE__)
#define CU_ASSERT_TRUE(value) CU_CHECK((value) ? true : false, false, #value)
#define CU_ASSERT_FALSE(value) CU_CHECK((value) ? false : true, false, "not " #value)
#define CU_ASSERT_FATAL(value) CU_CHECK((value) ? true : false, true, #value)
#define CU_ASSERT_EQUAL(a, b) CU_CHECK((a) == (b), false, #a " == " #b)
#define CU_ASSERT_EQUAL_FATAL(a, b) CU_CHECK((a) == (b), true, #a " == " #b)
#define CU_ASSERT_NOT_EQUAL(a, b) CU_CHECK((a) != (b), false, #a " != " #b)
#define CU_ASSERT_PTR_EQUAL(a, b) CU_CHECK((const void *)(a) == (const void *)(b), false, #a " == " #b)
#define CU_ASSERT_PTR_NULL(value) CU_CHECK((value) == NULL, false, #value " == NULL")
#define CU_ASSERT_PTR_NOT_NULL(value) CU_CHECK((value) != NULL, false, #value " != NULL")
#define CU_ASSERT_PTR_NOT_NULL_FATAL(value) CU_CHECK((value) != NULL, true, #value " != NULL")
#define CU_ASSERT_STRING_EQUAL(a, b) CU_CHECK(strcmp((a), (b)) == 0, false, #a " is " #b)

#endif
