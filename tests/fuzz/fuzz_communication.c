/** The readers of communication.json, of communication_matrix.json and of profiler_metadata.json, as the first byte says, over the
 *  rest of the input as a file: whole, cut, in short reads, packed, and with the end of a piece inside it. What they give is counted
 *  against the tokens of rlmr_json_read(), which knows nothing of operators and groups. */
#include "fuzz.h"
#include "fuzz_file.h"
#include "rlmr/communication_reader.h"
#include "rlmr/json_reader.h"
#include "rlmr/limits.h"
#include "rlmr/metadata_reader.h"

#include <string.h>

typedef enum { TIMES, LINKS, METADATA, FORMATS } file_format;

/* Depths of what is counted. */
enum { STEP, SECTION, OPERATOR, BLOCK, TRANSPORT, DEPTHS };

static uint64_t hash_text(uint64_t hash, rlmr_slice text) {
    FUZZ_REQUIRE(text.text != NULL);
    hash = fuzz_hash(hash, &text.bytes, sizeof text.bytes);
    return text.bytes == 0 ? hash : fuzz_hash(hash, text.text, text.bytes);
}

static bool starts_with(rlmr_slice text, const char *start) {
    return text.bytes >= strlen(start) && memcmp(text.text, start, strlen(start)) == 0;
}

/* ---- The reference ---- */

typedef struct {
    file_format format;
    bool wanted
        [DEPTHS]; /* whether the key read last at a depth, below the file's own, names what is counted */
    bool inside[DEPTHS]; /* an object under such a key is open, and all around it */
    bool odd;            /* a section has an unknown name */
    uint64_t open;       /* items of the operator or group at hand */
    uint64_t items;      /* of those that have ended: transports, links */
    uint64_t operators;  /* that have ended; of metadata, groups */
    bool has_groups;
    bool has_distribution;
    rlmr_status status;
} reference;

/* @param depth from 0 for the members of the file's object */
static void name_value(reference *self, rlmr_slice key, int depth) {
    bool wanted = true;
    if (self->format == METADATA) {
        if (depth == 0) {
            wanted = rlmr_slice_equal(key, RLMR_SLICE("parallel_group_info"));
            self->has_groups = self->has_groups || wanted;
            self->has_distribution =
                self->has_distribution || rlmr_slice_equal(key, RLMR_SLICE("distributed_args"));
        }
    } else if (depth == SECTION) {
        wanted = rlmr_slice_equal(key, RLMR_SLICE("p2p")) || rlmr_slice_equal(key, RLMR_SLICE("collective"));
        self->odd = self->odd || (!wanted && self->inside[STEP]);
    } else if (depth == OPERATOR) {
        wanted = !starts_with(key, "Total");
    } else if (depth == BLOCK && self->format == TIMES) {
        wanted = rlmr_slice_equal(key, RLMR_SLICE("Communication Bandwidth Info"));
    } else if (depth == BLOCK) {
        wanted = key.bytes > 0 && memchr(key.text, '-', key.bytes) != NULL;
    }
    self->wanted[depth] = wanted;
}

static void begin_value(reference *self, rlmr_json_kind kind, int depth) {
    int last = self->format == METADATA ? SECTION : self->format == TIMES ? TRANSPORT : BLOCK;
    bool around = depth == 0 || self->inside[depth - 1];
    self->inside[depth] = kind == RLMR_JSON_OBJECT && around && depth <= last && self->wanted[depth];
    if (depth == OPERATOR) {
        self->open = 0;
    }
    if (self->format == TIMES && depth == BLOCK && around && self->wanted[depth]) {
        self->open = 0; /* a repeated block replaces the one before it */
    }
}

static void end_object(reference *self, int depth) {
    bool was = self->inside[depth];
    self->inside[depth] = false;
    if (!was) {
        return;
    }
    if (self->format == METADATA) {
        self->operators += depth == SECTION;
    } else if (depth == OPERATOR) {
        self->operators++;
        self->items += self->open;
    } else {
        self->open += depth == (self->format == TIMES ? TRANSPORT : BLOCK);
    }
}

