#include "stack_index_state.h"

#include "rlmr/limits.h"

#include <stdlib.h>
#include <string.h>

/* On the wire: the range of times and the number of distinct stacks of the sender; the entries of each kind, with ids of the wire; what these
 * ids are, each kind in order from 1 on: the pairs, then the texts of names, threads and raw stacks. */

/* Ids of the one side by those of the other. On the way out ids are given as they are met. */
typedef struct {
    uint32_t *ids;
    uint32_t count; /* of the side that is translated */
    bool giving;
    uint32_t given;   /* so far: 1 .. given */
    uint32_t *givers; /* by id given, what it was */
} id_map;

typedef struct {
    id_map names, threads, stacks, pairs;
} id_maps;

static void release_map(id_map *map) {
    free(map->ids);
    free(map->givers);
    *map = (id_map){0};
}

static void release_maps(id_maps *maps) {
    release_map(&maps->names);
    release_map(&maps->threads);
    release_map(&maps->stacks);
    release_map(&maps->pairs);
}

static rlmr_status malformed(rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_PARSE, "an index of call stacks from another process is malformed");
}

static rlmr_status reserve_map(id_map *map, uint32_t count, bool giving, rlmr_error *err) {
    *map = (id_map){.count = count, .giving = giving};
    map->ids = calloc((size_t)count + 1, sizeof *map->ids);
    map->givers = giving ? calloc((size_t)count + 1, sizeof *map->givers) : NULL;
    if (map->ids == NULL || (giving && map->givers == NULL)) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the call stacks of a shared capture");
    }
    return RLMR_OK;
}

/* 0, the empty text, is the same everywhere. */
static rlmr_status map_id(id_map *map, uint32_t *id, rlmr_error *err) {
    if (*id >= map->count) {
        return malformed(err);
    }
    if (map->giving && *id != 0 && map->ids[*id] == 0) {
        map->ids[*id] = ++map->given;
        map->givers[map->given] = *id;
    }
    *id = map->ids[*id];
    return RLMR_OK;
}

/* ---- Entries of each kind ---- */

static rlmr_status map_stack(id_map *stacks, raw_stack *stack, rlmr_error *err) {
    uint32_t id = *stack / 2;
    rlmr_status status = map_id(stacks, &id, err);
    *stack = 2 * id + *stack % 2;
    return status;
}

static rlmr_status map_stack_entry(void *entry, id_maps *maps, rlmr_error *err) {
    stack_entry *at = entry;
    rlmr_status status = map_id(&maps->names, &at->name, err);
    return status == RLMR_OK ? map_stack(&maps->stacks, &at->stack, err) : status;
}

static rlmr_status map_plain_entry(void *entry, id_maps *maps, rlmr_error *err) {
    return map_id(&maps->pairs, &((plain_entry *)entry)->pair, err);
}

static rlmr_status map_backward_entry(void *entry, id_maps *maps, rlmr_error *err) {
    return map_id(&maps->threads, &((backward_entry *)entry)->thread, err);
}

static rlmr_status map_forward_entry(void *entry, id_maps *maps, rlmr_error *err) {
    return map_stack(&maps->stacks, &((forward_entry *)entry)->stack, err);
}

/* ---- What matters to another process ---- */

/* What one process is told. */
typedef struct {
    const rlmr_stack_index *index;
    const rlmr_time_window *window; /* of its records */
    bool answers;                   /* told are forward entries; else those of all other kinds */
    rlmr_slice asked;               /* for answers: int64_t, the sequence numbers asked for, in order */
    id_maps maps;
    rlmr_bytes *out;
} telling;

/* Whether it may enclose a time of the window, or starts inside it. */
static bool meets(int64_t ts, int64_t end, const rlmr_time_window *window) {
    return ts <= window->last_ns && end > window->first_ns;
}

static bool stack_matters(const void *entry, const telling *to) {
    return meets(((const stack_entry *)entry)->ts, ((const stack_entry *)entry)->end, to->window);
}

static bool plain_matters(const void *entry, const telling *to) {
    return meets(((const plain_entry *)entry)->ts, ((const plain_entry *)entry)->end, to->window);
}

static bool backward_matters(const void *entry, const telling *to) {
    return meets(((const backward_entry *)entry)->ts, ((const backward_entry *)entry)->end, to->window);
}

