/* The processes of one MPI job. MPI 3.1 counts in int, so payloads travel as messages of at most
 * message_bytes, each of them announced by a header of a few 64-bit words.
 *
 * Two rules keep the job from hanging. Memory that a collective needs is taken in rlmr_comm_open(), and a
 * payload for which there is none is received and dropped. And a failure of ours goes on to the next
 * agreement like a success; only when MPI itself fails is the agreement skipped, since it would fail as well:
 * then the caller aborts. */
#include "rlmr/comm.h"

#include "comm_contract.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_SCATTER = 1, TAG_REQUEST, TAG_ANSWER, TAG_EXCHANGE, TAG_REPORT, TAG_RELEASE };

#define MS_NS INT64_C(1000000)
#define EXCHANGE_NS (100 * MS_NS) /* between two looks at the network while watching */
#define TICK_NS (250 * MS_NS)
#define PAUSE_NS (3 * MS_NS) /* sleep of a process that waits for the others to end their work */

/* What process 0 knows of another process. */
typedef struct {
    rlmr_comm *comm;
    int rank;

    bool serving;       /* gather: it waits for a request */
    rlmr_status status; /* gather: of its run, as seen from here */

    bool ended;              /* watch: its last report is here */
    bool released;           /* watch: its one release is sent */
    int64_t bytes_done;      /* watch: as of its last report */
    MPI_Request release_req; /* watch: the release on its way */
} peer;

/* A watch, from the first rlmr_comm_watch() to rlmr_comm_watch_end(). A process other than 0 sends any number
 * of reports of its progress and a last one when it ends. Process 0 sends it exactly one release, a message
 * without content: early if another process has failed, otherwise when all have ended. So nothing is left
 * over for the next watch. */
typedef struct {
    int64_t next_exchange_ns;
    bool stopped;         /* another process has failed */
    int running;          /* process 0: others that have not ended */
    int64_t others_bytes; /* process 0: sum of bytes_done of the others */
    bool released;        /* others: the release is here */
    int64_t report[2];    /* others: being sent */
    int64_t last_report[2];
    MPI_Request report_req;
    MPI_Request last_report_req;
} watch;

enum { REPORT_RUNNING = -1 }; /* in place of the status that a last report carries */
enum { REQUEST_STOP, REQUEST_NEXT };

struct rlmr_comm {
    MPI_Comm all;
    int rank;
    int size;
    size_t message_bytes;
    uint8_t *dropped;     /* message_bytes: where a payload goes for which there is no memory */
    peer *peers;          /* one a process; [0] is not used */
    rlmr_source *sources; /* one a process, for the consumer of a gather */
    watch watch;
};

/* Messages */

static rlmr_status check(int result, const char *call, rlmr_error *err) {
    if (result == MPI_SUCCESS) {
        return RLMR_OK;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(result, text, &length);
    return rlmr_error_set(err, RLMR_E_COMM, "%s: %.*s", call, length, text);
}

/* Bytes of the next message when `left` bytes are still to go. */
static size_t message_of(const rlmr_comm *comm, size_t left) {
    return left < comm->message_bytes ? left : comm->message_bytes;
}

static rlmr_status send_words(rlmr_comm *comm, int to, int tag, const int64_t *words, int count,
                              rlmr_error *err) {
    return check(MPI_Send(words, count, MPI_INT64_T, to, tag, comm->all), "MPI_Send", err);
}

static rlmr_status receive_words(rlmr_comm *comm, int from, int tag, int64_t *words, int count,
                                 rlmr_error *err) {
    return check(MPI_Recv(words, count, MPI_INT64_T, from, tag, comm->all, MPI_STATUS_IGNORE), "MPI_Recv",
                 err);
}

static rlmr_status send_message(rlmr_comm *comm, int to, int tag, const uint8_t *data, size_t bytes,
                                rlmr_error *err) {
    return check(MPI_Send(data, (int)bytes, MPI_BYTE, to, tag, comm->all), "MPI_Send", err);
}

static rlmr_status send_payload(rlmr_comm *comm, int to, int tag, const uint8_t *data, size_t bytes,
                                rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; status == RLMR_OK && at < bytes; at += message_of(comm, bytes - at)) {
        status = send_message(comm, to, tag, data + at, message_of(comm, bytes - at), err);
    }
    return status;
}

