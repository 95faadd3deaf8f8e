/** A SQLite file of unknown origin, opened so that it can do no harm. Only tables are read, never views or
 *  virtual tables. */
#ifndef RLMR_SQLITE_FILE_H
#define RLMR_SQLITE_FILE_H

#include "rlmr/stream.h"

#include <sqlite3.h>

typedef struct {
    sqlite3 *handle;
    struct rlmr_sqlite_layer *layer; /**< under SQLite: takes long paths; owned */
    const rlmr_damage *damage;       /**< borrowed */
    const rlmr_meter *meter;         /**< borrowed, NULL for none */
    rlmr_error *err;                 /**< of the public call in progress: where the meter puts its error */
    rlmr_status stopped;             /**< what the meter returned; other than OK it ends every statement */
    int64_t bytes_left;              /**< of the file, that the meter has not heard of */
    int64_t bytes;
    int64_t steps_left; /**< of SQLite's machine, that a file of this size may take */
    int64_t page_bytes;
} rlmr_sqlite_file;

/** Open read-only and immutable: no lock is taken, nothing is written beside the file. A non-empty -wal or
 *  -journal beside it is damage.
 *  @param out rlmr_sqlite_file_close(), also after an error; must stay where it is until then
 *  @return OK, E_INPUT (absent, no regular file, not readable), E_PARSE (no SQLite database), E_NOMEM, or
 *  what a callback returned */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_open(const char *path, const rlmr_damage *damage,
                                                  const rlmr_meter *meter, rlmr_sqlite_file *out,
                                                  rlmr_error *err);
void rlmr_sqlite_file_close(rlmr_sqlite_file *file);

/** Begin a public call: errors of callbacks go to `err`, and SQLite's work for the call is bounded by the
 *  file's size. */
void rlmr_sqlite_file_begin(rlmr_sqlite_file *file, rlmr_error *err);

/** Tell the meter what was read since the last call. @return OK, or what the meter returned, now or before */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_meter(rlmr_sqlite_file *file);

/** Tell `damage`; the reason is "<table>: <text>", or the text if `table` is NULL.
 *  @return OK, E_NOMEM, or what `damage` returned */
RLMR_PRINTF(4, 5)
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_damaged(rlmr_sqlite_file *file, bool lost, const char *table,
                                                     const char *format, ...);

/** What a failed call of SQLite means for us. @return the meter's status if that ended it, E_NOMEM; else,
 *  once `damage` has been told SQLite's message, OK or what `damage` returned */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_failed(rlmr_sqlite_file *file, const char *table, int result);

/** Prepare `sql`, of ours alone, that reads `table`. @param out owned by the caller, sqlite3_finalize();
 *  NULL if it cannot be read, which `damage` was told. @return as rlmr_sqlite_file_failed() */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_prepare(rlmr_sqlite_file *file, const char *table,
                                                     const char *sql, sqlite3_stmt **out);

/** Take the next row of a statement. @param row out: whether there is one; none also behind damage, which
 *  `damage` was told
 *  @return as rlmr_sqlite_file_failed() */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_step(rlmr_sqlite_file *file, const char *table,
                                                  sqlite3_stmt *statement, bool *row);

/** A column that is looked for, and what is there. */
typedef struct {
    const char *name;
    bool present; /**< generated columns are never present: computing them could take any time */
    bool is_key;  /**< its integers can be looked up quickly */
} rlmr_sqlite_column;

/** Look for a table and its columns, without regard to case, as in SQLite.
 *  @return OK (also behind damage), E_NOMEM, or what a callback returned */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_file_table(rlmr_sqlite_file *file, const char *table,
                                                   rlmr_sqlite_column *columns, size_t count, bool *present);

#endif
