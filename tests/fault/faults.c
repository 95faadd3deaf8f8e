#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Wrapped calls have no other input. */
static fault_plan *armed;
static dev_t shrunk_device;
static ino_t shrunk_inode;
static bool shrunk;

void fault_arm(fault_plan *plan) {
    armed = plan;
    shrunk = false;
}

int fault_errno(fault_kind kind) {
    switch (kind) {
#define FAULT_ERRNO(name, text, sys_errno, meaning)                                                          \
    case FAULT_##name:                                                                                       \
        return sys_errno;
        FAULT_KINDS(FAULT_ERRNO)
    case FAULT_COUNT:
        break;
    }
    return 0;
}

/* Count a call; true, with errno set, if it is the one. */
static bool is_due(fault_kind kind) {
    if (armed == NULL || armed->kind != kind || ++armed->calls != armed->at) {
        return false;
    }
    armed->met = true;
    errno = fault_errno(kind);
    return true;
}

static bool write_is_due(void) {
    return is_due(FAULT_FULL) || is_due(FAULT_WRITE);
}

/* The names are those of the linker's --wrap. */
/* NOLINTBEGIN */
#define WRAP(type, name, parameters)                                                                         \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters

ssize_t __real_pread(int descriptor, void *data, size_t bytes, off_t at);

#define WRAP_FAILING(type, name, parameters, arguments, due, failure)                                        \
    WRAP(type, name, parameters) {                                                                           \
        return (due) ? (failure) : __real_##name arguments;                                                  \
    }

/* ---- Memory ---- */

#define WRAP_MEMORY(type, name, parameters, arguments, failure)                                              \
    WRAP_FAILING(type, name, parameters, arguments, is_due(FAULT_MEMORY), failure)

WRAP_MEMORY(void *, malloc, (size_t bytes), (bytes), NULL)
WRAP_MEMORY(void *, calloc, (size_t count, size_t bytes), (count, bytes), NULL)
WRAP_MEMORY(void *, realloc, (void *old, size_t bytes), (old, bytes), NULL)
WRAP_MEMORY(void *, reallocarray, (void *old, size_t count, size_t bytes), (old, count, bytes), NULL)
WRAP_MEMORY(char *, strdup, (const char *text), (text), NULL)
WRAP_MEMORY(char *, strndup, (const char *text, size_t bytes), (text, bytes), NULL)
WRAP_MEMORY(int, vasprintf, (char **out, const char *format, va_list arguments), (out, format, arguments), -1)
WRAP_MEMORY(ssize_t, getline, (char **line, size_t *capacity, FILE *file), (line, capacity, file), -1)
WRAP_MEMORY(ssize_t, __getdelim, (char **line, size_t *capacity, int end, FILE *file),
            (line, capacity, end, file), -1)
WRAP_MEMORY(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP_MEMORY(int, inflateInit2_, (z_streamp stream, int window, const char *version, int bytes),
            (stream, window, version, bytes), Z_MEM_ERROR)

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes = __wrap_vasprintf(out, format, arguments);
    va_end(arguments);
    return bytes;
}

WRAP(char *, realpath, (const char *path, char *resolved)) {
    return is_due(FAULT_MEMORY) || is_due(FAULT_LOOK) ? NULL : __real_realpath(path, resolved);
}

/* ---- Reading ---- */

/* Whether `descriptor` is the file that has shrunk, now or before. */
static bool is_shrunk(int descriptor, bool now) {
    struct stat info;
    if ((!now && !shrunk) || fstat(descriptor, &info) != 0) {
        return false;
    }
    if (now) {
        shrunk = true;
        shrunk_device = info.st_dev;
        shrunk_inode = info.st_ino;
    }
    return info.st_dev == shrunk_device && info.st_ino == shrunk_inode;
}

WRAP(ssize_t, read, (int descriptor, void *data, size_t bytes)) {
    if (is_due(FAULT_READ) || is_due(FAULT_INTERRUPT)) {
        return -1;
    }
    return is_shrunk(descriptor, is_due(FAULT_SHRINK))
               ? 0
               : __real_read(descriptor, data, bytes > 1 && is_due(FAULT_SHORT) ? 1 : bytes);
}

