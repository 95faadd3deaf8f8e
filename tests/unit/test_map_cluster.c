#include "capture_fixture.h"

#include <CUnit/Basic.h>

#include <stdlib.h>
#include <string.h>

/* ---- Files of a capture ---- */

static void put_text(capture_fixture *made, rlmr_file_kind kind, const char *name, const char *text) {
    capture_fixture_put(made, kind, name, rlmr_slice_of(text));
}

static void put_steps(capture_fixture *made, const char *text) {
    put_text(made, RLMR_FILE_step_trace_time, "step_trace_time.csv", text);
}

static void put_communication(capture_fixture *made, const char *text) {
    put_text(made, RLMR_FILE_communication, "communication.json", text);
}

static void put_matrix(capture_fixture *made, const char *text) {
    put_text(made, RLMR_FILE_communication_matrix, "communication_matrix.json", text);
}

static void check_status(const capture_fixture *made, rlmr_capture_status status, int64_t bad_cells) {
    CU_ASSERT_EQUAL(made->status, RLMR_OK);
    CU_ASSERT_EQUAL(made->capture.status, status);
    CU_ASSERT_EQUAL(made->capture.bad_cells, bad_cells);
    if (made->capture.status != status) {
        (void)fprintf(stderr, "\n    the message is: %s\n", made->capture.message);
    }
}

static void check_says(const capture_fixture *made, const char *text) {
    CU_ASSERT_PTR_NOT_NULL_FATAL(made->capture.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(made->capture.message, text));
    if (strstr(made->capture.message, text) == NULL) {
        (void)fprintf(stderr, "\n    the message is: %s\n", made->capture.message);
    }
}

/* ---- step_trace_time ---- */

#define NUMBERS                                                                                              \
    "computing communication_not_overlapped overlapped communication free stage bubble "                     \
    "communication_not_overlapped_and_exclude_receive preparing"

static void check_steps(const char *csv, rlmr_capture_status status, int64_t bad_cells, const char *rows) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_STEP_TRACE);
    made.capture.window = 2;
    put_steps(&made, csv);
    capture_fixture_map(&made);
    check_status(&made, status, bad_cells);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_step_trace_time, "step " NUMBERS, rows);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_step_trace_time].state,
                    status == RLMR_CAPTURE_OK ? RLMR_FILE_READ : RLMR_FILE_DAMAGED);
    capture_fixture_close(&made);
}

static void test_a_step_becomes_a_row(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_STEP_TRACE);
    made.capture.window = 2;
    put_steps(
        &made,
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n0,13,1.5,2,3,4,5,6,7,8,9.25\n");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_step_trace_time,
                               "role window step type index rank_id capture " NUMBERS
                               " dp_index pp_index tp_index file_row",
                               "actor 2 13 rank 17 17 4 1.5 2 3 4 5 6 7 8 9.25 -1 -1 -1 1\n");
    capture_fixture_close(&made);
}

