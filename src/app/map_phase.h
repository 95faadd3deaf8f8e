/** The map phase: the captures of this process, and its pieces of those that several processes share. */
#ifndef RLMR_MAP_PHASE_H
#define RLMR_MAP_PHASE_H

#include "datamap.h"
#include "progress.h"
#include "rlmr/comm.h"

typedef struct {
    rlmr_comm *comm;
    const rlmr_options *options;
    rlmr_datamap *mine; /**< what becomes of the captures is put there */
    rlmr_partial *partial;
    rlmr_progress *progress;
    int64_t bytes_done; /**< by this process, for the progress; what is read twice counts twice */
    int64_t bytes_read; /**< out: of the captures, by this process */
} rlmr_map_phase;

/** Collective. @param local how the caller's preparation went  @return OK, or the same error on all processes */
RLMR_MUST_CHECK rlmr_status rlmr_map_phase_run(rlmr_map_phase *phase, rlmr_status local, rlmr_error *err);

#endif
