/** rlmr_trace_read() over the input as a file: whole, in short reads, packed, and with the end of a piece inside it. What it
 *  gives is compared with the tokens of rlmr_json_read(), which knows nothing of events and stops at the first error. */
#include "fuzz.h"
#include "fuzz_file.h"
#include "rlmr/json_reader.h"
#include "rlmr/trace_reader.h"

#include <string.h>

/* ---- The reference ---- */

typedef struct {
    uint64_t events;     /* complete objects in an array of events */
    uint64_t no_objects; /* other elements of such an array */
    uint64_t hash;       /* of the names */
    bool found;          /* an array of events */
    int elements;        /* depth of its elements, 0 outside */
    bool next;           /* the key just read is traceEvents */
    bool name_next;
    uint64_t name; /* hash of the name of the object at hand */
    rlmr_status status;
} reference;

static uint64_t hash_text(uint64_t hash, rlmr_slice text) {
    hash = fuzz_hash(hash, &text.bytes, sizeof text.bytes);
    return text.bytes == 0 ? hash : fuzz_hash(hash, text.text, text.bytes);
}

/* A token within an event. */
static void look_into_event(reference *self, rlmr_json_kind kind, rlmr_slice text, int depth) {
    if (depth != self->elements + 1) {
        return;
    }
    if (self->name_next) {
        self->name =
            hash_text(FUZZ_HASH, kind == RLMR_JSON_STRING ? text : (rlmr_slice){.text = "", .bytes = 0});
    }
    self->name_next = kind == RLMR_JSON_KEY && rlmr_slice_equal(text, RLMR_SLICE("name"));
}

/* A token that is an element of the array of events, or its bracket. */
static void look_at_element(reference *self, rlmr_json_kind kind) {
    if (kind == RLMR_JSON_OBJECT) {
        self->name = hash_text(FUZZ_HASH, (rlmr_slice){.text = "", .bytes = 0});
        self->name_next = false;
    } else if (kind == RLMR_JSON_OBJECT_END) {
        self->events++;
        self->hash = fuzz_hash(self->hash, &self->name, sizeof self->name);
    } else if (kind != RLMR_JSON_ARRAY_END) {
        self->no_objects++;
    }
}

static rlmr_status on_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    (void)err;
    reference *self = context;
    if (self->elements > 0) {
        if (depth == self->elements) {
            look_at_element(self, kind);
        } else if (depth > self->elements) {
            look_into_event(self, kind, text, depth);
        } else {
            self->elements = 0;
        }
        return RLMR_OK;
    }
    if (kind == RLMR_JSON_ARRAY && (depth == 0 || (depth == 1 && self->next))) {
        self->elements = depth + 1;
        self->found = true;
    }
    self->next = depth == 1 && kind == RLMR_JSON_KEY && rlmr_slice_equal(text, RLMR_SLICE("traceEvents"));
    return RLMR_OK;
}

static reference read_tokens(const char *path) {
    reference out = {.hash = FUZZ_HASH};
    out.status = rlmr_json_read(path, on_token, &out, NULL, NULL);
    FUZZ_REQUIRE(out.status == RLMR_OK || out.status == RLMR_E_PARSE || out.status == RLMR_E_LIMIT);
    return out;
}

/* ---- The reader ---- */

typedef struct {
    const uint8_t *data;
    size_t bytes;
    int64_t shift; /* of offsets: the blanks before the data */
    const reference *expected;
    uint64_t events;
    uint64_t names;        /* hash of the names */
    uint64_t names_before; /* the same, of as many events as the reference has */
    int64_t last_offset;
    uint64_t damages;
    int64_t last_damage;
    uint64_t hash; /* of all that was told */
} result;

static rlmr_status on_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    (void)err;
    result *out = self;
    int64_t offset = event->offset - out->shift;
    FUZZ_REQUIRE(event->number == out->events++);
    FUZZ_REQUIRE(offset > out->last_offset && offset < (int64_t)out->bytes && out->data[offset] == '{');
    out->last_offset = offset;
    out->hash = fuzz_hash(out->hash, &offset, sizeof offset);
