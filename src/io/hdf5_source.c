#include "rlmr/hdf5_source.h"

#include "hdf5_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_VERSION = 1, TABLES_MAX = 1024, COLUMNS_MAX = 256 };

struct rlmr_hdf5_source {
    char *path;
    hid_t id;
    uint64_t bytes;   /* of the file */
    rlmr_bytes names; /* of the tables, NUL-terminated, one behind the other */
    const char **tables;
    size_t tables_count;
};

/* A column of the table that is read; nothing is open if it is hidden. */
typedef struct {
    rlmr_hdf5_input values; /* or codes */
    rlmr_bytes text;        /* the categories, see rlmr_hdf5_input_read_texts() */
    size_t *starts;
    uint64_t categories;
} open_column;

struct rlmr_hdf5_reader {
    const rlmr_hdf5_source *source;
    const rlmr_schema *schema;
    hid_t group;
    open_column *columns; /* as in the schema */
    rlmr_rows *block;
    uint64_t rows;
    uint64_t rows_read;
    /* of rlmr_hdf5_reader_open_any(): */
    rlmr_schema own_schema;
    rlmr_column *own_columns;
    rlmr_bytes own_names;
};

/* ---- The file ---- */

static rlmr_status damaged(const rlmr_hdf5_source *source, rlmr_status status, rlmr_error *err) {
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "%s: ", source->path);
    }
    return status;
}

/* The file is only read, so it needs no lock, which some file systems refuse. */
static rlmr_status open_file(rlmr_hdf5_source *source, rlmr_error *err) {
    rlmr_hdf5_silence();
    (void)H5PLset_loading_state(0); /* a file must not choose code to run */
    if (access(source->path, R_OK) != 0) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot read %s", source->path);
    }
    hid_t access_list = H5Pcreate(H5P_FILE_ACCESS);
    if (access_list >= 0 && H5Pset_file_locking(access_list, false, true) >= 0) {
        source->id = H5Fopen(source->path, H5F_ACC_RDONLY, access_list);
    }
    rlmr_status status = RLMR_OK;
    hsize_t bytes = 0;
    if (source->id < 0 || H5Fget_filesize(source->id, &bytes) < 0) {
        rlmr_error cause;
        rlmr_error_clear(&cause);
        (void)rlmr_hdf5_failed(
            &cause, "it is no HDF5 file, or a damaged one (give a file that rl-insight-mr has made)");
        status = damaged(source, rlmr_error_set(err, RLMR_E_PARSE, "%s", cause.message), err);
    }
    source->bytes = bytes;
    rlmr_hdf5_drop(access_list, H5Pclose);
    return status;
}

static rlmr_status check_format(rlmr_hdf5_source *source, rlmr_error *err) {
    rlmr_bytes format = {0};
    size_t count = 0;
    int64_t version = 0;
    rlmr_status status = rlmr_hdf5_input_texts(source->id, "format", 1, &format, &count, NULL);
    bool ours = status == RLMR_OK && count == 1 && strcmp((const char *)format.data, "rl-insight-mr") == 0;
    rlmr_bytes_release(&format);
    if (status == RLMR_E_NOMEM) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read %s", source->path);
    }
    if (!ours) {
        return rlmr_error_set(err, RLMR_E_PARSE, "%s was not made by rl-insight-mr; give a file that was",
                              source->path);
    }
    status = rlmr_hdf5_input_integer(source->id, "format_version", &version, err);
    if (status != RLMR_OK) {
        return damaged(source, status, err);
    }
    return version == FORMAT_VERSION
               ? RLMR_OK
               : rlmr_error_set(err, RLMR_E_PARSE,
                                "%s has format version %" PRId64
                                ", and this program reads %d; use the one that came with the "
                                "rl-insight-mr that made it",
                                source->path, version, FORMAT_VERSION);
}

typedef struct {
    rlmr_hdf5_source *source;
    rlmr_status status;
    rlmr_error *err;
} listing;

static herr_t list_name(hid_t root, const char *name, const H5L_info_t *info, void *data) {
    listing *at = data;
    (void)info;
    if (!rlmr_hdf5_input_is_group(root, name)) {
        return 0;
    }
    if (at->source->tables_count == TABLES_MAX) {
        at->status = rlmr_error_set(at->err, RLMR_E_PARSE, "there are more than %d tables", TABLES_MAX);
    } else {
        at->status = rlmr_bytes_append(&at->source->names, name, strlen(name) + 1, at->err);
        at->source->tables_count++;
    }
    return at->status == RLMR_OK ? 0 : 1;
}

