/** Progress on stderr: one line rewritten on a terminal, plain lines elsewhere. */
#ifndef RLMR_PROGRESS_H
#define RLMR_PROGRESS_H

#include "options.h"

typedef struct {
    bool shown;
    bool always; /**< a last line, however short the reading was */
    bool terminal;
    int64_t total_bytes;
    int64_t done_bytes; /**< at most the total */
    double period_s;    /**< between two lines */
    double start_s;
    double last_s; /**< of the last line */
    bool begun;    /**< there was a line */
} rlmr_progress;

/** @param total_bytes that will be read by all processes together  @param shown false on all processes but
 *  one */
void rlmr_progress_start(rlmr_progress *progress, const rlmr_options *options, int64_t total_bytes,
                         bool shown);

/** Print a line if it is time: bytes done, their rate since the start, and the time that the others take at this rate. */
void rlmr_progress_update(rlmr_progress *progress, int64_t done_bytes);

/** Print the last line, if there was one or one is always wanted; nothing is shown after it. */
void rlmr_progress_end(rlmr_progress *progress);

#endif
