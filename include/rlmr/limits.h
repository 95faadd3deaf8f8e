/* layer: core */
/** How much of a hostile file is believed. Real data meets none of these. What exceeds one is reported with its name and costs the
 *  event, row or operator that it lies in; STACKS and REREAD_BYTES end the reading of a text file, and so do JSON_DEPTH and
 *  STRING_BYTES outside trace_view.json. Of a database more STACKS, or a longer call stack, are left out. */
#ifndef RLMR_LIMITS_H
#define RLMR_LIMITS_H

/** X(NAME, value, what is counted). */
#define RLMR_LIMITS(X)                                                                                       \
    X(JSON_DEPTH, 128, "objects and arrays inside one another in JSON")                                      \
    X(STRING_BYTES, 8 << 20, "bytes of one JSON string, and of one row or call stack of a database")         \
    X(EVENT_BYTES, 16 << 20, "bytes of one event of trace_view.json")                                        \
    X(RECORD_BYTES, 16 << 20,                                                                                \
      "bytes held of one operator of a communication file, or one entry of the metadata")                    \
    X(CSV_CELL_BYTES, 1 << 20, "bytes of one CSV cell")                                                      \
    X(CSV_ROW_BYTES, 4 << 20, "bytes of one CSV row")                                                        \
    X(CSV_COLUMNS, 4096, "cells of one CSV row")                                                             \
    X(STACKS, 1 << 20, "distinct call stacks of one capture")                                                \
    X(REREAD_BYTES, 1 << 28, "bytes of one file that are read again behind damage")

#define RLMR_LIMIT_ENUM(name, value, meaning) RLMR_LIMIT_##name = (value),
enum { RLMR_LIMITS(RLMR_LIMIT_ENUM) };

/** What an error message ends with, for example " (limit JSON_DEPTH)". */
#define RLMR_LIMIT_TEXT(name) " (limit " #name ")"

#endif
