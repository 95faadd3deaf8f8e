#include "stack_index_state.h"

#include "rlmr/limits.h"

#include <stdlib.h>
#include <string.h>

/* On the wire: the range of times; the texts of names, threads and raw stacks, and the pairs, each in order of their ids from 1 on;
 * then the entries of each kind as they are, with the ids of the sender. */

#define ROOM_FOR_TEXTS ((size_t)64 * 1024)

static rlmr_status put_texts(const rlmr_symtab *texts, rlmr_bytes *out, rlmr_error *err) {
    uint32_t count = rlmr_symtab_count(texts);
    rlmr_status status = rlmr_bytes_append_u32(out, count, err);
    for (uint32_t id = 1; id < count && status == RLMR_OK; id++) {
        status = rlmr_bytes_append_slice(out, rlmr_symtab_text(texts, id), err);
    }
    return status;
}

static rlmr_status put_entries(const rlmr_bytes *entries, rlmr_bytes *out, rlmr_error *err) {
    rlmr_slice bytes = {.text = (const char *)entries->data, .bytes = entries->bytes};
    return rlmr_bytes_append_slice(out, bytes, err);
}

rlmr_status rlmr_stack_index_encode(const rlmr_stack_index *index, rlmr_bytes *out, rlmr_error *err) {
    const rlmr_symtab *texts[] = {index->names, index->threads, index->raw_stacks, index->pairs};
    const rlmr_bytes *entries[] = {&index->stacks, &index->plains, &index->backwards, &index->forwards};
    size_t bytes = ROOM_FOR_TEXTS; /* entries are most of it: no copies while it grows */
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        bytes += entries[i]->bytes;
    }
    rlmr_status status = rlmr_bytes_reserve(out, bytes, err);
    status = status == RLMR_OK ? rlmr_bytes_append_u32(out, index->any, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_i64(out, index->least_ns, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_i64(out, index->greatest_ns, err) : status;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == RLMR_OK; i++) {
        status = put_texts(texts[i], out, err);
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0] && status == RLMR_OK; i++) {
        status = put_entries(entries[i], out, err);
    }
    return status;
}

/* Ids of the sender, by which ours are found. */
typedef struct {
    uint32_t *ids;
    uint32_t count;
} id_map;

typedef struct {
    id_map names, threads, stacks, pairs;
} id_maps;

static rlmr_status malformed(rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_PARSE, "an index of call stacks from another process is malformed");
}

static rlmr_status map_id(const id_map *map, uint32_t *id, rlmr_error *err) {
    if (*id >= map->count) {
        return malformed(err);
    }
    *id = map->ids[*id];
    return RLMR_OK;
}

