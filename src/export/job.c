#include "job.h"

#include <stdlib.h>
#include <string.h>

rlmr_slice rlmr_export_text(const rlmr_export_job *job, uint32_t id) {
    return rlmr_symtab_text(job->texts, id);
}

/* ---- Tables ---- */

static int compare_texts(const void *left, const void *right, void *context) {
    const rlmr_symtab *texts = context;
    return rlmr_slice_compare(rlmr_symtab_text(texts, *(const uint32_t *)left),
                              rlmr_symtab_text(texts, *(const uint32_t *)right));
}

static rlmr_status order_texts(rlmr_export_job *job, rlmr_error *err) {
    uint32_t count = rlmr_symtab_count(job->texts);
    job->sorted = malloc(count * sizeof *job->sorted);
    job->order = malloc(count * sizeof *job->order);
    if (job->sorted == NULL || job->order == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %u texts", count);
    }
    for (uint32_t id = 0; id < count; id++) {
        job->sorted[id] = id;
    }
    qsort_r(job->sorted, count, sizeof *job->sorted, compare_texts, job->texts);
    for (uint32_t place = 0; place < count; place++) {
        job->order[job->sorted[place]] = place;
    }
    return RLMR_OK;
}

static rlmr_status load_tables(rlmr_hdf5_source *source, rlmr_export_job *job, rlmr_error *err) {
    rlmr_status status = rlmr_symtab_open(&job->texts, err);
    void *rows = NULL;
#define LOAD(table)                                                                                          \
    if (status == RLMR_OK) {                                                                                 \
        status = rlmr_hdf5_source_load(source, &rlmr_##table##_schema, sizeof(rlmr_##table##_row),           \
                                       job->texts, &rows, &job->table.count, err);                           \
        job->table.rows = rows;                                                                              \
    }
    LOAD(captures)
    RLMR_EXPORT_TABLES(LOAD)
    return status;
}

static rlmr_status check_tables(const rlmr_hdf5_source *source, const char *path, rlmr_error *err) {
    bool any = false;
#define HAS(table) any = any || rlmr_hdf5_source_has(source, #table);
    RLMR_EXPORT_TABLES(HAS)
    return any ? RLMR_OK
               : rlmr_error_set(err, RLMR_E_PARSE,
                                "%s has neither step trace nor communication; make it with a --mode that has "
                                "step_trace, communication_time or communication_matrix",
                                path);
}

const rlmr_captures_row *rlmr_export_capture(const rlmr_export_job *job, int32_t capture) {
    bool found = capture >= 0 && (size_t)capture < job->captures.count &&
                 job->captures.rows[capture].capture == capture;
    return found ? &job->captures.rows[capture] : NULL;
}

/* ---- Parts ---- */

static int compare_parts(const void *left, const void *right, void *context) {
    const rlmr_export_part *a = left;
    const rlmr_export_part *b = right;
    const uint32_t *order = context;
    if (a->role != b->role) {
        return order[a->role] < order[b->role] ? -1 : 1;
    }
    return (a->window > b->window) - (a->window < b->window);
}

/* Rows of one part lie together, so a look at the last one is enough to keep the list short. */
static rlmr_status add_part(rlmr_export_job *job, uint32_t role, int32_t window, size_t *capacity,
                            rlmr_error *err) {
    const rlmr_export_part *last = job->parts_count == 0 ? NULL : &job->parts[job->parts_count - 1];
    if (last != NULL && last->role == role && last->window == window) {
        return RLMR_OK;
    }
    if (job->parts == NULL || job->parts_count == *capacity) {
        size_t grown = *capacity == 0 ? 16 : *capacity * 2;
        rlmr_export_part *parts = realloc(job->parts, grown * sizeof *parts);
        if (parts == NULL) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the roles and windows");
        }
        job->parts = parts;
        *capacity = grown;
    }
    job->parts[job->parts_count++] = (rlmr_export_part){.role = role, .window = window};
    return RLMR_OK;
}

static rlmr_status collect_parts(rlmr_export_job *job, size_t *capacity, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
#define ADD(table)                                                                                           \
    for (size_t i = 0; i < job->table.count && status == RLMR_OK; i++) {                                     \
        status = add_part(job, job->table.rows[i].role, job->table.rows[i].window, capacity, err);           \
    }
    RLMR_EXPORT_PART_TABLES(ADD)
    for (size_t i = 0; i < job->rank_device_map.count && status == RLMR_OK; i++) {
        const rlmr_rank_device_map_row *row = &job->rank_device_map.rows[i];
        const rlmr_captures_row *capture = rlmr_export_capture(job, row->capture);
        status = add_part(job, row->role, capture == NULL ? 0 : capture->window, capacity, err);
    }
    return status;
}

/* Each row has one. */
static rlmr_export_part *part_of(const rlmr_export_job *job, uint32_t role, int32_t window) {
    const rlmr_export_part sought = {.role = role, .window = window};
    size_t low = 0;
    for (size_t high = job->parts_count; low + 1 < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare_parts(&job->parts[middle], &sought, job->order) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &job->parts[low];
}

/* So that a part need not look at the rows of all others. */
static void find_ranges(const rlmr_export_job *job) {
    rlmr_export_part *part = job->parts;
#define EXTEND(table)                                                                                        \
    for (size_t i = 0; i < job->table.count; i++) {                                                          \
        const rlmr_##table##_row *row = &job->table.rows[i];                                                 \
        part = RLMR_EXPORT_IS_OF(part, row) ? part : part_of(job, row->role, row->window);                   \
        part->table.first = part->table.end == 0 ? i : part->table.first;                                    \
        part->table.end = i + 1;                                                                             \
    }
    RLMR_EXPORT_PART_TABLES(EXTEND)
#undef EXTEND
}

static rlmr_status find_parts(rlmr_export_job *job, rlmr_error *err) {
    size_t capacity = 0;
    rlmr_status status = collect_parts(job, &capacity, err);
    job->has_rows = job->parts_count > 0;
    if (status == RLMR_OK && !job->has_rows) {
        status = add_part(job, 0, 0, &capacity, err);
    }
    if (status != RLMR_OK) {
        return status;
    }
    qsort_r(job->parts, job->parts_count, sizeof *job->parts, compare_parts, job->order);
    size_t kept = 0;
    for (size_t i = 1; i < job->parts_count; i++) {
        if (compare_parts(&job->parts[kept], &job->parts[i], job->order) != 0) {
            job->parts[++kept] = job->parts[i];
        }
    }
    job->parts_count = kept + 1;
    find_ranges(job);
    return RLMR_OK;
}

rlmr_status rlmr_export_job_load(rlmr_hdf5_source *source, const char *path, rlmr_export_job *job,
                                 rlmr_error *err) {
    *job = (rlmr_export_job){0};
    rlmr_status status = check_tables(source, path, err);
    status = status == RLMR_OK ? load_tables(source, job, err) : status;
    status = status == RLMR_OK ? order_texts(job, err) : status;
    return status == RLMR_OK ? find_parts(job, err) : status;
}

void rlmr_export_job_release(rlmr_export_job *job) {
#define RELEASE(table) free((void *)job->table.rows);
    RELEASE(captures)
    RLMR_EXPORT_TABLES(RELEASE)
    free(job->parts);
    free(job->order);
    free(job->sorted);
    rlmr_symtab_close(job->texts);
    *job = (rlmr_export_job){0};
}