/* Replace the content of `buffer` by a payload whose length is known. @return OK; E_NOMEM, with the payload
 * received all the same, so that its sender does not wait; E_COMM */
static rlmr_status receive_payload(rlmr_comm *comm, int from, int tag, size_t bytes, rlmr_bytes *buffer,
                                   rlmr_error *err) {
    rlmr_bytes_clear(buffer);
    rlmr_status kept = rlmr_bytes_reserve(buffer, bytes, err);
    for (size_t at = 0; at < bytes; at += message_of(comm, bytes - at)) {
        uint8_t *to = kept == RLMR_OK ? buffer->data + at : comm->dropped;
        int count = (int)message_of(comm, bytes - at);
        rlmr_status status =
            check(MPI_Recv(to, count, MPI_BYTE, from, tag, comm->all, MPI_STATUS_IGNORE), "MPI_Recv", err);
        if (status != RLMR_OK) {
            return status;
        }
    }
    if (kept == RLMR_OK) {
        buffer->bytes = bytes;
    }
    return kept;
}

/* Start and end */

static void watch_reset(rlmr_comm *comm) {
    comm->watch = (watch){
        .running = comm->size - 1, .report_req = MPI_REQUEST_NULL, .last_report_req = MPI_REQUEST_NULL};
    for (int p = 0; p < comm->size; p++) {
        peer *other = &comm->peers[p];
        other->ended = false;
        other->released = false;
        other->bytes_done = 0;
        other->release_req = MPI_REQUEST_NULL;
    }
}

/* Whether mpirun says that all processes are on this host, or no launcher has started this one. */
static bool is_one_host(void) {
    const char *all = getenv("OMPI_COMM_WORLD_SIZE");
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    bool alone = all == NULL && getenv("PMIX_RANK") == NULL && getenv("PMI_RANK") == NULL;
    return alone || (all != NULL && here != NULL && strcmp(all, here) == 0);
}

/* Open MPI asks every network for its devices before it takes shared memory, half of the time of its start. What the
 * user has chosen in the environment or with --mca stays; a file of parameters comes after both. */
static void choose_transport(void) {
    if (is_one_host()) {
        (void)setenv("OMPI_MCA_pml", "ob1", 0);
    }
}

