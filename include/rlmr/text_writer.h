/* layer: io */
/** A text file that appears whole or not at all, and the two forms of text that are written: CSV and JSON.
 *
 *  Writing keeps its first error: what follows it is dropped, and rlmr_text_commit() returns it. So only who writes much looks
 *  at rlmr_text_status() now and then. */
#ifndef RLMR_TEXT_WRITER_H
#define RLMR_TEXT_WRITER_H

#include "rlmr/bytes.h"

typedef struct rlmr_text rlmr_text;

/** Create the file for `target`: a temporary beside it, renamed onto it by rlmr_text_commit().
 *
 *  @param replace  false: an existing target is an error, now and again at the commit
 *  @param out      owned by the caller, rlmr_text_commit() or rlmr_text_discard(); NULL after an error
 *  @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_text_create(const char *target, bool replace, rlmr_text **out,
                                             rlmr_error *err);

/** Path of the temporary file, for a signal handler; valid until commit or discard. */
const char *rlmr_text_temporary(const rlmr_text *file);

void rlmr_text_put(rlmr_text *file, rlmr_slice bytes);

/** The first error so far. */
RLMR_MUST_CHECK rlmr_status rlmr_text_status(const rlmr_text *file, rlmr_error *err);

/** Bring all to the disk under the final name. Frees `file` in every case; after an error the temporary is gone and an
 *  existing target untouched. @return OK, or the first error */
RLMR_MUST_CHECK rlmr_status rlmr_text_commit(rlmr_text *file, rlmr_error *err);

/** Close and remove the temporary; NULL is allowed. */
void rlmr_text_discard(rlmr_text *file);

/* ---- CSV as Python's csv module writes it: quotes only where needed, lines end with CR LF ---- */

/** A cell, and the end of a row. A row that has one empty cell only is written as "" so that it can be read back. */
void rlmr_csv_text(rlmr_text *file, rlmr_slice cell);
void rlmr_csv_i64(rlmr_text *file, int64_t cell);
/** NaN is an empty cell. */
void rlmr_csv_f64(rlmr_text *file, double cell);
void rlmr_csv_end_row(rlmr_text *file);

/* ---- JSON as Python's json.dumps() writes it: on one line, ASCII alone ---- */

/** Begin and end objects and arrays; commas and blanks come by themselves. At most 16 lie inside one another. */
void rlmr_json_open(rlmr_text *file, char bracket);
void rlmr_json_close(rlmr_text *file, char bracket);

/** The key of the next value, in an object; the second: of three pieces. */
void rlmr_json_key(rlmr_text *file, rlmr_slice key);
void rlmr_json_key_of(rlmr_text *file, rlmr_slice first, rlmr_slice second, rlmr_slice third);

void rlmr_json_text(rlmr_text *file, rlmr_slice value);
void rlmr_json_i64(rlmr_text *file, int64_t value);
/** Not finite is NaN, Infinity or -Infinity, which Python reads. */
void rlmr_json_f64(rlmr_text *file, double value);
/** A number that is text already. */
void rlmr_json_number(rlmr_text *file, rlmr_slice digits);

#endif
