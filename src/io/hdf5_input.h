/* layer: io */
/** Pieces of an HDF5 file of unknown origin: groups, attributes, and 1-D datasets that are read in order. Errors are E_PARSE, or
 *  E_NOMEM, and begin with what is wrong; the caller puts the place before. */
#ifndef RLMR_HDF5_INPUT_H
#define RLMR_HDF5_INPUT_H

#include "hdf5_call.h"
#include "rlmr/table.h"

/** Open what lies in the file itself under `name`: no link to another name or file is followed. @param out invalid on failure */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_group(hid_t parent, const char *name, hid_t *out,
                                                  rlmr_error *err);

/** Whether there is a group of this name, and not another kind of object. */
bool rlmr_hdf5_input_is_group(hid_t parent, const char *name);

/** A scalar text attribute, or a 1-D array of texts. @param texts out: owned, NUL-terminated, one behind the other */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_texts(hid_t object, const char *name, size_t count_max,
                                                  rlmr_bytes *texts, size_t *count, rlmr_error *err);

/** A scalar integer attribute. */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_integer(hid_t object, const char *name, int64_t *value,
                                                    rlmr_error *err);

/** A dataset of one of our types; TEXT means variable-length strings here. */
typedef struct {
    hid_t id;
    hid_t memory_type;
    size_t element_bytes; /**< in memory; of a text its reference */
    uint64_t entries;
} rlmr_hdf5_input;

/** What rlmr_hdf5_input_close() leaves, and may be given. */
rlmr_hdf5_input rlmr_hdf5_input_none(void);

/** Open a dataset. @param type out: what its values are  @param out rlmr_hdf5_input_close() in every case */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_open(hid_t parent, const char *name, rlmr_type *type,
                                                 rlmr_hdf5_input *out, rlmr_error *err);
void rlmr_hdf5_input_close(rlmr_hdf5_input *input);

/** Read entries of a dataset of numbers. */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_read(const rlmr_hdf5_input *input, uint64_t first, size_t count,
                                                 void *values, rlmr_error *err);

/** Read all texts. @param bytes_max that all may take together, with a NUL each
 *  @param text   out: the texts, NUL-terminated, one behind the other
 *  @param starts out: owned, free(); where each text begins, and where the last ends */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_input_read_texts(const rlmr_hdf5_input *input, uint64_t bytes_max,
                                                       rlmr_bytes *text, size_t **starts, rlmr_error *err);

#endif
