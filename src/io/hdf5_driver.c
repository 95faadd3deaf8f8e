#include "hdf5_driver.h"

#include "hdf5_call.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A write that did not reach the file. */
typedef struct lost_write {
    struct lost_write *next;
    haddr_t at;
    size_t bytes;
    unsigned char data[];
} lost_write;

struct rlmr_hdf5_driver {
    hid_t id;
    int descriptor;
    int first_errno;
    bool abandoned;
    lost_write *lost; /* oldest first */
    lost_write **lost_end;
};

/* The file as HDF5 sees it. */
typedef struct {
    H5FD_t common; /* HDF5 requires it first */
    rlmr_hdf5_driver *driver;
    haddr_t eoa; /* end of what HDF5 has allocated */
    haddr_t eof; /* end of what it has written */
} open_file;

/* @return 0 or an errno */
static int put(int descriptor, const unsigned char *data, size_t bytes, haddr_t at) {
    while (bytes > 0) {
        ssize_t written = pwrite(descriptor, data, bytes, (off_t)at);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : EIO;
        }
        data += written;
        at += (haddr_t)written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Bytes past the end of the file are zero. @return 0 or an errno */
static int get(int descriptor, unsigned char *data, size_t bytes, haddr_t at) {
    while (bytes > 0) {
        ssize_t taken = pread(descriptor, data, bytes, (off_t)at);
        if (taken < 0 && errno == EINTR) {
            continue;
        }
        if (taken < 0) {
            return errno;
        }
        if (taken == 0) {
            memset(data, 0, bytes);
            return 0;
        }
        data += taken;
        at += (haddr_t)taken;
        bytes -= (size_t)taken;
    }
    return 0;
}

/* Without memory the write is dropped: HDF5 seldom reads back, and the file is given up already. */
static void keep_lost(rlmr_hdf5_driver *driver, haddr_t at, size_t bytes, const void *data) {
    lost_write *lost = malloc(sizeof *lost + bytes);
    if (lost == NULL) {
        return;
    }
    lost->next = NULL;
    lost->at = at;
    lost->bytes = bytes;
    memcpy(lost->data, data, bytes);
    *driver->lost_end = lost;
    driver->lost_end = &lost->next;
}

static void overlay_lost(const rlmr_hdf5_driver *driver, haddr_t at, size_t bytes, unsigned char *data) {
    for (const lost_write *lost = driver->lost; lost != NULL; lost = lost->next) {
        haddr_t first = lost->at > at ? lost->at : at;
        haddr_t lost_end = lost->at + lost->bytes;
        haddr_t end = lost_end < at + bytes ? lost_end : at + bytes;
        if (first < end) {
            memcpy(data + (first - at), lost->data + (first - lost->at), (size_t)(end - first));
        }
    }
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t max_address) {
    (void)name;
    (void)flags;
    (void)max_address;
    rlmr_hdf5_driver *const *driver = H5Pget_driver_info(access);
    if (driver == NULL) {
        return NULL;
    }
    open_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        (*driver)->first_errno = ENOMEM; /* HDF5 would only say that it cannot open the file */
        return NULL;
    }
    file->driver = *driver;
    return &file->common;
}

static herr_t driver_close(H5FD_t *common) {
    free((open_file *)common);
    return 0;
}

/* Those of HDF5's POSIX driver, on which the layout of the file depends. */
static herr_t driver_query(const H5FD_t *common, unsigned long *flags) {
    (void)common;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *common, H5FD_mem_t type) {
    (void)type;
    return ((const open_file *)common)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *common, H5FD_mem_t type, haddr_t address) {
    (void)type;
    ((open_file *)common)->eoa = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *common, H5FD_mem_t type) {
    (void)type;
    return ((const open_file *)common)->eof;
}

static herr_t driver_read(H5FD_t *common, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes,
                          void *data) {
    (void)type;
    (void)transfer;
    rlmr_hdf5_driver *driver = ((open_file *)common)->driver;
    int sys_errno = get(driver->descriptor, data, bytes, at);
    if (sys_errno != 0) {
        if (driver->first_errno == 0) {
            driver->first_errno = sys_errno;
        }
        return -1;
    }
    overlay_lost(driver, at, bytes, data);
    return 0;
}

static herr_t driver_write(H5FD_t *common, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes,
                           const void *data) {
    (void)type;
    (void)transfer;
    open_file *file = (open_file *)common;
    rlmr_hdf5_driver *driver = file->driver;
    if (driver->first_errno == 0) {
        driver->first_errno = put(driver->descriptor, data, bytes, at);
    }
    if (driver->first_errno != 0) {
        keep_lost(driver, at, bytes, data);
    }
    if (file->eof < at + bytes) {
        file->eof = at + bytes;
    }
    return 0;
}

/* HDF5 asks for it when it flushes and closes: the file ends where the allocated space ends. */
static herr_t driver_truncate(H5FD_t *common, hid_t transfer, hbool_t closing) {
    (void)transfer;
    (void)closing;
    open_file *file = (open_file *)common;
    rlmr_hdf5_driver *driver = file->driver;
    if (file->eof != file->eoa && driver->first_errno == 0 &&
        ftruncate(driver->descriptor, (off_t)file->eoa) != 0) {
        driver->first_errno = errno;
    }
    file->eof = file->eoa;
    return 0;
}

static const H5FD_class_t driver_class = {
    .name = "rlmr",
    .maxaddr = INT64_MAX, /* of off_t */
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(rlmr_hdf5_driver *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

rlmr_status rlmr_hdf5_driver_open(int descriptor, rlmr_hdf5_driver **out, rlmr_error *err) {
    rlmr_hdf5_driver *driver = calloc(1, sizeof *driver);
    if (driver == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the output file");
    }
    driver->descriptor = descriptor;
    driver->lost_end = &driver->lost;
    driver->id = H5FDregister(&driver_class);
    if (driver->id < 0) {
        free(driver);
        return rlmr_hdf5_failed(err, "cannot register the file driver");
    }
    *out = driver;
    return RLMR_OK;
}

rlmr_status rlmr_hdf5_driver_attach(rlmr_hdf5_driver *driver, hid_t access, rlmr_error *err) {
    if (H5Pset_driver(access, driver->id, &driver) < 0) {
        return rlmr_hdf5_failed(err, "cannot set the file driver");
    }
    return RLMR_OK;
}

int rlmr_hdf5_driver_errno(const rlmr_hdf5_driver *driver) {
    return driver->first_errno;
}

void rlmr_hdf5_driver_abandon(rlmr_hdf5_driver *driver) {
    driver->abandoned = true;
    driver->descriptor = -1;
}

void rlmr_hdf5_driver_close(rlmr_hdf5_driver *driver) {
    if (driver == NULL || driver->abandoned) {
        return;
    }
    rlmr_hdf5_drop(driver->id, H5FDunregister);
    while (driver->lost != NULL) {
        lost_write *next = driver->lost->next;
        free(driver->lost);
        driver->lost = next;
    }
    free(driver);
}
