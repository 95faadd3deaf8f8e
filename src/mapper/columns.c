#include "columns.h"

#include "rlmr/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Memory units of a header, as powers of 1024 of a byte; units of time, as powers of ten of a ns. */
typedef struct {
    const char *name;
    int power;
} unit_power;
static const unit_power memory_units[] = {{"B", 0}, {"KB", 1}, {"MB", 2}, {"GB", 3}, {NULL, 0}};
static const unit_power time_units[] = {{"ns", 0}, {"us", 3}, {NULL, 0}};

#define MS_POWER 6 /* of a ns */

rlmr_columns rlmr_columns_of(const rlmr_csv_column *columns, size_t count, rlmr_file_damage *damage) {
    rlmr_columns made = {.columns = columns, .count = count, .damage = damage, .no_header = true};
    for (size_t column = 0; column < count; column++) {
        made.place[column] = SIZE_MAX;
    }
    return made;
}

static rlmr_status row_damage(rlmr_columns *columns, const rlmr_csv_row *row, const char *where,
                              rlmr_slice cell, const char *reason, rlmr_error *err) {
    int shown = cell.bytes > 64 ? 64 : (int)cell.bytes;
    char place[40] = "";
    if (row->offset >= 0) {
        (void)snprintf(place, sizeof place, " at byte %lld", (long long)row->offset);
    }
    return rlmr_file_damage_met(columns->damage, row->offset, err, "row %llu%s: %s \"%.*s\": %s",
                                (unsigned long long)row->number, place, where, shown, cell.text, reason);
}

rlmr_status rlmr_columns_bad_cell(rlmr_columns *columns, const rlmr_csv_row *row, int column, rlmr_slice cell,
                                  const char *reason, rlmr_error *err) {
    columns->damage->capture->bad_cells++;
    return row_damage(columns, row, columns->columns[column].title, cell, reason, err);
}

/* The part of a header cell before its unit, and the unit: "Size(KB)" is "Size" and "KB". */
static rlmr_slice split_unit(rlmr_slice title, rlmr_slice *unit) {
    *unit = (rlmr_slice){.text = ""};
    const char *open = memchr(title.text, '(', title.bytes);
    if (open == NULL || title.text[title.bytes - 1] != ')') {
        return title;
    }
    size_t before = (size_t)(open - title.text);
    *unit = (rlmr_slice){.text = open + 1, .bytes = title.bytes - before - 2};
    while (before > 0 && title.text[before - 1] == ' ') {
        before--;
    }
    return (rlmr_slice){.text = title.text, .bytes = before};
}

static bool has_unit(rlmr_cell_kind kind) {
    return kind != RLMR_CELL_TEXT && kind != RLMR_CELL_NUMBER;
}

/* @return false for a unit that is not known */
static bool find_unit(rlmr_cell_kind kind, rlmr_slice unit, int *power) {
    const unit_power *known = kind == RLMR_CELL_TIME ? time_units : memory_units;
    while (known->name != NULL && !rlmr_slice_equal(unit, rlmr_slice_of(known->name))) {
        known++;
    }
    *power = known->power;
    return known->name != NULL;
}

static rlmr_status read_title(rlmr_columns *columns, const rlmr_csv_row *row, size_t at, rlmr_error *err) {
    rlmr_slice unit;
    rlmr_slice name = split_unit(row->cells[at], &unit);
    for (int column = 0; column < (int)columns->count; column++) {
        rlmr_cell_kind kind = columns->columns[column].kind;
        rlmr_slice title = has_unit(kind) ? name : row->cells[at];
        if (columns->place[column] != SIZE_MAX ||
            !rlmr_slice_equal(title, rlmr_slice_of(columns->columns[column].title))) {
            continue;
        }
        if (has_unit(kind) && !find_unit(kind, unit, &columns->power[column])) {
            return rlmr_columns_bad_cell(columns, row, column, row->cells[at],
                                         "a unit that is not known, the column is left out", err);
        }
        columns->place[column] = at;
        return RLMR_OK;
    }
    return RLMR_OK;
}

