#include "rlmr/json_reader.h"

#include "rlmr/input.h"
#include "rlmr/utf8.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

typedef struct {
    rlmr_json_token token;
    void *self;
    rlmr_error *err;
    int depth;
    rlmr_status status; /* why a callback or the allocator stopped the parser */
    jmp_buf no_memory;
} reader;

/* yajl does not look at what its allocator returns: a failure leaves the parser by longjmp. */
static void *allocate(void *context, void *old, size_t bytes) {
    reader *self = context;
    void *memory = NULL;
    if (bytes > RLMR_JSON_TEXT_BYTES_MAX) {
        self->status =
            rlmr_error_set(self->err, RLMR_E_LIMIT, "a text longer than %zu bytes", RLMR_JSON_TEXT_BYTES_MAX);
    } else {
        memory = realloc(old, bytes);
        if (memory == NULL) {
            self->status = rlmr_error_set(self->err, RLMR_E_NOMEM, "no memory to parse JSON");
        }
    }
    if (memory == NULL) {
        longjmp(self->no_memory, 1);
    }
    return memory;
}

static void *yajl_malloc(void *context, size_t bytes) {
    return allocate(context, NULL, bytes);
}

static void *yajl_realloc(void *context, void *old, size_t bytes) {
    return allocate(context, old, bytes);
}

static void yajl_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

/* The parser goes on while the status is OK. */
static int emit(void *context, rlmr_json_kind kind, const unsigned char *text, size_t bytes) {
    reader *self = context;
    rlmr_slice slice = {.text = (const char *)text, .bytes = bytes};
    self->status = self->token(self->self, kind, slice, self->depth, self->err);
    return self->status == RLMR_OK;
}

static int open_bracket(void *context, rlmr_json_kind kind) {
    reader *self = context;
    if (self->depth == RLMR_JSON_DEPTH_MAX) {
        self->status = rlmr_error_set(self->err, RLMR_E_LIMIT, "nested deeper than %d", RLMR_JSON_DEPTH_MAX);
        return 0;
    }
    int go_on = emit(context, kind, NULL, 0);
    self->depth++;
    return go_on;
}

static int close_bracket(void *context, rlmr_json_kind kind) {
    ((reader *)context)->depth--;
    return emit(context, kind, NULL, 0);
}

static int on_null(void *context) {
    return emit(context, RLMR_JSON_LITERAL, (const unsigned char *)"null", 4);
}

static int on_boolean(void *context, int value) {
    return emit(context, RLMR_JSON_LITERAL, (const unsigned char *)(value ? "true" : "false"), value ? 4 : 5);
}

static int on_number(void *context, const char *text, size_t bytes) {
    return emit(context, RLMR_JSON_NUMBER, (const unsigned char *)text, bytes);
}

static int on_string(void *context, const unsigned char *text, size_t bytes) {
    return emit(context, RLMR_JSON_STRING, text, bytes);
}

static int on_key(void *context, const unsigned char *text, size_t bytes) {
    return emit(context, RLMR_JSON_KEY, text, bytes);
}

static int on_object(void *context) {
    return open_bracket(context, RLMR_JSON_OBJECT);
}

static int on_object_end(void *context) {
    return close_bracket(context, RLMR_JSON_OBJECT_END);
}

static int on_array(void *context) {
    return open_bracket(context, RLMR_JSON_ARRAY);
}

static int on_array_end(void *context) {
    return close_bracket(context, RLMR_JSON_ARRAY_END);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_object_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

static yajl_handle guarded_open(reader *self, yajl_alloc_funcs *memory) {
    if (setjmp(self->no_memory) != 0) {
        return NULL;
    }
    return yajl_alloc(&callbacks, memory, self);
}

/* Parse one piece, or the end of the file if it has no bytes. */
static yajl_status guarded_parse(reader *self, yajl_handle parser, rlmr_slice piece) {
    if (setjmp(self->no_memory) != 0) {
        return yajl_status_client_canceled;
    }
    return piece.bytes > 0 ? yajl_parse(parser, (const unsigned char *)piece.text, piece.bytes)
                           : yajl_complete_parse(parser);
}

static rlmr_status syntax_error(reader *self, yajl_handle parser) {
    if (setjmp(self->no_memory) != 0) {
        return self->status;
    }
    unsigned char *text = yajl_get_error(parser, 0, NULL, 0);
    const char *reason = text == NULL ? "not JSON" : (const char *)text;
    rlmr_status status = rlmr_error_set(self->err, RLMR_E_PARSE, "%.*s", (int)strcspn(reason, "\n"), reason);
    if (text != NULL) {
        yajl_free_error(parser, text);
    }
    return status;
}

static void set_offset(rlmr_error *err, int64_t offset) {
    if (err != NULL && err->offset < 0) {
        err->offset = offset;
    }
}

static rlmr_status parse_file(reader *self, yajl_handle parser, rlmr_input *input) {
    rlmr_slice piece;
    do {
        rlmr_status status = rlmr_input_read(input, &piece, self->err);
        if (status != RLMR_OK) {
            return status;
        }
        yajl_status outcome = guarded_parse(self, parser, piece);
        if (outcome != yajl_status_ok) {
            status = outcome == yajl_status_client_canceled ? self->status : syntax_error(self, parser);
            size_t consumed = piece.bytes > 0 ? yajl_get_bytes_consumed(parser) : 0;
            set_offset(self->err, rlmr_input_offset(input) + (int64_t)consumed);
            return status;
        }
    } while (piece.bytes > 0);
    return RLMR_OK;
}

rlmr_status rlmr_json_read(const char *path, rlmr_json_token token, void *self, const rlmr_meter *meter,
                           rlmr_error *err) {
    rlmr_input *input;
    rlmr_status status = rlmr_input_open(path, meter, &input, err);
    if (status != RLMR_OK) {
        return status;
    }
    reader state = {.token = token, .self = self, .err = err};
    yajl_alloc_funcs memory = {
        .malloc = yajl_malloc, .realloc = yajl_realloc, .free = yajl_release, .ctx = &state};
    yajl_handle parser = guarded_open(&state, &memory);
    if (parser == NULL) {
        status = state.status;
    } else {
        /* Text columns replace what is not UTF-8; an event is not lost for it. */
        (void)yajl_config(parser, yajl_dont_validate_strings, 1);
        status = parse_file(&state, parser, input);
        yajl_free(parser);
    }
    rlmr_input_close(input);
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