static rlmr_status start_mpi(rlmr_comm *comm, rlmr_error *err) {
    int started = 0;
    if (MPI_Initialized(&started) != MPI_SUCCESS || started) {
        return rlmr_error_set(err, RLMR_E_COMM, "MPI can be started only once");
    }
    /* Without mpirun, Open MPI would start a daemon of its own beside us, which outlives a killed process. */
    (void)setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    choose_transport();
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        return rlmr_error_set(err, RLMR_E_COMM,
                              "MPI cannot be started"); /* too early for MPI_Error_string() */
    }
    MPI_Comm world = MPI_COMM_WORLD;
    rlmr_status status =
        check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", err);
    if (status == RLMR_OK) {
        status = check(MPI_Comm_dup(world, &comm->all), "MPI_Comm_dup", err);
    }
    if (status == RLMR_OK) {
        status = check(MPI_Comm_set_errhandler(comm->all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", err);
    }
    if (status == RLMR_OK) {
        status = check(MPI_Comm_rank(comm->all, &comm->rank), "MPI_Comm_rank", err);
    }
    if (status == RLMR_OK) {
        status = check(MPI_Comm_size(comm->all, &comm->size), "MPI_Comm_size", err);
    }
    return status;
}

static void release(rlmr_comm *comm) {
    if (comm != NULL) {
        free(comm->dropped);
        free(comm->peers);
        free(comm->sources);
        free(comm);
    }
}

/* @return NULL if there is no memory */
static rlmr_comm *make(const rlmr_comm *draft) {
    rlmr_comm *comm = malloc(sizeof *comm);
    if (comm == NULL) {
        return NULL;
    }
    size_t size = (size_t)draft->size;
    *comm = *draft;
    comm->dropped = malloc(comm->message_bytes);
    comm->peers = calloc(size, sizeof *comm->peers);
    comm->sources = calloc(size, sizeof *comm->sources);
    if (comm->dropped == NULL || comm->peers == NULL || comm->sources == NULL) {
        release(comm);
        return NULL;
    }
    for (int p = 0; p < comm->size; p++) {
        comm->peers[p] = (peer){.comm = comm, .rank = p};
    }
    watch_reset(comm);
    return comm;
}

rlmr_status rlmr_comm_open(size_t message_bytes, rlmr_comm **out, rlmr_error *err) {
    *out = NULL;
    rlmr_status status = rlmr_comm_check_message_bytes(message_bytes, err);
    rlmr_comm draft = {.all = MPI_COMM_NULL, .size = 1, .message_bytes = message_bytes};
    if (status == RLMR_OK) {
        status = start_mpi(&draft, err);
    }
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_error record;
    rlmr_error_clear(&record);
    rlmr_comm *comm = make(&draft);
    if (comm == NULL) {
        status = rlmr_error_set(&record, RLMR_E_NOMEM, "no memory to start communication");
    }
    status = rlmr_comm_agree(&draft, status, &record);
    if (comm == NULL || status != RLMR_OK) {
        release(comm);
        (void)MPI_Comm_free(&draft.all);
        (void)MPI_Finalize();
        return rlmr_error_set(err, status, "%s", record.message);
    }
    *out = comm;
    return RLMR_OK;
}

void rlmr_comm_close(rlmr_comm *comm) {
    if (comm == NULL) {
        return;
    }
    (void)MPI_Comm_free(&comm->all);
    (void)MPI_Finalize();
    release(comm);
}

_Noreturn void rlmr_comm_abort(rlmr_comm *comm, int exit_code) {
    if (comm != NULL) {
        (void)MPI_Abort(comm->all, exit_code);
    }
    _Exit(exit_code);
}

int rlmr_comm_rank(const rlmr_comm *comm) {
    return comm->rank;
}

int rlmr_comm_size(const rlmr_comm *comm) {
    return comm->size;
}

/* Agreement, scatter, broadcast, sum */

/* Smaller is chosen first: failures of their own by rank, then those who only stopped because of another. */
static int agree_key(const rlmr_comm *comm, rlmr_status local) {
    if (local == RLMR_OK) {
        return INT_MAX;
    }
    return local == RLMR_E_STOPPED ? comm->size + comm->rank : comm->rank;
}

static rlmr_status broadcast(rlmr_comm *comm, int from, uint8_t *data, size_t bytes, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; status == RLMR_OK && at < bytes; at += message_of(comm, bytes - at)) {
        int count = (int)message_of(comm, bytes - at);
        status = check(MPI_Bcast(data + at, count, MPI_BYTE, from, comm->all), "MPI_Bcast", err);
    }
    return status;
}

rlmr_status rlmr_comm_agree(rlmr_comm *comm, rlmr_status local, rlmr_error *err) {
    rlmr_comm_complete_record(local, err);
    int key = agree_key(comm, local);
    rlmr_status status =
        check(MPI_Allreduce(MPI_IN_PLACE, &key, 1, MPI_INT, MPI_MIN, comm->all), "MPI_Allreduce", err);
    if (status != RLMR_OK || key == INT_MAX) {
        return status;
    }
    rlmr_error record = *err;
    status = broadcast(comm, key % comm->size, (uint8_t *)&record, sizeof record, err);
    if (status != RLMR_OK) {
        return status;
    }
    *err = record;
    return record.code;
}

