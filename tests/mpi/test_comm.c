/* Every process runs every test and makes the same collective calls in the same order; so no assertion here
 * is fatal, or the failure of one process would leave the others waiting. */
#include "rlmr/comm.h"

#include <CUnit/Basic.h>

#include <limits.h>
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

extern rlmr_comm *rlmr_test_comm;
extern size_t rlmr_test_message_bytes;

/* What the MPI library is asked to do, seen through its profiling interface. */

static struct {
    MPI_Comm all; /* the communicator of rlmr_test_comm */
    size_t longest_bytes;
    int probes;
    int reports;
    bool fail_allreduce;
    char transport[16]; /* chosen before MPI began */
} mpi = {.all = MPI_COMM_NULL};

static void note_message(int count, MPI_Datatype type) {
    int size = 0;
    (void)PMPI_Type_size(type, &size);
    size_t bytes = (size_t)count * (size_t)size;
    mpi.longest_bytes = bytes > mpi.longest_bytes ? bytes : mpi.longest_bytes;
}

int MPI_Init(int *argc, char ***argv) {
    const char *chosen = getenv("OMPI_MCA_pml");
    (void)snprintf(mpi.transport, sizeof mpi.transport, "%s", chosen == NULL ? "" : chosen);
    return PMPI_Init(argc, argv);
}

int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to) {
    int result = PMPI_Comm_dup(from, to);
    mpi.all = *to;
    return result;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    note_message(count, type);
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    note_message(count, type);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request) {
    note_message(count, type);
    mpi.reports++;
    return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *here, MPI_Status *status) {
    mpi.probes++;
    return PMPI_Iprobe(from, tag, comm, here, status);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    note_message(count, type);
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    note_message(count, type);
    return mpi.fail_allreduce ? MPI_ERR_TRUNCATE : PMPI_Allreduce(from, to, count, type, op, comm);
}

/* Common parts */

static int rank_of_this(void) {
    return rlmr_comm_rank(rlmr_test_comm);
}

