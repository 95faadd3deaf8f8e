#include "sqlite_file.h"

#include "rlmr/input.h"
#include "rlmr/limits.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CACHE_KIB 4096
#define STEPS_BETWEEN_METERS 4000 /* of SQLite's machine: some tenth of a millisecond */

/* An honest file takes some 20 steps a byte; pages that refer to each other in a circle would take for ever.
 * */
#define STEPS_PER_BYTE 100
#define STEPS_MIN 10000000

void rlmr_sqlite_file_begin(rlmr_sqlite_file *file, rlmr_error *err) {
    file->err = err;
    bool huge = file->bytes > (INT64_MAX - STEPS_MIN) / STEPS_PER_BYTE; /* a sparse file may claim any size */
    file->steps_left = huge ? INT64_MAX : STEPS_MIN + STEPS_PER_BYTE * file->bytes;
}

/* ---- Telling ---- */

rlmr_status rlmr_sqlite_file_meter(rlmr_sqlite_file *file) {
    if (file->stopped != RLMR_OK || file->meter == NULL) {
        return file->stopped;
    }
    int pages = 0;
    int unused = 0;
    (void)sqlite3_db_status(file->handle, SQLITE_DBSTATUS_CACHE_MISS, &pages, &unused, 1);
    /* A page may be read again and again; in all we tell of the file's size. */
    int64_t bytes = pages * file->page_bytes;
    bytes = bytes > file->bytes_left ? file->bytes_left : bytes;
    file->bytes_left -= bytes;
    file->stopped = file->meter->advance(file->meter->self, (size_t)bytes, file->err);
    return file->stopped;
}

static int on_progress(void *context) {
    rlmr_sqlite_file *file = context;
    file->steps_left -= STEPS_BETWEEN_METERS;
    return rlmr_sqlite_file_meter(file) != RLMR_OK || file->steps_left < 0;
}

rlmr_status rlmr_sqlite_file_damaged(rlmr_sqlite_file *file, bool lost, const char *table, const char *format,
                                     ...) {
    char *text = NULL;
    char *reason = NULL;
    va_list arguments;
    va_start(arguments, format);
    int bytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    rlmr_status status;
    if (bytes < 0 ||
        asprintf(&reason, "%s%s%s", table == NULL ? "" : table, table == NULL ? "" : ": ", text) < 0) {
        status = rlmr_error_set(file->err, RLMR_E_NOMEM, "no memory for a message");
    } else {
        status = file->damage->met(file->damage->self, -1, lost, reason, file->err);
        free(reason);
    }
    if (bytes >= 0) {
        free(text);
    }
    return status;
}

static bool is_no_memory(int result) {
    return (result & 0xff) == SQLITE_NOMEM || result == SQLITE_IOERR_NOMEM;
}

