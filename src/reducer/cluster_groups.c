#include "cluster_groups.h"

#include "group_declarations.h"
#include "rlmr/rank_set.h"

#include <stdlib.h>

#define USE_NUMBER(type, name, unit, storage, description) USE_##name,
enum { RLMR_GROUP_USE(USE_NUMBER) USE_COLUMNS };

typedef struct {
    rlmr_cluster_map *map;
    const rlmr_table *uses;
    const rlmr_symtab *texts;
    rlmr_declarations declarations;
    rlmr_member_sets *out;
    rlmr_bytes ranks;    /* of one declaration, by number */
    rlmr_bytes observed; /* rlmr_numbered, of one communicator */
    rlmr_bytes seen;     /* ranks of one group */
    rlmr_bytes text;
} builder;

/* Rows first .. end - 1 of the uses. */
typedef struct {
    uint64_t first;
    uint64_t end;
} span;

static int32_t number_at(const builder *b, uint64_t row, size_t column) {
    return *(const int32_t *)rlmr_table_value(b->uses, row, column);
}

static uint32_t id_at(const builder *b, uint64_t row, size_t column) {
    return *(const uint32_t *)rlmr_table_value(b->uses, row, column);
}

static rlmr_slice text_at(const builder *b, uint64_t row, size_t column) {
    return rlmr_symtab_text(b->texts, id_at(b, row, column));
}

/* ---- Numbers in a communicator ---- */

static int compare_numbered(const void *left, const void *right) {
    const rlmr_numbered *a = left;
    const rlmr_numbered *b = right;
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* What the links of ranks to themselves show, beyond the `known` numbers that metadata declares. */
static rlmr_status observe(builder *b, span rows, size_t known, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    rlmr_bytes_clear(&b->observed);
    for (uint64_t row = rows.first; row < rows.end && status == RLMR_OK; row++) {
        rlmr_numbered item = {number_at(b, row, USE_own_local), number_at(b, row, USE_rank_id)};
        if (item.number >= 0 && (size_t)item.number >= known && item.rank >= 0) {
            status = rlmr_bytes_append(&b->observed, &item, sizeof item, err);
        }
    }
    if (status == RLMR_OK && b->observed.bytes > 0) {
        qsort(b->observed.data, RLMR_COUNT(rlmr_numbered, b->observed), sizeof(rlmr_numbered),
              compare_numbered);
    }
    return status;
}

/* Of several ranks that have one number, the smallest. */
static rlmr_status add_observed(builder *b, rlmr_error *err) {
    const rlmr_numbered *items = RLMR_ITEMS(rlmr_numbered, b->observed);
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < RLMR_COUNT(rlmr_numbered, b->observed) && status == RLMR_OK; i++) {
        if (i == 0 || items[i].number != items[i - 1].number) {
            status = rlmr_bytes_append(&b->map->numbered, &items[i], sizeof items[i], err);
        }
    }
    return status;
}

/* @param rows all uses of one communicator, whose declared ranks are in b->ranks */
static rlmr_status add_numbering(builder *b, span rows, uint32_t role, rlmr_error *err) {
    rlmr_bytes *numbered = &b->map->numbered;
    rlmr_numbering numbering = {.role = role, .first = RLMR_COUNT(rlmr_numbered, *numbered)};
    size_t known = RLMR_COUNT(int32_t, b->ranks);
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < known && status == RLMR_OK; i++) {
        rlmr_numbered item = {(int32_t)i, RLMR_ITEMS(int32_t, b->ranks)[i]};
        status = rlmr_bytes_append(numbered, &item, sizeof item, err);
    }
    status = status == RLMR_OK ? observe(b, rows, known, err) : status;
    status = status == RLMR_OK ? add_observed(b, err) : status;
    numbering.count = RLMR_COUNT(rlmr_numbered, *numbered) - numbering.first;
    if (status != RLMR_OK || numbering.count == 0) {
        return status;
    }
    status = rlmr_symtab_intern(b->map->texts, text_at(b, rows.first, USE_group_name), &numbering.name, err);
    return status == RLMR_OK ? rlmr_bytes_append(&b->map->numberings, &numbering, sizeof numbering, err)
                             : status;
}