static void test_columns_of_steps_are_found_by_name(void) {
    check_steps("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                "Communication(Not Overlapped and Exclude "
                "Receive)\n5,1,2,3,4,5,6,7,8\n,8555.699999999999,2,3,4,5,6,7,8\n",
                RLMR_CAPTURE_OK, 0, "5 1 2 3 4 5 6 7 8 nan\n 8555.7 2 3 4 5 6 7 8 nan\n");
    check_steps("Preparing,New,Computing\n7,x,1\n", RLMR_CAPTURE_OK, 0, " 1 nan nan nan nan nan nan nan 7\n");
    check_steps("Step,Computing\n", RLMR_CAPTURE_OK, 0, "");
}

static void test_a_bad_number_of_a_step_costs_itself(void) {
    check_steps("Step,Computing,Free\n5,x,2\n6,1,\n7,1e999,N/A\n", RLMR_CAPTURE_PARTIAL, 2,
                "5 nan nan nan nan 2 nan nan nan nan\n6 1 nan nan nan nan nan nan nan nan\n"
                "7 nan nan nan nan nan nan nan nan nan\n");
    check_steps("Step,Free\n5,2\n", RLMR_CAPTURE_FAILED, 0, "");
}

/* ---- communication ---- */

#define TIMES(elapsed, transit, wait, synchronization, idle)                                                 \
    "\"Communication Time Info\": {\"Start Timestamp(us)\": 1723545784022534.5, \"Elapse "                   \
    "Time(ms)\": " #elapsed ", \"Transit Time(ms)\": " #transit ", \"Wait Time(ms)\": " #wait                \
    ", \"Synchronization Time(ms)\": " #synchronization ", \"Idle Time(ms)\": " #idle                        \
    ", \"Wait Time Ratio\": 9, \"Synchronization Time Ratio\": 9}"
#define BAND(transport, size, time, packages)                                                                \
    "\"" transport "\": {\"Transit Size(MB)\": " #size ", \"Transit Time(ms)\": " #time                      \
    ", \"Bandwidth(GB/s)\": 3.5, \"Large Packet Ratio\": 0.5, \"Size Distribution\": " packages "}"
#define OP(name, times, ...) "\"" name "\": {" times ", \"Communication Bandwidth Info\": {" __VA_ARGS__ "}}"

static void map_communication(capture_fixture *made, const char *communication) {
    capture_fixture_open(made, RLMR_ANALYSIS_COMMUNICATION_TIME);
    put_communication(made, communication);
    capture_fixture_map(made);
}

#define TIME_COLUMNS                                                                                         \
    "step type hccl_op_name group_name start_timestamp_ns elapsed_time transit_time wait_time "              \
    "synchronization_time idle_time synchronization_time_ratio wait_time_ratio"

static void test_operators_and_their_totals_become_rows(void) {
    capture_fixture made;
    map_communication(
        &made,
        "{\"step5\": {\"p2p\": {" OP(
            "send__1@77", TIMES(1, 0, 0, 0, 1),
            BAND("HCCS", 0, 0,
                 "{}")) "}, \"collective\": {" OP("b__1@88", TIMES(8, 3, 1, 1, 4),
                                                  BAND("HCCS", 6, 2,
                                                       "{}")) ", " OP("a__1@88",
                                                                      TIMES(0.1, 0.2, 0.3, 0.4, 0.5),
                                                                      BAND(
                                                                          "HCCS", 1, 1,
                                                                          "{}")) ", "
                                                                                 "\"Total Op Info\": {" TIMES(
                                                                                     9, 9, 9, 9, 9) "}}}}");
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(
        &made, RLMR_TABLE_cluster_communication_time, TIME_COLUMNS,
        "5 p2p send__1 77 1723545784022534500 1 0 0 0 1 0 0\n"
        "5 collective b__1 88 1723545784022534500 8 3 1 1 4 0.25 0.25\n"
        "5 collective a__1 88 1723545784022534500 0.1 0.2 0.3 0.4 0.5 0.6666666667 0.6\n"
        "5 collective Total Op Info 88 -9223372036854775808 8.1 3.2 1.3 1.4 4.5 0.3043478261 0.2888888889\n"
        "5 p2p Total Op Info 77 -9223372036854775808 1 0 0 0 1 0 0\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_group_use,
                               "role type group_name rank_id capture own_local greatest_local",
                               "actor p2p 77 17 4 -1 -1\nactor collective 88 17 4 -1 -1\n");
    capture_fixture_close(&made);
}

static void test_sums_do_not_lose_small_times(void) {
    capture_fixture made;
    map_communication(
        &made,
        "{\"step\": {\"collective\": {" OP("a@1", TIMES(1e16, 1, 0, 0, 0), ) ", " OP(
            "b@1", TIMES(1, 1, 0, 0, 0), ) ", " OP("c@1",
                                                   TIMES(1, 1, 0, 0, 0), ) ", " OP("d@1",
                                                                                   TIMES(-1e16, 1, 0, 0,
                                                                                         0), ) "}}}");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_time, "step hccl_op_name elapsed_time",
                               " a 1e+16\n b 1\n c 1\n d -1e+16\n Total Op Info 2\n");
    capture_fixture_close(&made);
}

