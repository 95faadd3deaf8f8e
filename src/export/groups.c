#include "job.h"

#include <stdlib.h>

enum { NO_RANK = -1 }; /* of a sighting that shows use alone */

/* A group was seen in use, by this rank. */
typedef struct {
    uint32_t type;
    uint32_t name;
    int32_t rank;
} sighting;

typedef struct {
    sighting *items;
    size_t count;
    size_t capacity;
} sightings;

static rlmr_status see(sightings *seen, uint32_t type, uint32_t name, int32_t rank, rlmr_error *err) {
    if (seen->count > 0) {
        const sighting *last = &seen->items[seen->count - 1];
        if (last->type == type && last->name == name && last->rank == rank) {
            return RLMR_OK;
        }
    }
    if (seen->count == seen->capacity) {
        size_t capacity = seen->capacity == 0 ? 256 : seen->capacity * 2;
        sighting *items = realloc(seen->items, capacity * sizeof *items);
        if (items == NULL) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the groups");
        }
        seen->items = items;
        seen->capacity = capacity;
    }
    seen->items[seen->count++] = (sighting){.type = type, .name = name, .rank = rank};
    return RLMR_OK;
}

static rlmr_status see_part(const rlmr_export_job *job, const rlmr_export_part *part, sightings *seen,
                            rlmr_error *err) {
    rlmr_status status = RLMR_OK;
#define SEE(table)                                                                                           \
    for (size_t i = part->table.first; i < part->table.end && status == RLMR_OK; i++) {                      \
        const rlmr_##table##_row *row = &job->table.rows[i];                                                 \
        if (RLMR_EXPORT_IS_OF(part, row)) {                                                                  \
            status = see(seen, row->type, row->group_name, row->rank_id, err);                               \
        }                                                                                                    \
    }
    SEE(cluster_communication_time)
    SEE(cluster_communication_bandwidth)
    for (size_t i = part->cluster_communication_matrix.first;
         i < part->cluster_communication_matrix.end && status == RLMR_OK; i++) {
        const rlmr_cluster_communication_matrix_row *row = &job->cluster_communication_matrix.rows[i];
        if (RLMR_EXPORT_IS_OF(part, row)) {
            /* a link of a rank to itself is recorded by that rank, any other by an end of it or not */
            bool own = row->src_local == row->dst_local && row->src_rank >= 0;
            status = see(seen, row->type, row->group_name, own ? row->src_rank : NO_RANK, err);
        }
    }
    return status;
}

static bool is_alone(const rlmr_export_job *job, const rlmr_export_part *part) {
    size_t windows = 0;
    for (size_t i = 0; i < job->parts_count; i++) {
        windows += job->parts[i].role == part->role;
    }
    return windows == 1;
}

/* What /communication_group alone says of use, it does not say of a window. */
static rlmr_status see_declared(const rlmr_export_job *job, const rlmr_export_part *part, sightings *seen,
                                rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    bool alone = is_alone(job, part);
    for (size_t i = 0; i < job->communication_group.count && alone && status == RLMR_OK; i++) {
        const rlmr_communication_group_row *row = &job->communication_group.rows[i];
        if (row->role == part->role) {
            status = see(seen, row->type, row->group_name, NO_RANK, err);
        }
    }
    return status;
}

static int compare_names(const uint32_t *order, uint32_t type_a, uint32_t name_a, uint32_t type_b,
                         uint32_t name_b) {
    if (type_a != type_b) {
        return order[type_a] < order[type_b] ? -1 : 1;
    }
    return name_a == name_b ? 0 : order[name_a] < order[name_b] ? -1 : 1;
}

static int compare_sightings(const void *left, const void *right, void *context) {
    const sighting *a = left;
    const sighting *b = right;
    int names = compare_names(context, a->type, a->name, b->type, b->name);
    return names != 0 ? names : (a->rank > b->rank) - (a->rank < b->rank);
}

bool rlmr_export_next_rank(rlmr_slice rank_set, size_t *at, int64_t *rank) {
    while (*at < rank_set.bytes && (rank_set.text[*at] < '0' || rank_set.text[*at] > '9')) {
        ++*at;
    }
    if (*at == rank_set.bytes) {
        return false;
    }
    for (*rank = 0; *at < rank_set.bytes && rank_set.text[*at] >= '0' && rank_set.text[*at] <= '9'; ++*at) {
        *rank = *rank * 10 + (rank_set.text[*at] - '0');
        *rank = *rank > INT32_MAX ? INT32_MAX : *rank;
    }
    return true;
}

static bool is_role(const rlmr_export_job *job, uint32_t role) {
    bool found = false;
    for (size_t i = 0; i < job->parts_count && !found; i++) {
        found = job->parts[i].role == role;
    }
    return found;
}

/* Whether a capture of the part is of this rank. Captures whose role is none of the job's belong to the job without a role. */
static bool is_captured(const rlmr_export_job *job, const rlmr_export_part *part, int64_t rank) {
    bool captured = false;
    for (size_t i = 0; i < job->captures.count && !captured; i++) {
        const rlmr_captures_row *row = &job->captures.rows[i];
        bool of_part = row->role == part->role || (part->role == 0 && !is_role(job, row->role));
        captured = row->rank_id == rank && row->window == part->window && of_part;
    }
    return captured;
}

