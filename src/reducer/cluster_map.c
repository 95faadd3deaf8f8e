#include "cluster_groups.h"
#include "cluster_stages.h"

#include <stdlib.h>
#include <string.h>

#define JOB_NUMBER(type, name, unit, storage, description) JOB_##name,
enum { RLMR_JOB_DISTRIBUTION(JOB_NUMBER) JOB_COLUMNS };
#define USE_NUMBER(type, name, unit, storage, description) USE_##name,
enum { RLMR_GROUP_USE(USE_NUMBER) USE_COLUMNS };

rlmr_status rlmr_cluster_map_open(rlmr_cluster_map **out, rlmr_error *err) {
    *out = NULL;
    rlmr_cluster_map *map = calloc(1, sizeof *map);
    if (map == NULL) {
        (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the map of the cluster");
        return RLMR_E_NOMEM;
    }
    rlmr_table_init(&map->groups, &rlmr_communication_group_schema);
    rlmr_table_init(&map->info, &rlmr_cluster_base_info_schema);
    rlmr_status status = rlmr_symtab_open(&map->texts, err);
    if (status != RLMR_OK) {
        free(map);
        return status;
    }
    *out = map;
    return RLMR_OK;
}

void rlmr_cluster_map_close(rlmr_cluster_map *map) {
    if (map == NULL) {
        return;
    }
    rlmr_symtab_close(map->texts);
    rlmr_table_release(&map->groups);
    rlmr_table_release(&map->info);
    rlmr_bytes_release(&map->roles);
    rlmr_bytes_release(&map->layouts);
    rlmr_bytes_release(&map->numberings);
    rlmr_bytes_release(&map->numbered);
    rlmr_bytes_release(&map->stages);
    rlmr_bytes_release(&map->stage_ranks);
    rlmr_bytes_release(&map->stage_members);
    free(map);
}

/* ---- Roles ---- */

rlmr_slice rlmr_cluster_map_role(const rlmr_cluster_map *map, uint32_t role) {
    return rlmr_symtab_text(map->texts, RLMR_ITEMS(uint32_t, map->roles)[role]);
}

bool rlmr_cluster_map_find_role(const rlmr_cluster_map *map, rlmr_slice text, uint32_t *role) {
    size_t count = RLMR_COUNT(uint32_t, map->roles);
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (rlmr_slice_compare(rlmr_cluster_map_role(map, (uint32_t)middle), text) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *role = (uint32_t)low;
    return low < count && rlmr_slice_equal(rlmr_cluster_map_role(map, (uint32_t)low), text);
}

/* Append the roles of a table, each run of equal ones once. */
static rlmr_status add_roles(rlmr_cluster_map *map, const rlmr_table *table, size_t column,
                             const rlmr_symtab *texts, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    uint32_t last = 0;
    for (uint64_t row = 0; row < table->rows && status == RLMR_OK; row++) {
        uint32_t role = *(const uint32_t *)rlmr_table_value(table, row, column);
        if (row == 0 || role != last) {
            uint32_t id = 0;
            status = rlmr_symtab_intern(map->texts, rlmr_symtab_text(texts, role), &id, err);
            status = status == RLMR_OK ? rlmr_bytes_append_u32(&map->roles, id, err) : status;
            last = role;
        }
    }
    return status;
}

static int compare_roles(const void *left, const void *right, void *context) {
    const rlmr_symtab *texts = context;
    return rlmr_slice_compare(rlmr_symtab_text(texts, *(const uint32_t *)left),
                              rlmr_symtab_text(texts, *(const uint32_t *)right));
}

static rlmr_status collect_roles(rlmr_cluster_map *map, const rlmr_table *uses, const rlmr_table *jobs,
                                 const rlmr_symtab *texts, rlmr_error *err) {
    rlmr_status status = add_roles(map, uses, USE_role, texts, err);
    status = status == RLMR_OK ? add_roles(map, jobs, JOB_role, texts, err) : status;
    if (status != RLMR_OK || map->roles.bytes == 0) {
        return status;
    }
    uint32_t *roles = RLMR_ITEMS(uint32_t, map->roles);
    size_t count = RLMR_COUNT(uint32_t, map->roles);
    size_t kept = 0;
    qsort_r(roles, count, sizeof *roles, compare_roles, map->texts);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || roles[kept - 1] != roles[i]) {
            roles[kept++] = roles[i];
        }
    }
    map->roles.bytes = kept * sizeof *roles;
    return RLMR_OK;
}

/* ---- Distribution of the job ---- */

static int32_t size_at(const rlmr_table *jobs, uint64_t row, size_t column) {
    return *(const int32_t *)rlmr_table_value(jobs, row, column);
}

