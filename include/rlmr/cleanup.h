/* layer: cli */
/** What SIGTERM, SIGINT and SIGHUP do: remove the temporary file, say so, end with exit code 1.
 *
 *  Signals interrupt a process anywhere, also inside MPI or HDF5, so the handler uses nothing but
 *  async-signal-safe calls and one path that was put aside before; mpirun ends the other processes. */
#ifndef RLMR_CLEANUP_H
#define RLMR_CLEANUP_H

#include "rlmr/error.h"

/** Install the handlers, and let a write beyond the file size limit, or into a closed pipe, be an
 *  error, not a death.
 *  @param message line that a signal prints last, borrowed for good; NULL for none */
void rlmr_cleanup_install(const char *message);

/** For a program that reads files of unknown origin with a library that such files can make crash: a crash, too, removes the file
 *  and ends the process with exit code 1. @param message line that is printed last, borrowed for good */
void rlmr_cleanup_crashes(const char *message);

/** A file to remove is about to be made, instead of the one before if there was one, which has its final name by now: until
 *  rlmr_cleanup_file() a signal is put off. */
void rlmr_cleanup_put_off(void);

/** Remember the file to remove, and let signals end the process again, at once if one was put off.
 *  @param path NULL if there is none  @return OK or E_OUTPUT (longer than a path can be) */
RLMR_MUST_CHECK rlmr_status rlmr_cleanup_file(const char *path, rlmr_error *err);

/** The result is decided: from here to the end of the process the signals do nothing. So a rename is done or not begun, and
 *  a process that mpirun ends because another has left before it does not contradict what it has said. */
void rlmr_cleanup_end(void);

#endif
