/* layer: io */
/** The table that is being written: a group in AnnData's dataframe encoding. Errors name the table and the
 *  column. */
#ifndef RLMR_HDF5_TABLE_H
#define RLMR_HDF5_TABLE_H

#include "hdf5_column.h"

typedef struct {
    const rlmr_schema *schema; /**< NULL: there is no table */
    hid_t group;
    rlmr_hdf5_column *columns; /**< as in the schema, then the generated index if there is one */
} rlmr_hdf5_table;

/** No table: what rlmr_hdf5_table_close() leaves, and may be given. */
rlmr_hdf5_table rlmr_hdf5_table_none(void);

/** Create the group and all its datasets, empty; they stay open.
 *
 *  @param parent  file or group
 *  @param schema  borrowed until rlmr_hdf5_table_close()
 *  @param out     rlmr_hdf5_table_close() in every case
 *  @return OK, E_NOMEM or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_table_open(hid_t parent, const rlmr_schema *schema,
                                                 const rlmr_hdf5_types *types, rlmr_hdf5_table *out,
                                                 rlmr_error *err);

/** Further texts of a text column; see rlmr_sink. @return OK, E_NOMEM, E_RANGE, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_table_append_texts(rlmr_hdf5_table *table, const rlmr_hdf5_types *types,
                                                         size_t column, const rlmr_slice *texts, size_t count,
                                                         rlmr_error *err);

/** Write what is still buffered of the texts; none may follow. @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_table_complete_texts(rlmr_hdf5_table *table,
                                                           const rlmr_hdf5_types *types, rlmr_error *err);

/** A further chunk of a column, after all texts. @return OK, E_RANGE (a code without a text, no such column, or a chunk behind one
 *  that is not full), E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_table_append_chunk(rlmr_hdf5_table *table, const rlmr_chunk *chunk,
                                                         rlmr_error *err);

/** Close group and datasets, which writes what HDF5 still holds of them. @return OK or E_OUTPUT; all is
 *  released in any case */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_table_close(rlmr_hdf5_table *table, rlmr_error *err);

#endif