static rlmr_status on_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    reference *self = context;
    if (depth == 0) {
        bool object = kind == RLMR_JSON_OBJECT || kind == RLMR_JSON_OBJECT_END;
        return object ? RLMR_OK : rlmr_error_set(err, RLMR_E_PARSE, "no object");
    }
    if (depth > DEPTHS) {
        return RLMR_OK;
    }
    if (kind == RLMR_JSON_KEY) {
        name_value(self, text, depth - 1);
    } else if (kind == RLMR_JSON_OBJECT_END) {
        end_object(self, depth - 1);
    } else if (kind != RLMR_JSON_ARRAY_END) {
        begin_value(self, kind, depth - 1);
    }
    return RLMR_OK;
}

static reference count_tokens(const char *path, file_format format) {
    reference out = {.format = format};
    out.status = rlmr_json_read(path, on_token, &out, NULL, NULL);
    FUZZ_REQUIRE(out.status == RLMR_OK || out.status == RLMR_E_PARSE || out.status == RLMR_E_LIMIT);
    return out;
}

/* ---- The readers ---- */

typedef struct {
    fuzz_bytes data;
    bool metadata;
    int64_t shift; /* of offsets: the blanks before the data */
    rlmr_status status;
    uint64_t operators;
    uint64_t items;
    uint64_t records;
    uint64_t hash;    /* of the records */
    uint64_t watched; /* so many records... */
    uint64_t hash_at; /* ...have this hash */
    uint64_t op;      /* hash of the operator at hand */
    int64_t op_offset;
    int64_t item_offset;
    uint64_t damages;
    int64_t last_damage;
    uint64_t damage_hash;
    bool has_groups;
    bool has_distribution;
} result;

static void end_record(result *out, uint64_t record) {
    out->hash = fuzz_hash(out->hash, &record, sizeof record);
    out->records++;
    if (out->records == out->watched) {
        out->hash_at = out->hash;
    }
}

/* A key begins with a quote; behind escapes the offset is only near. */
static void check_offset(const result *out, int64_t offset) {
    FUZZ_REQUIRE(offset >= 0 && offset < (int64_t)out->data.bytes);
    bool escapes = memchr(out->data.data, '\\', out->data.bytes) != NULL;
    FUZZ_REQUIRE(escapes || out->data.data[offset] == '"');
}

static uint64_t hash_key(const result *out, const rlmr_communication_key *key) {
    check_offset(out, key->offset - out->shift);
    uint64_t hash = hash_text(FUZZ_HASH, key->step);
    hash = fuzz_hash(hash, &key->p2p, sizeof key->p2p);
    hash = hash_text(hash, key->op);
    FUZZ_REQUIRE(!starts_with(key->op, "Total"));
    FUZZ_REQUIRE(key->group.bytes == 0 || memchr(key->group.text, '@', key->group.bytes) == NULL);
    return hash_text(hash, key->group);
}

static void count_item(result *out, int64_t offset) {
    FUZZ_REQUIRE(offset >= out->item_offset);
    out->items += offset > out->item_offset;
    out->item_offset = offset;
}

#define HASH_FIELD(field, key, column) hash = hash_text(hash, record->field);

static rlmr_status on_time(void *self, const rlmr_communication_time *record, rlmr_error *err) {
    (void)err;
    result *out = self;
    uint64_t hash = hash_key(out, &record->key);
    FUZZ_REQUIRE(record->key.offset > out->op_offset && record->key.offset >= out->item_offset);
    out->op = hash;
    out->op_offset = record->key.offset;
    out->item_offset = record->key.offset;
    out->operators++;
    RLMR_COMMUNICATION_TIME_FIELDS(HASH_FIELD)
    end_record(out, hash);
    return RLMR_OK;
}

static rlmr_status on_band(void *self, const rlmr_communication_band *record, rlmr_error *err) {
    (void)err;
    result *out = self;
    uint64_t hash = hash_key(out, &record->key);
    FUZZ_REQUIRE(out->operators > 0 && hash == out->op);
    count_item(out, record->key.offset);
    hash = hash_text(hash, record->transport);
    RLMR_COMMUNICATION_BAND_FIELDS(HASH_FIELD)
    end_record(out, hash);
    return RLMR_OK;
}

