/* Every process sends blocks to every other. As in test_comm.c, every process makes the same calls, and no assertion is fatal. */
#include "rlmr/comm.h"

#include <CUnit/Basic.h>

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

extern rlmr_comm *rlmr_test_comm;
extern size_t rlmr_test_message_bytes;

#define NEVER (-1)
#define PROCESSES_MAX 64

static struct { int longest_bytes; } mpi;

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *received,
                 int received_count, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
                 MPI_Status *status) {
    int size = 0;
    (void)PMPI_Type_size(type, &size);
    mpi.longest_bytes = count * size > mpi.longest_bytes ? count * size : mpi.longest_bytes;
    return PMPI_Sendrecv(data, count, type, to, tag, received, received_count, received_type, from,
                         received_tag, comm, status);
}

static int rank_of_this(void) {
    return rlmr_comm_rank(rlmr_test_comm);
}

static int processes(void) {
    return rlmr_comm_size(rlmr_test_comm);
}

/* Block `number` that `from` sends to `to`. */
typedef struct {
    int from;
    int to;
    int number;
} block_name;

static int blocks_of(int from, int to) {
    return (from * 5 + to * 3) % 7; /* none for some, and different in the two directions */
}

static size_t bytes_of(block_name name) {
    const size_t message = rlmr_test_message_bytes;
    const size_t bytes[] = {1, message, 63, message + 1, 64, 2 * message, 301, 3 * message - 1, 65};
    return bytes[(size_t)(name.from + 2 * name.to + name.number) % (sizeof bytes / sizeof *bytes)];
}

static uint8_t byte_of(block_name name, size_t at) {
    uint64_t seed = (uint64_t)(name.from * 10000 + name.to * 100 + name.number);
    return (uint8_t)((seed * 131 + at) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

static rlmr_status fill(block_name name, rlmr_bytes *block, rlmr_error *err) {
    size_t bytes = bytes_of(name);
    rlmr_status status = rlmr_bytes_reserve(block, bytes, err);
    for (size_t i = 0; status == RLMR_OK && i < bytes; i++) {
        block->data[block->bytes++] = byte_of(name, i);
    }
    return status;
}

static bool is_block(block_name name, const rlmr_bytes *block) {
    bool same = block->bytes == bytes_of(name);
    for (size_t i = 0; same && i < block->bytes; i++) {
        same = block->data[i] == byte_of(name, i);
    }
    return same;
}

typedef struct {
    int produced[PROCESSES_MAX]; /* blocks, by process */
    int consumed[PROCESSES_MAX];
    int last_from; /* of consume: its place in the order of streams */
    int calls;
    int fail_at; /* the call that fails, of both kinds */
    bool failed;
    bool takes; /* takes the memory of blocks */
} ends;

/* Neither callback may be called again after one has failed. */
static rlmr_status call(ends *self, rlmr_error *err) {
    CU_ASSERT_FALSE(self->failed);
    self->failed = self->calls++ == self->fail_at;
    return self->failed ? rlmr_error_set(err, RLMR_E_LIMIT, "call %d fails", self->fail_at) : RLMR_OK;
}

static rlmr_status produce(void *context, int to, rlmr_bytes *block, rlmr_error *err) {
    ends *self = context;
    CU_ASSERT_EQUAL(block->bytes, 0);
    block_name name = {rank_of_this(), to, self->produced[to]};
    rlmr_status status = RLMR_OK;
    if (name.number < blocks_of(name.from, to)) {
        self->produced[to]++;
        status = fill(name, block, err);
    }
    status = status == RLMR_OK ? call(self, err) : status;
    if (status != RLMR_OK && block->bytes > 0) {
        block->data[0] ^= 1; /* what a failing call has made must not be sent */
    }
    return status;
}

static rlmr_status consume(void *context, int from, rlmr_bytes *block, rlmr_error *err) {
    ends *self = context;
    CU_ASSERT_TRUE(is_block((block_name){from, rank_of_this(), self->consumed[from]}, block));
    self->consumed[from]++;
    int place = (rank_of_this() - from + processes()) % processes();
    CU_ASSERT_TRUE(place >= self->last_from);
    self->last_from = place;
    if (self->takes) {
        rlmr_bytes_release(block);
    }
    return call(self, err);
}

static rlmr_status run(ends *self, rlmr_error *err) {
    rlmr_error_clear(err);
    const rlmr_exchange exchange = {.produce = produce, .consume = consume, .self = self};
    return rlmr_comm_exchange(rlmr_test_comm, &exchange, err);
}

static void check_all_arrived(const ends *self) {
    for (int p = 0; p < processes(); p++) {
        CU_ASSERT_EQUAL(self->produced[p], blocks_of(rank_of_this(), p));
        CU_ASSERT_EQUAL(self->consumed[p], blocks_of(p, rank_of_this()));
    }
}

static void test_every_block_arrives_in_order(void) {
    for (int takes = 0; takes < 2; takes++) {
        rlmr_error err;
        ends self = {.fail_at = NEVER, .takes = takes > 0};
        mpi.longest_bytes = 0;
        CU_ASSERT_EQUAL(run(&self, &err), RLMR_OK);
        CU_ASSERT_EQUAL(err.code, RLMR_OK);
        check_all_arrived(&self);
        CU_ASSERT_TRUE(mpi.longest_bytes <= (int)rlmr_test_message_bytes);
        CU_ASSERT_EQUAL(mpi.longest_bytes > 0, processes() > 1);
    }
}

/* One process fails at any of its calls: it alone says so, the others have what was sent, and the next exchange is whole. */
static void test_a_callback_that_fails(void) {
    for (int failing = 0; failing < processes(); failing++) {
        int64_t failed = 1;
        for (int at = 0; failed > 0; at++) {
            rlmr_error err;
            bool here = rank_of_this() == failing;
            ends self = {.fail_at = here ? at : NEVER};
            rlmr_status status = run(&self, &err);
            CU_ASSERT_EQUAL(status, self.failed ? RLMR_E_LIMIT : RLMR_OK);
            CU_ASSERT_EQUAL(err.code, status);
            failed = self.failed;
            CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, status, &err), err.code);
            CU_ASSERT_EQUAL(rlmr_comm_sum(rlmr_test_comm, &failed, 1, &err), RLMR_OK);
            CU_ASSERT_TRUE(failed == 0 || err.code == RLMR_E_LIMIT);
            if (failed == 0) {
                check_all_arrived(&self);
            }
        }
    }
}

