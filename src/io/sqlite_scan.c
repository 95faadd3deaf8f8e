#include "sqlite_scan.h"

#include "rlmr/limits.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_BETWEEN_METERS 256
#define DIGITS_MAX 17 /* of a double that comes back as it was */

/* ---- Values ---- */

/* The shortest decimal that gives the same double, in scientific form. */
static void shortest(double value, char text[40]) {
    /* A normal double that 15 digits give back has its shortest form there, with zeros behind it. */
    int digits = fabs(value) >= DBL_MIN ? DBL_DIG : 1;
    do {
        (void)snprintf(text, 40, "%.*e", digits - 1, value);
    } while (strtod(text, NULL) != value && ++digits <= DIGITS_MAX);
}

static rlmr_slice real_text(double value, char out[RLMR_SQLITE_NUMBER_BYTES]) {
    char text[40];
    shortest(value, text);
    char digits[DIGITS_MAX + 1];
    int count = 0;
    const char *exponent_at = strchr(text, 'e');
    if (exponent_at == NULL) { /* infinite */
        return (rlmr_slice){.text = out, .bytes = (size_t)sprintf(out, "%s", text)};
    }
    for (const char *at = text; at < exponent_at; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[count++] = *at;
        }
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    int point = (int)strtol(exponent_at + 1, NULL, 10) + 1; /* digits before it */
    char *end = out;
    if (text[0] == '-') {
        *end++ = '-';
    }
    for (int i = point < 1 ? point - 1 : 0; i < count || i < point; i++) {
        if (i == point) {
            *end++ = '.';
        }
        *end++ = i >= 0 && i < count ? digits[i] : '0';
    }
    return (rlmr_slice){.text = out, .bytes = (size_t)(end - out)};
}

rlmr_status rlmr_sqlite_scan_value(rlmr_sqlite_file *file, sqlite3_stmt *statement, int column,
                                   char scratch[RLMR_SQLITE_NUMBER_BYTES], rlmr_slice *text) {
    *text = RLMR_SLICE("");
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) {
        return RLMR_OK;
    }
    if (type == SQLITE_FLOAT) {
        *text = real_text(sqlite3_column_double(statement, column), scratch);
        return RLMR_OK;
    }
    const char *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(statement, column)
                                            : (const char *)sqlite3_column_text(statement, column);
    int count = sqlite3_column_bytes(statement, column);
    if (bytes == NULL && (type != SQLITE_BLOB || count > 0)) {
        return rlmr_sqlite_file_failed(file, NULL, SQLITE_NOMEM);
    }
    if (count > 0) {
        *text = (rlmr_slice){.text = bytes, .bytes = (size_t)count};
    }
    return RLMR_OK;
}

/* ---- A pass over a table ---- */

static rlmr_status append_text(rlmr_bytes *sql, const char *text, rlmr_error *err) {
    return rlmr_bytes_append(sql, text, strlen(text), err);
}

/* NOT INDEXED: rows come from the table itself, whatever an index of the file claims. */
static rlmr_status make_select(const char *table, const rlmr_sqlite_column *columns, size_t count,
                               rlmr_bytes *sql, rlmr_error *err) {
    rlmr_status status = append_text(sql, "SELECT _rowid_", err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = append_text(sql, ", ", err);
        status =
            status == RLMR_OK ? append_text(sql, columns[i].present ? columns[i].name : "NULL", err) : status;
    }
    status = status == RLMR_OK ? append_text(sql, " FROM main.", err) : status;
    status = status == RLMR_OK ? append_text(sql, table, err) : status;
    status = status == RLMR_OK ? append_text(sql, " NOT INDEXED WHERE _rowid_ >= ?1 ORDER BY _rowid_", err)
                               : status;
    return status == RLMR_OK ? rlmr_bytes_append(sql, "", 1, err) : status;
}

rlmr_status rlmr_sqlite_scan_open(rlmr_sqlite_file *file, const char *table,
                                  const rlmr_sqlite_column *columns, size_t count, rlmr_sqlite_scan *out) {
    rlmr_bytes sql = {0};
    *out = (rlmr_sqlite_scan){.file = file, .table = table, .count = count, .next_rowid = INT64_MIN};
    out->cells = calloc(count + 1, sizeof *out->cells);
    out->is_text = calloc(count + 1, sizeof *out->is_text);
    out->scratch = calloc(count + 1, sizeof *out->scratch);
    if (out->cells == NULL || out->is_text == NULL || out->scratch == NULL) {
        return rlmr_sqlite_file_failed(file, NULL, SQLITE_NOMEM);
    }
    rlmr_status status = make_select(table, columns, count, &sql, file->err);
    status = status == RLMR_OK
                 ? rlmr_sqlite_file_prepare(file, table, (const char *)sql.data, &out->statement)
                 : status;
    if (status == RLMR_OK && out->statement != NULL) {
        (void)sqlite3_bind_int64(out->statement, 1, out->next_rowid);
    }
    rlmr_bytes_release(&sql);
    return status;
}

