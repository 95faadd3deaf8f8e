/** The DataMap of a capture directory made from the input: pieces separated by "\n--\n", the first two the names of the
 *  parent and of the capture, then name and content of each entry. A name that begins with '>' lies in the directory of the
 *  data, one that ends in '/' is a directory, one that begins with '@' is a link to its content. */
#include "datamap.h"
#include "fuzz.h"
#include "rlmr/utf8.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEPARATOR "\n--\n"
#define OUTPUT "ASCEND_PROFILER_OUTPUT"

enum { ENTRIES_MAX = 40, PROCESSES = 3 };

static rlmr_slice next_piece(fuzz_bytes *input) {
    size_t mark = sizeof SEPARATOR - 1;
    const uint8_t *end = input->bytes < mark ? NULL : memmem(input->data, input->bytes, SEPARATOR, mark);
    fuzz_bytes piece = fuzz_take(input, end == NULL ? input->bytes : (size_t)(end - input->data));
    (void)fuzz_take(input, mark);
    return (rlmr_slice){.text = piece.bytes == 0 ? "" : (const char *)piece.data, .bytes = piece.bytes};
}

/* ---- The directory ---- */

static char *make_root(void) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL) {
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    char *root = NULL;
    FUZZ_REQUIRE(asprintf(&root, "%s/rlmr-fuzz-XXXXXX", parent) > 0 && mkdtemp(root) != NULL);
    return root;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static bool is_name(rlmr_slice name) {
    bool up = rlmr_slice_equal(name, RLMR_SLICE(".")) || rlmr_slice_equal(name, RLMR_SLICE(".."));
    return !up && (name.bytes == 0 || (memchr(name.text, '/', name.bytes) == NULL &&
                                       memchr(name.text, '\0', name.bytes) == NULL));
}

/* `name` as a single name below `directory`, or NULL if it is none. */
static char *path_below(const char *directory, rlmr_slice name, const char *suffix) {
    char *path = NULL;
    size_t bytes = name.bytes + strlen(suffix);
    if (bytes > 0 && bytes < 250 && is_name(name)) {
        FUZZ_REQUIRE(asprintf(&path, "%s/%.*s%s", directory, (int)name.bytes, name.text, suffix) > 0);
    }
    return path;
}

static void put_file(const char *path, rlmr_slice content) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        FUZZ_REQUIRE(write(file, content.text, content.bytes) == (ssize_t)content.bytes);
        FUZZ_REQUIRE(close(file) == 0);
    }
}

/* Entries that cannot be made, as "..", are left out. */
static void put_entry(const char *capture, rlmr_slice name, rlmr_slice content) {
    char *directory = NULL;
    if (name.bytes > 0 && name.text[0] == '>') {
        FUZZ_REQUIRE(asprintf(&directory, "%s/" OUTPUT, capture) > 0);
        (void)mkdir(directory, 0700);
        name = (rlmr_slice){.text = name.text + 1, .bytes = name.bytes - 1};
    }
    bool link = name.bytes > 0 && name.text[0] == '@';
    bool folder = name.bytes > 0 && name.text[name.bytes - 1] == '/';
    name.text += link;
    name.bytes -= (size_t)link + (size_t)folder;
    char *path = path_below(directory == NULL ? capture : directory, name, "");
    if (path != NULL && folder) {
        (void)mkdir(path, 0700);
    } else if (path != NULL && link) {
        char *target = strndup(content.text, content.bytes);
        FUZZ_REQUIRE(target != NULL);
        (void)symlink(target, path);
        free(target);
    } else if (path != NULL) {
        put_file(path, content);
    }
    free(path);
    free(directory);
}

/* @return the path of the capture, NULL if the input names none */
static char *put_capture(const char *root, fuzz_bytes input) {
    rlmr_slice parent_name = next_piece(&input);
    rlmr_slice name = next_piece(&input);
    char *parent = path_below(root, parent_name, "");
    char *capture = parent == NULL ? NULL : path_below(parent, name, "_ascend_pt");
    if (capture != NULL) {
        (void)mkdir(parent, 0700);
        if (mkdir(capture, 0700) != 0) {
            free(capture);
            capture = NULL;
        }
    }
    for (int i = 0; capture != NULL && i < ENTRIES_MAX && input.bytes > 0; i++) {
        rlmr_slice entry = next_piece(&input);
        put_entry(capture, entry, next_piece(&input));
    }
    free(parent);
    return capture;
}

/* ---- Properties ---- */

static void check_timestamp(const char *stamp) {
    size_t digits = strspn(stamp, "0123456789");
    FUZZ_REQUIRE(stamp[digits] == '\0' && (digits == 0 || digits == 17));
}

