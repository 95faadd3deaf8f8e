/* What both implementations share of the exchange. */
#include "comm_contract.h"

rlmr_status rlmr_comm_exchange_alone(const rlmr_exchange *exchange, int rank, rlmr_error *err) {
    rlmr_bytes block = {0};
    rlmr_status status = RLMR_OK;
    for (bool more = true; status == RLMR_OK && more;) {
        rlmr_bytes_clear(&block);
        status = exchange->produce(exchange->self, rank, &block, err);
        more = status == RLMR_OK && block.bytes > 0;
        status = more ? exchange->consume(exchange->self, rank, &block, err) : status;
    }
    rlmr_bytes_release(&block);
    return status;
}

typedef struct {
    rlmr_bytes *parts;
    rlmr_bytes *mine;
} parts_exchange;

/* The whole part is one block. */
static rlmr_status give_part(void *self, int to, rlmr_bytes *block, rlmr_error *err) {
    (void)err;
    const parts_exchange *between = self;
    rlmr_bytes_release(block);
    *block = between->parts[to];
    between->parts[to] = (rlmr_bytes){0};
    return RLMR_OK;
}

static rlmr_status take_part(void *self, int from, rlmr_bytes *block, rlmr_error *err) {
    (void)err;
    const parts_exchange *between = self;
    rlmr_bytes_release(&between->mine[from]);
    between->mine[from] = *block;
    *block = (rlmr_bytes){0};
    return RLMR_OK;
}

rlmr_status rlmr_comm_exchange_parts(rlmr_comm *comm, rlmr_bytes *parts, rlmr_bytes *mine, rlmr_error *err) {
    parts_exchange between = {.parts = parts, .mine = mine};
    const rlmr_exchange exchange = {.produce = give_part, .consume = take_part, .self = &between};
    for (int p = 0; p < rlmr_comm_size(comm); p++) {
        rlmr_bytes_clear(&mine[p]);
    }
    return rlmr_comm_exchange(comm, &exchange, err);
}
