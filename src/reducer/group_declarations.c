#include "group_declarations.h"

#include "rlmr/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARED_NUMBER(type, name, unit, storage, description) DECLARED_##name,
enum { RLMR_GROUP_DECLARED(DECLARED_NUMBER) DECLARED_COLUMNS };

uint64_t rlmr_group_hash(rlmr_slice group_id) {
    uint32_t high = 0;
    uint32_t low = 0;
    for (size_t at = 0; at < group_id.bytes;) {
        uint32_t character = rlmr_utf8_next(group_id, &at);
        high = high * 29 + character;
        low = low * 131 + character;
    }
    return (uint64_t)high << 32 | low;
}

static uint32_t id_at(const rlmr_table *declared, uint64_t row, size_t column) {
    return *(const uint32_t *)rlmr_table_value(declared, row, column);
}

static int compare(const void *left, const void *right) {
    const rlmr_declaration *a = left;
    const rlmr_declaration *b = right;
    if (a->role != b->role) {
        return a->role < b->role ? -1 : 1;
    }
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

rlmr_status rlmr_declarations_collect(const rlmr_table *declared, const rlmr_symtab *texts,
                                      rlmr_declarations *out, rlmr_error *err) {
    *out = (rlmr_declarations){{0}};
    rlmr_declaration last = {0};
    size_t count = 0;
    rlmr_status status = RLMR_OK;
    for (uint64_t row = 0; row < declared->rows && status == RLMR_OK; row++) {
        rlmr_declaration item = {.role = id_at(declared, row, DECLARED_role),
                                 .group_id = id_at(declared, row, DECLARED_group_id),
                                 .pg_name = id_at(declared, row, DECLARED_pg_name),
                                 .global_ranks = id_at(declared, row, DECLARED_global_ranks),
                                 .row = row};
        if (count == 0 || item.role != last.role || item.group_id != last.group_id) {
            item.hash = rlmr_group_hash(rlmr_symtab_text(texts, item.group_id));
            status = rlmr_bytes_append(&out->items, &item, sizeof item, err);
            last = item;
            count++;
        }
    }
    if (count > 0 && status == RLMR_OK) {
        qsort(out->items.data, count, sizeof last, compare);
    }
    return status;
}

void rlmr_declarations_release(rlmr_declarations *declarations) {
    rlmr_bytes_release(&declarations->items);
}

/* Only what a hash is printed as. */
static bool parse_hash(rlmr_slice name, uint64_t *hash) {
    char text[24];
    *hash = 0;
    for (size_t i = 0; i < name.bytes && i < sizeof text; i++) {
        *hash = *hash * 10 + (uint64_t)(name.text[i] - '0');
    }
    int bytes = snprintf(text, sizeof text, "%" PRIu64, *hash);
    return name.bytes == (size_t)bytes && memcmp(name.text, text, name.bytes) == 0;
}

const rlmr_declaration *rlmr_declarations_find(const rlmr_declarations *declarations, uint32_t role,
                                               rlmr_slice name, size_t *count) {
    const rlmr_declaration *items = (const rlmr_declaration *)(const void *)declarations->items.data;
    rlmr_declaration sought = {.role = role};
    size_t total = declarations->items.bytes / sizeof *items;
    *count = 0;
    if (!parse_hash(name, &sought.hash)) {
        return NULL;
    }
    size_t low = 0;
    for (size_t high = total; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare(&items[middle], &sought) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low + *count < total && items[low + *count].role == role &&
           items[low + *count].hash == sought.hash) {
        ++*count;
    }
    return *count > 0 ? &items[low] : NULL;
}