static rlmr_status on_link(void *self, const rlmr_communication_link *record, rlmr_error *err) {
    (void)err;
    result *out = self;
    uint64_t hash = hash_key(out, &record->key);
    FUZZ_REQUIRE(record->src.bytes == 0 || memchr(record->src.text, '-', record->src.bytes) == NULL);
    FUZZ_REQUIRE(record->key.offset >= out->item_offset); /* all links of an operator have its offset */
    out->item_offset = record->key.offset;
    out->items++;
    hash = hash_text(hash_text(hash, record->src), record->dst);
    RLMR_COMMUNICATION_LINK_FIELDS(HASH_FIELD)
    end_record(out, hash);
    return RLMR_OK;
}

static rlmr_status on_group(void *self, rlmr_slice id, rlmr_slice name, const int32_t *ranks, size_t count,
                            rlmr_error *err) {
    (void)err;
    result *out = self;
    uint64_t hash = hash_text(hash_text(FUZZ_HASH, id), name);
    FUZZ_REQUIRE((ranks == NULL) == (count == 0));
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(ranks[i] >= 0);
        hash = fuzz_hash(hash, &ranks[i], sizeof ranks[i]);
    }
    out->operators++;
    end_record(out, hash);
    return RLMR_OK;
}

typedef struct {
    rlmr_slice line;
    bool given;
} line_check;

static rlmr_status on_line_again(void *self, const rlmr_distributed_args *args, rlmr_error *err) {
    (void)err;
    line_check *check = self;
    FUZZ_REQUIRE(rlmr_slice_equal(args->json, check->line));
    check->given = true;
    return RLMR_OK;
}

