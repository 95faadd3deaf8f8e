/** What no capture knows alone: the facts of all captures go to process 0, which makes the map of the job from them; with it each
 *  process completes its rows. */
#ifndef RLMR_COMPLETE_H
#define RLMR_COMPLETE_H

#include "rlmr/comm.h"
#include "rlmr/mapper.h"

/** Collective. Complete the rows of this process: global ranks of links, coordinates and stages of steps; on process 0 also the rows
 *  of /communication_group and /cluster_base_info. The fact tables are used up.
 *
 *  @param block_bytes what process 0 holds of each process at a time
 *  @param err         not NULL  @return the same status on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_complete(rlmr_comm *comm, rlmr_partial *partial,
                                          const rlmr_map_options *options, size_t block_bytes,
                                          rlmr_error *err);

#endif
