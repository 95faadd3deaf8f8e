#include "call_chains.h"

#include "rlmr/limits.h"

#include <stdio.h>
#include <string.h>

/* Of all distinct stacks together: a few bytes of a file can name a long text again and again. */
#define TEXT_BYTES_MAX ((size_t)512 << 20)

#define BETWEEN_FRAMES RLMR_SLICE(";\r\n")

/* Of the frames of one chain. */
#define FRAMES_BYTES_MAX ((size_t)4 * RLMR_LIMIT_STRING_BYTES)

/* Of the frames that are remembered, so that the next chain of the same is quick. */
#define KNOWN_BYTES_MAX ((size_t)128 << 20)

enum { FRAME_NUMBER, FRAME_TEXT, FRAME_OTHER };

static const char table[] = "PYTORCH_CALLCHAINS";

typedef struct {
    int64_t id;
    uint32_t stack; /* in texts */
} chain;

typedef struct {
    rlmr_sqlite_file *file;
    rlmr_string_ids *strings;
    rlmr_call_chains *out;
    sqlite3_stmt *statement;
    bool sorted;   /* the rows that it gives */
    bool in_order; /* those so far */
    bool in_chain; /* a chain is being read */
    int64_t id;    /* of it */
    int64_t depth; /* of its last frame */
    uint64_t rows;
    int64_t rowid;           /* of the last one */
    rlmr_bytes frames;       /* of the chain, each a kind and a number or text */
    rlmr_bytes text;         /* of the chain */
    rlmr_symtab *known;      /* frames of chains that had their texts looked up */
    rlmr_bytes known_stacks; /* the stack of each, from number 1 */
    size_t known_bytes;
    size_t text_bytes; /* of all distinct stacks */
    uint64_t unknown_frames;
    uint64_t left_out_large; /* stacks, and why */
    uint64_t left_out_many;
    uint64_t left_out_bytes;
} reader;

static void begin_chain(reader *self, int64_t id) {
    self->in_chain = true;
    self->id = id;
    rlmr_bytes_clear(&self->frames);
}

/* Frames stay numbers until their stack proves to be a new one; most are not. A chain of more than the limit is
 * over the limit of a stack too. */
static rlmr_status add_frame(reader *self) {
    char scratch[RLMR_SQLITE_NUMBER_BYTES];
    rlmr_slice cell;
    rlmr_error *err = self->file->err;
    int type = sqlite3_column_type(self->statement, 1);
    rlmr_status status;
    if (self->frames.bytes > FRAMES_BYTES_MAX) {
        return RLMR_OK;
    }
    if (type == SQLITE_INTEGER) {
        status = rlmr_bytes_append_u32(&self->frames, FRAME_NUMBER, err);
        int64_t number = sqlite3_column_int64(self->statement, 1);
        return status == RLMR_OK ? rlmr_bytes_append_i64(&self->frames, number, err) : status;
    }
    bool is_text = type == SQLITE_TEXT || type == SQLITE_BLOB;
    status = rlmr_sqlite_scan_value(self->file, self->statement, 1, scratch, &cell);
    status = status == RLMR_OK ? rlmr_bytes_append_u32(&self->frames, is_text ? FRAME_TEXT : FRAME_OTHER, err)
                               : status;
    return status == RLMR_OK ? rlmr_bytes_append_slice(&self->frames, cell, err) : status;
}

static rlmr_status take_frame(reader *self, rlmr_reader *frames, rlmr_slice *frame, bool *found) {
    uint32_t kind;
    int64_t number;
    rlmr_slice cell;
    rlmr_error *err = self->file->err;
    rlmr_status status = rlmr_reader_u32(frames, &kind, err);
    if (status == RLMR_OK && kind == FRAME_NUMBER) {
        status = rlmr_reader_i64(frames, &number, err);
        return status == RLMR_OK ? rlmr_string_ids_find(self->strings, number, frame, found) : status;
    }
    status = status == RLMR_OK ? rlmr_reader_slice(frames, &cell, err) : status;
    return status == RLMR_OK ? rlmr_string_ids_text(self->strings, cell, kind == FRAME_TEXT, frame, found)
                             : status;
}

/* Join the texts of the chain's frames. `whole`: each has one, and the stack is within the limit. */
static rlmr_status join_frames(reader *self, bool *whole) {
    rlmr_reader frames = {.data = self->frames.data, .bytes = self->frames.bytes};
    rlmr_slice frame;
    bool found;
    bool any_text = false;
    bool too_large = self->frames.bytes > FRAMES_BYTES_MAX;
    uint64_t unknown = 0;
    rlmr_status status = RLMR_OK;
    rlmr_bytes_clear(&self->text);
    while (status == RLMR_OK && !too_large && frames.at < frames.bytes) {
        rlmr_slice between = frames.at == 0 ? RLMR_SLICE("") : BETWEEN_FRAMES;
        status = take_frame(self, &frames, &frame, &found);
        if (status != RLMR_OK) {
            return status;
        }
        unknown += !found;
        any_text = any_text || frame.bytes > 0;
        too_large = between.bytes + frame.bytes > RLMR_LIMIT_STRING_BYTES - self->text.bytes;
        if (!too_large) {
            status = rlmr_bytes_append(&self->text, between.text, between.bytes, self->file->err);
            status = status == RLMR_OK
                         ? rlmr_bytes_append(&self->text, frame.text, frame.bytes, self->file->err)
                         : status;
        }
    }
    if (too_large || !any_text) {
        rlmr_bytes_clear(&self->text);
    }
    self->left_out_large += too_large;
    self->unknown_frames += unknown;
    *whole = unknown == 0 && !too_large;
    return status;
}

