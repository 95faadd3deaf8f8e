#include "call_chains.h"

#include "rlmr/limits.h"

#include <stdio.h>
#include <string.h>

/* Of all distinct stacks together: a few bytes of a file can name a long text again and again. */
#define TEXT_BYTES_MAX ((size_t)512 << 20)

#define BETWEEN_FRAMES RLMR_SLICE(";\r\n")

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
    int64_t rowid; /* of the last one */
    rlmr_bytes text;
    uint64_t frames;
    bool any_text;     /* one of its frames is known */
    bool too_large;    /* for the limit STRING_BYTES */
    size_t text_bytes; /* of all distinct stacks */
    uint64_t unknown_frames;
    uint64_t left_out_large; /* stacks, and why */
    uint64_t left_out_many;
    uint64_t left_out_bytes;
} reader;

static void begin_chain(reader *self, int64_t id) {
    self->in_chain = true;
    self->id = id;
    self->frames = 0;
    self->any_text = false;
    self->too_large = false;
    rlmr_bytes_clear(&self->text);
}

static rlmr_status add_frame(reader *self) {
    char scratch[RLMR_SQLITE_NUMBER_BYTES];
    rlmr_slice cell;
    rlmr_slice frame = RLMR_SLICE("");
    bool found = false;
    int type = sqlite3_column_type(self->statement, 1);
    rlmr_status status = rlmr_sqlite_scan_value(self->file, self->statement, 1, scratch, &cell);
    if (status == RLMR_OK) {
        bool is_text = type == SQLITE_TEXT || type == SQLITE_BLOB;
        status = rlmr_string_ids_text(self->strings, cell, is_text, &frame, &found);
    }
    if (status != RLMR_OK) {
        return status;
    }
    self->unknown_frames += !found;
    self->any_text = self->any_text || frame.bytes > 0;
    rlmr_slice between = self->frames++ == 0 ? RLMR_SLICE("") : BETWEEN_FRAMES;
    self->too_large =
        self->too_large || between.bytes + frame.bytes > RLMR_LIMIT_STRING_BYTES - self->text.bytes;
    if (self->too_large) {
        return RLMR_OK;
    }
    status = rlmr_bytes_append(&self->text, between.text, between.bytes, self->file->err);
    return status == RLMR_OK ? rlmr_bytes_append(&self->text, frame.text, frame.bytes, self->file->err)
                             : status;
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

static rlmr_status end_chain(reader *self) {
    chain ended = {.id = self->id};
    rlmr_slice stack = {.text = (const char *)self->text.data,
                        .bytes = self->any_text ? self->text.bytes : 0};
    rlmr_status status = RLMR_OK;
    if (self->too_large) {
        self->left_out_large++;
    } else {
        status = keep_stack(self, stack, &ended.stack);
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
    status = status == RLMR_OK ? rlmr_sqlite_file_prepare(self->file, table, sql, &self->statement) : status;
    if (status == RLMR_OK && self->statement != NULL) {
        (void)sqlite3_bind_int64(self->statement, 1, (int64_t)rows_max);
        status = read_rows(self);
    }
    (void)sqlite3_finalize(self->statement);
    self->statement = NULL;
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
    rlmr_bytes_release(&self->text);
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
    rlmr_bytes_release(&state.text);
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
