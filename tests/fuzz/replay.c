/** Runs a fuzz target over every file of a directory, in the order of their names: the regression that every compiler
 *  can build. A property that does not hold, or no file at all, is a failure.   usage: replay DIRECTORY */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* The content, owned by the caller, in memory of exactly its size so that a sanitizer sees every byte read behind it. */
static uint8_t *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    FUZZ_REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    FUZZ_REQUIRE(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
    uint8_t *data = malloc(size == 0 ? 1 : (size_t)size);
    FUZZ_REQUIRE(data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size);
    (void)fclose(file);
    *bytes = (size_t)size;
    return data;
}

static void run_file(const char *directory, const char *name) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    FUZZ_REQUIRE(length > 0 && (size_t)length < sizeof path);
    size_t bytes;
    uint8_t *data = read_file(path, &bytes);
    (void)fprintf(stderr, "%s\n", name); /* names the file that a crash is about */
    (void)LLVMFuzzerTestOneInput(data, bytes);
    free(data);
}

int main(int argc, char **argv) {
    struct dirent **names = NULL;
    int count = argc == 2 ? scandir(argv[1], &names, is_visible, alphasort) : -1;
    for (int i = 0; i < count; i++) {
        run_file(argv[1], names[i]->d_name);
        free(names[i]);
    }
    free(names);
    printf("%d files\n", count < 0 ? 0 : count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