static int processes(void) {
    return rlmr_comm_size(rlmr_test_comm);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_ms(long ms) {
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Has no period that a message could hide behind. */
static uint8_t pattern(int64_t seed, size_t at) {
    return (uint8_t)(((uint64_t)seed * 131 + at) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

static rlmr_status append_pattern(rlmr_bytes *buffer, int64_t seed, size_t bytes, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_reserve(buffer, bytes, err);
    for (size_t i = 0; status == RLMR_OK && i < bytes; i++) {
        buffer->data[buffer->bytes++] = pattern(seed, i);
    }
    return status;
}

static bool holds_pattern(const rlmr_bytes *buffer, int64_t seed, size_t bytes) {
    bool same = buffer->bytes == bytes;
    for (size_t i = 0; same && i < bytes; i++) {
        same = buffer->data[i] == pattern(seed, i);
    }
    return same;
}

/* All processes are through, and no message has been left for a later call to stumble over. */
static void check_nothing_left_over(void) {
    int here = 0;
    (void)PMPI_Barrier(mpi.all);
    for (int i = 0; i < 3 && !here; i++) {
        (void)PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi.all, &here, MPI_STATUS_IGNORE);
    }
    (void)PMPI_Barrier(mpi.all); /* before anybody sends again */
    CU_ASSERT_FALSE(here);
}

static void check_agreed(rlmr_status status, const rlmr_error *err, rlmr_status expected,
                         const char *message) {
    CU_ASSERT_EQUAL(status, expected);
    CU_ASSERT_EQUAL(err->code, expected);
    CU_ASSERT_STRING_EQUAL(err->message, message);
    check_nothing_left_over();
}

/* Out of memory: a limit that this process has almost reached. Neither sanitizers nor valgrind live with
 * that, and in short messages the payload would take too long. */

#define TOO_LONG_BYTES ((size_t)40 << 20) /* more than malloc ever keeps for itself */

static bool can_limit_memory(void) {
    if (rlmr_test_message_bytes < 4096) {
        return false;
    }
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    const char *preload = getenv("LD_PRELOAD");
    return preload == NULL || strstr(preload, "vgpreload") == NULL;
#endif
}

static void limit_memory(bool limited) {
    struct rlimit limit;
    (void)getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (limited) {
        unsigned long pages = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        CU_ASSERT_TRUE(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
        if (statm != NULL) {
            (void)fclose(statm);
        }
        (void)malloc_trim(0);
        limit.rlim_cur = pages * 4096 + TOO_LONG_BYTES / 2;
    }
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
}

/* Open */

static void test_refused_starts(void) {
    rlmr_comm *second = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_comm_open(63, &second, NULL), RLMR_E_RANGE);
    CU_ASSERT_EQUAL(rlmr_comm_open((size_t)INT_MAX + 1, &second, NULL), RLMR_E_RANGE);
    CU_ASSERT_EQUAL(rlmr_comm_open(RLMR_MESSAGE_BYTES_DEFAULT, &second, &err), RLMR_E_COMM);
    CU_ASSERT_PTR_NULL(second);
    check_agreed(err.code, &err, RLMR_E_COMM, "MPI can be started only once");
}

/* Agree */

static void test_transport_on_one_host(void) {
    CU_ASSERT_STRING_EQUAL(mpi.transport, "ob1");
}

static void test_agreement_of_all(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    mpi.longest_bytes = 0;
    CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, RLMR_OK, &err), RLMR_OK);
    CU_ASSERT_EQUAL(mpi.longest_bytes, sizeof(int));
    CU_ASSERT_EQUAL(err.code, RLMR_OK);
    check_nothing_left_over();
}

static rlmr_status fail_at_length(int rank, rlmr_status code, rlmr_error *err) {
    char text[RLMR_ERROR_TEXT_BYTES];
    memset(text, 'a' + rank, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)rlmr_error_set(err, code, "process %d: %s", rank, text);
    err->sys_errno = rank + 1;
    err->offset = INT64_C(1) << (40 + rank);
    return code;
}

/* Process p fails if bit p of `failing` is set, with E_STOPPED if it is also set in `stopped`. */
static void check_agreement(unsigned failing, unsigned stopped) {
    int chosen = -1;
    for (int p = processes() - 1; p >= 0; p--) {
        bool fails = failing >> p & 1U;
        bool stops = stopped >> p & 1U;
        if (fails && (chosen < 0 || !stops || (stopped >> chosen & 1U))) {
            chosen = p;
        }
    }
    rlmr_error expected;
    rlmr_error_clear(&expected);
    (void)fail_at_length(chosen, stopped >> chosen & 1U ? RLMR_E_STOPPED : RLMR_E_PARSE, &expected);
    rlmr_error err;
    rlmr_error_clear(&err);
    int rank = rank_of_this();
    rlmr_status local = RLMR_OK;
    if (failing >> rank & 1U) {
        local = fail_at_length(rank, stopped >> rank & 1U ? RLMR_E_STOPPED : RLMR_E_PARSE, &err);
    }
    rlmr_status status = rlmr_comm_agree(rlmr_test_comm, local, &err);
    CU_ASSERT_EQUAL(err.sys_errno, expected.sys_errno);
    CU_ASSERT_EQUAL(err.offset, expected.offset);
    check_agreed(status, &err, expected.code, expected.message);
}

static void test_agreement_on_a_failure(void) {
    int bits = processes() < 4 ? processes() : 4;
    for (unsigned failing = 1; failing < 1U << bits; failing++) {
        for (unsigned stopped = 0; stopped < 1U << bits; stopped++) {
            if ((stopped & ~failing) == 0) {
                check_agreement(failing, stopped);
            }
        }
    }
    check_agreement(1U << (processes() - 1), 0);
}

static void test_an_empty_record(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_status local = rank_of_this() == processes() - 1 ? RLMR_E_LIMIT : RLMR_OK;
    rlmr_status status = rlmr_comm_agree(rlmr_test_comm, local, &err);
    check_agreed(status, &err, RLMR_E_LIMIT, rlmr_status_text(RLMR_E_LIMIT));
}

/* Scatter, broadcast and sum */

#define PART_KINDS 11

static size_t part_bytes(int kind) {
    const size_t message = rlmr_test_message_bytes;
    const size_t bytes[PART_KINDS] = {
        0, 1, 63, 64, 65, 301, message - 1, message + 1, 100000, 3 * message + 1, 2 * message};
    return bytes[kind % PART_KINDS];
}

static rlmr_bytes *make_parts(int shift) {
    rlmr_bytes *parts = calloc((size_t)processes(), sizeof *parts);
    CU_ASSERT_PTR_NOT_NULL(parts);
    for (int p = 0; p < processes(); p++) {
        CU_ASSERT_EQUAL(append_pattern(&parts[p], p + shift, part_bytes(p + shift), NULL), RLMR_OK);
    }
    return parts;
}

static void release_parts(rlmr_bytes *parts) {
    for (int p = 0; parts != NULL && p < processes(); p++) {
        rlmr_bytes_release(&parts[p]);
    }
    free(parts);
}

static void test_scatter_of_any_length(void) {
    rlmr_bytes mine = {0};
    for (int shift = 0; shift < PART_KINDS; shift++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_bytes *parts = rank_of_this() == 0 ? make_parts(shift) : NULL;
        CU_ASSERT_EQUAL(rlmr_comm_scatter(rlmr_test_comm, parts, &mine, &err), RLMR_OK);
        int seed = rank_of_this() + shift;
        CU_ASSERT_TRUE(holds_pattern(&mine, seed, part_bytes(seed)));
        release_parts(parts);
    }
    rlmr_bytes_release(&mine);
    check_nothing_left_over();
}

/* The last process has no memory for its part; the others get theirs. */
static void test_scatter_without_memory(void) {
    if (!can_limit_memory()) {
        return;
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    int poor = processes() - 1;
    rlmr_bytes *parts = rank_of_this() == 0 ? make_parts(1) : NULL;
    if (parts != NULL) {
        CU_ASSERT_EQUAL(append_pattern(&parts[poor], 5, TOO_LONG_BYTES - parts[poor].bytes, &err), RLMR_OK);
    }
    rlmr_bytes mine = {0};
    limit_memory(rank_of_this() == poor);
    rlmr_status status = rlmr_comm_scatter(rlmr_test_comm, parts, &mine, &err);
    limit_memory(false);
    CU_ASSERT_EQUAL(status, rank_of_this() == poor ? RLMR_E_NOMEM : RLMR_OK);
    CU_ASSERT_EQUAL(mine.bytes, rank_of_this() == poor ? 0 : part_bytes(rank_of_this() + 1));
    CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, status, &err), RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(err.code, RLMR_E_NOMEM);
    release_parts(parts);
    rlmr_bytes_release(&mine);
    check_nothing_left_over();
}

static void test_broadcast_of_any_length(void) {
    rlmr_bytes buffer = {0};
    for (int kind = 0; kind < PART_KINDS; kind++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_bytes_clear(&buffer);
        /* What the others have in the buffer is forgotten. */
        int seed = rank_of_this() == 0 ? kind : -1;
        size_t bytes = rank_of_this() == 0 ? part_bytes(kind) : 70;
        CU_ASSERT_EQUAL(append_pattern(&buffer, seed, bytes, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_comm_broadcast(rlmr_test_comm, &buffer, &err), RLMR_OK);
        CU_ASSERT_EQUAL(err.code, RLMR_OK);
        CU_ASSERT_TRUE(holds_pattern(&buffer, kind, part_bytes(kind)));
    }
    rlmr_bytes_release(&buffer);
    check_nothing_left_over();
}

/* The last process has no memory for the bytes; the others get them. */
static void test_broadcast_without_memory(void) {
    if (!can_limit_memory() || processes() == 1) {
        return;
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    bool poor = rank_of_this() == processes() - 1;
    rlmr_bytes buffer = {0};
    if (rank_of_this() == 0) {
        CU_ASSERT_EQUAL(append_pattern(&buffer, 5, TOO_LONG_BYTES, &err), RLMR_OK);
    }
    limit_memory(poor);
    rlmr_status status = rlmr_comm_broadcast(rlmr_test_comm, &buffer, &err);
    limit_memory(false);
    CU_ASSERT_EQUAL(status, poor ? RLMR_E_NOMEM : RLMR_OK);
    CU_ASSERT_TRUE(poor ? buffer.bytes == 0 : holds_pattern(&buffer, 5, TOO_LONG_BYTES));
    CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, status, &err), RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(err.code, RLMR_E_NOMEM);
    rlmr_bytes_release(&buffer);
    check_nothing_left_over();
}

/* The last process has no memory for the part of process 0; the others get theirs. */
static void test_exchange_without_memory(void) {
    if (!can_limit_memory() || processes() == 1) {
        return;
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    bool poor = rank_of_this() == processes() - 1;
    rlmr_bytes *parts = make_parts(rank_of_this());
    rlmr_bytes *mine = calloc((size_t)processes(), sizeof *mine);
    if (rank_of_this() == 0) {
        rlmr_bytes *last = &parts[processes() - 1];
        CU_ASSERT_EQUAL(append_pattern(last, 5, TOO_LONG_BYTES - last->bytes, &err), RLMR_OK);
    }
    limit_memory(poor);
    rlmr_status status = rlmr_comm_exchange_parts(rlmr_test_comm, parts, mine, &err);
    limit_memory(false);
    CU_ASSERT_EQUAL(status, poor ? RLMR_E_NOMEM : RLMR_OK);
    CU_ASSERT_TRUE(poor || holds_pattern(&mine[0], rank_of_this(), part_bytes(rank_of_this())));
    CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, status, &err), RLMR_E_NOMEM);
    release_parts(parts);
    release_parts(mine);
    check_nothing_left_over();
}

static void test_sum_of_any_length(void) {
    const size_t counts[] = {0, 1, 8, 9, 1000};
    int64_t values[1000] = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t v = 0; v < counts[i]; v++) {
            values[v] = (rank_of_this() + 1) * (INT64_C(1) << 33) - (int64_t)v;
        }
        CU_ASSERT_EQUAL(rlmr_comm_sum(rlmr_test_comm, values, counts[i], NULL), RLMR_OK);
        int64_t n = processes();
        bool right = true;
        for (size_t v = 0; v < counts[i]; v++) {
            right = right && values[v] == n * (n + 1) / 2 * (INT64_C(1) << 33) - n * (int64_t)v;
        }
        CU_ASSERT_TRUE(right);
    }
    check_nothing_left_over();
}