#define HASH_FIELD(field, key)                                                                               \
    FUZZ_REQUIRE(event->field.text != NULL);                                                                 \
    out->hash = hash_text(out->hash, event->field);
    RLMR_EVENT_FIELDS(HASH_FIELD)
    RLMR_ARGS_FIELDS(HASH_FIELD)
    uint64_t name = hash_text(FUZZ_HASH, event->name);
    out->names = fuzz_hash(out->names, &name, sizeof name);
    if (out->events == out->expected->events) {
        out->names_before = out->names;
    }
    return RLMR_OK;
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)err;
    result *out = self;
    offset = offset < 0 ? offset : offset - out->shift;
    FUZZ_REQUIRE(offset >= -1 && offset <= (int64_t)out->bytes);
    FUZZ_REQUIRE(offset < 0 || offset >= out->last_damage);
    FUZZ_REQUIRE(reason[0] != '\0' && strstr(reason, "/proc/") == NULL);
    out->last_damage = offset;
    out->damages++;
    out->hash = fuzz_hash(out->hash, &offset, sizeof offset);
    out->hash = fuzz_hash(out->hash, &lost, sizeof lost);
    out->hash = hash_text(out->hash, rlmr_slice_of(reason));
    return RLMR_OK;
}

static result read_events(const char *path, fuzz_bytes input, int64_t shift, const reference *expected) {
    result out = {.data = input.data,
                  .bytes = input.bytes,
                  .shift = shift,
                  .expected = expected,
                  .names = FUZZ_HASH,
                  .names_before = FUZZ_HASH,
                  .last_offset = -1,
                  .hash = FUZZ_HASH};
    rlmr_damage damage = {.met = on_damage, .self = &out};
    uint64_t events = 0;
    FUZZ_REQUIRE(rlmr_trace_read(path, on_event, &out, &damage, NULL, &events, NULL) == RLMR_OK);
    FUZZ_REQUIRE(events == out.events);
    return out;
}

static void require_same(const result *a, const result *b) {
    FUZZ_REQUIRE(a->events == b->events && a->damages == b->damages && a->hash == b->hash);
}

/* Nothing is lost in silence, and nothing before the first error at all. */
static void check_against(const result *out, const reference *expected) {
    bool sound = expected->status == RLMR_OK && expected->no_objects == 0 && expected->found;
    FUZZ_REQUIRE((out->damages == 0) == sound);
    FUZZ_REQUIRE(out->events >= expected->events && out->names_before == expected->hash);
    FUZZ_REQUIRE(expected->status != RLMR_OK || out->events == expected->events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes input = {.data = data, .bytes = size};
    uint64_t hash = fuzz_hash(FUZZ_HASH, data, size);
    fuzz_file file = fuzz_file_open(data, size);
    reference expected = read_tokens(file.path);
    result whole = read_events(file.path, input, 0, &expected);
    check_against(&whole, &expected);

    if (fuzz_wants(0, hash)) {
        fuzz_file_limit_reads(1 + hash % 7);
        result pieces = read_events(file.path, input, 0, &expected);
        fuzz_file_limit_reads(0);
        require_same(&whole, &pieces);
    }
    fuzz_file_close(&file);
    if (fuzz_wants(1, hash)) {
        fuzz_file packed = fuzz_file_open_packed(data, size);
        result unpacked = read_events(packed.link, input, 0, &expected);
        require_same(&whole, &unpacked);
        fuzz_file_close(&packed);
    }
    if (fuzz_wants(2, hash) && !fuzz_has_mark(data, size)) {
        int64_t shift;
        fuzz_file late = fuzz_file_open_late(data, size, hash, &shift);
        result cut = read_events(late.path, input, shift, &expected);
        require_same(&whole, &cut);
        fuzz_file_close(&late);
    }
    return 0;
}