static rlmr_status open_map(rlmr_reader *in, id_map *map, rlmr_error *err) {
    rlmr_status status = rlmr_reader_u32(in, &map->count, err);
    if (status == RLMR_OK && map->count > in->bytes) { /* each text takes more than a byte */
        map->count = 0;
        return malformed(err);
    }
    map->ids = status == RLMR_OK ? calloc((size_t)map->count + 1, sizeof *map->ids) : NULL;
    if (status == RLMR_OK && map->ids == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the call stacks of another process");
    }
    return status;
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

static rlmr_status take_pairs(rlmr_reader *in, rlmr_stack_index *index, id_maps *maps, rlmr_error *err) {
    rlmr_status status = open_map(in, &maps->pairs, err);
    for (uint32_t id = 1; id < maps->pairs.count && status == RLMR_OK; id++) {
        rlmr_slice text;
        pair_key key;
        status = rlmr_reader_slice(in, &text, err);
        if (status == RLMR_OK && text.bytes != sizeof key) {
            return malformed(err);
        }
        if (status == RLMR_OK) {
            memcpy(&key, text.text, sizeof key);
            status = map_id(&maps->names, &key.name, err);
        }
        status = status == RLMR_OK ? map_id(&maps->threads, &key.thread, err) : status;
        status = status == RLMR_OK
                     ? rlmr_symtab_intern(index->pairs, (rlmr_slice){(const char *)&key, sizeof key},
                                          &maps->pairs.ids[id], err)
                     : status;
    }
    return status;
}

static rlmr_status map_stack(const id_map *stacks, raw_stack *stack, rlmr_error *err) {
    uint32_t id = *stack / 2;
    rlmr_status status = map_id(stacks, &id, err);
    *stack = 2 * id + *stack % 2;
    return status;
}

static rlmr_status map_stack_entry(void *entry, const id_maps *maps, rlmr_error *err) {
    stack_entry *at = entry;
    rlmr_status status = map_id(&maps->names, &at->name, err);
    return status == RLMR_OK ? map_stack(&maps->stacks, &at->stack, err) : status;
}

static rlmr_status map_plain_entry(void *entry, const id_maps *maps, rlmr_error *err) {
    return map_id(&maps->pairs, &((plain_entry *)entry)->pair, err);
}

static rlmr_status map_backward_entry(void *entry, const id_maps *maps, rlmr_error *err) {
    return map_id(&maps->threads, &((backward_entry *)entry)->thread, err);
}

static rlmr_status map_forward_entry(void *entry, const id_maps *maps, rlmr_error *err) {
    return map_stack(&maps->stacks, &((forward_entry *)entry)->stack, err);
}

typedef rlmr_status (*map_entry)(void *entry, const id_maps *maps, rlmr_error *err);

/* Append the entries, then give them our ids where they lie. */
static rlmr_status take_entries(rlmr_reader *in, rlmr_bytes *entries, size_t entry_bytes, const id_maps *maps,
                                map_entry map, rlmr_error *err) {
    rlmr_slice text;
    size_t at = entries->bytes;
    rlmr_status status = rlmr_reader_slice(in, &text, err);
    if (status == RLMR_OK && text.bytes % entry_bytes != 0) {
        status = malformed(err);
    }
    if (status == RLMR_OK && (at + text.bytes) / entry_bytes >= UINT32_MAX - 1) {
        status = rlmr_error_set(err, RLMR_E_RANGE, RLMR_TOO_MANY_ENTRIES, UINT32_MAX - 1);
    }
    status = status == RLMR_OK ? rlmr_bytes_append(entries, text.text, text.bytes, err) : status;
    for (; at < entries->bytes && status == RLMR_OK; at += entry_bytes) {
        status = map(entries->data + at, maps, err);
    }
    return status;
}

static rlmr_status take_all_entries(rlmr_reader *in, rlmr_stack_index *index, const id_maps *maps,
                                    rlmr_error *err) {
    const struct {
        rlmr_bytes *entries;
        size_t bytes;
        map_entry map;
    } kinds[] = {{&index->stacks, sizeof(stack_entry), map_stack_entry},
                 {&index->plains, sizeof(plain_entry), map_plain_entry},
                 {&index->backwards, sizeof(backward_entry), map_backward_entry},
                 {&index->forwards, sizeof(forward_entry), map_forward_entry}};
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == RLMR_OK; i++) {
        status = take_entries(in, kinds[i].entries, kinds[i].bytes, maps, kinds[i].map, err);
    }
    return status;
}

static rlmr_status take_range(rlmr_reader *in, rlmr_stack_index *index, rlmr_error *err) {
    uint32_t any;
    int64_t least;
    int64_t greatest;
    rlmr_status status = rlmr_reader_u32(in, &any, err);
    status = status == RLMR_OK ? rlmr_reader_i64(in, &least, err) : status;
    status = status == RLMR_OK ? rlmr_reader_i64(in, &greatest, err) : status;
    if (status == RLMR_OK && any != 0) {
        rlmr_stack_index_widen(index, least, greatest);
    }
    return status;
}

rlmr_status rlmr_stack_index_take(rlmr_stack_index *index, rlmr_slice encoded, rlmr_error *err) {
    rlmr_reader in = {.data = (const uint8_t *)encoded.text, .bytes = encoded.bytes};
    id_maps maps = {0};
    rlmr_status status = take_range(&in, index, err);
    status = status == RLMR_OK ? take_names(&in, index->names, &maps.names, err) : status;
    status = status == RLMR_OK ? take_texts(&in, index->threads, &maps.threads, err) : status;
    status = status == RLMR_OK ? take_texts(&in, index->raw_stacks, &maps.stacks, err) : status;
    status = status == RLMR_OK ? take_pairs(&in, index, &maps, err) : status;
    status = status == RLMR_OK ? take_all_entries(&in, index, &maps, err) : status;
    free(maps.names.ids);
    free(maps.threads.ids);
    free(maps.stacks.ids);
    free(maps.pairs.ids);
    if (status == RLMR_OK && rlmr_symtab_count(index->raw_stacks) > RLMR_LIMIT_STACKS + 1) {
        status = rlmr_stack_index_too_many(err);
    }
    return status;
}
