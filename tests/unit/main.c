/** Runs every unit suite; the exit code says whether all passed. */
#include <CUnit/Basic.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE(module) extern CU_TestInfo rlmr_tests_##module[];
#include "unit_suites.inc"
#undef SUITE

int main(void) {
    static char product[] = "rl-insight-mr";
    program_invocation_short_name = product; /* stands before its messages */
#define SUITE(module) {.pName = #module, .pTests = rlmr_tests_##module},
    CU_SuiteInfo suites[] = {
#include "unit_suites.inc"
        CU_SUITE_INFO_NULL};
#undef SUITE
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
