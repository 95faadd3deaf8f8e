/* What a map adds to the tables of a process. */
#include "cluster_map_state.h"
#include "rlmr/rank_set.h"

#include <stdlib.h>
#include <string.h>

#define LINK_NUMBER(type, name, unit, storage, description) LINK_##name,
enum { RLMR_CLUSTER_COMMUNICATION_MATRIX(LINK_NUMBER) LINK_COLUMNS };
#define STEP_NUMBER(type, name, unit, storage, description) STEP_##name,
enum { RLMR_CLUSTER_STEP_TRACE_TIME(STEP_NUMBER) STEP_COLUMNS };

static uint32_t id_at(const rlmr_table *table, uint64_t row, size_t column) {
    return *(const uint32_t *)rlmr_table_value(table, row, column);
}

static int32_t *number_at(const rlmr_table *table, uint64_t row, size_t column) {
    return rlmr_table_value(table, row, column);
}

/* ---- Whole tables ---- */

/* One row of `from`, whose texts are ids of `old`, with ids of `texts`. */
static rlmr_status copy_row(const rlmr_table *from, uint64_t at, const rlmr_symtab *old, rlmr_table *to,
                            rlmr_symtab *texts, rlmr_error *err) {
    union {
        rlmr_communication_group_row group;
        rlmr_cluster_base_info_row info;
    } row;
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < from->schema->columns_count && status == RLMR_OK; c++) {
        const rlmr_column *column = &from->schema->columns[c];
        char *value = (char *)&row + column->offset;
        memcpy(value, rlmr_table_value(from, at, c), rlmr_type_bytes(column->type));
        if (column->type == RLMR_TYPE_TEXT) {
            uint32_t id = 0;
            status = rlmr_symtab_intern(texts, rlmr_symtab_text(old, id_at(from, at, c)), &id, err);
            memcpy(value, &id, sizeof id);
        }
    }
    return status == RLMR_OK ? rlmr_table_append(to, &row, err) : status;
}

rlmr_status rlmr_cluster_map_tables(const rlmr_cluster_map *map, rlmr_table *groups, rlmr_table *info,
                                    rlmr_symtab *texts, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (uint64_t row = 0; row < map->groups.rows && status == RLMR_OK; row++) {
        status = copy_row(&map->groups, row, map->texts, groups, texts, err);
    }
    for (uint64_t row = 0; row < map->info.rows && status == RLMR_OK; row++) {
        status = copy_row(&map->info, row, map->texts, info, texts, err);
    }
    return status;
}

/* ---- Links ---- */

static int compare_numbering(const rlmr_cluster_map *map, const rlmr_numbering *numbering, uint32_t role,
                             rlmr_slice name) {
    if (numbering->role != role) {
        return numbering->role < role ? -1 : 1;
    }
    return rlmr_slice_compare(rlmr_symtab_text(map->texts, numbering->name), name);
}