/* Lengths first, then one message for each process in turn, so that nobody waits for another's whole part. */
static rlmr_status send_parts(rlmr_comm *comm, const rlmr_bytes *parts, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    size_t longest = 0;
    for (int p = 1; status == RLMR_OK && p < comm->size; p++) {
        const int64_t length = (int64_t)parts[p].bytes;
        status = send_words(comm, p, TAG_SCATTER, &length, 1, err);
        longest = parts[p].bytes > longest ? parts[p].bytes : longest;
    }
    for (size_t at = 0; at < longest; at += message_of(comm, longest - at)) {
        for (int p = 1; status == RLMR_OK && p < comm->size; p++) {
            if (at < parts[p].bytes) {
                size_t bytes = message_of(comm, parts[p].bytes - at);
                status = send_message(comm, p, TAG_SCATTER, parts[p].data + at, bytes, err);
            }
        }
    }
    return status;
}

rlmr_status rlmr_comm_scatter(rlmr_comm *comm, const rlmr_bytes *parts, rlmr_bytes *mine, rlmr_error *err) {
    if (comm->rank == 0) {
        rlmr_status sent = send_parts(comm, parts, err);
        rlmr_bytes_clear(mine);
        return sent == RLMR_OK ? rlmr_bytes_append(mine, parts[0].data, parts[0].bytes, err) : sent;
    }
    int64_t length = 0;
    rlmr_status status = receive_words(comm, 0, TAG_SCATTER, &length, 1, err);
    return status == RLMR_OK ? receive_payload(comm, 0, TAG_SCATTER, (size_t)length, mine, err) : status;
}

/* Take part in a broadcast for which there is no memory here, so that the others get theirs. */
static rlmr_status drop_broadcast(rlmr_comm *comm, size_t bytes, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; status == RLMR_OK && at < bytes; at += message_of(comm, bytes - at)) {
        status = broadcast(comm, 0, comm->dropped, message_of(comm, bytes - at), err);
    }
    return status;
}

rlmr_status rlmr_comm_broadcast(rlmr_comm *comm, rlmr_bytes *buffer, rlmr_error *err) {
    int64_t length = (int64_t)buffer->bytes;
    rlmr_status status = check(MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm->all), "MPI_Bcast", err);
    if (status != RLMR_OK) {
        return status;
    }
    if (comm->rank == 0) {
        return broadcast(comm, 0, buffer->data, (size_t)length, err);
    }
    rlmr_bytes_clear(buffer);
    rlmr_status kept = rlmr_bytes_reserve(buffer, (size_t)length, err);
    if (kept != RLMR_OK) {
        status = drop_broadcast(comm, (size_t)length, err);
        return status == RLMR_OK ? kept : status;
    }
    status = broadcast(comm, 0, buffer->data, (size_t)length, err);
    buffer->bytes = status == RLMR_OK ? (size_t)length : 0;
    return status;
}

rlmr_status rlmr_comm_sum(rlmr_comm *comm, int64_t *values, size_t count, rlmr_error *err) {
    size_t most = comm->message_bytes / sizeof *values;
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; status == RLMR_OK && at < count; at += most) {
        int some = (int)(count - at < most ? count - at : most);
        status = check(MPI_Allreduce(MPI_IN_PLACE, values + at, some, MPI_INT64_T, MPI_SUM, comm->all),
                       "MPI_Allreduce", err);
    }
    return status;
}

/* Gather: process 0 asks, the others serve. An answer without a payload ends the run on both sides. */

static rlmr_status ask(peer *other, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    rlmr_comm *comm = other->comm;
    const int64_t request[2] = {REQUEST_NEXT, (int64_t)reply->bytes};
    int64_t answer[2] = {0};
    rlmr_status status = send_words(comm, other->rank, TAG_REQUEST, request, 2, err);
    if (status == RLMR_OK) {
        status = send_payload(comm, other->rank, TAG_REQUEST, reply->data, reply->bytes, err);
    }
    if (status == RLMR_OK) {
        status = receive_words(comm, other->rank, TAG_ANSWER, answer, 2, err);
    }
    if (status != RLMR_OK) {
        return status;
    }
    other->serving = answer[1] > 0;
    if (answer[0] != RLMR_OK) {
        return rlmr_error_set(err, RLMR_E_STOPPED, "process %d: %s", other->rank,
                              rlmr_status_text((rlmr_status)answer[0]));
    }
    return receive_payload(comm, other->rank, TAG_ANSWER, (size_t)answer[1], block, err);
}