static void test_a_failure_of_mpi(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    int64_t value = 0;
    mpi.fail_allreduce = true;
    CU_ASSERT_EQUAL(rlmr_comm_sum(rlmr_test_comm, &value, 1, &err), RLMR_E_COMM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, text));
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_comm_agree(rlmr_test_comm, RLMR_OK, &err), RLMR_E_COMM);
    mpi.fail_allreduce = false;
    check_nothing_left_over();
}

/* Gather: runs of blocks of ascending integers, process p having p, p + N, p + 2N ... The answer to a block
 * is its last integer, followed by a pattern. */

typedef struct {
    int64_t first;
    int64_t step;
    int blocks;
    size_t block_bytes; /* of block 0; every other block has fewer integers */
    size_t reply_bytes; /* of the pattern */
    int fail_at;        /* block, or -1 */

    int at;
    int64_t next;
    bool ended;
    bool replies_right;
} run;

static run run_of_this(int blocks, size_t block_bytes, size_t reply_bytes) {
    return (run){.first = rank_of_this(),
                 .step = processes(),
                 .blocks = blocks,
                 .block_bytes = block_bytes,
                 .reply_bytes = reply_bytes,
                 .fail_at = -1,
                 .next = rank_of_this(),
                 .replies_right = true};
}

static bool is_right_reply(const run *r, const rlmr_bytes *reply) {
    if (r->at == 0) {
        return reply->bytes == 0;
    }
    rlmr_reader reader = {.data = reply->data, .bytes = reply->bytes};
    int64_t last = -1;
    bool right = rlmr_reader_i64(&reader, &last, NULL) == RLMR_OK && last == r->next - r->step;
    const rlmr_bytes rest = {.data = reply->data + reader.at, .bytes = reply->bytes - reader.at};
    return right && holds_pattern(&rest, last, r->reply_bytes);
}

