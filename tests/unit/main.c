/** Runs every unit suite, or those that are named; the exit code says whether all passed. */
#include <CUnit/Basic.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(module) extern CU_TestInfo rlmr_tests_##module[];
#include "unit_suites.inc"
#undef SUITE

/* Keep the suites that are named. @return how many there are */
static size_t choose(CU_SuiteInfo *suites, int count, char **names) {
    size_t kept = 0;
    for (size_t i = 0; suites[i].pName != NULL; i++) {
        bool named = count == 0;
        for (int n = 0; n < count; n++) {
            named = named || strcmp(suites[i].pName, names[n]) == 0;
        }
        if (named) {
            suites[kept++] = suites[i];
        }
    }
    suites[kept] = (CU_SuiteInfo)CU_SUITE_INFO_NULL;
    return kept;
}

int main(int argc, char **argv) {
    static char product[] = "rl-insight-mr";
    program_invocation_short_name = product; /* stands before its messages */
#define SUITE(module) {.pName = #module, .pTests = rlmr_tests_##module},
    CU_SuiteInfo suites[] = {
#include "unit_suites.inc"
        CU_SUITE_INFO_NULL};
#undef SUITE
    if (choose(suites, argc - 1, argv + 1) == 0) {
        (void)fprintf(stderr, "no suite has such a name\n");
        return EXIT_FAILURE;
    }
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) {
        (void)fprintf(stderr, "cannot register the suites: %s\n", CU_get_error_msg());
        return EXIT_FAILURE;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    (void)CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