/* ---- Members of a group ---- */

static rlmr_status collect_seen(builder *b, span rows, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    rlmr_bytes_clear(&b->seen);
    for (uint64_t row = rows.first; row < rows.end && status == RLMR_OK; row++) {
        int32_t rank = number_at(b, row, USE_rank_id);
        status = rank >= 0 ? rlmr_bytes_append(&b->seen, &rank, sizeof rank, err) : status;
    }
    rlmr_ranks_make_set(&b->seen);
    return status;
}

/* Members in all of a group without metadata, as far as its links tell. */
static int32_t size_of(const builder *b, span rows) {
    int64_t size = (int64_t)RLMR_COUNT(int32_t, b->seen);
    for (uint64_t row = rows.first; row < rows.end; row++) {
        int64_t greatest = number_at(b, row, USE_greatest_local);
        size = greatest >= size ? greatest + 1 : size;
    }
    return size > INT32_MAX ? INT32_MAX : (int32_t)size;
}

/* Those that metadata declares, if it does. */
static const rlmr_bytes *members_of(const builder *b) {
    return b->ranks.bytes > 0 ? &b->ranks : &b->seen;
}

/* @param declared what b->ranks, now a set, is from; or NULL */
static rlmr_status add_row(builder *b, span rows, const rlmr_declaration *declared, rlmr_error *err) {
    bool metadata = b->ranks.bytes > 0;
    const rlmr_bytes *members = members_of(b);
    size_t count = RLMR_COUNT(int32_t, *members);
    rlmr_bytes_clear(&b->text);
    rlmr_status status = rlmr_ranks_print(RLMR_ITEMS(int32_t, *members), count, &b->text, err);
    rlmr_slice none = {NULL, 0};
    rlmr_communication_group_row row = {.size = metadata ? (int32_t)count : size_of(b, rows),
                                        .members_seen = (int32_t)RLMR_COUNT(int32_t, b->seen)};
    const struct {
        rlmr_slice text;
        uint32_t *id;
    } texts[] = {{text_at(b, rows.first, USE_role), &row.role},
                 {text_at(b, rows.first, USE_type), &row.type},
                 {text_at(b, rows.first, USE_group_name), &row.group_name},
                 {declared == NULL ? none : rlmr_symtab_text(b->texts, declared->group_id), &row.group_id},
                 {declared == NULL ? none : rlmr_symtab_text(b->texts, declared->pg_name), &row.pg_name},
                 {{(const char *)b->text.data, b->text.bytes}, &row.rank_set},
                 {metadata ? RLMR_SLICE("metadata") : RLMR_SLICE("observed"), &row.source}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == RLMR_OK; i++) {
        status = rlmr_symtab_intern(b->map->texts, texts[i].text, texts[i].id, err);
    }
    return status == RLMR_OK ? rlmr_table_append(&b->map->groups, &row, err) : status;
}

static bool begins_with_pp(rlmr_slice name) {
    return name.bytes >= 2 && (name.text[0] | 0x20) == 'p' && (name.text[1] | 0x20) == 'p';
}

static rlmr_status add_set(builder *b, span rows, uint32_t role, const rlmr_declaration *declared,
                           rlmr_error *err) {
    const rlmr_bytes *members = members_of(b);
    rlmr_member_set set = {
        .role = role,
        .collective = rlmr_slice_equal(text_at(b, rows.first, USE_type), RLMR_SLICE("collective")),
        .pipeline = declared != NULL && begins_with_pp(rlmr_symtab_text(b->texts, declared->pg_name)),
        .first = RLMR_COUNT(int32_t, b->out->members),
        .count = RLMR_COUNT(int32_t, *members)};
    rlmr_status status = rlmr_bytes_append(&b->out->members, members->data, members->bytes, err);
    return status == RLMR_OK ? rlmr_bytes_append(&b->out->sets, &set, sizeof set, err) : status;
}