static rlmr_status run_next(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    run *r = self;
    r->replies_right = r->replies_right && !r->ended && is_right_reply(r, reply);
    rlmr_bytes_clear(block);
    if (r->at == r->fail_at) {
        r->ended = true;
        return rlmr_error_set(err, RLMR_E_INPUT, "run %d breaks at block %d", (int)r->first, r->at);
    }
    if (r->at == r->blocks) {
        r->ended = true;
        return RLMR_OK;
    }
    rlmr_status status = rlmr_bytes_append_i64(block, r->next, err);
    for (r->next += r->step; status == RLMR_OK && block->bytes < r->block_bytes / (size_t)(r->at + 1);
         r->next += r->step) {
        status = rlmr_bytes_append_i64(block, r->next, err);
    }
    r->at++;
    return status;
}

/* The consumer's side of one run. */
typedef struct {
    rlmr_source source;
    rlmr_bytes block;
    rlmr_bytes reply;
    size_t at;
} head;

typedef struct {
    size_t reply_bytes;
    int64_t merged; /* integers seen, which have to be 0, 1, 2 ... */
    bool in_order;
} merge;

static int64_t head_value(const head *h) {
    int64_t value = 0;
    memcpy(&value, h->block.data + h->at, sizeof value);
    return value;
}

/* Move on by one integer, to the next block if need be. */
static rlmr_status advance(head *h, size_t reply_bytes, rlmr_error *err) {
    rlmr_bytes_clear(&h->reply);
    if (h->block.bytes > 0) {
        int64_t last = head_value(h);
        h->at += sizeof last;
        if (h->at < h->block.bytes) {
            return RLMR_OK;
        }
        CU_ASSERT_EQUAL(rlmr_bytes_append_i64(&h->reply, last, err), RLMR_OK);
        CU_ASSERT_EQUAL(append_pattern(&h->reply, last, reply_bytes, err), RLMR_OK);
    }
    h->at = 0;
    return h->source.next(h->source.self, &h->reply, &h->block, err);
}

static head *lowest(head *heads, int count) {
    head *low = NULL;
    for (int p = 0; p < count; p++) {
        if (heads[p].block.bytes > 0 && (low == NULL || head_value(&heads[p]) < head_value(low))) {
            low = &heads[p];
        }
    }
    return low;
}

static rlmr_status merge_runs(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    merge *m = self;
    head *heads = calloc((size_t)count, sizeof *heads);
    rlmr_status status = RLMR_OK;
    CU_ASSERT_EQUAL(count, processes());
    for (int p = 0; status == RLMR_OK && p < count; p++) {
        heads[p].source = sources[p];
        status = advance(&heads[p], m->reply_bytes, err);
    }
    for (head *low = lowest(heads, count); status == RLMR_OK && low != NULL; low = lowest(heads, count)) {
        m->in_order = m->in_order && head_value(low) == m->merged++;
        status = advance(low, m->reply_bytes, err);
    }
    for (int p = 0; p < count; p++) {
        if (p > 0 && status == RLMR_OK) { /* only the run of process 0 may mind being asked again */
            CU_ASSERT_EQUAL(rlmr_bytes_append_i64(&heads[p].block, 0, err), RLMR_OK);
            CU_ASSERT_EQUAL(sources[p].next(sources[p].self, &heads[p].reply, &heads[p].block, err), RLMR_OK);
            CU_ASSERT_EQUAL(heads[p].block.bytes, 0);
        }
        rlmr_bytes_release(&heads[p].block);
        rlmr_bytes_release(&heads[p].reply);
    }
    free(heads);
    return status;
}

