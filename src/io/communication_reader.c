#include "rlmr/communication_reader.h"

#include "communication_key.h"
#include "rlmr/json_reader.h"
#include "rlmr/limits.h"

#include <string.h>

/* Depths of tokens. Both files are an object of steps, of sections, of operators. In communication.json an operator is
 * an object of blocks, one of them with the transports; in communication_matrix.json it is one of links. */
enum { FILE_DEPTH, STEP_DEPTH, SECTION_DEPTH, OPERATOR_DEPTH, BLOCK_DEPTH, TIME_FIELD_DEPTH };
enum { LINK_DEPTH = BLOCK_DEPTH, TRANSPORT_DEPTH = TIME_FIELD_DEPTH };

#define TIME_ENUM(field, key, column) TIME_##field,
#define BAND_ENUM(field, key, column) BAND_##field,
#define LINK_ENUM(field, key, column) LINK_##field,
enum { RLMR_COMMUNICATION_TIME_FIELDS(TIME_ENUM) TIME_FIELDS };
enum { RLMR_COMMUNICATION_BAND_FIELDS(BAND_ENUM) BAND_FIELDS, TRANSPORT_FIELDS = BAND_package_size_mb };
enum { RLMR_COMMUNICATION_LINK_FIELDS(LINK_ENUM) LINK_FIELDS };
enum {
    ENTRY_FIELDS = BAND_FIELDS - TRANSPORT_FIELDS
}; /* of the distribution: the size, then what its array holds */
enum { ITEM_FIELDS = TRANSPORT_FIELDS > (int)LINK_FIELDS ? TRANSPORT_FIELDS : (int)LINK_FIELDS };

#define FIELD_KEY(field, key, column) {.text = (key), .bytes = sizeof(key) - 1},
static const rlmr_slice time_keys[] = {RLMR_COMMUNICATION_TIME_FIELDS(FIELD_KEY)};
static const rlmr_slice band_keys[] = {RLMR_COMMUNICATION_BAND_FIELDS(FIELD_KEY)};
static const rlmr_slice link_keys[] = {RLMR_COMMUNICATION_LINK_FIELDS(FIELD_KEY)};

/* A part of the texts that are held. */
typedef struct {
    size_t start;
    size_t bytes;
} span;

/* A transport, or a link. */
typedef struct {
    span name;
    int64_t offset;
    span fields[ITEM_FIELDS];
    size_t entries; /* held when it began; its own follow */
} item;

typedef struct {
    span fields[ENTRY_FIELDS];
} entry;

typedef enum { BLOCK_OTHER, BLOCK_TIME, BLOCK_BAND } block;

typedef struct {
    const rlmr_communication_sink *sink;
    const rlmr_damage *damage;
    bool matrix;
    int item_depth;

    int64_t end;        /* offset behind the token at hand */
    int64_t key_offset; /* of the key read last */
    bool unwanted;      /* what follows the key just read is passed over */
    int passed_over;    /* depth of what is passed over, -1 for nothing */
    rlmr_bytes step;
    bool p2p;

    /* Of the operator at hand. */
    int64_t offset;
    rlmr_bytes key;
    rlmr_bytes text;
    span time[TIME_FIELDS];
    rlmr_bytes items;   /* of item */
    rlmr_bytes entries; /* of entry */
    block block;
    int field;      /* that the key just read names, -1 for none */
    item item;      /* being read */
    entry entry;    /* being read */
    size_t numbers; /* elements of its array */
    bool bad_entry;
} reader;

/* ---- What is held ---- */

static rlmr_slice whole(const rlmr_bytes *bytes) {
    return (rlmr_slice){.text = bytes->bytes == 0 ? "" : (const char *)bytes->data, .bytes = bytes->bytes};
}

static rlmr_slice view(const reader *self, span part) {
    return (rlmr_slice){.text = part.bytes == 0 ? "" : (const char *)self->text.data + part.start,
                        .bytes = part.bytes};
}

