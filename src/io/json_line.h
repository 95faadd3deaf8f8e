/** A JSON value as one line, laid out as Python's json.dumps does by default: ", " and ": " between tokens, all in ASCII.
 *  Numbers stay as they are written. */
#ifndef RLMR_JSON_LINE_H
#define RLMR_JSON_LINE_H

#include "rlmr/json_reader.h"

/** Append the next token of the value to `line`, which holds those before it. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_json_line_add(rlmr_bytes *line, rlmr_json_kind kind, rlmr_slice text,
                                               rlmr_error *err);

#endif
