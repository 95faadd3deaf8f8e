#include "hdf5_input.h"

#include "rlmr/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES_MAX = 64 << 20, /* a chunk is read as a whole; ours have 512 KiB */
    EXPANSION_MAX = 1100,       /* deflate makes at most 1032 bytes of one */
    BATCH_TEXTS = 256,          /* texts of one read */
};

/* The innermost function of HDF5 knows why, but E_OUTPUT is not ours to report. */
static rlmr_status unreadable(rlmr_error *err, const char *what) {
    rlmr_error cause;
    rlmr_error_clear(&cause);
    (void)rlmr_hdf5_failed(&cause, "%s", what);
    return rlmr_error_set(err, RLMR_E_PARSE, "%s", cause.message);
}

static bool is_in_file(hid_t parent, const char *name) {
    H5L_info_t link;
    return H5Lget_info(parent, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

/* Groups and datasets have their own functions to open and to close them. */
static hid_t open_kind(hid_t parent, const char *name, H5I_type_t kind) {
    if (strchr(name, '/') != NULL || !is_in_file(parent, name)) {
        return H5I_INVALID_HID;
    }
    hid_t object = H5Oopen(parent, name, H5P_DEFAULT);
    if (object >= 0 && H5Iget_type(object) != kind) {
        rlmr_hdf5_drop(object, H5Oclose);
        return H5I_INVALID_HID;
    }
    return object;
}

rlmr_status rlmr_hdf5_input_group(hid_t parent, const char *name, hid_t *out, rlmr_error *err) {
    *out = open_kind(parent, name, H5I_GROUP);
    return *out < 0 ? rlmr_error_set(err, RLMR_E_PARSE, "there is no group \"%s\"", name) : RLMR_OK;
}

bool rlmr_hdf5_input_is_group(hid_t parent, const char *name) {
    hid_t group = open_kind(parent, name, H5I_GROUP);
    rlmr_hdf5_drop(group, H5Oclose);
    return group >= 0;
}

static bool is_variable_text(hid_t type) {
    return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

/* For reading; the character set must be the file's, or HDF5 refuses. */
static hid_t text_memory_type(hid_t file_type) {
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5Tget_cset(file_type)) < 0)) {
        rlmr_hdf5_drop(type, H5Tclose);
        return H5I_INVALID_HID;
    }
    return type;
}

static rlmr_status append_text(const char *text, rlmr_bytes *texts, rlmr_error *err) {
    const char *kept = text == NULL ? "" : text; /* HDF5's way to store an empty one */
    if (!rlmr_utf8_is_clean(rlmr_slice_of(kept))) {
        return rlmr_error_set(err, RLMR_E_PARSE, "a text is not UTF-8");
    }
    return rlmr_bytes_append(texts, kept, strlen(kept) + 1, err);
}

static rlmr_status read_attribute_texts(hid_t attribute, hid_t type, hid_t space, size_t count,
                                        rlmr_bytes *texts, rlmr_error *err) {
    char **values = calloc(count + 1, sizeof *values);
    if (values == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu texts", count);
    }
    hid_t memory_type = text_memory_type(type);
    rlmr_status status = RLMR_OK;
    if (memory_type < 0 || (count > 0 && H5Aread(attribute, memory_type, values) < 0)) {
        status = unreadable(err, "it cannot be read");
    }
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = append_text(values[i], texts, err);
    }
    if (memory_type >= 0 && count > 0) {
        (void)H5Dvlen_reclaim(memory_type, space, H5P_DEFAULT, values);
    }
    rlmr_hdf5_drop(memory_type, H5Tclose);
    free(values);
    return status;
}

rlmr_status rlmr_hdf5_input_texts(hid_t object, const char *name, size_t count_max, rlmr_bytes *texts,
                                  size_t *count, rlmr_error *err) {
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? H5I_INVALID_HID : H5Aget_space(attribute);
    hssize_t entries = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    rlmr_status status = RLMR_OK;
    if (type < 0 || entries < 0 || (uint64_t)entries > count_max || !is_variable_text(type)) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "there is no text, or not of the right form");
    } else {
        *count = (size_t)entries;
        status = read_attribute_texts(attribute, type, space, *count, texts, err);
    }
    rlmr_hdf5_drop(space, H5Sclose);
    rlmr_hdf5_drop(type, H5Tclose);
    rlmr_hdf5_drop(attribute, H5Aclose);
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "attribute %s: ", name);
    }
    return status;
}

rlmr_status rlmr_hdf5_input_integer(hid_t object, const char *name, int64_t *value, rlmr_error *err) {
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? H5I_INVALID_HID : H5Aget_space(attribute);
    bool good = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_INTEGER &&
                H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, H5T_NATIVE_INT64, value) >= 0;
    rlmr_hdf5_drop(space, H5Sclose);
    rlmr_hdf5_drop(type, H5Tclose);
    rlmr_hdf5_drop(attribute, H5Aclose);
    return good ? RLMR_OK : rlmr_error_set(err, RLMR_E_PARSE, "attribute %s: there is no integer", name);
}