static rlmr_status list_tables(rlmr_hdf5_source *source, rlmr_error *err) {
    listing list = {.source = source, .err = err};
    if (H5Literate(source->id, H5_INDEX_NAME, H5_ITER_INC, NULL, list_name, &list) < 0) {
        list.status = rlmr_error_set(err, RLMR_E_PARSE, "its tables cannot be listed");
    }
    source->tables = malloc((source->tables_count + 1) * sizeof *source->tables);
    if (source->tables == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the tables");
    }
    const char *name = (const char *)source->names.data;
    for (size_t i = 0; i < source->tables_count && list.status == RLMR_OK; i++) {
        source->tables[i] = name;
        name += strlen(name) + 1;
    }
    return damaged(source, list.status, err);
}

rlmr_status rlmr_hdf5_source_open(const char *path, rlmr_hdf5_source **out, rlmr_error *err) {
    *out = NULL;
    rlmr_hdf5_source *source = calloc(1, sizeof *source);
    char *copy = strdup(path);
    if (source == NULL || copy == NULL) {
        free(source);
        free(copy);
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %s", path);
    }
    source->path = copy;
    source->id = H5I_INVALID_HID;
    rlmr_status status = open_file(source, err);
    status = status == RLMR_OK ? check_format(source, err) : status;
    status = status == RLMR_OK ? list_tables(source, err) : status;
    if (status != RLMR_OK) {
        rlmr_hdf5_source_close(source);
        return status;
    }
    *out = source;
    return RLMR_OK;
}

void rlmr_hdf5_source_close(rlmr_hdf5_source *source) {
    if (source == NULL) {
        return;
    }
    rlmr_hdf5_drop(source->id, H5Fclose);
    rlmr_bytes_release(&source->names);
    free(source->tables);
    free(source->path);
    free(source);
}

size_t rlmr_hdf5_source_tables(const rlmr_hdf5_source *source) {
    return source->tables_count;
}

const char *rlmr_hdf5_source_table(const rlmr_hdf5_source *source, size_t table) {
    return source->tables[table];
}

bool rlmr_hdf5_source_has(const rlmr_hdf5_source *source, const char *table) {
    for (size_t i = 0; i < source->tables_count; i++) {
        if (strcmp(source->tables[i], table) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- A table ---- */

static rlmr_status name_column(const rlmr_hdf5_reader *reader, const char *name, rlmr_status status,
                               rlmr_error *err) {
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "%s: table %s, column %s: ", reader->source->path, reader->schema->name, name);
    }
    return status;
}

static rlmr_status open_text(const rlmr_hdf5_reader *reader, const char *name, open_column *out,
                             rlmr_error *err) {
    hid_t group;
    rlmr_hdf5_input categories = rlmr_hdf5_input_none();
    rlmr_type type = RLMR_TYPE_TEXT;
    rlmr_type codes = RLMR_TYPE_I32;
    rlmr_status status = rlmr_hdf5_input_group(reader->group, name, &group, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_input_open(group, "codes", &codes, &out->values, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_input_open(group, "categories", &type, &categories, err);
    }
    if (status == RLMR_OK && (type != RLMR_TYPE_TEXT || codes != RLMR_TYPE_I32)) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "codes and categories have another type");
    }
    if (status == RLMR_OK) {
        status =
            rlmr_hdf5_input_read_texts(&categories, reader->source->bytes, &out->text, &out->starts, err);
        out->categories = categories.entries;
    }
    rlmr_hdf5_input_close(&categories);
    rlmr_hdf5_drop(group, H5Gclose);
    return status;
}

static rlmr_status open_numbers(const rlmr_hdf5_reader *reader, const rlmr_column *declared, open_column *out,
                                rlmr_error *err) {
    rlmr_type type;
    rlmr_status status = rlmr_hdf5_input_open(reader->group, declared->name, &type, &out->values, err);
    if (status == RLMR_OK && type != declared->type) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "its values have another type");
    }
    return status;
}