/* The number of the stack in texts; 0, the empty text, if it is over a limit. */
static rlmr_status keep_stack(reader *self, rlmr_slice stack, uint32_t *id) {
    rlmr_symtab *texts = self->out->texts;
    *id = 0;
    if (rlmr_symtab_find(texts, stack, id)) {
        return RLMR_OK;
    }
    if (rlmr_symtab_count(texts) > RLMR_LIMIT_STACKS) { /* it counts the empty text */
        self->left_out_many++;
        return RLMR_OK;
    }
    if (stack.bytes > TEXT_BYTES_MAX - self->text_bytes) {
        self->left_out_bytes++;
        return RLMR_OK;
    }
    self->text_bytes += stack.bytes;
    return rlmr_symtab_intern(texts, stack, id, self->file->err);
}

/* The next chain of the same frames will be that stack. */
static rlmr_status remember(reader *self, rlmr_slice frames, uint32_t stack) {
    uint32_t unused;
    if (rlmr_symtab_count(self->known) > RLMR_LIMIT_STACKS ||
        frames.bytes > KNOWN_BYTES_MAX - self->known_bytes) {
        return RLMR_OK;
    }
    self->known_bytes += frames.bytes;
    rlmr_status status = rlmr_symtab_intern(self->known, frames, &unused, self->file->err);
    return status == RLMR_OK ? rlmr_bytes_append_u32(&self->known_stacks, stack, self->file->err) : status;
}

static rlmr_status new_stack(reader *self, rlmr_slice frames, uint32_t *stack) {
    bool whole = false;
    rlmr_status status = join_frames(self, &whole);
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_slice text = {.text = (const char *)self->text.data, .bytes = self->text.bytes};
    status = keep_stack(self, text, stack);
    whole = whole && rlmr_slice_equal(rlmr_symtab_text(self->out->texts, *stack), text);
    return status == RLMR_OK && whole ? remember(self, frames, *stack) : status;
}

static rlmr_status end_chain(reader *self) {
    chain ended = {.id = self->id};
    rlmr_slice frames = {.text = (const char *)self->frames.data, .bytes = self->frames.bytes};
    uint32_t known;
    rlmr_status status = RLMR_OK;
    if (rlmr_symtab_find(self->known, frames, &known)) {
        /* Its number 0 is the empty text, which is no stack. */
        memcpy(&ended.stack, self->known_stacks.data + (known - 1) * sizeof ended.stack, sizeof ended.stack);
    } else {
        status = new_stack(self, frames, &ended.stack);
    }
    return status == RLMR_OK ? rlmr_bytes_append(&self->out->chains, &ended, sizeof ended, self->file->err)
                             : status;
}

/* The statement is at a row; does it follow the one before it in the order wanted? */
static bool is_in_order(const reader *self) {
    int64_t id = sqlite3_column_int64(self->statement, 0);
    int64_t depth = sqlite3_column_int64(self->statement, 2);
    return sqlite3_column_type(self->statement, 2) == SQLITE_INTEGER &&
           (!self->in_chain || id > self->id || (id == self->id && depth >= self->depth));
}

static rlmr_status take_row(reader *self) {
    int64_t id = sqlite3_column_int64(self->statement, 0);
    bool begins = !self->in_chain || id != self->id;
    rlmr_status status = self->in_chain && begins ? end_chain(self) : RLMR_OK;
    if (begins) {
        begin_chain(self, id);
    }
    self->depth = sqlite3_column_int64(self->statement, 2);
    return status == RLMR_OK ? add_frame(self) : status;
}

/* Read the rows of the statement; unless they are sorted, only as long as they are in order, and behind that
 * count them. Of the chain that damage cuts nothing is kept. */
static rlmr_status read_rows(reader *self) {
    int result = SQLITE_ROW;
    rlmr_status status = RLMR_OK;
    while (status == RLMR_OK && (result = sqlite3_step(self->statement)) == SQLITE_ROW) {
        int64_t rowid = sqlite3_column_int64(self->statement, 3);
        if (!self->sorted && self->rows > 0 && rowid <= self->rowid) {
            return rlmr_sqlite_file_damaged(self->file, true, table, "SQLite: rows are not in order");
        }
        self->rowid = rowid;
        self->rows++;
        self->in_order = self->sorted || (self->in_order && is_in_order(self));
        status = self->in_order ? take_row(self) : RLMR_OK;
    }
    if (status != RLMR_OK) {
        return status;
    }
    if (result != SQLITE_DONE) {
        return rlmr_sqlite_file_failed(self->file, table, result);
    }
    return self->in_order && self->in_chain ? end_chain(self) : RLMR_OK;
}