static void check_file(const rlmr_file *file) {
    FUZZ_REQUIRE((file->state == RLMR_FILE_ABSENT) == (file->path == NULL));
    FUZZ_REQUIRE((file->state == RLMR_FILE_ABSENT) == (file->bytes == -1));
    FUZZ_REQUIRE(file->state == RLMR_FILE_ABSENT || (file->path[0] == '/' && file->bytes >= 0));
}

static void check_capture(const rlmr_capture *capture) {
    FUZZ_REQUIRE(capture->role != NULL && rlmr_utf8_is_clean(rlmr_slice_of(capture->role)));
    FUZZ_REQUIRE(capture->path != NULL && capture->path[0] != '\0');
    FUZZ_REQUIRE(capture->rank_id >= 0 || capture->status == RLMR_CAPTURE_FAILED);
    check_timestamp(capture->timestamp);
    bool damaged = false;
    for (int kind = 0; kind < RLMR_FILES; kind++) {
        check_file(&capture->files[kind]);
        damaged = damaged || capture->files[kind].state == RLMR_FILE_DAMAGED;
    }
    /* What is wrong is said. */
    FUZZ_REQUIRE(!damaged || capture->status == RLMR_CAPTURE_PARTIAL ||
                 capture->status == RLMR_CAPTURE_FAILED);
    FUZZ_REQUIRE(capture->status == RLMR_CAPTURE_OK || capture->message != NULL);
    FUZZ_REQUIRE(capture->first_error_offset == -1 || damaged);
}

static void encode_all(const rlmr_datamap *map, rlmr_bytes *out) {
    for (size_t i = 0; i < map->count; i++) {
        FUZZ_REQUIRE(rlmr_capture_encode(&map->captures[i], out, NULL) == RLMR_OK);
    }
}

static void require_same(const rlmr_datamap *a, const rlmr_datamap *b) {
    rlmr_bytes one = {0};
    rlmr_bytes two = {0};
    encode_all(a, &one);
    encode_all(b, &two);
    FUZZ_REQUIRE(one.bytes == two.bytes && (one.bytes == 0 || memcmp(one.data, two.data, one.bytes) == 0));
    rlmr_bytes_release(&one);
    rlmr_bytes_release(&two);
}

/* One of the shares holds the capture as it is, the others nothing. */
static void check_shares(const rlmr_datamap *map, const rlmr_map_options *options) {
    rlmr_bytes parts[PROCESSES] = {{0}};
    size_t captures = 0;
    FUZZ_REQUIRE(rlmr_datamap_share(map, options, parts, PROCESSES, NULL) == RLMR_OK);
    for (int process = 0; process < PROCESSES; process++) {
        rlmr_datamap share;
        FUZZ_REQUIRE(rlmr_datamap_decode(&parts[process], &share, NULL) == RLMR_OK);
        if (share.count > 0) {
            require_same(map, &share);
        }
        captures += share.count;
        rlmr_datamap_release(&share);
        rlmr_bytes_release(&parts[process]);
    }
    FUZZ_REQUIRE(captures == map->count);
}

/* The row of /captures. */
static void check_row(const rlmr_capture *capture) {
    rlmr_symtab *texts;
    rlmr_table table;
    rlmr_table_init(&table, &rlmr_captures_schema);
    FUZZ_REQUIRE(rlmr_symtab_open(&texts, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_capture_append(capture, &table, texts, NULL) == RLMR_OK);
    for (uint32_t id = 0; id < rlmr_symtab_count(texts); id++) {
        FUZZ_REQUIRE(rlmr_utf8_is_clean(rlmr_symtab_text(texts, id)));
    }
    rlmr_table_release(&table);
    rlmr_symtab_close(texts);
}

static void check(char *root) {
    char all[] = "all";
    rlmr_options options = {.roots = &root,
                            .roots_count = 1,
                            .rank_list = all,
                            .role = all,
                            .verbosity = -1,
                            .map.analyses[RLMR_ANALYSIS_MEMORY] = true};
    rlmr_datamap map;
    rlmr_datamap again;
    FUZZ_REQUIRE(rlmr_datamap_build(&options, &map, NULL) == RLMR_OK);
    FUZZ_REQUIRE(map.count == 1 && map.found == 1 && map.unreadable == 0);
    check_capture(&map.captures[0]);
    check_shares(&map, &options.map);
    check_row(&map.captures[0]);
    FUZZ_REQUIRE(rlmr_datamap_build(&options, &again, NULL) == RLMR_OK);
    require_same(&map, &again);
    rlmr_datamap_release(&map);
    rlmr_datamap_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *root = make_root();
    char *capture = put_capture(root, (fuzz_bytes){.data = data, .bytes = size});
    if (capture != NULL) {
        check(root);
    }
    free(capture);
    FUZZ_REQUIRE(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    free(root);
    return 0;
}
