/* layer: io */
/** CSV files as a stream of rows (libcsv). */
#ifndef RLMR_CSV_READER_H
#define RLMR_CSV_READER_H

#include "rlmr/stream.h"

/** One row. Cells are without their quotes, and without blanks and TABs around them, inside quotes too; an
 *  `N/A` is empty. All is borrowed for the call. */
typedef struct {
    const rlmr_slice *cells;
    size_t count;
    uint64_t number; /**< from 0, the header */
    int64_t offset;  /**< of the row's first byte; -1 if it does not come from a text */
    bool unended;    /**< the last row, with no line end behind it */
    bool in_quotes;  /**< and the quotes of its last cell are not closed: the file is cut there */
} rlmr_csv_row;

typedef rlmr_status (*rlmr_on_row)(void *self, const rlmr_csv_row *row, rlmr_error *err);

/** Read all rows. A byte order mark and blank lines are passed over; line ends may be LF, CRLF or CR.
 *
 *  A row that exceeds a limit is lost, and so is one with a quote that is not closed, or not doubled in a row of
 *  several lines: reading resumes at the next line then.
 *  A lost row has a number all the same.
 *  @param damage told of each lost row, with the offset of its first byte
 *  @param meter NULL for none
 *  @return OK, E_INPUT (cannot be opened or read), E_PARSE (damaged gzip data), E_LIMIT (REREAD_BYTES), E_NOMEM, or what a
 *          callback or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_csv_read(const char *path, rlmr_on_row on_row, void *self,
                                          const rlmr_damage *damage, const rlmr_meter *meter,
                                          rlmr_error *err);

/** Where in the file, which is not packed, a row may begin: behind the first line end at or behind a byte.
 *
 *  @param start out: depends on file and offset only; 0 for the offset 0, and the file's size if there is no line end within
 *               CSV_ROW_BYTES, or it is packed
 *  @return OK, E_INPUT or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_csv_guess(const char *path, int64_t offset, int64_t *start, rlmr_error *err);

/** Read the file's first row, the titles, and then the rows that begin in a range, as rlmr_csv_read() gives them. Ranges that
 *  lie behind one another, the first from 0 and the last to INT64_MAX, give the rows of the file if all are sound: the first stands
 *  where it should, and each that is sound says so of the next. If one is not, the file must be read at once.
 *
 *  @param range `from` is 0, or what rlmr_csv_guess() gave; `to` is the same of a later offset, or INT64_MAX
 *  @param meter told of the bytes of the range; NULL for none
 *  @param rows  out: rows without the titles; these have the number 0, the others count from 1 in each range. An empty range has
 *               no titles either
 *  @param sound out: no row was lost, and the range ends where a row may begin, outside quotes, or with the file; false if it ends
 *               before it begins. If not, rows may be missing or wrong
 *  @return OK, also if it is not sound; E_INPUT (cannot be opened), E_NOMEM, or what the callback or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_csv_read_range(const rlmr_file_range *range, rlmr_on_row on_row, void *self,
                                                const rlmr_meter *meter, uint64_t *rows, bool *sound,
                                                rlmr_error *err);

#endif