static void test_packets_are_summed_by_size_and_transit_by_operator(void) {
    capture_fixture made;
    map_communication(
        &made, "{\"step5\": {\"collective\": {" OP(
                   "a@1", TIMES(1, 1, 1, 1, 1),
                   BAND("HCCS", 4, 2, "{\"1\": [2.0, 0.5], \"0.5\": [4, 1.5]}") ", " BAND(
                       "RDMA", 0, 0, "{}")) ", " OP("b@1", TIMES(1, 1, 1, 1, 1),
                                                    BAND("HCCS", 3, 1, "{\"1.0\": [3, 1]}") ", " BAND(
                                                        "RDMA", 0, 0,
                                                        "{}")) ", " OP("c@1", TIMES(1, 1, 1, 1, 1),
                                                                       BAND("HCCS", 0, 0, "{}")) "}}}");
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(
        &made, RLMR_TABLE_cluster_communication_bandwidth,
        "step type hccl_op_name group_name band_type transit_size transit_time bandwidth "
        "large_packet_ratio package_size count total_duration",
        "5 collective a 1 HCCS 4 2 3.5 0.5 1 2 0.5\n5 collective a 1 HCCS 4 2 3.5 0.5 0.5 4 1.5\n"
        "5 collective a 1 RDMA 0 0 3.5 0.5 nan 0 0\n5 collective b 1 HCCS 3 1 3.5 0.5 1 3 1\n"
        "5 collective b 1 RDMA 0 0 3.5 0.5 nan 0 0\n5 collective c 1 HCCS 0 0 3.5 0.5 nan 0 0\n"
        "5 collective Total Op Info 1 HCCS 7 3 2.333333333 nan nan 0 0\n"
        "5 collective Total Op Info 1 HCCS 7 3 2.333333333 nan 0.5 4 1.5\n"
        "5 collective Total Op Info 1 HCCS 7 3 2.333333333 nan 1 5 1.5\n"
        "5 collective Total Op Info 1 RDMA 0 0 0 nan nan 0 0\n");
    capture_fixture_close(&made);
}

static void test_a_bad_number_of_an_operator_costs_itself(void) {
    capture_fixture made;
    map_communication(&made,
                      "{\"step5\": {\"collective\": {" OP("a@1", TIMES(true, "2.5", null, {}, 1),
                                                          BAND("HCCS", 1, 1, "{\"x\": [1.5, 1]}")) "}}}");
    check_status(&made, RLMR_CAPTURE_PARTIAL, 4);
    check_says(&made, "communication.json: operator \"a\" at byte 26: elapsed time \"true\": not a number");
    check_says(&made, "4 errors in communication.json, the last: operator \"a\" at byte 321: packet count "
                      "\"1.5\": not an integer");
    capture_fixture_check_rows(
        &made, RLMR_TABLE_cluster_communication_time,
        "hccl_op_name elapsed_time transit_time wait_time synchronization_time idle_time",
        "a nan 2.5 nan nan 1\nTotal Op Info nan 2.5 nan nan 1\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_bandwidth,
                               "hccl_op_name package_size count", "a nan -1\nTotal Op Info nan 0\n");
    capture_fixture_close(&made);
}