static rlmr_status parse_declared(builder *b, const rlmr_declaration *declared, rlmr_error *err) {
    rlmr_slice text =
        declared == NULL ? (rlmr_slice){NULL, 0} : rlmr_symtab_text(b->texts, declared->global_ranks);
    return rlmr_ranks_parse(text, &b->ranks, err);
}

/* One row for each id that is declared, or a row without id; the first id says who the members are.
 * @param rows all uses of one communicator by one type of operator */
static rlmr_status add_group(builder *b, span rows, uint32_t role, const rlmr_declaration *declared,
                             size_t declared_count, rlmr_error *err) {
    rlmr_status status = collect_seen(b, rows, err);
    for (size_t i = 0; (i == 0 || i < declared_count) && status == RLMR_OK; i++) {
        const rlmr_declaration *one = i < declared_count ? &declared[i] : NULL;
        status = parse_declared(b, one, err);
        rlmr_ranks_make_set(&b->ranks);
        status = status == RLMR_OK ? add_row(b, rows, one, err) : status;
        if (i == 0 && status == RLMR_OK) {
            status = add_set(b, rows, role, one, err);
        }
    }
    return status;
}

/* ---- All of them ---- */

/* From row `first` on, those that are equal to it in `count` columns. */
static span equal_rows(const builder *b, uint64_t first, uint64_t limit, const size_t *columns,
                       size_t count) {
    span rows = {first, first};
    bool equal = true;
    while (equal && rows.end < limit) {
        for (size_t c = 0; c < count && equal; c++) {
            equal = id_at(b, rows.end, columns[c]) == id_at(b, first, columns[c]);
        }
        rows.end += equal;
    }
    return rows;
}

/* @param rows all uses of one communicator */
static rlmr_status add_communicator(builder *b, span rows, rlmr_error *err) {
    static const size_t type = USE_type;
    uint32_t role = 0;
    (void)rlmr_cluster_map_find_role(b->map, text_at(b, rows.first, USE_role), &role); /* all are there */
    size_t count = 0;
    const rlmr_declaration *declared = rlmr_declarations_find(
        &b->declarations, id_at(b, rows.first, USE_role), text_at(b, rows.first, USE_group_name), &count);
    rlmr_status status = parse_declared(b, declared, err);
    status = status == RLMR_OK ? add_numbering(b, rows, role, err) : status;
    while (rows.first < rows.end && status == RLMR_OK) {
        span group = equal_rows(b, rows.first, rows.end, &type, 1);
        status = add_group(b, group, role, declared, count, err);
        rows.first = group.end;
    }
    return status;
}

static rlmr_status add_all(builder *b, rlmr_error *err) {
    static const size_t communicator[] = {USE_role, USE_group_name};
    rlmr_status status = RLMR_OK;
    span rows = {0, 0};
    while (rows.end < b->uses->rows && status == RLMR_OK) {
        rows = equal_rows(b, rows.end, b->uses->rows, communicator, 2);
        status = add_communicator(b, rows, err);
    }
    return status;
}

rlmr_status rlmr_cluster_groups(rlmr_cluster_map *map, const rlmr_table *uses, const rlmr_table *declared,
                                const rlmr_symtab *texts, rlmr_member_sets *out, rlmr_error *err) {
    builder b = {.map = map, .uses = uses, .texts = texts, .out = out};
    rlmr_status status = rlmr_declarations_collect(declared, texts, &b.declarations, err);
    status = status == RLMR_OK ? add_all(&b, err) : status;
    rlmr_declarations_release(&b.declarations);
    rlmr_bytes_release(&b.ranks);
    rlmr_bytes_release(&b.observed);
    rlmr_bytes_release(&b.seen);
    rlmr_bytes_release(&b.text);
    return status;
}

void rlmr_member_sets_release(rlmr_member_sets *sets) {
    rlmr_bytes_release(&sets->sets);
    rlmr_bytes_release(&sets->members);
}