static void check_merge(run r) {
    rlmr_error err;
    rlmr_error_clear(&err);
    merge m = {.reply_bytes = r.reply_bytes, .in_order = true};
    rlmr_status status = rlmr_comm_gather(rlmr_test_comm, &(rlmr_source){run_next, &r}, merge_runs, &m, &err);
    check_agreed(status, &err, RLMR_OK, "");
    CU_ASSERT_TRUE(r.replies_right);
    CU_ASSERT_TRUE(r.ended);
    int64_t integers = (r.next - r.first) / r.step;
    CU_ASSERT_EQUAL(rlmr_comm_sum(rlmr_test_comm, &integers, 1, &err), RLMR_OK);
    CU_ASSERT_TRUE(rank_of_this() > 0 || (m.in_order && m.merged == integers));
}

static void test_gather_merges_sorted_runs(void) {
    check_merge(run_of_this(1, 8, 0));
    check_merge(run_of_this(5, 4000, 0));
    check_merge(run_of_this(5, 4000, 1000));
    check_merge(run_of_this(30, 64, 7));
}

static void test_gather_of_long_blocks_and_replies(void) {
    check_merge(run_of_this(2, 3 * rlmr_test_message_bytes + 80000, 2 * rlmr_test_message_bytes + 1));
}

static void test_gather_of_empty_runs(void) {
    check_merge(run_of_this(0, 0, 0));
    run r = run_of_this(rank_of_this() == processes() - 1 ? 2 : 0, 300, 3);
    r.first = r.next = 0;
    r.step = 1;
    check_merge(r);
}

typedef struct {
    int blocks;         /* to take of each run in turn */
    rlmr_status result; /* then */
} taste;

static rlmr_status taste_runs(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    taste *t = self;
    rlmr_status status = RLMR_OK;
    const rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    for (int p = 0; p < count; p++) {
        for (int b = 0; status == RLMR_OK && b < (t->blocks + p) % 4; b++) {
            status = sources[p].next(sources[p].self, &reply, &block, err);
        }
    }
    rlmr_bytes_release(&block);
    if (status == RLMR_OK && t->result != RLMR_OK) {
        status = rlmr_error_set(err, t->result, "no space after %d blocks", t->blocks);
    }
    return status;
}

static void test_gather_may_stop_early(void) {
    for (int blocks = 0; blocks < 4; blocks++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        run r = run_of_this(9, 1000, 0);
        taste t = {.blocks = blocks};
        rlmr_status status =
            rlmr_comm_gather(rlmr_test_comm, &(rlmr_source){run_next, &r}, taste_runs, &t, &err);
        check_agreed(status, &err, RLMR_OK, "");
        CU_ASSERT_EQUAL(r.at, (blocks + rank_of_this()) % 4);
    }
}

static void test_gather_with_a_failing_consumer(void) {
    for (int blocks = 0; blocks < 4; blocks++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        run r = run_of_this(9, 1000, 0);
        taste t = {.blocks = blocks, .result = RLMR_E_OUTPUT};
        rlmr_status status =
            rlmr_comm_gather(rlmr_test_comm, &(rlmr_source){run_next, &r}, taste_runs, &t, &err);
        char message[64];
        (void)snprintf(message, sizeof message, "no space after %d blocks", blocks);
        check_agreed(status, &err, RLMR_E_OUTPUT, message);
    }
}

static void check_failing_run(int failing, int fail_at) {
    rlmr_error err;
    rlmr_error_clear(&err);
    run r = run_of_this(4, 1000, 10);
    r.fail_at = rank_of_this() == failing ? fail_at : -1;
    merge m = {.reply_bytes = r.reply_bytes, .in_order = true};
    rlmr_status status = rlmr_comm_gather(rlmr_test_comm, &(rlmr_source){run_next, &r}, merge_runs, &m, &err);
    char message[64];
    (void)snprintf(message, sizeof message, "run %d breaks at block %d", failing, fail_at);
    check_agreed(status, &err, RLMR_E_INPUT, message);
}

static void test_gather_with_a_failing_run(void) {
    for (int failing = 0; failing < processes(); failing++) {
        for (int fail_at = 0; fail_at <= 4; fail_at++) {
            check_failing_run(failing, fail_at);
        }
    }
}

