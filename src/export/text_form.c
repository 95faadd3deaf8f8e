#include "files.h"
#include "forms.h"
#include "rlmr/message.h"
#include "text.h"

#include <unistd.h>

typedef struct {
    const char *name;
    bool (*has)(const rlmr_export_job *, const rlmr_export_part *);
    rlmr_status (*write)(const rlmr_export_job *, const rlmr_export_part *, const rlmr_export_groups *,
                         rlmr_text *, rlmr_error *);
} text_file;

#define TEXT_FILE(name, file) {file, rlmr_export_has_##name, rlmr_export_write_##name},
static const text_file text_files[] = {RLMR_EXPORT_TEXT_FILES(TEXT_FILE)};
enum { TEXT_FILES = sizeof text_files / sizeof text_files[0] };

static rlmr_status add_files(rlmr_export_files *files, const rlmr_export_job *job, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t part = 0; part < job->parts_count; part++) {
        for (int i = 0; i < TEXT_FILES && status == RLMR_OK; i++) {
            status = rlmr_export_files_add(files, job, &job->parts[part], text_files[i].name, err);
        }
    }
    return status;
}

static rlmr_status write_file(rlmr_export_files *files, size_t at, const rlmr_export_job *job,
                              const rlmr_export_part *part, const rlmr_export_groups *groups,
                              const text_file *file, rlmr_error *err) {
    if (!file->has(job, part)) {
        if (access(files->paths[at], F_OK) == 0) {
            rlmr_message(files->options->verbosity, RLMR_LEVEL_WARNING,
                         "%s is of an earlier export; this one has none", files->paths[at]);
        }
        return RLMR_OK;
    }
    rlmr_text *out;
    rlmr_status status = rlmr_export_files_create_text(files, at, &out, err);
    status = status == RLMR_OK ? file->write(job, part, groups, out, err) : status;
    return rlmr_export_files_end_text(files, at, out, status, err);
}

static rlmr_status write_part(rlmr_export_files *files, size_t first, const rlmr_export_job *job,
                              const rlmr_export_part *part, rlmr_error *err) {
    rlmr_export_groups groups;
    rlmr_status status = rlmr_export_groups_find(job, part, &groups, err);
    for (size_t i = 0; i < TEXT_FILES && status == RLMR_OK; i++) {
        status = write_file(files, first + i, job, part, &groups, &text_files[i], err);
    }
    rlmr_export_groups_release(&groups);
    return status;
}

rlmr_status rlmr_export_text_form(rlmr_hdf5_source *source, const rlmr_export_options *options,
                                  rlmr_error *err) {
    rlmr_export_job job;
    rlmr_export_files files;
    rlmr_export_files_init(&files, options);
    rlmr_status status = rlmr_export_job_load(source, options->file, &job, err);
    status = status == RLMR_OK ? add_files(&files, &job, err) : status;
    status = status == RLMR_OK ? rlmr_export_files_check(&files, err) : status;
    for (size_t part = 0; part < job.parts_count && status == RLMR_OK; part++) {
        status = write_part(&files, part * TEXT_FILES, &job, &job.parts[part], err);
    }
    rlmr_export_files_release(&files, status != RLMR_OK);
    rlmr_export_job_release(&job);
    return status;
}