static void test_an_operator_counts_once(void) {
    capture_fixture made;
    map_communication(
        &made,
        "{\"step5\": {\"collective\": {" OP("a@1", TIMES(1, 1, 1, 1, 1), BAND("HCCS", 1, 1, "{}")) ", " OP(
            "a@1", TIMES(2, 2, 2, 2, 2),
            BAND("RDMA", 2, 2, "{}")) "}, \"p2p\": {" OP("a@1", TIMES(3, 3, 3, 3, 3),
                                                         BAND("HCCS", 3, 3, "{}")) "}}}");
    check_status(&made, RLMR_CAPTURE_PARTIAL, 1);
    check_says(&made,
               "communication.json: operator \"a\" at byte 444: of the group \"1\": a second time, left out");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_time, "type hccl_op_name elapsed_time",
                               "collective a 1\np2p a 3\ncollective Total Op Info 1\np2p Total Op Info 3\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_bandwidth,
                               "type hccl_op_name transit_size",
                               "collective a 1\np2p a 3\ncollective Total Op Info 1\np2p Total Op Info 3\n");
    capture_fixture_close(&made);
}

static void check_bare_step(const char *csv, const char *expected) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_COMMUNICATION_TIME);
    put_steps(&made, csv);
    put_communication(&made, "{\"step\": {\"collective\": {" OP("a@1", TIMES(1, 1, 1, 1, 1), ) "}}}");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_time, "step hccl_op_name", expected);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_step_trace_time, "step", "");
    capture_fixture_close(&made);
}

static void test_a_bare_step_is_the_only_step(void) {
    check_bare_step("Step,Computing\n13,1\n13,2\n", "13 a\n13 Total Op Info\n");
    check_bare_step("Step,Computing\n13,1\n14,2\n", " a\n Total Op Info\n");
    check_bare_step("Step,Computing\n13,1\n14,2\n14,2\n", " a\n Total Op Info\n");
    check_bare_step("Step,Computing\n,1\n", " a\n Total Op Info\n");
    check_bare_step("Computing\n1\n", " a\n Total Op Info\n");
}

static void test_an_operator_of_one_step_under_two_names_counts_once(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_COMMUNICATION_TIME);
    put_steps(&made, "Step,Computing\n13,1\n");
    put_communication(
        &made, "{\"step\": {\"collective\": {" OP("a@1", TIMES(1, 1, 1, 1, 1), ) ", " OP(
                   "\xFF@1",
                   TIMES(2, 2, 2, 2,
                         2), ) "}}, \"step13\": {\"collective\": {" OP("a@1",
                                                                       TIMES(4, 4, 4, 4,
                                                                             4), ) ", " OP("\xFE@1",
                                                                                           TIMES(8, 8, 8, 8,
                                                                                                 8), ) "}}}");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_PARTIAL, 4);
    check_says(&made, "communication.json: ");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_time, "step hccl_op_name elapsed_time",
                               "13 a 1\n13 \xEF\xBF\xBD 2\n13 Total Op Info 3\n");
    capture_fixture_close(&made);
}

/* ---- communication_matrix ---- */

#define LINK(link, transport, size, time, op)                                                                \
    "\"" link "\": {\"Transport Type\": \"" transport "\", \"Transit Size(MB)\": " #size                     \
    ", \"Transit Time(ms)\": " #time ", \"Bandwidth(GB/s)\": 3, \"Op Name\": \"" op "\"}"

static void map_matrix(capture_fixture *made, const char *matrix) {
    capture_fixture_open(made, RLMR_ANALYSIS_COMMUNICATION_MATRIX);
    put_matrix(made, matrix);
    capture_fixture_map(made);
}

