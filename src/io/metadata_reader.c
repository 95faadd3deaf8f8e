#include "rlmr/metadata_reader.h"

#include "json_line.h"
#include "json_parser.h"
#include "metadata_json.h"
#include "rlmr/capture.h"
#include "rlmr/decimal.h"
#include "rlmr/limits.h"

#include <stdio.h>

/* Depths within the value of parallel_group_info or of distributed_args. */
enum { VALUE_DEPTH, MEMBER_DEPTH, FIELD_DEPTH, RANK_DEPTH };

/* X(size, key in distributed_args) */
#define SIZES(X)                                                                                             \
    X(tp, "tensor_model_parallel_size")                                                                      \
    X(pp, "pipeline_model_parallel_size")                                                                    \
    X(dp, "data_parallel_size")                                                                              \
    X(cp, "context_parallel_size")                                                                           \
    X(ep, "expert_model_parallel_size")                                                                      \
    X(world, "world_size")

typedef enum { FIELD_OTHER, FIELD_NAME, FIELD_RANKS } group_field;

typedef struct {
    const rlmr_metadata_sink *sink;
    rlmr_status refused; /* what a callback returned */
    rlmr_metadata_kind kind;
    bool has_groups;
    bool has_distribution;
    int passed_over; /* depth of what is passed over, -1 for nothing */
    int64_t end;     /* offset in the file behind the token at hand, -1 without a file */

    /* A group. */
    rlmr_bytes id;
    rlmr_bytes name;
    rlmr_bytes ranks;      /* of int32_t */
    const char *bad_ranks; /* why they are left out, NULL if they are not */
    bool bad_name;
    group_field field;

    /* distributed_args. */
    rlmr_distributed_args args;
    rlmr_bytes line;
    int32_t *size; /* that the key just read names, NULL for none */
    const char *size_name;
    bool unwanted; /* it is `rank` */
    bool empty;
} reader;

static rlmr_slice whole(const rlmr_bytes *bytes) {
    return (rlmr_slice){.text = bytes->bytes == 0 ? "" : (const char *)bytes->data, .bytes = bytes->bytes};
}

static rlmr_status replace(rlmr_bytes *bytes, rlmr_slice text, rlmr_error *err) {
    rlmr_bytes_clear(bytes);
    return rlmr_bytes_append(bytes, text.text, text.bytes, err);
}

static bool opens(rlmr_json_kind kind) {
    return kind == RLMR_JSON_OBJECT || kind == RLMR_JSON_ARRAY;
}

static void pass_over(reader *self, rlmr_json_kind kind, int depth) {
    self->passed_over = opens(kind) ? depth : -1;
}

static bool is_null(rlmr_json_kind kind, rlmr_slice text) {
    return kind == RLMR_JSON_LITERAL && rlmr_slice_equal(text, RLMR_SLICE("null"));
}

/* @param what of `of` it is, or empty */
static rlmr_status tell(reader *self, const char *of, rlmr_slice what, const char *reason, rlmr_error *err) {
    char text[200];
    if (self->sink->damage == NULL) {
        return RLMR_OK;
    }
    int shown = what.bytes > 64 ? 64 : (int)what.bytes;
    (void)snprintf(text, sizeof text, "%s%s%.*s: %s", of, shown == 0 ? "" : ": ", shown,
                   shown == 0 ? "" : what.text, reason);
    self->refused = self->sink->damage->met(self->sink->damage->self, self->end, true, text, err);
    return self->refused;
}

static rlmr_status check_held(const reader *self, rlmr_error *err) {
    size_t held = self->id.bytes + self->name.bytes + self->ranks.bytes + self->line.bytes;
    return held <= RLMR_LIMIT_RECORD_BYTES
               ? RLMR_OK
               : rlmr_error_set(
                     err, RLMR_E_LIMIT,
                     "a group or distributed_args with too many bytes" RLMR_LIMIT_TEXT(RECORD_BYTES));
}

/* ---- Groups ---- */

static void forget_ranks(reader *self) {
    rlmr_bytes_clear(&self->ranks);
    self->bad_ranks = NULL;
}

static rlmr_status tell_group(reader *self, const char *reason, rlmr_error *err) {
    return tell(self, "parallel_group_info", whole(&self->id), reason, err);
}