void rlmr_sqlite_scan_close(rlmr_sqlite_scan *scan) {
    (void)sqlite3_finalize(scan->statement);
    free(scan->cells);
    free(scan->is_text);
    free(scan->scratch);
    *scan = (rlmr_sqlite_scan){0};
}

static void pass_rowid(rlmr_sqlite_scan *scan, int64_t rowid) {
    scan->past_end = rowid == INT64_MAX;
    scan->next_rowid = scan->past_end ? rowid : rowid + 1;
}

/* The row behind the last one is too large: begin anew behind it. */
static rlmr_status pass_large_row(rlmr_sqlite_scan *scan, bool *found) {
    rlmr_sqlite_file *file = scan->file;
    sqlite3_stmt *statement;
    char sql[120];
    *found = false;
    rlmr_status status = rlmr_sqlite_file_damaged(file, true, scan->table,
                                                  "a row over the limit STRING_BYTES, %d bytes, is left out",
                                                  RLMR_LIMIT_STRING_BYTES);
    if (status != RLMR_OK) {
        return status;
    }
    /* This does not touch the row's content. */
    (void)snprintf(sql, sizeof sql,
                   "SELECT _rowid_ FROM main.%s NOT INDEXED WHERE _rowid_ >= ?1 ORDER BY _rowid_ LIMIT 1",
                   scan->table);
    status = rlmr_sqlite_file_prepare(file, scan->table, sql, &statement);
    if (status == RLMR_OK && statement != NULL) {
        (void)sqlite3_bind_int64(statement, 1, scan->next_rowid);
        status = rlmr_sqlite_file_step(file, scan->table, statement, found);
        if (status == RLMR_OK && *found) {
            pass_rowid(scan, sqlite3_column_int64(statement, 0));
            (void)sqlite3_reset(scan->statement);
            (void)sqlite3_bind_int64(scan->statement, 1, scan->next_rowid);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static rlmr_status take_cells(rlmr_sqlite_scan *scan) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < scan->count && status == RLMR_OK; i++) {
        int column = (int)i + 1;
        scan->is_text[i] = sqlite3_column_type(scan->statement, column) == SQLITE_TEXT ||
                           sqlite3_column_type(scan->statement, column) == SQLITE_BLOB;
        status =
            rlmr_sqlite_scan_value(scan->file, scan->statement, column, scan->scratch[i], &scan->cells[i]);
    }
    return status;
}

rlmr_status rlmr_sqlite_scan_next(rlmr_sqlite_scan *scan, bool *row) {
    *row = false;
    rlmr_status status = scan->rows % ROWS_BETWEEN_METERS == 0 ? rlmr_sqlite_file_meter(scan->file) : RLMR_OK;
    bool again = status == RLMR_OK && scan->statement != NULL;
    while (again && !scan->past_end) {
        int result = sqlite3_step(scan->statement);
        again = false;
        if (result == SQLITE_TOOBIG) {
            status = pass_large_row(scan, &again);
        } else if (result == SQLITE_ROW) {
            *row = true;
        } else if (result != SQLITE_DONE) {
            status = rlmr_sqlite_file_failed(scan->file, scan->table, result);
        }
    }
    if (!*row) {
        return status;
    }
    int64_t rowid = sqlite3_column_int64(scan->statement, 0);
    if (rowid < scan->next_rowid) {
        *row = false;
        return rlmr_sqlite_file_damaged(scan->file, true, scan->table, "SQLite: rows are not in order");
    }
    pass_rowid(scan, rowid);
    scan->rows++;
    return take_cells(scan);
}

rlmr_status rlmr_sqlite_scan_table(rlmr_sqlite_file *file, const char *table, rlmr_sqlite_column *columns,
                                   size_t count, rlmr_sqlite_on_row on_row, void *self, bool *present) {
    rlmr_sqlite_scan scan = {0};
    rlmr_status status = rlmr_sqlite_file_table(file, table, columns, count, present);
    bool row = status == RLMR_OK && *present;
    if (row) {
        status = rlmr_sqlite_scan_open(file, table, columns, count, &scan);
    }
    while (status == RLMR_OK && row) {
        status = rlmr_sqlite_scan_next(&scan, &row);
        status = status == RLMR_OK && row ? on_row(self, &scan) : status;
    }
    rlmr_sqlite_scan_close(&scan);
    return status;
}

rlmr_status rlmr_sqlite_scan_csv_row(const rlmr_sqlite_column *columns, const rlmr_slice *cells, size_t count,
                                     uint64_t number, rlmr_on_row on_row, void *self, rlmr_error *err) {
    rlmr_slice given[RLMR_SQLITE_CSV_COLUMNS];
    rlmr_csv_row row = {.cells = given, .number = number, .offset = -1};
    for (size_t column = 0; column < count; column++) {
        if (columns[column].present) {
            given[row.count++] = cells[column];
        }
    }
    return on_row(self, &row, err);
}
