#include "files.h"

#include "rlmr/cleanup.h"
#include "rlmr/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rlmr_export_files_init(rlmr_export_files *files, const rlmr_export_options *options) {
    *files = (rlmr_export_files){.options = options};
}

void rlmr_export_files_release(rlmr_export_files *files, bool failed) {
    if (failed) {
        rlmr_places_take_back(&files->made);
    }
    rlmr_places_release(&files->made);
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files->paths);
    *files = (rlmr_export_files){0};
}

/* ---- Names ---- */

static rlmr_status append(rlmr_bytes *path, const char *text, rlmr_error *err) {
    return rlmr_bytes_append(path, text, strlen(text), err);
}

/* So that different names stay different, and none leads elsewhere or is hidden. */
static rlmr_status append_name(rlmr_bytes *path, rlmr_slice name, rlmr_error *err) {
    bool leading = true;
    rlmr_status status = name.bytes == 0 ? append(path, "%", err) : RLMR_OK;
    for (size_t i = 0; i < name.bytes && status == RLMR_OK; i++) {
        char c = name.text[i];
        leading = leading && c == '.';
        if (c == '/' || c == '%' || c == '\0' || leading) {
            char escape[8];
            (void)snprintf(escape, sizeof escape, "%%%02X", (unsigned char)c);
            status = append(path, escape, err);
        } else {
            status = rlmr_bytes_append(path, &c, 1, err);
        }
    }
    return status;
}

static rlmr_status append_folders(rlmr_bytes *path, const rlmr_export_job *job, const rlmr_export_part *part,
                                  rlmr_error *err) {
    bool roles = false;
    bool windows = false;
    for (size_t i = 0; i < job->parts_count; i++) {
        const rlmr_export_part *other = &job->parts[i];
        roles = roles || other->role != part->role;
        windows = windows || (other->role == part->role && other->window != part->window);
    }
    rlmr_status status = RLMR_OK;
    if (roles) {
        status = append_name(path, rlmr_export_text(job, part->role), err);
        status = status == RLMR_OK ? append(path, "/", err) : status;
    }
    if (windows && status == RLMR_OK) {
        char window[32];
        (void)snprintf(window, sizeof window, "window%d/", part->window);
        status = append(path, window, err);
    }
    return status;
}

static rlmr_status append_directory(const rlmr_export_files *files, rlmr_bytes *path, rlmr_error *err) {
    rlmr_status status = append(path, files->options->directory, err);
    return status == RLMR_OK ? append(path, "/", err) : status;
}

/* Takes over the path. */
static rlmr_status keep(rlmr_export_files *files, rlmr_bytes *path, rlmr_status status, rlmr_error *err) {
    status = status == RLMR_OK ? rlmr_bytes_append(path, "", 1, err) : status;
    char **paths = status == RLMR_OK ? realloc(files->paths, (files->count + 1) * sizeof *paths) : NULL;
    if (paths == NULL) {
        rlmr_bytes_release(path);
        return status == RLMR_OK ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the names of files")
                                 : status;
    }
    files->paths = paths;
    paths[files->count++] = (char *)path->data;
    return RLMR_OK;
}

rlmr_status rlmr_export_files_add(rlmr_export_files *files, const rlmr_export_job *job,
                                  const rlmr_export_part *part, const char *name, rlmr_error *err) {
    rlmr_bytes path = {0};
    rlmr_status status = append_directory(files, &path, err);
    status = status == RLMR_OK ? append_folders(&path, job, part, err) : status;
    status = status == RLMR_OK ? append(&path, "cluster_analysis_output/", err) : status;
    status = status == RLMR_OK ? append(&path, name, err) : status;
    return keep(files, &path, status, err);
}

rlmr_status rlmr_export_files_add_table(rlmr_export_files *files, const char *table, rlmr_error *err) {
    rlmr_bytes path = {0};
    rlmr_status status = append_directory(files, &path, err);
    status = status == RLMR_OK ? append_name(&path, rlmr_slice_of(table), err) : status;
    status = status == RLMR_OK ? append(&path, ".csv", err) : status;
    return keep(files, &path, status, err);
}

/* ---- Writing ---- */

rlmr_status rlmr_export_files_check(const rlmr_export_files *files, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < files->count && status == RLMR_OK; i++) {
        status = rlmr_place_check(files->paths[i], files->options->force, err);
    }
    return status;
}

rlmr_status rlmr_export_files_begin(rlmr_export_files *files, size_t file, rlmr_error *err) {
    rlmr_status status = rlmr_places_make(&files->made, files->paths[file], err);
    if (status == RLMR_OK) {
        rlmr_cleanup_put_off();
    }
    return status;
}

rlmr_status rlmr_export_files_begun(const char *temporary, rlmr_error *err) {
    return rlmr_cleanup_file(temporary, err);
}

void rlmr_export_files_written(const rlmr_export_files *files, size_t file) {
    rlmr_message(files->options->verbosity, RLMR_LEVEL_INFO, "%s is written", files->paths[file]);
}

rlmr_status rlmr_export_files_create_text(rlmr_export_files *files, size_t file, rlmr_text **out,
                                          rlmr_error *err) {
    *out = NULL;
    rlmr_status status = rlmr_export_files_begin(files, file, err);
    if (status != RLMR_OK) {
        return status;
    }
    status = rlmr_text_create(files->paths[file], files->options->force, out, err);
    rlmr_status known = rlmr_export_files_begun(*out == NULL ? NULL : rlmr_text_temporary(*out), err);
    return status == RLMR_OK ? known : status;
}

rlmr_status rlmr_export_files_end_text(rlmr_export_files *files, size_t file, rlmr_text *out,
                                       rlmr_status status, rlmr_error *err) {
    if (out == NULL || status != RLMR_OK) {
        rlmr_text_discard(out);
        return status;
    }
    status = rlmr_text_commit(out, err);
    if (status == RLMR_OK) {
        rlmr_export_files_written(files, file);
    }
    return status;
}
