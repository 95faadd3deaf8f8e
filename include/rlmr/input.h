/* layer: io */
/** Reading a file piece by piece, and listing a directory. Inputs are opened read-only and never changed. Errors give
 *  the reason without the path: what a capture's message holds must not depend on where the capture lies. */
#ifndef RLMR_INPUT_H
#define RLMR_INPUT_H

#include "rlmr/stream.h"

typedef struct rlmr_input rlmr_input;

/** Open a regular file; one whose name ends in .gz is unpacked while it is read (zlib, one member or several).
 *  @param meter told of the file's own bytes with each piece, NULL for none; borrowed until close
 *  @param out owned by the caller, rlmr_input_close()
 *  @return OK, E_NOMEM, E_INPUT (absent, not readable, not a regular file) */
RLMR_MUST_CHECK rlmr_status rlmr_input_open(const char *path, const rlmr_meter *meter, rlmr_input **out,
                                            rlmr_error *err);
void rlmr_input_close(rlmr_input *input);

/** Read the next piece; no bytes at the end of the file. What was got before stays valid only from the kept offset on, and
 *  moves. How the file system delivers the bytes does not show: but for the last one all pieces of a file have one size.
 *  @return OK, E_NOMEM, E_INPUT (read error, or the file has become shorter since it was opened), E_PARSE (damaged gzip data, or
 *  something else behind it; err->offset says where), or what the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_input_read(rlmr_input *input, rlmr_slice *piece, rlmr_error *err);

/** Go on at byte `offset` of the file, which is not packed; nothing that was got stays.
 *  @return OK or E_INPUT */
RLMR_MUST_CHECK rlmr_status rlmr_input_seek(rlmr_input *input, int64_t offset, rlmr_error *err);

/** Bytes of the file when it was opened, packed or not. */
int64_t rlmr_input_size(const rlmr_input *input);
bool rlmr_input_is_packed(const rlmr_input *input);

/** Offset in the file of the first byte of the piece read last, and of the byte behind it; in the unpacked text of a .gz
 *  file. */
int64_t rlmr_input_offset(const rlmr_input *input);
int64_t rlmr_input_end(const rlmr_input *input);

/** The piece read last, without the UTF-8 byte order mark with which the file may begin. */
rlmr_slice rlmr_input_text(const rlmr_input *input);

/** Have the next read, and only that, keep what was got from `offset` on, so that it can be looked at again. */
void rlmr_input_keep(rlmr_input *input, int64_t offset);

/** All bytes from `offset`, which is kept or in the last piece, to the end of that; valid until the next read. */
rlmr_slice rlmr_input_from(const rlmr_input *input, int64_t offset);

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
