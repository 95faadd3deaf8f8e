/* layer: core */
/** The fields of one event as they are written, without decoding. */
#ifndef RLMR_EVENT_FIELDS_H
#define RLMR_EVENT_FIELDS_H

#include "rlmr/event_scan.h"

/** X(field, key, kind): fields of an event object, then of its `args`; a TEXT is never a number, a VALUE may be. */
#define RLMR_RAW_EVENT_FIELDS(X)                                                                             \
    X(name, "name", TEXT)                                                                                    \
    X(cat, "cat", TEXT) X(ts, "ts", VALUE) X(dur, "dur", VALUE) X(pid, "pid", VALUE) X(tid, "tid", VALUE)
#define RLMR_RAW_ARGS_FIELDS(X)                                                                              \
    X(sequence, "Sequence number", VALUE)                                                                    \
    X(forward_thread, "Fwd thread id", VALUE) X(call_stack, "Call stack", TEXT)

typedef struct {
    rlmr_slice
        raw; /**< the number, or what stands between the quotes; empty if absent, of another type, or an empty text */
    bool text;    /**< it stands in quotes */
    bool escaped; /**< it has backslashes */
} rlmr_raw_field;

/** Of a repeated key the last counts, and a repeated `args` replaces the one before it with all its fields. */
typedef struct {
#define RLMR_RAW_FIELD(field, key, kind) rlmr_raw_field field;
    RLMR_RAW_EVENT_FIELDS(RLMR_RAW_FIELD)
    RLMR_RAW_ARGS_FIELDS(RLMR_RAW_FIELD)
#undef RLMR_RAW_FIELD
} rlmr_event_fields;

/** Find the fields of an event. The whole event is checked, values included.
 *
 *  @param event   from its `{` to its `}`; the fields point into it
 *  @param depth   brackets open around it, as for rlmr_event_scan_begin()
 *  @param fields  out
 *  @return false if the event must be parsed, for it is no valid JSON object within the limits, or a key that may name a field
 *          is written with a backslash, or a string may be beyond the limit; the fields mean nothing then */
bool rlmr_event_fields_find(rlmr_scan_path path, rlmr_slice event, int depth, rlmr_event_fields *fields);

/** The same for the event that a scan is giving, while it is given. What the scan has seen of it need not be looked at again.
 *
 *  @param text of the event, at most what was fed */
bool rlmr_event_fields_scanned(const rlmr_event_scan *scan, const rlmr_event_bounds *event, rlmr_slice text,
                               rlmr_event_fields *fields);

#endif
