/* layer: io */
/** What the writers of text, CSV and JSON share of a file. */
#ifndef RLMR_TEXT_STATE_H
#define RLMR_TEXT_STATE_H

#include "rlmr/text_writer.h"
#include "target.h"

enum { RLMR_TEXT_BUFFER_BYTES = 1 << 16, RLMR_JSON_DEPTH = 16 };

struct rlmr_text {
    rlmr_target target;
    rlmr_error error; /* the first one */
    size_t used;      /* of the buffer */
    size_t cells;     /* CSV: of the row so far */
    bool cell_empty;  /* CSV: the last cell is */
    int depth;        /* JSON: objects and arrays that are open */
    bool keyed;       /* JSON: a key stands before the next value */
    bool filled[RLMR_JSON_DEPTH];
    char buffer[RLMR_TEXT_BUFFER_BYTES];
};

#endif
