#include "sqlite_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    sqlite3_file common; /* SQLite requires it first */
    rlmr_sqlite_out *out;
} open_file;

static rlmr_sqlite_out *out_of(sqlite3_file *common) {
    return ((open_file *)common)->out;
}

static int failed(rlmr_sqlite_out *out, int sys_errno, int code) {
    if (out->first_errno == 0) {
        out->first_errno = sys_errno;
    }
    return code;
}

static int file_close(sqlite3_file *common) {
    (void)common; /* the descriptor is borrowed */
    return SQLITE_OK;
}

static int file_read(sqlite3_file *common, void *data, int bytes, sqlite3_int64 at) {
    char *to = data;
    while (bytes > 0) {
        ssize_t taken = pread(out_of(common)->descriptor, to, (size_t)bytes, at);
        if (taken < 0 && errno != EINTR) {
            return failed(out_of(common), errno, SQLITE_IOERR_READ);
        }
        if (taken == 0) {
            memset(to, 0, (size_t)bytes);
            return SQLITE_IOERR_SHORT_READ; /* no error: SQLite wants zeros behind the end, and to know of it */
        }
        taken = taken < 0 ? 0 : taken;
        to += taken;
        at += taken;
        bytes -= (int)taken;
    }
    return SQLITE_OK;
}

static int file_write(sqlite3_file *common, const void *data, int bytes, sqlite3_int64 at) {
    const char *from = data;
    while (bytes > 0) {
        ssize_t written = pwrite(out_of(common)->descriptor, from, (size_t)bytes, at);
        if (written == 0 || (written < 0 && errno != EINTR)) {
            return failed(out_of(common), written == 0 ? EIO : errno, SQLITE_IOERR_WRITE);
        }
        written = written < 0 ? 0 : written;
        from += written;
        at += written;
        bytes -= (int)written;
    }
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *common, sqlite3_int64 bytes) {
    return ftruncate(out_of(common)->descriptor, bytes) == 0
               ? SQLITE_OK
               : failed(out_of(common), errno, SQLITE_IOERR_TRUNCATE);
}

/* The target is synced once, when it is complete. */
static int file_sync(sqlite3_file *common, int flags) {
    (void)common;
    (void)flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *common, sqlite3_int64 *bytes) {
    struct stat seen;
    if (fstat(out_of(common)->descriptor, &seen) != 0) {
        return failed(out_of(common), errno, SQLITE_IOERR_FSTAT);
    }
    *bytes = seen.st_size;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *common, int level) {
    (void)common;
    (void)level;
    return SQLITE_OK;
}

static int file_check_lock(sqlite3_file *common, int *taken) {
    (void)common;
    *taken = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *common, int operation, void *argument) {
    (void)common;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector_bytes(sqlite3_file *common) {
    (void)common;
    return 4096;
}

static int file_traits(sqlite3_file *common) {
    (void)common;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_bytes,
    .xDeviceCharacteristics = file_traits,
};

/* Journals and temporary files are switched off, so nothing else is ever opened. */
static int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *common, int flags, int *flags_out) {
    (void)name;
    common->pMethods = NULL;
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
        return SQLITE_CANTOPEN;
    }
    *(open_file *)common = (open_file){.common.pMethods = &methods, .out = vfs->pAppData};
    if (flags_out != NULL) {
        *flags_out = flags;
    }
    return SQLITE_OK;
}

static int layer_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs;
    (void)name;
    (void)sync;
    return SQLITE_OK;
}

static int layer_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs;
    (void)name;
    (void)flags;
    *result = 0; /* no journal is there */
    return SQLITE_OK;
}

static int layer_full_path(sqlite3_vfs *vfs, const char *name, int room, char *path) {
    (void)vfs;
    return snprintf(path, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

rlmr_status rlmr_sqlite_out_open(int descriptor, rlmr_sqlite_out *out, rlmr_error *err) {
    sqlite3_vfs *standard = sqlite3_vfs_find(NULL);
    if (standard == NULL) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "SQLite cannot be started");
    }
    *out = (rlmr_sqlite_out){.vfs = *standard, .descriptor = descriptor}; /* its clock and random numbers */
    out->vfs.pNext = NULL;
    out->vfs.pAppData = out;
    out->vfs.szOsFile = sizeof(open_file);
    out->vfs.xOpen = layer_open;
    out->vfs.xDelete = layer_delete;
    out->vfs.xAccess = layer_access;
    out->vfs.xFullPathname = layer_full_path;
    (void)snprintf(out->name, sizeof out->name, "rlmr-%p",
                   (void *)out); /* the process has one list of them */
    out->vfs.zName = out->name;
    if (sqlite3_vfs_register(&out->vfs, 0) != SQLITE_OK) {
        out->name[0] = '\0';
        return rlmr_error_set(err, RLMR_E_OUTPUT, "SQLite does not take a layer for its output");
    }
    return RLMR_OK;
}

void rlmr_sqlite_out_close(rlmr_sqlite_out *out) {
    if (out->name[0] != '\0') {
        (void)sqlite3_vfs_unregister(&out->vfs);
        out->name[0] = '\0';
    }
}
