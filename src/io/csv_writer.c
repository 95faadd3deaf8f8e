#include "rlmr/number_text.h"
#include "text_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void begin_cell(rlmr_text *file, bool empty) {
    if (file->cells > 0) {
        rlmr_text_put(file, RLMR_SLICE(","));
    }
    file->cells++;
    file->cell_empty = empty;
}

static bool needs_quotes(rlmr_slice cell) {
    for (size_t i = 0; i < cell.bytes; i++) {
        char c = cell.text[i];
        if (c == ',' || c == '"' || c == '\r' || c == '\n') {
            return true;
        }
    }
    return false;
}

void rlmr_csv_text(rlmr_text *file, rlmr_slice cell) {
    begin_cell(file, cell.bytes == 0);
    if (!needs_quotes(cell)) {
        rlmr_text_put(file, cell);
        return;
    }
    rlmr_text_put(file, RLMR_SLICE("\""));
    while (cell.bytes > 0) {
        const char *quote = memchr(cell.text, '"', cell.bytes);
        size_t bytes = quote == NULL ? cell.bytes : (size_t)(quote - cell.text) + 1;
        rlmr_text_put(file, (rlmr_slice){cell.text, bytes});
        if (quote != NULL) {
            rlmr_text_put(file, RLMR_SLICE("\"")); /* twice inside quotes */
        }
        cell = (rlmr_slice){cell.text + bytes, cell.bytes - bytes};
    }
    rlmr_text_put(file, RLMR_SLICE("\""));
}

void rlmr_csv_i64(rlmr_text *file, int64_t cell) {
    char text[RLMR_NUMBER_TEXT_BYTES];
    begin_cell(file, false);
    rlmr_text_put(file, (rlmr_slice){text, (size_t)sprintf(text, "%" PRId64, cell)});
}

void rlmr_csv_f64(rlmr_text *file, double cell) {
    begin_cell(file, isnan(cell));
    if (!isnan(cell)) {
        char text[RLMR_NUMBER_TEXT_BYTES];
        rlmr_text_put(file, (rlmr_slice){text, rlmr_number_text(cell, text)});
    }
}

void rlmr_csv_end_row(rlmr_text *file) {
    if (file->cells == 1 && file->cell_empty) {
        rlmr_text_put(file, RLMR_SLICE("\"\"")); /* readers skip empty lines */
    }
    rlmr_text_put(file, RLMR_SLICE("\r\n"));
    file->cells = 0;
}