/* Does not care about failures, and asks again after one. */
static rlmr_status ignore_failures(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    (void)self;
    (void)err;
    const rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    for (int p = 1; p < count; p++) {
        for (int again = 0; again < 2; again++) {
            rlmr_error ignored;
            rlmr_error_clear(&ignored);
            CU_ASSERT_EQUAL(sources[p].next(sources[p].self, &reply, &block, &ignored), RLMR_E_STOPPED);
            CU_ASSERT_EQUAL(ignored.code, RLMR_E_STOPPED);
            CU_ASSERT_EQUAL(block.bytes, 0);
        }
    }
    rlmr_bytes_release(&block);
    return RLMR_OK;
}

static void test_gather_does_not_lose_a_failure(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    run r = run_of_this(4, 1000, 0);
    r.fail_at = rank_of_this() == 0 ? -1 : 0;
    rlmr_status status =
        rlmr_comm_gather(rlmr_test_comm, &(rlmr_source){run_next, &r}, ignore_failures, NULL, &err);
    if (processes() == 1) {
        check_agreed(status, &err, RLMR_OK, "");
    } else {
        check_agreed(status, &err, RLMR_E_INPUT, "run 1 breaks at block 0");
    }
}

/* The run of the last process, whose one block is too long for process 0. */
static rlmr_status too_long_next(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    (void)self;
    (void)reply;
    rlmr_bytes_clear(block);
    return append_pattern(block, 1, TOO_LONG_BYTES, err);
}

