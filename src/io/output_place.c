#include "rlmr/output_place.h"

#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rlmr_status rlmr_place_check(const char *path, bool replace, rlmr_error *err) {
    return rlmr_target_check(path, replace, err);
}

/* Mode and umask as for any directory a program creates. */
static rlmr_status make_one(rlmr_places *made, const char *path, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_reserve(&made->paths, strlen(path) + 1, err);
    if (status != RLMR_OK) {
        return status;
    }
    if (mkdir(path, 0777) == 0) {
        return rlmr_bytes_append(&made->paths, path, strlen(path) + 1, err);
    }
    int sys_errno = errno;
    struct stat seen;
    if (sys_errno == EEXIST && stat(path, &seen) == 0) {
        return S_ISDIR(seen.st_mode)
                   ? RLMR_OK
                   : rlmr_error_set(err, RLMR_E_OUTPUT, "%s is no directory; give another one", path);
    }
    return rlmr_error_set_errno(err, RLMR_E_OUTPUT, sys_errno, "cannot make the directory %s%s", path,
                                rlmr_target_cure(sys_errno));
}

rlmr_status rlmr_places_make(rlmr_places *made, const char *path, rlmr_error *err) {
    char *above = strdup(path);
    if (above == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %s", path);
    }
    rlmr_status status = RLMR_OK;
    for (char *slash = strchr(above + 1, '/'); slash != NULL && status == RLMR_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(made, above, err);
        *slash = '/';
    }
    free(above);
    return status;
}

void rlmr_places_take_back(const rlmr_places *made) {
    size_t end = made->paths.bytes;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && made->paths.data[start - 1] != '\0') {
            start--;
        }
        (void)rmdir((const char *)made->paths.data + start); /* fails if something is in it */
        end = start;
    }
}

void rlmr_places_release(rlmr_places *made) {
    rlmr_bytes_release(&made->paths);
}
