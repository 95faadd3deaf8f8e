/** Rows of a table of a SQLite file, as texts. */
#ifndef RLMR_SQLITE_SCAN_H
#define RLMR_SQLITE_SCAN_H

#include "rlmr/csv_reader.h"
#include "sqlite_file.h"

/** Enough for the digits of any REAL. */
#define RLMR_SQLITE_NUMBER_BYTES 352

/** A value as text: the digits of a number, without exponent; the bytes of a text or blob; NULL is empty.
 *  @param scratch where the digits of a REAL go
 *  @param text    out: borrowed until the statement's next step
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_scan_value(rlmr_sqlite_file *file, sqlite3_stmt *statement,
                                                   int column, char scratch[RLMR_SQLITE_NUMBER_BYTES],
                                                   rlmr_slice *text);

/** One pass over a table in rowid order. A row that exceeds the limit STRING_BYTES is passed over, and is
 *  damage. */
typedef struct {
    rlmr_sqlite_file *file;
    const char *table;
    size_t count;      /**< of columns */
    rlmr_slice *cells; /**< of the row, in the order asked for; empty if NULL or if there is no such column */
    bool *is_text;     /**< per cell: a text in the file, no number */
    sqlite3_stmt *statement;
    char (*scratch)[RLMR_SQLITE_NUMBER_BYTES];
    int64_t next_rowid;
    uint64_t rows; /**< given so far */
    bool past_end; /**< no rowid can follow */
} rlmr_sqlite_scan;

/** @param columns as rlmr_sqlite_file_table() filled them; those that are not present give empty cells
 *  @param out     rlmr_sqlite_scan_close(), also after an error
 *  @return as rlmr_sqlite_file_table() */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_scan_open(rlmr_sqlite_file *file, const char *table,
                                                  const rlmr_sqlite_column *columns, size_t count,
                                                  rlmr_sqlite_scan *out);
void rlmr_sqlite_scan_close(rlmr_sqlite_scan *scan);

/** @param row out: whether there is a further row; its cells are borrowed until the next call
 *  @return as rlmr_sqlite_file_table() */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_scan_next(rlmr_sqlite_scan *scan, bool *row);

typedef rlmr_status (*rlmr_sqlite_on_row)(void *self, const rlmr_sqlite_scan *scan);

/** Look for a table and give its rows in rowid order.
 *  @param columns names of those that are looked for; out: what is there
 *  @param present out: whether there is such a table
 *  @return as rlmr_sqlite_file_table(), or what `on_row` returned */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_scan_table(rlmr_sqlite_file *file, const char *table,
                                                   rlmr_sqlite_column *columns, size_t count,
                                                   rlmr_sqlite_on_row on_row, void *self, bool *present);

/** The most columns of a table that is given as rows of a CSV file. */
#define RLMR_SQLITE_CSV_COLUMNS 16

/** Give `count` cells as a row of a CSV file, without those whose column the table lacks.
 *  @return what `on_row` returned */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_scan_csv_row(const rlmr_sqlite_column *columns,
                                                     const rlmr_slice *cells, size_t count, uint64_t number,
                                                     rlmr_on_row on_row, void *self, rlmr_error *err);

#endif
