/** Memory analysis of one capture: records of operator_memory.csv, each with the call stack of its operator.
 */
#ifndef RLMR_MEMORY_H
#define RLMR_MEMORY_H

#include "rlmr/mapper.h"
#include "rlmr/trace_reader.h"

typedef struct rlmr_memory rlmr_memory;

/** @param capture,options,partial borrowed until close  @param out owned by the caller, rlmr_memory_close()
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_memory_open(rlmr_capture *capture, const rlmr_map_options *options,
                                             rlmr_partial *partial, rlmr_memory **out, rlmr_error *err);
void rlmr_memory_close(rlmr_memory *memory);

/** Read the records, if the capture has any, and append their rows without stacks. Damage is noted in the
 *  capture.
 *  @return OK, E_NOMEM, E_RANGE, or what the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_memory_read(rlmr_memory *memory, const rlmr_meter *meter, rlmr_error *err);

/** True if a record looks for a stack, so that the trace is worth reading. */
bool rlmr_memory_wants_trace(const rlmr_memory *memory);

/** Take one event of the trace. @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_memory_event(rlmr_memory *memory, const rlmr_trace_event *event,
                                              rlmr_error *err);

/** After the trace: match, and fill in the stacks. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_memory_finish(rlmr_memory *memory, rlmr_error *err);

#endif
