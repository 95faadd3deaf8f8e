#include "rlmr/comm.h"

#include <CUnit/Basic.h>

#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static rlmr_comm *open_comm(void) {
    rlmr_comm *comm = NULL;
    CU_ASSERT_EQUAL_FATAL(rlmr_comm_open(RLMR_MESSAGE_BYTES_DEFAULT, &comm, NULL), RLMR_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(comm);
    return comm;
}

static void test_there_is_one_process(void) {
    rlmr_comm *comm = open_comm();
    CU_ASSERT_EQUAL(rlmr_comm_rank(comm), 0);
    CU_ASSERT_EQUAL(rlmr_comm_size(comm), 1);
    rlmr_comm_close(comm);
    rlmr_comm_close(NULL);
}

static void test_message_bytes_out_of_range_are_refused(void) {
    const size_t refused[] = {0, 63, (size_t)INT_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_comm *comm = (rlmr_comm *)&err;
        CU_ASSERT_EQUAL(rlmr_comm_open(refused[i], &comm, &err), RLMR_E_RANGE);
        CU_ASSERT_PTR_NULL(comm);
        CU_ASSERT_EQUAL(err.code, RLMR_E_RANGE);
    }
    rlmr_comm *comm = NULL;
    CU_ASSERT_EQUAL(rlmr_comm_open(64, &comm, NULL), RLMR_OK);
    rlmr_comm_close(comm);
}

static void test_agreement_is_the_local_status(void) {
    rlmr_comm *comm = open_comm();
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_comm_agree(comm, RLMR_OK, &err), RLMR_OK);
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_agree(comm, rlmr_error_set(&err, RLMR_E_INPUT, "no such file"), &err),
                    RLMR_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "no such file");
    rlmr_comm_close(comm);
}

static void test_an_empty_record_gets_the_fixed_text(void) {
    rlmr_comm *comm = open_comm();
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_comm_agree(comm, RLMR_E_LIMIT, &err), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(err.code, RLMR_E_LIMIT);
    CU_ASSERT_STRING_EQUAL(err.message, rlmr_status_text(RLMR_E_LIMIT));
    rlmr_comm_close(comm);
}

static void test_scatter_gives_the_one_part(void) {
    rlmr_comm *comm = open_comm();
    rlmr_bytes part = {0};
    rlmr_bytes mine = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&mine, "old", 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_scatter(comm, &part, &mine, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(mine.bytes, 0);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&part, "a part", 6, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_scatter(comm, &part, &mine, NULL), RLMR_OK);
    CU_ASSERT_TRUE(mine.bytes == 6 && memcmp(mine.data, "a part", 6) == 0);
    rlmr_bytes_release(&part);
    rlmr_bytes_release(&mine);
    rlmr_comm_close(comm);
}