static rlmr_status open_columns(rlmr_hdf5_reader *reader, rlmr_error *err) {
    const rlmr_schema *schema = reader->schema;
    bool first = true;
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < schema->columns_count && status == RLMR_OK; c++) {
        const rlmr_column *declared = &schema->columns[c];
        if (declared->storage != RLMR_STORED) {
            continue;
        }
        open_column *out = &reader->columns[c];
        status = declared->type == RLMR_TYPE_TEXT ? open_text(reader, declared->name, out, err)
                                                  : open_numbers(reader, declared, out, err);
        if (status == RLMR_OK && !first && out->values.entries != reader->rows) {
            status =
                rlmr_error_set(err, RLMR_E_PARSE, "it has %" PRIu64 " rows, the columns before have %" PRIu64,
                               out->values.entries, reader->rows);
        }
        reader->rows = out->values.entries;
        first = false;
        status = name_column(reader, declared->name, status, err);
    }
    return status;
}

/* reader->schema and reader->group are there already. */
static rlmr_status open_table(rlmr_hdf5_reader *reader, rlmr_error *err) {
    size_t count = reader->schema->columns_count;
    reader->columns = calloc(count + 1, sizeof *reader->columns);
    if (reader->columns == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the columns of %s", reader->schema->name);
    }
    for (size_t c = 0; c < count; c++) {
        reader->columns[c].values = rlmr_hdf5_input_none();
    }
    rlmr_status status = open_columns(reader, err);
    if (status == RLMR_OK) {
        status = rlmr_rows_open(reader->schema, RLMR_BLOCK_ROWS, &reader->block, err);
    }
    for (size_t c = 0; c < count && status == RLMR_OK; c++) {
        if (reader->schema->columns[c].storage == RLMR_HIDDEN) {
            memset(reader->block->columns[c], 0,
                   RLMR_BLOCK_ROWS * rlmr_type_bytes(reader->schema->columns[c].type));
        }
    }
    return status;
}

static rlmr_hdf5_reader *allocate(const rlmr_hdf5_source *source, rlmr_error *err) {
    rlmr_hdf5_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a table");
        return NULL;
    }
    reader->source = source;
    reader->group = H5I_INVALID_HID;
    return reader;
}

static rlmr_status open_group(rlmr_hdf5_reader *reader, const char *table, rlmr_error *err) {
    return damaged(reader->source, rlmr_hdf5_input_group(reader->source->id, table, &reader->group, err),
                   err);
}

static rlmr_status hand_out(rlmr_hdf5_reader *reader, rlmr_status status, rlmr_hdf5_reader **out) {
    if (status != RLMR_OK) {
        rlmr_hdf5_reader_close(reader);
        return status;
    }
    *out = reader;
    return RLMR_OK;
}

rlmr_status rlmr_hdf5_reader_open(rlmr_hdf5_source *source, const rlmr_schema *schema, rlmr_hdf5_reader **out,
                                  rlmr_error *err) {
    *out = NULL;
    rlmr_hdf5_reader *reader = allocate(source, err);
    if (reader == NULL) {
        return RLMR_E_NOMEM;
    }
    reader->schema = schema;
    rlmr_status status = open_group(reader, schema->name, err);
    status = status == RLMR_OK ? open_table(reader, err) : status;
    return hand_out(reader, status, out);
}

/* ---- A table whose columns are not known ---- */

/* Names behind one another: the index, then the others. */
static rlmr_status read_names(rlmr_hdf5_reader *reader, const char *table, size_t *count, rlmr_error *err) {
    size_t index = 0;
    rlmr_status status = rlmr_bytes_append(&reader->own_names, table, strlen(table) + 1, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_input_texts(reader->group, "_index", 1, &reader->own_names, &index, err);
    }
    if (status == RLMR_OK && index != 1) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "attribute _index: it is empty");
    }
    if (status == RLMR_OK) {
        status =
            rlmr_hdf5_input_texts(reader->group, "column-order", COLUMNS_MAX, &reader->own_names, count, err);
    }
    *count += 1;
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "%s: table %s: ", reader->source->path, table);
    }
    return status;
}

static rlmr_status find_type(const rlmr_hdf5_reader *reader, const char *name, rlmr_type *type,
                             rlmr_error *err) {
    if (rlmr_hdf5_input_is_group(reader->group, name)) {
        *type = RLMR_TYPE_TEXT;
        return RLMR_OK;
    }
    rlmr_hdf5_input values;
    rlmr_status status = rlmr_hdf5_input_open(reader->group, name, type, &values, err);
    if (status == RLMR_OK && *type == RLMR_TYPE_TEXT) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "its texts are not coded");
    }
    rlmr_hdf5_input_close(&values);
    return status;
}