static rlmr_status peer_next(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    peer *other = self;
    rlmr_bytes_clear(block);
    if (other->status != RLMR_OK) {
        return rlmr_error_set(err, other->status, "the run of process %d has failed", other->rank);
    }
    if (other->serving) {
        other->status = ask(other, reply, block, err);
    }
    return other->status;
}

/* Let those go who still wait for a request. @return OK or E_COMM */
static rlmr_status stop_serving(rlmr_comm *comm, rlmr_error *err) {
    const int64_t request[2] = {REQUEST_STOP, 0};
    for (int p = 1; p < comm->size; p++) {
        rlmr_status status =
            comm->peers[p].status; /* E_COMM comes only from MPI: the others' own are E_STOPPED here */
        if (status != RLMR_E_COMM && comm->peers[p].serving) {
            status = send_words(comm, p, TAG_REQUEST, request, 2, err);
        }
        if (status == RLMR_E_COMM) {
            return status;
        }
    }
    return RLMR_OK;
}

/* @param result  out: of the consumer  @return OK or E_COMM */
static rlmr_status pull_runs(rlmr_comm *comm, const rlmr_source *local, rlmr_consume consume, void *self,
                             rlmr_status *result, rlmr_error *err) {
    comm->sources[0] = *local;
    for (int p = 1; p < comm->size; p++) {
        comm->peers[p].serving = true;
        comm->peers[p].status = RLMR_OK;
        comm->sources[p] = (rlmr_source){.next = peer_next, .self = &comm->peers[p]};
    }
    *result = consume(self, comm->sources, comm->size, err);
    return stop_serving(comm, err);
}

/* One request. @param more  out: false if it was the last  @param result  out: of the run  @return OK or
 * E_COMM */
static rlmr_status serve_request(rlmr_comm *comm, rlmr_source *local, rlmr_bytes *reply, rlmr_bytes *block,
                                 bool *more, rlmr_status *result, rlmr_error *err) {
    int64_t request[2] = {0};
    *more = false;
    rlmr_status status = receive_words(comm, 0, TAG_REQUEST, request, 2, err);
    if (status != RLMR_OK || request[0] == REQUEST_STOP) {
        return status;
    }
    status = receive_payload(comm, 0, TAG_REQUEST, (size_t)request[1], reply, err);
    if (status == RLMR_E_COMM) {
        return status;
    }
    rlmr_bytes_clear(block);
    *result = status == RLMR_OK ? local->next(local->self, reply, block, err) : status;
    const int64_t answer[2] = {*result, *result == RLMR_OK ? (int64_t)block->bytes : 0};
    *more = answer[1] > 0;
    status = send_words(comm, 0, TAG_ANSWER, answer, 2, err);
    return status == RLMR_OK ? send_payload(comm, 0, TAG_ANSWER, block->data, (size_t)answer[1], err)
                             : status;
}

static rlmr_status serve_run(rlmr_comm *comm, rlmr_source *local, rlmr_status *result, rlmr_error *err) {
    rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    rlmr_status status = RLMR_OK;
    for (bool more = true; more;) {
        status = serve_request(comm, local, &reply, &block, &more, result, err);
        more = more && status == RLMR_OK;
    }
    rlmr_bytes_release(&reply);
    rlmr_bytes_release(&block);
    return status;
}

rlmr_status rlmr_comm_gather(rlmr_comm *comm, rlmr_source *local, rlmr_consume consume, void *self,
                             rlmr_error *err) {
    rlmr_status result = RLMR_OK;
    rlmr_status status = comm->rank == 0 ? pull_runs(comm, local, consume, self, &result, err)
                                         : serve_run(comm, local, &result, err);
    return status == RLMR_OK ? rlmr_comm_agree(comm, result, err) : status;
}

