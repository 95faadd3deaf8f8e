#include "cluster_stages.h"

#include "disjoint_sets.h"
#include "rlmr/rank_set.h"

#include <stdlib.h>

/* The groups of one role. Ranks go by their place in `ranks` here. */
typedef struct {
    const rlmr_member_set *sets;
    size_t count;
    const int32_t *members; /* of all roles */
    rlmr_bytes ranks;       /* int32_t, the set of all members */
    uint32_t *memory;       /* what follows, one a rank each */
    uint32_t *pipelines;    /* disjoint sets */
    uint32_t *stages;       /* disjoint sets */
    uint32_t *kinds;        /* IN_PIPELINE, IN_STAGE */
    uint32_t *met;          /* by root of a pipeline: 1 + the last group that has a rank there */
    uint32_t *numbers;      /* by root of a stage: its number, NO_NUMBER before */
} role_groups;

enum { IN_PIPELINE = 1, IN_STAGE = 2 };
#define NO_NUMBER UINT32_MAX

static uint32_t place_of(const role_groups *role, int32_t rank) {
    const int32_t *ranks = RLMR_ITEMS(int32_t, role->ranks);
    size_t low = 0;
    for (size_t high = RLMR_COUNT(int32_t, role->ranks); low < high;) {
        size_t middle = low + (high - low) / 2;
        if (ranks[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

static uint32_t member(const role_groups *role, const rlmr_member_set *set, size_t at) {
    return place_of(role, role->members[set->first + at]);
}

static rlmr_status prepare(role_groups *role, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t s = 0; s < role->count && status == RLMR_OK; s++) {
        const rlmr_member_set *set = &role->sets[s];
        if (set->count > 0) {
            status = rlmr_bytes_append(&role->ranks, role->members + set->first, set->count * sizeof(int32_t),
                                       err);
        }
    }
    rlmr_ranks_make_set(&role->ranks);
    size_t ranks = RLMR_COUNT(int32_t, role->ranks);
    role->memory = status == RLMR_OK ? calloc(5 * ranks + 1, sizeof *role->memory) : NULL;
    if (role->memory == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the stages of %zu ranks", ranks);
    }
    role->pipelines = role->memory;
    role->stages = role->pipelines + ranks;
    role->kinds = role->stages + ranks;
    role->met = role->kinds + ranks;
    role->numbers = role->met + ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        role->pipelines[r] = r;
        role->stages[r] = r;
        role->numbers[r] = NO_NUMBER;
    }
    return RLMR_OK;
}

static void unite_members(const role_groups *role, const rlmr_member_set *set, uint32_t *sets,
                          uint32_t kind) {
    for (size_t i = 0; i < set->count; i++) {
        uint32_t rank = member(role, set, i);
        role->kinds[rank] |= kind;
        if (i > 0) {
            rlmr_disjoint_unite(sets, member(role, set, i - 1), rank);
        }
    }
}

/* Whether two members of group `s` are in one pipeline. */
static bool crosses_stages(const role_groups *role, size_t s) {
    const rlmr_member_set *set = &role->sets[s];
    bool crosses = false;
    for (size_t i = 0; i < set->count && !crosses; i++) {
        uint32_t rank = member(role, set, i);
        if (role->kinds[rank] & IN_PIPELINE) {
            uint32_t pipeline = rlmr_disjoint_find(role->pipelines, rank);
            crosses = role->met[pipeline] == s + 1;
            role->met[pipeline] = (uint32_t)(s + 1);
        }
    }
    return crosses;
}

/* @return true if there are pipelines */
static bool unite_pipelines(const role_groups *role) {
    bool any = false;
    for (size_t s = 0; s < role->count; s++) {
        if (role->sets[s].pipeline) {
            unite_members(role, &role->sets[s], role->pipelines, IN_PIPELINE);
            any = true;
        }
    }
    return any;
}

static void unite_stages(const role_groups *role) {
    for (size_t s = 0; s < role->count; s++) {
        if (role->sets[s].collective && !crosses_stages(role, s)) {
            unite_members(role, &role->sets[s], role->stages, IN_STAGE);
        }
    }
}

/* Number the stages by their least ranks, and count these. */
static rlmr_status number_stages(const role_groups *role, rlmr_cluster_map *map, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (uint32_t r = 0; r < RLMR_COUNT(int32_t, role->ranks) && status == RLMR_OK; r++) {
        if (!(role->kinds[r] & IN_STAGE)) {
            continue;
        }
        uint32_t *number = &role->numbers[rlmr_disjoint_find(role->stages, r)];
        if (*number == NO_NUMBER) {
            rlmr_stage stage = {.role = role->sets[0].role};
            *number = (uint32_t)RLMR_COUNT(rlmr_stage, map->stages);
            status = rlmr_bytes_append(&map->stages, &stage, sizeof stage, err);
        }
        if (status == RLMR_OK) {
            RLMR_ITEMS(rlmr_stage, map->stages)[*number].count++;
        }
    }
    return status;
}

/* Put the ranks of the stages from `first` on where they belong. */
static rlmr_status place_ranks(const role_groups *role, rlmr_cluster_map *map, size_t first,
                               rlmr_error *err) {
    rlmr_stage *stages = RLMR_ITEMS(rlmr_stage, map->stages);
    size_t end = RLMR_COUNT(int32_t, map->stage_ranks);
    for (size_t s = first; s < RLMR_COUNT(rlmr_stage, map->stages); s++) {
        stages[s].first = end;
        end += stages[s].count;
        stages[s].count = 0;
    }
    rlmr_status status =
        rlmr_bytes_reserve(&map->stage_ranks, end * sizeof(int32_t) - map->stage_ranks.bytes, err);
    for (uint32_t r = 0; r < RLMR_COUNT(int32_t, role->ranks) && status == RLMR_OK; r++) {
        if (role->kinds[r] & IN_STAGE) {
            rlmr_stage *stage = &stages[role->numbers[rlmr_disjoint_find(role->stages, r)]];
            RLMR_ITEMS(int32_t, map->stage_ranks)
            [stage->first + stage->count++] = RLMR_ITEMS(int32_t, role->ranks)[r];
        }
    }
    map->stage_ranks.bytes = status == RLMR_OK ? end * sizeof(int32_t) : map->stage_ranks.bytes;
    return status;
}

static rlmr_status add_role(role_groups *role, rlmr_cluster_map *map, rlmr_error *err) {
    size_t first = RLMR_COUNT(rlmr_stage, map->stages);
    rlmr_status status = prepare(role, err);
    if (status == RLMR_OK && unite_pipelines(role)) {
        unite_stages(role);
        status = number_stages(role, map, err);
        status = status == RLMR_OK ? place_ranks(role, map, first, err) : status;
    }
    rlmr_bytes_release(&role->ranks);
    free(role->memory);
    return status;
}

rlmr_status rlmr_cluster_stages(rlmr_cluster_map *map, const rlmr_member_sets *sets, rlmr_error *err) {
    const rlmr_member_set *items = RLMR_ITEMS(rlmr_member_set, sets->sets);
    size_t count = RLMR_COUNT(rlmr_member_set, sets->sets);
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < count && status == RLMR_OK;) {
        role_groups role = {.sets = &items[at], .members = RLMR_ITEMS(int32_t, sets->members)};
        while (at + role.count < count && items[at + role.count].role == items[at].role) {
            role.count++;
        }
        at += role.count;
        status = add_role(&role, map, err);
    }
    return status == RLMR_OK ? rlmr_cluster_map_index_stages(map, err) : status;
}