/* @return NULL if nothing is known of the group */
static const rlmr_numbering *find_numbering(const rlmr_cluster_map *map, rlmr_slice role_text,
                                            rlmr_slice name) {
    const rlmr_numbering *items = RLMR_ITEMS(rlmr_numbering, map->numberings);
    size_t count = RLMR_COUNT(rlmr_numbering, map->numberings);
    uint32_t role = 0;
    if (!rlmr_cluster_map_find_role(map, role_text, &role)) {
        return NULL;
    }
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare_numbering(map, &items[middle], role, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && compare_numbering(map, &items[low], role, name) == 0 ? &items[low] : NULL;
}

/* @return the rank with a number in the group, -1 if it is unknown */
static int32_t rank_of(const rlmr_cluster_map *map, const rlmr_numbering *numbering, int32_t number) {
    if (numbering == NULL) {
        return -1;
    }
    const rlmr_numbered *items = RLMR_ITEMS(rlmr_numbered, map->numbered) + numbering->first;
    size_t low = 0;
    for (size_t high = numbering->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < numbering->count && items[low].number == number ? items[low].rank : -1;
}

void rlmr_cluster_map_links(const rlmr_cluster_map *map, rlmr_table *links, const rlmr_symtab *texts) {
    const rlmr_numbering *numbering = NULL;
    uint32_t role = 0;
    uint32_t name = 0;
    for (uint64_t row = 0; row < links->rows; row++) {
        uint32_t row_role = id_at(links, row, LINK_role);
        uint32_t row_name = id_at(links, row, LINK_group_name);
        if (row == 0 || row_role != role || row_name != name) {
            role = row_role;
            name = row_name;
            numbering = find_numbering(map, rlmr_symtab_text(texts, role), rlmr_symtab_text(texts, name));
        }
        *number_at(links, row, LINK_src_rank) =
            rank_of(map, numbering, *number_at(links, row, LINK_src_local));
        *number_at(links, row, LINK_dst_rank) =
            rank_of(map, numbering, *number_at(links, row, LINK_dst_local));
    }
}

/* ---- Steps ---- */

/* The first member of a stage that is not before a rank. */
static size_t find_member(const rlmr_cluster_map *map, uint32_t role, int32_t rank) {
    const rlmr_stage_member *items = RLMR_ITEMS(rlmr_stage_member, map->stage_members);
    size_t low = 0;
    for (size_t high = RLMR_COUNT(rlmr_stage_member, map->stage_members); low < high;) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].role < role || (items[middle].role == role && items[middle].rank < rank)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* What a map says of one role. */
typedef struct {
    uint32_t role;
    bool has_stages;
    const rlmr_layout *layout; /* NULL: unknown */
} role_view;

static role_view view_role(const rlmr_cluster_map *map, rlmr_slice text) {
    role_view view = {.role = 0};
    if (!rlmr_cluster_map_find_role(map, text, &view.role)) {
        return view;
    }
    for (size_t i = 0; i < RLMR_COUNT(rlmr_role_layout, map->layouts); i++) {
        const rlmr_role_layout *item = &RLMR_ITEMS(rlmr_role_layout, map->layouts)[i];
        view.layout = item->role == view.role ? &item->layout : view.layout;
    }
    size_t first = find_member(map, view.role, INT32_MIN);
    view.has_stages = first < RLMR_COUNT(rlmr_stage_member, map->stage_members) &&
                      RLMR_ITEMS(rlmr_stage_member, map->stage_members)[first].role == view.role;
    return view;
}

typedef struct {
    const rlmr_cluster_map *map;
    rlmr_table *steps;
    rlmr_symtab *texts;
    uint32_t type;     /* the text "stage" */
    uint32_t *indices; /* by stage: its text, 0 if that is not made yet; behind them that of no stage */
} stage_rows;

/* Place of the rank's stage, or the number of stages if it is in none. */
static size_t stage_of(const rlmr_cluster_map *map, uint32_t role, int32_t rank) {
    size_t at = find_member(map, role, rank);
    const rlmr_stage_member *member = &RLMR_ITEMS(rlmr_stage_member, map->stage_members)[at];
    bool found = at < RLMR_COUNT(rlmr_stage_member, map->stage_members) && member->role == role &&
                 member->rank == rank;
    return found ? member->stage : RLMR_COUNT(rlmr_stage, map->stages);
}

static rlmr_status make_index(stage_rows *out, size_t stage, rlmr_error *err) {
    if (out->indices[stage] != 0) {
        return RLMR_OK;
    }
    rlmr_stage none = {0};
    const rlmr_stage *of = stage < RLMR_COUNT(rlmr_stage, out->map->stages)
                               ? &RLMR_ITEMS(rlmr_stage, out->map->stages)[stage]
                               : &none;
    rlmr_bytes text = {0};
    const int32_t *ranks = RLMR_ITEMS(int32_t, out->map->stage_ranks);
    rlmr_status status = rlmr_ranks_print(of->count == 0 ? NULL : ranks + of->first, of->count, &text, err);
    if (status == RLMR_OK) {
        rlmr_slice slice = {(const char *)text.data, text.bytes};
        status = rlmr_symtab_intern(out->texts, slice, &out->indices[stage], err);
    }
    rlmr_bytes_release(&text);
    return status;
}

static rlmr_status append_stage(stage_rows *out, uint64_t row, uint32_t role, rlmr_error *err) {
    const rlmr_table *steps = out->steps;
    size_t stage = stage_of(out->map, role, *number_at(steps, row, STEP_rank_id));
    rlmr_status status = make_index(out, stage, err);
    if (status != RLMR_OK) {
        return status;
    }
#define COPY(type_, name, unit, storage, description)                                                        \
    .name = *(const double *)rlmr_table_value(steps, row, STEP_##name),
    rlmr_cluster_step_trace_time_row added = {.role = id_at(steps, row, STEP_role),
                                              .window = *number_at(steps, row, STEP_window),
                                              .step = id_at(steps, row, STEP_step),
                                              .type = out->type,
                                              .index = out->indices[stage],
                                              .rank_id = -1,
                                              .capture = -1,
                                              RLMR_STEP_NUMBERS(COPY).dp_index = -1,
                                              .pp_index = -1,
                                              .tp_index = -1};
#undef COPY
    return rlmr_table_append(out->steps, &added, err);
}

static void place_rank(rlmr_table *steps, uint64_t row, const rlmr_layout *layout) {
    rlmr_coordinates at = rlmr_layout_place(layout, *number_at(steps, row, STEP_rank_id));
    *number_at(steps, row, STEP_dp_index) = at.dp;
    *number_at(steps, row, STEP_pp_index) = at.pp;
    *number_at(steps, row, STEP_tp_index) = at.tp;
}

static rlmr_status complete_steps(stage_rows *out, rlmr_error *err) {
    role_view role = {.role = 0};
    uint32_t last = 0;
    rlmr_status status = RLMR_OK;
    uint64_t rows = out->steps->rows; /* and not those that are added */
    for (uint64_t row = 0; row < rows && status == RLMR_OK; row++) {
        uint32_t id = id_at(out->steps, row, STEP_role);
        if (row == 0 || id != last) {
            role = view_role(out->map, rlmr_symtab_text(out->texts, id));
            last = id;
        }
        place_rank(out->steps, row, role.layout);
        status = role.has_stages ? append_stage(out, row, role.role, err) : RLMR_OK;
    }
    return status;
}

rlmr_status rlmr_cluster_map_steps(const rlmr_cluster_map *map, rlmr_table *steps, rlmr_symtab *texts,
                                   rlmr_error *err) {
    stage_rows out = {.map = map, .steps = steps, .texts = texts};
    out.indices = calloc(RLMR_COUNT(rlmr_stage, map->stages) + 1, sizeof *out.indices);
    if (out.indices == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the stages of the steps");
    }
    rlmr_status status = rlmr_symtab_intern(texts, RLMR_SLICE("stage"), &out.type, err);
    status = status == RLMR_OK ? complete_steps(&out, err) : status;
    free(out.indices);
    return status;
}
