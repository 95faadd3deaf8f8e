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

/* Large enough to make system calls cheap, small enough to stay in the second-level cache while it is parsed. */
#define PIECE_BYTES ((size_t)256 * 1024)
#define PACKED_BYTES ((size_t)64 * 1024)

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* A .gz file on its way through zlib. */
typedef struct {
    z_stream zlib;
    bool between;     /* no member is open */
    bool given;       /* a member was given whole */
    bool ended;       /* nothing more comes: the file has ended, or `error` was met */
    rlmr_error error; /* told once all that comes before it was given */
    unsigned char packed[PACKED_BYTES];
} unpacker;

struct rlmr_input {
    const rlmr_meter *meter;
    int fd;
    int64_t size;     /* when it was opened */
    int64_t taken;    /* bytes of the file read so far */
    unpacker *unpack; /* of a .gz file, else NULL */
    char *buffer;     /* what is kept, then the last piece */
    size_t capacity;
    size_t piece;  /* where the last piece begins in the buffer */
    size_t bytes;  /* in the buffer */
    int64_t start; /* offset of the buffer's first byte */
    int64_t keep;
};

static rlmr_status check_regular(rlmr_input *input, rlmr_error *err) {
    struct stat info;
    if (fstat(input->fd, &info) != 0) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be opened");
    }
    if (!S_ISREG(info.st_mode)) {
        return rlmr_error_set(err, RLMR_E_INPUT, "not a regular file");
    }
    input->size = info.st_size;
    return RLMR_OK;
}

static bool is_packed(const char *path) {
    size_t bytes = strlen(path);
    return bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0;
}

static rlmr_status no_memory(rlmr_error *err) {
    (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a file");
    return RLMR_E_NOMEM;
}

static rlmr_status open_unpacker(rlmr_input *input, rlmr_error *err) {
    unpacker *unpack = calloc(1, sizeof *unpack);
    if (unpack == NULL) {
        return no_memory(err);
    }
    rlmr_error_clear(&unpack->error);
    unpack->between = true;
    if (inflateInit2(&unpack->zlib, 16 + MAX_WBITS) != Z_OK) { /* 16: a gzip header, nothing else */
        free(unpack);
        return no_memory(err);
    }
    input->unpack = unpack;
    return RLMR_OK;
}

rlmr_status rlmr_input_open(const char *path, const rlmr_meter *meter, rlmr_input **out, rlmr_error *err) {
    *out = NULL;
    rlmr_input *input = malloc(sizeof *input);
    if (input == NULL) {
        return no_memory(err);
    }
    *input = (rlmr_input){.meter = meter};
    /* O_NONBLOCK: opening a FIFO that nobody writes must not hang. */
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    rlmr_status status = input->fd < 0 ? rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be opened")
                                       : check_regular(input, err);
    if (status == RLMR_OK && is_packed(path)) {
        status = open_unpacker(input, err);
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
    if (input->unpack != NULL) {
        (void)inflateEnd(&input->unpack->zlib);
        free(input->unpack);
    }
    if (input->fd >= 0) {
        (void)close(input->fd);
    }
    free(input->buffer);
    free(input);
}

/* Fill a buffer from the file; less than asked for only at its end. */
static rlmr_status read_file(rlmr_input *input, void *buffer, size_t bytes, size_t *filled, rlmr_error *err) {
    *filled = 0;
    while (*filled < bytes) {
        ssize_t got = read(input->fd, (char *)buffer + *filled, bytes - *filled);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be read at byte %lld",
                                        (long long)input->taken);
        }
        if (got == 0) {
            break;
        }
        *filled += (size_t)got;
        input->taken += got;
    }
    if (*filled == 0 && input->taken < input->size) {
        return rlmr_error_set(
            err, RLMR_E_INPUT,
            "ends at byte %lld, but had %lld bytes when it was opened: something has cut it meanwhile",
            (long long)input->taken, (long long)input->size);
    }
    return RLMR_OK;
}

/* Packed bytes for zlib. @return false if there are no more; unpack->error may say why */
static bool refill(rlmr_input *input) {
    unpacker *unpack = input->unpack;
    size_t filled;
    rlmr_status status = read_file(input, unpack->packed, sizeof unpack->packed, &filled, &unpack->error);
    unpack->zlib.next_in = unpack->packed;
    unpack->zlib.avail_in = status == RLMR_OK ? (uInt)filled : 0;
    return unpack->zlib.avail_in > 0;
}

static void end_unpacking(unpacker *unpack, rlmr_status code, const char *reason) {
    unpack->ended = true;
    if (code != RLMR_OK) {
        (void)rlmr_error_set(&unpack->error, code, "%s", reason);
    }
}

/* One call of zlib, with packed bytes there. */
static void unpack_some(unpacker *unpack) {
    if (unpack->between && unpack->given) {
        (void)inflateReset(&unpack->zlib);
    }
    if (unpack->between && unpack->zlib.next_in[0] != 0x1F) {
        end_unpacking(unpack, RLMR_E_PARSE,
                      unpack->given ? "what lies behind the gzip data is none"
                                    : "no gzip data, though its name ends in .gz");
        return;
    }
    unpack->between = false;
    int code = inflate(&unpack->zlib, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
        unpack->between = true; /* another member may follow */
        unpack->given = true;
    } else if (code == Z_MEM_ERROR) {
        end_unpacking(unpack, RLMR_E_NOMEM, "no memory to unpack a file");
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
        end_unpacking(unpack, RLMR_E_PARSE, "gzip data is damaged");
    }
}