/* The line is ASCII, and JSON that gives the same line. */
static void check_line(rlmr_slice line) {
    rlmr_bytes text = {0};
    line_check check = {.line = line};
    rlmr_metadata_sink sink = {.distribution = on_line_again, .self = &check};
    bool unused;
    for (size_t i = 0; i < line.bytes; i++) {
        FUZZ_REQUIRE(line.text[i] >= ' ' && line.text[i] <= '~');
    }
    FUZZ_REQUIRE(rlmr_bytes_append(&text, "{\"distributed_args\":", 20, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_bytes_append(&text, line.text, line.bytes, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_bytes_append(&text, "}", 1, NULL) == RLMR_OK);
    fuzz_file file = fuzz_file_open(text.data, text.bytes);
    FUZZ_REQUIRE(rlmr_metadata_read(file.path, &sink, NULL, &unused, &unused, NULL) == RLMR_OK);
    FUZZ_REQUIRE(check.given);
    fuzz_file_close(&file);
    rlmr_bytes_release(&text);
}

static rlmr_status on_distribution(void *self, const rlmr_distributed_args *args, rlmr_error *err) {
    (void)err;
    result *out = self;
    const int32_t sizes[] = {args->tp, args->pp, args->dp, args->cp, args->ep, args->world};
    check_line(args->json);
    out->items++;
    end_record(out, hash_text(fuzz_hash(FUZZ_HASH, sizes, sizeof sizes), args->json));
    return RLMR_OK;
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)err;
    result *out = self;
    offset -= out->shift;
    if (out->metadata) { /* what is wrong is told when it has ended */
        FUZZ_REQUIRE(offset > 0 && offset <= (int64_t)out->data.bytes);
    } else {
        check_offset(out, offset);
    }
    FUZZ_REQUIRE(offset >= out->last_damage && reason[0] != '\0');
    out->last_damage = offset;
    out->damages++;
    out->damage_hash = fuzz_hash(out->damage_hash, &offset, sizeof offset);
    out->damage_hash = fuzz_hash(out->damage_hash, &lost, sizeof lost);
    out->damage_hash = hash_text(out->damage_hash, rlmr_slice_of(reason));
    return RLMR_OK;
}

static result read_file(const char *path, file_format format, fuzz_bytes data, int64_t shift,
                        uint64_t watched) {
    result out = {.data = data,
                  .metadata = format == METADATA,
                  .shift = shift,
                  .hash = FUZZ_HASH,
                  .watched = watched,
                  .hash_at = FUZZ_HASH,
                  .op_offset = -1,
                  .item_offset = -1,
                  .damage_hash = FUZZ_HASH};
    rlmr_communication_sink communication = {.time = on_time, .band = on_band, .link = on_link, .self = &out};
    rlmr_damage damage = {.met = on_damage, .self = &out};
    rlmr_metadata_sink metadata = {
        .group = on_group, .distribution = on_distribution, .self = &out, .damage = &damage};
    rlmr_error err;
    rlmr_error_clear(&err);
    switch (format) {
    case TIMES:
        out.status = rlmr_communication_read(path, &communication, &damage, NULL, &err);
        break;
    case LINKS:
        out.status = rlmr_communication_matrix_read(path, &communication, &damage, NULL, &err);
        break;
    case METADATA:
    case FORMATS:
        out.status = rlmr_metadata_read(path, &metadata, NULL, &out.has_groups, &out.has_distribution, &err);
        break;
    }
    FUZZ_REQUIRE(out.status == RLMR_OK ||
                 (err.offset >= 0 && err.offset <= (int64_t)data.bytes + shift && err.message[0] != '\0'));
    return out;
}

static void check_against(const result *out, const reference *expected, file_format format) {
    FUZZ_REQUIRE(out->status == expected->status);
    FUZZ_REQUIRE(out->has_groups == expected->has_groups &&
                 out->has_distribution == expected->has_distribution);
    FUZZ_REQUIRE(format == LINKS || out->operators == expected->operators);
    FUZZ_REQUIRE(format == METADATA || out->items == expected->items);
    FUZZ_REQUIRE(format == METADATA || out->damages > 0 || !expected->odd || expected->status != RLMR_OK);
}

static void require_same(const result *a, const result *b) {
    FUZZ_REQUIRE(a->status == b->status && a->records == b->records && a->hash == b->hash);
    FUZZ_REQUIRE(a->damages == b->damages && a->damage_hash == b->damage_hash);
}

/* A file that is cut gives the first of the records of the whole. */
static result read_whole_and_cut(const char *path, file_format format, fuzz_bytes data, uint64_t hash) {
    fuzz_bytes start = {.data = data.data, .bytes = (size_t)(hash % (data.bytes + 1))};
    fuzz_file file = fuzz_file_open(start.data, start.bytes);
    result cut = read_file(file.path, format, start, 0, 0);
    fuzz_file_close(&file);
    result whole = read_file(path, format, data, 0, cut.records);
    FUZZ_REQUIRE(whole.records >= cut.records && whole.hash_at == cut.hash && whole.damages >= cut.damages);
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t hash = fuzz_hash(FUZZ_HASH, data, size);
    fuzz_bytes input = {.data = data, .bytes = size};
    file_format format = fuzz_take_u8(&input) % FORMATS;
    fuzz_file file = fuzz_file_open(input.data, input.bytes);
    reference expected = count_tokens(file.path, format);
    result whole = read_whole_and_cut(file.path, format, input, hash);
    check_against(&whole, &expected, format);

    if (fuzz_wants(0, hash)) {
        fuzz_file_limit_reads(1 + hash % 7);
        result pieces = read_file(file.path, format, input, 0, 0);
        fuzz_file_limit_reads(0);
        require_same(&whole, &pieces);
    }
    fuzz_file_close(&file);
    if (fuzz_wants(1, hash)) {
        fuzz_file packed = fuzz_file_open_packed(input.data, input.bytes);
        result unpacked = read_file(packed.link, format, input, 0, 0);
        require_same(&whole, &unpacked);
        fuzz_file_close(&packed);
    }
    if (fuzz_wants(2, hash) && !fuzz_has_mark(input.data, input.bytes)) {
        int64_t shift;
        fuzz_file late = fuzz_file_open_late(input.data, input.bytes, hash, &shift);
        result behind = read_file(late.path, format, input, shift, 0);
        require_same(&whole, &behind);
        fuzz_file_close(&late);
    }
    return 0;
}
