/* layer: core */
/** One array of events in several ranges of bytes, each scanned by a process that has not seen what lies before.
 *
 *  A range begins at what looks like the first byte of an event. Whether it is one depends on all before it: ranges are
 *  scanned on that assumption, and their effects, joined in the order of the file, say whether each held. */
#ifndef RLMR_EVENT_RANGE_H
#define RLMR_EVENT_RANGE_H

#include "rlmr/event_scan.h"

/** What a range of bytes does to the state of a JSON text, if the state before it is `start`. */
typedef struct {
    rlmr_scan_carry start;
    rlmr_scan_carry end;
    int64_t depth;  /**< brackets opened less brackets closed */
    int64_t lowest; /**< the least of these at any place of the range, at most 0 */
    bool
        damaged; /**< a byte stands where none of its kind may; brackets are not matched: that is for the event scan */
    bool holds; /**< every range joined began in the state in which the one before it ended */
} rlmr_range_effect;

/** The state before the first byte of an event: outside strings, behind a bracket, a comma or a blank. */
rlmr_scan_carry rlmr_range_before_event(void);

/** The effect of `text`, of any size. To assume that it begins inside a string, set `start.string`. */
rlmr_range_effect rlmr_range_effect_of(rlmr_scan_path path, rlmr_scan_carry start, rlmr_slice text);

/** The effect of `first` and `then` behind one another. Associative; equal to that of the joined text if it holds. */
rlmr_range_effect rlmr_range_effect_join(const rlmr_range_effect *first, const rlmr_range_effect *then);

/** Find what looks like the first byte of an event that another precedes: from there on, as far as a limit or the end of `text`,
 *  a scan meets events, at least one, and neither damage nor the end of the array. An array of objects inside an event
 *  may be taken for the events.
 *
 *  @param at out: the byte in `text`
 *  @return whether there is one */
bool rlmr_range_guess(rlmr_scan_path path, rlmr_slice text, size_t *at);

#endif
