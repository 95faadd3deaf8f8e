#include "rlmr/metadata_reader.h"

#include "json_line.h"
#include "json_parser.h"
#include "metadata_json.h"
#include "rlmr/capture.h"
#include "rlmr/decimal.h"
#include "rlmr/limits.h"

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

    /* A group. */
    rlmr_bytes id;
    rlmr_bytes name;
    rlmr_bytes ranks; /* of int32_t */
    bool bad_rank;
    group_field field;

    /* distributed_args. */
    rlmr_distributed_args args;
    rlmr_bytes line;
    int32_t *size; /* that the key just read names, NULL for none */
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
    self->bad_rank = false;
}

static rlmr_status give_group(reader *self, rlmr_error *err) {
    size_t count = self->bad_rank ? 0 : self->ranks.bytes / sizeof(int32_t);
    const int32_t *ranks = count == 0 ? NULL : (const int32_t *)self->ranks.data;
    self->refused =
        self->sink->group(self->sink->self, whole(&self->id), whole(&self->name), ranks, count, err);
    return self->refused;
}

static rlmr_status take_group_key(reader *self, rlmr_slice key, int depth, rlmr_error *err) {
    if (depth == MEMBER_DEPTH) {
        rlmr_bytes_clear(&self->name);
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
    }
    pass_over(self, kind, FIELD_DEPTH);
    if (self->field == FIELD_NAME) {
        return replace(&self->name, kind == RLMR_JSON_STRING ? text : RLMR_SLICE(""), err);
    }
    return RLMR_OK;
}

static rlmr_status take_rank(reader *self, rlmr_json_kind kind, rlmr_slice text, rlmr_error *err) {
    int32_t rank;
    bool scalar = kind == RLMR_JSON_NUMBER || kind == RLMR_JSON_STRING;
    pass_over(self, kind, RANK_DEPTH);
    if (!scalar || !rlmr_capture_parse_rank(text, &rank)) {
        self->bad_rank = true;
        return RLMR_OK;
    }
    rlmr_status status = rlmr_bytes_append(&self->ranks, &rank, sizeof rank, err);
    return status == RLMR_OK ? check_held(self, err) : status;
}

static rlmr_status take_groups(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                               rlmr_error *err) {
    if (kind == RLMR_JSON_KEY) {
        return take_group_key(self, text, depth, err);
    }
    if (kind == RLMR_JSON_OBJECT_END || kind == RLMR_JSON_ARRAY_END) {
        return kind == RLMR_JSON_OBJECT_END && depth == MEMBER_DEPTH ? give_group(self, err) : RLMR_OK;
    }
    switch (depth) {
    case VALUE_DEPTH:
    case MEMBER_DEPTH:
        if (kind != RLMR_JSON_OBJECT) {
            pass_over(self, kind, depth);
        }
        return RLMR_OK;
    case FIELD_DEPTH:
        return take_group_field(self, kind, text, err);
    default:
        return take_rank(self, kind, text, err);
    }
}

/* ---- distributed_args ---- */

static int32_t size_of(rlmr_json_kind kind, rlmr_slice text) {
    int64_t size;
    bool scalar = kind == RLMR_JSON_NUMBER || kind == RLMR_JSON_STRING;
    bool fits = scalar && rlmr_decimal_to_i64(text, &size) && size >= INT32_MIN && size <= INT32_MAX;
    return fits ? (int32_t)size : -1;
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
    }
    SIZES(FIND_SIZE)
}

static rlmr_status take_args(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    if (depth == VALUE_DEPTH && kind != RLMR_JSON_OBJECT_END) {
        begin_args(self);
        if (kind != RLMR_JSON_OBJECT) {
            pass_over(self, kind, depth);
            return RLMR_OK;
        }
    }
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
        *self->size = size_of(kind, text);
    }
    rlmr_status status = rlmr_json_line_add(&self->line, kind, text, err);
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
    rlmr_status status = rlmr_json_read(path, take_file_token, &state, meter, err);
    *has_groups = state.has_groups;
    *has_distribution = state.has_distribution;
    release(&state);
    return status;
}

rlmr_status rlmr_metadata_parse(rlmr_slice json, rlmr_metadata_kind kind, const rlmr_metadata_sink *sink,
                                rlmr_error *damage, rlmr_error *err) {
    reader state = {.sink = sink, .kind = kind, .passed_over = -1};
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
