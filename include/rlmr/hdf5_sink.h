/* layer: io */
/** The output file: HDF5, each table a group in AnnData's dataframe encoding 0.2.0 (docs/schema.md). */
#ifndef RLMR_HDF5_SINK_H
#define RLMR_HDF5_SINK_H

#include "rlmr/stream.h"

typedef struct rlmr_hdf5 rlmr_hdf5;

/** Create the file for `target`: a temporary file beside it, renamed onto it by rlmr_hdf5_commit().
 *
 *  @param target   path of the final file, borrowed for the call
 *  @param replace  false: an existing target is an error, now and again at the commit
 *  @param out      owned by the caller, rlmr_hdf5_commit() or rlmr_hdf5_discard()
 *  @return OK, E_NOMEM, E_OUTPUT (exists; directory missing, not writable, ...), with a cure in the text */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_create(const char *target, bool replace, rlmr_hdf5 **out,
                                             rlmr_error *err);

/** Path of the temporary file, for a signal handler that must unlink it; valid until commit or discard. */
const char *rlmr_hdf5_temporary(const rlmr_hdf5 *file);

/** Root attributes: a scalar variable-length UTF-8 string, a scalar int64, a scalar float64. */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_attribute_text(rlmr_hdf5 *file, const char *name, const char *value,
                                                     rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_attribute_i64(rlmr_hdf5 *file, const char *name, int64_t value,
                                                    rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_attribute_f64(rlmr_hdf5 *file, const char *name, double value,
                                                    rlmr_error *err);

/** A sink that writes tables into the file, from chunks; valid until commit or discard. */
rlmr_sink rlmr_hdf5_sink(rlmr_hdf5 *file);

/** Close, fsync, rename onto the target, fsync the directory. Frees `file` in every case; on an error the
 *  temporary is gone and an existing target untouched. @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_commit(rlmr_hdf5 *file, rlmr_error *err);

/** Close and remove the temporary; NULL is allowed. */
void rlmr_hdf5_discard(rlmr_hdf5 *file);

#endif