static void unpack_piece(rlmr_input *input, char *buffer, size_t bytes, size_t *filled) {
    unpacker *unpack = input->unpack;
    unpack->zlib.next_out = (unsigned char *)buffer;
    unpack->zlib.avail_out = (uInt)bytes;
    while (!unpack->ended && unpack->zlib.avail_out > 0) {
        if (unpack->zlib.avail_in > 0 || refill(input)) {
            unpack_some(unpack);
        } else {
            bool cut = !unpack->between || input->taken == 0;
            end_unpacking(unpack, cut ? RLMR_E_PARSE : RLMR_OK, "gzip data is cut");
        }
    }
    *filled = bytes - unpack->zlib.avail_out;
}

/* What comes before damage is given first; then the damage is told, once and for all. */
static rlmr_status read_packed(rlmr_input *input, char *buffer, size_t bytes, size_t *filled,
                               rlmr_error *err) {
    unpack_piece(input, buffer, bytes, filled);
    const rlmr_error *error = &input->unpack->error;
    if (*filled > 0 || error->code == RLMR_OK) {
        return RLMR_OK;
    }
    if (err != NULL && err->code == RLMR_OK) {
        *err = *error;
        err->offset = input->start + (int64_t)input->bytes;
    }
    return error->code;
}

/* Move what is kept to the front, and make room for a piece behind it. */
static rlmr_status make_room(rlmr_input *input, rlmr_error *err) {
    int64_t end = rlmr_input_end(input);
    size_t kept = input->keep < end ? (size_t)(end - input->keep) : 0;
    if (kept > 0 && kept < input->bytes) {
        memmove(input->buffer, input->buffer + input->bytes - kept, kept);
    }
    input->start = end - (int64_t)kept;
    input->bytes = kept;
    input->piece = kept;
    if (input->capacity - kept < PIECE_BYTES || input->buffer == NULL) {
        size_t capacity = 2 * kept + PIECE_BYTES;
        char *buffer = realloc(input->buffer, capacity);
        if (buffer == NULL) {
            return no_memory(err);
        }
        input->buffer = buffer;
        input->capacity = capacity;
    }
    return RLMR_OK;
}

rlmr_status rlmr_input_read(rlmr_input *input, rlmr_slice *piece, rlmr_error *err) {
    *piece = (rlmr_slice){.text = ""};
    rlmr_status status = make_room(input, err);
    if (status != RLMR_OK) {
        return status;
    }
    int64_t before = input->taken;
    size_t filled;
    char *room = input->buffer + input->bytes;
    status = input->unpack == NULL ? read_file(input, room, PIECE_BYTES, &filled, err)
                                   : read_packed(input, room, PIECE_BYTES, &filled, err);
    if (status != RLMR_OK) {
        return status;
    }
    input->bytes += filled;
    input->keep = rlmr_input_end(input);
    *piece = (rlmr_slice){.text = room, .bytes = filled};
    return input->meter == NULL
               ? RLMR_OK
               : input->meter->advance(input->meter->self, (size_t)(input->taken - before), err);
}

rlmr_status rlmr_input_seek(rlmr_input *input, int64_t offset, rlmr_error *err) {
    if (input->unpack != NULL) {
        return rlmr_error_set(err, RLMR_E_INPUT, "a packed file cannot be read from byte %lld on",
                              (long long)offset);
    }
    if (lseek(input->fd, (off_t)offset, SEEK_SET) != (off_t)offset) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "cannot be read from byte %lld on",
                                    (long long)offset);
    }
    input->taken = offset;
    input->start = offset;
    input->keep = offset;
    input->bytes = 0;
    input->piece = 0;
    return RLMR_OK;
}

int64_t rlmr_input_size(const rlmr_input *input) {
    return input->size;
}

bool rlmr_input_is_packed(const rlmr_input *input) {
    return input->unpack != NULL;
}

int64_t rlmr_input_offset(const rlmr_input *input) {
    return input->start + (int64_t)input->piece;
}

int64_t rlmr_input_end(const rlmr_input *input) {
    return input->start + (int64_t)input->bytes;
}

void rlmr_input_keep(rlmr_input *input, int64_t offset) {
    input->keep = offset < input->start ? input->start : offset;
}

rlmr_slice rlmr_input_text(const rlmr_input *input) {
    size_t mark = sizeof BYTE_ORDER_MARK - 1;
    rlmr_slice piece = rlmr_input_from(input, rlmr_input_offset(input));
    bool marked = rlmr_input_offset(input) == 0 && piece.bytes >= mark &&
                  memcmp(piece.text, BYTE_ORDER_MARK, mark) == 0;
    return marked ? rlmr_input_from(input, (int64_t)mark) : piece;
}

rlmr_slice rlmr_input_from(const rlmr_input *input, int64_t offset) {
    size_t at = (size_t)(offset - input->start);
    return (rlmr_slice){.text = input->buffer + at, .bytes = input->bytes - at};
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