/* A group of which nothing shows who uses it: those of its members that are captured. */
static rlmr_status guess(const rlmr_export_job *job, const rlmr_export_part *part, const sighting *group,
                         sightings *seen, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    sighting wanted = *group;
    for (size_t i = 0; i < job->communication_group.count; i++) {
        const rlmr_communication_group_row *row = &job->communication_group.rows[i];
        size_t at = 0;
        int64_t rank;
        if (row->role != part->role || row->type != wanted.type || row->group_name != wanted.name) {
            continue;
        }
        while (status == RLMR_OK && rlmr_export_next_rank(rlmr_export_text(job, row->rank_set), &at, &rank)) {
            if (is_captured(job, part, rank)) {
                status = see(seen, wanted.type, wanted.name, (int32_t)rank, err);
            }
        }
    }
    return status;
}

static bool same_group(const sighting *a, const sighting *b) {
    return a->type == b->type && a->name == b->name;
}

/* Of the first `count` sightings. */
static size_t end_of_group(const sightings *seen, size_t from, size_t count) {
    size_t end = from + 1;
    while (end < count && same_group(&seen->items[from], &seen->items[end])) {
        end++;
    }
    return end;
}

static void sort(const rlmr_export_job *job, sightings *seen) {
    qsort_r(seen->items, seen->count, sizeof *seen->items, compare_sightings, job->order);
}

static rlmr_status guess_all(const rlmr_export_job *job, const rlmr_export_part *part, sightings *seen,
                             rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    size_t sorted = seen->count;
    for (size_t at = 0; at < sorted && status == RLMR_OK;) {
        size_t end = end_of_group(seen, at, sorted);
        if (seen->items[end - 1].rank == NO_RANK) {
            sighting group = seen->items[at];
            status = guess(job, part, &group, seen, err);
        }
        at = end;
    }
    sort(job, seen);
    return status;
}

/* From sorted sightings. */
static void make_group(const sightings *seen, size_t first, size_t end, int32_t **ranks,
                       rlmr_export_group *out) {
    *out = (rlmr_export_group){
        .type = seen->items[first].type, .name = seen->items[first].name, .ranks = *ranks};
    for (size_t i = first; i < end; i++) {
        int32_t rank = seen->items[i].rank;
        if (rank >= 0 && (out->ranks_count == 0 || (*ranks)[-1] != rank)) {
            *(*ranks)++ = rank;
            out->ranks_count++;
        }
    }
}

static int compare_ranks(const void *left, const void *right, void *context) {
    const rlmr_export_group *groups = context;
    const rlmr_export_group *a = &groups[*(const size_t *)left];
    const rlmr_export_group *b = &groups[*(const size_t *)right];
    for (size_t i = 0; i < a->ranks_count && i < b->ranks_count; i++) {
        if (a->ranks[i] != b->ranks[i]) {
            return a->ranks[i] < b->ranks[i] ? -1 : 1;
        }
    }
    return (a->ranks_count > b->ranks_count) - (a->ranks_count < b->ranks_count);
}

/* Groups of the same ranks get the same place. */
static rlmr_status set_places(rlmr_export_groups *groups, rlmr_error *err) {
    size_t *sorted = calloc(groups->count + 1, sizeof *sorted);
    if (sorted == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the groups");
    }
    for (size_t i = 0; i < groups->count; i++) {
        sorted[i] = i;
    }
    qsort_r(sorted, groups->count, sizeof *sorted, compare_ranks, groups->groups);
    for (size_t i = 1; i < groups->count; i++) {
        bool other = compare_ranks(&sorted[i - 1], &sorted[i], groups->groups) != 0;
        groups->groups[sorted[i]].place = groups->groups[sorted[i - 1]].place + (other ? 1 : 0);
    }
    free(sorted);
    return RLMR_OK;
}

static rlmr_status make_groups(const sightings *seen, rlmr_export_groups *out, rlmr_error *err) {
    out->groups = calloc(seen->count + 1, sizeof *out->groups);
    out->ranks = calloc(seen->count + 1, sizeof *out->ranks);
    if (out->groups == NULL || out->ranks == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the groups");
    }
    int32_t *ranks = out->ranks;
    for (size_t at = 0; at < seen->count;) {
        size_t end = end_of_group(seen, at, seen->count);
        make_group(seen, at, end, &ranks, &out->groups[out->count++]);
        at = end;
    }
    return set_places(out, err);
}

rlmr_status rlmr_export_groups_find(const rlmr_export_job *job, const rlmr_export_part *part,
                                    rlmr_export_groups *out, rlmr_error *err) {
    *out = (rlmr_export_groups){0};
    sightings seen = {0};
    rlmr_status status = see_part(job, part, &seen, err);
    status = status == RLMR_OK ? see_declared(job, part, &seen, err) : status;
    if (status == RLMR_OK && seen.count > 0) {
        sort(job, &seen);
        status = guess_all(job, part, &seen, err);
    }
    status = status == RLMR_OK ? make_groups(&seen, out, err) : status;
    free(seen.items);
    return status;
}

void rlmr_export_groups_release(rlmr_export_groups *groups) {
    free(groups->groups);
    free(groups->ranks);
    *groups = (rlmr_export_groups){0};
}

const rlmr_export_group *rlmr_export_groups_get(const rlmr_export_job *job, const rlmr_export_groups *groups,
                                                uint32_t type, uint32_t name) {
    size_t low = 0;
    size_t high = groups->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const rlmr_export_group *group = &groups->groups[middle];
        int order = compare_names(job->order, type, name, group->type, group->name);
        if (order == 0) {
            return group;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return NULL;
}
