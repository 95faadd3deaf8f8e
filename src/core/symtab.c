#include "rlmr/symtab.h"

#include "rlmr/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Header-only: core links with nothing but libc. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define ARENA_BLOCK_BYTES ((size_t)1 << 18)
#define FIRST_SLOTS 256U
#define TEXTS_MAX ((uint32_t)INT32_MAX)

/* Texts lie in blocks that never move, so that slices stay valid while the table grows. */
typedef struct arena_block {
    struct arena_block *before;
    size_t used;
    size_t capacity;
    char data[];
} arena_block;

typedef struct {
    const char *text;
    size_t bytes;
    uint64_t hash;
} entry;

struct rlmr_symtab {
    arena_block *arena;
    entry *entries; /* by id */
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* open addressing with linear probing: id + 1, 0 is free */
    uint32_t slots_count;
    rlmr_bytes clean; /* scratch of rlmr_symtab_intern_utf8() */
};

static char *arena_take(rlmr_symtab *tab, size_t bytes) {
    arena_block *block = tab->arena;
    if (block == NULL || block->capacity - block->used < bytes) {
        size_t capacity = bytes > ARENA_BLOCK_BYTES / 4 ? bytes : ARENA_BLOCK_BYTES;
        arena_block *fresh = malloc(sizeof *fresh + capacity);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->used = 0;
        fresh->capacity = capacity;
        /* A block made for one long text goes behind the current one, which still has room. */
        if (block != NULL && capacity == bytes) {
            fresh->before = block->before;
            block->before = fresh;
        } else {
            fresh->before = block;
            tab->arena = fresh;
        }
        block = fresh;
    }
    char *place = block->data + block->used;
    block->used += bytes;
    return place;
}

static rlmr_status grow_entries(rlmr_symtab *tab, rlmr_error *err) {
    uint32_t capacity = tab->capacity < 64 ? 64 : tab->capacity + tab->capacity / 2;
    entry *entries = realloc(tab->entries, (size_t)capacity * sizeof *entries);
    if (entries == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %u texts", capacity);
    }
    tab->entries = entries;
    tab->capacity = capacity;
    return RLMR_OK;
}

static rlmr_status grow_slots(rlmr_symtab *tab, uint32_t slots_count, rlmr_error *err) {
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    if (slots == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for an index of %u texts", slots_count);
    }
    for (uint32_t id = 0; id < tab->count; id++) {
        uint32_t at = (uint32_t)tab->entries[id].hash & (slots_count - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (slots_count - 1);
        }
        slots[at] = id + 1;
    }
    free(tab->slots);
    tab->slots = slots;
    tab->slots_count = slots_count;
    return RLMR_OK;
}

/* The slot that holds `text`, or the free one where it belongs. */
static uint32_t probe(const rlmr_symtab *tab, rlmr_slice text, uint64_t hash) {
    uint32_t at = (uint32_t)hash & (tab->slots_count - 1);
    while (tab->slots[at] != 0) {
        const entry *there = &tab->entries[tab->slots[at] - 1];
        if (there->hash == hash && rlmr_slice_equal((rlmr_slice){there->text, there->bytes}, text)) {
            break;
        }
        at = (at + 1) & (tab->slots_count - 1);
    }
    return at;
}

static uint64_t hash_of(rlmr_slice text) {
    return text.bytes == 0 ? 0 : XXH3_64bits(text.text, text.bytes);
}

rlmr_status rlmr_symtab_open(rlmr_symtab **out, rlmr_error *err) {
    rlmr_symtab *tab = calloc(1, sizeof *tab);
    if (tab == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a text table");
    }
    uint32_t id;
    rlmr_status status = grow_slots(tab, FIRST_SLOTS, err);
    if (status == RLMR_OK) {
        status = rlmr_symtab_intern(tab, (rlmr_slice){"", 0}, &id, err);
    }
    if (status != RLMR_OK) {
        rlmr_symtab_close(tab);
        tab = NULL;
    }
    *out = tab;
    return status;
}

void rlmr_symtab_close(rlmr_symtab *tab) {
    if (tab == NULL) {
        return;
    }
    while (tab->arena != NULL) {
        arena_block *before = tab->arena->before;
        free(tab->arena);
        tab->arena = before;
    }
    free(tab->entries);
    free(tab->slots);
    rlmr_bytes_release(&tab->clean);
    free(tab);
}

static rlmr_status make_room(rlmr_symtab *tab, rlmr_error *err) {
    if (tab->count == TEXTS_MAX) {
        return rlmr_error_set(err, RLMR_E_RANGE, "more than %u distinct texts in one process", TEXTS_MAX);
    }
    rlmr_status status = RLMR_OK;
    if (tab->count == tab->capacity) {
        status = grow_entries(tab, err);
    }
    if (status == RLMR_OK && tab->count >= tab->slots_count / 2 && tab->slots_count <= UINT32_MAX / 2) {
        status = grow_slots(tab, tab->slots_count * 2, err);
    }
    return status;
}

rlmr_status rlmr_symtab_intern(rlmr_symtab *tab, rlmr_slice text, uint32_t *id, rlmr_error *err) {
    uint64_t hash = hash_of(text);
    uint32_t at = probe(tab, text, hash);
    if (tab->slots[at] != 0) {
        *id = tab->slots[at] - 1;
        return RLMR_OK;
    }
    rlmr_status status = make_room(tab, err);
    if (status != RLMR_OK) {
        return status;
    }
    char *copy = arena_take(tab, text.bytes);
    if (copy == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a text of %zu bytes", text.bytes);
    }
    if (text.bytes > 0) {
        memcpy(copy, text.text, text.bytes);
    }
    *id = tab->count++;
    tab->entries[*id] = (entry){.text = copy, .bytes = text.bytes, .hash = hash};
    tab->slots[probe(tab, text, hash)] = *id + 1;
    return RLMR_OK;
}

bool rlmr_symtab_find(const rlmr_symtab *tab, rlmr_slice text, uint32_t *id) {
    uint32_t slot = tab->slots[probe(tab, text, hash_of(text))];
    if (slot == 0) {
        return false;
    }
    *id = slot - 1;
    return true;
}

rlmr_slice rlmr_symtab_text(const rlmr_symtab *tab, uint32_t id) {
    return (rlmr_slice){.text = tab->entries[id].text, .bytes = tab->entries[id].bytes};
}

uint32_t rlmr_symtab_count(const rlmr_symtab *tab) {
    return tab->count;
}

rlmr_status rlmr_symtab_intern_utf8(rlmr_symtab *tab, rlmr_slice text, uint32_t *id, bool *replaced,
                                    rlmr_error *err) {
    if (rlmr_utf8_is_clean(text)) {
        return rlmr_symtab_intern(tab, text, id, err);
    }
    if (replaced != NULL) {
        *replaced = true;
    }
    rlmr_bytes_clear(&tab->clean);
    rlmr_status status = rlmr_utf8_clean(text, &tab->clean, err);
    if (status == RLMR_OK) {
        status =
            rlmr_symtab_intern(tab, (rlmr_slice){(const char *)tab->clean.data, tab->clean.bytes}, id, err);
    }
    return status;
}
