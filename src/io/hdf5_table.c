#include "hdf5_table.h"

#include <stdlib.h>

/* Index of a table that has no index of its own. */
static const rlmr_column row_column = {
    .name = "row",
    .type = RLMR_TYPE_I64,
    .unit = "1",
    .description = "number of the row, from 0",
    .storage = RLMR_STORED,
};

static size_t columns_count(const rlmr_schema *schema) {
    return schema->columns_count + (schema->index < 0 ? 1 : 0);
}

static const rlmr_column *declared_column(const rlmr_schema *schema, size_t at) {
    return at == schema->columns_count ? &row_column : &schema->columns[at];
}

static size_t index_column(const rlmr_schema *schema) {
    return schema->index < 0 ? schema->columns_count : (size_t)schema->index;
}

static rlmr_status name_column(const rlmr_hdf5_table *table, size_t column, rlmr_status status,
                               rlmr_error *err) {
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "table %s, column %s: ", table->schema->name,
                          declared_column(table->schema, column)->name);
    }
    return status;
}

rlmr_hdf5_table rlmr_hdf5_table_none(void) {
    return (rlmr_hdf5_table){.group = H5I_INVALID_HID};
}

static rlmr_status reserve(rlmr_hdf5_table *table, rlmr_error *err) {
    size_t count = columns_count(table->schema);
    table->columns = malloc(count * sizeof *table->columns);
    for (size_t i = 0; table->columns != NULL && i < count; i++) {
        table->columns[i] = rlmr_hdf5_column_none();
    }
    return table->columns == NULL ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the columns") : RLMR_OK;
}

static rlmr_status write_column_order(const rlmr_hdf5_table *table, const rlmr_hdf5_types *types,
                                      rlmr_error *err) {
    const rlmr_schema *schema = table->schema;
    const char **names = malloc((schema->columns_count + 1) * sizeof *names);
    if (names == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the column names");
    }
    size_t count = 0;
    for (size_t i = 0; i < schema->columns_count; i++) {
        if (i != index_column(schema) && schema->columns[i].storage == RLMR_STORED) {
            names[count++] = schema->columns[i].name;
        }
    }
    rlmr_status status = rlmr_hdf5_strings(table->group, types, "column-order", names, count, err);
    free(names);
    return status;
}

static rlmr_status describe(const rlmr_hdf5_table *table, const rlmr_hdf5_types *types, rlmr_error *err) {
    const rlmr_schema *schema = table->schema;
    const char *index = declared_column(schema, index_column(schema))->name;
    rlmr_status status = rlmr_hdf5_encoding(table->group, types, "dataframe", err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_string(table->group, types, "_index", index, err);
    }
    if (status == RLMR_OK) {
        status = write_column_order(table, types, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_string(table->group, types, "description", schema->description, err);
    }
    return status;
}

static rlmr_status open_group(hid_t parent, const rlmr_hdf5_types *types, rlmr_hdf5_table *out,
                              rlmr_error *err) {
    rlmr_status status = reserve(out, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_group(parent, out->schema->name, &out->group, err);
    }
    if (status == RLMR_OK) {
        status = describe(out, types, err);
    }
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "table %s: ", out->schema->name);
    }
    return status;
}

rlmr_status rlmr_hdf5_table_open(hid_t parent, const rlmr_schema *schema, const rlmr_hdf5_types *types,
                                 rlmr_hdf5_table *out, rlmr_error *err) {
    *out = rlmr_hdf5_table_none();
    out->schema = schema;
    rlmr_status status = open_group(parent, types, out, err);
    for (size_t i = 0; status == RLMR_OK && i < columns_count(schema); i++) {
        const rlmr_column *declared = declared_column(schema, i);
        if (declared->storage == RLMR_STORED) {
            status = name_column(
                out, i, rlmr_hdf5_column_open(out->group, declared, types, &out->columns[i], err), err);
        }
    }
    return status;
}

rlmr_status rlmr_hdf5_table_append_texts(rlmr_hdf5_table *table, const rlmr_hdf5_types *types, size_t column,
                                         const rlmr_slice *texts, size_t count, rlmr_error *err) {
    if (column >= table->schema->columns_count) {
        return rlmr_error_set(err, RLMR_E_RANGE, "table %s has no column %zu", table->schema->name, column);
    }
    if (table->schema->columns[column].storage == RLMR_HIDDEN) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_hdf5_column_append_texts(&table->columns[column], types, texts, count, err);
    return name_column(table, column, status, err);
}

rlmr_status rlmr_hdf5_table_complete_texts(rlmr_hdf5_table *table, const rlmr_hdf5_types *types,
                                           rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; status == RLMR_OK && i < table->schema->columns_count; i++) {
        status = name_column(table, i, rlmr_hdf5_column_complete(&table->columns[i], types, err), err);
    }
    return status;
}

rlmr_status rlmr_hdf5_table_append_chunk(rlmr_hdf5_table *table, const rlmr_chunk *chunk, rlmr_error *err) {
    size_t column = chunk->column;
    if (column >= columns_count(table->schema) ||
        declared_column(table->schema, column)->storage == RLMR_HIDDEN) {
        return rlmr_error_set(err, RLMR_E_RANGE, "table %s stores no column %zu", table->schema->name,
                              column);
    }
    return name_column(table, column, rlmr_hdf5_column_append_chunk(&table->columns[column], chunk, err),
                       err);
}

rlmr_status rlmr_hdf5_table_close(rlmr_hdf5_table *table, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; table->columns != NULL && i < columns_count(table->schema); i++) {
        rlmr_error *first = status == RLMR_OK ? err : NULL;
        rlmr_status closed = name_column(table, i, rlmr_hdf5_column_close(&table->columns[i], first), first);
        status = status == RLMR_OK ? closed : status;
    }
    rlmr_hdf5_drop(table->group, H5Gclose);
    free(table->columns);
    *table = rlmr_hdf5_table_none();
    return status;
}