static void test_links_and_what_makes_their_totals_become_rows(void) {
    capture_fixture made;
    map_matrix(
        &made,
        "{\"step5\": {\"collective\": {\"allreduce-top1@1\": {" LINK("3-3", "LOCAL", 1, 2, "x") ", " LINK(
            "3-5", "HCCS", 1.5, 2.5,
            "y") "}, \"allreduce-total@1\": {" LINK("3-5", "HCCS", 9, 3,
                                                    "") "}, "
                                                        "\"stop-middle@1\": {" LINK(
                                                            "0-1", "SIO", 1, 1,
                                                            "m") "}, \"old_stop@1\": "
                                                                 "{" LINK("0-1", "SIO", 2, 2,
                                                                          "o") "}, "
                                                                               "\"bottom3"
                                                                               "\": "
                                                                               "{" LINK("0"
                                                                                        "-"
                                                                                        "1",
                                                                                        "S"
                                                                                        "I"
                                                                                        "O",
                                                                                        4, 4, "q") "}}"
                                                                                                   "}"
                                                                                                   "}");
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_matrix,
                               "role window step type hccl_op_name group_name src_rank dst_rank src_local "
                               "dst_local transport_type op_name "
                               "transit_size transit_time source_op capture",
                               "actor 0 5 collective allreduce-top1 1 -1 -1 3 3 LOCAL x 1 2  4\n"
                               "actor 0 5 collective allreduce-top1 1 -1 -1 3 5 HCCS y 1.5 2.5  4\n"
                               "actor 0 5 collective allreduce-total 1 -1 -1 3 5 HCCS  9 3  4\n"
                               "actor 0 5 collective Total Op Info 1 -1 -1 3 5 HCCS  9 3 allreduce-total 4\n"
                               "actor 0 5 collective stop-middle 1 -1 -1 0 1 SIO m 1 1  4\n"
                               "actor 0 5 collective old_stop 1 -1 -1 0 1 SIO o 2 2  4\n"
                               "actor 0 5 collective Total Op Info 1 -1 -1 0 1 SIO  2 2 old_stop 4\n"
                               "actor 0 5 collective bottom3 bottom3 -1 -1 0 1 SIO q 4 4  4\n"
                               "actor 0 5 collective Total Op Info bottom3 -1 -1 0 1 SIO  4 4 bottom3 4\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_group_use, "type group_name own_local greatest_local",
                               "collective 1 3 5\ncollective bottom3 -1 1\n");
    capture_fixture_close(&made);
}

static void test_links_of_a_second_operator_do_not_count(void) {
    capture_fixture made;
    map_matrix(
        &made,
        "{\"step5\": {\"p2p\": {\"send-total@1\": {" LINK(
            "0-1", "HCCS", 1, 2,
            "") "}, \"send-total@1\": {" LINK("0-1", "HCCS", 3, 4,
                                              "") ", " LINK("0-7", "HCCS", 5, 6,
                                                            "") "}, \"send-total@2\": {" LINK("0-1", "HCCS",
                                                                                              7, 8,
                                                                                              "") "}}}}");
    check_status(&made, RLMR_CAPTURE_PARTIAL, 1);
    check_says(&made, "communication_matrix.json: operator \"send-total\" at byte 155: of the group \"1\": "
                      "a second time, left out");
    capture_fixture_check_rows(
        &made, RLMR_TABLE_cluster_communication_matrix, "hccl_op_name group_name dst_local transit_size",
        "send-total 1 1 1\nTotal Op Info 1 1 1\nsend-total 2 1 7\nTotal Op Info 2 1 7\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_group_use, "group_name greatest_local", "1 1\n2 1\n");
    capture_fixture_close(&made);
}

static void test_ends_that_are_no_numbers_cost_the_link(void) {
    capture_fixture made;
    map_matrix(&made, "{\"step5\": {\"p2p\": {\"send-total@1\": {" LINK("x-3", "HCCS", 1, 2, "") ", " LINK(
                          "0-1", "HCCS", 1, 2, "") ", " LINK("0-4294967296", "HCCS", 1, 2,
                                                             "") ", " LINK("0-1.5", "HCCS", 1, 2, "") "}}}}");
    check_status(&made, RLMR_CAPTURE_PARTIAL, 3);
    check_says(&made, "link \"x-3\": its ends are no numbers in the group, left out");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_matrix,
                               "hccl_op_name src_local dst_local", "send-total 0 1\nTotal Op Info 0 1\n");
    capture_fixture_close(&made);
}

