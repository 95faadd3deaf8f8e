/* layer: io */
/** One column of a table in the file: a dataset of numbers, or a group of codes and categories. */
#ifndef RLMR_HDF5_COLUMN_H
#define RLMR_HDF5_COLUMN_H

#include "hdf5_attribute.h"
#include "rlmr/stream.h"

/** Texts that are waiting to be written. */
typedef struct rlmr_hdf5_batch rlmr_hdf5_batch;

typedef struct {
    const rlmr_column *declared;
    hid_t group;      /**< of a text column */
    hid_t values;     /**< dataset of numbers or codes */
    hid_t categories; /**< dataset of texts until rlmr_hdf5_column_complete(), of a text column */
    rlmr_hdf5_batch *batch;
    uint64_t rows;
    uint64_t categories_count;
} rlmr_hdf5_column;

/** A column that is not in the file: what rlmr_hdf5_column_close() leaves, and may be given. */
rlmr_hdf5_column rlmr_hdf5_column_none(void);

/** Create the column, empty.
 *
 *  @param parent    group of the table
 *  @param declared  borrowed until rlmr_hdf5_column_close()
 *  @param out       rlmr_hdf5_column_close() in every case
 *  @return OK, E_NOMEM or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_column_open(hid_t parent, const rlmr_column *declared,
                                                  const rlmr_hdf5_types *types, rlmr_hdf5_column *out,
                                                  rlmr_error *err);

/** Append texts, which are copied: they reach the file in batches that depend only on the texts, not on the
 *  calls.
 *  @return OK, E_NOMEM, E_RANGE (2^31 - 1 texts, a NUL byte) or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_column_append_texts(rlmr_hdf5_column *column,
                                                          const rlmr_hdf5_types *types,
                                                          const rlmr_slice *texts, size_t count,
                                                          rlmr_error *err);

/** Write the texts that are still waiting; none may follow. Nothing happens for a column of numbers, or the
 *  second time.
 *  @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_column_complete(rlmr_hdf5_column *column, const rlmr_hdf5_types *types,
                                                      rlmr_error *err);

/** Append a chunk of packed values or codes. @return OK, E_RANGE (a code without a text, no rows or too many, a chunk behind one that
 *  is not full) or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_column_append_chunk(rlmr_hdf5_column *column, const rlmr_chunk *chunk,
                                                          rlmr_error *err);

/** Close the datasets, which writes what HDF5 still holds of them. @return OK or E_OUTPUT; all is released in
 *  any case */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_column_close(rlmr_hdf5_column *column, rlmr_error *err);

#endif