/* ---- SQLite ---- */

static ssize_t read_at(int descriptor, void *data, size_t bytes, off_t at) {
    return is_due(FAULT_READ) || is_due(FAULT_INTERRUPT) ? -1 : __real_pread(descriptor, data, bytes, at);
}

bool fault_wrap_sqlite(void) {
    if (sqlite3_initialize() != SQLITE_OK) {
        return false;
    }
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    return system->xSetSystemCall(system, "pread", (sqlite3_syscall_ptr)read_at) == SQLITE_OK &&
           system->xSetSystemCall(system, "pread64", (sqlite3_syscall_ptr)read_at) == SQLITE_OK;
}

/* ---- Writing ---- */

WRAP(ssize_t, pwrite, (int descriptor, const void *data, size_t bytes, off_t at)) {
    if (write_is_due() || is_due(FAULT_INTERRUPT)) {
        return -1;
    }
    return __real_pwrite(descriptor, data, bytes > 1 && is_due(FAULT_SHORT) ? 1 : bytes, at);
}

WRAP(ssize_t, pread, (int descriptor, void *data, size_t bytes, off_t at)) {
    if (is_due(FAULT_WRITE) || is_due(FAULT_INTERRUPT)) {
        return -1;
    }
    return __real_pread(descriptor, data, bytes > 1 && is_due(FAULT_SHORT) ? 1 : bytes, at);
}

WRAP_FAILING(int, ftruncate, (int descriptor, off_t bytes), (descriptor, bytes), write_is_due(), -1)
WRAP_FAILING(int, fsync, (int descriptor), (descriptor), write_is_due(), -1)
WRAP_FAILING(int, rename, (const char *from, const char *to), (from, to), write_is_due(), -1)
WRAP_FAILING(int, link, (const char *from, const char *to), (from, to), write_is_due(), -1)
WRAP_FAILING(int, renameat2, (int from_at, const char *from, int to_at, const char *to, unsigned flags),
             (from_at, from, to_at, to, flags), write_is_due(), -1)

/* As Linux does it: the descriptor is gone, also when close() fails. */
WRAP(int, close, (int descriptor)) {
    bool due = write_is_due();
    int outcome = __real_close(descriptor);
    errno = due ? fault_errno(armed->kind) : errno;
    return due ? -1 : outcome;
}

/* ---- Looking ---- */

#define WRAP_LOOK(type, name, parameters, arguments, failure)                                                \
    WRAP_FAILING(type, name, parameters, arguments, is_due(FAULT_LOOK), failure)

WRAP_LOOK(DIR *, opendir, (const char *path), (path), NULL)
WRAP_LOOK(struct dirent *, readdir, (DIR * directory), (directory), NULL)
WRAP_LOOK(int, fstat, (int descriptor, struct stat *out), (descriptor, out), -1)
WRAP_LOOK(int, stat, (const char *path, struct stat *out), (path, out), -1)
WRAP_LOOK(int, lstat, (const char *path, struct stat *out), (path, out), -1)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    bool creates = (flags & O_CREAT) != 0;
    return is_due(FAULT_LOOK) || (creates && write_is_due()) ? -1 : __real_open(path, flags, mode);
}

/* ---- Time ---- */

/* What would be most of a run's time: HDF5 takes and clears two MiB for each write of texts, where a page is enough, and
 * what compression needs for each dataset. */
WRAP(herr_t, H5Dwrite,
     (hid_t dataset, hid_t memory_type, hid_t memory, hid_t file, hid_t transfer, const void *data)) {
    hid_t small = H5Pcopy(transfer == H5P_DEFAULT ? H5P_DATASET_XFER_DEFAULT : transfer);
    (void)H5Pset_buffer(small, 4096, NULL, NULL);
    herr_t outcome = __real_H5Dwrite(dataset, memory_type, memory, file, small, data);
    if (outcome >= 0) {
        (void)H5Pclose(small); /* would clear the reasons of a failure */
    }
    return outcome;
}
WRAP(herr_t, H5Pset_deflate, (hid_t list, unsigned level)) {
    (void)list;
    (void)level;
    return 0;
}
/* NOLINTEND */