static rlmr_status no_memory(rlmr_error *err) {
    (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a database");
    return RLMR_E_NOMEM;
}

static const char *message_of(const rlmr_sqlite_file *file, int result) {
    return (result & 0xff) == SQLITE_INTERRUPT
               ? "more work than a file of its size can need: its pages may form a circle"
               : sqlite3_errmsg(file->handle);
}

/* Sorting may need a temporary file. */
static const char *cure_of(int result) {
    int kind = result & 0xff;
    bool disk = kind == SQLITE_FULL || kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
    return disk ? "; if it is the disk for temporary files, set SQLITE_TMPDIR to another one" : "";
}

rlmr_status rlmr_sqlite_file_failed(rlmr_sqlite_file *file, const char *table, int result) {
    if (file->stopped != RLMR_OK) {
        return file->stopped;
    }
    if (is_no_memory(result)) {
        return no_memory(file->err);
    }
    return rlmr_sqlite_file_damaged(file, true, table, "SQLite: %s%s", message_of(file, result),
                                    cure_of(result));
}

/* ---- Opening ---- */

/* "file:" and the path with every byte escaped that could mean something in a URI. */
static char *make_uri(const char *path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    static const char before[] = "file:";
    static const char behind[] = "?mode=ro&immutable=1";
    char *uri = malloc(sizeof before + 2 + 3 * strlen(path) + sizeof behind);
    if (uri == NULL) {
        return NULL;
    }
    /* With an empty host, so that a path that begins with // is not taken for one. */
    char *at = uri + sprintf(uri, "%s%s", before, path[0] == '/' ? "//" : "");
    for (; *path != '\0'; path++) {
        if (strchr(plain, *path) != NULL) {
            *at++ = *path;
        } else {
            at += sprintf(at, "%%%02X", (unsigned char)*path);
        }
    }
    memcpy(at, behind, sizeof behind);
    return uri;
}

/* The standard file system layer of SQLite refuses paths over 512 bytes, only because it makes them
 * absolute. In ours a path stays as it is; all else is the standard layer's. */
struct rlmr_sqlite_layer {
    sqlite3_vfs vfs; /* pAppData is the standard one */
    char name[32];
};

static int keep_path(sqlite3_vfs *vfs, const char *path, int bytes, char *out) {
    (void)vfs;
    return snprintf(out, (size_t)bytes, "%s", path) < bytes ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out) {
    sqlite3_vfs *standard = vfs->pAppData;
    return standard->xOpen(standard, path, file, flags, flags_out);
}

static rlmr_status open_layer(rlmr_sqlite_file *file) {
    sqlite3_vfs *standard = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find(NULL) : NULL;
    struct rlmr_sqlite_layer *layer = standard == NULL ? NULL : malloc(sizeof *layer);
    if (layer == NULL) {
        return no_memory(file->err);
    }
    layer->vfs = *standard;
    layer->vfs.pNext = NULL;
    layer->vfs.pAppData = standard;
    layer->vfs.mxPathname = PATH_MAX;
    layer->vfs.xFullPathname = keep_path;
    layer->vfs.xOpen = open_file;
    layer->vfs.zName = layer->name;
    (void)snprintf(layer->name, sizeof layer->name, "rlmr-%p",
                   (void *)layer); /* the process has one list of them */
    if (sqlite3_vfs_register(&layer->vfs, 0) != SQLITE_OK) {
        free(layer);
        return no_memory(file->err);
    }
    file->layer = layer;
    return RLMR_OK;
}

/* Why nothing at all can be read. */
static rlmr_status cannot_open(rlmr_sqlite_file *file, int result) {
    if (file->stopped != RLMR_OK) {
        return file->stopped;
    }
    if (is_no_memory(result)) {
        return no_memory(file->err);
    }
    int kind = result & 0xff;
    rlmr_status status =
        kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_PERM ? RLMR_E_INPUT : RLMR_E_PARSE;
    (void)rlmr_error_set(file->err, status, "SQLite: %s", message_of(file, result));
    return status;
}

static rlmr_status run(rlmr_sqlite_file *file, const char *sql) {
    int result = sqlite3_exec(file->handle, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? RLMR_OK : cannot_open(file, result);
}

/* Nothing that the file's schema holds is executed, and what it says of itself is checked. */
static rlmr_status distrust(rlmr_sqlite_file *file) {
    static const struct {
        int option;
        int value;
    } switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}};
    int result = SQLITE_OK;
    for (size_t i = 0; i < sizeof switches / sizeof switches[0] && result == SQLITE_OK; i++) {
        result = sqlite3_db_config(file->handle, switches[i].option, switches[i].value, NULL);
    }
    result = result == SQLITE_OK ? sqlite3_drop_modules(file->handle, NULL) : result;
    if (result != SQLITE_OK) {
        return cannot_open(file, result);
    }
    (void)sqlite3_limit(file->handle, SQLITE_LIMIT_LENGTH, RLMR_LIMIT_STRING_BYTES);
    (void)sqlite3_limit(file->handle, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(file->handle, SQLITE_LIMIT_WORKER_THREADS, 0);
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-%d; "
                   "PRAGMA temp.cache_size=-%d",
                   CACHE_KIB, CACHE_KIB);
    return run(file, sql);
}