static rlmr_status hold(reader *self, rlmr_slice text, span *part, rlmr_error *err) {
    *part = (span){.start = self->text.bytes, .bytes = text.bytes};
    return rlmr_bytes_append(&self->text, text.text, text.bytes, err);
}

static rlmr_status replace(rlmr_bytes *bytes, rlmr_slice text, rlmr_error *err) {
    rlmr_bytes_clear(bytes);
    return rlmr_bytes_append(bytes, text.text, text.bytes, err);
}

static size_t count_entries(const reader *self) {
    return self->entries.bytes / sizeof(entry);
}

static void forget_items(reader *self) {
    rlmr_bytes_clear(&self->items);
    rlmr_bytes_clear(&self->entries);
}

/* ---- Giving ---- */

static rlmr_communication_key key_of(const reader *self, int64_t offset) {
    rlmr_communication_key key = {.step = whole(&self->step), .p2p = self->p2p, .offset = offset};
    rlmr_communication_split(whole(&self->key), &key.op, &key.group);
    return key;
}

static rlmr_status give_time(reader *self, rlmr_error *err) {
#define TIME_SET(field, key, column) .field = view(self, self->time[TIME_##field]),
    rlmr_communication_time time = {.key = key_of(self, self->offset),
                                    RLMR_COMMUNICATION_TIME_FIELDS(TIME_SET)};
    return self->sink->time(self->sink->self, &time, err);
}

/* `sizes` is NULL for a transport without packets. */
static rlmr_status give_band(reader *self, const item *transport, const entry *sizes, rlmr_error *err) {
    span fields[BAND_FIELDS] = {0};
    memcpy(fields, transport->fields, TRANSPORT_FIELDS * sizeof fields[0]);
    if (sizes != NULL) {
        memcpy(fields + TRANSPORT_FIELDS, sizes->fields, sizeof sizes->fields);
    }
#define BAND_SET(field, key, column) .field = view(self, fields[BAND_##field]),
    rlmr_communication_band band = {.key = key_of(self, transport->offset),
                                    .transport = view(self, transport->name),
                                    RLMR_COMMUNICATION_BAND_FIELDS(BAND_SET)};
    return self->sink->band(self->sink->self, &band, err);
}

static rlmr_status give_bands(reader *self, rlmr_error *err) {
    const item *items = (const item *)self->items.data;
    const entry *entries = (const entry *)self->entries.data;
    size_t count = self->items.bytes / sizeof *items;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        size_t first = items[i].entries;
        size_t end = i + 1 < count ? items[i + 1].entries : count_entries(self);
        if (first == end) {
            status = give_band(self, &items[i], NULL, err);
        }
        for (size_t k = first; k < end && status == RLMR_OK; k++) {
            status = give_band(self, &items[i], &entries[k], err);
        }
    }
    return status;
}

static rlmr_status give_link(reader *self, const item *held, rlmr_error *err) {
    rlmr_slice name = view(self, held->name);
    const char *dash = memchr(name.text, '-', name.bytes);
    size_t src_bytes = (size_t)(dash - name.text);
#define LINK_SET(field, key, column) .field = view(self, held->fields[LINK_##field]),
    rlmr_communication_link link = {.key = key_of(self, self->offset),
                                    .src = {.text = name.text, .bytes = src_bytes},
                                    .dst = {.text = dash + 1, .bytes = name.bytes - src_bytes - 1},
                                    RLMR_COMMUNICATION_LINK_FIELDS(LINK_SET)};
    return self->sink->link(self->sink->self, &link, err);
}

static rlmr_status give_links(reader *self, rlmr_error *err) {
    const item *items = (const item *)self->items.data;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < self->items.bytes / sizeof *items && status == RLMR_OK; i++) {
        status = give_link(self, &items[i], err);
    }
    return status;
}

static rlmr_status give_operator(reader *self, rlmr_error *err) {
    if (self->matrix) {
        return give_links(self, err);
    }
    rlmr_status status = give_time(self, err);
    return status == RLMR_OK ? give_bands(self, err) : status;
}