static rlmr_status add_layout(rlmr_cluster_map *map, const rlmr_table *jobs, uint64_t row, uint32_t role,
                              rlmr_error *err) {
#define SIZE(type, name, unit, storage, description) .name = size_at(jobs, row, JOB_##name),
    rlmr_role_layout item = {.role = role, .layout = {RLMR_JOB_SIZES(SIZE)}};
#undef SIZE
    return rlmr_layout_complete(&item.layout) ? rlmr_bytes_append(&map->layouts, &item, sizeof item, err)
                                              : RLMR_OK;
}

static rlmr_status add_info(rlmr_cluster_map *map, rlmr_slice role, rlmr_slice value, rlmr_error *err) {
    rlmr_cluster_base_info_row row;
    rlmr_status status = rlmr_symtab_intern(map->texts, role, &row.role, err);
    status = status == RLMR_OK ? rlmr_symtab_intern(map->texts, RLMR_SLICE("distributed_args"), &row.key, err)
                               : status;
    status = status == RLMR_OK ? rlmr_symtab_intern(map->texts, value, &row.value, err) : status;
    return status == RLMR_OK ? rlmr_table_append(&map->info, &row, err) : status;
}

/* The first row of each role counts. */
static rlmr_status add_jobs(rlmr_cluster_map *map, const rlmr_table *jobs, const rlmr_symtab *texts,
                            rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    uint32_t last = 0;
    for (uint64_t row = 0; row < jobs->rows && status == RLMR_OK; row++) {
        uint32_t id = *(const uint32_t *)rlmr_table_value(jobs, row, JOB_role);
        uint32_t role = 0;
        rlmr_slice text = rlmr_symtab_text(texts, id);
        if (row > 0 && id == last) {
            continue;
        }
        (void)rlmr_cluster_map_find_role(map, text, &role); /* all are there */
        last = id;
        uint32_t args = *(const uint32_t *)rlmr_table_value(jobs, row, JOB_distributed_args);
        status = add_layout(map, jobs, row, role, err);
        status = status == RLMR_OK ? add_info(map, text, rlmr_symtab_text(texts, args), err) : status;
    }
    return status;
}

/* ---- All ---- */

static int compare_members(const void *left, const void *right) {
    const rlmr_stage_member *a = left;
    const rlmr_stage_member *b = right;
    if (a->role != b->role) {
        return a->role < b->role ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

rlmr_status rlmr_cluster_map_index_stages(rlmr_cluster_map *map, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t s = 0; s < RLMR_COUNT(rlmr_stage, map->stages); s++) {
        const rlmr_stage *stage = &RLMR_ITEMS(rlmr_stage, map->stages)[s];
        for (size_t i = 0; i < stage->count && status == RLMR_OK; i++) {
            rlmr_stage_member member = {.role = stage->role,
                                        .rank = RLMR_ITEMS(int32_t, map->stage_ranks)[stage->first + i],
                                        .stage = (uint32_t)s};
            status = rlmr_bytes_append(&map->stage_members, &member, sizeof member, err);
        }
    }
    rlmr_stage_member *members = RLMR_ITEMS(rlmr_stage_member, map->stage_members);
    size_t count = RLMR_COUNT(rlmr_stage_member, map->stage_members);
    if (status == RLMR_OK && count > 0) {
        qsort(members, count, sizeof *members, compare_members);
    }
    for (size_t i = 1; i < count && status == RLMR_OK; i++) {
        if (compare_members(&members[i - 1], &members[i]) == 0) {
            status = rlmr_error_set(err, RLMR_E_PARSE, "rank %d is in two stages", (int)members[i].rank);
        }
    }
    return status;
}

rlmr_status rlmr_cluster_map_build(const rlmr_table *uses, const rlmr_table *declared, const rlmr_table *jobs,
                                   const rlmr_symtab *texts, rlmr_cluster_map **out, rlmr_error *err) {
    rlmr_member_sets sets = {{0}, {0}};
    rlmr_cluster_map *map = NULL;
    rlmr_status status = rlmr_cluster_map_open(&map, err);
    status = status == RLMR_OK ? collect_roles(map, uses, jobs, texts, err) : status;
    status = status == RLMR_OK ? add_jobs(map, jobs, texts, err) : status;
    status = status == RLMR_OK ? rlmr_cluster_groups(map, uses, declared, texts, &sets, err) : status;
    status = status == RLMR_OK ? rlmr_cluster_stages(map, &sets, err) : status;
    rlmr_member_sets_release(&sets);
    if (status != RLMR_OK) {
        rlmr_cluster_map_close(map);
        map = NULL;
    }
    *out = map;
    return status;
}
