#include "rlmr/sqlite_writer.h"

#include "sqlite_out.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rlmr_sqlite {
    rlmr_target target;
    rlmr_sqlite_out out;
    sqlite3 *handle;
    sqlite3_stmt *insert; /* NULL until the table is created */
    const char *table;
    const char *definition;
    int columns;
    int cells;        /* of the row so far */
    rlmr_error error; /* the first one */
};

/* The cause that the file system gave is more than SQLite knows. */
static void keep_error(rlmr_sqlite *file, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) {
        return;
    }
    int sys_errno = file->out.first_errno;
    if (result == SQLITE_NOMEM) {
        (void)rlmr_error_set(&file->error, RLMR_E_NOMEM, "no memory for %s", file->target.path);
    } else if (sys_errno != 0) {
        (void)rlmr_error_set_errno(&file->error, RLMR_E_OUTPUT, sys_errno, "cannot write %s%s",
                                   file->target.path, rlmr_target_cure(sys_errno));
    } else {
        (void)rlmr_error_set(&file->error, RLMR_E_OUTPUT, "cannot write %s: %s", file->target.path,
                             file->handle == NULL ? sqlite3_errstr(result) : sqlite3_errmsg(file->handle));
    }
}

static bool is_good(const rlmr_sqlite *file) {
    return file->error.code == RLMR_OK;
}

static void execute(rlmr_sqlite *file, const char *sql) {
    if (is_good(file)) {
        keep_error(file, sqlite3_exec(file->handle, sql, NULL, NULL, NULL));
    }
}

static void open_database(rlmr_sqlite *file) {
    keep_error(file, sqlite3_open_v2("output", &file->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                     file->out.name));
    execute(file, "PRAGMA page_size = 4096");
    execute(file, "PRAGMA journal_mode = OFF");
    execute(file, "PRAGMA synchronous = OFF");
    execute(file, "PRAGMA temp_store = MEMORY");
    execute(file, "PRAGMA locking_mode = EXCLUSIVE");
    execute(file, "BEGIN");
}

/* What another program left of the database that was here would be applied to the one that takes its name. */
rlmr_status rlmr_sqlite_check(const char *target, rlmr_error *err) {
    static const char *const endings[] = {"-journal", "-wal"};
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && status == RLMR_OK; i++) {
        char *beside;
        struct stat seen;
        if (asprintf(&beside, "%s%s", target, endings[i]) < 0) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %s", target);
        }
        if (lstat(beside, &seen) == 0 && seen.st_size > 0) {
            status = rlmr_error_set(err, RLMR_E_OUTPUT,
                                    "%s is of another database, and would damage this one; remove it first",
                                    beside);
        }
        free(beside);
    }
    return status;
}

rlmr_status rlmr_sqlite_create(const char *target, bool replace, rlmr_sqlite **out, rlmr_error *err) {
    *out = NULL;
    rlmr_sqlite *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %s", target);
    }
    rlmr_error_clear(&file->error);
    rlmr_status status = rlmr_sqlite_check(target, err);
    status = status == RLMR_OK ? rlmr_target_open(target, replace, &file->target, err) : status;
    if (status == RLMR_OK) {
        status = rlmr_sqlite_out_open(file->target.descriptor, &file->out, err);
    }
    if (status == RLMR_OK) {
        open_database(file);
        status = rlmr_sqlite_status(file, err);
    }
    if (status != RLMR_OK) {
        rlmr_sqlite_discard(file);
        return status;
    }
    *out = file;
    return RLMR_OK;
}

const char *rlmr_sqlite_temporary(const rlmr_sqlite *file) {
    return file->target.temporary;
}

void rlmr_sqlite_table(rlmr_sqlite *file, const char *name, const char *definition, int columns) {
    (void)sqlite3_finalize(file->insert);
    file->insert = NULL;
    file->table = name;
    file->definition = definition;
    file->columns = columns;
}

static void prepare_insert(rlmr_sqlite *file) {
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\" VALUES (%.*s)", file->table, 2 * file->columns - 1,
                                "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");
    int result = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(file->handle, sql, -1, &file->insert, NULL);
    sqlite3_free(sql);
    keep_error(file, result);
}

/* Number of the next cell; 0 if there is nothing to bind it to. */
static int next_cell(rlmr_sqlite *file) {
    if (is_good(file) && file->insert == NULL) {
        execute(file, file->definition);
        if (is_good(file)) {
            prepare_insert(file);
        }
    }
    return is_good(file) ? ++file->cells : 0;
}

void rlmr_sqlite_text(rlmr_sqlite *file, rlmr_slice cell) {
    int at = next_cell(file);
    if (at > 0) {
        const char *text = cell.bytes == 0 ? "" : cell.text; /* NULL would be NULL */
        keep_error(file, sqlite3_bind_text64(file->insert, at, text, cell.bytes, SQLITE_STATIC, SQLITE_UTF8));
    }
}

void rlmr_sqlite_i64(rlmr_sqlite *file, int64_t cell) {
    int at = next_cell(file);
    if (at > 0) {
        keep_error(file, sqlite3_bind_int64(file->insert, at, cell));
    }
}

void rlmr_sqlite_f64(rlmr_sqlite *file, double cell) {
    int at = next_cell(file);
    if (at > 0) {
        keep_error(file, sqlite3_bind_double(file->insert, at, cell));
    }
}

void rlmr_sqlite_null(rlmr_sqlite *file) {
    int at = next_cell(file);
    if (at > 0) {
        keep_error(file, sqlite3_bind_null(file->insert, at));
    }
}

void rlmr_sqlite_end_row(rlmr_sqlite *file) {
    if (is_good(file) && file->cells != file->columns) {
        (void)rlmr_error_set(&file->error, RLMR_E_OUTPUT,
                             "cannot write %s: %d cells for the %d columns of %s", file->target.path,
                             file->cells, file->columns, file->table);
    }
    file->cells = 0;
    if (is_good(file)) {
        keep_error(file, sqlite3_step(file->insert));
        keep_error(file, sqlite3_reset(file->insert));
    }
}

rlmr_status rlmr_sqlite_status(const rlmr_sqlite *file, rlmr_error *err) {
    if (file->error.code != RLMR_OK && err != NULL && err->code == RLMR_OK) {
        *err = file->error;
    }
    return file->error.code;
}

rlmr_status rlmr_sqlite_commit(rlmr_sqlite *file, rlmr_error *err) {
    (void)sqlite3_finalize(file->insert);
    file->insert = NULL;
    execute(file, "COMMIT");
    if (is_good(file)) {
        keep_error(file, sqlite3_close(file->handle));
        file->handle = NULL;
    }
    rlmr_status status = rlmr_sqlite_status(file, err);
    if (status == RLMR_OK) {
        status = rlmr_target_publish(&file->target, err);
    }
    rlmr_sqlite_discard(file);
    return status;
}

void rlmr_sqlite_discard(rlmr_sqlite *file) {
    if (file == NULL) {
        return;
    }
    (void)sqlite3_finalize(file->insert);
    (void)sqlite3_close(file->handle);
    rlmr_sqlite_out_close(&file->out);
    rlmr_target_release(&file->target);
    free(file);
}
