/* layer: io */
/** A file that appears whole or not at all: a temporary beside its target, renamed onto it when it is
 *  complete. */
#ifndef RLMR_TARGET_H
#define RLMR_TARGET_H

#include "rlmr/error.h"

#include <stdbool.h>

typedef struct {
    char *path;
    char *directory;
    char *temporary; /**< NULL as soon as the file has its final name */
    bool replace;
    int descriptor; /**< of the temporary, for reading and writing */
} rlmr_target;

/** Whether a file may be written there: nothing is, or with `replace` a regular file. @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_target_check(const char *path, bool replace, rlmr_error *err);

/** Create the temporary, empty.
 *
 *  @param path     path of the final file, borrowed for the call
 *  @param replace  false: an existing file is an error, now and in rlmr_target_publish()
 *  @param out      rlmr_target_release() in every case
 *  @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_target_open(const char *path, bool replace, rlmr_target *out,
                                             rlmr_error *err);

/** Bring the content to the disk and give the file its final name; the descriptor is closed. @return OK,
 *  E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_target_publish(rlmr_target *target, rlmr_error *err);

/** Remove the temporary if it is still there, and free. */
void rlmr_target_release(rlmr_target *target);

/** What a user can do about an errno of writing, as " (...)"; empty if there is nothing to advise. */
const char *rlmr_target_cure(int sys_errno);

#endif
