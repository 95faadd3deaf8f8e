/* layer: io */
/** trace_view.json as a stream of events. */
#ifndef RLMR_TRACE_READER_H
#define RLMR_TRACE_READER_H

#include "rlmr/stream.h"

/** X(field, key): text fields of an event object, then of its `args`. */
#define RLMR_EVENT_FIELDS(X)                                                                                 \
    X(name, "name") X(cat, "cat") X(ts, "ts") X(dur, "dur") X(pid, "pid") X(tid, "tid")
#define RLMR_ARGS_FIELDS(X)                                                                                  \
    X(sequence, "Sequence number") X(forward_thread, "Fwd thread id") X(call_stack, "Call stack")

/** One event. A field is the text or the digits as written, borrowed for the call; empty if absent or of
 *  another type. `name`, `cat` and `call_stack` are only ever texts. Of a repeated key the last counts. */
typedef struct {
#define RLMR_EVENT_SLICE(field, key) rlmr_slice field;
    RLMR_EVENT_FIELDS(RLMR_EVENT_SLICE)
    RLMR_ARGS_FIELDS(RLMR_EVENT_SLICE)
    bool call_stack_escaped; /**< it is as the file has it, with backslashes: rlmr_json_string_decode() */
    uint64_t number;         /**< position in the file, from 0 */
    int64_t offset;          /**< of its first byte, -1 if it does not come from a text */
} rlmr_trace_event;

typedef rlmr_status (*rlmr_on_event)(void *self, const rlmr_trace_event *event, rlmr_error *err);

/** Read a trace: an array of events, or an object with the array under `traceEvents`. Every complete event is given.
 *
 *  Damage does not end the reading. An error within an event costs that event. Reading resumes at the next `{` that follows a
 *  `,` (blanks allowed) and from which a complete object with a key `ph` or `name` parses; the token at fault may be that `{`, but
 *  the damaged event's own may not. An element that is no object is damage too, and so is a file without an array of events.
 *
 *  @param damage told of each error, in the order of the file
 *  @param meter  NULL for none
 *  @param events out: events given; right also after an error
 *  @return OK, also if the file is damaged; E_INPUT (cannot be opened or read), E_NOMEM, or what a callback or the meter
 *          returned */
RLMR_MUST_CHECK rlmr_status rlmr_trace_read(const char *path, rlmr_on_event on_event, void *self,
                                            const rlmr_damage *damage, const rlmr_meter *meter,
                                            uint64_t *events, rlmr_error *err);

#endif
