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

/** Read a trace: an array of events, or an object with the array under `traceEvents`. Every complete event counts, and those
 *  are given that matching can use: with a string `Call stack`, `Sequence number` or `cpu_op`, with an escape in some string,
 *  other than that of a backslash, or with more bytes than STRING_BYTES. Up to the first damage of the file only the bounds of the
 *  others are looked at, by the structure of brackets and strings: see rlmr_event_scan_feed(). What else is wrong inside such an
 *  event goes unnoticed.
 *
 *  Damage does not end the reading. Behind the last event before it everything is parsed and every event given. An error within an
 *  event costs that event. Reading resumes at the next `{` that follows a `,` (blanks allowed) and from which a complete object
 *  with a key `ph` or `name` parses; the token at fault may be that `{`, but the damaged event's own may not. An element that is no
 *  object is damage too, and so is a file without an array of events.
 *
 *  @param strict parse and give all events from the start
 *  @param damage told of each error, in the order of the file
 *  @param meter  NULL for none
 *  @param events out: events of the trace so far; right also after an error
 *  @return OK, also if the file is damaged; E_INPUT (cannot be opened or read), E_NOMEM, or what a callback or the meter
 *          returned */
RLMR_MUST_CHECK rlmr_status rlmr_trace_read(const char *path, bool strict, rlmr_on_event on_event, void *self,
                                            const rlmr_damage *damage, const rlmr_meter *meter,
                                            uint64_t *events, rlmr_error *err);

/** Where in the file, which is not packed, the first event at or behind a byte seems to begin that another precedes there.
 *
 *  @param start out: depends on file and offset only; 0 for the offset 0, and the file's size if none is seen within some
 *               megabytes, or it is packed
 *  @return OK, E_INPUT or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_trace_guess(const char *path, int64_t offset, int64_t *start,
                                             rlmr_error *err);

/** Read the events that begin in a range, as rlmr_trace_read() gives them. Ranges that lie behind one another, the first from 0
 *  and the last to INT64_MAX, give the events of the file if all are sound: the first stands where it should, and each that is sound
 *  and ends between two events says so of the next. If one is not, the file must be read at once.
 *
 *  @param range  `from` is 0, or what rlmr_trace_guess() gave; `to` is the same of a later offset, or INT64_MAX
 *  @param meter  told of the bytes of the range; NULL for none
 *  @param events out: events of the range; their numbers count from 0 in each
 *  @param sound  out: the range is free of damage, and it ends between two events, with one next, or with the whole document; false
 *                if it ends before it begins. If not, events may be missing or wrong
 *  @return OK, also if it is not sound; E_INPUT (cannot be opened), E_NOMEM, or what the callback or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_trace_read_range(const rlmr_file_range *range, bool strict,
                                                  rlmr_on_event on_event, void *self, const rlmr_meter *meter,
                                                  uint64_t *events, bool *sound, rlmr_error *err);

#endif