/* Exchange. A step is made of rounds, in each of which a process sends one block and receives one, while both directions last; a
 * block of no bytes ends its direction. Who is behind never waits for who is ahead: both sides of a message are in the same round. */

/* One step on one process. A direction that has ended is with MPI_PROC_NULL, where messages come and go at once. */
typedef struct {
    rlmr_comm *comm;
    int to;
    int from;
    rlmr_bytes out;     /* the block being sent */
    rlmr_bytes in;      /* the block being received */
    rlmr_status status; /* of this process: callbacks and memory */
} step;

static rlmr_status swap_words(const step *at, int64_t sent, int64_t *received, rlmr_error *err) {
    *received = 0;
    return check(MPI_Sendrecv(&sent, 1, MPI_INT64_T, at->to, TAG_EXCHANGE, received, 1, MPI_INT64_T, at->from,
                              TAG_EXCHANGE, at->comm->all, MPI_STATUS_IGNORE),
                 "MPI_Sendrecv", err);
}

/* Send `out`, and receive `bytes` into `in`, or drop them if there is no room. @return OK or E_COMM */
static rlmr_status swap_blocks(step *at, size_t bytes, rlmr_error *err) {
    rlmr_comm *comm = at->comm;
    bool kept = at->in.capacity >= bytes;
    size_t longest = bytes > at->out.bytes ? bytes : at->out.bytes;
    rlmr_status status = RLMR_OK;
    for (size_t done = 0; status == RLMR_OK && done < longest; done += message_of(comm, longest - done)) {
        size_t sent = done < at->out.bytes ? message_of(comm, at->out.bytes - done) : 0;
        size_t received = done < bytes ? message_of(comm, bytes - done) : 0;
        const uint8_t *from = sent > 0 ? at->out.data + done : NULL;
        uint8_t *to = kept && received > 0 ? at->in.data + done : comm->dropped;
        status =
            check(MPI_Sendrecv(from, (int)sent, MPI_BYTE, sent > 0 ? at->to : MPI_PROC_NULL, TAG_EXCHANGE, to,
                               (int)received, MPI_BYTE, received > 0 ? at->from : MPI_PROC_NULL, TAG_EXCHANGE,
                               comm->all, MPI_STATUS_IGNORE),
                  "MPI_Sendrecv", err);
    }
    at->in.bytes = kept ? bytes : 0;
    return status;
}

/* One block in each direction. @return OK or E_COMM */
static rlmr_status take_round(step *at, const rlmr_exchange *exchange, rlmr_error *err) {
    int64_t coming = 0;
    rlmr_bytes_clear(&at->out);
    rlmr_bytes_clear(&at->in);
    if (at->status == RLMR_OK && at->to != MPI_PROC_NULL) {
        at->status = exchange->produce(exchange->self, at->to, &at->out, err);
    }
    if (at->status != RLMR_OK) {
        rlmr_bytes_clear(&at->out);
    }
    rlmr_status status = swap_words(at, (int64_t)at->out.bytes, &coming, err);
    if (status == RLMR_OK && at->status == RLMR_OK) {
        at->status = rlmr_bytes_reserve(&at->in, (size_t)coming, err);
    }
    status = status == RLMR_OK ? swap_blocks(at, (size_t)coming, err) : status;
    if (status == RLMR_OK && at->status == RLMR_OK && coming > 0) {
        at->status = exchange->consume(exchange->self, at->from, &at->in, err);
    }
    at->to = at->out.bytes > 0 ? at->to : MPI_PROC_NULL;
    at->from = coming > 0 ? at->from : MPI_PROC_NULL;
    return status;
}

