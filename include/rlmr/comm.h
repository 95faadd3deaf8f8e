/* layer: comm */
/** The processes of one run. Two implementations of this header: comm_mpi.c, and comm_serial.c, a twin of one
 *  process without MPI for unit tests. "Collective." at the start of a comment means that every process must
 *  call the function, and that it may not return before the others have called it; all other functions are
 *  local.
 *
 *  E_COMM means that MPI itself fails. It is not agreed, since the others cannot be told: whoever gets it
 *  calls rlmr_comm_abort().
 *
 *  Lengths are 64-bit everywhere; a message on the wire is never longer than the `message_bytes` of
 *  rlmr_comm_open().
 */
#ifndef RLMR_COMM_H
#define RLMR_COMM_H

#include "rlmr/stream.h"

typedef struct rlmr_comm rlmr_comm;

#define RLMR_MESSAGE_BYTES_DEFAULT (1U << 20)

/** Collective. Start MPI (once a program) on a communicator of our own whose errors are returned, not fatal.
 *
 *  @param message_bytes  longest message, at least 64; tests set it to some hundred bytes to force many
 *  messages
 *  @param out            owned by the caller, rlmr_comm_close()
 *  @return OK, E_NOMEM, E_RANGE (message_bytes), E_COMM */
RLMR_MUST_CHECK rlmr_status rlmr_comm_open(size_t message_bytes, rlmr_comm **out, rlmr_error *err);

/** Collective. Free the communicator and end MPI. NULL is allowed. */
void rlmr_comm_close(rlmr_comm *comm);

/** End every process at once with `exit_code`; for the case that MPI itself fails. Does not return. */
_Noreturn void rlmr_comm_abort(rlmr_comm *comm, int exit_code);

int rlmr_comm_rank(const rlmr_comm *comm);
int rlmr_comm_size(const rlmr_comm *comm);

/** Collective. Agree on success: if any process has a status other than OK, all return the status of one
 *  failing process, and `err` is replaced on all by its record. The lowest process with a status other than
 *  E_STOPPED is chosen, then the lowest at all. Stands before every collective call that a local failure could
 *  skip.
 *
 *  @param local  the caller's status; if it is not OK, `err` holds its record
 *  @param err    in and out, not NULL */
RLMR_MUST_CHECK rlmr_status rlmr_comm_agree(rlmr_comm *comm, rlmr_status local, rlmr_error *err);

/** Collective. Process 0 gives each process its own bytes.
 *
 *  @param parts  on process 0: one buffer a process; ignored elsewhere
 *  @param mine   out: cleared and filled  @return OK, E_NOMEM, E_COMM; not agreed */
RLMR_MUST_CHECK rlmr_status rlmr_comm_scatter(rlmr_comm *comm, const rlmr_bytes *parts, rlmr_bytes *mine,
                                              rlmr_error *err);

/** Collective. Process 0 gives all processes the same bytes.
 *
 *  @param buffer  on process 0: what to give, unchanged; elsewhere out: cleared and filled
 *  @return OK, E_NOMEM, E_COMM; not agreed */
RLMR_MUST_CHECK rlmr_status rlmr_comm_broadcast(rlmr_comm *comm, rlmr_bytes *buffer, rlmr_error *err);

/** Collective. Element-wise sum of `count` values over all processes, in place; every process gets the sums.
 */
RLMR_MUST_CHECK rlmr_status rlmr_comm_sum(rlmr_comm *comm, int64_t *values, size_t count, rlmr_error *err);

/** Consumes one run of each process, on process 0. `sources[p]` is process p's; stopping before their end is
 *  allowed. */
typedef rlmr_status (*rlmr_consume)(void *self, rlmr_source *sources, int count, rlmr_error *err);

/** Collective. Each process offers a sorted run; process 0 pulls them block by block through `consume`, so
 *  that it holds one block of each at a time. Ends with an agreement, so that the result is the same on all
 *  processes.
 *
 *  @param local    this process's run; not NULL
 *  @param consume  called on process 0 only
 *  @param err      in and out, not NULL  @return OK, or the agreed status of a failing source or of
 *  `consume`, or E_COMM */
RLMR_MUST_CHECK rlmr_status rlmr_comm_gather(rlmr_comm *comm, rlmr_source *local, rlmr_consume consume,
                                             void *self, rlmr_error *err);

/** What a process sends and takes in an exchange. produce() puts the next block for process `to` into `block`, which is empty; no bytes
 *  end what is sent to it. consume() gets each block that process `from` has made for this one, in order, and may take its memory
 *  over, which leaves `block` all zero. Either may fail; after that neither is called again. */
typedef struct {
    rlmr_status (*produce)(void *self, int to, rlmr_bytes *block, rlmr_error *err);
    rlmr_status (*consume)(void *self, int from, rlmr_bytes *block, rlmr_error *err);
    void *self;
} rlmr_exchange;

/** Collective. Every process sends a stream of blocks to every process: first to itself, then in step s to the s-th behind it, while
 *  it receives from the s-th before it. So consume() gets the streams of this process, then of the ones before it in turn, and a
 *  process holds one block of each direction beside what consume() keeps.
 *
 *  A process that fails sends nothing more, and drops what it receives, so that nobody waits for it.
 *
 *  @return OK, the status of this process's failing callback, E_NOMEM (a block), E_COMM; not agreed */
RLMR_MUST_CHECK rlmr_status rlmr_comm_exchange(rlmr_comm *comm, const rlmr_exchange *exchange,
                                               rlmr_error *err);

/** Collective. rlmr_comm_exchange() of one buffer for each process.
 *
 *  @param parts  one a process: what to send to it; each is released when it is sent
 *  @param mine   out, one a process: cleared and filled by what that process sent to this one
 *  @return OK, E_NOMEM, E_COMM; not agreed */
RLMR_MUST_CHECK rlmr_status rlmr_comm_exchange_parts(rlmr_comm *comm, rlmr_bytes *parts, rlmr_bytes *mine,
                                                     rlmr_error *err);

/** Watching each other during the map phase, where processes work alone for minutes.
 *
 *  rlmr_comm_watch() is local and never waits; call it every some thousand rows or MiB. It tells process 0
 *  how far this process is, and hears from it whether another process has failed. `bytes_done` is this
 *  process's own count; `total` (may be NULL) gets, on process 0, the sum over all processes as far as known,
 *  elsewhere `bytes_done`.
 *
 *  @return OK, E_STOPPED if another process has failed and this one should end its work, E_COMM */
RLMR_MUST_CHECK rlmr_status rlmr_comm_watch(rlmr_comm *comm, int64_t bytes_done, int64_t *total,
                                            rlmr_error *err);

/** Called on process 0 in rlmr_comm_watch_end(), some times a second while it waits and once when all have
 *  ended, with the sum over all processes. */
typedef void (*rlmr_watch_tick)(void *self, int64_t total_bytes_done);

/** Collective. End of the watch: a process that ends with an error makes the others hear E_STOPPED from
 *  rlmr_comm_watch(), which looks at the network ten times a second. Ends with an agreement.
 *
 *  @param tick  may be NULL  @param err  in and out, not NULL */
RLMR_MUST_CHECK rlmr_status rlmr_comm_watch_end(rlmr_comm *comm, rlmr_status local, int64_t bytes_done,
                                                rlmr_watch_tick tick, void *self, rlmr_error *err);

#endif
