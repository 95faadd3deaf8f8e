#include "tree.h"

#include "rlmr/number_text.h"
#include "rlmr/rank_set.h"

#include <math.h>
#include <stdlib.h>

/* The levels of the file, in order. */
typedef enum { LEVEL_PLACE, LEVEL_STEP, LEVEL_OP, LEVEL_LEAF } level;

#define NEXT_TO_NOTHING 1e-15
enum { RATIO_DECIMALS = 4 };

typedef struct {
    const rlmr_export_tree *tree;
    const rlmr_export_leaf *leaf;
    const rlmr_slice *places; /* texts of the lists of ranks */
    rlmr_text *out;
} writing;

void rlmr_export_tree_init(rlmr_export_tree *tree, const rlmr_export_job *job, const rlmr_export_part *part,
                           const rlmr_export_groups *groups) {
    *tree = (rlmr_export_tree){.job = job, .part = part, .groups = groups, .total = UINT32_MAX};
    (void)rlmr_symtab_find(job->texts, RLMR_SLICE(RLMR_TOTAL_OP), &tree->total);
}

void rlmr_export_tree_release(rlmr_export_tree *tree) {
    free(tree->items);
    *tree = (rlmr_export_tree){0};
}

rlmr_status rlmr_export_tree_add(rlmr_export_tree *tree, rlmr_export_item item, uint32_t step, uint32_t type,
                                 uint32_t group_name, uint32_t op_name, rlmr_error *err) {
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity == 0 ? 1024 : tree->capacity + tree->capacity / 2;
        rlmr_export_item *items = realloc(tree->items, capacity * sizeof *items);
        if (items == NULL) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu operators", capacity);
        }
        tree->items = items;
        tree->capacity = capacity;
    }
    const uint32_t *order = tree->job->order;
    const rlmr_export_group *group = rlmr_export_groups_get(tree->job, tree->groups, type, group_name);
    item.place = group == NULL ? 0 : group->place; /* each group of a row was found */
    item.step = order[step];
    item.type = order[type];
    item.group = order[group_name];
    item.op = order[op_name];
    item.total = op_name == tree->total;
    tree->items[tree->count++] = item;
    return RLMR_OK;
}

#define ORDER(field)                                                                                         \
    if (a->field != b->field) {                                                                              \
        return a->field < b->field ? -1 : 1;                                                                 \
    }

static int compare_at(const rlmr_export_item *a, const rlmr_export_item *b, level at) {
    switch (at) {
    case LEVEL_PLACE:
        ORDER(place)
        break;
    case LEVEL_STEP:
        ORDER(step)
        break;
    case LEVEL_OP:
        ORDER(total)
        ORDER(group)
        ORDER(op)
        break;
    case LEVEL_LEAF:
        ORDER(leaf[0])
        ORDER(leaf[1])
        break;
    }
    return 0;
}

static int compare_items(const void *left, const void *right) {
    const rlmr_export_item *a = left;
    const rlmr_export_item *b = right;
    for (level at = LEVEL_PLACE; at <= LEVEL_LEAF; at++) {
        int order = compare_at(a, b, at);
        if (order != 0) {
            return order;
        }
    }
    ORDER(of_bandwidth)
    ORDER(band)
    ORDER(size)
    ORDER(type)
    ORDER(row)
    return 0;
}

static rlmr_slice text_at(const writing *self, uint32_t place) {
    return rlmr_export_text(self->tree->job, self->tree->job->sorted[place]);
}

static void put_key(const writing *self, const rlmr_export_item *item, level at) {
    switch (at) {
    case LEVEL_PLACE:
        rlmr_json_key(self->out, self->places[item->place]);
        break;
    case LEVEL_STEP:
        rlmr_json_key_of(self->out, RLMR_SLICE("step"), text_at(self, item->step), RLMR_SLICE(""));
        break;
    case LEVEL_OP:
        rlmr_json_key_of(self->out, text_at(self, item->op), RLMR_SLICE("@"), text_at(self, item->group));
        break;
    case LEVEL_LEAF:
        self->leaf->key(item, self->out);
        break;
    }
}

