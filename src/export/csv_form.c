#include "files.h"
#include "forms.h"

#include <stdlib.h>
#include <string.h>

/* RL-Insight's columns, which its users' scripts know by place. */
static const char *const memory_columns[] = {
    "name",
    "role",
    "rank_id",
    "call_stack",
    "call_stack_top",
    "size_kb",
    "start_time_ms",
    "duration_ms",
    "total_allocated_mb",
    "total_reserved_mb",
    "total_active_mb",
    "device_type",
};
enum { MEMORY_COLUMNS = sizeof memory_columns / sizeof memory_columns[0] };

static bool is_placed(const size_t *order, size_t placed, size_t column) {
    for (size_t i = 0; i < placed; i++) {
        if (order[i] == column) {
            return true;
        }
    }
    return false;
}

/* The order in which the columns are written. @param order room for all of them */
static void order_columns(const rlmr_schema *schema, size_t *order) {
    size_t placed = 0;
    bool memory = strcmp(schema->name, "memory_events") == 0;
    for (size_t i = 0; i < MEMORY_COLUMNS && memory; i++) {
        size_t column = rlmr_schema_column(schema, memory_columns[i]);
        if (column < schema->columns_count && !is_placed(order, placed, column)) {
            order[placed++] = column;
        }
    }
    for (size_t column = 0; column < schema->columns_count; column++) {
        if (!is_placed(order, placed, column)) {
            order[placed++] = column;
        }
    }
}

static void put_header(const rlmr_schema *schema, const size_t *order, rlmr_text *out) {
    for (size_t i = 0; i < schema->columns_count; i++) {
        rlmr_csv_text(out, rlmr_slice_of(schema->columns[order[i]].name));
    }
    rlmr_csv_end_row(out);
}

static void put_cell(const rlmr_hdf5_reader *reader, const rlmr_rows *rows, size_t row, size_t column,
                     rlmr_text *out) {
    const void *values = rows->columns[column];
    switch (rows->schema->columns[column].type) {
    case RLMR_TYPE_I64:
        rlmr_csv_i64(out, ((const int64_t *)values)[row]);
        break;
    case RLMR_TYPE_I32:
        rlmr_csv_i64(out, ((const int32_t *)values)[row]);
        break;
    case RLMR_TYPE_U8:
        rlmr_csv_i64(out, ((const uint8_t *)values)[row]);
        break;
    case RLMR_TYPE_F64:
        rlmr_csv_f64(out, ((const double *)values)[row]);
        break;
    case RLMR_TYPE_TEXT:
        rlmr_csv_text(out, rlmr_hdf5_reader_text(reader, column, ((const uint32_t *)values)[row]));
        break;
    }
}

static rlmr_status put_rows(rlmr_hdf5_reader *reader, const size_t *order, rlmr_text *out, rlmr_error *err) {
    const rlmr_rows *rows;
    rlmr_status status = rlmr_hdf5_reader_next(reader, &rows, err);
    while (status == RLMR_OK && rows->rows > 0) {
        for (size_t row = 0; row < rows->rows; row++) {
            for (size_t i = 0; i < rows->schema->columns_count; i++) {
                put_cell(reader, rows, row, order[i], out);
            }
            rlmr_csv_end_row(out);
        }
        status = rlmr_text_status(out, err);
        status = status == RLMR_OK ? rlmr_hdf5_reader_next(reader, &rows, err) : status;
    }
    return status;
}

static rlmr_status put_table(rlmr_hdf5_reader *reader, rlmr_text *out, rlmr_error *err) {
    const rlmr_schema *schema = rlmr_hdf5_reader_schema(reader);
    size_t *order = calloc(schema->columns_count + 1, sizeof *order);
    if (order == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the columns of %s", schema->name);
    }
    order_columns(schema, order);
    put_header(schema, order, out);
    rlmr_status status = put_rows(reader, order, out, err);
    free(order);
    return status;
}

static rlmr_status write_table(rlmr_hdf5_source *source, size_t table, rlmr_export_files *files,
                               rlmr_error *err) {
    rlmr_hdf5_reader *reader;
    rlmr_text *out = NULL;
    rlmr_status status =
        rlmr_hdf5_reader_open_any(source, rlmr_hdf5_source_table(source, table), &reader, err);
    status = status == RLMR_OK ? rlmr_export_files_create_text(files, table, &out, err) : status;
    status = status == RLMR_OK ? put_table(reader, out, err) : status;
    status = rlmr_export_files_end_text(files, table, out, status, err);
    rlmr_hdf5_reader_close(reader);
    return status;
}

rlmr_status rlmr_export_csv_form(rlmr_hdf5_source *source, const rlmr_export_options *options,
                                 rlmr_error *err) {
    rlmr_export_files files;
    rlmr_export_files_init(&files, options);
    size_t count = rlmr_hdf5_source_tables(source);
    rlmr_status status = RLMR_OK;
    if (count == 0) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "%s has no table", options->file);
    }
    for (size_t table = 0; table < count && status == RLMR_OK; table++) {
        status = rlmr_export_files_add_table(&files, rlmr_hdf5_source_table(source, table), err);
    }
    status = status == RLMR_OK ? rlmr_export_files_check(&files, err) : status;
    for (size_t table = 0; table < count && status == RLMR_OK; table++) {
        status = write_table(source, table, &files, err);
    }
    rlmr_export_files_release(&files, status != RLMR_OK);
    return status;
}