#define REDUCES(step, group, name1, name2)                                                                   \
    "\"" step "\": {\"collective\": {\"reduce-top1@" group                                                   \
    "\": {" LINK("0-1", "HCCS", 1, 1, name1) "}, \"reduce-middle@" group "\": {" LINK(                       \
        "0-1", "HCCS", 1, 1, name2) "}, \"reduce-total@" group "\": {" LINK("0-1", "HCCS", 2, 2, "") "}}}"

static void check_reduces(const char *name1, const char *name2, const char *expected) {
    capture_fixture made;
    char *text = NULL;
    CU_ASSERT_FATAL(
        asprintf(
            &text,
            "{\"step1\": {\"collective\": {\"reduce-top1@7\": {\"0-1\": {\"Op Name\": \"%s\"}}, "
            "\"reduce-middle@7\": {\"0-1\": {\"Op Name\": \"%s\"}}, \"reduce-total@7\": {\"0-1\": {}}}}}",
            name1, name2) > 0);
    map_matrix(&made, text);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_matrix, "hccl_op_name source_op",
                               expected);
    capture_fixture_close(&made);
    free(text);
}

static void test_reduce_scatter_has_its_own_name(void) {
#define RENAMED                                                                                              \
    "reducescatter-top1 \nreducescatter-middle \nreducescatter-total \nTotal Op Info reducescatter-total\n"
#define AS_IS "reduce-top1 \nreduce-middle \nreduce-total \nTotal Op Info reduce-total\n"
    check_reduces("hcom_reduceScatter__1_0_1", "hcom_ReduceScatter__1_0_2", RENAMED);
    check_reduces("hcom_reduceScatter__1_0_1", "", RENAMED);
    check_reduces("hcom_reduceScatter__1_0_1", "hcom_reduce__1_0_1", AS_IS);
    check_reduces("", "", AS_IS);
    capture_fixture made;
    map_matrix(&made, "{" REDUCES("step1", "7", "hcom_reduceScatter_", "hcom_reduceScatter_") ", " REDUCES(
                          "step2", "7", "hcom_reduce_",
                          "hcom_reduceScatter_") ", " REDUCES("step3", "8", "hcom_reduceScatter_",
                                                              "hcom_reduceScatter_") "}");
    capture_fixture_check_rows(
        &made, RLMR_TABLE_cluster_communication_matrix, "step hccl_op_name",
        "1 reducescatter-top1\n1 reducescatter-middle\n1 reducescatter-total\n1 Total Op Info\n"
        "2 reduce-top1\n2 reduce-middle\n2 reduce-total\n2 Total Op Info\n"
        "3 reducescatter-top1\n3 reducescatter-middle\n3 reducescatter-total\n3 Total Op Info\n");
    capture_fixture_close(&made);
}

/* ---- Metadata ---- */

static void test_metadata_become_facts(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_STEP_TRACE);
    put_steps(&made, "Computing\n1\n");
    put_text(
        &made, RLMR_FILE_profiler_metadata, "profiler_metadata.json",
        "{\"distributed_args\": {\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 3, "
        "\"data_parallel_size\": 4, \"rank\": 17, \"world_size\": 24}, \"parallel_group_info\": {\"id 1\": "
        "{\"group_name\": "
        "\"tp\", \"group_rank\": 0, \"global_ranks\": [17, 3]}, \"id 2\": {\"group_name\": \"dp\"}}}");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_check_rows(&made, RLMR_TABLE_group_declared,
                               "role group_id rank_id capture pg_name global_ranks",
                               "actor id 1 17 4 tp 17 3\nactor id 2 17 4 dp \n");
    capture_fixture_check_rows(
        &made, RLMR_TABLE_job_distribution, "role rank_id capture tp pp dp cp ep world distributed_args",
        "actor 17 4 2 3 4 -1 -1 24 {\"tensor_model_parallel_size\": 2, "
        "\"pipeline_model_parallel_size\": 3, \"data_parallel_size\": 4, \"world_size\": 24}\n");
    capture_fixture_close(&made);
}

