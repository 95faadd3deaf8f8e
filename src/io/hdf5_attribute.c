#include "hdf5_attribute.h"

#include <stdint.h>

/* Of every kind of element that is written. */
static const char encoding_version[] = "0.2.0";

static hid_t text_type(void) {
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
                      H5Tset_strpad(type, H5T_STR_NULLTERM) < 0)) {
        rlmr_hdf5_drop(type, H5Tclose);
        type = H5I_INVALID_HID;
    }
    return type;
}

static hid_t boolean_type(void) {
    int8_t no = 0;
    int8_t yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    if (type >= 0 && (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)) {
        rlmr_hdf5_drop(type, H5Tclose);
        type = H5I_INVALID_HID;
    }
    return type;
}

rlmr_hdf5_types rlmr_hdf5_types_none(void) {
    return (rlmr_hdf5_types){.text = H5I_INVALID_HID, .boolean = H5I_INVALID_HID};
}

rlmr_status rlmr_hdf5_types_open(rlmr_hdf5_types *out, rlmr_error *err) {
    *out = rlmr_hdf5_types_none();
    out->text = text_type();
    if (out->text < 0) {
        return rlmr_hdf5_failed(err, "cannot make the text type");
    }
    out->boolean = boolean_type();
    if (out->boolean < 0) {
        return rlmr_hdf5_failed(err, "cannot make the boolean type");
    }
    return RLMR_OK;
}

void rlmr_hdf5_types_close(rlmr_hdf5_types *types) {
    rlmr_hdf5_drop(types->text, H5Tclose);
    rlmr_hdf5_drop(types->boolean, H5Tclose);
    *types = rlmr_hdf5_types_none();
}

/* Takes over `space`, which may be invalid. `value` may be NULL if the space has no element. */
static rlmr_status write_attribute(hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                                   hid_t space, const void *value, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    hid_t attribute = H5I_INVALID_HID;
    if (space >= 0) {
        attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (attribute < 0 || (value != NULL && H5Awrite(attribute, memory_type, value) < 0)) {
        status = rlmr_hdf5_failed(err, "attribute %s", name);
    }
    rlmr_hdf5_drop(attribute, H5Aclose);
    rlmr_hdf5_drop(space, H5Sclose);
    return status;
}

rlmr_status rlmr_hdf5_attribute(hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                                const void *value, rlmr_error *err) {
    return write_attribute(object, name, file_type, memory_type, H5Screate(H5S_SCALAR), value, err);
}

rlmr_status rlmr_hdf5_string(hid_t object, const rlmr_hdf5_types *types, const char *name, const char *value,
                             rlmr_error *err) {
    return rlmr_hdf5_attribute(object, name, types->text, types->text, &value, err);
}

rlmr_status rlmr_hdf5_strings(hid_t object, const rlmr_hdf5_types *types, const char *name,
                              const char *const *values, size_t count, rlmr_error *err) {
    hsize_t size = count;
    return write_attribute(object, name, types->text, types->text, H5Screate_simple(1, &size, NULL),
                           count == 0 ? NULL : values, err);
}

rlmr_status rlmr_hdf5_encoding(hid_t object, const rlmr_hdf5_types *types, const char *encoding,
                               rlmr_error *err) {
    rlmr_status status = rlmr_hdf5_string(object, types, "encoding-type", encoding, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_string(object, types, "encoding-version", encoding_version, err);
    }
    return status;
}
