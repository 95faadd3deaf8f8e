#include "job.h"

rlmr_status rlmr_job_open(rlmr_job *job, rlmr_error *err) {
    const char *role = job->capture->job_role;
    return rlmr_symtab_intern_utf8(job->partial->texts, rlmr_slice_of(role == NULL ? "" : role),
                                   &job->job_role, NULL, err);
}

rlmr_status rlmr_job_close(rlmr_job *job, rlmr_status status, rlmr_error *err) {
    rlmr_profiler_db_close(job->profiler_db.profiler);
    rlmr_analysis_db_close(job->analysis_db.analysis);
    status = status == RLMR_OK ? rlmr_file_damage_end(&job->profiler_db.damage, err) : status;
    return status == RLMR_OK ? rlmr_file_damage_end(&job->analysis_db.damage, err) : status;
}

bool rlmr_job_has(const rlmr_job *job, rlmr_file_kind kind) {
    return job->capture->files[kind].state != RLMR_FILE_ABSENT;
}

static rlmr_file_damage damage_of(const rlmr_job *job, rlmr_file_kind kind) {
    return (rlmr_file_damage){.capture = job->capture, .kind = kind, .log = job->log};
}

rlmr_file_damage rlmr_job_damage(const rlmr_job *job, rlmr_file_kind kind) {
    rlmr_file *file = &job->capture->files[kind];
    if (file->state == RLMR_FILE_UNUSED) {
        file->state = RLMR_FILE_READ;
    }
    return damage_of(job, kind);
}

static rlmr_status note_damage(rlmr_file_damage *damage, int64_t offset, const char *reason,
                               rlmr_error *err) {
    return offset < 0
               ? rlmr_file_damage_met(damage, offset, err, "%s", reason)
               : rlmr_file_damage_met(damage, offset, err, "%s at byte %lld", reason, (long long)offset);
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    rlmr_file_damage *damage = self;
    damage->capture->events_skipped += lost && damage->events;
    return note_damage(damage, offset, reason, err);
}

rlmr_damage rlmr_job_errors(rlmr_file_damage *damage) {
    return (rlmr_damage){.met = on_damage, .self = damage};
}

rlmr_status rlmr_job_keep(rlmr_file_damage *damage, rlmr_status status, const rlmr_error *trouble,
                          rlmr_error *err) {
    if (status == RLMR_E_INPUT || status == RLMR_E_PARSE || status == RLMR_E_LIMIT) {
        return note_damage(damage, trouble->offset, trouble->message, err);
    }
    return status == RLMR_OK ? RLMR_OK : rlmr_error_set(err, status, "%s", trouble->message);
}

/* @return whether the caller should open it */
static bool begin_db(rlmr_job *job, rlmr_job_db *db, rlmr_file_kind kind) {
    if (db->tried || !rlmr_job_has(job, kind)) {
        return false;
    }
    db->tried = true;
    db->damage = damage_of(job, kind);
    db->errors = rlmr_job_errors(&db->damage);
    return true;
}

rlmr_status rlmr_job_profiler_db(rlmr_job *job, rlmr_profiler_db **out, rlmr_error *err) {
    rlmr_job_db *db = &job->profiler_db;
    rlmr_status status = RLMR_OK;
    if (begin_db(job, db, RLMR_FILE_profiler_db)) {
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        status = rlmr_profiler_db_open(job->capture->files[RLMR_FILE_profiler_db].path, &db->errors,
                                       job->meter, &db->profiler, &trouble);
        status = rlmr_job_keep(&db->damage, status, &trouble, err);
    }
    *out = db->profiler;
    return status;
}

rlmr_status rlmr_job_analysis_db(rlmr_job *job, rlmr_analysis_db **out, rlmr_error *err) {
    rlmr_job_db *db = &job->analysis_db;
    rlmr_status status = RLMR_OK;
    if (begin_db(job, db, RLMR_FILE_analysis_db)) {
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        status = rlmr_analysis_db_open(job->capture->files[RLMR_FILE_analysis_db].path, &db->errors,
                                       job->meter, &db->analysis, &trouble);
        status = rlmr_job_keep(&db->damage, status, &trouble, err);
    }
    *out = db->analysis;
    return status;
}

void rlmr_job_used(rlmr_job *job, rlmr_file_kind kind, bool present) {
    rlmr_file *file = &job->capture->files[kind];
    if (present && file->state == RLMR_FILE_UNUSED) {
        file->state = RLMR_FILE_READ;
    }
}