/* ---- Passing over ---- */

static bool opens(rlmr_json_kind kind) {
    return kind == RLMR_JSON_OBJECT || kind == RLMR_JSON_ARRAY;
}

static bool closes(rlmr_json_kind kind) {
    return kind == RLMR_JSON_OBJECT_END || kind == RLMR_JSON_ARRAY_END;
}

static void pass_over(reader *self, rlmr_json_kind kind, int depth) {
    self->passed_over = opens(kind) ? depth : -1;
}

static rlmr_status tell(reader *self, bool lost, const char *reason, rlmr_error *err) {
    return self->damage->met(self->damage->self, self->key_offset, lost, reason, err);
}

/* Damage, unless the value is the object that it should be. */
static rlmr_status want_object(reader *self, rlmr_json_kind kind, int depth, bool *is_object,
                               const char *reason, rlmr_error *err) {
    *is_object = kind == RLMR_JSON_OBJECT;
    if (*is_object) {
        return RLMR_OK;
    }
    pass_over(self, kind, depth);
    return tell(self, true, reason, err);
}

/* ---- Inside an operator ---- */

static int find_field(rlmr_slice key, const rlmr_slice *keys, int count) {
    for (int field = 0; field < count; field++) {
        if (rlmr_slice_equal(key, keys[field])) {
            return field;
        }
    }
    return -1;
}

/* The value of a field: of a repeated key the last counts. */
static rlmr_status keep_field(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth, span *fields,
                              rlmr_error *err) {
    int field = self->field;
    pass_over(self, kind, depth);
    if (field < 0) {
        return RLMR_OK;
    }
    if (opens(kind)) {
        text = kind == RLMR_JSON_OBJECT ? RLMR_SLICE("{") : RLMR_SLICE("[");
    } else if (kind == RLMR_JSON_LITERAL && rlmr_slice_equal(text, RLMR_SLICE("null"))) {
        text = RLMR_SLICE("");
    }
    return hold(self, text, &fields[field], err);
}

static void take_block_key(reader *self, rlmr_slice key) {
    self->block = BLOCK_OTHER;
    if (rlmr_slice_equal(key, RLMR_SLICE("Communication Time Info"))) {
        self->block = BLOCK_TIME;
    } else if (rlmr_slice_equal(key, RLMR_SLICE("Communication Bandwidth Info"))) {
        self->block = BLOCK_BAND;
    }
    self->unwanted = self->block == BLOCK_OTHER;
}

static rlmr_status begin_block(reader *self, rlmr_json_kind kind, rlmr_error *err) {
    bool is_object;
    if (self->block == BLOCK_TIME) {
        memset(self->time, 0, sizeof self->time);
        return want_object(self, kind, BLOCK_DEPTH, &is_object, "times of an operator that are no object",
                           err);
    }
    forget_items(self);
    return want_object(self, kind, BLOCK_DEPTH, &is_object, "transports of an operator that are no object",
                       err);
}

static rlmr_status take_item_key(reader *self, rlmr_slice key, rlmr_error *err) {
    if (self->matrix && (key.bytes == 0 || memchr(key.text, '-', key.bytes) == NULL)) {
        self->unwanted = true;
        return tell(self, true, "a link without `-` between its ends", err);
    }
    self->item = (item){.offset = self->key_offset, .entries = count_entries(self)};
    return hold(self, key, &self->item.name, err);
}

static rlmr_status begin_item(reader *self, rlmr_json_kind kind, rlmr_error *err) {
    bool is_object;
    return want_object(self, kind, self->item_depth, &is_object,
                       self->matrix ? "a link that is no object" : "a transport that is no object", err);
}

static void take_item_field_key(reader *self, rlmr_slice key) {
    if (self->matrix) {
        self->field = find_field(key, link_keys, LINK_FIELDS);
        return;
    }
    self->field = find_field(key, band_keys, TRANSPORT_FIELDS);
    if (rlmr_slice_equal(key, RLMR_SLICE("Size Distribution"))) {
        self->field = TRANSPORT_FIELDS;
    }
}