static void test_metadata_of_another_form_are_damage(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_STEP_TRACE);
    put_steps(&made, "Computing\n1\n");
    put_text(&made, RLMR_FILE_profiler_metadata, "profiler_metadata.json",
             "{\"distributed_args\": [], \"parallel_group_info\": {\"id 1\": {\"global_ranks\": [0, -1]}}}");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_PARTIAL, 0);
    check_says(&made, "profiler_metadata.json: distributed_args: no object at byte 22");
    check_says(&made, "2 errors in profiler_metadata.json, the last: parallel_group_info: id 1: global_ranks "
                      "holds what is no rank at byte 82");
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_profiler_metadata].state, RLMR_FILE_DAMAGED);
    capture_fixture_check_rows(&made, RLMR_TABLE_group_declared, "group_id global_ranks", "id 1 \n");
    capture_fixture_close(&made);
}

/* ---- Damage, and what is read ---- */

static void test_a_damaged_file_costs_that_file(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_COMMUNICATION_TIME);
    made.options.analyses[RLMR_ANALYSIS_COMMUNICATION_MATRIX] = true;
    made.options.analyses[RLMR_ANALYSIS_MEMORY] = true;
    put_steps(&made, "Step,Computing\n13,1\n");
    put_communication(&made,
                      "{\"step13\": {\"collective\": {" OP("a@1", TIMES(1, 1, 1, 1, 1), ) ", \"b@1\": {");
    put_matrix(&made, "");
    put_text(&made, RLMR_FILE_operator_memory, "operator_memory.csv", "\n");
    capture_fixture_map(&made);
    check_status(&made, RLMR_CAPTURE_PARTIAL, 0);
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_communication_time, "hccl_op_name",
                               "a\nTotal Op Info\n");
    capture_fixture_check_rows(&made, RLMR_TABLE_cluster_step_trace_time, "step", "13\n");
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_step_trace_time].state, RLMR_FILE_READ);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_communication].state, RLMR_FILE_DAMAGED);
    CU_ASSERT_EQUAL(made.capture.files[RLMR_FILE_communication_matrix].state, RLMR_FILE_DAMAGED);
    check_says(&made, "communication.json: ");
    check_says(&made, "communication_matrix.json: ");
    capture_fixture_close(&made);
}

static void test_a_capture_of_which_nothing_is_left_has_failed(void) {
    capture_fixture made;
    map_matrix(&made, "{\"step13\": ");
    check_status(&made, RLMR_CAPTURE_FAILED, 0);
    capture_fixture_close(&made);
    map_matrix(&made, "{}");
    check_status(&made, RLMR_CAPTURE_OK, 0);
    capture_fixture_close(&made);
}

static void test_strict_is_an_error(void) {
    capture_fixture made;
    capture_fixture_open(&made, RLMR_ANALYSIS_COMMUNICATION_MATRIX);
    made.options.strict = true;
    put_matrix(&made, "{\"step13\": ");
    capture_fixture_map(&made);
    CU_ASSERT_EQUAL(made.status, RLMR_E_PARSE);
    capture_fixture_close(&made);
}

