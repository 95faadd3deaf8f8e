/* layer: io */
/** The HDF5 file driver under the output file.
 *
 *  HDF5 cannot close a file whose writes fail: its handle stays half alive, every further close and the end
 *  of the process try again, and may crash. So this driver, which otherwise does what HDF5's own POSIX driver
 *  does, never tells HDF5 about a failed write. It keeps the errno for us to ask for, and from then on keeps
 *  what HDF5 writes in memory, where HDF5 also finds it again, until the file is closed in good order. That is
 *  at most what HDF5 holds in its caches plus one write, since nobody goes on writing to a file that has
 *  failed.
 *
 *  It works on a descriptor that it is given, so no second open() by name can hit another file, and it takes
 *  no lock: some parallel file systems refuse them, and the file has a name of its own.
 */
#ifndef RLMR_HDF5_DRIVER_H
#define RLMR_HDF5_DRIVER_H

#include "rlmr/error.h"

#include <hdf5.h>

typedef struct rlmr_hdf5_driver rlmr_hdf5_driver;

/** @param descriptor  of an empty file open for reading and writing; borrowed until rlmr_hdf5_driver_close()
 *  @param out         owned by the caller
 *  @return OK, E_NOMEM or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_driver_open(int descriptor, rlmr_hdf5_driver **out, rlmr_error *err);

/** Make files opened with this access list use the driver; `driver` must outlive them. @return OK or E_OUTPUT
 */
RLMR_MUST_CHECK rlmr_status rlmr_hdf5_driver_attach(rlmr_hdf5_driver *driver, hid_t access, rlmr_error *err);

/** errno of the first write that failed, 0 if all are in the file. */
int rlmr_hdf5_driver_errno(const rlmr_hdf5_driver *driver);

/** For a file that HDF5 failed to close, and may still call about: the driver no longer uses the descriptor,
 *  and rlmr_hdf5_driver_close() leaves it in memory for good. */
void rlmr_hdf5_driver_abandon(rlmr_hdf5_driver *driver);

/** Free the driver; NULL is allowed. The HDF5 file is closed already. */
void rlmr_hdf5_driver_close(rlmr_hdf5_driver *driver);

#endif
