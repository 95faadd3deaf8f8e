/* layer: io */
/** Attributes, in the forms in which h5py writes them. */
#ifndef RLMR_HDF5_ATTRIBUTE_H
#define RLMR_HDF5_ATTRIBUTE_H

#include "hdf5_call.h"

#include <stdbool.h>
#include <stddef.h>

/** File types that are not predefined. */
typedef struct {
    hid_t text;    /**< variable-length UTF-8, NUL-terminated: h5py's str */
    hid_t boolean; /**< enum of int8 {FALSE = 0, TRUE = 1}: h5py's bool */
} rlmr_hdf5_types;

/** Nothing open: what rlmr_hdf5_types_close() leaves, and may be given. */
rlmr_hdf5_types rlmr_hdf5_types_none(void);

/** @param out  rlmr_hdf5_types_close() in every case  @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_types_open(rlmr_hdf5_types *out, rlmr_error *err);
void rlmr_hdf5_types_close(rlmr_hdf5_types *types);

/** A scalar. @param value  of the type `memory_type` */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_attribute(hid_t object, const char *name, hid_t file_type,
                                                hid_t memory_type, const void *value, rlmr_error *err);

/** A scalar text. @param value  NUL-terminated UTF-8 */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_string(hid_t object, const rlmr_hdf5_types *types, const char *name,
                                             const char *value, rlmr_error *err);

/** A 1-D array of texts, which may have no element. */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_strings(hid_t object, const rlmr_hdf5_types *types, const char *name,
                                              const char *const *values, size_t count, rlmr_error *err);

/** The attributes by which AnnData knows what an object is. */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_encoding(hid_t object, const rlmr_hdf5_types *types,
                                               const char *encoding, rlmr_error *err);

#endif