static void test_a_mode_reads_and_makes_what_it_needs(void) {
    static const struct {
        rlmr_analysis analysis;
        const char *reads;
        const char *makes;
    } cases[] = {
        {RLMR_ANALYSIS_MEMORY, "trace_view operator_memory ", "captures memory_events "},
        {RLMR_ANALYSIS_STEP_TRACE, "profiler_metadata step_trace_time profiler_db ",
         "captures cluster_step_trace_time rank_device_map cluster_base_info group_use group_declared "
         "job_distribution "},
        {RLMR_ANALYSIS_COMMUNICATION_TIME, "profiler_metadata step_trace_time communication profiler_db ",
         "captures cluster_communication_time cluster_communication_bandwidth communication_group "
         "rank_device_map "
         "cluster_base_info group_use group_declared job_distribution "},
        {RLMR_ANALYSIS_COMMUNICATION_MATRIX,
         "profiler_metadata step_trace_time communication_matrix profiler_db ",
         "captures cluster_step_trace_time cluster_communication_matrix communication_group rank_device_map "
         "cluster_base_info group_use group_declared job_distribution "},
    };
    rlmr_capture capture;
    rlmr_capture_init(&capture);
    for (rlmr_file_kind kind = 0; kind < RLMR_FILES; kind++) {
        capture.files[kind].state = RLMR_FILE_UNUSED;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlmr_map_options options = {.match = RLMR_MATCH_BEST};
        options.analyses[cases[i].analysis] = true;
        char text[400] = "";
        for (rlmr_file_kind kind = 0; kind < RLMR_FILES; kind++) {
            if (rlmr_map_reads(&options, &capture, kind)) {
                strcat(strcat(text, rlmr_file_kind_text(kind)), " ");
            }
        }
        CU_ASSERT_STRING_EQUAL(text, cases[i].reads);
        text[0] = '\0';
        for (int table = 0; table < RLMR_TABLE_AND_FACT_COUNT; table++) {
            if (rlmr_map_makes(&options, table)) {
                strcat(strcat(text, rlmr_table_schemas[table]->name), " ");
            }
        }
        CU_ASSERT_STRING_EQUAL(text, cases[i].makes);
    }
    /* a database is read for what is not there as text */
    capture.files[RLMR_FILE_trace_view].state = RLMR_FILE_ABSENT;
    CU_ASSERT_TRUE(rlmr_map_reads(&(rlmr_map_options){.analyses[RLMR_ANALYSIS_MEMORY] = true}, &capture,
                                  RLMR_FILE_profiler_db));
    capture.files[RLMR_FILE_communication].state = RLMR_FILE_ABSENT;
    CU_ASSERT_TRUE(rlmr_map_reads(&(rlmr_map_options){.analyses[RLMR_ANALYSIS_COMMUNICATION_TIME] = true},
                                  &capture, RLMR_FILE_analysis_db));
    CU_ASSERT_FALSE(rlmr_map_reads(&(rlmr_map_options){.analyses[RLMR_ANALYSIS_COMMUNICATION_MATRIX] = true},
                                   &capture, RLMR_FILE_analysis_db));
}

CU_TestInfo rlmr_tests_map_cluster[] = {
    {"a step becomes a row", test_a_step_becomes_a_row},
    {"columns of steps are found by name", test_columns_of_steps_are_found_by_name},
    {"a bad number of a step costs itself", test_a_bad_number_of_a_step_costs_itself},
    {"operators and their totals become rows", test_operators_and_their_totals_become_rows},
    {"sums do not lose small times", test_sums_do_not_lose_small_times},
    {"packets are summed by size, and transit by operator",
     test_packets_are_summed_by_size_and_transit_by_operator},
    {"a bad number of an operator costs itself", test_a_bad_number_of_an_operator_costs_itself},
    {"an operator counts once", test_an_operator_counts_once},
    {"an operator of one step under two names counts once",
     test_an_operator_of_one_step_under_two_names_counts_once},
    {"a bare step is the only step", test_a_bare_step_is_the_only_step},
    {"links, and what makes their totals, become rows", test_links_and_what_makes_their_totals_become_rows},
    {"links of a second operator do not count", test_links_of_a_second_operator_do_not_count},
    {"ends that are no numbers cost the link", test_ends_that_are_no_numbers_cost_the_link},
    {"reduceScatter has its own name", test_reduce_scatter_has_its_own_name},
    {"metadata of another form are damage", test_metadata_of_another_form_are_damage},
    {"metadata become facts", test_metadata_become_facts},
    {"a damaged file costs that file", test_a_damaged_file_costs_that_file},
    {"a capture of which nothing is left has failed", test_a_capture_of_which_nothing_is_left_has_failed},
    {"--strict is an error", test_strict_is_an_error},
    {"a mode reads and makes what it needs", test_a_mode_reads_and_makes_what_it_needs},
    CU_TEST_INFO_NULL,
};
