/* layer: io */
/** Reads the tables of an output file (hdf5_sink.h). The file may be cut, damaged or made to harm: what does not fit is an error
 *  that names table and column. Only tables are believed that lie in the file itself, take no more room in memory than what is
 *  stored can fill, and need no filter but those of HDF5. */
#ifndef RLMR_HDF5_SOURCE_H
#define RLMR_HDF5_SOURCE_H

#include "rlmr/table.h"

typedef struct rlmr_hdf5_source rlmr_hdf5_source;

/** Open a file, read-only, and see that it is one of ours, of a version that is known.
 *  @param out rlmr_hdf5_source_close(); NULL after an error
 *  @return OK, E_NOMEM, E_INPUT (absent, not readable), E_PARSE (another kind of file, damaged), with a cure in the text */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_source_open(const char *path, rlmr_hdf5_source **out, rlmr_error *err);
void rlmr_hdf5_source_close(rlmr_hdf5_source *source);

/** The tables of the file, in bytewise order of their names. */
size_t rlmr_hdf5_source_tables(const rlmr_hdf5_source *source);
const char *rlmr_hdf5_source_table(const rlmr_hdf5_source *source, size_t table);
bool rlmr_hdf5_source_has(const rlmr_hdf5_source *source, const char *table);

/** One table that is read block by block. */
typedef struct rlmr_hdf5_reader rlmr_hdf5_reader;

/** Begin with a table whose columns are known: each stored column must be there in its type, hidden ones are 0 in all rows.
 *  @param schema borrowed until rlmr_hdf5_reader_close()  @param out rlmr_hdf5_reader_close(); NULL after an error
 *  @return OK, E_NOMEM, E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_reader_open(rlmr_hdf5_source *source, const rlmr_schema *schema,
                                                  rlmr_hdf5_reader **out, rlmr_error *err);

/** Begin with any table: its columns are those of the file, the index first; an index `row` of mere row numbers is left out.
 *  As rlmr_hdf5_reader_open(). */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_reader_open_any(rlmr_hdf5_source *source, const char *table,
                                                      rlmr_hdf5_reader **out, rlmr_error *err);
void rlmr_hdf5_reader_close(rlmr_hdf5_reader *reader);

const rlmr_schema *rlmr_hdf5_reader_schema(const rlmr_hdf5_reader *reader);

/** Rows of the whole table. */
uint64_t rlmr_hdf5_reader_rows(const rlmr_hdf5_reader *reader);

/** The text behind a code of a text column; valid until rlmr_hdf5_reader_close(). */
rlmr_slice rlmr_hdf5_reader_text(const rlmr_hdf5_reader *reader, size_t column, uint32_t code);

/** Read the next rows; text columns hold codes, all of which have a text.
 *  @param rows out: owned by the reader, until the next call; no rows mean the end
 *  @return OK, E_NOMEM, E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_reader_next(rlmr_hdf5_reader *reader, const rlmr_rows **rows,
                                                  rlmr_error *err);

/** Read a whole table as an array of its row structs, whose texts are ids of `texts`.
 *
 *  @param row_bytes  size of the schema's row struct
 *  @param rows       out: owned by the caller, free(); NULL if there are none, as if the file has no such table
 *  @return OK, E_NOMEM, E_RANGE, E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_source_load(rlmr_hdf5_source *source, const rlmr_schema *schema,
                                                  size_t row_bytes, rlmr_symtab *texts, void **rows,
                                                  size_t *count, rlmr_error *err);

#endif