static rlmr_status make_columns(rlmr_hdf5_reader *reader, const char *name, size_t count, rlmr_error *err) {
    reader->own_columns = calloc(count, sizeof *reader->own_columns);
    if (reader->own_columns == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu columns", count);
    }
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < count && status == RLMR_OK; c++) {
        rlmr_column *made = &reader->own_columns[reader->own_schema.columns_count];
        if (c > 0 || strcmp(name, "row") != 0) {
            *made = (rlmr_column){.name = name, .unit = "", .description = "", .storage = RLMR_STORED};
            status = name_column(reader, name, find_type(reader, name, &made->type, err), err);
            reader->own_schema.columns_count++;
        }
        name += strlen(name) + 1;
    }
    return status;
}

rlmr_status rlmr_hdf5_reader_open_any(rlmr_hdf5_source *source, const char *table, rlmr_hdf5_reader **out,
                                      rlmr_error *err) {
    *out = NULL;
    rlmr_hdf5_reader *reader = allocate(source, err);
    if (reader == NULL) {
        return RLMR_E_NOMEM;
    }
    size_t count = 0;
    rlmr_status status = open_group(reader, table, err);
    status = status == RLMR_OK ? read_names(reader, table, &count, err) : status;
    if (status == RLMR_OK) {
        const char *names = (const char *)reader->own_names.data;
        reader->own_schema = (rlmr_schema){.name = names, .description = "", .index = -1};
        reader->schema = &reader->own_schema;
        status = make_columns(reader, names + strlen(names) + 1, count, err);
        reader->own_schema.columns = reader->own_columns;
    }
    status = status == RLMR_OK ? open_table(reader, err) : status;
    return hand_out(reader, status, out);
}

void rlmr_hdf5_reader_close(rlmr_hdf5_reader *reader) {
    if (reader == NULL) {
        return;
    }
    for (size_t c = 0; reader->columns != NULL && c < reader->schema->columns_count; c++) {
        rlmr_hdf5_input_close(&reader->columns[c].values);
        rlmr_bytes_release(&reader->columns[c].text);
        free(reader->columns[c].starts);
    }
    rlmr_rows_close(reader->block);
    rlmr_hdf5_drop(reader->group, H5Gclose);
    rlmr_bytes_release(&reader->own_names);
    free(reader->own_columns);
    free(reader->columns);
    free(reader);
}

const rlmr_schema *rlmr_hdf5_reader_schema(const rlmr_hdf5_reader *reader) {
    return reader->schema;
}

uint64_t rlmr_hdf5_reader_rows(const rlmr_hdf5_reader *reader) {
    return reader->rows;
}

rlmr_slice rlmr_hdf5_reader_text(const rlmr_hdf5_reader *reader, size_t column, uint32_t code) {
    const open_column *from = &reader->columns[column];
    size_t start = from->starts[code];
    return (rlmr_slice){(const char *)from->text.data + start, from->starts[code + 1] - start - 1};
}

static rlmr_status check_codes(const rlmr_hdf5_reader *reader, const open_column *from, const int32_t *codes,
                               size_t count, rlmr_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (codes[i] < 0 || (uint64_t)codes[i] >= from->categories) {
            return rlmr_error_set(err, RLMR_E_PARSE,
                                  "row %" PRIu64 " has code %" PRId32 " of %" PRIu64 " texts",
                                  reader->rows_read + i, codes[i], from->categories);
        }
    }
    return RLMR_OK;
}

rlmr_status rlmr_hdf5_reader_next(rlmr_hdf5_reader *reader, const rlmr_rows **rows, rlmr_error *err) {
    uint64_t left = reader->rows - reader->rows_read;
    size_t count = left < RLMR_BLOCK_ROWS ? (size_t)left : RLMR_BLOCK_ROWS;
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < reader->schema->columns_count && status == RLMR_OK; c++) {
        const rlmr_column *declared = &reader->schema->columns[c];
        if (declared->storage != RLMR_STORED) {
            continue;
        }
        const open_column *from = &reader->columns[c];
        status =
            rlmr_hdf5_input_read(&from->values, reader->rows_read, count, reader->block->columns[c], err);
        if (status == RLMR_OK && declared->type == RLMR_TYPE_TEXT) {
            status = check_codes(reader, from, reader->block->columns[c], count, err);
        }
        status = name_column(reader, declared->name, status, err);
    }
    reader->block->rows = count;
    reader->rows_read += count;
    *rows = reader->block;
    return status;
}

