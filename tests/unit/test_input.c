#include "rlmr/input.h"

#include <CUnit/Basic.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes that are read at once. */
#define PIECE_BYTES ((size_t)256 * 1024)

/* ---- A directory, and what lies in it ---- */

static char *make_directory(void) {
    const char *parent = getenv("TMPDIR");
    char *directory = NULL;
    CU_ASSERT_FATAL(asprintf(&directory, "%s/rlmr-input-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    return directory;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_directory(char *directory) {
    CU_ASSERT_EQUAL(nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(directory);
}

static char *path_in(const char *directory, const char *name) {
    char *path = NULL;
    CU_ASSERT_FATAL(asprintf(&path, "%s/%s", directory, name) > 0);
    return path;
}

static void write_file(const char *directory, const char *name, const void *data, size_t bytes) {
    char *path = path_in(directory, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(data, 1, bytes, file), bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    free(path);
}

/* Numbers as text, which packs well but not to nothing. */
static char *make_content(size_t bytes) {
    char *content = malloc(bytes + 16);
    uint32_t state = 1;
    for (size_t at = 0; at < bytes;) {
        state = state * 1664525U + 1013904223U;
        at += (size_t)snprintf(content + at, 16, "%u\n", state % 100000);
    }
    return content;
}

/* ---- Reading ---- */

typedef struct {
    rlmr_status status;
    rlmr_error err;
    rlmr_bytes content; /* of all pieces */
    bool wrong_offset;  /* of a piece */
} reading;

static reading read_file(const char *directory, const char *name, const rlmr_meter *meter) {
    reading got = {.status = RLMR_OK};
    char *path = path_in(directory, name);
    rlmr_input *input = NULL;
    rlmr_slice piece = {.bytes = 1};
    rlmr_error_clear(&got.err);
    got.status = rlmr_input_open(path, meter, &input, &got.err);
    while (got.status == RLMR_OK && piece.bytes > 0) {
        got.status = rlmr_input_read(input, &piece, &got.err);
        if (got.status == RLMR_OK) {
            got.wrong_offset = got.wrong_offset || rlmr_input_offset(input) != (int64_t)got.content.bytes;
            CU_ASSERT_EQUAL_FATAL(rlmr_bytes_append(&got.content, piece.text, piece.bytes, NULL), RLMR_OK);
        }
    }
    CU_ASSERT_EQUAL(got.err.code, got.status);
    rlmr_input_close(input);
    free(path);
    return got;
}

static bool holds(const reading *got, const void *data, size_t bytes) {
    return got->content.bytes == bytes && !got->wrong_offset &&
           (bytes == 0 || memcmp(got->content.data, data, bytes) == 0);
}

static rlmr_status add_bytes(void *context, size_t bytes, rlmr_error *err) {
    (void)err;
    *(size_t *)context += bytes;
    return RLMR_OK;
}

static void test_a_file_comes_in_pieces_with_their_offsets(void) {
    static const size_t sizes[] = {0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 17};
    char *directory = make_directory();
    char *content = make_content(4 * PIECE_BYTES);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t metered = 0;
        rlmr_meter meter = {.advance = add_bytes, .self = &metered};
        write_file(directory, "trace_view.json", content, sizes[i]);
        reading got = read_file(directory, "trace_view.json", &meter);
        CU_ASSERT_EQUAL(got.status, RLMR_OK);
        CU_ASSERT_TRUE(holds(&got, content, sizes[i]));
        CU_ASSERT_EQUAL(metered, sizes[i]);
        rlmr_bytes_release(&got.content);
    }
    free(content);
    remove_directory(directory);
}

static rlmr_status stop(void *context, size_t bytes, rlmr_error *err) {
    (void)context;
    (void)bytes;
    return rlmr_error_set(err, RLMR_E_STOPPED, "enough");
}

static void test_the_meter_may_end_the_reading(void) {
    char *directory = make_directory();
    rlmr_meter meter = {.advance = stop};
    write_file(directory, "a", "content", 7);
    reading got = read_file(directory, "a", &meter);
    CU_ASSERT_EQUAL(got.status, RLMR_E_STOPPED);
    CU_ASSERT_STRING_EQUAL(got.err.message, "enough");
    rlmr_bytes_release(&got.content);
    remove_directory(directory);
}

static void check_not_opened(const char *directory, const char *name, const char *reason) {
    reading got = read_file(directory, name, NULL);
    CU_ASSERT_EQUAL(got.status, RLMR_E_INPUT);
    CU_ASSERT_EQUAL(got.content.bytes, 0);
    CU_ASSERT_PTR_NULL(strstr(got.err.message, directory)); /* where it lies is no part of the reason */
    CU_ASSERT_PTR_NOT_NULL(strstr(got.err.message, reason));
    rlmr_bytes_release(&got.content);
}

static void test_only_regular_files_are_opened(void) {
    char *directory = make_directory();
    char *folder = path_in(directory, "folder");
    char *fifo = path_in(directory, "fifo");
    char *packed_fifo = path_in(directory, "fifo.gz");
    char *nowhere = path_in(directory, "nowhere");
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    CU_ASSERT_EQUAL(mkfifo(packed_fifo, 0600), 0);
    CU_ASSERT_EQUAL(symlink("absent", nowhere), 0);
    check_not_opened(directory, "absent", "No such file or directory");
    check_not_opened(directory, "nowhere", "No such file or directory");
    check_not_opened(directory, "folder", "not a regular file");
    check_not_opened(directory, "fifo", "not a regular file");
    check_not_opened(directory, "fifo.gz", "not a regular file");
    check_not_opened("/dev", "null", "not a regular file");
    free(folder);
    free(fifo);
    free(packed_fifo);
    free(nowhere);
    remove_directory(directory);
}

static void test_a_link_to_a_file_is_the_file(void) {
    char *directory = make_directory();
    char *link = path_in(directory, "link");
    write_file(directory, "file", "content", 7);
    CU_ASSERT_EQUAL(symlink("file", link), 0);
    reading got = read_file(directory, "link", NULL);
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_TRUE(holds(&got, "content", 7));
    rlmr_bytes_release(&got.content);
    free(link);
    remove_directory(directory);
}

static void test_closing_nothing_is_allowed(void) {
    rlmr_input_close(NULL);
}

/* ---- Packed files ---- */

/* A gzip file in memory. */
static rlmr_bytes pack(const char *directory, const void *data, size_t bytes) {
    char *path = path_in(directory, "packing");
    gzFile file = gzopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(gzwrite(file, data, (unsigned)bytes), (int)bytes);
    CU_ASSERT_EQUAL_FATAL(gzclose(file), Z_OK);
    rlmr_bytes packed = {0};
    struct stat info;
    CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
    CU_ASSERT_EQUAL_FATAL(rlmr_bytes_reserve(&packed, (size_t)info.st_size, NULL), RLMR_OK);
    packed.bytes = (size_t)info.st_size;
    FILE *in = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_EQUAL_FATAL(fread(packed.data, 1, packed.bytes, in), packed.bytes);
    (void)fclose(in);
    CU_ASSERT_EQUAL(unlink(path), 0);
    free(path);
    return packed;
}

static void test_a_packed_file_is_unpacked(void) {
    static const size_t sizes[] = {0, 1, 1000, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 17};
    char *directory = make_directory();
    char *content = make_content(4 * PIECE_BYTES);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rlmr_bytes packed = pack(directory, content, sizes[i]);
        size_t metered = 0;
        rlmr_meter meter = {.advance = add_bytes, .self = &metered};
        write_file(directory, "trace_view.json.gz", packed.data, packed.bytes);
        reading got = read_file(directory, "trace_view.json.gz", &meter);
        CU_ASSERT_EQUAL(got.status, RLMR_OK);
        CU_ASSERT_TRUE(holds(&got, content, sizes[i]));
        CU_ASSERT_EQUAL(metered, packed.bytes); /* the file's own bytes */
        rlmr_bytes_release(&got.content);
        rlmr_bytes_release(&packed);
    }
    free(content);
    remove_directory(directory);
}

static void test_packed_files_may_be_joined(void) {
    char *directory = make_directory();
    rlmr_bytes packed = pack(directory, "one ", 4);
    rlmr_bytes second = pack(directory, "two", 3);
    CU_ASSERT_EQUAL(rlmr_bytes_append(&packed, second.data, second.bytes, NULL), RLMR_OK);
    write_file(directory, "both.gz", packed.data, packed.bytes);
    reading got = read_file(directory, "both.gz", NULL);
    CU_ASSERT_EQUAL(got.status, RLMR_OK);
    CU_ASSERT_TRUE(holds(&got, "one two", 7));
    rlmr_bytes_release(&got.content);
    rlmr_bytes_release(&packed);
    rlmr_bytes_release(&second);
    remove_directory(directory);
}

static void test_only_the_name_says_that_a_file_is_packed(void) {
    char *directory = make_directory();
    rlmr_bytes packed = pack(directory, "content", 7);
    write_file(directory, "packed.json", packed.data, packed.bytes);
    write_file(directory, ".gz", packed.data, packed.bytes);
    reading as_it_is = read_file(directory, "packed.json", NULL);
    CU_ASSERT_TRUE(holds(&as_it_is, packed.data, packed.bytes));
    reading unpacked = read_file(directory, ".gz", NULL);
    CU_ASSERT_TRUE(holds(&unpacked, "content", 7));
    rlmr_bytes_release(&as_it_is.content);
    rlmr_bytes_release(&unpacked.content);
    rlmr_bytes_release(&packed);
    remove_directory(directory);
}

static void test_a_cut_packed_file_gives_what_is_there_and_an_error(void) {
    enum { CONTENT_BYTES = 5000 };
    char *directory = make_directory();
    char *content = make_content(CONTENT_BYTES);
    rlmr_bytes packed = pack(directory, content, CONTENT_BYTES);
    size_t before = 0;
    /* From behind the header, which says that the file is packed at all. */
    for (size_t bytes = 18; bytes < packed.bytes; bytes++) {
        write_file(directory, "cut.gz", packed.data, bytes);
        reading got = read_file(directory, "cut.gz", NULL);
        CU_ASSERT_EQUAL(got.status, RLMR_E_PARSE);
        CU_ASSERT_PTR_NOT_NULL(strstr(got.err.message, "gzip data is cut"));
        CU_ASSERT_EQUAL(got.err.offset, (int64_t)got.content.bytes);
        CU_ASSERT_TRUE(got.content.bytes >= before && got.content.bytes <= CONTENT_BYTES);
        CU_ASSERT_TRUE(holds(&got, content, got.content.bytes));
        before = got.content.bytes;
        rlmr_bytes_release(&got.content);
    }
    CU_ASSERT_EQUAL(before, CONTENT_BYTES);
    rlmr_bytes_release(&packed);
    free(content);
    remove_directory(directory);
}

static void test_damaged_packed_data_is_an_error(void) {
    enum { CONTENT_BYTES = 4 * 256 * 1024 };
    char *directory = make_directory();
    char *content = make_content(CONTENT_BYTES);
    rlmr_bytes packed = pack(directory, content, CONTENT_BYTES);
    for (size_t i = 1; i < 8; i++) {
        size_t at = packed.bytes * i / 8;
        packed.data[at] ^= 0xFF;
        write_file(directory, "damaged.gz", packed.data, packed.bytes);
        reading got = read_file(directory, "damaged.gz", NULL);
        CU_ASSERT_EQUAL(got.status, RLMR_E_PARSE);
        CU_ASSERT_PTR_NOT_NULL(strstr(got.err.message, "gzip data is damaged"));
        CU_ASSERT_EQUAL(got.err.offset, (int64_t)got.content.bytes);
        CU_ASSERT_FALSE(got.wrong_offset);
        rlmr_bytes_release(&got.content);
        packed.data[at] ^= 0xFF;
    }
    rlmr_bytes_release(&packed);
    free(content);
    remove_directory(directory);
}

static void test_data_long_before_damage_is_given(void) {
    enum { CONTENT_BYTES = 200000 };
    char *directory = make_directory();
    char *content = make_content(CONTENT_BYTES);
    rlmr_bytes packed = pack(directory, content, CONTENT_BYTES);
    packed.data[packed.bytes * 3 / 4] ^= 0xFF;
    write_file(directory, "damaged.gz", packed.data, packed.bytes);
    reading got = read_file(directory, "damaged.gz", NULL);
    CU_ASSERT_EQUAL(got.status, RLMR_E_PARSE);
    CU_ASSERT_TRUE(got.content.bytes >= CONTENT_BYTES / 2 &&
                   memcmp(got.content.data, content, CONTENT_BYTES / 2) == 0);
    rlmr_bytes_release(&got.content);
    rlmr_bytes_release(&packed);
    free(content);
    remove_directory(directory);
}

/* ---- Listing ---- */

static void make_entries(const char *directory) {
    static const char *const files[] = {
        "b", "a", "Z", "a.b", "\xE4\xB8\xAD", "\xFF not text", "name with blanks", ".hidden"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(directory, files[i], "12345", i % 6);
    }
    static const char *const links[][2] = {{"linked_file", "b"},
                                           {"linked_directory", "folder"},
                                           {"linked_nowhere", "absent"},
                                           {"linked_round", "linked_round"}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char *path = path_in(directory, links[i][0]);
        CU_ASSERT_EQUAL(symlink(links[i][1], path), 0);
        free(path);
    }
    char *folder = path_in(directory, "folder");
    char *fifo = path_in(directory, "fifo");
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    free(folder);
    free(fifo);
}

static void test_a_listing_is_sorted_and_knows_the_kinds(void) {
    static const struct {
        const char *name;
        rlmr_entry_kind kind;
        int64_t bytes;
    } wanted[] = {
        {".hidden", RLMR_ENTRY_FILE, 1},
        {"Z", RLMR_ENTRY_FILE, 2},
        {"a", RLMR_ENTRY_FILE, 1},
        {"a.b", RLMR_ENTRY_FILE, 3},
        {"b", RLMR_ENTRY_FILE, 0},
        {"fifo", RLMR_ENTRY_OTHER, -1},
        {"folder", RLMR_ENTRY_DIRECTORY, -1},
        {"linked_directory", RLMR_ENTRY_LINKED_DIRECTORY, -1},
        {"linked_file", RLMR_ENTRY_FILE, 0},
        {"linked_nowhere", RLMR_ENTRY_OTHER, -1},
        {"linked_round", RLMR_ENTRY_OTHER, -1},
        {"name with blanks", RLMR_ENTRY_FILE, 0},
        {"\xE4\xB8\xAD", RLMR_ENTRY_FILE, 4},
        {"\xFF not text", RLMR_ENTRY_FILE, 5},
    };
    const size_t count = sizeof wanted / sizeof *wanted;
    char *directory = make_directory();
    make_entries(directory);
    rlmr_directory list;
    CU_ASSERT_EQUAL_FATAL(rlmr_directory_list(directory, &list, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(list.count, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_STRING_EQUAL(list.entries[i].name, wanted[i].name);
        CU_ASSERT_EQUAL(list.entries[i].kind, wanted[i].kind);
        CU_ASSERT_TRUE(wanted[i].bytes < 0 || list.entries[i].bytes == wanted[i].bytes);
    }
    rlmr_directory_release(&list);
    CU_ASSERT_EQUAL(list.count, 0);
    remove_directory(directory);
}

static void test_a_large_directory_is_listed(void) {
    enum { FILES = 300 };
    char *directory = make_directory();
    for (int i = 0; i < FILES; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "file %03d", FILES - 1 - i);
        write_file(directory, name, "", 0);
    }
    rlmr_directory list;
    CU_ASSERT_EQUAL_FATAL(rlmr_directory_list(directory, &list, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(list.count, FILES);
    for (int i = 0; i < FILES; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "file %03d", i);
        CU_ASSERT_STRING_EQUAL(list.entries[i].name, name);
    }
    rlmr_directory_release(&list);
    remove_directory(directory);
}

static void test_an_empty_directory_has_no_entries(void) {
    char *directory = make_directory();
    rlmr_directory list;
    CU_ASSERT_EQUAL(rlmr_directory_list(directory, &list, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(list.count, 0);
    rlmr_directory_release(&list);
    remove_directory(directory);
}

static void test_what_is_no_directory_cannot_be_listed(void) {
    char *directory = make_directory();
    char *file = path_in(directory, "file");
    char *absent = path_in(directory, "absent");
    rlmr_directory list;
    rlmr_error err;
    write_file(directory, "file", "x", 1);
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_directory_list(file, &list, &err), RLMR_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "cannot be opened: Not a directory"));
    CU_ASSERT_EQUAL(list.count, 0);
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_directory_list(absent, &list, &err), RLMR_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "cannot be opened: No such file or directory"));
    free(file);
    free(absent);
    remove_directory(directory);
}

CU_TestInfo rlmr_tests_input[] = {
    {"a file comes in pieces with their offsets", test_a_file_comes_in_pieces_with_their_offsets},
    {"the meter may end the reading", test_the_meter_may_end_the_reading},
    {"only regular files are opened", test_only_regular_files_are_opened},
    {"a link to a file is the file", test_a_link_to_a_file_is_the_file},
    {"closing nothing is allowed", test_closing_nothing_is_allowed},
    {"a packed file is unpacked", test_a_packed_file_is_unpacked},
    {"packed files may be joined", test_packed_files_may_be_joined},
    {"only the name says that a file is packed", test_only_the_name_says_that_a_file_is_packed},
    {"a cut packed file gives what is there and an error",
     test_a_cut_packed_file_gives_what_is_there_and_an_error},
    {"damaged packed data is an error", test_damaged_packed_data_is_an_error},
    {"data long before damage is given", test_data_long_before_damage_is_given},
    {"a listing is sorted and knows the kinds", test_a_listing_is_sorted_and_knows_the_kinds},
    {"a large directory is listed", test_a_large_directory_is_listed},
    {"an empty directory has no entries", test_an_empty_directory_has_no_entries},
    {"what is no directory cannot be listed", test_what_is_no_directory_cannot_be_listed},
    CU_TEST_INFO_NULL,
};
