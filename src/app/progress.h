/** Progress on stderr: one line rewritten on a terminal, plain lines elsewhere. */
#ifndef RLMR_PROGRESS_H
#define RLMR_PROGRESS_H

#include "options.h"

typedef struct {
    bool shown;
    bool terminal;
    int64_t total_bytes;
    double period_s; /**< between two lines */
    double start_s;
    double last_s;  /**< of the last line */
    bool line_open; /**< a line on the terminal waits for its end */
} rlmr_progress;

/** @param total_bytes that will be read by all processes together  @param shown false on all processes but
 *  one */
void rlmr_progress_start(rlmr_progress *progress, const rlmr_options *options, int64_t total_bytes,
                         bool shown);

/** Print a line if it is time. */
void rlmr_progress_update(rlmr_progress *progress, int64_t done_bytes);

/** End a line that is open. */
void rlmr_progress_end(rlmr_progress *progress);

#endif
