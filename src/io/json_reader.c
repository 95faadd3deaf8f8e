#include "json_parser.h"
#include "rlmr/input.h"
#include "rlmr/utf8.h"

#include <stdlib.h>

static void set_offset(rlmr_error *err, int64_t offset) {
    if (err != NULL && err->offset < 0) {
        err->offset = offset;
    }
}

typedef struct {
    rlmr_input *input;
    rlmr_json_parser *parser;
    int64_t fed; /* offset of the piece that the parser was given last */
    rlmr_json_token token;
    void *self;
    int64_t *end;
} document;

static int64_t token_end(const document *self) {
    return self->fed + (int64_t)rlmr_json_parser_at(self->parser);
}

static rlmr_status parse_file(document *self, rlmr_error *err) {
    rlmr_slice piece;
    do {
        rlmr_status status = rlmr_input_read(self->input, &piece, err);
        if (status != RLMR_OK) {
            return status;
        }
        rlmr_slice body = rlmr_input_text(self->input);
        if (piece.bytes > 0 && body.bytes == 0) {
            continue;
        }
        self->fed = rlmr_input_end(self->input) - (int64_t)body.bytes;
        status = rlmr_json_parser_feed(self->parser, body, err);
        if (status != RLMR_OK) {
            set_offset(err, body.bytes > 0 ? token_end(self) : self->fed);
            return status;
        }
    } while (piece.bytes > 0);
    return RLMR_OK;
}

static rlmr_status read_document(document *out, const char *path, rlmr_json_token token, void *self,
                                 const rlmr_meter *meter, rlmr_error *err) {
    rlmr_status status = rlmr_input_open(path, meter, &out->input, err);
    status = status == RLMR_OK ? rlmr_json_parser_open(token, self, &out->parser, err) : status;
    status = status == RLMR_OK ? parse_file(out, err) : status;
    rlmr_json_parser_close(out->parser);
    rlmr_input_close(out->input);
    return status;
}

rlmr_status rlmr_json_read(const char *path, rlmr_json_token token, void *self, const rlmr_meter *meter,
                           rlmr_error *err) {
    document state = {0};
    return read_document(&state, path, token, self, meter, err);
}

static rlmr_status locate(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    document *self = context;
    *self->end = token_end(self);
    return self->token(self->self, kind, text, depth, err);
}

rlmr_status rlmr_json_read_located(const char *path, rlmr_json_token token, void *self,
                                   const rlmr_meter *meter, int64_t *end, rlmr_error *err) {
    document state = {.token = token, .self = self, .end = end};
    return read_document(&state, path, locate, &state, meter, err);
}

typedef struct {
    rlmr_bytes *out;
    bool ended;
} string_decoder;

static rlmr_status append_string(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                                 rlmr_error *err) {
    string_decoder *self = context;
    (void)kind;
    (void)depth;
    self->ended = true;
    return rlmr_bytes_append(self->out, text.text, text.bytes, err);
}

/* Between quotes of ours; only the last one may end it. */
static rlmr_status decode_quoted(rlmr_json_parser *parser, rlmr_slice raw, const string_decoder *self,
                                 rlmr_error *err) {
    rlmr_status status = rlmr_json_parser_feed(parser, RLMR_SLICE("\""), err);
    if (status == RLMR_OK && raw.bytes > 0) {
        status = rlmr_json_parser_feed(parser, raw, err);
    }
    if (status == RLMR_OK && self->ended) {
        return rlmr_error_set(err, RLMR_E_PARSE, "a quote inside a JSON string");
    }
    status = status == RLMR_OK ? rlmr_json_parser_feed(parser, RLMR_SLICE("\""), err) : status;
    return status == RLMR_OK ? rlmr_json_parser_feed(parser, (rlmr_slice){0}, err) : status;
}

rlmr_status rlmr_json_string_decode(rlmr_slice raw, rlmr_bytes *out, rlmr_error *err) {
    rlmr_json_parser *parser;
    string_decoder self = {.out = out};
    size_t before = out->bytes;
    rlmr_status status = rlmr_json_parser_open(append_string, &self, &parser, err);
    status = status == RLMR_OK ? decode_quoted(parser, raw, &self, err) : status;
    rlmr_json_parser_close(parser);
    out->bytes = status == RLMR_OK ? out->bytes : before;
    return status;
}

typedef struct {
    rlmr_slice key;
    bool numbers;
    bool wanted;  /* the key just read is the one */
    bool present; /* it has been read */
    char *value;
} lookup;

static rlmr_status find_scalar(void *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    lookup *look = self;
    if (depth == 0 && kind != RLMR_JSON_OBJECT && kind != RLMR_JSON_OBJECT_END) {
        return rlmr_error_set(err, RLMR_E_PARSE, "not a JSON object");
    }
    if (depth != 1) {
        return RLMR_OK;
    }
    if (kind == RLMR_JSON_KEY) {
        look->wanted = rlmr_slice_equal(text, look->key);
        look->present = look->present || look->wanted;
    } else if (look->wanted) {
        /* Of a repeated key the last counts. */
        free(look->value);
        look->value = NULL;
        if (kind != RLMR_JSON_STRING && (kind != RLMR_JSON_NUMBER || !look->numbers)) {
            return RLMR_OK;
        }
        look->value = rlmr_utf8_copy(text, err);
        return look->value != NULL ? RLMR_OK : RLMR_E_NOMEM;
    }
    return RLMR_OK;
}

rlmr_status rlmr_json_scalar(const char *path, const char *key, bool numbers, bool *present, char **value,
                             rlmr_error *err) {
    lookup look = {.key = rlmr_slice_of(key), .numbers = numbers};
    rlmr_status status = rlmr_json_read(path, find_scalar, &look, NULL, err);
    if (status != RLMR_OK) {
        free(look.value);
        look.value = NULL;
    }
    *value = look.value;
    *present = look.present;
    return status;
}
