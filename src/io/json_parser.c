#include "json_parser.h"

#include "rlmr/limits.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* What yajl may take at once: it doubles its buffers, and gives a string only when it has ended. Strings that are longer than
 * the limit are refused then; this is for those that do not end. */
#define ALLOCATION_BYTES_MAX (8 * (size_t)RLMR_LIMIT_STRING_BYTES)

/* In front of each block that yajl holds. After a longjmp it may have lost some, so they are freed from this ring. */
typedef struct block {
    struct block *before;
    struct block *after;
} block;

struct rlmr_json_parser {
    rlmr_json_token token;
    void *self;
    rlmr_error *err; /* of the call at work */
    int depth;
    rlmr_status status; /* why a callback or the allocator stopped yajl */
    yajl_handle yajl;
    yajl_alloc_funcs memory;
    block blocks; /* ring */
    jmp_buf no_memory;
};

static void link_block(rlmr_json_parser *self, block *new) {
    new->before = &self->blocks;
    new->after = self->blocks.after;
    new->after->before = new;
    self->blocks.after = new;
}

static void unlink_block(block *old) {
    old->before->after = old->after;
    old->after->before = old->before;
}

/* yajl does not look at what its allocator returns: a failure leaves it by longjmp. */
static void *allocate(rlmr_json_parser *self, block *old, size_t bytes) {
    if (bytes > ALLOCATION_BYTES_MAX) {
        self->status = rlmr_error_set(self->err, RLMR_E_LIMIT,
                                      "a string of more than %d bytes" RLMR_LIMIT_TEXT(STRING_BYTES),
                                      RLMR_LIMIT_STRING_BYTES);
        longjmp(self->no_memory, 1);
    }
    if (old != NULL) {
        unlink_block(old);
    }
    block *new = realloc(old, sizeof *new + bytes);
    if (new == NULL) {
        if (old != NULL) {
            link_block(self, old);
        }
        self->status = rlmr_error_set(self->err, RLMR_E_NOMEM, "no memory to parse JSON");
        longjmp(self->no_memory, 1);
    }
    link_block(self, new);
    return new + 1;
}

static void *yajl_malloc(void *context, size_t bytes) {
    return allocate(context, NULL, bytes);
}

static void *yajl_realloc(void *context, void *old, size_t bytes) {
    return allocate(context, old == NULL ? NULL : (block *)old - 1, bytes);
}

static void yajl_release(void *context, void *memory) {
    (void)context;
    if (memory != NULL) {
        block *old = (block *)memory - 1;
        unlink_block(old);
        free(old);
    }
}

/* The parser goes on while the status is OK. */
static int emit(void *context, rlmr_json_kind kind, const unsigned char *text, size_t bytes) {
    rlmr_json_parser *self = context;
    rlmr_slice slice = {.text = (const char *)text, .bytes = bytes};
    self->status = self->token(self->self, kind, slice, self->depth, self->err);
    return self->status == RLMR_OK;
}

static int open_bracket(void *context, rlmr_json_kind kind) {
    rlmr_json_parser *self = context;
    if (self->depth == RLMR_LIMIT_JSON_DEPTH) {
        self->status =
            rlmr_error_set(self->err, RLMR_E_LIMIT, "nested deeper than %d" RLMR_LIMIT_TEXT(JSON_DEPTH),
                           RLMR_LIMIT_JSON_DEPTH);
        return 0;
    }
    int go_on = emit(context, kind, NULL, 0);
    self->depth++;
    return go_on;
}

static int close_bracket(void *context, rlmr_json_kind kind) {
    ((rlmr_json_parser *)context)->depth--;
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

static int emit_string(rlmr_json_parser *self, rlmr_json_kind kind, const unsigned char *text, size_t bytes) {
    if (bytes > RLMR_LIMIT_STRING_BYTES) {
        self->status = rlmr_error_set(self->err, RLMR_E_LIMIT,
                                      "a string of more than %d bytes" RLMR_LIMIT_TEXT(STRING_BYTES),
                                      RLMR_LIMIT_STRING_BYTES);
        return 0;
    }
    return emit(self, kind, text, bytes);
}

static int on_string(void *context, const unsigned char *text, size_t bytes) {
    return emit_string(context, RLMR_JSON_STRING, text, bytes);
}

static int on_key(void *context, const unsigned char *text, size_t bytes) {
    return emit_string(context, RLMR_JSON_KEY, text, bytes);
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

static bool guarded_open(rlmr_json_parser *self) {
    if (setjmp(self->no_memory) != 0) {
        return false;
    }
    self->yajl = yajl_alloc(&callbacks, &self->memory, self);
    return true;
}

rlmr_status rlmr_json_parser_open(rlmr_json_token token, void *self, rlmr_json_parser **out,
                                  rlmr_error *err) {
    rlmr_json_parser *parser = calloc(1, sizeof *parser);
    *out = NULL;
    if (parser == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to parse JSON");
    }
    parser->token = token;
    parser->self = self;
    parser->err = err;
    parser->blocks = (block){.before = &parser->blocks, .after = &parser->blocks};
    parser->memory = (yajl_alloc_funcs){
        .malloc = yajl_malloc, .realloc = yajl_realloc, .free = yajl_release, .ctx = parser};
    if (!guarded_open(parser)) {
        rlmr_json_parser_close(parser);
        return RLMR_E_NOMEM;
    }
    /* Text columns replace what is not UTF-8; an event is not lost for it. */
    (void)yajl_config(parser->yajl, yajl_dont_validate_strings, 1);
    *out = parser;
    return RLMR_OK;
}

void rlmr_json_parser_close(rlmr_json_parser *parser) {
    if (parser == NULL) {
        return;
    }
    for (block *each = parser->blocks.after; each != &parser->blocks;) {
        block *after = each->after;
        free(each);
        each = after;
    }
    free(parser);
}

static yajl_status guarded_parse(rlmr_json_parser *self, rlmr_slice piece) {
    if (setjmp(self->no_memory) != 0) {
        return yajl_status_client_canceled;
    }
    return piece.bytes > 0 ? yajl_parse(self->yajl, (const unsigned char *)piece.text, piece.bytes)
                           : yajl_complete_parse(self->yajl);
}

static rlmr_status syntax_error(rlmr_json_parser *self) {
    if (setjmp(self->no_memory) != 0) {
        return self->status;
    }
    unsigned char *text = yajl_get_error(self->yajl, 0, NULL, 0);
    const char *reason = text == NULL ? "not JSON" : (const char *)text;
    rlmr_status status = rlmr_error_set(self->err, RLMR_E_PARSE, "%.*s", (int)strcspn(reason, "\n"), reason);
    if (text != NULL) {
        yajl_free_error(self->yajl, text);
    }
    return status;
}

rlmr_status rlmr_json_parser_feed(rlmr_json_parser *parser, rlmr_slice piece, rlmr_error *err) {
    parser->err = err;
    switch (guarded_parse(parser, piece)) {
    case yajl_status_ok:
        return RLMR_OK;
    case yajl_status_client_canceled:
        return parser->status;
    default:
        return syntax_error(parser);
    }
}

size_t rlmr_json_parser_at(const rlmr_json_parser *parser) {
    return yajl_get_bytes_consumed(parser->yajl);
}
