#include "tree.h"

#include "rlmr/number_text.h"

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

/* All that lies between `first` and `end` is the same at the levels above. */
static void write_level(const writing *self, size_t first, size_t end, level at) {
    const rlmr_export_item *items = self->tree->items;
    rlmr_json_open(self->out, '{');
    while (first < end) {
        size_t next = first + 1;
        while (next < end && compare_at(&items[first], &items[next], at) == 0) {
            next++;
        }
        if (at < LEVEL_LEAF) {
            put_key(self, &items[first], at);
            write_level(self, first, next, at + 1);
        } else if (items[first].leaf[0] >= 0 && items[first].leaf[1] >= 0) {
            put_key(self, &items[first], at);
            self->leaf->value(self->tree, &items[first], next - first, self->out);
        }
        first = next;
    }
    rlmr_json_close(self->out, '}');
}

/* Texts of the groups' ranks by place, in one buffer. */
static rlmr_status make_places(const rlmr_export_groups *groups, rlmr_bytes *text, rlmr_slice **places,
                               rlmr_error *err) {
    size_t *ends = calloc(2 * groups->count + 2, sizeof *ends); /* start and end by place */
    *places = calloc(groups->count + 1, sizeof **places);
    rlmr_status status = RLMR_OK;
    if (ends == NULL || *places == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the groups");
    }
    for (size_t i = 0; i < groups->count && status == RLMR_OK; i++) {
        size_t *end = &ends[2 * groups->groups[i].place];
        if (end[1] == 0) {
            end[0] = text->bytes;
            status = rlmr_export_rank_text(&groups->groups[i], text, err);
            end[1] = text->bytes;
        }
    }
    for (size_t place = 0; place < groups->count && status == RLMR_OK; place++) {
        (*places)[place] =
            (rlmr_slice){(const char *)text->data + ends[2 * place], ends[2 * place + 1] - ends[2 * place]};
    }
    free(ends);
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
        write_level(&self, 0, tree->count, LEVEL_PLACE);
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
