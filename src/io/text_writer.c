#include "text_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

rlmr_status rlmr_text_create(const char *target, bool replace, rlmr_text **out, rlmr_error *err) {
    *out = NULL;
    rlmr_text *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %s", target);
    }
    rlmr_error_clear(&file->error);
    rlmr_status status = rlmr_target_open(target, replace, &file->target, err);
    if (status != RLMR_OK) {
        rlmr_text_discard(file);
        return status;
    }
    *out = file;
    return RLMR_OK;
}

const char *rlmr_text_temporary(const rlmr_text *file) {
    return file->target.temporary;
}

static void write_out(rlmr_text *file, const char *data, size_t bytes) {
    while (bytes > 0 && file->error.code == RLMR_OK) {
        ssize_t written = write(file->target.descriptor, data, bytes);
        if (written >= 0) {
            data += written;
            bytes -= (size_t)written;
        } else if (errno != EINTR) {
            int sys_errno = errno;
            (void)rlmr_error_set_errno(&file->error, RLMR_E_OUTPUT, sys_errno, "cannot write %s%s",
                                       file->target.path, rlmr_target_cure(sys_errno));
        }
    }
}

static void flush(rlmr_text *file) {
    write_out(file, file->buffer, file->used);
    file->used = 0;
}

void rlmr_text_put(rlmr_text *file, rlmr_slice bytes) {
    if (bytes.bytes > sizeof file->buffer - file->used) {
        flush(file);
    }
    if (bytes.bytes > sizeof file->buffer) {
        write_out(file, bytes.text, bytes.bytes);
    } else if (bytes.bytes > 0) {
        memcpy(file->buffer + file->used, bytes.text, bytes.bytes);
        file->used += bytes.bytes;
    }
}

rlmr_status rlmr_text_status(const rlmr_text *file, rlmr_error *err) {
    if (file->error.code != RLMR_OK && err != NULL && err->code == RLMR_OK) {
        *err = file->error;
    }
    return file->error.code;
}

rlmr_status rlmr_text_commit(rlmr_text *file, rlmr_error *err) {
    flush(file);
    rlmr_status status = rlmr_text_status(file, err);
    if (status == RLMR_OK) {
        status = rlmr_target_publish(&file->target, err);
    }
    rlmr_text_discard(file);
    return status;
}

void rlmr_text_discard(rlmr_text *file) {
    if (file != NULL) {
        rlmr_target_release(&file->target);
        free(file);
    }
}
