#include "rlmr/hdf5_sink.h"

#include "hdf5_driver.h"
#include "hdf5_table.h"
#include "target.h"

#include <stdlib.h>

struct rlmr_hdf5 {
    rlmr_target target;
    rlmr_hdf5_driver *driver;
    rlmr_hdf5_types types;
    hid_t id;
    rlmr_hdf5_table table;
    rlmr_error error; /* the first one; after it the file can only be given up */
};

static rlmr_status forward(const rlmr_error *from, rlmr_error *to) {
    if (to != NULL && to->code == RLMR_OK) {
        *to = *from;
    }
    return from->code;
}

/* How every writing function ends: `status` is its own result, with its text in file->error. A write that
 * failed meanwhile is known to the driver only; it is the cause if there are both. */
static rlmr_status settle(rlmr_hdf5 *file, rlmr_status status, rlmr_error *err) {
    int sys_errno = rlmr_hdf5_driver_errno(file->driver);
    if (sys_errno != 0) {
        rlmr_error_clear(&file->error);
        (void)rlmr_error_set_errno(&file->error, RLMR_E_OUTPUT, sys_errno, "cannot write %s%s",
                                   file->target.path, rlmr_target_cure(sys_errno));
    } else if (status != RLMR_OK) {
        rlmr_error_prefix(&file->error, "cannot write %s: ", file->target.path);
    }
    return forward(&file->error, err);
}

static rlmr_status begin(void *self, const rlmr_schema *schema, rlmr_error *err) {
    rlmr_hdf5 *file = self;
    if (file->error.code != RLMR_OK) {
        return forward(&file->error, err);
    }
    rlmr_status status = RLMR_OK;
    if (file->table.schema != NULL) {
        status = rlmr_error_set(&file->error, RLMR_E_OUTPUT, "table %s begins before table %s has ended",
                                schema->name, file->table.schema->name);
    } else {
        status = rlmr_hdf5_table_open(file->id, schema, &file->types, &file->table, &file->error);
    }
    return settle(file, status, err);
}

/* The guard of the calls between begin() and end(). */
static bool is_writing(rlmr_hdf5 *file) {
    if (file->error.code == RLMR_OK && file->table.schema == NULL) {
        (void)rlmr_error_set(&file->error, RLMR_E_OUTPUT, "cannot write %s: no table has begun",
                             file->target.path);
    }
    return file->error.code == RLMR_OK;
}

static rlmr_status categories(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    rlmr_hdf5 *file = self;
    if (!is_writing(file)) {
        return forward(&file->error, err);
    }
    rlmr_status status =
        rlmr_hdf5_table_append_texts(&file->table, &file->types, column, texts, count, &file->error);
    return settle(file, status, err);
}

static rlmr_status chunk(void *self, const rlmr_chunk *packed, rlmr_error *err) {
    rlmr_hdf5 *file = self;
    if (!is_writing(file)) {
        return forward(&file->error, err);
    }
    rlmr_status status = rlmr_hdf5_table_complete_texts(&file->table, &file->types, &file->error);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_table_append_chunk(&file->table, packed, &file->error);
    }
    return settle(file, status, err);
}

static rlmr_status end(void *self, rlmr_error *err) {
    rlmr_hdf5 *file = self;
    if (!is_writing(file)) {
        return forward(&file->error, err);
    }
    rlmr_status status = rlmr_hdf5_table_complete_texts(&file->table, &file->types, &file->error);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_table_close(&file->table, &file->error);
    }
    return settle(file, status, err);
}

rlmr_sink rlmr_hdf5_sink(rlmr_hdf5 *file) {
    return (rlmr_sink){.begin = begin, .categories = categories, .chunk = chunk, .end = end, .self = file};
}

/* The format versions are those that libraries since 1.8 read. The root group has no time, which would make
 * two runs differ. */
static rlmr_status create_file(rlmr_hdf5 *file) {
    rlmr_status status = RLMR_OK;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    if (access < 0 || creation < 0 || H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0 ||
        H5Pset_obj_track_times(creation, false) < 0) {
        status = rlmr_hdf5_failed(&file->error, "cannot be set up");
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_driver_attach(file->driver, access, &file->error);
    }
    if (status == RLMR_OK) {
        file->id = H5Fcreate(file->target.temporary, H5F_ACC_TRUNC, creation, access);
        if (file->id < 0) {
            status = rlmr_hdf5_failed(&file->error, "cannot be created");
        }
    }
    rlmr_hdf5_drop(creation, H5Pclose);
    rlmr_hdf5_drop(access, H5Pclose);
    return status;
}

