/** Table STRING_IDS (id, value): the texts that other tables of a database name by a number. */
#ifndef RLMR_STRING_IDS_H
#define RLMR_STRING_IDS_H

#include "sqlite_scan.h"

typedef struct {
    rlmr_sqlite_file *file;
    sqlite3_stmt *lookup; /**< NULL: there are no texts */
    int failure;          /**< of SQLite, that has been told */
    bool too_large;       /**< a text over the limit has been told */
    int64_t bytes_left;   /**< of texts that may still be looked up */
} rlmr_string_ids;

/** A database without such a table has no texts.
 *  @param out rlmr_string_ids_close(), also after an error
 *  @return OK (also behind damage), E_NOMEM, or what a callback returned */
RLMR_MUST_CHECK rlmr_status rlmr_string_ids_open(rlmr_sqlite_file *file, rlmr_string_ids *out);
void rlmr_string_ids_close(rlmr_string_ids *strings);

/** The text of a cell that holds its number; a cell that is text itself is that text.
 *
 *  @param text  out: borrowed until the next call; empty if there is none
 *  @param found out: false if the cell is a number that names no text
 *  @return as rlmr_string_ids_open() */
RLMR_MUST_CHECK rlmr_status rlmr_string_ids_text(rlmr_string_ids *strings, rlmr_slice cell, bool is_text,
                                                 rlmr_slice *text, bool *found);

/** The text with number `id`. @return as rlmr_string_ids_text() */
RLMR_MUST_CHECK rlmr_status rlmr_string_ids_find(rlmr_string_ids *strings, int64_t id, rlmr_slice *text,
                                                 bool *found);

#endif