static void test_all_fail_at_once(void) {
    rlmr_error err;
    ends self = {.fail_at = rank_of_this()};
    CU_ASSERT_EQUAL(run(&self, &err), RLMR_E_LIMIT);
    test_every_block_arrives_in_order();
}

static void test_parts(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_bytes parts[PROCESSES_MAX] = {{0}};
    rlmr_bytes mine[PROCESSES_MAX] = {{0}};
    for (int turn = 0; turn < 3; turn++) {
        for (int p = 0; p < processes(); p++) {
            if (blocks_of(rank_of_this() + turn, p) > 0) {
                CU_ASSERT_EQUAL(fill((block_name){rank_of_this(), p, turn}, &parts[p], &err), RLMR_OK);
            }
        }
        CU_ASSERT_EQUAL(rlmr_comm_exchange_parts(rlmr_test_comm, parts, mine, &err), RLMR_OK);
        for (int p = 0; p < processes(); p++) {
            CU_ASSERT_PTR_NULL(parts[p].data);
            CU_ASSERT_TRUE(blocks_of(p + turn, rank_of_this()) > 0
                               ? is_block((block_name){p, rank_of_this(), turn}, &mine[p])
                               : mine[p].bytes == 0);
        }
    }
    for (int p = 0; p < processes(); p++) {
        rlmr_bytes_release(&mine[p]);
    }
}

CU_TestInfo rlmr_tests_exchange[] = {
    {"every block arrives, in order, in messages that are not too long", test_every_block_arrives_in_order},
    {"a callback that fails on one process stops nobody", test_a_callback_that_fails},
    {"all may fail at once", test_all_fail_at_once},
    {"one buffer for each process", test_parts},
    CU_TEST_INFO_NULL,
};