static rlmr_status take_item_field(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                   rlmr_error *err) {
    if (self->matrix || self->field != TRANSPORT_FIELDS) {
        return keep_field(self, kind, text, depth, self->item.fields, err);
    }
    bool is_object;
    self->entries.bytes = self->item.entries * sizeof(entry);
    return want_object(self, kind, depth, &is_object, "a size distribution that is no object", err);
}

static rlmr_status begin_entry(reader *self, rlmr_json_kind kind, int depth, rlmr_error *err) {
    if (kind == RLMR_JSON_ARRAY) {
        self->numbers = 0;
        self->bad_entry = false;
        return RLMR_OK;
    }
    pass_over(self, kind, depth);
    return tell(self, true, "a packet size without [count, duration]", err);
}

static rlmr_status take_entry_number(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                     rlmr_error *err) {
    self->numbers++;
    self->bad_entry = self->bad_entry || opens(kind) || self->numbers >= ENTRY_FIELDS;
    if (self->bad_entry) {
        pass_over(self, kind, depth);
        return RLMR_OK;
    }
    self->field = (int)self->numbers;
    return keep_field(self, kind, text, depth, self->entry.fields, err);
}

static rlmr_status end_entry(reader *self, rlmr_error *err) {
    if (self->bad_entry || self->numbers != ENTRY_FIELDS - 1) {
        return tell(self, true, "a packet size without [count, duration]", err);
    }
    return rlmr_bytes_append(&self->entries, &self->entry, sizeof self->entry, err);
}

static rlmr_status take_inner_key(reader *self, rlmr_slice key, int depth, rlmr_error *err) {
    if (!self->matrix && depth == BLOCK_DEPTH) {
        take_block_key(self, key);
        return RLMR_OK;
    }
    if (!self->matrix && self->block == BLOCK_TIME) {
        self->field = find_field(key, time_keys, TIME_FIELDS);
        return RLMR_OK;
    }
    if (depth == self->item_depth) {
        return take_item_key(self, key, err);
    }
    if (depth == self->item_depth + 1) {
        take_item_field_key(self, key);
        return RLMR_OK;
    }
    return hold(self, key, &self->entry.fields[0], err);
}

static rlmr_status take_inner_value(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                    rlmr_error *err) {
    if (!self->matrix && depth == BLOCK_DEPTH) {
        return begin_block(self, kind, err);
    }
    if (!self->matrix && self->block == BLOCK_TIME) {
        return keep_field(self, kind, text, depth, self->time, err);
    }
    switch (depth - self->item_depth) {
    case 0:
        return begin_item(self, kind, err);
    case 1:
        return take_item_field(self, kind, text, depth, err);
    case 2:
        return begin_entry(self, kind, depth, err);
    default:
        return take_entry_number(self, kind, text, depth, err);
    }
}

/* ---- Steps, sections, operators ---- */

static rlmr_status take_section_key(reader *self, rlmr_slice key, rlmr_error *err) {
    self->p2p = rlmr_slice_equal(key, RLMR_SLICE("p2p"));
    self->unwanted = !self->p2p && !rlmr_slice_equal(key, RLMR_SLICE("collective"));
    return self->unwanted ? tell(self, true, "a section that is neither p2p nor collective", err) : RLMR_OK;
}

/* What one operator holds must not grow with the file. */
static rlmr_status check_held(reader *self, bool *fits, rlmr_error *err) {
    *fits = self->text.bytes + self->items.bytes + self->entries.bytes <= RLMR_LIMIT_RECORD_BYTES;
    if (*fits) {
        return RLMR_OK;
    }
    self->passed_over = OPERATOR_DEPTH;
    return tell(self, true, "an operator with too many bytes" RLMR_LIMIT_TEXT(RECORD_BYTES), err);
}

