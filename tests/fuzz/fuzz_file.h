/** An input as a file for readers that take a path; linked with -Wl,--wrap=read, which makes the reads short. */
#ifndef RLMR_FUZZ_FILE_H
#define RLMR_FUZZ_FILE_H

#include "fuzz.h"

typedef struct {
    int descriptor; /* of a file in memory */
    char *path;     /* through which it can be opened */
    char *link;     /* the same with .gz at its end, NULL if it has none */
} fuzz_file;

fuzz_file fuzz_file_open(const void *data, size_t bytes);

/** The same bytes packed by gzip, under a name that says so. */
fuzz_file fuzz_file_open_packed(const void *data, size_t bytes);

/** The bytes behind so many blanks and a line end that a piece of the reader ends inside them, by `choice`.
 *  @param shift out: bytes before them */
fuzz_file fuzz_file_open_late(const void *data, size_t bytes, uint64_t choice, int64_t *shift);

/** Whether the bytes begin with a UTF-8 byte order mark, which must not come late. */
bool fuzz_has_mark(const void *data, size_t bytes);

void fuzz_file_close(fuzz_file *file);

/** The most that one read gives from now on, 0 for no limit. */
void fuzz_file_limit_reads(size_t bytes);

#endif
