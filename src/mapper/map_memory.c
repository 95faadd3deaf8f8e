#include "analyses.h"
#include "memory.h"

/* The reading of records and trace. */
typedef struct {
    rlmr_job *job;
    rlmr_memory *memory;
} reading;

static rlmr_status read_csv(reading *at, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(at->job, RLMR_FILE_operator_memory);
    rlmr_damage lost_rows = rlmr_job_errors(&damage);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_rows_begin(at->memory, &damage);
    rlmr_status status = rlmr_csv_read(at->job->capture->files[RLMR_FILE_operator_memory].path,
                                       rlmr_memory_row, at->memory, &lost_rows, at->job->meter, &trouble);
    status = rlmr_job_keep(&damage, status, &trouble, err);
    status = status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
    rlmr_memory_rows_end(at->memory);
    return status;
}

static rlmr_status read_db_records(reading *at, rlmr_profiler_db *db, rlmr_error *err) {
    bool present;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_rows_begin(at->memory, &at->job->profiler_db.damage);
    rlmr_status status = rlmr_profiler_db_memory(db, rlmr_memory_row, at->memory, &present, &trouble);
    rlmr_memory_rows_end(at->memory);
    rlmr_job_used(at->job, RLMR_FILE_profiler_db, present);
    return rlmr_job_keep(&at->job->profiler_db.damage, status, &trouble, err);
}

static rlmr_status read_records(reading *at, rlmr_error *err) {
    if (rlmr_job_has(at->job, RLMR_FILE_operator_memory)) {
        return read_csv(at, err);
    }
    rlmr_profiler_db *db;
    rlmr_status status = rlmr_job_profiler_db(at->job, &db, err);
    return status == RLMR_OK && db != NULL ? read_db_records(at, db, err) : status;
}

static rlmr_status read_text_trace(reading *at, uint64_t *events, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(at->job, RLMR_FILE_trace_view);
    rlmr_damage errors = rlmr_job_errors(&damage);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    damage.events = true;
    rlmr_memory_events_begin(at->memory, &damage);
    rlmr_status status =
        rlmr_trace_read(at->job->capture->files[RLMR_FILE_trace_view].path, at->job->options->strict,
                        rlmr_memory_event, at->memory, &errors, at->job->meter, events, &trouble);
    status = rlmr_job_keep(&damage, status, &trouble, err);
    status = status == RLMR_OK ? rlmr_memory_finish(at->memory, &damage, err) : status;
    return status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
}

static rlmr_status read_db_trace(reading *at, rlmr_profiler_db *db, uint64_t *events, rlmr_error *err) {
    rlmr_file_damage *damage = &at->job->profiler_db.damage;
    bool present;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_events_begin(at->memory, damage);
    damage->events = true;
    rlmr_status status =
        rlmr_profiler_db_events(db, rlmr_memory_event, at->memory, events, &present, &trouble);
    rlmr_job_used(at->job, RLMR_FILE_profiler_db, present);
    status = rlmr_job_keep(damage, status, &trouble, err);
    damage->events = false;
    return status == RLMR_OK ? rlmr_memory_finish(at->memory, damage, err) : status;
}

static rlmr_status read_trace(reading *at, rlmr_error *err) {
    uint64_t events = 0;
    rlmr_status status = RLMR_OK;
    if (rlmr_job_has(at->job, RLMR_FILE_trace_view)) {
        status = read_text_trace(at, &events, err);
    } else {
        rlmr_profiler_db *db;
        status = rlmr_job_profiler_db(at->job, &db, err);
        status = status == RLMR_OK && db != NULL ? read_db_trace(at, db, &events, err) : status;
    }
    at->job->capture->events_seen = (int64_t)events;
    return status;
}

rlmr_status rlmr_map_memory(rlmr_job *job, rlmr_error *err) {
    reading at = {.job = job};
    rlmr_status status = rlmr_memory_open(job->capture, job->options, job->partial, &at.memory, err);
    status = status == RLMR_OK ? read_records(&at, err) : status;
    /* With --strict a damaged capture has failed by now, so its trace need not be read. */
    bool go_on = !(job->options->strict && job->capture->status != RLMR_CAPTURE_OK);
    if (status == RLMR_OK && go_on && rlmr_memory_wants_trace(at.memory)) {
        status = read_trace(&at, err);
    }
    rlmr_memory_close(at.memory);
    return status;
}