static rlmr_status tell_left_out(reader *self, uint64_t stacks, const char *why, size_t limit) {
    return stacks == 0
               ? RLMR_OK
               : rlmr_sqlite_file_damaged(self->file, false, table, "%llu call stacks left out: %s %zu",
                                          (unsigned long long)stacks, why, limit);
}

static rlmr_status tell_damage(reader *self) {
    rlmr_status status =
        tell_left_out(self, self->left_out_many, "limit STACKS, distinct ones:", RLMR_LIMIT_STACKS);
    if (status == RLMR_OK) {
        status = tell_left_out(self, self->left_out_large,
                               "limit STRING_BYTES, bytes of one:", RLMR_LIMIT_STRING_BYTES);
    }
    if (status == RLMR_OK) {
        status = tell_left_out(self, self->left_out_bytes, "bytes of all that are kept:", TEXT_BYTES_MAX);
    }
    if (status == RLMR_OK && self->unknown_frames > 0) {
        status = rlmr_sqlite_file_damaged(self->file, false, NULL, "%llu frames of %s are not in STRING_IDS",
                                          (unsigned long long)self->unknown_frames, table);
    }
    return status;
}

static rlmr_status read_from(reader *self, const char *sql, uint64_t rows_max) {
    rlmr_status status = rlmr_symtab_open(&self->out->texts, self->file->err);
    status = status == RLMR_OK ? rlmr_symtab_open(&self->known, self->file->err) : status;
    status = status == RLMR_OK ? rlmr_sqlite_file_prepare(self->file, table, sql, &self->statement) : status;
    if (status == RLMR_OK && self->statement != NULL) {
        (void)sqlite3_bind_int64(self->statement, 1, (int64_t)rows_max);
        status = read_rows(self);
    }
    (void)sqlite3_finalize(self->statement);
    rlmr_symtab_close(self->known);
    rlmr_bytes_release(&self->known_stacks);
    rlmr_bytes_release(&self->frames);
    rlmr_bytes_release(&self->text);
    self->statement = NULL;
    self->known = NULL;
    return status;
}

/* Writers give the frames in order. If one did not, the rows that could be read are sorted and read again.
 * Rows whose id is no integer name no chain. */
static rlmr_status read_frames(reader *self, bool has_depth) {
    const char *depth = has_depth ? "stackDepth" : "0";
    char sql[320];
    (void)snprintf(sql, sizeof sql,
                   "SELECT id, stack, %s, _rowid_ FROM main.PYTORCH_CALLCHAINS NOT INDEXED "
                   "WHERE typeof(id) = 'integer' ORDER BY _rowid_ LIMIT ?1",
                   depth);
    self->in_order = true;
    rlmr_status status = read_from(self, sql, INT64_MAX);
    if (status != RLMR_OK || self->in_order) {
        return status;
    }
    uint64_t rows = self->rows;
    rlmr_call_chains_close(self->out);
    *self = (reader){.file = self->file, .strings = self->strings, .out = self->out, .sorted = true};
    (void)snprintf(sql, sizeof sql,
                   "SELECT id, stack, depth, place FROM (SELECT id, stack, %s AS depth, _rowid_ AS place "
                   "FROM main.PYTORCH_CALLCHAINS NOT INDEXED WHERE typeof(id) = 'integer' "
                   "ORDER BY _rowid_ LIMIT ?1) ORDER BY id, depth, place",
                   depth);
    return read_from(self, sql, rows);
}

rlmr_status rlmr_call_chains_open(rlmr_sqlite_file *file, rlmr_string_ids *strings, rlmr_call_chains *out) {
    rlmr_sqlite_column columns[] = {{.name = "id"}, {.name = "stack"}, {.name = "stackDepth"}};
    reader state = {.file = file, .strings = strings, .out = out};
    *out = (rlmr_call_chains){0};
    rlmr_status status = rlmr_sqlite_file_table(file, table, columns, 3, &out->present);
    out->present = out->present && columns[0].present && columns[1].present;
    if (status != RLMR_OK || !out->present) {
        return status;
    }
    status = read_frames(&state, columns[2].present);
    out->present = true;
    return status == RLMR_OK ? tell_damage(&state) : status;
}

void rlmr_call_chains_close(rlmr_call_chains *chains) {
    rlmr_symtab_close(chains->texts);
    rlmr_bytes_release(&chains->chains);
    *chains = (rlmr_call_chains){0};
}

bool rlmr_call_chains_find(const rlmr_call_chains *chains, int64_t id, rlmr_slice *stack) {
    const chain *sorted = (const chain *)(const void *)chains->chains.data;
    size_t first = 0;
    size_t behind = chains->chains.bytes / sizeof *sorted;
    while (first < behind) {
        size_t middle = first + (behind - first) / 2;
        if (sorted[middle].id < id) {
            first = middle + 1;
        } else {
            behind = middle;
        }
    }
    bool found = first < chains->chains.bytes / sizeof *sorted && sorted[first].id == id;
    *stack = found ? rlmr_symtab_text(chains->texts, sorted[first].stack) : RLMR_SLICE("");
    return found;
}
