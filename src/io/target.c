#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEMPORARY_NAME_BYTES = 180, /* of the target's name, so that what is put around it fits into NAME_MAX */
    TEMPORARY_TRIES = 16,
};

const char *rlmr_target_cure(int sys_errno) {
    switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
        return " (free space there, or choose another place)";
    case EFBIG:
        return " (raise the limit on file sizes, ulimit -f, or choose another file system)";
    case EACCES:
    case EPERM:
    case EROFS:
        return " (choose a writable place)";
    default:
        return "";
    }
}

static rlmr_status no_memory(rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the output path");
}

static rlmr_status cannot_write(const rlmr_target *target, int sys_errno, rlmr_error *err) {
    return rlmr_error_set_errno(err, RLMR_E_OUTPUT, sys_errno, "cannot write %s%s", target->path,
                                rlmr_target_cure(sys_errno));
}

static rlmr_status exists(const rlmr_target *target, rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_OUTPUT, "%s exists; use --force to replace it", target->path);
}

/* A link is not followed: renaming onto it would leave the file it points to as it was. */
static rlmr_status check_existing(const rlmr_target *target, rlmr_error *err) {
    struct stat seen;
    if (lstat(target->path, &seen) != 0) {
        return errno == ENOENT ? RLMR_OK : cannot_write(target, errno, err);
    }
    if (S_ISDIR(seen.st_mode)) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "%s is a directory; give the path of a file", target->path);
    }
    if (S_ISLNK(seen.st_mode)) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "%s is a symbolic link; give the path of the file itself",
                              target->path);
    }
    if (!S_ISREG(seen.st_mode)) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "%s is not a regular file; give another path",
                              target->path);
    }
    return target->replace ? RLMR_OK : exists(target, err);
}

rlmr_status rlmr_target_check(const char *path, bool replace, rlmr_error *err) {
    rlmr_target target = {.path = strdup(path), .replace = replace, .descriptor = -1};
    rlmr_status status = target.path == NULL ? no_memory(err) : check_existing(&target, err);
    rlmr_target_release(&target);
    return status;
}

/* Bytes of `name` that fit, without half a character at the end: some file systems insist on UTF-8. */
static int kept_bytes(const char *name) {
    size_t bytes = strlen(name);
    if (bytes > TEMPORARY_NAME_BYTES) {
        bytes = TEMPORARY_NAME_BYTES;
        while (bytes > 0 && ((unsigned char)name[bytes] & 0xC0) == 0x80) {
            bytes--;
        }
    }
    return (int)bytes;
}

static uint64_t random_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        number = (uint64_t)getpid(); /* O_EXCL keeps it safe; a collision costs the run, not a file */
    }
    return number;
}

/* Mode and umask as for any file a program creates: rename keeps them. */
static rlmr_status create_temporary(rlmr_target *target, const char *name, rlmr_error *err) {
    for (int tries = 0; tries < TEMPORARY_TRIES; tries++) {
        char *temporary = NULL;
        if (asprintf(&temporary, "%s.%.*s.%016" PRIx64 ".tmp", target->directory, kept_bytes(name), name,
                     random_number()) < 0) {
            return no_memory(err);
        }
        target->descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (target->descriptor >= 0) {
            target->temporary = temporary;
            return RLMR_OK;
        }
        int sys_errno = errno;
        free(temporary);
        if (sys_errno == ENOENT) {
            return rlmr_error_set_errno(err, RLMR_E_OUTPUT, sys_errno,
                                        "cannot write %s (create the directory %s first)", target->path,
                                        target->directory);
        }
        if (sys_errno != EEXIST && sys_errno != EINTR) {
            return cannot_write(target, sys_errno, err);
        }
    }
    return cannot_write(target, EEXIST, err);
}

rlmr_status rlmr_target_open(const char *path, bool replace, rlmr_target *out, rlmr_error *err) {
    *out = (rlmr_target){.replace = replace, .descriptor = -1};
    const char *slash = strrchr(path, '/');
    size_t directory_bytes = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (path[directory_bytes] == '\0') {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "\"%s\" names no file; give the path of a file", path);
    }
    out->path = strdup(path);
    out->directory = strndup(path, directory_bytes); /* empty, or with its slash */
    if (out->path == NULL || out->directory == NULL) {
        return no_memory(err);
    }
    rlmr_status status = check_existing(out, err);
    if (status == RLMR_OK) {
        status = create_temporary(out, path + directory_bytes, err);
    }
    return status;
}

/* close() reports what a network file system could not store. */
static int sync_and_close(rlmr_target *target) {
    int sys_errno = fsync(target->descriptor) == 0 ? 0 : errno;
    if (close(target->descriptor) != 0 && sys_errno == 0 && errno != EINTR) {
        sys_errno = errno;
    }
    target->descriptor = -1;
    return sys_errno;
}

static bool is_unsupported(int sys_errno) {
    return sys_errno == EINVAL || sys_errno == ENOSYS || sys_errno == EOPNOTSUPP;
}

/* Without renameat2(RENAME_NOREPLACE), as on NFS, a hard link does not replace either; without links, as on
 * FAT, what remains is a look, which another process may outrun. @return 0 or an errno */
static int rename_to_new(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (!is_unsupported(errno)) {
        return errno;
    }
    if (link(from, to) == 0) {
        (void)unlink(from);
        return 0;
    }
    if (!is_unsupported(errno) && errno != EPERM) {
        return errno;
    }
    struct stat seen;
    if (lstat(to, &seen) == 0) {
        return EEXIST;
    }
    return rename(from, to) == 0 ? 0 : errno;
}

/* Makes the new name durable where that can be done. The file is complete and in place in any case, so a
 * directory that cannot be synced is no error. */
static void sync_directory(const char *directory) {
    int descriptor = open(directory[0] == '\0' ? "." : directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

rlmr_status rlmr_target_publish(rlmr_target *target, rlmr_error *err) {
    int sys_errno = sync_and_close(target);
    if (sys_errno != 0) {
        return cannot_write(target, sys_errno, err);
    }
    if (target->replace) {
        sys_errno = rename(target->temporary, target->path) == 0 ? 0 : errno;
    } else {
        sys_errno = rename_to_new(target->temporary, target->path);
    }
    if (sys_errno == EEXIST && !target->replace) {
        return exists(target, err);
    }
    if (sys_errno != 0) {
        return cannot_write(target, sys_errno, err);
    }
    free(target->temporary);
    target->temporary = NULL;
    sync_directory(target->directory);
    return RLMR_OK;
}

void rlmr_target_release(rlmr_target *target) {
    if (target->temporary != NULL) {
        (void)unlink(target->temporary);
    }
    if (target->descriptor >= 0) {
        (void)close(target->descriptor);
    }
    free(target->temporary);
    free(target->directory);
    free(target->path);
    *target = (rlmr_target){.descriptor = -1};
}
