#include "rlmr/csv_reader.h"

#include "file_range.h"
#include "rlmr/input.h"
#include "rlmr/limits.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

/* libcsv lengthens its buffer for a cell by so much; a small step would be quadratic for a quote that is not closed. */
#define CELL_STEP_BYTES ((size_t)256 * 1024)

typedef struct {
    rlmr_on_row on_row;
    void *self;
    const rlmr_damage *damage;
    rlmr_error *err;
    rlmr_status status; /* callbacks cannot stop libcsv: after an error they do nothing */
    struct csv_parser parser;
    rlmr_input *input;
    rlmr_bytes text; /* cells of the row being read */
    size_t *ends;    /* of each cell in text */
    rlmr_slice *cells;
    rlmr_csv_row row;
    const char *excess; /* why the row is lost, NULL if it is not */
    bool row_open;      /* row.offset is that of the row being read */
    bool many_lines;    /* the row being read has more than one */
    bool mid_line;      /* what was parsed ends inside a line */
    bool skipping;      /* up to the end of the line, behind a lost row's beginning */
    int64_t at;         /* offset of what is parsed next */
    int64_t reread;     /* bytes parsed in vain behind damage */
    int64_t from;       /* the range that is read; [0, INT64_MAX) is the file */
    int64_t to;
    bool heading; /* the titles are read, which lie before it */
    bool arrived; /* at its end, before that of the file */
    bool unsound; /* a row was lost, or it may not begin or end there */
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

static void on_cell(void *text, size_t bytes, void *context) {
    reader *self = context;
    if (self->status != RLMR_OK || self->excess != NULL) {
        return;
    }
    if (bytes > RLMR_LIMIT_CSV_CELL_BYTES) {
        self->excess = "a cell with too many bytes" RLMR_LIMIT_TEXT(CSV_CELL_BYTES);
    } else if (self->row.count == RLMR_LIMIT_CSV_COLUMNS) {
        self->excess = "too many cells" RLMR_LIMIT_TEXT(CSV_COLUMNS);
    } else {
        self->status = rlmr_bytes_append(&self->text, text, bytes, self->err);
        self->ends[self->row.count++] = self->text.bytes;
    }
}

static void take_cells(reader *self) {
    size_t start = 0;
    for (size_t i = 0; i < self->row.count; i++) {
        const char *text = self->text.data == NULL ? "" : (const char *)self->text.data + start;
        self->cells[i] = strip((rlmr_slice){.text = text, .bytes = self->ends[i] - start});
        start = self->ends[i];
    }
}

static void next_row(reader *self) {
    self->row.number++;
    self->row.count = 0;
    self->row_open = false;
    self->many_lines = false;
    self->excess = NULL;
    rlmr_bytes_clear(&self->text);
}

static void give_row(reader *self) {
    self->status = self->on_row(self->self, &self->row, self->err);
    next_row(self);
}

static void lose_row(reader *self, const char *reason) {
    self->status = self->damage->met(self->damage->self, self->row.offset, true, reason, self->err);
    next_row(self);
}

static void on_row_end(int ended_by, void *context) {
    (void)ended_by;
    reader *self = context;
    if (self->status != RLMR_OK) {
        return;
    }
    if (self->excess != NULL) {
        lose_row(self, self->excess);
    } else {
        take_cells(self);
        give_row(self);
    }
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

/* The cell at `at`, without its quotes, and what is behind it: a comma, or `end`.
 * @return false if a quote is anywhere but around the whole cell */
static bool take_plain_cell(const char *at, const char *end, rlmr_slice *cell, const char **behind) {
    bool quoted = at < end && *at == '"';
    const char *text = quoted ? at + 1 : at;
    const char *stop = memchr(text, quoted ? '"' : ',', (size_t)(end - text));
    if (stop == NULL && quoted) {
        return false;
    }
    stop = stop == NULL ? end : stop;
    *cell = (rlmr_slice){.text = text, .bytes = (size_t)(stop - text)};
    *behind = quoted ? stop + 1 : stop;
    return cell->bytes <= RLMR_LIMIT_CSV_CELL_BYTES && (*behind == end || **behind == ',') &&
           (quoted || memchr(text, '"', cell->bytes) == NULL);
}

/* The cells of a whole line, if there is no question what they are: almost every line of every file, and libcsv, a byte at a time, takes
 * more than four times the instructions for it. All else is for libcsv. */
static bool take_plain_line(reader *self, const char *line, size_t length) {
    const char *end = line + length;
    while (end > line && (end[-1] == '\n' || end[-1] == '\r')) {
        end--;
    }
    size_t count = 0;
    for (const char *at = line; at <= end; at++) { /* behind each comma */
        rlmr_slice cell;
        if (count == RLMR_LIMIT_CSV_COLUMNS || !take_plain_cell(at, end, &cell, &at)) {
            return false;
        }
        self->cells[count++] = strip(cell);
    }
    self->row.count = count;
    return true;
}

static void open_parser(reader *self) {
    csv_free(&self->parser);
    (void)csv_init(&self->parser, 0); /* takes no memory yet */
    csv_set_realloc_func(&self->parser, realloc);
    csv_set_blk_size(&self->parser, CELL_STEP_BYTES);
    self->mid_line = false;
}

/* The row that has begun is lost, with all that was taken for it: reading resumes behind its first line. */
static void restart(reader *self, const char *reason) {
    self->reread += self->at - self->row.offset;
    self->at = self->row.offset;
    self->skipping = true;
    open_parser(self);
    lose_row(self, reason);
    if (self->status == RLMR_OK && self->reread > RLMR_LIMIT_REREAD_BYTES) {
        self->status =
            rlmr_error_set(self->err, RLMR_E_LIMIT,
                           "more than %d bytes read again behind damage" RLMR_LIMIT_TEXT(REREAD_BYTES),
                           RLMR_LIMIT_REREAD_BYTES);
    }
}

/* A line, or the part of one that is there. */
static void parse_line(reader *self, const char *line, size_t length) {
    bool ended = line[length - 1] == '\n' || line[length - 1] == '\r';
    if (self->skipping) {
        self->skipping = !ended;
        self->at += (int64_t)length;
        return;
    }
    bool begins = !self->row_open && !self->mid_line;
    bool blank = is_blank_line(line, length);
    if (begins) {
        self->row.offset = self->at;
    }
    if (begins && ended && !blank && length <= RLMR_LIMIT_CSV_ROW_BYTES &&
        take_plain_line(self, line, length)) {
        self->at += (int64_t)length;
        give_row(self);
        return;
    }
    self->row_open = self->row_open || !blank;
    if (self->row_open && self->at + (int64_t)length - self->row.offset > RLMR_LIMIT_CSV_ROW_BYTES) {
        restart(self,
                "a row with too many bytes, or a quote that is not closed" RLMR_LIMIT_TEXT(CSV_ROW_BYTES));
        return;
    }
    /* In a row of several lines a quote must be doubled or end its cell: more likely the first one was never closed. */
    bool goes_on = self->row_open && self->at > self->row.offset && !self->mid_line;
    (void)csv_set_opts(&self->parser, goes_on || self->many_lines ? CSV_STRICT : 0);
    self->many_lines = goes_on || (self->many_lines && self->row_open);
    self->mid_line = !ended;
    self->at += (int64_t)length;
    if (csv_parse(&self->parser, line, length, on_cell, on_row_end, self) == length) {
        return;
    }
    if (csv_error(&self->parser) == CSV_EPARSE) {
        restart(self, "a quote inside quotes that is not doubled, or one before it that is not closed");
    } else {
        self->status = rlmr_error_set(self->err, RLMR_E_NOMEM, "no memory to read rows");
    }
}

/* Not at the end of the range, nor of its titles. */
static bool is_reading(const reader *self) {
    return !self->arrived && !self->unsound && !(self->heading && self->row.number > 0);
}

/* Line by line, since libcsv does not say where in the input a row begins. Ends early when a row is to be read again. */
static void parse_lines(reader *self, rlmr_slice text) {
    const char *end = text.text + text.bytes;
    const char *feed = memchr(text.text, '\n', text.bytes);
    for (const char *line = text.text; line < end && self->status == RLMR_OK && is_reading(self);) {
        size_t length = line_bytes(line, end, feed);
        int64_t next = self->at + (int64_t)length;
        parse_line(self, line, length);
        if (self->at != next) {
            return;
        }
        line += length;
        if (feed != NULL && feed < line) {
            feed = memchr(line, '\n', (size_t)(end - line));
        }
    }
}

/* The titles are read: go on where the range begins. */
static void begin_range(reader *self) {
    self->heading = false;
    self->unsound = self->at > self->from;
    self->at = self->from;
    self->status = rlmr_input_seek(self->input, self->from, self->err);
    open_parser(self);
}

/* What may be parsed of the text at hand. */
static rlmr_slice within_range(const reader *self) {
    rlmr_slice text = rlmr_input_from(self->input, self->at);
    int64_t rest =
        self->to > self->at ? self->to - self->at : 0; /* a byte order mark is passed over at once */
    text.bytes = rest < (int64_t)text.bytes ? (size_t)rest : text.bytes;
    return text;
}

/* All that is read and not yet parsed. */
static void work_off(reader *self) {
    while (self->status == RLMR_OK && is_reading(self) && self->at < rlmr_input_end(self->input)) {
        parse_lines(self, within_range(self));
        self->arrived = self->at >= self->to;
    }
    if (self->status == RLMR_OK && self->heading && self->row.number > 0) {
        begin_range(self);
    }
}

/* Whether the row that has begun is cut by the end of the file: no line end follows its first byte. */
static bool is_cut(const reader *self) {
    rlmr_slice rest = rlmr_input_from(self->input, self->row_open ? self->row.offset : self->at);
    return memchr(rest.text, '\n', rest.bytes) == NULL && memchr(rest.text, '\r', rest.bytes) == NULL;
}

/* The last row may have no line end. libcsv tells a quote that is not closed only if it is strict at the end. */
static void finish(reader *self) {
    for (bool closed = false; !closed && self->status == RLMR_OK;) {
        self->row.unended = true;
        (void)csv_set_opts(&self->parser, CSV_STRICT | CSV_STRICT_FINI);
        closed = csv_fini(&self->parser, on_cell, on_row_end, self) == 0;
        if (!closed && is_cut(self)) {
            self->row.in_quotes = true;
            (void)csv_set_opts(&self->parser, 0);
            closed = csv_fini(&self->parser, on_cell, on_row_end, self) == 0;
        }
        self->row.unended = false;
        if (!closed) {
            restart(self, "a quote that is not closed");
            work_off(self);
        }
    }
}

static rlmr_status parse_file(reader *self) {
    rlmr_slice piece;
    do {
        rlmr_input_keep(self->input, self->row_open || self->mid_line ? self->row.offset : self->at);
        rlmr_status status = rlmr_input_read(self->input, &piece, self->err);
        if (status != RLMR_OK) {
            finish(self); /* what was read before stays; the error is the one in self->err */
            self->unsound = status == RLMR_E_INPUT || status == RLMR_E_PARSE;
            return status;
        }
        self->at += (int64_t)(piece.bytes - rlmr_input_text(self->input).bytes);
        work_off(self);
    } while (piece.bytes > 0 && self->status == RLMR_OK && is_reading(self));
    if (is_reading(self)) {
        finish(self);
        self->unsound =
            self->unsound || (self->heading && self->at > self->from); /* the file has only titles */
    }
    return self->status;
}

static rlmr_status read_rows(reader *self, const char *path, const rlmr_meter *meter) {
    rlmr_status status = rlmr_input_open(path, meter, &self->input, self->err);
    if (status != RLMR_OK) {
        return status;
    }
    open_parser(self);
    self->to = self->to < rlmr_input_size(self->input) ? self->to : INT64_MAX;
    self->ends = malloc(RLMR_LIMIT_CSV_COLUMNS * sizeof *self->ends);
    self->cells = malloc(RLMR_LIMIT_CSV_COLUMNS * sizeof *self->cells);
    if (self->ends == NULL || self->cells == NULL) {
        status = rlmr_error_set(self->err, RLMR_E_NOMEM, "no memory to read rows");
    } else {
        self->row.cells = self->cells;
        status = parse_file(self);
    }
    csv_free(&self->parser);
    free(self->ends);
    free(self->cells);
    rlmr_bytes_release(&self->text);
    rlmr_input_close(self->input);
    return status;
}

rlmr_status rlmr_csv_read(const char *path, rlmr_on_row on_row, void *self, const rlmr_damage *damage,
                          const rlmr_meter *meter, rlmr_error *err) {
    reader state = {.on_row = on_row, .self = self, .damage = damage, .err = err, .to = INT64_MAX};
    return read_rows(&state, path, meter);
}

/* ---- Ranges ---- */

/* Behind the first line end of `text`, or its end; no pair is parted. */
static bool find_line_end(rlmr_slice text, bool whole, size_t *behind) {
    size_t at = 0;
    while (at < text.bytes && text.text[at] != '\n' && text.text[at] != '\r') {
        at++;
    }
    bool open = at == text.bytes || (at + 1 == text.bytes && text.text[at] == '\r');
    bool pair = !open && text.text[at] == '\r' && text.text[at + 1] == '\n';
    *behind = at == text.bytes ? at : at + 1 + pair;
    return whole || !open;
}

static rlmr_status find_row(rlmr_input *input, int64_t offset, int64_t *start, rlmr_error *err) {
    rlmr_slice piece;
    size_t behind = 0;
    rlmr_slice text = {.text = ""};
    rlmr_status status = rlmr_input_seek(input, offset, err);
    do {
        rlmr_input_keep(input, offset);
        status = status == RLMR_OK ? rlmr_input_read(input, &piece, err) : status;
        if (status != RLMR_OK) {
            return status;
        }
        text = rlmr_input_from(input, offset);
    } while (!find_line_end(text, piece.bytes == 0, &behind) && text.bytes < RLMR_LIMIT_CSV_ROW_BYTES);
    *start = behind < text.bytes ? offset + (int64_t)behind : *start;
    return RLMR_OK;
}

rlmr_status rlmr_csv_guess(const char *path, int64_t offset, int64_t *start, rlmr_error *err) {
    return rlmr_range_guess(path, offset, find_row, start, err);
}

static rlmr_status lose_range(void *context, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    reader *self = context;
    (void)offset;
    (void)lost;
    (void)reason;
    (void)err;
    self->unsound = true;
    return RLMR_E_STOPPED;
}

/* At the end of the range no row is open, whose quotes may hold the line end. */
static bool is_between_rows(const reader *self) {
    return self->at == self->to && !self->row_open && !self->mid_line && !self->skipping;
}

rlmr_status rlmr_csv_read_range(const rlmr_file_range *range, rlmr_on_row on_row, void *self,
                                const rlmr_meter *meter, uint64_t *rows, bool *sound, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    *rows = 0;
    *sound = range->from == range->to;
    if (range->from >= range->to) {
        return RLMR_OK;
    }
    reader state = {.on_row = on_row,
                    .self = self,
                    .err = &trouble,
                    .from = range->from,
                    .to = range->to,
                    .heading = range->from > 0};
    rlmr_damage damage = {.met = lose_range, .self = &state};
    rlmr_range_meter own = {.meter = meter, .heading = &state.heading, .left = range->to - range->from};
    rlmr_meter within = rlmr_range_meter_of(&own);
    state.damage = &damage;
    rlmr_status status = read_rows(&state, range->path, &within);
    state.unsound = state.unsound || (state.arrived && !is_between_rows(&state));
    *sound = status == RLMR_OK && !state.unsound;
    *rows = state.row.number > 0 ? state.row.number - 1 : 0;
    if (state.unsound) {
        return RLMR_OK;
    }
    if (status != RLMR_OK && err != NULL && err->code == RLMR_OK) {
        *err = trouble;
    }
    return status;
}
