/** What one capture directory says about itself. */
#ifndef RLMR_CAPTURE_DIR_H
#define RLMR_CAPTURE_DIR_H

#include "rlmr/capture.h"

/** Fill role, rank_id, timestamp, files and, if it is not ok, status and message from a `*_ascend_pt`
 *  directory.
 *
 *  @param path    absolute, without links
 *  @param capture in: initialised; out: filled as far as possible, also on E_NOMEM
 *  @return OK, whatever is wrong with the directory; E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_capture_dir_read(const char *path, rlmr_capture *capture, rlmr_error *err);

#endif
