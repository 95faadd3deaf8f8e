#include "hdf5_column.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFLATE_LEVEL = 1,         /* of the categories; values and codes come packed */
    BATCH_TEXTS = 1024,        /* texts of one write */
    BATCH_BYTES = 1 << 20,     /* bytes after which a batch of long texts is written early */
    TEXT_REFERENCE_BYTES = 16, /* what a variable-length text takes in its dataset */
};

struct rlmr_hdf5_batch {
    rlmr_bytes text; /* each with its NUL */
    size_t starts[BATCH_TEXTS];
    size_t count;
};

static hid_t file_type(rlmr_type type) {
    switch (type) {
    case RLMR_TYPE_I64:
        return H5T_STD_I64LE;
    case RLMR_TYPE_I32:
    case RLMR_TYPE_TEXT:
        return H5T_STD_I32LE;
    case RLMR_TYPE_U8:
        return H5T_STD_U8LE;
    case RLMR_TYPE_F64:
        return H5T_IEEE_F64LE;
    }
    return H5I_INVALID_HID;
}

/* Times would make two runs differ. */
static hid_t dataset_creation(void) {
    hsize_t chunk = RLMR_BLOCK_ROWS;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list >= 0 && (H5Pset_chunk(list, 1, &chunk) < 0 || H5Pset_shuffle(list) < 0 ||
                      H5Pset_deflate(list, DEFLATE_LEVEL) < 0 || H5Pset_obj_track_times(list, false) < 0)) {
        rlmr_hdf5_drop(list, H5Pclose);
        list = H5I_INVALID_HID;
    }
    return list;
}

/* Room for exactly one chunk: it is compressed once, when it is full, and open tables hold no more than that.
 */
static hid_t dataset_access(size_t element_bytes) {
    hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    if (list >= 0 && H5Pset_chunk_cache(list, 1, RLMR_BLOCK_ROWS * element_bytes, 1.0) < 0) {
        rlmr_hdf5_drop(list, H5Pclose);
        list = H5I_INVALID_HID;
    }
    return list;
}

static hid_t create_dataset(hid_t parent, const char *name, hid_t type, size_t element_bytes) {
    hsize_t size = 0;
    hsize_t size_max = H5S_UNLIMITED;
    hid_t dataset = H5I_INVALID_HID;
    hid_t space = H5Screate_simple(1, &size, &size_max);
    hid_t creation = dataset_creation();
    hid_t access = dataset_access(element_bytes);
    if (space >= 0 && creation >= 0 && access >= 0) {
        dataset = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, creation, access);
    }
    rlmr_hdf5_drop(access, H5Pclose);
    rlmr_hdf5_drop(creation, H5Pclose);
    rlmr_hdf5_drop(space, H5Sclose);
    return dataset;
}

static rlmr_status append(hid_t dataset, hid_t type, uint64_t at, size_t count, const void *data,
                          rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    hsize_t first = at;
    hsize_t more = count;
    hsize_t size = first + more;
    hid_t memory = H5Screate_simple(1, &more, NULL);
    hid_t file = H5I_INVALID_HID;
    if (memory >= 0 && H5Dset_extent(dataset, &size) >= 0) {
        file = H5Dget_space(dataset);
    }
    if (file < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, &first, NULL, &more, NULL) < 0 ||
        H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, data) < 0) {
        status = rlmr_hdf5_failed(err, "cannot be written from entry %" PRIu64, at);
    }
    rlmr_hdf5_drop(file, H5Sclose);
    rlmr_hdf5_drop(memory, H5Sclose);
    return status;
}