static rlmr_status give_group(reader *self, rlmr_error *err) {
    size_t count = self->bad_ranks != NULL ? 0 : self->ranks.bytes / sizeof(int32_t);
    const int32_t *ranks = count == 0 ? NULL : (const int32_t *)self->ranks.data;
    rlmr_status status = self->bad_ranks != NULL ? tell_group(self, self->bad_ranks, err) : RLMR_OK;
    status = status == RLMR_OK && self->bad_name ? tell_group(self, "group_name is no text", err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    self->refused =
        self->sink->group(self->sink->self, whole(&self->id), whole(&self->name), ranks, count, err);
    return self->refused;
}

static rlmr_status take_group_key(reader *self, rlmr_slice key, int depth, rlmr_error *err) {
    if (depth == MEMBER_DEPTH) {
        rlmr_bytes_clear(&self->name);
        self->bad_name = false;
        forget_ranks(self);
        return replace(&self->id, key, err);
    }
    self->field = rlmr_slice_equal(key, RLMR_SLICE("group_name"))     ? FIELD_NAME
                  : rlmr_slice_equal(key, RLMR_SLICE("global_ranks")) ? FIELD_RANKS
                                                                      : FIELD_OTHER;
    return RLMR_OK;
}

static rlmr_status take_group_field(reader *self, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    if (self->field == FIELD_RANKS) {
        forget_ranks(self);
        if (kind == RLMR_JSON_ARRAY) {
            return RLMR_OK;
        }
        self->bad_ranks = is_null(kind, text) ? NULL : "global_ranks is no list";
    }
    pass_over(self, kind, FIELD_DEPTH);
    if (self->field == FIELD_NAME) {
        self->bad_name = kind != RLMR_JSON_STRING && !is_null(kind, text);
        return replace(&self->name, kind == RLMR_JSON_STRING ? text : RLMR_SLICE(""), err);
    }
    return RLMR_OK;
}

static rlmr_status take_rank(reader *self, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    int32_t rank;
    bool scalar = kind == RLMR_JSON_NUMBER || kind == RLMR_JSON_STRING;
    pass_over(self, kind, RANK_DEPTH);
    if (!scalar || !rlmr_capture_parse_rank(text, &rank)) {
        self->bad_ranks = "global_ranks holds what is no rank";
        return RLMR_OK;
    }
    rlmr_status status = rlmr_bytes_append(&self->ranks, &rank, sizeof rank, err);
    return status == RLMR_OK ? check_held(self, err) : status;
}

static rlmr_status take_groups(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                               rlmr_error *err) {
    const rlmr_slice none = {0};
    if (kind == RLMR_JSON_KEY) {
        return take_group_key(self, text, depth, err);
    }
    if (kind == RLMR_JSON_OBJECT_END || kind == RLMR_JSON_ARRAY_END) {
        return kind == RLMR_JSON_OBJECT_END && depth == MEMBER_DEPTH ? give_group(self, err) : RLMR_OK;
    }
    bool form = kind == RLMR_JSON_OBJECT || is_null(kind, text);
    switch (depth) {
    case VALUE_DEPTH:
    case MEMBER_DEPTH:
        if (kind != RLMR_JSON_OBJECT) {
            pass_over(self, kind, depth);
        }
        return form ? RLMR_OK
                    : tell(self, "parallel_group_info", depth == VALUE_DEPTH ? none : whole(&self->id),
                           "no object", err);
    case FIELD_DEPTH:
        return take_group_field(self, kind, text, err);
    default:
        return take_rank(self, kind, text, err);
    }
}

/* ---- distributed_args ---- */

static rlmr_status take_size(reader *self, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    int64_t size;
    bool scalar = kind == RLMR_JSON_NUMBER || kind == RLMR_JSON_STRING;
    bool fits = scalar && rlmr_decimal_to_i64(text, &size) && size >= INT32_MIN && size <= INT32_MAX;
    *self->size = fits ? (int32_t)size : -1;
    return fits || is_null(kind, text)
               ? RLMR_OK
               : tell(self, "distributed_args", rlmr_slice_of(self->size_name), "not an integer", err);
}

static void begin_args(reader *self) {
#define NO_SIZE(size, key) .size = -1,
    self->args = (rlmr_distributed_args){SIZES(NO_SIZE)};
    rlmr_bytes_clear(&self->line);
    self->size = NULL;
    self->empty = true;
}

static rlmr_status give_args(reader *self, rlmr_error *err) {
    if (self->empty) {
        return RLMR_OK;
    }
    self->args.json = whole(&self->line);
    self->refused = self->sink->distribution(self->sink->self, &self->args, err);
    return self->refused;
}

static void find_size(reader *self, rlmr_slice key) {
    self->size = NULL;
#define FIND_SIZE(field, name)                                                                               \
    if (rlmr_slice_equal(key, RLMR_SLICE(name))) {                                                           \
        self->size = &self->args.field;                                                                      \
        self->size_name = (name);                                                                            \
    }
    SIZES(FIND_SIZE)
}

static rlmr_status take_args(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    if (depth == VALUE_DEPTH && kind != RLMR_JSON_OBJECT_END) {
        begin_args(self);
        if (kind != RLMR_JSON_OBJECT) {
            pass_over(self, kind, depth);
            return is_null(kind, text) ? RLMR_OK
                                       : tell(self, "distributed_args", (rlmr_slice){0}, "no object", err);
        }
    }
    rlmr_status status = RLMR_OK;
    if (depth == MEMBER_DEPTH && kind == RLMR_JSON_KEY) {
        self->unwanted = rlmr_slice_equal(text, RLMR_SLICE("rank"));
        find_size(self, text);
        if (self->unwanted) {
            return RLMR_OK;
        }
        self->empty = false;
    } else if (self->unwanted) {
        self->unwanted = false;
        pass_over(self, kind, depth);
        return RLMR_OK;
    } else if (depth == MEMBER_DEPTH && self->size != NULL) {
        status = take_size(self, kind, text, err);
        self->size = NULL;
    }
    status = status == RLMR_OK ? rlmr_json_line_add(&self->line, kind, text, err) : status;
    status = status == RLMR_OK ? check_held(self, err) : status;
    return status == RLMR_OK && depth == VALUE_DEPTH && kind == RLMR_JSON_OBJECT_END ? give_args(self, err)
                                                                                     : status;
}

/* ---- Both ---- */

/* A token of the value, with its depth in there. */
static rlmr_status take_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                              rlmr_error *err) {
    reader *self = context;
    if (self->passed_over >= 0) {
        bool ends = kind == RLMR_JSON_OBJECT_END || kind == RLMR_JSON_ARRAY_END;
        self->passed_over = ends && depth == self->passed_over ? -1 : self->passed_over;
        return RLMR_OK;
    }
    switch (self->kind) {
    case RLMR_METADATA_GROUPS:
        return take_groups(self, kind, text, depth, err);
    case RLMR_METADATA_DISTRIBUTION:
        return take_args(self, kind, text, depth, err);
    case RLMR_METADATA_OTHER:
        break;
    }
    return RLMR_OK;
}

