/** A file in a directory of its own, for a test that reads it. */
#ifndef RLMR_TEMP_FILE_H
#define RLMR_TEMP_FILE_H

#include "rlmr/bytes.h"

typedef struct {
    char *directory;
    char *path;
} temp_file;

/** The directory, and the path of a file in it that is not there yet. */
temp_file temp_file_open(const char *name);

/** Make the file, or replace it. */
void temp_file_write(const temp_file *made, rlmr_slice content);

/** Remove the directory with all that is in it. */
void temp_file_remove(temp_file *made);

#endif
