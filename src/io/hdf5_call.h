/* layer: io */
/** What all writers of HDF5 share: silence, its error as one of ours, handles that are closed, groups. */
#ifndef RLMR_HDF5_CALL_H
#define RLMR_HDF5_CALL_H

#include "rlmr/error.h"

#include <hdf5.h>

/** Keep HDF5 from printing, and from writing to files that are still open when the process exits. Idempotent;
 *  the latter works only before any other call of HDF5. */
void rlmr_hdf5_silence(void);

/** Fill `err` from the HDF5 call that failed last: the text given here, then what the innermost HDF5 function
 *  says. No other call of HDF5 may come between, except by rlmr_hdf5_drop(). @return E_OUTPUT */
RLMR_PRINTF(2, 3) rlmr_status rlmr_hdf5_failed(rlmr_error *err, const char *format, ...);

/** Close a handle that may be invalid, without a look at the result: for handles that hold nothing unwritten.
 *  Errors of earlier calls stay readable. */
void rlmr_hdf5_drop(hid_t id, herr_t (*closer)(hid_t));

/** Create a group that records no times, which would make two runs differ. @param out  open, or invalid on
 *  failure
 *  @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_group(hid_t parent, const char *name, hid_t *out, rlmr_error *err);

#endif