/* ---- A table as an array ---- */

/* Ids of the texts of one column, by code. */
static rlmr_status intern_column(const rlmr_hdf5_reader *reader, size_t at, rlmr_symtab *texts,
                                 uint32_t **ids, rlmr_error *err) {
    uint64_t count = reader->columns[at].categories;
    *ids = malloc((count + 1) * sizeof **ids);
    rlmr_status status =
        *ids != NULL ? RLMR_OK : rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %" PRIu64 " texts", count);
    for (uint32_t code = 0; code < count && status == RLMR_OK; code++) {
        status = rlmr_symtab_intern(texts, rlmr_hdf5_reader_text(reader, at, code), &(*ids)[code], err);
    }
    return status;
}

static void place_column(const rlmr_rows *block, size_t at, const uint32_t *ids, char *to, size_t row_bytes) {
    const rlmr_column *declared = &block->schema->columns[at];
    size_t bytes = rlmr_type_bytes(declared->type);
    const char *from = block->columns[at];
    for (size_t i = 0; i < block->rows; i++) {
        char *field = to + i * row_bytes + declared->offset;
        if (ids != NULL) {
            uint32_t code;
            memcpy(&code, from + i * bytes, sizeof code);
            memcpy(field, &ids[code], sizeof code);
        } else {
            memcpy(field, from + i * bytes, bytes);
        }
    }
}

static rlmr_status fill(rlmr_hdf5_reader *reader, size_t row_bytes, uint32_t *const *ids, char *rows,
                        rlmr_error *err) {
    const rlmr_rows *block = NULL;
    rlmr_status status = rlmr_hdf5_reader_next(reader, &block, err);
    while (status == RLMR_OK && block->rows > 0) {
        for (size_t c = 0; c < reader->schema->columns_count; c++) {
            place_column(block, c, ids[c], rows, row_bytes);
        }
        rows += block->rows * row_bytes;
        status = rlmr_hdf5_reader_next(reader, &block, err);
    }
    return status;
}

static rlmr_status load(rlmr_hdf5_reader *reader, size_t row_bytes, rlmr_symtab *texts, void **rows,
                        rlmr_error *err) {
    size_t columns = reader->schema->columns_count;
    uint32_t **ids = calloc(columns + 1, sizeof *ids);
    *rows = reader->rows > SIZE_MAX / row_bytes ? NULL : calloc((size_t)reader->rows, row_bytes);
    if (ids == NULL || *rows == NULL) {
        free(ids);
        free(*rows);
        *rows = NULL;
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the %" PRIu64 " rows of %s", reader->rows,
                              reader->schema->name);
    }
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < columns && status == RLMR_OK; c++) {
        if (reader->columns[c].starts != NULL) {
            status = intern_column(reader, c, texts, &ids[c], err);
        }
    }
    status = status == RLMR_OK ? fill(reader, row_bytes, ids, *rows, err) : status;
    for (size_t c = 0; c < columns; c++) {
        free(ids[c]);
    }
    free(ids);
    if (status != RLMR_OK) {
        free(*rows);
        *rows = NULL;
    }
    return status;
}

rlmr_status rlmr_hdf5_source_load(rlmr_hdf5_source *source, const rlmr_schema *schema, size_t row_bytes,
                                  rlmr_symtab *texts, void **rows, size_t *count, rlmr_error *err) {
    *rows = NULL;
    *count = 0;
    if (!rlmr_hdf5_source_has(source, schema->name)) {
        return RLMR_OK;
    }
    rlmr_hdf5_reader *reader;
    rlmr_status status = rlmr_hdf5_reader_open(source, schema, &reader, err);
    if (status == RLMR_OK && reader->rows > 0) {
        status = load(reader, row_bytes, texts, rows, err);
        *count = status == RLMR_OK ? (size_t)reader->rows : 0;
    }
    rlmr_hdf5_reader_close(reader);
    return status;
}
