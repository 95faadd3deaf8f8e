#include <CUnit/Basic.h>

#include <stdio.h>

static struct {
    const CU_SuiteInfo *suites;
    jmp_buf end_of_test;
    unsigned run;
    unsigned failures; /* assertions */
} registry;

int CU_initialize_registry(void) {
    return CUE_SUCCESS;
}

int CU_register_suites(CU_SuiteInfo *suites) {
    registry.suites = suites;
    return CUE_SUCCESS;
}

const char *CU_get_error_msg(void) {
    return "";
}

void CU_basic_set_mode(int mode) {
    (void)mode;
}

void rlmr_cunit_check(bool holds, bool fatal, const char *text, const char *file, int line) {
    if (holds) {
        return;
    }
    registry.failures++;
    (void)printf("%s:%d: %s\n", file, line, text);
    if (fatal) {
        longjmp(registry.end_of_test, 1);
    }
}

static void run_test(const CU_TestInfo *test) {
    registry.run++;
    if (setjmp(registry.end_of_test) == 0) {
        test->pTestFunc();
    }
}

int CU_basic_run_tests(void) {
    for (const CU_SuiteInfo *suite = registry.suites; suite->pName != NULL; suite++) {
        unsigned before = registry.failures;
        unsigned first = registry.run;
        for (const CU_TestInfo *test = suite->pTests; test->pName != NULL; test++) {
            run_test(test);
        }
        (void)printf("%s: %u tests, %u failures\n", suite->pName, registry.run - first,
                     registry.failures - before);
    }
    return CUE_SUCCESS;
}

unsigned CU_get_number_of_failures(void) {
    return registry.failures;
}

unsigned CU_get_number_of_tests_run(void) {
    return registry.run;
}

void CU_cleanup_registry(void) {
    registry.suites = NULL;
}
