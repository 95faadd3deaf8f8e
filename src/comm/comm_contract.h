/* layer: comm */
/** What both implementations of comm.h promise alike. */
#ifndef RLMR_COMM_CONTRACT_H
#define RLMR_COMM_CONTRACT_H

#include "rlmr/comm.h"

#include <limits.h>

/** Room for the headers, which are messages like any other. */
#define RLMR_MESSAGE_BYTES_LEAST 64

/** @return OK, or E_RANGE if `message_bytes` is too small for a header or more than MPI counts in an int */
static inline rlmr_status rlmr_comm_check_message_bytes(size_t message_bytes, rlmr_error *err) {
    if (message_bytes < RLMR_MESSAGE_BYTES_LEAST || message_bytes > INT_MAX) {
        return rlmr_error_set(err, RLMR_E_RANGE, "messages of %zu bytes: allowed are %d to %d", message_bytes,
                              RLMR_MESSAGE_BYTES_LEAST, INT_MAX);
    }
    return RLMR_OK;
}

/** Make the record of a failure agree with the status that its owner returns; a record that was left empty
 *  gets the fixed text. Nothing happens if `status` is OK. */
static inline void rlmr_comm_complete_record(rlmr_status status, rlmr_error *err) {
    if (status != RLMR_OK) {
        (void)rlmr_error_set(err, status, "%s", rlmr_status_text(status));
        err->code = status;
    }
}

/** What a process sends to itself in an exchange. */
rlmr_status rlmr_comm_exchange_alone(const rlmr_exchange *exchange, int rank, rlmr_error *err);

#endif
