#include "text.h"

#include <math.h>

/* ---- communication_group.json ---- */

bool rlmr_export_has_groups(const rlmr_export_job *job, const rlmr_export_part *part) {
    (void)job;
    (void)part;
    return true;
}

static void put_captured(const rlmr_export_job *job, const rlmr_export_groups *groups, const char *type,
                         rlmr_text *out) {
    rlmr_json_key(out, rlmr_slice_of(type));
    rlmr_json_open(out, '[');
    for (size_t i = 0; i < groups->count; i++) {
        const rlmr_export_group *group = &groups->groups[i];
        if (!rlmr_slice_equal(rlmr_export_text(job, group->type), rlmr_slice_of(type))) {
            continue;
        }
        rlmr_json_open(out, '[');
        for (size_t rank = 0; rank < group->ranks_count; rank++) {
            rlmr_json_i64(out, group->ranks[rank]);
        }
        rlmr_json_close(out, ']');
    }
    rlmr_json_close(out, ']');
}

static void put_text(rlmr_text *out, const char *key, rlmr_slice value) {
    rlmr_json_key(out, rlmr_slice_of(key));
    rlmr_json_text(out, value);
}

static void put_group(const rlmr_export_job *job, const rlmr_communication_group_row *row, rlmr_text *out) {
    size_t at = 0;
    int64_t rank;
    rlmr_json_open(out, '{');
    put_text(out, "type", rlmr_export_text(job, row->type));
    rlmr_json_key(out, RLMR_SLICE("rank_set"));
    rlmr_json_open(out, '[');
    while (rlmr_export_next_rank(rlmr_export_text(job, row->rank_set), &at, &rank)) {
        rlmr_json_i64(out, rank);
    }
    rlmr_json_close(out, ']');
    put_text(out, "group_name", rlmr_export_text(job, row->group_name));
    put_text(out, "group_id", rlmr_export_text(job, row->group_id));
    put_text(out, "pg_name", rlmr_export_text(job, row->pg_name));
    rlmr_json_close(out, '}');
}

rlmr_status rlmr_export_write_groups(const rlmr_export_job *job, const rlmr_export_part *part,
                                     const rlmr_export_groups *groups, rlmr_text *out, rlmr_error *err) {
    rlmr_json_open(out, '{');
    put_captured(job, groups, "collective", out);
    put_captured(job, groups, "p2p", out);
    rlmr_json_key(out, RLMR_SLICE("comm_group_parallel_info"));
    rlmr_json_open(out, '[');
    for (size_t i = 0; i < job->communication_group.count; i++) {
        const rlmr_communication_group_row *row = &job->communication_group.rows[i];
        if (row->role == part->role &&
            rlmr_export_groups_get(job, groups, row->type, row->group_name) != NULL) {
            put_group(job, row, out);
        }
    }
    rlmr_json_close(out, ']');
    rlmr_json_close(out, '}');
    return rlmr_text_status(out, err);
}

/* ---- cluster_step_trace_time.csv ---- */

typedef rlmr_cluster_step_trace_time_row step_row;

static const char *const number_headers[] = {
    "Computing",  "Communication(Not Overlapped)",
    "Overlapped", "Communication",
    "Free",       "Stage",
    "Bubble",     "Communication(Not Overlapped and Exclude Receive)",
    "Preparing", /* left out if no row has it */
};
enum { NUMBERS = sizeof number_headers / sizeof number_headers[0], PREPARING = NUMBERS - 1 };

static const char *const index_headers[] = {"DP Index", "PP Index", "TP Index"};
enum { INDICES = sizeof index_headers / sizeof index_headers[0] };

static bool has_index(const step_row *row) {
    return row->dp_index >= 0 || row->pp_index >= 0 || row->tp_index >= 0;
}

bool rlmr_export_has_step_trace(const rlmr_export_job *job, const rlmr_export_part *part) {
    bool has = false;
    for (size_t i = part->cluster_step_trace_time.first; i < part->cluster_step_trace_time.end && !has; i++) {
        has = RLMR_EXPORT_IS_OF(part, &job->cluster_step_trace_time.rows[i]);
    }
    return has;
}

static void put_header(size_t numbers, bool indices, rlmr_text *out) {
    rlmr_csv_text(out, RLMR_SLICE("Step"));
    rlmr_csv_text(out, RLMR_SLICE("Type"));
    rlmr_csv_text(out, RLMR_SLICE("Index"));
    for (size_t i = 0; i < numbers; i++) {
        rlmr_csv_text(out, rlmr_slice_of(number_headers[i]));
    }
    for (size_t i = 0; i < INDICES && indices; i++) {
        rlmr_csv_text(out, rlmr_slice_of(index_headers[i]));
    }
    rlmr_csv_end_row(out);
}

static void put_row(const rlmr_export_job *job, const step_row *row, size_t numbers, bool indices,
                    rlmr_text *out) {
#define VALUE(type, name, unit, storage, description) row->name,
    const double values[] = {RLMR_STEP_NUMBERS(VALUE)};
    _Static_assert(sizeof values / sizeof values[0] == NUMBERS, "each number has a header");
    const int32_t places[INDICES] = {row->dp_index, row->pp_index, row->tp_index};
    rlmr_csv_text(out, rlmr_export_text(job, row->step));
    rlmr_csv_text(out, rlmr_export_text(job, row->type));
    rlmr_csv_text(out, rlmr_export_text(job, row->index));
    for (size_t i = 0; i < numbers; i++) {
        rlmr_csv_f64(out, values[i]);
    }
    for (size_t i = 0; i < INDICES && indices; i++) {
        if (places[i] < 0) {
            rlmr_csv_text(out, RLMR_SLICE("NA"));
        } else {
            rlmr_csv_i64(out, places[i]);
        }
    }
    rlmr_csv_end_row(out);
}

rlmr_status rlmr_export_write_step_trace(const rlmr_export_job *job, const rlmr_export_part *part,
                                         const rlmr_export_groups *groups, rlmr_text *out, rlmr_error *err) {
    (void)groups;
    size_t numbers = PREPARING;
    bool indices = false;
    for (size_t i = part->cluster_step_trace_time.first; i < part->cluster_step_trace_time.end; i++) {
        const step_row *row = &job->cluster_step_trace_time.rows[i];
        if (RLMR_EXPORT_IS_OF(part, row)) {
            numbers = isnan(row->preparing) ? numbers : NUMBERS;
            indices = indices || has_index(row);
        }
    }
    put_header(numbers, indices, out);
    for (size_t i = part->cluster_step_trace_time.first; i < part->cluster_step_trace_time.end; i++) {
        const step_row *row = &job->cluster_step_trace_time.rows[i];
        if (RLMR_EXPORT_IS_OF(part, row)) {
            put_row(job, row, numbers, indices, out);
        }
    }
    return rlmr_text_status(out, err);
}