static void test_scatter_reports_that_there_is_no_memory(void) {
    rlmr_comm *comm = open_comm();
    rlmr_bytes part = {.data = NULL, .bytes = SIZE_MAX};
    rlmr_bytes mine = {0};
    CU_ASSERT_EQUAL(rlmr_comm_scatter(comm, &part, &mine, NULL), RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(mine.bytes, 0);
    rlmr_bytes_release(&mine);
    rlmr_comm_close(comm);
}

static void test_broadcast_leaves_the_bytes(void) {
    rlmr_comm *comm = open_comm();
    rlmr_bytes buffer = {0};
    CU_ASSERT_EQUAL(rlmr_comm_broadcast(comm, &buffer, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(buffer.bytes, 0);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&buffer, "for all", 7, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_broadcast(comm, &buffer, NULL), RLMR_OK);
    CU_ASSERT_TRUE(buffer.bytes == 7 && memcmp(buffer.data, "for all", 7) == 0);
    rlmr_bytes_release(&buffer);
    rlmr_comm_close(comm);
}

static void test_sum_leaves_the_values(void) {
    rlmr_comm *comm = open_comm();
    int64_t values[] = {INT64_MIN, 0, 7};
    CU_ASSERT_EQUAL(rlmr_comm_sum(comm, values, 3, NULL), RLMR_OK);
    CU_ASSERT_TRUE(values[0] == INT64_MIN && values[1] == 0 && values[2] == 7);
    CU_ASSERT_EQUAL(rlmr_comm_sum(comm, NULL, 0, NULL), RLMR_OK);
    rlmr_comm_close(comm);
}

typedef struct {
    int left;
    int fail_at;
} countdown;

static rlmr_status countdown_next(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    countdown *run = self;
    (void)reply;
    rlmr_bytes_clear(block);
    if (run->left == run->fail_at) {
        return rlmr_error_set(err, RLMR_E_PARSE, "broken at %d", run->left);
    }
    return run->left == 0 ? RLMR_OK : rlmr_bytes_append_i64(block, run->left--, err);
}

/* Adds the blocks of all runs to the int64_t behind `self`. */
static rlmr_status add_blocks(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    int64_t *sum = self;
    const rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    rlmr_status status = RLMR_OK;
    CU_ASSERT_EQUAL(count, 1);
    do {
        int64_t value = 0;
        status = sources[0].next(sources[0].self, &reply, &block, err);
        rlmr_reader reader = {.data = block.data, .bytes = block.bytes};
        if (status == RLMR_OK && block.bytes > 0) {
            status = rlmr_reader_i64(&reader, &value, err);
        }
        *sum += value;
    } while (status == RLMR_OK && block.bytes > 0);
    rlmr_bytes_release(&block);
    return status;
}

static void test_gather_consumes_the_one_run(void) {
    rlmr_comm *comm = open_comm();
    rlmr_error err;
    rlmr_error_clear(&err);
    countdown run = {.left = 4, .fail_at = -1};
    int64_t sum = 0;
    CU_ASSERT_EQUAL(rlmr_comm_gather(comm, &(rlmr_source){countdown_next, &run}, add_blocks, &sum, &err),
                    RLMR_OK);
    CU_ASSERT_EQUAL(sum, 10);
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
    rlmr_comm_close(comm);
}

static void test_gather_passes_on_a_failure(void) {
    rlmr_comm *comm = open_comm();
    rlmr_error err;
    rlmr_error_clear(&err);
    countdown run = {.left = 4, .fail_at = 2};
    int64_t sum = 0;
    CU_ASSERT_EQUAL(rlmr_comm_gather(comm, &(rlmr_source){countdown_next, &run}, add_blocks, &sum, &err),
                    RLMR_E_PARSE);
    CU_ASSERT_STRING_EQUAL(err.message, "broken at 2");
    CU_ASSERT_EQUAL(sum, 7);
    rlmr_comm_close(comm);
}

static void note_total(void *self, int64_t total_bytes_done) {
    *(int64_t *)self = total_bytes_done;
}

/* Counts down to no bytes; what it sends comes back. */
typedef struct {
    int left;
    int taken;
    int fail_at; /* the block whose taking fails */
} echo;

static rlmr_status give_count(void *context, int to, rlmr_bytes *block, rlmr_error *err) {
    echo *self = context;
    CU_ASSERT_EQUAL(to, 0);
    CU_ASSERT_EQUAL(block->bytes, 0);
    return self->left == 0 ? RLMR_OK : rlmr_bytes_append_u32(block, (uint32_t)self->left--, err);
}

static rlmr_status take_count(void *context, int from, rlmr_bytes *block, rlmr_error *err) {
    echo *self = context;
    uint32_t count = 0;
    CU_ASSERT_EQUAL(from, 0);
    CU_ASSERT_EQUAL_FATAL(block->bytes, sizeof count);
    memcpy(&count, block->data, sizeof count);
    CU_ASSERT_EQUAL(count, (uint32_t)self->left + 1);
    return self->taken++ == self->fail_at ? rlmr_error_set(err, RLMR_E_LIMIT, "full") : RLMR_OK;
}

static void test_exchange_gives_back_the_blocks(void) {
    rlmr_comm *comm = open_comm();
    echo self = {.left = 3, .fail_at = 3};
    const rlmr_exchange exchange = {.produce = give_count, .consume = take_count, .self = &self};
    CU_ASSERT_EQUAL(rlmr_comm_exchange(comm, &exchange, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(self.taken, 3);
    self = (echo){.left = 3, .fail_at = 1};
    CU_ASSERT_EQUAL(rlmr_comm_exchange(comm, &exchange, NULL), RLMR_E_LIMIT);
    CU_ASSERT_EQUAL(self.taken, 2);
    CU_ASSERT_EQUAL(self.left, 1);
    rlmr_comm_close(comm);
}

static void test_exchange_gives_back_the_one_part(void) {
    rlmr_comm *comm = open_comm();
    rlmr_bytes part = {0};
    rlmr_bytes mine = {0};
    CU_ASSERT_EQUAL(rlmr_bytes_append(&mine, "old", 3, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_exchange_parts(comm, &part, &mine, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(mine.bytes, 0);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&part, "a part", 6, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_exchange_parts(comm, &part, &mine, NULL), RLMR_OK);
    CU_ASSERT_TRUE(mine.bytes == 6 && memcmp(mine.data, "a part", 6) == 0);
    CU_ASSERT_PTR_NULL(part.data);
    rlmr_bytes_release(&mine);
    rlmr_comm_close(comm);
}

static void test_the_watch_tells_its_own_progress(void) {
    rlmr_comm *comm = open_comm();
    rlmr_error err;
    rlmr_error_clear(&err);
    int64_t total = -1;
    CU_ASSERT_EQUAL(rlmr_comm_watch(comm, 17, &total, &err), RLMR_OK);
    CU_ASSERT_EQUAL(total, 17);
    CU_ASSERT_EQUAL(rlmr_comm_watch(comm, 18, NULL, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_comm_watch_end(comm, RLMR_OK, 19, note_total, &total, &err), RLMR_OK);
    CU_ASSERT_EQUAL(total, 19);
    CU_ASSERT_EQUAL(rlmr_comm_watch_end(comm, RLMR_E_OUTPUT, 20, NULL, NULL, &err), RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(err.code, RLMR_E_OUTPUT);
    rlmr_comm_close(comm);
}

static void test_abort_ends_with_the_exit_code(void) {
    rlmr_comm *comm = open_comm();
    pid_t child = fork();
    if (child == 0) {
        rlmr_comm_abort(comm, 7);
    }
    int ended = 0;
    CU_ASSERT_EQUAL(waitpid(child, &ended, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 7);
    rlmr_comm_close(comm);
}

CU_TestInfo rlmr_tests_comm_serial[] = {
    {"there is one process", test_there_is_one_process},
    {"message bytes out of range are refused", test_message_bytes_out_of_range_are_refused},
    {"agreement is the local status", test_agreement_is_the_local_status},
    {"an empty record gets the fixed text", test_an_empty_record_gets_the_fixed_text},
    {"scatter gives the one part", test_scatter_gives_the_one_part},
    {"scatter reports that there is no memory", test_scatter_reports_that_there_is_no_memory},
    {"broadcast leaves the bytes", test_broadcast_leaves_the_bytes},
    {"sum leaves the values", test_sum_leaves_the_values},
    {"gather consumes the one run", test_gather_consumes_the_one_run},
    {"gather passes on a failure", test_gather_passes_on_a_failure},
    {"exchange gives back the blocks", test_exchange_gives_back_the_blocks},
    {"exchange gives back the one part", test_exchange_gives_back_the_one_part},
    {"the watch tells its own progress", test_the_watch_tells_its_own_progress},
    {"abort ends with the exit code", test_abort_ends_with_the_exit_code},
    CU_TEST_INFO_NULL,
};
