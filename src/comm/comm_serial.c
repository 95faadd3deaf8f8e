/* One process without MPI: there is nobody to wait for, so every collective is its local half. */
#include "rlmr/comm.h"

#include "comm_contract.h"

#include <stdlib.h>

struct rlmr_comm {
    size_t message_bytes;
};

rlmr_status rlmr_comm_open(size_t message_bytes, rlmr_comm **out, rlmr_error *err) {
    *out = NULL;
    rlmr_status status = rlmr_comm_check_message_bytes(message_bytes, err);
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_comm *comm = malloc(sizeof *comm);
    if (comm == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to start communication");
    }
    *comm = (rlmr_comm){.message_bytes = message_bytes};
    *out = comm;
    return RLMR_OK;
}

void rlmr_comm_close(rlmr_comm *comm) {
    free(comm);
}

_Noreturn void rlmr_comm_abort(rlmr_comm *comm, int exit_code) {
    (void)comm;
    _Exit(exit_code);
}

int rlmr_comm_rank(const rlmr_comm *comm) {
    (void)comm;
    return 0;
}

int rlmr_comm_size(const rlmr_comm *comm) {
    (void)comm;
    return 1;
}

rlmr_status rlmr_comm_agree(rlmr_comm *comm, rlmr_status local, rlmr_error *err) {
    (void)comm;
    rlmr_comm_complete_record(local, err);
    return local;
}

rlmr_status rlmr_comm_scatter(rlmr_comm *comm, const rlmr_bytes *parts, rlmr_bytes *mine, rlmr_error *err) {
    (void)comm;
    rlmr_bytes_clear(mine);
    return rlmr_bytes_append(mine, parts[0].data, parts[0].bytes, err);
}

rlmr_status rlmr_comm_broadcast(rlmr_comm *comm, rlmr_bytes *buffer, rlmr_error *err) {
    (void)comm;
    (void)buffer;
    (void)err;
    return RLMR_OK;
}

rlmr_status rlmr_comm_sum(rlmr_comm *comm, int64_t *values, size_t count, rlmr_error *err) {
    (void)comm;
    (void)values;
    (void)count;
    (void)err;
    return RLMR_OK;
}

rlmr_status rlmr_comm_gather(rlmr_comm *comm, rlmr_source *local, rlmr_consume consume, void *self,
                             rlmr_error *err) {
    rlmr_source source = *local;
    return rlmr_comm_agree(comm, consume(self, &source, 1, err), err);
}

rlmr_status rlmr_comm_exchange(rlmr_comm *comm, const rlmr_exchange *exchange, rlmr_error *err) {
    (void)comm;
    return rlmr_comm_exchange_alone(exchange, 0, err);
}

rlmr_status rlmr_comm_watch(rlmr_comm *comm, int64_t bytes_done, int64_t *total, rlmr_error *err) {
    (void)comm;
    (void)err;
    if (total != NULL) {
        *total = bytes_done;
    }
    return RLMR_OK;
}

rlmr_status rlmr_comm_watch_end(rlmr_comm *comm, rlmr_status local, int64_t bytes_done, rlmr_watch_tick tick,
                                void *self, rlmr_error *err) {
    if (tick != NULL) {
        tick(self, bytes_done);
    }
    return rlmr_comm_agree(comm, local, err);
}
