#include "analyses.h"
#include "columns.h"
#include "rlmr/cluster.h"

#include <stdio.h>

/* X(column, title, kind, required): as named in step_trace_time.csv. All times are us. */
#define CSV_COLUMNS(X)                                                                                       \
    X(computing, "Computing", NUMBER, true)                                                                  \
    X(communication_not_overlapped, "Communication(Not Overlapped)", NUMBER, false)                          \
    X(overlapped, "Overlapped", NUMBER, false)                                                               \
    X(communication, "Communication", NUMBER, false)                                                         \
    X(free, "Free", NUMBER, false)                                                                           \
    X(stage, "Stage", NUMBER, false)                                                                         \
    X(bubble, "Bubble", NUMBER, false)                                                                       \
    X(communication_not_overlapped_and_exclude_receive, "Communication(Not Overlapped and Exclude Receive)", \
      NUMBER, false)                                                                                         \
    X(preparing, "Preparing", NUMBER, false)

#define CSV_ENUM(column, title, kind, required) CSV_##column,
enum { CSV_COLUMNS(CSV_ENUM) CSV_step, CSV_COUNT };

#define CSV_COLUMN(column, title, kind, required) {title, RLMR_CELL_##kind, required},
static const rlmr_csv_column csv_columns[CSV_COUNT] = {
    CSV_COLUMNS(CSV_COLUMN){"Step", RLMR_CELL_TEXT, false}};

typedef struct {
    rlmr_job *job;
    rlmr_columns columns;
    bool makes_rows;
    rlmr_cluster_step_trace_time_row common; /* what all rows share */
    bool any;
    bool several; /* steps */
} reading;

/* job->only_step: by which communication of a bare `step` is named. */
static void note_step(reading *at, uint32_t step) {
    at->several = at->several || (at->any && step != at->job->only_step);
    at->any = true;
    at->job->only_step = step;
}

static rlmr_status read_numbers(reading *at, const rlmr_csv_row *row, rlmr_cluster_step_trace_time_row *out,
                                rlmr_error *err) {
    double *const values[] = {
#define VALUE(column, title, kind, required) &out->column,
        CSV_COLUMNS(VALUE)
#undef VALUE
    };
    rlmr_status status = RLMR_OK;
    for (int column = 0; column < CSV_step && status == RLMR_OK; column++) {
        status = rlmr_columns_number(&at->columns, row, column, values[column], err);
    }
    return status;
}

static rlmr_status on_row(void *self, const rlmr_csv_row *row, rlmr_error *err) {
    reading *at = self;
    rlmr_csv_row kept;
    bool is_data;
    rlmr_cluster_step_trace_time_row out = at->common;
    rlmr_symtab *texts = at->job->partial->texts;
    rlmr_status status = rlmr_columns_row(&at->columns, row, &kept, &is_data, err);
    if (status != RLMR_OK || !is_data) {
        return status;
    }
    status = rlmr_columns_text(&at->columns, &kept, CSV_step, texts, &out.step, err);
    status = status == RLMR_OK ? read_numbers(at, &kept, &out, err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    note_step(at, out.step);
    out.file_row = (int64_t)row->number;
    return at->makes_rows
               ? rlmr_table_append(&at->job->partial->tables[RLMR_TABLE_cluster_step_trace_time], &out, err)
               : RLMR_OK;
}

static rlmr_status intern_common(reading *at, rlmr_error *err) {
    const rlmr_capture *capture = at->job->capture;
    rlmr_symtab *texts = at->job->partial->texts;
    char index[16];
    (void)snprintf(index, sizeof index, "%d", capture->rank_id);
    at->common = (rlmr_cluster_step_trace_time_row){.role = at->job->job_role,
                                                    .window = capture->window,
                                                    .rank_id = capture->rank_id,
                                                    .capture = capture->number,
                                                    .dp_index = -1,
                                                    .pp_index = -1,
                                                    .tp_index = -1};
    rlmr_status status = rlmr_symtab_intern(texts, RLMR_SLICE("rank"), &at->common.type, err);
    return status == RLMR_OK ? rlmr_symtab_intern(texts, rlmr_slice_of(index), &at->common.index, err)
                             : status;
}

static rlmr_status read_csv(reading *at, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(at->job, RLMR_FILE_step_trace_time);
    rlmr_damage lost_rows = rlmr_job_errors(&damage);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    at->columns = rlmr_columns_of(csv_columns, CSV_COUNT, &damage);
    rlmr_status status = rlmr_csv_read(at->job->capture->files[RLMR_FILE_step_trace_time].path, on_row, at,
                                       &lost_rows, at->job->meter, &trouble);
    status = rlmr_job_keep(&damage, status, &trouble, err);
    return status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
}

static rlmr_status read_db(reading *at, rlmr_analysis_db *db, rlmr_error *err) {
    rlmr_file_damage *damage = &at->job->analysis_db.damage;
    bool present;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    at->columns = rlmr_columns_of(csv_columns, CSV_COUNT, damage);
    rlmr_status status = rlmr_analysis_db_steps(db, on_row, at, &present, &trouble);
    rlmr_job_used(at->job, RLMR_FILE_analysis_db, present);
    return rlmr_job_keep(damage, status, &trouble, err);
}

rlmr_status rlmr_map_steps(rlmr_job *job, rlmr_error *err) {
    _Static_assert(CSV_COUNT <= RLMR_COLUMNS_MAX, "rlmr_columns has room");
    reading at = {.job = job, .makes_rows = rlmr_map_makes(job->options, RLMR_TABLE_cluster_step_trace_time)};
    rlmr_status status = intern_common(&at, err);
    if (status == RLMR_OK && rlmr_job_has(job, RLMR_FILE_step_trace_time)) {
        status = read_csv(&at, err);
    } else if (status == RLMR_OK) {
        rlmr_analysis_db *db;
        status = rlmr_job_analysis_db(job, &db, err);
        status = status == RLMR_OK && db != NULL ? read_db(&at, db, err) : status;
    }
    if (at.several) {
        job->only_step = 0;
    }
    return status;
}
