/* layer: core */
/** Where an event seems to begin in the midst of an array of events. */
#ifndef RLMR_EVENT_GUESS_H
#define RLMR_EVENT_GUESS_H

#include "rlmr/event_scan.h"

/** Find what looks like the first byte of an event that another precedes: from there on, as far as a limit or the end of `text`,
 *  a scan meets events, at least one, and neither damage nor the end of the array. An array of objects inside an event
 *  may be taken for the events.
 *
 *  @param at out: the byte in `text`
 *  @return whether there is one */
bool rlmr_event_guess(rlmr_scan_path path, rlmr_slice text, size_t *at);

#endif
