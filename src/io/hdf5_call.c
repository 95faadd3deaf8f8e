#include "hdf5_call.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    char description[512];
} innermost;

void rlmr_hdf5_silence(void) {
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* H5E_WALK_UPWARD begins with the function that found the error, which is the one that names the cause. */
static herr_t keep_innermost(unsigned place, const H5E_error2_t *entry, void *data) {
    innermost *found = data;
    if (place == 0) {
        (void)snprintf(found->description, sizeof found->description, "%s (HDF5, %s)",
                       entry->desc == NULL ? "no description" : entry->desc,
                       entry->func_name == NULL ? "unknown function" : entry->func_name);
    }
    return 0;
}

rlmr_status rlmr_hdf5_failed(rlmr_error *err, const char *format, ...) {
    innermost found = {.description = "unknown error of HDF5"};
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &found);
    char what[RLMR_ERROR_TEXT_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return rlmr_error_set(err, RLMR_E_OUTPUT, "%s: %s", what, found.description);
}

void rlmr_hdf5_drop(hid_t id, herr_t (*closer)(hid_t)) {
    if (id < 0) {
        return;
    }
    hid_t errors = H5Eget_current_stack();
    (void)closer(id);
    if (errors >= 0) {
        (void)H5Eset_current_stack(errors);
    }
}

rlmr_status rlmr_hdf5_group(hid_t parent, const char *name, hid_t *out, rlmr_error *err) {
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    *out = H5I_INVALID_HID;
    if (creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0) {
        *out = H5Gcreate2(parent, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    rlmr_hdf5_drop(creation, H5Pclose);
    return *out < 0 ? rlmr_hdf5_failed(err, "cannot be created") : RLMR_OK;
}
