/* layer: io */
/** CSV files as a stream of rows (libcsv). */
#ifndef RLMR_CSV_READER_H
#define RLMR_CSV_READER_H

#include "rlmr/stream.h"

/** Most cells in a row, and most bytes in a cell or a row; real files have 15 cells and some hundred bytes.
 */
#define RLMR_CSV_CELLS_MAX 4096
#define RLMR_CSV_ROW_BYTES_MAX ((size_t)16 << 20)

/** One row. Cells are without their quotes, and without blanks and TABs around them, inside quotes too; an
 *  `N/A` is empty. All is borrowed for the call. */
typedef struct {
    const rlmr_slice *cells;
    size_t count;
    uint64_t number; /**< from 0, the header */
    int64_t offset;  /**< of the row's first byte */
    bool unended;    /**< the last row, with no line end behind it */
} rlmr_csv_row;

typedef rlmr_status (*rlmr_on_row)(void *self, const rlmr_csv_row *row, rlmr_error *err);

/** Read all rows. A byte order mark and blank lines are passed over; line ends may be LF, CRLF or CR.
 *
 *  On E_LIMIT err->offset is the row's first byte.
 *  @param meter NULL for none
 *  @return OK, E_INPUT, E_NOMEM, E_LIMIT, or what `on_row` or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_csv_read(const char *path, rlmr_on_row on_row, void *self,
                                          const rlmr_meter *meter, rlmr_error *err);

#endif
