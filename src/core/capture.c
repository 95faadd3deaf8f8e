#include "rlmr/capture.h"

#include "rlmr/decimal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RLMR_ROW rlmr_captures_row

enum { RLMR_CAPTURES(RLMR_COLUMN_NUMBER) COLUMNS };

static const rlmr_column columns[] = {RLMR_CAPTURES(RLMR_COLUMN)};

static const size_t key[] = {COLUMN_capture};

const rlmr_schema rlmr_captures_schema = {
    .name = "captures",
    .description = "every capture: where it lies, what was read from it, and what was lost",
    .columns = columns,
    .columns_count = COLUMNS,
    .index = COLUMN_capture,
    .key = key,
    .key_count = sizeof key / sizeof key[0],
};

#define TEXT_OF(name, text) text,
static const char *const status_texts[] = {RLMR_CAPTURE_STATUS_LIST(TEXT_OF)};
static const char *const state_texts[] = {RLMR_FILE_STATE_LIST(TEXT_OF)};

#define KIND_TEXT(X, kind) #kind,
static const char *const kind_texts[] = {RLMR_FILE_KINDS(KIND_TEXT, )};

const char *rlmr_capture_status_text(rlmr_capture_status status) {
    return status_texts[status];
}

const char *rlmr_file_state_text(rlmr_file_state state) {
    return state_texts[state];
}

const char *rlmr_file_kind_text(rlmr_file_kind kind) {
    return kind_texts[kind];
}

void rlmr_capture_init(rlmr_capture *capture) {
    *capture = (rlmr_capture){.rank_id = -1, .first_error_offset = -1};
    for (int kind = 0; kind < RLMR_FILES; kind++) {
        capture->files[kind].bytes = -1;
    }
}

void rlmr_capture_release(rlmr_capture *capture) {
    free(capture->role);
    free(capture->job_role);
    free(capture->path);
    free(capture->timestamp);
    free(capture->message);
    for (int kind = 0; kind < RLMR_FILES; kind++) {
        free(capture->files[kind].path);
    }
    rlmr_capture_init(capture);
}

rlmr_status rlmr_capture_note(rlmr_capture *capture, rlmr_error *err, const char *format, ...) {
    char note[RLMR_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof note, format, arguments);
    va_end(arguments);
    const char *before = capture->message == NULL ? "" : capture->message;
    char *message;
    if (asprintf(&message, "%s%s%s", before, before[0] == '\0' ? "" : "; ", note) < 0) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a message");
    }
    free(capture->message);
    capture->message = message;
    return RLMR_OK;
}

void rlmr_capture_degrade(rlmr_capture *capture, rlmr_capture_status status) {
    bool worse = (capture->status == RLMR_CAPTURE_OK) ||
                 (capture->status == RLMR_CAPTURE_PARTIAL && status == RLMR_CAPTURE_FAILED);
    if (worse) {
        capture->status = status;
    }
}

void rlmr_capture_damaged(rlmr_capture *capture, rlmr_file_kind kind, int64_t offset) {
    capture->files[kind].state = RLMR_FILE_DAMAGED;
    if (capture->first_error_offset < 0) {
        capture->first_error_offset = offset;
    }
    rlmr_capture_degrade(capture, RLMR_CAPTURE_PARTIAL);
}

bool rlmr_capture_parse_rank(rlmr_slice text, int32_t *rank) {
    int64_t value;
    bool digit_first = text.bytes > 0 && text.text[0] >= '0' && text.text[0] <= '9';
    if (!digit_first || !rlmr_decimal_to_i64(text, &value) || value > INT32_MAX) {
        return false;
    }
    *rank = (int32_t)value;
    return true;
}

/* The number fields of a capture, in their order on the wire. */
/* (The formatter never settles on this list.) */
/* clang-format off */
#define NUMBERS(X)                                                                                           \
    X(number) X(rank_id) X(window) X(status) X(events_seen) X(events_with_stack) X(events_skipped)           \
    X(memory_rows) X(rows_matched) X(bad_cells) X(bytes_read) X(first_error_offset)
/* clang-format on */
#define COLUMN_TEXTS(X) X(role) X(path) X(timestamp) X(message)
#define TEXTS(X) COLUMN_TEXTS(X) X(job_role)

static rlmr_status encode_text(const char *text, rlmr_bytes *out, rlmr_error *err) {
    return rlmr_bytes_append_slice(out, rlmr_slice_of(text == NULL ? "" : text), err);
}

static rlmr_status decode_text(char **text, rlmr_reader *in, rlmr_error *err) {
    rlmr_slice slice;
    rlmr_status status = rlmr_reader_slice(in, &slice, err);
    if (status != RLMR_OK || slice.bytes == 0) {
        return status;
    }
    *text = strndup(slice.text, slice.bytes);
    return *text != NULL ? RLMR_OK : rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a text");
}

