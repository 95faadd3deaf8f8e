/* Runs the MPI suites on every process of the job: mpirun -np N test_mpi [MESSAGE_BYTES]
 *
 * Process 0 prints the results, the others only their failures; the job fails if any process did. */
#include "rlmr/comm.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>

rlmr_comm *rlmr_test_comm;
size_t rlmr_test_message_bytes = RLMR_MESSAGE_BYTES_DEFAULT;

extern CU_TestInfo rlmr_tests_comm[];
extern CU_TestInfo rlmr_tests_exchange[];

static CU_ErrorCode run_suites(int rank) {
    CU_SuiteInfo suites[] = {
        {"comm", NULL, NULL, NULL, NULL, rlmr_tests_comm},
        {"exchange", NULL, NULL, NULL, NULL, rlmr_tests_exchange},
        CU_SUITE_INFO_NULL,
    };
    CU_ErrorCode code = CU_initialize_registry();
    if (code == CUE_SUCCESS) {
        code = CU_register_suites(suites);
    }
    if (code != CUE_SUCCESS) {
        return code;
    }
    if (rank > 0) {
        return CU_run_all_tests();
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    return CU_basic_run_tests();
}

static void print_failures(int rank) {
    for (CU_pFailureRecord failure = CU_get_failure_list(); failure != NULL; failure = failure->pNext) {
        (void)fprintf(stderr, "process %d: %s: %s:%u: %s\n", rank,
                      failure->pTest == NULL ? "(suite)" : failure->pTest->pName,
                      failure->strFileName == NULL ? "?" : failure->strFileName, failure->uiLineNumber,
                      failure->strCondition == NULL ? "?" : failure->strCondition);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        rlmr_test_message_bytes = strtoul(argv[1], NULL, 10);
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    if (rlmr_comm_open(rlmr_test_message_bytes, &rlmr_test_comm, &err) != RLMR_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return EXIT_FAILURE;
    }
    int rank = rlmr_comm_rank(rlmr_test_comm);
    int64_t failed = run_suites(rank) != CUE_SUCCESS || CU_get_number_of_tests_run() == 0;
    failed += CU_get_number_of_failure_records();
    if (rank > 0) {
        print_failures(rank);
    }
    CU_cleanup_registry();
    rlmr_status status = rlmr_comm_sum(rlmr_test_comm, &failed, 1, &err);
    rlmr_comm_close(rlmr_test_comm);
    return status == RLMR_OK && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
