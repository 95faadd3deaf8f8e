#include "rlmr/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Large enough to make system calls cheap, small enough to stay in the second-level cache while it is parsed.
 */
#define PIECE_BYTES ((size_t)256 * 1024)
#define UNPACK_BYTES 4096

struct rlmr_input {
    const rlmr_meter *meter;
    int fd;
    gzFile unpacker; /* of a .gz file, owns fd; else NULL */
    int64_t packed;  /* bytes of a .gz file told to the meter */
    int64_t offset;  /* of the first byte of buffer */
    size_t bytes;    /* in buffer */
    char buffer[PIECE_BYTES];
};

static rlmr_status check_regular(int fd, rlmr_error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be opened");
    }
    if (!S_ISREG(info.st_mode)) {
        return rlmr_error_set(err, RLMR_E_INPUT, "not a regular file");
    }
    return RLMR_OK;
}

static bool is_packed(const char *path) {
    size_t bytes = strlen(path);
    return bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0;
}

rlmr_status rlmr_input_open(const char *path, const rlmr_meter *meter, rlmr_input **out, rlmr_error *err) {
    *out = NULL;
    rlmr_input *input = malloc(sizeof *input);
    if (input == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a file");
    }
    *input = (rlmr_input){.meter = meter};
    /* O_NONBLOCK: opening a FIFO that nobody writes must not hang. */
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    rlmr_status status = input->fd < 0 ? rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be opened")
                                       : check_regular(input->fd, err);
    if (status == RLMR_OK && is_packed(path)) {
        input->unpacker = gzdopen(input->fd, "rb");
        status = input->unpacker != NULL ? RLMR_OK
                                         : rlmr_error_set(err, RLMR_E_NOMEM, "no memory to unpack a file");
    }
    if (status != RLMR_OK) {
        rlmr_input_close(input);
        return status;
    }
    (void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *out = input;
    return RLMR_OK;
}

void rlmr_input_close(rlmr_input *input) {
    if (input == NULL) {
        return;
    }
    if (input->unpacker != NULL) {
        (void)gzclose_r(input->unpacker);
    } else if (input->fd >= 0) {
        (void)close(input->fd);
    }
    free(input);
}

static rlmr_status read_plain(rlmr_input *input, rlmr_error *err) {
    ssize_t got;
    do {
        got = read(input->fd, input->buffer, sizeof input->buffer);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be read at byte %lld",
                                    (long long)input->offset);
    }
    input->bytes = (size_t)got;
    return RLMR_OK;
}

/* In small steps, since a step that meets damage gives nothing. */
static size_t unpack(rlmr_input *input) {
    size_t filled = 0;
    int got = 1;
    while (got > 0 && filled <= sizeof input->buffer - UNPACK_BYTES) {
        got = gzread(input->unpacker, input->buffer + filled, UNPACK_BYTES);
        filled += got > 0 ? (size_t)got : 0;
    }
    return filled;
}

static rlmr_status read_packed(rlmr_input *input, rlmr_error *err) {
    int code = Z_OK;
    input->bytes = unpack(input);
    (void)gzerror(input->unpacker, &code);
    /* What comes before the damage is given first; the error stays, and is met when nothing more comes. */
    if (input->bytes > 0 || code == Z_OK || code == Z_STREAM_END) {
        return RLMR_OK;
    }
    if (code == Z_ERRNO) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be read");
    }
    if (err != NULL && err->offset < 0) {
        err->offset = input->offset;
    }
    return rlmr_error_set(err, RLMR_E_PARSE, "gzip data is %s", code == Z_BUF_ERROR ? "cut" : "damaged");
}

/* Bytes of the file itself that the last piece took. */
static size_t bytes_taken(rlmr_input *input) {
    if (input->unpacker == NULL) {
        return input->bytes;
    }
    int64_t before = input->packed;
    input->packed = gzoffset(input->unpacker);
    return input->packed > before ? (size_t)(input->packed - before) : 0;
}

rlmr_status rlmr_input_read(rlmr_input *input, rlmr_slice *piece, rlmr_error *err) {
    input->offset += (int64_t)input->bytes;
    input->bytes = 0;
    rlmr_status status = input->unpacker == NULL ? read_plain(input, err) : read_packed(input, err);
    *piece = (rlmr_slice){.text = input->buffer, .bytes = input->bytes};
    if (status == RLMR_OK && input->meter != NULL) {
        status = input->meter->advance(input->meter->self, bytes_taken(input), err);
    }
    return status;
}

int64_t rlmr_input_offset(const rlmr_input *input) {
    return input->offset;
}

static rlmr_entry_kind kind_of(int directory, const char *name, struct stat *info) {
    bool linked = S_ISLNK(info->st_mode);
    /* A link that leads nowhere stays what it is, a link. */
    if (linked && fstatat(directory, name, info, 0) != 0) {
        return RLMR_ENTRY_OTHER;
    }
    if (S_ISDIR(info->st_mode)) {
        return linked ? RLMR_ENTRY_LINKED_DIRECTORY : RLMR_ENTRY_DIRECTORY;
    }
    return S_ISREG(info->st_mode) ? RLMR_ENTRY_FILE : RLMR_ENTRY_OTHER;
}

static rlmr_status add_entry(rlmr_directory *out, size_t *capacity, int directory, const struct dirent *item,
                             rlmr_error *err) {
    struct stat info = {0};
    rlmr_entry_kind kind = item->d_type == DT_DIR ? RLMR_ENTRY_DIRECTORY : RLMR_ENTRY_OTHER;
    if (fstatat(directory, item->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        kind = kind_of(directory, item->d_name, &info);
    } else if (errno == ENOENT) {
        return RLMR_OK; /* removed since it was listed: as if it had never been there */
    }
    if (out->count == *capacity) {
        size_t more = *capacity == 0 ? 16 : *capacity * 2;
        rlmr_entry *entries = realloc(out->entries, more * sizeof *entries);
        if (entries == NULL) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu directory entries", more);
        }
        out->entries = entries;
        *capacity = more;
    }
    rlmr_entry *entry = &out->entries[out->count];
    entry->kind = kind;
    entry->bytes = (int64_t)info.st_size;
    entry->name = strdup(item->d_name);
    if (entry->name == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a directory entry");
    }
    out->count++;
    return RLMR_OK;
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const rlmr_entry *)a)->name, ((const rlmr_entry *)b)->name);
}

rlmr_status rlmr_directory_list(const char *path, rlmr_directory *out, rlmr_error *err) {
    *out = (rlmr_directory){0};
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be opened");
    }
    size_t capacity = 0;
    rlmr_status status = RLMR_OK;
    const struct dirent *item;
    while (status == RLMR_OK && (errno = 0, item = readdir(directory)) != NULL) {
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
            status = add_entry(out, &capacity, dirfd(directory), item, err);
        }
    }
    if (status == RLMR_OK && errno != 0) {
        status = rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be listed");
    }
    (void)closedir(directory);
    if (status != RLMR_OK) {
        rlmr_directory_release(out);
    } else if (out->count > 0) {
        qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    }
    return status;
}

void rlmr_directory_release(rlmr_directory *directory) {
    for (size_t i = 0; i < directory->count; i++) {
        free(directory->entries[i].name);
    }
    free(directory->entries);
    *directory = (rlmr_directory){0};
}
