/** Say on stderr what a user should know of the captures. */
#ifndef RLMR_REPORT_H
#define RLMR_REPORT_H

#include "rlmr/comm.h"
#include "rlmr/mapper.h"

/** Collective. Gather the rows of `/captures` on process 0, which says what is to be said of each, in their order. Then they are its rows
 *  of the table, with ids of its texts, and the others have none.
 *
 *  @param block_bytes what process 0 holds of each process at a time
 *  @param err         not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_report_captures(rlmr_comm *comm, rlmr_partial *partial, size_t block_bytes,
                                                 int verbosity, rlmr_error *err);

#endif