rlmr_status rlmr_comm_exchange(rlmr_comm *comm, const rlmr_exchange *exchange, rlmr_error *err) {
    step at = {.comm = comm, .status = rlmr_comm_exchange_alone(exchange, comm->rank, err)};
    rlmr_status status = RLMR_OK;
    for (int s = 1; status == RLMR_OK && s < comm->size; s++) {
        at.to = (comm->rank + s) % comm->size;
        at.from = (comm->rank - s + comm->size) % comm->size;
        while (status == RLMR_OK && (at.to != MPI_PROC_NULL || at.from != MPI_PROC_NULL)) {
            status = take_round(&at, exchange, err);
        }
    }
    rlmr_bytes_release(&at.out);
    rlmr_bytes_release(&at.in);
    return status == RLMR_OK ? at.status : status;
}

/* Watch */

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * MS_NS + now.tv_nsec;
}

static void pause_briefly(void) {
    (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* A synchronous send, done only when process 0 has taken it: at most one report of a process is ever under
 * way, however long process 0 does not look. */
static rlmr_status send_report(rlmr_comm *comm, int64_t bytes_done, rlmr_error *err) {
    watch *w = &comm->watch;
    int taken = 0;
    rlmr_status status = check(MPI_Test(&w->report_req, &taken, MPI_STATUS_IGNORE), "MPI_Test", err);
    if (status != RLMR_OK || !taken) {
        return status;
    }
    w->report[0] = bytes_done;
    w->report[1] = REPORT_RUNNING;
    return check(MPI_Issend(w->report, 2, MPI_INT64_T, 0, TAG_REPORT, comm->all, &w->report_req),
                 "MPI_Issend", err);
}

static rlmr_status hear_release(rlmr_comm *comm, rlmr_error *err) {
    if (comm->watch.released) {
        return RLMR_OK;
    }
    int here = 0;
    rlmr_status status =
        check(MPI_Iprobe(0, TAG_RELEASE, comm->all, &here, MPI_STATUS_IGNORE), "MPI_Iprobe", err);
    if (status != RLMR_OK || !here) {
        return status;
    }
    comm->watch.released = true;
    return receive_words(comm, 0, TAG_RELEASE, NULL, 0, err);
}

static rlmr_status release_peer(peer *other, rlmr_error *err) {
    if (other->released) {
        return RLMR_OK;
    }
    other->released = true;
    return check(
        MPI_Isend(NULL, 0, MPI_INT64_T, other->rank, TAG_RELEASE, other->comm->all, &other->release_req),
        "MPI_Isend", err);
}

/* Process 0 has heard of a failure: tell those who still work. The others hear the usual release. */
static rlmr_status stop_running(rlmr_comm *comm, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    comm->watch.stopped = true;
    for (int p = 1; status == RLMR_OK && p < comm->size; p++) {
        if (!comm->peers[p].ended) {
            status = release_peer(&comm->peers[p], err);
        }
    }
    return status;
}

static rlmr_status take_report(peer *other, const int64_t *report, rlmr_error *err) {
    watch *w = &other->comm->watch;
    w->others_bytes += report[0] - other->bytes_done;
    other->bytes_done = report[0];
    if (report[1] == REPORT_RUNNING) {
        return RLMR_OK;
    }
    other->ended = true;
    w->running--;
    return report[1] == RLMR_OK ? RLMR_OK : stop_running(other->comm, err);
}

/* Process 0: take all reports that are here. */
static rlmr_status take_reports(rlmr_comm *comm, rlmr_error *err) {
    for (;;) {
        int here = 0;
        MPI_Status found;
        rlmr_status status =
            check(MPI_Iprobe(MPI_ANY_SOURCE, TAG_REPORT, comm->all, &here, &found), "MPI_Iprobe", err);
        if (status != RLMR_OK || !here) {
            return status;
        }
        int64_t report[2] = {0};
        status = receive_words(comm, found.MPI_SOURCE, TAG_REPORT, report, 2, err);
        if (status == RLMR_OK) {
            status = take_report(&comm->peers[found.MPI_SOURCE], report, err);
        }
        if (status != RLMR_OK) {
            return status;
        }
    }
}

static rlmr_status exchange_reports(rlmr_comm *comm, int64_t bytes_done, rlmr_error *err) {
    if (comm->rank == 0) {
        return take_reports(comm, err);
    }
    rlmr_status status = send_report(comm, bytes_done, err);
    if (status == RLMR_OK) {
        status = hear_release(comm, err);
    }
    comm->watch.stopped =
        comm->watch.released; /* before the end, a release means that another process has failed */
    return status;
}

rlmr_status rlmr_comm_watch(rlmr_comm *comm, int64_t bytes_done, int64_t *total, rlmr_error *err) {
    watch *w = &comm->watch;
    int64_t now = now_ns();
    if (now >= w->next_exchange_ns) {
        rlmr_status status = exchange_reports(comm, bytes_done, err);
        if (status != RLMR_OK) {
            return status;
        }
        w->next_exchange_ns = now + EXCHANGE_NS;
    }
    if (total != NULL) {
        *total = bytes_done + w->others_bytes;
    }
    return w->stopped ? rlmr_error_set(err, RLMR_E_STOPPED, "another process has failed") : RLMR_OK;
}

/* Sleeps instead of waiting inside MPI, which would take a core from those who still work. */
static rlmr_status end_and_await_release(rlmr_comm *comm, rlmr_status local, int64_t bytes_done,
                                         rlmr_error *err) {
    watch *w = &comm->watch;
    w->last_report[0] = bytes_done;
    w->last_report[1] = local;
    rlmr_status status =
        check(MPI_Isend(w->last_report, 2, MPI_INT64_T, 0, TAG_REPORT, comm->all, &w->last_report_req),
              "MPI_Isend", err);
    int taken[2] = {0, 0};
    while (status == RLMR_OK && !(w->released && taken[0] && taken[1])) {
        status = hear_release(comm, err);
        if (status == RLMR_OK) {
            status = check(MPI_Test(&w->report_req, &taken[0], MPI_STATUS_IGNORE), "MPI_Test", err);
        }
        if (status == RLMR_OK) {
            status = check(MPI_Test(&w->last_report_req, &taken[1], MPI_STATUS_IGNORE), "MPI_Test", err);
        }
        if (!(w->released && taken[0] && taken[1])) {
            pause_briefly();
        }
    }
    return status;
}

static rlmr_status release_all(rlmr_comm *comm, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (int p = 1; status == RLMR_OK && p < comm->size; p++) {
        status = release_peer(&comm->peers[p], err);
    }
    for (int p = 1; status == RLMR_OK && p < comm->size; p++) {
        status = check(MPI_Wait(&comm->peers[p].release_req, MPI_STATUS_IGNORE), "MPI_Wait", err);
    }
    return status;
}

static rlmr_status await_ends(rlmr_comm *comm, rlmr_status local, int64_t bytes_done, rlmr_watch_tick tick,
                              void *self, rlmr_error *err) {
    watch *w = &comm->watch;
    rlmr_status status = local == RLMR_OK ? RLMR_OK : stop_running(comm, err);
    int64_t next_tick_ns = now_ns() + TICK_NS;
    while (status == RLMR_OK && w->running > 0) {
        status = take_reports(comm, err);
        if (tick != NULL && now_ns() >= next_tick_ns) {
            tick(self, bytes_done + w->others_bytes);
            next_tick_ns += TICK_NS;
        }
        if (w->running > 0) {
            pause_briefly();
        }
    }
    if (status == RLMR_OK) {
        status = release_all(comm, err);
    }
    if (status == RLMR_OK && tick != NULL) {
        tick(self, bytes_done + w->others_bytes);
    }
    return status;
}

rlmr_status rlmr_comm_watch_end(rlmr_comm *comm, rlmr_status local, int64_t bytes_done, rlmr_watch_tick tick,
                                void *self, rlmr_error *err) {
    rlmr_status status = comm->rank == 0 ? await_ends(comm, local, bytes_done, tick, self, err)
                                         : end_and_await_release(comm, local, bytes_done, err);
    watch_reset(comm);
    return status == RLMR_OK ? rlmr_comm_agree(comm, local, err) : status;
}