static rlmr_status read_header(rlmr_columns *columns, const rlmr_csv_row *row, rlmr_error *err) {
    columns->cells_expected = row->count;
    for (size_t at = 0; at < row->count; at++) {
        rlmr_status status = read_title(columns, row, at, err);
        if (status != RLMR_OK) {
            return status;
        }
    }
    for (size_t column = 0; column < columns->count; column++) {
        if (columns->columns[column].required && columns->place[column] == SIZE_MAX) {
            return row_damage(columns, row, "column", rlmr_slice_of(columns->columns[column].title),
                              "not in the header, nothing can be read", err);
        }
    }
    columns->no_header = false;
    return RLMR_OK;
}

rlmr_slice rlmr_columns_cell(const rlmr_columns *columns, const rlmr_csv_row *row, int column) {
    size_t place = columns->place[column];
    return place < row->count ? row->cells[place] : (rlmr_slice){.text = ""};
}

rlmr_status rlmr_columns_time(rlmr_columns *columns, const rlmr_csv_row *row, int column, int64_t *ns,
                              rlmr_error *err) {
    rlmr_slice cell = rlmr_columns_cell(columns, row, column);
    *ns = INT64_MIN;
    if (cell.bytes == 0 || rlmr_decimal_time_to_ns(cell, columns->power[column], ns)) {
        return RLMR_OK;
    }
    *ns = INT64_MIN;
    return rlmr_columns_bad_cell(columns, row, column, cell,
                                 "no time, or its precision is gone (saved by a spreadsheet?)", err);
}

rlmr_status rlmr_columns_number(rlmr_columns *columns, const rlmr_csv_row *row, int column, double *value,
                                rlmr_error *err) {
    rlmr_slice cell = rlmr_columns_cell(columns, row, column);
    rlmr_cell_kind kind = columns->columns[column].kind;
    int power = columns->power[column];
    *value = NAN;
    if (cell.bytes == 0) {
        return RLMR_OK;
    }
    double number;
    if (!rlmr_decimal_to_double(cell, kind == RLMR_CELL_TIME ? power - MS_POWER : 0, &number)) {
        return rlmr_columns_bad_cell(columns, row, column, cell, "not a number", err);
    }
    if (kind == RLMR_CELL_KIB || kind == RLMR_CELL_MIB) {
        number = ldexp(number, 10 * (power - (kind == RLMR_CELL_KIB ? 1 : 2)));
    }
    if (!isfinite(number)) {
        return rlmr_columns_bad_cell(columns, row, column, cell, "too great", err);
    }
    *value = number;
    return RLMR_OK;
}

rlmr_status rlmr_columns_text(rlmr_columns *columns, const rlmr_csv_row *row, int column, rlmr_symtab *texts,
                              uint32_t *id, rlmr_error *err) {
    rlmr_slice cell = rlmr_columns_cell(columns, row, column);
    bool replaced = false;
    rlmr_status status = rlmr_symtab_intern_utf8(texts, cell, id, &replaced, err);
    if (status == RLMR_OK && replaced) {
        status = rlmr_columns_bad_cell(columns, row, column, cell, "not UTF-8, or a NUL byte", err);
    }
    return status;
}

/* Note a row that has not as many cells as the header. */
static rlmr_status check_width(rlmr_columns *columns, rlmr_csv_row *row, rlmr_error *err) {
    if (row->count == columns->cells_expected && !row->in_quotes) {
        return RLMR_OK;
    }
    columns->damage->capture->bad_cells++;
    if (row->count > columns->cells_expected) {
        return row_damage(columns, row, "at", row->cells[columns->cells_expected],
                          "more cells than the header has", err);
    }
    rlmr_slice last = row->cells[row->count - 1];
    if (!row->unended) {
        return row_damage(columns, row, "after", last, "fewer cells than the header has", err);
    }
    row->count--; /* the file was cut in this row: its last cell may be cut too */
    return row_damage(columns, row, "after", last, "the file ends inside the row, this cell is left out",
                      err);
}

rlmr_status rlmr_columns_row(rlmr_columns *columns, const rlmr_csv_row *row, rlmr_csv_row *kept,
                             bool *is_data, rlmr_error *err) {
    *kept = *row;
    *is_data = row->number > 0 && !columns->no_header;
    if (row->number == 0) {
        return read_header(columns, row, err);
    }
    return *is_data ? check_width(columns, kept, err) : RLMR_OK;
}