static rlmr_status take_too_long(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    (void)self;
    const rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    rlmr_source *last = &sources[count - 1];
    limit_memory(true);
    rlmr_status status = last->next(last->self, &reply, &block, err);
    CU_ASSERT_EQUAL(status, RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(last->next(last->self, &reply, &block, err), RLMR_E_NOMEM);
    limit_memory(false);
    rlmr_bytes_release(&block);
    return status;
}

static void test_gather_of_a_block_without_memory(void) {
    if (!can_limit_memory()) {
        return;
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_source source = {.next = too_long_next};
    CU_ASSERT_EQUAL(rlmr_comm_gather(rlmr_test_comm, &source, take_too_long, NULL, &err), RLMR_E_NOMEM);
    CU_ASSERT_EQUAL(err.code, RLMR_E_NOMEM);
    check_nothing_left_over();
}

static rlmr_status poor_next(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    (void)self;
    (void)reply;
    rlmr_bytes_clear(block);
    limit_memory(true); /* from now on: the reply will not fit */
    return rlmr_bytes_append_i64(block, 1, err);
}

static rlmr_status reply_too_long(void *self, rlmr_source *sources, int count, rlmr_error *err) {
    (void)self;
    rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    rlmr_source *last = &sources[count - 1];
    rlmr_status status = last->next(last->self, &reply, &block, err);
    if (status == RLMR_OK) {
        status = append_pattern(&reply, 1, TOO_LONG_BYTES, err);
    }
    CU_ASSERT_EQUAL(status, RLMR_OK);
    status = last->next(last->self, &reply, &block, err);
    CU_ASSERT_EQUAL(status, RLMR_E_STOPPED);
    rlmr_bytes_release(&reply);
    rlmr_bytes_release(&block);
    return status;
}

static void test_gather_of_a_reply_without_memory(void) {
    if (!can_limit_memory() || processes() == 1) {
        return;
    }
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_source source = {.next = poor_next};
    CU_ASSERT_EQUAL(rlmr_comm_gather(rlmr_test_comm, &source, reply_too_long, NULL, &err), RLMR_E_NOMEM);
    limit_memory(false);
    CU_ASSERT_EQUAL(err.code, RLMR_E_NOMEM);
    check_nothing_left_over();
}

static void test_message_length(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    mpi.longest_bytes = 0;
    test_scatter_of_any_length();
    CU_ASSERT_EQUAL(mpi.longest_bytes, rank_of_this() == 0 && processes() > 1 ? rlmr_test_message_bytes : 0);
    mpi.longest_bytes = 0;
    test_broadcast_of_any_length();
    CU_ASSERT_EQUAL(mpi.longest_bytes, rlmr_test_message_bytes);
    mpi.longest_bytes = 0;
    test_gather_of_long_blocks_and_replies();
    CU_ASSERT_EQUAL(mpi.longest_bytes, processes() > 1 ? rlmr_test_message_bytes : sizeof(int64_t));
    mpi.longest_bytes = 0;
    test_sum_of_any_length();
    CU_ASSERT_TRUE(mpi.longest_bytes > 0 && mpi.longest_bytes <= rlmr_test_message_bytes);
    mpi.longest_bytes = 0;
    test_agreement_on_a_failure();
    CU_ASSERT_TRUE(mpi.longest_bytes > sizeof(int) && mpi.longest_bytes <= rlmr_test_message_bytes);
}

/* Watch */

typedef struct {
    int calls;
    int64_t total;
    bool monotonic;
} ticks;

static void note_tick(void *self, int64_t total_bytes_done) {
    ticks *t = self;
    t->monotonic = t->monotonic && total_bytes_done >= t->total;
    t->total = total_bytes_done;
    t->calls++;
}

static rlmr_status watch_for(double duration, int64_t bytes_done, int64_t *total, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    double end = seconds(CLOCK_MONOTONIC) + duration;
    while (status == RLMR_OK && seconds(CLOCK_MONOTONIC) < end) {
        status = rlmr_comm_watch(rlmr_test_comm, bytes_done, total, err);
        sleep_ms(1);
    }
    return status;
}

static void test_progress_adds_up(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    ticks t = {.monotonic = true};
    int64_t total = -1;
    int64_t n = processes();
    int64_t mine = INT64_C(1000) * (rank_of_this() + 1);
    CU_ASSERT_EQUAL(watch_for(0.25, mine / 2, &total, &err), RLMR_OK);
    CU_ASSERT_EQUAL(watch_for(0.75, mine, &total, &err), RLMR_OK);
    CU_ASSERT_EQUAL(total, rank_of_this() == 0 ? 500 * n * (n + 1) : mine);
    rlmr_status status = rlmr_comm_watch_end(rlmr_test_comm, RLMR_OK, mine + 1, note_tick, &t, &err);
    check_agreed(status, &err, RLMR_OK, "");
    CU_ASSERT_TRUE(t.monotonic);
    CU_ASSERT_EQUAL(t.total, rank_of_this() == 0 ? 500 * n * (n + 1) + n : 0);
}

static void check_stop(int failing, int watch_ms) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_status local = RLMR_OK;
    double start = seconds(CLOCK_MONOTONIC);
    if (rank_of_this() == failing) {
        if (watch_ms > 0) {
            CU_ASSERT_EQUAL(watch_for(0.001 * watch_ms, 5, NULL, &err), RLMR_OK);
        }
        local = rlmr_error_set(&err, RLMR_E_PARSE, "process %d met bad data", failing);
    } else {
        local = watch_for(20, 5, NULL, &err);
        CU_ASSERT_EQUAL(local, RLMR_E_STOPPED);
        CU_ASSERT_EQUAL(rlmr_comm_watch(rlmr_test_comm, 5, NULL, &err), RLMR_E_STOPPED);
        CU_ASSERT_TRUE(seconds(CLOCK_MONOTONIC) - start < 2);
    }
    rlmr_status status = rlmr_comm_watch_end(rlmr_test_comm, local, 5, NULL, NULL, &err);
    char message[64];
    (void)snprintf(message, sizeof message, "process %d met bad data", failing);
    check_agreed(status, &err, RLMR_E_PARSE, message);
}

static void test_a_failure_stops_the_others(void) {
    for (int failing = 0; failing < processes(); failing++) {
        check_stop(failing, 0);
        check_stop(failing, 150);
    }
}

static void test_a_failure_while_others_have_ended(void) {
    for (int failing = 0; failing < processes(); failing++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_status local = RLMR_OK;
        if (rank_of_this() == failing) {
            local = watch_for(0.15, 1, NULL, &err);
            CU_ASSERT_EQUAL(local, RLMR_OK);
            local = rlmr_error_set(&err, RLMR_E_LIMIT, "too much");
        }
        rlmr_status status = rlmr_comm_watch_end(rlmr_test_comm, local, 1, NULL, NULL, &err);
        check_agreed(status, &err, RLMR_E_LIMIT, "too much");
    }
}

static void test_everybody_fails(void) {
    for (int i = 0; i < 20; i++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_status local = rlmr_comm_watch(rlmr_test_comm, i, NULL, &err);
        CU_ASSERT_TRUE(local == RLMR_OK || local == RLMR_E_STOPPED);
        if (local == RLMR_OK) {
            local = rlmr_error_set(&err, RLMR_E_INPUT, "gone");
        }
        rlmr_status status = rlmr_comm_watch_end(rlmr_test_comm, local, i, NULL, NULL, &err);
        check_agreed(status, &err, RLMR_E_INPUT, "gone");
    }
}

static void test_many_watches_in_a_row(void) {
    for (int i = 0; i < 40; i++) {
        rlmr_error err;
        rlmr_error_clear(&err);
        ticks t = {.monotonic = true};
        rlmr_status local = RLMR_OK;
        for (int w = 0; local == RLMR_OK && w < i % 3; w++) {
            local = rlmr_comm_watch(rlmr_test_comm, 1, NULL, &err);
        }
        if (i % 5 == 4 && i % processes() == rank_of_this()) {
            local = rlmr_error_set(&err, RLMR_E_RANGE, "turn %d", i);
        }
        rlmr_status status = rlmr_comm_watch_end(rlmr_test_comm, local, i, note_tick, &t, &err);
        CU_ASSERT_EQUAL(status, i % 5 == 4 ? RLMR_E_RANGE : RLMR_OK);
        CU_ASSERT_EQUAL(err.code, status);
        CU_ASSERT_EQUAL(t.total, rank_of_this() == 0 ? (int64_t)i * processes() : 0);
    }
    check_nothing_left_over();
}

/* One process is late: the others sleep meanwhile, and process 0 ticks. */
static void check_late(int late) {
    rlmr_error err;
    rlmr_error_clear(&err);
    ticks t = {.monotonic = true};
    check_nothing_left_over();
    if (rank_of_this() == late) {
        sleep_ms(1100);
    }
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    CU_ASSERT_EQUAL(rlmr_comm_watch_end(rlmr_test_comm, RLMR_OK, 3, note_tick, &t, &err), RLMR_OK);
    CU_ASSERT_TRUE(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu < 0.2);
    CU_ASSERT_TRUE(rank_of_this() > 0 || late == 0 || (t.calls >= 3 && t.calls <= 6));
}

static void test_waiting_costs_little(void) {
    check_late(0);
    check_late(processes() - 1);
}

static void test_watching_costs_little(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    mpi.probes = 0;
    double start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 200000; i++) {
        CU_ASSERT_TRUE(rlmr_comm_watch(rlmr_test_comm, i, NULL, &err) == RLMR_OK);
    }
    double exchanges = (seconds(CLOCK_MONOTONIC) - start) / 0.1 + 1;
    CU_ASSERT_TRUE(mpi.probes >= 1);
    CU_ASSERT_TRUE(mpi.probes <= (rank_of_this() == 0 ? processes() : 1) * exchanges);
    CU_ASSERT_EQUAL(rlmr_comm_watch_end(rlmr_test_comm, RLMR_OK, 0, NULL, NULL, &err), RLMR_OK);
    check_nothing_left_over();
}