/* ---- Datasets ---- */

rlmr_hdf5_input rlmr_hdf5_input_none(void) {
    return (rlmr_hdf5_input){.id = H5I_INVALID_HID, .memory_type = H5I_INVALID_HID};
}

static bool integer_type(hid_t type, rlmr_type *out) {
    bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (H5Tget_size(type)) {
    case 8:
        *out = RLMR_TYPE_I64;
        return is_signed;
    case 4:
        *out = RLMR_TYPE_I32;
        return is_signed;
    case 1:
        *out = RLMR_TYPE_U8;
        return !is_signed;
    default:
        return false;
    }
}

static bool our_type(hid_t type, rlmr_type *out) {
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return integer_type(type, out);
    case H5T_FLOAT:
        *out = RLMR_TYPE_F64;
        return H5Tget_size(type) == sizeof(double);
    case H5T_STRING:
        *out = RLMR_TYPE_TEXT;
        return H5Tis_variable_str(type) > 0;
    default: /* of HDF5's many classes */
        return false;
    }
}

static hid_t native_type(hid_t file_type, rlmr_type type) {
    switch (type) {
    case RLMR_TYPE_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case RLMR_TYPE_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case RLMR_TYPE_U8:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case RLMR_TYPE_F64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case RLMR_TYPE_TEXT:
        return text_memory_type(file_type);
    }
    return H5I_INVALID_HID;
}

static rlmr_status set_type(rlmr_hdf5_input *input, rlmr_type *type, rlmr_error *err) {
    hid_t file_type = H5Dget_type(input->id);
    rlmr_status status = RLMR_OK;
    if (file_type < 0 || !our_type(file_type, type)) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "its values have a type that no column has");
    } else {
        input->element_bytes = *type == RLMR_TYPE_TEXT ? sizeof(char *) : rlmr_type_bytes(*type);
        input->memory_type = native_type(file_type, *type);
        status = input->memory_type < 0 ? unreadable(err, "its type cannot be read") : RLMR_OK;
    }
    rlmr_hdf5_drop(file_type, H5Tclose);
    return status;
}

static rlmr_status set_entries(rlmr_hdf5_input *input, rlmr_error *err) {
    hid_t space = H5Dget_space(input->id);
    hsize_t entries = 0;
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &entries, NULL) == 1;
    rlmr_hdf5_drop(space, H5Sclose);
    input->entries = entries;
    return good ? RLMR_OK : rlmr_error_set(err, RLMR_E_PARSE, "it is no column, which has one dimension");
}

static bool filters_are_known(hid_t creation) {
    int count = H5Pget_nfilters(creation);
    bool known = count >= 0;
    for (int i = 0; i < count && known; i++) {
        unsigned flags;
        unsigned configuration;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        known =
            filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
    }
    return known;
}

/* What is stored must be able to fill what is claimed: unwritten parts read as zeros without end. */
static rlmr_status check_storage(const rlmr_hdf5_input *input, hid_t creation, rlmr_error *err) {
    H5D_layout_t layout = H5Pget_layout(creation);
    hsize_t chunk = 0;
    uint64_t stored = H5Dget_storage_size(input->id);
    uint64_t file_bytes = input->element_bytes;
    if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) ||
        H5Pget_external_count(creation) != 0) {
        return rlmr_error_set(err, RLMR_E_PARSE, "its values lie outside of the file");
    }
    if (layout == H5D_CHUNKED &&
        (H5Pget_chunk(creation, 1, &chunk) != 1 || chunk > CHUNK_BYTES_MAX / file_bytes)) {
        return rlmr_error_set(err, RLMR_E_PARSE, "its chunks are too large");
    }
    if (!filters_are_known(creation)) {
        return rlmr_error_set(err, RLMR_E_PARSE, "it needs a filter that is not HDF5's own");
    }
    if (stored > UINT64_MAX / EXPANSION_MAX || input->entries / EXPANSION_MAX > stored / file_bytes) {
        return rlmr_error_set(err, RLMR_E_PARSE,
                              "it claims %" PRIu64 " entries, but stores %" PRIu64 " bytes", input->entries,
                              stored);
    }
    return RLMR_OK;
}

