#include "rlmr/csv_reader.h"

#include "rlmr/input.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    rlmr_on_row on_row;
    void *self;
    rlmr_error *err;
    rlmr_status status; /* callbacks cannot stop libcsv: after an error they do nothing */
    rlmr_bytes text;    /* cells of the row being read */
    size_t *ends;       /* of each cell in text */
    rlmr_slice *cells;
    rlmr_csv_row row;
    bool row_open; /* row.offset is that of the row being read */
    bool mid_line; /* the last piece ended inside a line */
} reader;

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static rlmr_slice strip(rlmr_slice cell) {
    while (cell.bytes > 0 && is_blank(cell.text[0])) {
        cell.text++;
        cell.bytes--;
    }
    while (cell.bytes > 0 && is_blank(cell.text[cell.bytes - 1])) {
        cell.bytes--;
    }
    if (rlmr_slice_equal(cell, RLMR_SLICE("N/A"))) {
        cell.bytes = 0;
    }
    return cell;
}

static rlmr_status over_limit(reader *self) {
    rlmr_status status =
        rlmr_error_set(self->err, RLMR_E_LIMIT, "row %llu has more than %d cells or %zu bytes",
                       (unsigned long long)self->row.number, RLMR_CSV_CELLS_MAX, RLMR_CSV_ROW_BYTES_MAX);
    if (self->err != NULL && self->err->offset < 0) {
        self->err->offset = self->row.offset;
    }
    return status;
}

static void on_cell(void *text, size_t bytes, void *context) {
    reader *self = context;
    if (self->status != RLMR_OK) {
        return;
    }
    if (self->row.count == RLMR_CSV_CELLS_MAX || bytes > RLMR_CSV_ROW_BYTES_MAX - self->text.bytes) {
        self->status = over_limit(self);
        return;
    }
    self->status = rlmr_bytes_append(&self->text, text, bytes, self->err);
    self->ends[self->row.count++] = self->text.bytes;
}

static void on_row_end(int ended_by, void *context) {
    (void)ended_by;
    reader *self = context;
    if (self->status != RLMR_OK) {
        return;
    }
    size_t start = 0;
    for (size_t i = 0; i < self->row.count; i++) {
        const char *text = self->text.data == NULL ? "" : (const char *)self->text.data + start;
        self->cells[i] = strip((rlmr_slice){.text = text, .bytes = self->ends[i] - start});
        start = self->ends[i];
    }
    self->status = self->on_row(self->self, &self->row, self->err);
    self->row.number++;
    self->row.count = 0;
    self->row_open = false;
    rlmr_bytes_clear(&self->text);
}

/* libcsv gives its reallocation no context; a refusal is its CSV_ENOMEM, and means the limit. */
static void *bounded_realloc(void *old, size_t bytes) {
    return bytes > RLMR_CSV_ROW_BYTES_MAX ? NULL : realloc(old, bytes);
}

/* Bytes from `line` up to and with its end, LF, CRLF or CR, or all. `feed` is the next LF, NULL for none: it is kept from
 * line to line, since looking for it anew behind each CR would be quadratic. */
static size_t line_bytes(const char *line, const char *end, const char *feed) {
    size_t length = (size_t)((feed == NULL ? end : feed + 1) - line);
    const char *carriage = memchr(line, '\r', length);
    bool pair = carriage != NULL && carriage + 1 == feed;
    return carriage == NULL || pair ? length : (size_t)(carriage - line) + 1;
}

static bool is_blank_line(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && (is_blank(text[at]) || text[at] == '\r' || text[at] == '\n')) {
        at++;
    }
    return at == bytes;
}

/* Line by line, since libcsv does not say where in the input a row begins. */
static rlmr_status parse_lines(reader *self, struct csv_parser *parser, rlmr_slice piece, int64_t offset) {
    const char *end = piece.text + piece.bytes;
    const char *feed = memchr(piece.text, '\n', piece.bytes);
    for (const char *line = piece.text; line < end && self->status == RLMR_OK;) {
        size_t length = line_bytes(line, end, feed);
        if (!self->row_open && !self->mid_line) {
            self->row.offset = offset + (line - piece.text);
        }
        self->row_open = self->row_open || !is_blank_line(line, length);
        self->mid_line = line[length - 1] != '\n' && line[length - 1] != '\r';
        if (csv_parse(parser, line, length, on_cell, on_row_end, self) != length) {
            return over_limit(self);
        }
        line += length;
        if (feed != NULL && feed < line) {
            feed = memchr(line, '\n', (size_t)(end - line));
        }
    }
    return self->status;
}

static rlmr_slice without_bom(rlmr_slice piece) {
    if (piece.bytes >= 3 && memcmp(piece.text, "\xEF\xBB\xBF", 3) == 0) {
        return (rlmr_slice){.text = piece.text + 3, .bytes = piece.bytes - 3};
    }
    return piece;
}

static rlmr_status parse_file(reader *self, struct csv_parser *parser, rlmr_input *input) {
    for (;;) {
        rlmr_slice piece;
        rlmr_status status = rlmr_input_read(input, &piece, self->err);
        if (status != RLMR_OK) {
            return status;
        }
        if (piece.bytes == 0) {
            break;
        }
        int64_t offset = rlmr_input_offset(input);
        rlmr_slice body = offset == 0 ? without_bom(piece) : piece;
        status = parse_lines(self, parser, body, offset + (int64_t)(piece.bytes - body.bytes));
        if (status != RLMR_OK) {
            return status;
        }
    }
    self->row.unended = true;
    (void)csv_fini(parser, on_cell, on_row_end, self);
    return self->status;
}

rlmr_status rlmr_csv_read(const char *path, rlmr_on_row on_row, void *self, const rlmr_meter *meter,
                          rlmr_error *err) {
    rlmr_input *input = NULL;
    reader state = {.on_row = on_row, .self = self, .err = err};
    struct csv_parser parser;
    rlmr_status status = rlmr_input_open(path, meter, &input, err);
    if (status != RLMR_OK) {
        return status;
    }
    (void)csv_init(&parser, 0); /* takes no memory yet */
    csv_set_realloc_func(&parser, bounded_realloc);
    state.ends = malloc(RLMR_CSV_CELLS_MAX * sizeof *state.ends);
    state.cells = malloc(RLMR_CSV_CELLS_MAX * sizeof *state.cells);
    if (state.ends == NULL || state.cells == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read rows");
    } else {
        state.row.cells = state.cells;
        status = parse_file(&state, &parser, input);
    }
    csv_free(&parser);
    free(state.ends);
    free(state.cells);
    rlmr_bytes_release(&state.text);
    rlmr_input_close(input);
    return status;
}
