#include "temp_file.h"

#include <CUnit/Basic.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

temp_file temp_file_open(const char *name) {
    temp_file made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-file-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/%s", made.directory, name) > 0);
    return made;
}

void temp_file_write(const temp_file *made, rlmr_slice content) {
    FILE *file = fopen(made->path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(content.text, 1, content.bytes, file), content.bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void temp_file_remove(temp_file *made) {
    CU_ASSERT_EQUAL(nftw(made->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(made->path);
    free(made->directory);
}
