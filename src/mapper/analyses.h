/** The parts of mapping a capture. Each reads the files that it needs, text before databases, and appends rows.
 *
 *  All: @return OK, E_NOMEM, E_RANGE, or what the meter returned; what is wrong with a file is noted in the capture. */
#ifndef RLMR_ANALYSES_H
#define RLMR_ANALYSES_H

#include "job.h"

/** operator_memory and trace_view: /memory_events. */
RLMR_MUST_CHECK rlmr_status rlmr_map_memory(rlmr_job *job, rlmr_error *err);

/** step_trace_time: the rank rows of /cluster_step_trace_time, if that is made, and job->only_step. Before the next two. */
RLMR_MUST_CHECK rlmr_status rlmr_map_steps(rlmr_job *job, rlmr_error *err);

/** communication and communication_matrix, as far as chosen: /cluster_communication_time, _bandwidth, _matrix, and group_use. */
RLMR_MUST_CHECK rlmr_status rlmr_map_communication(rlmr_job *job, rlmr_error *err);

/** profiler_metadata and the profiler's database: group_declared, job_distribution, /rank_device_map. */
RLMR_MUST_CHECK rlmr_status rlmr_map_metadata(rlmr_job *job, rlmr_error *err);

#endif
