/** rlmr_trace_read() over the input as a file: whole, in short reads, packed, and with the end of a piece inside it. What it
 *  gives when it is strict is compared with the tokens of rlmr_json_read(), which knows nothing of events and stops at the first
 *  error; what it gives else, with that. */
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
    bool strict;
    uint64_t events;       /* up to the last one given */
    uint64_t wanted;       /* hash of the events that matching can use */
    uint64_t wanted_early; /* the same, of those before the byte `early` */
    int64_t early;
    uint64_t names;        /* hash of the names */
    uint64_t names_before; /* the same, of as many events as the reference has */
    int64_t last_offset;
    uint64_t damages;
    int64_t first_damage;
    int64_t last_damage;
    uint64_t damage_hash;
    uint64_t total; /* as counted */
    uint64_t hash;  /* of all that was told */
} result;

static rlmr_status on_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    (void)err;
    result *out = self;
    int64_t offset = event->offset - out->shift;
    FUZZ_REQUIRE(out->strict ? event->number == out->events : event->number >= out->events);
    out->events = event->number + 1;
    FUZZ_REQUIRE(offset > out->last_offset && offset < (int64_t)out->bytes && out->data[offset] == '{');
    out->last_offset = offset;
    rlmr_trace_event shown = *event;
    rlmr_bytes decoded = {0};
    if (event->call_stack_escaped) {
        FUZZ_REQUIRE(rlmr_json_string_decode(event->call_stack, &decoded, NULL) == RLMR_OK);
        shown.call_stack = (rlmr_slice){.text = (const char *)decoded.data, .bytes = decoded.bytes};
    }
    uint64_t hash = fuzz_hash(FUZZ_HASH, &offset, sizeof offset);
#define HASH_FIELD(field, key)                                                                               \
    FUZZ_REQUIRE(shown.field.text != NULL || shown.field.bytes == 0);                                        \
    hash = hash_text(hash, shown.field);
    RLMR_EVENT_FIELDS(HASH_FIELD)
    RLMR_ARGS_FIELDS(HASH_FIELD)
    rlmr_bytes_release(&decoded);
    out->hash = fuzz_hash(out->hash, &hash, sizeof hash);
    if (event->call_stack.bytes > 0 || event->sequence.bytes > 0 ||
        rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op"))) {
        out->wanted = fuzz_hash(out->wanted, &hash, sizeof hash);
        out->wanted_early = offset < out->early ? out->wanted : out->wanted_early;
    }
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
    out->first_damage = out->damages == 0 ? offset : out->first_damage;
    out->last_damage = offset;
    out->damages++;
    out->damage_hash = fuzz_hash(out->damage_hash, &offset, sizeof offset);
    out->damage_hash = fuzz_hash(out->damage_hash, &lost, sizeof lost);
    out->damage_hash = hash_text(out->damage_hash, rlmr_slice_of(reason));
    return RLMR_OK;
}

/* The input, as a file in one form or another. */
typedef struct {
    fuzz_bytes input;
    const reference *expected;
    bool strict;
    int64_t early;
} subject;

static result read_events(const char *path, const subject *of, int64_t shift) {
    result out = {.data = of->input.data,
                  .bytes = of->input.bytes,
                  .shift = shift,
                  .expected = of->expected,
                  .strict = of->strict,
                  .early = of->early,
                  .names = FUZZ_HASH,
                  .names_before = FUZZ_HASH,
                  .wanted = FUZZ_HASH,
                  .wanted_early = FUZZ_HASH,
                  .damage_hash = FUZZ_HASH,
                  .last_offset = -1,
                  .hash = FUZZ_HASH};
    rlmr_damage damage = {.met = on_damage, .self = &out};
    FUZZ_REQUIRE(rlmr_trace_read(path, of->strict, on_event, &out, &damage, NULL, &out.total, NULL) ==
                 RLMR_OK);
    FUZZ_REQUIRE(of->strict ? out.total == out.events : out.total >= out.events);
    return out;
}

static void require_same(const result *a, const result *b) {
    FUZZ_REQUIRE(a->total == b->total && a->damages == b->damages && a->hash == b->hash &&
                 a->damage_hash == b->damage_hash);
}

/* Nothing is lost in silence, and nothing before the first error at all. */
static void check_against(const result *out, const reference *expected) {
    bool sound = expected->status == RLMR_OK && expected->no_objects == 0 && expected->found;
    FUZZ_REQUIRE((out->damages == 0) == sound);
    FUZZ_REQUIRE(out->events >= expected->events && out->names_before == expected->hash);
    FUZZ_REQUIRE(expected->status != RLMR_OK || out->events == expected->events);
}

/* What is not strict may miss errors, those in events that nobody wants; before them, and without them, it is the same. */
static void check_against_strict(const result *out, const result *strict, const result *early) {
    FUZZ_REQUIRE(early->wanted_early == out->wanted_early);
    if (strict->damages == 0 || out->damage_hash == strict->damage_hash) {
        FUZZ_REQUIRE(out->damages == strict->damages && out->total == strict->total &&
                     out->wanted == strict->wanted);
    } else {
        FUZZ_REQUIRE(out->damages == 0 || out->first_damage > strict->first_damage);
    }
}

/* The same in every form. */
static result read_forms(const fuzz_file *file, const subject *of, uint64_t hash) {
    result whole = read_events(file->path, of, 0);
    if (fuzz_wants(0, hash)) {
        fuzz_file_limit_reads(1 + hash % 7);
        result pieces = read_events(file->path, of, 0);
        fuzz_file_limit_reads(0);
        require_same(&whole, &pieces);
    }
    if (fuzz_wants(1, hash)) {
        fuzz_file packed = fuzz_file_open_packed(of->input.data, of->input.bytes);
        result unpacked = read_events(packed.link, of, 0);
        require_same(&whole, &unpacked);
        fuzz_file_close(&packed);
    }
    if (fuzz_wants(2, hash) && !fuzz_has_mark(of->input.data, of->input.bytes)) {
        int64_t shift;
        fuzz_file late = fuzz_file_open_late(of->input.data, of->input.bytes, hash, &shift);
        result cut = read_events(late.path, of, shift);
        require_same(&whole, &cut);
        fuzz_file_close(&late);
    }
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t hash = fuzz_hash(FUZZ_HASH, data, size);
    fuzz_file file = fuzz_file_open(data, size);
    reference expected = read_tokens(file.path);
    subject of = {.input = {.data = data, .bytes = size}, .expected = &expected, .strict = true};
    result strict = read_forms(&file, &of, hash);
    check_against(&strict, &expected);
    of.early = strict.damages == 0 ? INT64_MAX : strict.first_damage;
    result early = read_events(file.path, &of, 0);
    of.strict = false;
    result out = read_forms(&file, &of, hash);
    check_against_strict(&out, &strict, &early);
    fuzz_file_close(&file);
    return 0;
}