rlmr_status rlmr_hdf5_input_open(hid_t parent, const char *name, rlmr_type *type, rlmr_hdf5_input *out,
                                 rlmr_error *err) {
    *out = rlmr_hdf5_input_none();
    out->id = open_kind(parent, name, H5I_DATASET);
    if (out->id < 0) {
        return rlmr_error_set(err, RLMR_E_PARSE, "there is no dataset \"%s\"", name);
    }
    rlmr_status status = set_type(out, type, err);
    status = status == RLMR_OK ? set_entries(out, err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    hid_t creation = H5Dget_create_plist(out->id);
    status = creation < 0 ? unreadable(err, "it cannot be read") : check_storage(out, creation, err);
    rlmr_hdf5_drop(creation, H5Pclose);
    return status;
}

void rlmr_hdf5_input_close(rlmr_hdf5_input *input) {
    rlmr_hdf5_drop(input->memory_type, H5Tclose);
    rlmr_hdf5_drop(input->id, H5Dclose);
    *input = rlmr_hdf5_input_none();
}

static rlmr_status read_entries(const rlmr_hdf5_input *input, hid_t transfer, uint64_t first, size_t count,
                                void *values, rlmr_error *err) {
    hsize_t start = first;
    hsize_t more = count;
    hid_t memory = H5Screate_simple(1, &more, NULL);
    hid_t file = H5Dget_space(input->id);
    rlmr_status status = RLMR_OK;
    if (memory < 0 || file < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &more, NULL) < 0 ||
        H5Dread(input->id, input->memory_type, memory, file, transfer, values) < 0) {
        status = unreadable(err, "its values cannot be read");
    }
    rlmr_hdf5_drop(file, H5Sclose);
    rlmr_hdf5_drop(memory, H5Sclose);
    return status;
}

rlmr_status rlmr_hdf5_input_read(const rlmr_hdf5_input *input, uint64_t first, size_t count, void *values,
                                 rlmr_error *err) {
    return count == 0 ? RLMR_OK : read_entries(input, H5P_DEFAULT, first, count, values, err);
}

/* ---- Texts ---- */

/* HDF5 takes the memory of texts from here: many references to one long text would fill any memory, and texts read before an
 * error are forgotten by HDF5. */
typedef struct piece {
    struct piece *before;
    char text[];
} piece;

typedef struct {
    uint64_t left;
    bool exceeded;
    piece *last; /* of the batch that is read */
} allowance;

static void *take(size_t bytes, void *info) {
    allowance *texts = info;
    if (bytes > texts->left) {
        texts->exceeded = true;
        return NULL;
    }
    piece *taken = malloc(sizeof *taken + bytes);
    if (taken == NULL) {
        return NULL;
    }
    texts->left -= bytes;
    taken->before = texts->last;
    texts->last = taken;
    return taken->text;
}

/* All are given back together. */
static void give_back(void *text, void *info) {
    (void)text;
    (void)info;
}

static void release_pieces(allowance *texts) {
    while (texts->last != NULL) {
        piece *before = texts->last->before;
        free(texts->last);
        texts->last = before;
    }
}

static hid_t make_transfer(allowance *texts) {
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (transfer >= 0 && H5Pset_vlen_mem_manager(transfer, take, texts, give_back, texts) < 0) {
        rlmr_hdf5_drop(transfer, H5Pclose);
        return H5I_INVALID_HID;
    }
    return transfer;
}

static rlmr_status read_batch(const rlmr_hdf5_input *input, hid_t transfer, uint64_t first, size_t count,
                              rlmr_bytes *text, size_t *starts, rlmr_error *err) {
    char *values[BATCH_TEXTS] = {NULL};
    rlmr_status status = read_entries(input, transfer, first, count, values, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        starts[first + i] = text->bytes;
        status = append_text(values[i], text, err);
    }
    return status;
}

rlmr_status rlmr_hdf5_input_read_texts(const rlmr_hdf5_input *input, uint64_t bytes_max, rlmr_bytes *text,
                                       size_t **starts, rlmr_error *err) {
    if (input->entries > INT32_MAX) {
        return rlmr_error_set(err, RLMR_E_PARSE, "there are more than 2^31 - 1 texts");
    }
    size_t count = (size_t)input->entries;
    *starts = malloc((count + 1) * sizeof **starts);
    if (*starts == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu texts", count);
    }
    allowance texts = {.left = bytes_max};
    hid_t transfer = make_transfer(&texts);
    rlmr_status status = transfer < 0 ? unreadable(err, "its texts cannot be read") : RLMR_OK;
    for (size_t at = 0; at < count && status == RLMR_OK; at += BATCH_TEXTS) {
        size_t batch = count - at < BATCH_TEXTS ? count - at : BATCH_TEXTS;
        rlmr_error cause;
        rlmr_error_clear(&cause);
        status = read_batch(input, transfer, at, batch, text, *starts, &cause);
        release_pieces(&texts);
        if (status != RLMR_OK && texts.exceeded) {
            status = rlmr_error_set(err, RLMR_E_PARSE, "its texts are longer than the file");
        } else if (status != RLMR_OK && err != NULL && err->code == RLMR_OK) {
            *err = cause;
        }
    }
    if (status == RLMR_OK) {
        (*starts)[count] = text->bytes;
    }
    rlmr_hdf5_drop(transfer, H5Pclose);
    return status;
}