static void test_reports_do_not_pile_up(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    check_nothing_left_over();
    mpi.reports = 0;
    if (rank_of_this() == 0) {
        sleep_ms(800);
    } else {
        CU_ASSERT_EQUAL(watch_for(0.5, 1, NULL, &err), RLMR_OK);
        CU_ASSERT_EQUAL(mpi.reports, 1);
    }
    CU_ASSERT_EQUAL(rlmr_comm_watch_end(rlmr_test_comm, RLMR_OK, 0, NULL, NULL, &err), RLMR_OK);
    check_nothing_left_over();
}

CU_TestInfo rlmr_tests_comm[] = {
    {"a second start and message bytes out of range are refused", test_refused_starts},
    {"on one host no network is asked", test_transport_on_one_host},
    {"agreement that all is well takes one small message", test_agreement_of_all},
    {"all agree on the record of the lowest process that failed by itself", test_agreement_on_a_failure},
    {"an empty record gets the fixed text", test_an_empty_record},
    {"scatter gives each process its part, of any length", test_scatter_of_any_length},
    {"scatter to a process without memory does not stop the others", test_scatter_without_memory},
    {"broadcast gives all the same, of any length", test_broadcast_of_any_length},
    {"broadcast to a process without memory does not stop the others", test_broadcast_without_memory},
    {"exchange with a process without memory does not stop the others", test_exchange_without_memory},
    {"sums of any number of values are right everywhere", test_sum_of_any_length},
    {"a failure of MPI is reported with its text", test_a_failure_of_mpi},
    {"gather merges sorted runs, and replies reach their run", test_gather_merges_sorted_runs},
    {"gather carries blocks and replies longer than a message", test_gather_of_long_blocks_and_replies},
    {"gather of empty runs ends", test_gather_of_empty_runs},
    {"the consumer of a gather may stop early", test_gather_may_stop_early},
    {"a consumer that fails fails the gather on all", test_gather_with_a_failing_consumer},
    {"a run that fails at any block fails the gather on all", test_gather_with_a_failing_run},
    {"a failing run is not lost when the consumer ignores it", test_gather_does_not_lose_a_failure},
    {"a block without memory for it fails the gather on all", test_gather_of_a_block_without_memory},
    {"a reply without memory for it fails the gather on all", test_gather_of_a_reply_without_memory},
    {"no message is longer than allowed", test_message_length},
    {"progress adds up on process 0", test_progress_adds_up},
    {"a failure stops the others while they work", test_a_failure_stops_the_others},
    {"a failure is agreed when the others have ended", test_a_failure_while_others_have_ended},
    {"everybody may fail at once", test_everybody_fails},
    {"watches in a row do not disturb each other", test_many_watches_in_a_row},
    {"waiting for a late process costs little and ticks", test_waiting_costs_little},
    {"watching looks at the network ten times a second", test_watching_costs_little},
    {"reports do not pile up while process 0 is busy", test_reports_do_not_pile_up},
    CU_TEST_INFO_NULL,
};
