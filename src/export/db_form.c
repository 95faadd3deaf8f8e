#include "db.h"
#include "files.h"
#include "forms.h"

static rlmr_status write_part(rlmr_export_files *files, size_t at, const rlmr_export_job *job,
                              rlmr_error *err) {
    const rlmr_export_part *part = &job->parts[at];
    rlmr_export_groups groups;
    rlmr_sqlite *out = NULL;
    rlmr_status status = rlmr_export_groups_find(job, part, &groups, err);
    if (status == RLMR_OK) {
        status = rlmr_export_files_begin(files, at, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_sqlite_create(files->paths[at], files->options->force, &out, err);
        rlmr_status known = rlmr_export_files_begun(out == NULL ? NULL : rlmr_sqlite_temporary(out), err);
        status = status == RLMR_OK ? known : status;
    }
    status = status == RLMR_OK ? rlmr_export_write_db(job, part, &groups, out, err) : status;
    if (status == RLMR_OK) {
        status = rlmr_sqlite_commit(out, err);
    } else {
        rlmr_sqlite_discard(out);
    }
    if (status == RLMR_OK) {
        rlmr_export_files_written(files, at);
    }
    rlmr_export_groups_release(&groups);
    return status;
}

rlmr_status rlmr_export_db_form(rlmr_hdf5_source *source, const rlmr_export_options *options,
                                rlmr_error *err) {
    rlmr_export_job job;
    rlmr_export_files files;
    rlmr_export_files_init(&files, options);
    rlmr_status status = rlmr_export_job_load(source, options->file, &job, err);
    if (status == RLMR_OK && !job.has_rows) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "%s has no rows for cluster_analysis.db", options->file);
    }
    for (size_t part = 0; part < job.parts_count && status == RLMR_OK; part++) {
        status = rlmr_export_files_add(&files, &job, &job.parts[part], "cluster_analysis.db", err);
    }
    status = status == RLMR_OK ? rlmr_export_files_check(&files, err) : status;
    for (size_t part = 0; part < files.count && status == RLMR_OK; part++) {
        status = rlmr_sqlite_check(files.paths[part], err);
    }
    for (size_t part = 0; part < job.parts_count && status == RLMR_OK; part++) {
        status = write_part(&files, part, &job, err);
    }
    rlmr_export_files_release(&files, status != RLMR_OK);
    rlmr_export_job_release(&job);
    return status;
}