static rlmr_status read_number(rlmr_sqlite_file *file, const char *sql, int64_t *number) {
    sqlite3_stmt *statement = NULL;
    rlmr_status status = RLMR_OK;
    int result = sqlite3_prepare_v2(file->handle, sql, -1, &statement, NULL);
    result = result == SQLITE_OK ? sqlite3_step(statement) : result;
    if (result == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
    } else {
        status = cannot_open(file, result);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static rlmr_status read_schema(rlmr_sqlite_file *file) {
    int64_t pages = 0;
    int64_t tables = 0;
    rlmr_status status = read_number(file, "SELECT count(*) FROM main.sqlite_master", &tables);
    status = status == RLMR_OK ? read_number(file, "PRAGMA main.page_size", &file->page_bytes) : status;
    status = status == RLMR_OK ? read_number(file, "PRAGMA main.page_count", &pages) : status;
    int64_t wanted = pages * file->page_bytes;
    /* A page that lacks its end would be filled with zeros, and give wrong rows. */
    if (status == RLMR_OK && wanted > file->bytes) {
        (void)rlmr_error_set(file->err, RLMR_E_PARSE, "the file is cut: it has %lld of %lld bytes",
                             (long long)file->bytes, (long long)wanted);
        status = RLMR_E_PARSE;
    }
    return status;
}

static rlmr_status check_regular(rlmr_sqlite_file *file, const char *path) {
    rlmr_input *input = NULL;
    struct stat info;
    rlmr_status status = rlmr_input_open(path, NULL, &input, file->err);
    if (status == RLMR_OK && stat(path, &info) != 0) {
        (void)rlmr_error_set_errno(file->err, RLMR_E_INPUT, errno, "cannot be opened");
        status = RLMR_E_INPUT;
    }
    if (status == RLMR_OK) {
        file->bytes = (int64_t)info.st_size;
        file->bytes_left = file->bytes;
        rlmr_sqlite_file_begin(file, file->err);
    }
    rlmr_input_close(input);
    return status;
}

/* What a writer has left beside the file is part of its content, but an immutable file is read without. */
static rlmr_status check_beside(rlmr_sqlite_file *file, const char *path) {
    static const struct {
        const char *ending;
        const char *command; /* that brings it into the file */
    } beside[] = {{"-wal", "PRAGMA wal_checkpoint(TRUNCATE)"},
                  {"-journal", "PRAGMA journal_mode=PERSIST; PRAGMA journal_mode=DELETE"}};
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0] && status == RLMR_OK; i++) {
        char *other = NULL;
        struct stat info;
        if (asprintf(&other, "%s%s", path, beside[i].ending) < 0) {
            return no_memory(file->err);
        }
        if (stat(other, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
            status = rlmr_sqlite_file_damaged(file, false, NULL,
                                              "what %s%s holds is not read: run sqlite3 %s '%s'", name,
                                              beside[i].ending, name, beside[i].command);
        }
        free(other);
    }
    return status;
}

static rlmr_status open_handle(rlmr_sqlite_file *file, const char *path) {
    char *uri = make_uri(path);
    if (uri == NULL) {
        return no_memory(file->err);
    }
    int result = sqlite3_open_v2(
        uri, &file->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, file->layer->name);
    free(uri);
    if (file->handle == NULL) {
        return no_memory(file->err);
    }
    (void)sqlite3_extended_result_codes(file->handle, 1);
    if (result != SQLITE_OK) {
        return cannot_open(file, result);
    }
    sqlite3_progress_handler(file->handle, STEPS_BETWEEN_METERS, on_progress, file);
    return RLMR_OK;
}

rlmr_status rlmr_sqlite_file_open(const char *path, const rlmr_damage *damage, const rlmr_meter *meter,
                                  rlmr_sqlite_file *out, rlmr_error *err) {
    *out = (rlmr_sqlite_file){.damage = damage, .meter = meter, .err = err};
    rlmr_status status = check_regular(out, path);
    status = status == RLMR_OK ? open_layer(out) : status;
    status = status == RLMR_OK ? open_handle(out, path) : status;
    status = status == RLMR_OK ? distrust(out) : status;
    status = status == RLMR_OK ? check_beside(out, path) : status; /* it may be why the rest is damaged */
    status = status == RLMR_OK ? read_schema(out) : status;
    status = status == RLMR_OK ? rlmr_sqlite_file_meter(out) : status;
    return status;
}

void rlmr_sqlite_file_close(rlmr_sqlite_file *file) {
    (void)sqlite3_close(file->handle);
    if (file->layer != NULL) {
        (void)sqlite3_vfs_unregister(&file->layer->vfs);
        free(file->layer);
    }
    *file = (rlmr_sqlite_file){0};
}

/* ---- Statements ---- */

rlmr_status rlmr_sqlite_file_prepare(rlmr_sqlite_file *file, const char *table, const char *sql,
                                     sqlite3_stmt **out) {
    *out = NULL;
    int result = sqlite3_prepare_v2(file->handle, sql, -1, out, NULL);
    return result == SQLITE_OK ? RLMR_OK : rlmr_sqlite_file_failed(file, table, result);
}

rlmr_status rlmr_sqlite_file_step(rlmr_sqlite_file *file, const char *table, sqlite3_stmt *statement,
                                  bool *row) {
    int result = sqlite3_step(statement);
    *row = result == SQLITE_ROW;
    return *row || result == SQLITE_DONE ? RLMR_OK : rlmr_sqlite_file_failed(file, table, result);
}

static rlmr_status is_table(rlmr_sqlite_file *file, const char *table, bool *present) {
    sqlite3_stmt *statement;
    *present = false;
    /* Virtual tables have no root page. */
    rlmr_status status = rlmr_sqlite_file_prepare(
        file, table,
        "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1 COLLATE NOCASE",
        &statement);
    if (status == RLMR_OK && statement != NULL) {
        (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        status = rlmr_sqlite_file_step(file, table, statement, present);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static const char *text_or_empty(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text == NULL ? "" : text;
}

/* `statement` is at a row of PRAGMA table_info: number, name, type, not null, default, place in the primary
 * key. */
static void note_column(sqlite3_stmt *statement, rlmr_sqlite_column *columns, size_t count) {
    bool stored = sqlite3_column_int(statement, 6) == 0; /* neither hidden nor generated */
    for (size_t i = 0; i < count && stored; i++) {
        if (sqlite3_stricmp(text_or_empty(statement, 1), columns[i].name) == 0) {
            columns[i].present = true;
            /* INT in its type makes a column hold integers as such. */
            columns[i].is_key = sqlite3_column_int(statement, 5) == 1 &&
                                strcasestr(text_or_empty(statement, 2), "int") != NULL;
        }
    }
}

rlmr_status rlmr_sqlite_file_table(rlmr_sqlite_file *file, const char *table, rlmr_sqlite_column *columns,
                                   size_t count, bool *present) {
    sqlite3_stmt *statement = NULL;
    for (size_t i = 0; i < count; i++) {
        columns[i].present = false;
        columns[i].is_key = false;
    }
    rlmr_status status = is_table(file, table, present);
    if (status == RLMR_OK && *present) {
        char sql[80];
        (void)snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(%s)", table);
        status = rlmr_sqlite_file_prepare(file, table, sql, &statement);
    }
    bool row = status == RLMR_OK && statement != NULL;
    bool disguised = false; /* a column has the name by which we ask for the row's number */
    while (row && status == RLMR_OK) {
        status = rlmr_sqlite_file_step(file, table, statement, &row);
        if (status == RLMR_OK && row) {
            note_column(statement, columns, count);
            disguised = disguised || sqlite3_stricmp(text_or_empty(statement, 1), "_rowid_") == 0;
        }
    }
    (void)sqlite3_finalize(statement);
    if (status == RLMR_OK && disguised) {
        *present = false;
        status = rlmr_sqlite_file_damaged(file, true, table, "a column named _rowid_, the table is not read");
    }
    return status;
}