static void take_file_key(reader *self, rlmr_slice key) {
    self->kind = RLMR_METADATA_OTHER;
    if (rlmr_slice_equal(key, RLMR_SLICE("parallel_group_info"))) {
        self->kind = RLMR_METADATA_GROUPS;
        self->has_groups = true;
    } else if (rlmr_slice_equal(key, RLMR_SLICE("distributed_args"))) {
        self->kind = RLMR_METADATA_DISTRIBUTION;
        self->has_distribution = true;
    }
}

static rlmr_status take_file_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth,
                                   rlmr_error *err) {
    reader *self = context;
    if (depth == 0) {
        bool object = kind == RLMR_JSON_OBJECT || kind == RLMR_JSON_OBJECT_END;
        return object ? RLMR_OK : rlmr_error_set(err, RLMR_E_PARSE, "not a JSON object");
    }
    if (depth == 1 && kind == RLMR_JSON_KEY) {
        take_file_key(self, text);
        return RLMR_OK;
    }
    return take_token(self, kind, text, depth - 1, err);
}

static void release(reader *self) {
    rlmr_bytes_release(&self->id);
    rlmr_bytes_release(&self->name);
    rlmr_bytes_release(&self->ranks);
    rlmr_bytes_release(&self->line);
}

rlmr_status rlmr_metadata_read(const char *path, const rlmr_metadata_sink *sink, const rlmr_meter *meter,
                               bool *has_groups, bool *has_distribution, rlmr_error *err) {
    reader state = {.sink = sink, .passed_over = -1};
    rlmr_status status = rlmr_json_read_located(path, take_file_token, &state, meter, &state.end, err);
    *has_groups = state.has_groups;
    *has_distribution = state.has_distribution;
    release(&state);
    return status;
}

rlmr_status rlmr_metadata_parse(rlmr_slice json, rlmr_metadata_kind kind, const rlmr_metadata_sink *sink,
                                rlmr_error *damage, rlmr_error *err) {
    reader state = {.sink = sink, .kind = kind, .passed_over = -1, .end = -1};
    rlmr_json_parser *parser;
    rlmr_error_clear(damage);
    rlmr_status status = rlmr_json_parser_open(take_token, &state, &parser, damage);
    status = status == RLMR_OK && json.bytes > 0 ? rlmr_json_parser_feed(parser, json, damage) : status;
    status = status == RLMR_OK ? rlmr_json_parser_feed(parser, (rlmr_slice){0}, damage) : status;
    rlmr_json_parser_close(parser);
    release(&state);
    if (state.refused == RLMR_OK && (status == RLMR_E_PARSE || status == RLMR_E_LIMIT)) {
        return RLMR_OK;
    }
    return status == RLMR_OK ? RLMR_OK : rlmr_error_set(err, status, "%s", damage->message);
}