/* Of the dataset of a column of numbers, or of the group of a text column. */
static rlmr_status describe(hid_t object, const rlmr_column *declared, const rlmr_hdf5_types *types,
                            const char *encoding, rlmr_error *err) {
    rlmr_status status = rlmr_hdf5_encoding(object, types, encoding, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_string(object, types, "unit", declared->unit, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_string(object, types, "description", declared->description, err);
    }
    return status;
}

static rlmr_status open_numbers(hid_t parent, const rlmr_hdf5_types *types, rlmr_hdf5_column *out,
                                rlmr_error *err) {
    rlmr_type type = out->declared->type;
    out->values = create_dataset(parent, out->declared->name, file_type(type), rlmr_type_bytes(type));
    if (out->values < 0) {
        return rlmr_hdf5_failed(err, "cannot be created");
    }
    return describe(out->values, out->declared, types, "array", err);
}

/* The group holds the categories in ascending order of bytes, but `ordered` is about their meaning. */
static rlmr_status open_text(hid_t parent, const rlmr_hdf5_types *types, rlmr_hdf5_column *out,
                             rlmr_error *err) {
    int8_t ordered = 0;
    out->batch = calloc(1, sizeof *out->batch);
    if (out->batch == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for its texts");
    }
    rlmr_status status = rlmr_hdf5_group(parent, out->declared->name, &out->group, err);
    if (status != RLMR_OK) {
        return status;
    }
    out->values =
        create_dataset(out->group, "codes", file_type(RLMR_TYPE_TEXT), rlmr_type_bytes(RLMR_TYPE_TEXT));
    if (out->values >= 0) {
        out->categories = create_dataset(out->group, "categories", types->text, TEXT_REFERENCE_BYTES);
    }
    if (out->categories < 0) {
        return rlmr_hdf5_failed(err, "cannot be created");
    }
    status = describe(out->group, out->declared, types, "categorical", err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_attribute(out->group, "ordered", types->boolean, types->boolean, &ordered, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_encoding(out->values, types, "array", err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_encoding(out->categories, types, "string-array", err);
    }
    return status;
}

rlmr_hdf5_column rlmr_hdf5_column_none(void) {
    return (rlmr_hdf5_column){
        .group = H5I_INVALID_HID, .values = H5I_INVALID_HID, .categories = H5I_INVALID_HID};
}

rlmr_status rlmr_hdf5_column_open(hid_t parent, const rlmr_column *declared, const rlmr_hdf5_types *types,
                                  rlmr_hdf5_column *out, rlmr_error *err) {
    *out = rlmr_hdf5_column_none();
    out->declared = declared;
    return declared->type == RLMR_TYPE_TEXT ? open_text(parent, types, out, err)
                                            : open_numbers(parent, types, out, err);
}

static rlmr_status write_batch(rlmr_hdf5_column *column, const rlmr_hdf5_types *types, rlmr_error *err) {
    rlmr_hdf5_batch *batch = column->batch;
    const char *texts[BATCH_TEXTS];
    for (size_t i = 0; i < batch->count; i++) {
        texts[i] = (const char *)batch->text.data + batch->starts[i];
    }
    rlmr_status status = append(column->categories, types->text, column->categories_count - batch->count,
                                batch->count, texts, err);
    batch->count = 0;
    rlmr_bytes_clear(&batch->text);
    return status;
}

/* HDF5 takes texts as NUL-terminated strings, so a NUL inside would cut one in silence. */
static rlmr_status add_text(rlmr_hdf5_column *column, rlmr_slice text, rlmr_error *err) {
    rlmr_hdf5_batch *batch = column->batch;
    if (text.bytes > 0 && memchr(text.text, '\0', text.bytes) != NULL) {
        return rlmr_error_set(err, RLMR_E_RANGE, "text %" PRIu64 " holds a NUL byte",
                              column->categories_count);
    }
    if (column->categories_count == INT32_MAX) {
        return rlmr_error_set(err, RLMR_E_RANGE, "more than 2^31 - 1 distinct texts");
    }
    size_t start = batch->text.bytes;
    rlmr_status status = rlmr_bytes_reserve(&batch->text, text.bytes + 1, err);
    if (status == RLMR_OK) {
        status = rlmr_bytes_append(&batch->text, text.text, text.bytes, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_bytes_append(&batch->text, "", 1, err);
    }
    if (status == RLMR_OK) {
        batch->starts[batch->count++] = start;
        column->categories_count++;
    }
    return status;
}

rlmr_status rlmr_hdf5_column_append_texts(rlmr_hdf5_column *column, const rlmr_hdf5_types *types,
                                          const rlmr_slice *texts, size_t count, rlmr_error *err) {
    rlmr_hdf5_batch *batch = column->batch;
    if (batch == NULL) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "takes no texts (now)");
    }
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = add_text(column, texts[i], err);
        if (status == RLMR_OK && (batch->count == BATCH_TEXTS || batch->text.bytes >= BATCH_BYTES)) {
            status = write_batch(column, types, err);
        }
    }
    return status;
}

static void release_batch(rlmr_hdf5_column *column) {
    if (column->batch != NULL) {
        rlmr_bytes_release(&column->batch->text);
        free(column->batch);
        column->batch = NULL;
    }
}

static rlmr_status close_categories(rlmr_hdf5_column *column, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    if (column->categories >= 0 && H5Dclose(column->categories) < 0) {
        status = rlmr_hdf5_failed(err, "categories cannot be closed");
    }
    column->categories = H5I_INVALID_HID;
    return status;
}

/* Closed at once: HDF5 holds a whole chunk of each dataset that is open, however few texts there are. */
rlmr_status rlmr_hdf5_column_complete(rlmr_hdf5_column *column, const rlmr_hdf5_types *types,
                                      rlmr_error *err) {
    if (column->batch == NULL) {
        return RLMR_OK;
    }
    rlmr_status status = RLMR_OK;
    if (column->batch->count > 0) {
        status = write_batch(column, types, err);
    }
    release_batch(column);
    return status == RLMR_OK ? close_categories(column, err) : status;
}

static rlmr_status check_chunk(const rlmr_hdf5_column *column, const rlmr_chunk *chunk, rlmr_error *err) {
    if (chunk->rows < 1 || chunk->rows > RLMR_BLOCK_ROWS || column->rows % RLMR_BLOCK_ROWS != 0) {
        return rlmr_error_set(err, RLMR_E_RANGE, "%zu rows cannot be a chunk behind row %" PRIu64,
                              chunk->rows, column->rows);
    }
    if (column->declared->type == RLMR_TYPE_TEXT && chunk->greatest >= column->categories_count) {
        return rlmr_error_set(err, RLMR_E_RANGE,
                              "the rows from %" PRIu64 " have code %" PRIu32 " of %" PRIu64 " texts",
                              column->rows, chunk->greatest, column->categories_count);
    }
    return RLMR_OK;
}

/* Codes are below 2^31, so uint32_t and int32_t are the same bytes. */
rlmr_status rlmr_hdf5_column_append_chunk(rlmr_hdf5_column *column, const rlmr_chunk *chunk,
                                          rlmr_error *err) {
    rlmr_status status = check_chunk(column, chunk, err);
    if (status != RLMR_OK) {
        return status;
    }
    hsize_t first = column->rows;
    hsize_t size = first + chunk->rows;
    if (H5Dset_extent(column->values, &size) < 0 ||
        H5Dwrite_chunk(column->values, H5P_DEFAULT, 0, &first, chunk->bytes.bytes, chunk->bytes.text) < 0) {
        return rlmr_hdf5_failed(err, "cannot be written from entry %" PRIu64, column->rows);
    }
    column->rows += chunk->rows;
    return RLMR_OK;
}

rlmr_status rlmr_hdf5_column_close(rlmr_hdf5_column *column, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    if (column->values >= 0 && H5Dclose(column->values) < 0) {
        status = rlmr_hdf5_failed(err, "cannot be closed");
    }
    rlmr_status closed = close_categories(column, status == RLMR_OK ? err : NULL);
    status = status == RLMR_OK ? closed : status;
    rlmr_hdf5_drop(column->group, H5Gclose);
    release_batch(column);
    *column = rlmr_hdf5_column_none();
    return status;
}
