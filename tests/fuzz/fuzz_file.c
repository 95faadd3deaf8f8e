#include "fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

/* Of src/io/input.c. Were it another number there, the end of a piece would only be met less often. */
#define PIECE_BYTES ((size_t)256 * 1024)

static size_t read_limit; /* the wrapped call has no other input */

ssize_t __real_read(int descriptor, void *data, size_t bytes); // NOLINT: named by the linker
ssize_t __wrap_read(int descriptor, void *data, size_t bytes); // NOLINT

ssize_t __wrap_read(int descriptor, void *data, size_t bytes) { // NOLINT
    return __real_read(descriptor, data, read_limit > 0 && bytes > read_limit ? read_limit : bytes);
}

void fuzz_file_limit_reads(size_t bytes) {
    read_limit = bytes;
}

static fuzz_file open_memory(void) {
    fuzz_file file = {.descriptor = memfd_create("input", MFD_CLOEXEC)};
    FUZZ_REQUIRE(file.descriptor >= 0);
    FUZZ_REQUIRE(asprintf(&file.path, "/proc/self/fd/%d", file.descriptor) > 0);
    return file;
}

fuzz_file fuzz_file_open(const void *data, size_t bytes) {
    fuzz_file file = open_memory();
    FUZZ_REQUIRE(bytes == 0 || write(file.descriptor, data, bytes) == (ssize_t)bytes);
    return file;
}

bool fuzz_has_mark(const void *data, size_t bytes) {
    return bytes >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0;
}

fuzz_file fuzz_file_open_late(const void *data, size_t bytes, uint64_t choice, int64_t *shift) {
    static char before[PIECE_BYTES];
    size_t inside = (size_t)(choice % (1 + (bytes < PIECE_BYTES ? bytes : PIECE_BYTES - 1)));
    size_t blanks = PIECE_BYTES - inside;
    memset(before, ' ', blanks);
    before[blanks - 1] = '\n';
    fuzz_file file = open_memory();
    FUZZ_REQUIRE(write(file.descriptor, before, blanks) == (ssize_t)blanks);
    FUZZ_REQUIRE(bytes == 0 || write(file.descriptor, data, bytes) == (ssize_t)bytes);
    *shift = (int64_t)blanks;
    return file;
}

/* The name that a link has may be anything; this one no other process uses. */
static char *make_link(const char *target) {
    const char *parent = getenv("TMPDIR");
    char *name = NULL;
    if (parent == NULL) {
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    FUZZ_REQUIRE(asprintf(&name, "%s/rlmr-fuzz-%ld.gz", parent, (long)getpid()) > 0);
    (void)unlink(name); /* left by a process of the same number that has crashed */
    FUZZ_REQUIRE(symlink(target, name) == 0);
    return name;
}

fuzz_file fuzz_file_open_packed(const void *data, size_t bytes) {
    fuzz_file file = open_memory();
    gzFile packer = gzdopen(dup(file.descriptor), "wb1");
    FUZZ_REQUIRE(packer != NULL);
    FUZZ_REQUIRE(bytes == 0 || gzwrite(packer, data, (unsigned)bytes) == (int)bytes);
    FUZZ_REQUIRE(gzclose(packer) == Z_OK);
    file.link = make_link(file.path);
    return file;
}

void fuzz_file_close(fuzz_file *file) {
    if (file->link != NULL) {
        (void)unlink(file->link);
    }
    (void)close(file->descriptor);
    free(file->link);
    free(file->path);
}