/* The first level at which two items differ. */
static level differ_at(const rlmr_export_item *a, const rlmr_export_item *b) {
    level at = LEVEL_PLACE;
    while (at < LEVEL_LEAF && compare_at(a, b, at) == 0) {
        at++;
    }
    return at;
}

static void open_levels(const writing *self, const rlmr_export_item *item, level at) {
    for (; at < LEVEL_LEAF; at++) {
        put_key(self, item, at);
        rlmr_json_open(self->out, '{');
    }
}

static void close_levels(const writing *self, level at) {
    for (; at < LEVEL_LEAF; at++) {
        rlmr_json_close(self->out, '}');
    }
}

static void write_items(const writing *self) {
    const rlmr_export_item *items = self->tree->items;
    size_t count = self->tree->count;
    rlmr_json_open(self->out, '{');
    for (size_t first = 0, next; first < count; first = next) {
        level at = first == 0 ? LEVEL_PLACE : differ_at(&items[first - 1], &items[first]);
        if (first > 0) {
            close_levels(self, at);
        }
        open_levels(self, &items[first], at);
        next = first + 1;
        while (next < count && differ_at(&items[first], &items[next]) == LEVEL_LEAF &&
               compare_at(&items[first], &items[next], LEVEL_LEAF) == 0) {
            next++;
        }
        if (items[first].leaf[0] >= 0 && items[first].leaf[1] >= 0) {
            put_key(self, &items[first], LEVEL_LEAF);
            self->leaf->value(self->tree, &items[first], next - first, self->out);
        }
    }
    if (count > 0) {
        close_levels(self, LEVEL_PLACE);
    }
    rlmr_json_close(self->out, '}');
}

/* Where a text lies in a buffer that may still move. */
typedef struct {
    size_t start;
    size_t end; /* 0: not there */
} extent;

static rlmr_status put_places(const rlmr_export_groups *groups, rlmr_bytes *text, extent *extents,
                              rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < groups->count && status == RLMR_OK; i++) {
        extent *of_place = &extents[groups->groups[i].place];
        if (of_place->end == 0) {
            of_place->start = text->bytes;
            status = rlmr_ranks_print(groups->groups[i].ranks, groups->groups[i].ranks_count, text, err);
            of_place->end = text->bytes;
        }
    }
    return status;
}

/* Texts of the groups' ranks by place, in one buffer. */
static rlmr_status make_places(const rlmr_export_groups *groups, rlmr_bytes *text, rlmr_slice **places,
                               rlmr_error *err) {
    extent *extents = calloc(groups->count + 1, sizeof *extents);
    *places = calloc(groups->count + 1, sizeof **places);
    if (extents == NULL || *places == NULL) {
        free(extents);
        (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the groups");
        return RLMR_E_NOMEM;
    }
    rlmr_status status = put_places(groups, text, extents, err);
    for (size_t place = 0; place < groups->count && status == RLMR_OK; place++) {
        const char *start = (const char *)text->data + extents[place].start;
        (*places)[place] = (rlmr_slice){start, extents[place].end - extents[place].start};
    }
    free(extents);
    return status;
}

rlmr_status rlmr_export_tree_write(rlmr_export_tree *tree, const rlmr_export_leaf *leaf, rlmr_text *out,
                                   rlmr_error *err) {
    rlmr_bytes text = {0};
    rlmr_slice *places = NULL;
    rlmr_status status = make_places(tree->groups, &text, &places, err);
    if (status == RLMR_OK) {
        writing self = {.tree = tree, .leaf = leaf, .places = places, .out = out};
        qsort(tree->items, tree->count, sizeof *tree->items, compare_items);
        write_items(&self);
        status = rlmr_text_status(out, err);
    }
    free(places);
    rlmr_bytes_release(&text);
    return status;
}

double rlmr_export_quotient(double a, double b) {
    return fabs(b) < NEXT_TO_NOTHING ? 0 : rlmr_number_round(a / b, RATIO_DECIMALS);
}

double rlmr_export_sum(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return isnan(a) ? b : a;
    }
    return a + b;
}

void rlmr_export_number(rlmr_text *out, const char *key, double value) {
    if (!isnan(value)) {
        rlmr_json_key(out, rlmr_slice_of(key));
        rlmr_json_f64(out, value);
    }
}