static int64_t asked_at(const telling *to, size_t place) {
    int64_t sequence;
    memcpy(&sequence, to->asked.text + place * sizeof sequence, sizeof sequence);
    return sequence;
}

/* Bisection. */
static bool is_asked(const telling *to, int64_t sequence) {
    size_t low = 0;
    size_t high = to->asked.bytes / sizeof sequence;
    if (high == 0 || sequence < asked_at(to, 0) || sequence > asked_at(to, high - 1)) {
        return false;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (asked_at(to, middle) < sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return asked_at(to, low) == sequence;
}

/* It starts before its backward op, which may begin long after it. */
static bool forward_matters(const void *entry, const telling *to) {
    const forward_entry *at = entry;
    return at->ts <= to->window->last_ns && is_asked(to, at->sequence);
}

typedef struct {
    size_t entries; /* where the index has them */
    size_t bytes;   /* of an entry */
    rlmr_status (*map)(void *entry, id_maps *maps, rlmr_error *err);
    bool (*matters)(const void *entry, const telling *to);
} entry_kind;

enum { STACKS, PLAINS, BACKWARDS, FORWARDS, KINDS };

#define KIND(name)                                                                                           \
    { offsetof(rlmr_stack_index, name##s), sizeof(name##_entry), map_##name##_entry, name##_matters }
static const entry_kind kinds[KINDS] = {
    [STACKS] = KIND(stack), [PLAINS] = KIND(plain), [BACKWARDS] = KIND(backward), [FORWARDS] = KIND(forward)};

typedef union {
    stack_entry stack;
    plain_entry plain;
    backward_entry backward;
    forward_entry forward;
} any_entry;

static rlmr_bytes *entries_of(rlmr_stack_index *index, const entry_kind *kind) {
    return (rlmr_bytes *)(void *)((char *)index + kind->entries);
}

static const rlmr_bytes *entries_in(const rlmr_stack_index *index, const entry_kind *kind) {
    return (const rlmr_bytes *)(const void *)((const char *)index + kind->entries);
}

/* ---- Out ---- */

/* A slice whose length is not known yet: fill it in with end_slice(). */
static rlmr_status begin_slice(rlmr_bytes *out, size_t *at, rlmr_error *err) {
    uint64_t length = 0;
    rlmr_status status = rlmr_bytes_append(out, &length, sizeof length, err);
    *at = out->bytes;
    return status;
}

static void end_slice(rlmr_bytes *out, size_t at) {
    uint64_t length = out->bytes - at;
    memcpy(out->data + at - sizeof length, &length, sizeof length);
}

static rlmr_status tell_entry(telling *to, const entry_kind *kind, const void *entry, rlmr_error *err) {
    any_entry copy;
    memcpy(&copy, entry, kind->bytes);
    rlmr_status status = kind->map(&copy, &to->maps, err);
    return status == RLMR_OK ? rlmr_bytes_append(to->out, &copy, kind->bytes, err) : status;
}

/* There may be many: the memory for them is taken at once. */
static rlmr_status tell_what_matters(telling *to, const entry_kind *kind, rlmr_error *err) {
    const rlmr_bytes *entries = entries_in(to->index, kind);
    size_t bytes = 0;
    for (size_t at = 0; at < entries->bytes; at += kind->bytes) {
        bytes += kind->matters(entries->data + at, to) ? kind->bytes : 0;
    }
    rlmr_status status = rlmr_bytes_reserve(to->out, bytes, err);
    for (size_t at = 0; at < entries->bytes && status == RLMR_OK; at += kind->bytes) {
        if (kind->matters(entries->data + at, to)) {
            status = tell_entry(to, kind, entries->data + at, err);
        }
    }
    return status;
}

static const stack_entry *stacks_of(const telling *to, size_t *count) {
    *count = to->index->stacks.bytes / sizeof(stack_entry);
    return (const stack_entry *)(const void *)to->index->stacks.data;
}

/* Of each name the last entry that starts before the window, or at its first time: its number from 1, 0 if there is none. */
static void find_nearest(const telling *to, size_t *last) {
    size_t count;
    const stack_entry *entries = stacks_of(to, &count);
    for (size_t i = 0; i < count; i++) {
        const stack_entry *entry = &entries[i];
        const stack_entry *before = last[entry->name] > 0 ? &entries[last[entry->name] - 1] : NULL;
        bool later = before == NULL || entry->ts > before->ts ||
                     (entry->ts == before->ts && entry->position > before->position);
        if (entry->ts <= to->window->first_ns && later) {
            last[entry->name] = i + 1;
        }
    }
}

/* These, for records that nothing encloses, unless they reach into the window and are told with the others. */
static rlmr_status tell_nearest(telling *to, rlmr_error *err) {
    size_t count;
    const stack_entry *entries = stacks_of(to, &count);
    uint32_t names = rlmr_symtab_count(to->index->names);
    size_t *last = calloc(names, sizeof *last);
    if (last == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the call stacks of a shared capture");
    }
    find_nearest(to, last);
    rlmr_status status = RLMR_OK;
    for (uint32_t name = 0; name < names && status == RLMR_OK; name++) {
        if (last[name] > 0 && !stack_matters(&entries[last[name] - 1], to)) {
            status = tell_entry(to, &kinds[STACKS], &entries[last[name] - 1], err);
        }
    }
    free(last);
    return status;
}

static rlmr_status tell_kind(telling *to, size_t kind, rlmr_error *err) {
    bool any = to->window->first_ns <= to->window->last_ns && to->answers == (kind == FORWARDS);
    size_t at;
    rlmr_status status = begin_slice(to->out, &at, err);
    status = status == RLMR_OK && any ? tell_what_matters(to, &kinds[kind], err) : status;
    if (status == RLMR_OK && any && kind == STACKS && to->index->match != RLMR_MATCH_ENCLOSING) {
        status = tell_nearest(to, err);
    }
    if (status == RLMR_OK) {
        end_slice(to->out, at);
    }
    return status;
}

/* A pair names a name and a thread: these get their ids here. */
static rlmr_status tell_pairs(telling *to, rlmr_error *err) {
    const id_map *pairs = &to->maps.pairs;
    size_t at;
    rlmr_status status = begin_slice(to->out, &at, err);
    for (uint32_t id = 1; id <= pairs->given && status == RLMR_OK; id++) {
        pair_key key;
        memcpy(&key, rlmr_symtab_text(to->index->pairs, pairs->givers[id]).text, sizeof key);
        status = map_id(&to->maps.names, &key.name, err);
        status = status == RLMR_OK ? map_id(&to->maps.threads, &key.thread, err) : status;
        status = status == RLMR_OK ? rlmr_bytes_append(to->out, &key, sizeof key, err) : status;
    }
    if (status == RLMR_OK) {
        end_slice(to->out, at);
    }
    return status;
}

static rlmr_status open_maps(telling *to, rlmr_error *err) {
    const rlmr_stack_index *index = to->index;
    rlmr_status status = reserve_map(&to->maps.names, rlmr_symtab_count(index->names), true, err);
    status = status == RLMR_OK ? reserve_map(&to->maps.threads, rlmr_symtab_count(index->threads), true, err)
                               : status;
    status = status == RLMR_OK
                 ? reserve_map(&to->maps.stacks, rlmr_symtab_count(index->raw_stacks), true, err)
                 : status;
    return status == RLMR_OK ? reserve_map(&to->maps.pairs, rlmr_symtab_count(index->pairs), true, err)
                             : status;
}

static rlmr_status tell_texts(telling *to, const rlmr_symtab *texts, const id_map *map, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_append_u32(to->out, map->given + 1, err);
    for (uint32_t id = 1; id <= map->given && status == RLMR_OK; id++) {
        status = rlmr_bytes_append_slice(to->out, rlmr_symtab_text(texts, map->givers[id]), err);
    }
    return status;
}

static rlmr_status tell_counts(const telling *to, rlmr_error *err) {
    const rlmr_stack_index *index = to->index;
    /* Without the empty text; told once. */
    uint32_t stacks = to->answers ? 0 : rlmr_symtab_count(index->raw_stacks) - 1;
    rlmr_status status = rlmr_bytes_append_u32(to->out, index->any, err);
    status = status == RLMR_OK ? rlmr_bytes_append_i64(to->out, index->least_ns, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_i64(to->out, index->greatest_ns, err) : status;
    return status == RLMR_OK ? rlmr_bytes_append_u32(to->out, stacks, err) : status;
}

static rlmr_status tell(telling *to, rlmr_error *err) {
    const rlmr_stack_index *index = to->index;
    rlmr_status status = open_maps(to, err);
    status = status == RLMR_OK ? tell_counts(to, err) : status;
    for (size_t kind = 0; kind < KINDS && status == RLMR_OK; kind++) {
        status = tell_kind(to, kind, err);
    }
    status = status == RLMR_OK ? tell_pairs(to, err) : status;
    status = status == RLMR_OK ? tell_texts(to, index->names, &to->maps.names, err) : status;
    status = status == RLMR_OK ? tell_texts(to, index->threads, &to->maps.threads, err) : status;
    status = status == RLMR_OK ? tell_texts(to, index->raw_stacks, &to->maps.stacks, err) : status;
    release_maps(&to->maps);
    return status;
}

rlmr_status rlmr_stack_index_encode(const rlmr_stack_index *index, const rlmr_time_window *window,
                                    rlmr_bytes *out, rlmr_error *err) {
    telling to = {.index = index, .window = window, .out = out};
    return tell(&to, err);
}

rlmr_status rlmr_stack_index_answer(const rlmr_stack_index *index, const rlmr_bytes *asked,
                                    const rlmr_time_window *window, rlmr_bytes *out, rlmr_error *err) {
    telling to = {.index = index,
                  .window = window,
                  .answers = true,
                  .asked = {.text = (const char *)asked->data, .bytes = asked->bytes},
                  .out = out};
    return tell(&to, err);
}

static int compare_sequences(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static rlmr_status collect_sequences(const rlmr_stack_index *index, const rlmr_time_window *window,
                                     rlmr_bytes *out, rlmr_error *err) {
    const backward_entry *entries = (const backward_entry *)(const void *)index->backwards.data;
    size_t count = index->backwards.bytes / sizeof *entries;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        if (meets(entries[i].ts, entries[i].end, window)) {
            status = rlmr_bytes_append_i64(out, entries[i].sequence, err);
        }
    }
    return status;
}

rlmr_status rlmr_stack_index_ask(const rlmr_stack_index *index, const rlmr_time_window *window,
                                 rlmr_bytes *out, rlmr_error *err) {
    rlmr_bytes found = {0};
    rlmr_status status = collect_sequences(index, window, &found, err);
    int64_t *sequences = (int64_t *)(void *)found.data;
    size_t count = found.bytes / sizeof *sequences;
    size_t distinct = 0;
    if (count > 0) {
        qsort(sequences, count, sizeof *sequences, compare_sequences);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sequences[i] != sequences[i - 1]) {
            sequences[distinct++] = sequences[i];
        }
    }
    status =
        status == RLMR_OK ? rlmr_bytes_append(out, sequences, distinct * sizeof *sequences, err) : status;
    rlmr_bytes_release(&found);
    return status;
}

/* ---- In ---- */

static rlmr_status open_map(rlmr_reader *in, id_map *map, rlmr_error *err) {
    uint32_t count = 0;
    rlmr_status status = rlmr_reader_u32(in, &count, err);
    if (status == RLMR_OK && count > in->bytes) { /* each text takes more than a byte */
        status = malformed(err);
    }
    return status == RLMR_OK ? reserve_map(map, count, false, err) : status;
}

static rlmr_status take_texts(rlmr_reader *in, rlmr_symtab *texts, id_map *map, rlmr_error *err) {
    rlmr_status status = open_map(in, map, err);
    for (uint32_t id = 1; id < map->count && status == RLMR_OK; id++) {
        rlmr_slice text;
        status = rlmr_reader_slice(in, &text, err);
        status = status == RLMR_OK ? rlmr_symtab_intern(texts, text, &map->ids[id], err) : status;
    }
    return status;
}

/* All that share a trace know the same names. */
static rlmr_status take_names(rlmr_reader *in, const rlmr_symtab *names, id_map *map, rlmr_error *err) {
    rlmr_status status = open_map(in, map, err);
    for (uint32_t id = 1; id < map->count && status == RLMR_OK; id++) {
        rlmr_slice text;
        status = rlmr_reader_slice(in, &text, err);
        if (status == RLMR_OK && !rlmr_symtab_find(names, text, &map->ids[id])) {
            status = malformed(err);
        }
    }
    return status;
}

static rlmr_status take_pairs(rlmr_slice told, rlmr_stack_index *index, id_maps *maps, rlmr_error *err) {
    size_t count = told.bytes / sizeof(pair_key);
    if (told.bytes % sizeof(pair_key) != 0 || count >= UINT32_MAX) {
        return malformed(err);
    }
    rlmr_status status = reserve_map(&maps->pairs, (uint32_t)count + 1, false, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        pair_key key;
        memcpy(&key, told.text + i * sizeof key, sizeof key);
        status = map_id(&maps->names, &key.name, err);
        status = status == RLMR_OK ? map_id(&maps->threads, &key.thread, err) : status;
        rlmr_slice text = {.text = (const char *)&key, .bytes = sizeof key};
        status =
            status == RLMR_OK ? rlmr_symtab_intern(index->pairs, text, &maps->pairs.ids[i + 1], err) : status;
    }
    return status;
}

/* Append the entries, then give them our ids where they lie. */
static rlmr_status take_entries(rlmr_slice told, rlmr_bytes *entries, const entry_kind *kind, id_maps *maps,
                                rlmr_error *err) {
    size_t at = entries->bytes;
    if (told.bytes % kind->bytes != 0) {
        return malformed(err);
    }
    if ((at + told.bytes) / kind->bytes >= UINT32_MAX - 1) {
        return rlmr_error_set(err, RLMR_E_RANGE, RLMR_TOO_MANY_ENTRIES, UINT32_MAX - 1);
    }
    rlmr_status status = rlmr_bytes_append(entries, told.text, told.bytes, err);
    for (; at < entries->bytes && status == RLMR_OK; at += kind->bytes) {
        status = kind->map(entries->data + at, maps, err);
    }
    return status;
}

/* Some of the stacks of two processes may be the same: what is over the limit this way, one process must count. */
static rlmr_status take_counts(rlmr_reader *in, rlmr_stack_index *index, rlmr_error *err) {
    uint32_t any;
    uint32_t stacks;
    int64_t least;
    int64_t greatest;
    rlmr_status status = rlmr_reader_u32(in, &any, err);
    status = status == RLMR_OK ? rlmr_reader_i64(in, &least, err) : status;
    status = status == RLMR_OK ? rlmr_reader_i64(in, &greatest, err) : status;
    status = status == RLMR_OK ? rlmr_reader_u32(in, &stacks, err) : status;
    if (status == RLMR_OK && any != 0) {
        rlmr_stack_index_widen(index, least, greatest);
    }
    if (status == RLMR_OK) {
        index->stacks_of_all += stacks;
        status = index->stacks_of_all > RLMR_LIMIT_STACKS ? rlmr_stack_index_too_many(err) : RLMR_OK;
    }
    return status;
}

rlmr_status rlmr_stack_index_take(rlmr_stack_index *index, rlmr_slice encoded, rlmr_error *err) {
    rlmr_reader in = {.data = (const uint8_t *)encoded.text, .bytes = encoded.bytes};
    id_maps maps = {0};
    rlmr_slice entries[KINDS] = {{0}};
    rlmr_slice pairs = {0};
    rlmr_status status = take_counts(&in, index, err);
    for (size_t kind = 0; kind < KINDS && status == RLMR_OK; kind++) {
        status = rlmr_reader_slice(&in, &entries[kind], err);
    }
    status = status == RLMR_OK ? rlmr_reader_slice(&in, &pairs, err) : status;
    status = status == RLMR_OK ? take_names(&in, index->names, &maps.names, err) : status;
    status = status == RLMR_OK ? take_texts(&in, index->threads, &maps.threads, err) : status;
    status = status == RLMR_OK ? take_texts(&in, index->raw_stacks, &maps.stacks, err) : status;
    status = status == RLMR_OK ? take_pairs(pairs, index, &maps, err) : status;
    for (size_t kind = 0; kind < KINDS && status == RLMR_OK; kind++) {
        status = take_entries(entries[kind], entries_of(index, &kinds[kind]), &kinds[kind], &maps, err);
    }
    release_maps(&maps);
    return status;
}