rlmr_status rlmr_capture_encode(const rlmr_capture *capture, rlmr_bytes *out, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
#define PUT(field)                                                                                           \
    if (status == RLMR_OK) {                                                                                 \
        status = rlmr_bytes_append_i64(out, capture->field, err);                                            \
    }
    NUMBERS(PUT)
#undef PUT
#define PUT(field)                                                                                           \
    if (status == RLMR_OK) {                                                                                 \
        status = encode_text(capture->field, out, err);                                                      \
    }
    TEXTS(PUT)
#undef PUT
    for (int kind = 0; kind < RLMR_FILES && status == RLMR_OK; kind++) {
        const rlmr_file *file = &capture->files[kind];
        status = rlmr_bytes_append_u32(out, (uint32_t)file->state, err);
        status = status == RLMR_OK ? rlmr_bytes_append_i64(out, file->bytes, err) : status;
        status = status == RLMR_OK ? encode_text(file->path, out, err) : status;
    }
    return status;
}

static rlmr_status decode_file(rlmr_file *file, rlmr_reader *in, rlmr_error *err) {
    uint32_t state = 0;
    rlmr_status status = rlmr_reader_u32(in, &state, err);
    if (status == RLMR_OK && state >= RLMR_FILE_STATES) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "a DataMap entry has file state %u", state);
    }
    status = status == RLMR_OK ? rlmr_reader_i64(in, &file->bytes, err) : status;
    status = status == RLMR_OK ? decode_text(&file->path, in, err) : status;
    if (status == RLMR_OK) {
        file->state = (rlmr_file_state)state;
    }
    return status;
}

rlmr_status rlmr_capture_decode(rlmr_capture *capture, rlmr_reader *in, rlmr_error *err) {
    rlmr_capture_init(capture);
    rlmr_status status = RLMR_OK;
    int64_t value = 0;
#define GET(field)                                                                                           \
    if (status == RLMR_OK) {                                                                                 \
        status = rlmr_reader_i64(in, &value, err);                                                           \
        capture->field = (__typeof__(capture->field))value;                                                  \
    }
    NUMBERS(GET)
#undef GET
    if (status == RLMR_OK && (unsigned)capture->status >= RLMR_CAPTURE_STATUSES) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "a DataMap entry has status %d", (int)capture->status);
    }
#define GET(field)                                                                                           \
    if (status == RLMR_OK) {                                                                                 \
        status = decode_text(&capture->field, in, err);                                                      \
    }
    TEXTS(GET)
#undef GET
    for (int kind = 0; kind < RLMR_FILES && status == RLMR_OK; kind++) {
        status = decode_file(&capture->files[kind], in, err);
    }
    if (status != RLMR_OK) {
        rlmr_capture_release(capture);
    }
    return status;
}

static bool was_read(const rlmr_capture *capture, rlmr_file_kind kind) {
    return capture->files[kind].state == RLMR_FILE_READ || capture->files[kind].state == RLMR_FILE_DAMAGED;
}

static const char *source_text(const rlmr_capture *capture) {
    bool text = false;
    for (rlmr_file_kind kind = RLMR_FILE_trace_view; kind <= RLMR_FILE_communication_matrix; kind++) {
        text = text || was_read(capture, kind);
    }
    bool db = was_read(capture, RLMR_FILE_profiler_db) || was_read(capture, RLMR_FILE_analysis_db);
    if (text) {
        return db ? "text+db" : "text";
    }
    return db ? "db" : "";
}

rlmr_status rlmr_capture_append(const rlmr_capture *capture, rlmr_table *captures, rlmr_symtab *texts,
                                rlmr_error *err) {
    rlmr_captures_row row = {.capture = capture->number,
                             .rank_id = capture->rank_id,
                             .window = capture->window,
                             .events_seen = capture->events_seen,
                             .events_with_stack = capture->events_with_stack,
                             .events_skipped = capture->events_skipped,
                             .memory_rows = capture->memory_rows,
                             .rows_matched = capture->rows_matched,
                             .bad_cells = capture->bad_cells,
                             .first_error_offset = capture->first_error_offset};
    rlmr_status status = RLMR_OK;
#define INTERN(field, value)                                                                                 \
    if (status == RLMR_OK && (value) != NULL) {                                                              \
        status = rlmr_symtab_intern_utf8(texts, rlmr_slice_of(value), &row.field, NULL, err);                \
    }
#define INTERN_OWN(field) INTERN(field, capture->field)
    COLUMN_TEXTS(INTERN_OWN)
    INTERN(source, source_text(capture))
    INTERN(status, rlmr_capture_status_text(capture->status))
#define FILE_FIELDS(X, kind)                                                                                 \
    INTERN(kind##_state, rlmr_file_state_text(capture->files[RLMR_FILE_##kind].state))                       \
    row.kind##_bytes = capture->files[RLMR_FILE_##kind].bytes;
    RLMR_FILE_KINDS(FILE_FIELDS, )
    return status == RLMR_OK ? rlmr_table_append(captures, &row, err) : status;
}