static rlmr_status take_key(reader *self, rlmr_slice key, int depth, rlmr_error *err) {
    bool fits;
    rlmr_status status;
    self->key_offset = self->end - (int64_t)key.bytes - 2; /* later than it is if there are escapes */
    switch (depth) {
    case STEP_DEPTH:
        return replace(&self->step, rlmr_communication_step(key), err);
    case SECTION_DEPTH:
        return take_section_key(self, key, err);
    case OPERATOR_DEPTH:
        self->unwanted = rlmr_communication_is_total(key);
        return replace(&self->key, key, err);
    default:
        status = check_held(self, &fits, err);
        return status == RLMR_OK && fits ? take_inner_key(self, key, depth, err) : status;
    }
}

static rlmr_status begin_operator(reader *self, rlmr_json_kind kind, rlmr_error *err) {
    bool is_object;
    self->offset = self->key_offset;
    rlmr_bytes_clear(&self->text);
    forget_items(self);
    memset(self->time, 0, sizeof self->time);
    return want_object(self, kind, OPERATOR_DEPTH, &is_object, "an operator that is no object", err);
}

static rlmr_status take_value(reader *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                              rlmr_error *err) {
    bool is_object;
    if (self->unwanted) {
        self->unwanted = false;
        pass_over(self, kind, depth);
        return RLMR_OK;
    }
    switch (depth) {
    case FILE_DEPTH:
        return kind == RLMR_JSON_OBJECT ? RLMR_OK
                                        : rlmr_error_set(err, RLMR_E_PARSE, "not an object of steps");
    case STEP_DEPTH:
        return want_object(self, kind, depth, &is_object, "a step that is no object", err);
    case SECTION_DEPTH:
        return want_object(self, kind, depth, &is_object, "a section that is no object", err);
    case OPERATOR_DEPTH:
        return begin_operator(self, kind, err);
    default:
        return take_inner_value(self, kind, text, depth, err);
    }
}

static rlmr_status take_end(reader *self, rlmr_json_kind kind, int depth, rlmr_error *err) {
    if (kind == RLMR_JSON_ARRAY_END) {
        return end_entry(self, err);
    }
    if (depth == OPERATOR_DEPTH) {
        return give_operator(self, err);
    }
    bool item_ends = depth == self->item_depth && (self->matrix || self->block == BLOCK_BAND);
    return item_ends ? rlmr_bytes_append(&self->items, &self->item, sizeof self->item, err) : RLMR_OK;
}

static rlmr_status on_token(void *context, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    reader *self = context;
    if (self->passed_over >= 0) {
        self->passed_over = closes(kind) && depth == self->passed_over ? -1 : self->passed_over;
        return RLMR_OK;
    }
    if (kind == RLMR_JSON_KEY) {
        return take_key(self, text, depth, err);
    }
    return closes(kind) ? take_end(self, kind, depth, err) : take_value(self, kind, text, depth, err);
}

static rlmr_status read_file(const char *path, reader *self, const rlmr_meter *meter, rlmr_error *err) {
    self->passed_over = -1;
    rlmr_status status = rlmr_json_read_located(path, on_token, self, meter, &self->end, err);
    rlmr_bytes_release(&self->step);
    rlmr_bytes_release(&self->key);
    rlmr_bytes_release(&self->text);
    rlmr_bytes_release(&self->items);
    rlmr_bytes_release(&self->entries);
    return status;
}

rlmr_status rlmr_communication_read(const char *path, const rlmr_communication_sink *sink,
                                    const rlmr_damage *damage, const rlmr_meter *meter, rlmr_error *err) {
    reader state = {.sink = sink, .damage = damage, .item_depth = TRANSPORT_DEPTH};
    return read_file(path, &state, meter, err);
}

rlmr_status rlmr_communication_matrix_read(const char *path, const rlmr_communication_sink *sink,
                                           const rlmr_damage *damage, const rlmr_meter *meter,
                                           rlmr_error *err) {
    reader state = {.sink = sink, .damage = damage, .matrix = true, .item_depth = LINK_DEPTH};
    return read_file(path, &state, meter, err);
}
