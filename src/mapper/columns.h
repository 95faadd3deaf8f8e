/** The columns of a CSV file, found by the names in its header, and their cells as values. */
#ifndef RLMR_COLUMNS_H
#define RLMR_COLUMNS_H

#include "damage.h"
#include "rlmr/csv_reader.h"

/** What a column holds. The header's cell names the unit of times and of memory, "Size(KB)"; the others have none, so that a
 *  parenthesis belongs to the title. */
typedef enum {
    RLMR_CELL_TEXT,
    RLMR_CELL_NUMBER, /* as it is */
    RLMR_CELL_TIME,   /* a time stamp in ns, or a duration in ms */
    RLMR_CELL_KIB,
    RLMR_CELL_MIB
} rlmr_cell_kind;

typedef struct {
    const char *title; /* without its unit */
    rlmr_cell_kind kind;
    bool required; /* without it no row can be read */
} rlmr_csv_column;

#define RLMR_COLUMNS_MAX 16

/** Where the columns are in one file. Holds no memory of its own. */
typedef struct {
    const rlmr_csv_column *columns;
    size_t count;
    rlmr_file_damage *damage;
    size_t place[RLMR_COLUMNS_MAX]; /* of each column; SIZE_MAX if there is none */
    int power[RLMR_COLUMNS_MAX];    /* of its unit */
    size_t cells_expected;          /* in a row */
    bool no_header;                 /* it is lost, or lacks a column that is required */
} rlmr_columns;

/** For a file whose rows follow. @param columns `count` <= RLMR_COLUMNS_MAX of them; borrowed, as is `damage` */
rlmr_columns rlmr_columns_of(const rlmr_csv_column *columns, size_t count, rlmr_file_damage *damage);

/** Take a row: the header if it is the first, else note if it has not as many cells as the header.
 *  @param kept out: the row, without a cell that may be cut  @param is_data out: whether the caller should read it
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_columns_row(rlmr_columns *columns, const rlmr_csv_row *row,
                                             rlmr_csv_row *kept, bool *is_data, rlmr_error *err);

/** A cell as it is, empty if absent. */
rlmr_slice rlmr_columns_cell(const rlmr_columns *columns, const rlmr_csv_row *row, int column);

/** Count a bad cell, and note it. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_columns_bad_cell(rlmr_columns *columns, const rlmr_csv_row *row, int column,
                                                  rlmr_slice cell, const char *reason, rlmr_error *err);

/** A time stamp in ns; INT64_MIN if the cell is absent, or bad, which is noted. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_columns_time(rlmr_columns *columns, const rlmr_csv_row *row, int column,
                                              int64_t *ns, rlmr_error *err);

/** A number in the unit of the column's kind, rounded once; NaN if the cell is absent, or bad, which is noted.
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_columns_number(rlmr_columns *columns, const rlmr_csv_row *row, int column,
                                                double *value, rlmr_error *err);

/** A text as an id; what is not UTF-8 is noted. @return OK, E_NOMEM or E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_columns_text(rlmr_columns *columns, const rlmr_csv_row *row, int column,
                                              rlmr_symtab *texts, uint32_t *id, rlmr_error *err);

#endif
