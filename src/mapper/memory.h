/** Memory analysis of one capture: records of operator_memory.csv, each with the call stack of its operator. */
#ifndef RLMR_MEMORY_H
#define RLMR_MEMORY_H

#include "damage.h"
#include "rlmr/csv_reader.h"
#include "rlmr/trace_reader.h"
#include "stack_index.h"

typedef struct rlmr_memory rlmr_memory;

/** @param capture,options,partial borrowed until close  @param out owned by the caller, rlmr_memory_close()
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_memory_open(rlmr_capture *capture, const rlmr_map_options *options,
                                             rlmr_partial *partial, rlmr_memory **out, rlmr_error *err);
void rlmr_memory_close(rlmr_memory *memory);

/** Rows of a file follow, the titles first; what is wrong with them goes to `damage`, which is borrowed until
 *  rlmr_memory_rows_end(). */
void rlmr_memory_rows_begin(rlmr_memory *memory, rlmr_file_damage *damage);

/** Take one row of operator_memory.csv, or what has its form: append it without a stack. An rlmr_on_row.
 *  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_memory_row(void *memory, const rlmr_csv_row *row, rlmr_error *err);
void rlmr_memory_rows_end(rlmr_memory *memory);

/** True if a record looks for a stack, so that the trace is worth reading. */
bool rlmr_memory_wants_trace(const rlmr_memory *memory);

/** Events of a file follow; what is wrong with them goes to `damage`, which is borrowed until the last of them. */
void rlmr_memory_events_begin(rlmr_memory *memory, rlmr_file_damage *damage);

/** Take one event of the trace. An rlmr_on_event. @return OK, E_NOMEM, E_RANGE, E_LIMIT (STACKS) */
RLMR_MUST_CHECK rlmr_status rlmr_memory_event(void *memory, const rlmr_trace_event *event, rlmr_error *err);

/** After the trace: match, and fill in the stacks. @param damage takes what is wrong with these
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_memory_finish(rlmr_memory *memory, rlmr_file_damage *damage,
                                               rlmr_error *err);

/** Of the records that look for a stack: when all have been read and none of others were taken, of those here. */
rlmr_time_window rlmr_memory_window(const rlmr_memory *memory);

/** For a capture that several processes read. Each appends to `out` what the others must take: after the rows, the names and the
 *  times of the records; after the events, what may matter to the other's records, see stack_index.h.
 *  @param window that of the other's records which look for a stack
 *  @return OK, E_NOMEM, E_PARSE; of take_events() E_RANGE and E_LIMIT (STACKS) too */
RLMR_MUST_CHECK rlmr_status rlmr_memory_encode_records(const rlmr_memory *memory, rlmr_bytes *out,
                                                       rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_memory_take_records(rlmr_memory *memory, rlmr_slice told,
                                                     rlmr_time_window *window, rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_memory_encode_events(const rlmr_memory *memory,
                                                      const rlmr_time_window *window, rlmr_bytes *out,
                                                      rlmr_error *err);
/** @param own window of the records here */
RLMR_MUST_CHECK rlmr_status rlmr_memory_ask(const rlmr_memory *memory, const rlmr_time_window *own,
                                            rlmr_bytes *out, rlmr_error *err);
/** @param asked what the other has appended in rlmr_memory_ask()  @param window that of its records */
RLMR_MUST_CHECK rlmr_status rlmr_memory_answer(const rlmr_memory *memory, const rlmr_bytes *asked,
                                               const rlmr_time_window *window, rlmr_bytes *out,
                                               rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_memory_take_events(rlmr_memory *memory, rlmr_slice told, rlmr_error *err);

/** So many rows of the file come before those that were taken here. */
void rlmr_memory_shift_rows(rlmr_memory *memory, int64_t rows_before);

#endif
