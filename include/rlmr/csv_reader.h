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

#endif
