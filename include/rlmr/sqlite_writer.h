/* layer: io */
/** A SQLite database that appears whole or not at all, row by row, in one transaction.
 *
 *  Writing keeps its first error: what follows it is dropped, and rlmr_sqlite_commit() returns it. */
#ifndef RLMR_SQLITE_WRITER_H
#define RLMR_SQLITE_WRITER_H

#include "rlmr/bytes.h"

typedef struct rlmr_sqlite rlmr_sqlite;

/** Whether no journal of another database is there, which SQLite would apply to one of the name `target`. @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_check(const char *target, rlmr_error *err);

/** Create the file for `target`: a temporary beside it, renamed onto it by rlmr_sqlite_commit().
 *
 *  @param replace  false: an existing target is an error, now and again at the commit
 *  @param out      owned by the caller, rlmr_sqlite_commit() or rlmr_sqlite_discard(); NULL after an error
 *  @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_create(const char *target, bool replace, rlmr_sqlite **out,
                                               rlmr_error *err);

/** Path of the temporary file, for a signal handler; valid until commit or discard. */
const char *rlmr_sqlite_temporary(const rlmr_sqlite *file);

/** The table that further rows go to. It is created with its first row, so one without rows is not in the file.
 *
 *  @param name        as in SQL, unquoted; borrowed until the next table, as the definition
 *  @param definition  the CREATE TABLE statement, kept in the file as it is
 *  @param columns     cells of a row */
void rlmr_sqlite_table(rlmr_sqlite *file, const char *name, const char *definition, int columns);

/** The next cell of a row, and the end of the row, when it has all its cells. NaN is NULL. A text is borrowed until the end of
 *  the row. */
void rlmr_sqlite_text(rlmr_sqlite *file, rlmr_slice cell);
void rlmr_sqlite_i64(rlmr_sqlite *file, int64_t cell);
void rlmr_sqlite_f64(rlmr_sqlite *file, double cell);
void rlmr_sqlite_null(rlmr_sqlite *file);
void rlmr_sqlite_end_row(rlmr_sqlite *file);

/** The first error so far. */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_status(const rlmr_sqlite *file, rlmr_error *err);

/** Bring all to the disk under the final name. Frees `file` in every case; after an error the temporary is gone and an
 *  existing target untouched. @return OK, or the first error */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_commit(rlmr_sqlite *file, rlmr_error *err);

/** Close and remove the temporary; NULL is allowed. */
void rlmr_sqlite_discard(rlmr_sqlite *file);

#endif
