#include "json_line.h"

#include "json_escape.h"
#include "rlmr/utf8.h"

#include <string.h>

static rlmr_status put(rlmr_bytes *line, const char *text, rlmr_error *err) {
    return rlmr_bytes_append(line, text, strlen(text), err);
}

static rlmr_status put_clean(rlmr_bytes *line, rlmr_slice text, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < text.bytes && status == RLMR_OK;) {
        size_t end = at;
        while (end < text.bytes && rlmr_json_is_plain(text.text[end])) {
            end++;
        }
        status = rlmr_bytes_append(line, text.text + at, end - at, err);
        at = end;
        if (at < text.bytes && status == RLMR_OK) {
            char escape[RLMR_JSON_ESCAPE_BYTES];
            size_t bytes = rlmr_json_escape(rlmr_utf8_next(text, &at), escape);
            status = rlmr_bytes_append(line, escape, bytes, err);
        }
    }
    return status;
}

static rlmr_status put_string(rlmr_bytes *line, rlmr_slice text, rlmr_error *err) {
    rlmr_bytes clean = {0};
    rlmr_status status = put(line, "\"", err);
    if (status == RLMR_OK && !rlmr_utf8_is_clean(text)) {
        status = rlmr_utf8_clean(text, &clean, err);
        text = (rlmr_slice){.text = (const char *)clean.data, .bytes = clean.bytes};
    }
    status = status == RLMR_OK ? put_clean(line, text, err) : status;
    rlmr_bytes_release(&clean);
    return status == RLMR_OK ? put(line, "\"", err) : status;
}

/* The line ends with a blank only behind a key, and with an open bracket only before its first member. */
static bool needs_comma(const rlmr_bytes *line) {
    char last = line->bytes == 0 ? ' ' : (char)line->data[line->bytes - 1];
    return last != '{' && last != '[' && last != ' ';
}

rlmr_status rlmr_json_line_add(rlmr_bytes *line, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    bool closes = kind == RLMR_JSON_OBJECT_END || kind == RLMR_JSON_ARRAY_END;
    rlmr_status status = !closes && needs_comma(line) ? put(line, ", ", err) : RLMR_OK;
    if (status != RLMR_OK) {
        return status;
    }
    switch (kind) {
    case RLMR_JSON_OBJECT:
        return put(line, "{", err);
    case RLMR_JSON_OBJECT_END:
        return put(line, "}", err);
    case RLMR_JSON_ARRAY:
        return put(line, "[", err);
    case RLMR_JSON_ARRAY_END:
        return put(line, "]", err);
    case RLMR_JSON_KEY:
        status = put_string(line, text, err);
        return status == RLMR_OK ? put(line, ": ", err) : status;
    case RLMR_JSON_STRING:
        return put_string(line, text, err);
    case RLMR_JSON_NUMBER:
    case RLMR_JSON_LITERAL:
        break;
    }
    return rlmr_bytes_append(line, text.text, text.bytes, err);
}