static rlmr_hdf5 *allocate(void) {
    rlmr_hdf5 *file = calloc(1, sizeof *file);
    if (file != NULL) {
        file->types = rlmr_hdf5_types_none();
        file->id = H5I_INVALID_HID;
        file->table = rlmr_hdf5_table_none();
        rlmr_error_clear(&file->error);
    }
    return file;
}

rlmr_status rlmr_hdf5_create(const char *target, bool replace, rlmr_hdf5 **out, rlmr_error *err) {
    rlmr_hdf5 *file = allocate();
    if (file == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the output file");
    }
    rlmr_hdf5_silence();
    rlmr_status status = rlmr_target_open(target, replace, &file->target, err);
    if (status == RLMR_OK) {
        status = rlmr_hdf5_driver_open(file->target.descriptor, &file->driver, err);
    }
    if (status == RLMR_OK) {
        status = rlmr_hdf5_types_open(&file->types, err);
    }
    if (status == RLMR_OK) {
        status = settle(file, create_file(file), err);
    }
    if (status != RLMR_OK) {
        rlmr_hdf5_discard(file);
        return status;
    }
    *out = file;
    return RLMR_OK;
}

const char *rlmr_hdf5_temporary(const rlmr_hdf5 *file) {
    return file->target.temporary;
}

rlmr_status rlmr_hdf5_attribute_text(rlmr_hdf5 *file, const char *name, const char *value, rlmr_error *err) {
    if (file->error.code != RLMR_OK) {
        return forward(&file->error, err);
    }
    return settle(file, rlmr_hdf5_string(file->id, &file->types, name, value, &file->error), err);
}

rlmr_status rlmr_hdf5_attribute_i64(rlmr_hdf5 *file, const char *name, int64_t value, rlmr_error *err) {
    if (file->error.code != RLMR_OK) {
        return forward(&file->error, err);
    }
    rlmr_status status =
        rlmr_hdf5_attribute(file->id, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value, &file->error);
    return settle(file, status, err);
}

rlmr_status rlmr_hdf5_attribute_f64(rlmr_hdf5 *file, const char *name, double value, rlmr_error *err) {
    if (file->error.code != RLMR_OK) {
        return forward(&file->error, err);
    }
    rlmr_status status =
        rlmr_hdf5_attribute(file->id, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, &file->error);
    return settle(file, status, err);
}

/* Whatever is left of an unfinished table goes first: HDF5 would keep a file alive for its objects. */
static rlmr_status close_hdf5(rlmr_hdf5 *file, rlmr_error *err) {
    rlmr_status status = rlmr_hdf5_table_close(&file->table, err);
    rlmr_hdf5_types_close(&file->types);
    if (file->id >= 0 && H5Fclose(file->id) < 0) {
        status = rlmr_hdf5_failed(err, "cannot be closed");
        rlmr_hdf5_driver_abandon(file->driver);
    }
    file->id = H5I_INVALID_HID;
    return status;
}

rlmr_status rlmr_hdf5_commit(rlmr_hdf5 *file, rlmr_error *err) {
    if (file->error.code == RLMR_OK && file->table.schema != NULL) {
        (void)rlmr_error_set(&file->error, RLMR_E_OUTPUT, "cannot write %s: table %s has not ended",
                             file->target.path, file->table.schema->name);
    }
    rlmr_status status = forward(&file->error, err);
    if (status == RLMR_OK) {
        status = settle(file, close_hdf5(file, &file->error), err);
    }
    if (status == RLMR_OK) {
        status = rlmr_target_publish(&file->target, err);
    }
    rlmr_hdf5_discard(file);
    return status;
}

void rlmr_hdf5_discard(rlmr_hdf5 *file) {
    if (file == NULL) {
        return;
    }
    (void)close_hdf5(file, NULL);
    rlmr_hdf5_driver_close(file->driver);
    rlmr_target_release(&file->target);
    free(file);
}
