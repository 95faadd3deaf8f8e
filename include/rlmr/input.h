/* layer: io */
/** Reading a file piece by piece, and listing a directory. Inputs are opened read-only and never changed. Errors give
 *  the reason without the path: what a capture's message holds must not depend on where the capture lies. */
#ifndef RLMR_INPUT_H
#define RLMR_INPUT_H

#include "rlmr/stream.h"

typedef struct rlmr_input rlmr_input;

/** Open a regular file; one whose name ends in .gz is unpacked while it is read (zlib).
 *  @param meter told of the file's own bytes with each piece, NULL for none; borrowed until close
 *  @param out owned by the caller, rlmr_input_close()
 *  @return OK, E_NOMEM, E_INPUT (absent, not readable, not a regular file) */
RLMR_MUST_CHECK rlmr_status rlmr_input_open(const char *path, const rlmr_meter *meter, rlmr_input **out,
                                            rlmr_error *err);
void rlmr_input_close(rlmr_input *input);

/** The next piece, valid until the next call; no bytes at the end of the file.
 *  @return OK, E_INPUT (read error), E_PARSE (damaged gzip data), or what the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_input_read(rlmr_input *input, rlmr_slice *piece, rlmr_error *err);

/** Bytes in all pieces before the one read last: the offset of its first byte, in the unpacked text of a .gz
 *  file. */
int64_t rlmr_input_offset(const rlmr_input *input);

typedef enum {
    RLMR_ENTRY_FILE,
    RLMR_ENTRY_DIRECTORY,
    RLMR_ENTRY_LINKED_DIRECTORY,
    RLMR_ENTRY_OTHER
} rlmr_entry_kind;

typedef struct {
    char *name;
    rlmr_entry_kind kind; /**< a symbolic link to a file counts as the file */
    int64_t bytes;        /**< of a file */
} rlmr_entry;

typedef struct {
    rlmr_entry *entries; /**< by name, bytewise, whatever order the file system has; without "." and ".." */
    size_t count;
} rlmr_directory;

/** @param out owned by the caller, rlmr_directory_release()  @return OK, E_NOMEM, E_INPUT */
RLMR_MUST_CHECK rlmr_status rlmr_directory_list(const char *path, rlmr_directory *out, rlmr_error *err);
void rlmr_directory_release(rlmr_directory *directory);

#endif
