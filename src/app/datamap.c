#include "datamap.h"

#include "capture_dir.h"
#include "rlmr/input.h"
#include "rlmr/message.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX "_ascend_pt"

/* A growing list of owned paths. */
typedef struct {
    char **paths;
    size_t count;
    size_t capacity;
} path_list;

static rlmr_status no_memory(rlmr_error *err) {
    (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap");
    return RLMR_E_NOMEM;
}

/* Takes over `path`, also on failure; NULL is the failure of the call that made it. */
static rlmr_status push_path(path_list *list, char *path, rlmr_error *err) {
    if (path != NULL && list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        char **paths = realloc(list->paths, capacity * sizeof *paths);
        if (paths != NULL) {
            list->paths = paths;
            list->capacity = capacity;
        }
    }
    if (path == NULL || list->count == list->capacity) {
        free(path);
        return no_memory(err);
    }
    list->paths[list->count++] = path;
    return RLMR_OK;
}

static void release_paths(path_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->paths[i]);
    }
    free(list->paths);
    *list = (path_list){0};
}

static bool is_capture_name(const char *path) {
    size_t bytes = strlen(path);
    return bytes >= sizeof SUFFIX - 1 && strcmp(path + bytes - (sizeof SUFFIX - 1), SUFFIX) == 0;
}

static char *join(const char *directory, const char *name) {
    char *path;
    const char *slash = strcmp(directory, "/") == 0 ? "" : "/";
    return asprintf(&path, "%s%s%s", directory, slash, name) < 0 ? NULL : path;
}

/* Put the captures among the entries into `found`, and directories to search into `pending`. */
static rlmr_status sort_entries(const char *path, const rlmr_directory *directory, path_list *pending,
                                path_list *found, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < directory->count && status == RLMR_OK; i++) {
        const rlmr_entry *entry = &directory->entries[i];
        if (entry->kind == RLMR_ENTRY_DIRECTORY) {
            status = push_path(is_capture_name(entry->name) ? found : pending, join(path, entry->name), err);
        }
    }
    return status;
}

/* Search all of `pending`. The roots were readable before; a warning is enough for what lies below. */
static rlmr_status search(path_list *pending, path_list *found, size_t *unreadable, int verbosity,
                          rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    while (pending->count > 0 && status == RLMR_OK) {
        char *path = pending->paths[--pending->count];
        rlmr_directory directory;
        rlmr_error trouble;
        rlmr_error_clear(&trouble);
        status = rlmr_directory_list(path, &directory, &trouble);
        if (status == RLMR_OK) {
            status = sort_entries(path, &directory, pending, found, err);
            rlmr_directory_release(&directory);
        } else if (status == RLMR_E_INPUT) {
            rlmr_message(verbosity, RLMR_LEVEL_WARNING, "not searched: %s %s", path, trouble.message);
            (*unreadable)++;
            status = RLMR_OK;
        } else {
            status = rlmr_error_set(err, status, "%s", trouble.message);
        }
        free(path);
    }
    return status;
}

static rlmr_status add_root(const char *root, path_list *pending, path_list *found, rlmr_error *err) {
    struct stat info;
    char *path = realpath(root, NULL);
    if (path == NULL || stat(path, &info) != 0) {
        int reason = errno;
        free(path);
        return rlmr_error_set_errno(err, RLMR_E_INPUT, reason, "input %s", root);
    }
    if (!S_ISDIR(info.st_mode)) {
        free(path);
        return rlmr_error_set(err, RLMR_E_INPUT, "input %s: not a directory", root);
    }
    rlmr_directory readable;
    rlmr_status status = rlmr_directory_list(path, &readable, err);
    if (status != RLMR_OK) {
        rlmr_error_prefix(err, "input %s ", root);
        free(path);
        return status;
    }
    rlmr_directory_release(&readable);
    return push_path(is_capture_name(path) ? found : pending, path, err);
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct {
    dev_t device;
    ino_t inode;
    size_t at; /* in the list of paths */
} identity;

static int compare_identities(const void *left, const void *right) {
    const identity *a = left;
    const identity *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->inode != b->inode) {
        return a->inode < b->inode ? -1 : 1;
    }
    return (a->at > b->at) - (a->at < b->at);
}

/* The same directory, reached by two roots or two mounts, counts once: the first path of it stays. */
static rlmr_status remove_repeats(path_list *found, rlmr_error *err) {
    if (found->count == 0) {
        return RLMR_OK;
    }
    qsort(found->paths, found->count, sizeof *found->paths, compare_paths);
    identity *all = malloc(found->count * sizeof *all);
    if (all == NULL) {
        return no_memory(err);
    }
    size_t known = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct stat info;
        if (stat(found->paths[i], &info) == 0) {
            all[known++] = (identity){.device = info.st_dev, .inode = info.st_ino, .at = i};
        }
    }
    qsort(all, known, sizeof *all, compare_identities);
    for (size_t i = 1; i < known; i++) {
        if (all[i].device == all[i - 1].device && all[i].inode == all[i - 1].inode) {
            free(found->paths[all[i].at]);
            found->paths[all[i].at] = NULL;
        }
    }
    free(all);
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (found->paths[i] != NULL) {
            found->paths[kept++] = found->paths[i];
        }
    }
    found->count = kept;
    return RLMR_OK;
}

/* Bytes of the deepest directory that holds all captures, its slash included. Paths are sorted: the first and
 * the last differ most. */
static size_t common_prefix(const path_list *found) {
    const char *first = found->paths[0];
    const char *last = found->paths[found->count - 1];
    size_t slash = 0;
    size_t name = (size_t)(strrchr(first, '/') - first);
    for (size_t i = 0; first[i] != '\0' && first[i] == last[i] && i <= name; i++) {
        slash = first[i] == '/' ? i + 1 : slash;
    }
    return slash;
}

static rlmr_status read_captures(const path_list *found, rlmr_datamap *map, rlmr_error *err) {
    map->captures = found->count == 0 ? NULL : calloc(found->count, sizeof *map->captures);
    if (map->captures == NULL) {
        return no_memory(err);
    }
    size_t prefix = common_prefix(found);
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < found->count && status == RLMR_OK; i++) {
        rlmr_capture *capture = &map->captures[map->count++];
        rlmr_capture_init(capture);
        capture->path = strdup(found->paths[i] + prefix);
        status =
            capture->path == NULL ? no_memory(err) : rlmr_capture_dir_read(found->paths[i], capture, err);
    }
    return status;
}

static int compare_captures(const void *left, const void *right) {
    const rlmr_capture *a = left;
    const rlmr_capture *b = right;
    int order = strcmp(a->role, b->role);
    if (order == 0 && a->rank_id != b->rank_id) {
        order = a->rank_id < b->rank_id ? -1 : 1;
    }
    order = order == 0 ? strcmp(a->timestamp, b->timestamp) : order;
    return order == 0 ? strcmp(a->path, b->path) : order;
}

/* Order of (role, rank_id, window, path): the window is the position by timestamp in its group. */
static void set_windows(rlmr_datamap *map) {
    if (map->captures != NULL) {
        qsort(map->captures, map->count, sizeof *map->captures, compare_captures);
    }
    for (size_t i = 1; i < map->count; i++) {
        const rlmr_capture *before = &map->captures[i - 1];
        rlmr_capture *capture = &map->captures[i];
        if (capture->rank_id == before->rank_id && strcmp(capture->role, before->role) == 0) {
            capture->window = before->window + 1;
        }
    }
}

/* Of the list of all that are sorted by rank. */
typedef struct {
    rlmr_capture *capture;
} ranked;

static int compare_ranks(const void *left, const void *right) {
    const rlmr_capture *a = ((const ranked *)left)->capture;
    const rlmr_capture *b = ((const ranked *)right)->capture;
    if (a->rank_id != b->rank_id) {
        return a->rank_id < b->rank_id ? -1 : 1;
    }
    return strcmp(a->role, b->role);
}

/* A plain job whose captures lie in node0/ and node1/ is one cluster: the parents' names are roles of the job only if one rank
 * lies under two of them. A role from metadata always is. */
static rlmr_status set_job_roles(rlmr_datamap *map, rlmr_error *err) {
    ranked *by_rank = malloc((map->count + 1) * sizeof *by_rank);
    if (by_rank == NULL) {
        return no_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (map->captures[i].job_role == NULL) {
            by_rank[count++].capture = &map->captures[i];
        }
    }
    qsort(by_rank, count, sizeof *by_rank, compare_ranks);
    bool several = false;
    for (size_t i = 1; i < count && !several; i++) {
        const rlmr_capture *before = by_rank[i - 1].capture;
        const rlmr_capture *capture = by_rank[i].capture;
        several = capture->rank_id >= 0 && capture->rank_id == before->rank_id &&
                  strcmp(capture->role, before->role) != 0;
    }
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_capture *capture = by_rank[i].capture;
        capture->job_role = strdup(several ? capture->role : "");
        status = capture->job_role == NULL ? no_memory(err) : RLMR_OK;
    }
    free(by_rank);
    return status;
}

static void apply_filters(const rlmr_options *options, rlmr_datamap *map) {
    size_t kept = 0;
    size_t unknown = 0;
    for (size_t i = 0; i < map->count; i++) {
        rlmr_capture *capture = &map->captures[i];
        bool role = rlmr_options_wants_role(options, capture->role);
        bool rank = rlmr_options_wants_rank(options, capture->rank_id);
        unknown += role && !rank && capture->rank_id < 0;
        if (role && rank) {
            map->captures[kept] = *capture;
            map->captures[kept].number = (int32_t)kept;
            kept++;
        } else {
            rlmr_capture_release(capture);
        }
    }
    map->count = kept;
    if (unknown > 0) {
        rlmr_message(options->verbosity, RLMR_LEVEL_WARNING,
                     "%zu captures without a rank id are left out by --rank-list", unknown);
    }
}

static rlmr_status find_captures(const rlmr_options *options, path_list *pending, path_list *found,
                                 rlmr_datamap *map, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < options->roots_count && status == RLMR_OK; i++) {
        status = add_root(options->roots[i], pending, found, err);
    }
    status = status == RLMR_OK ? search(pending, found, &map->unreadable, options->verbosity, err) : status;
    status = status == RLMR_OK ? remove_repeats(found, err) : status;
    if (status == RLMR_OK && found->count == 0) {
        status = rlmr_error_set(err, RLMR_E_INPUT,
                                "no capture found: no directory whose name ends in " SUFFIX " below %s%s",
                                options->roots_count == 0 ? "an empty list" : options->roots[0],
                                options->roots_count > 1 ? " and the other inputs" : "");
    }
    if (status == RLMR_OK && found->count > INT32_MAX) {
        status =
            rlmr_error_set(err, RLMR_E_RANGE, "%zu captures are more than can be numbered", found->count);
    }
    return status;
}

rlmr_status rlmr_datamap_build(const rlmr_options *options, rlmr_datamap *map, rlmr_error *err) {
    *map = (rlmr_datamap){0};
    path_list pending = {0};
    path_list found = {0};
    rlmr_status status = find_captures(options, &pending, &found, map, err);
    status = status == RLMR_OK ? read_captures(&found, map, err) : status;
    if (status == RLMR_OK) {
        map->found = map->count;
        set_windows(map);
        status = set_job_roles(map, err);
    }
    if (status == RLMR_OK) {
        apply_filters(options, map);
        if (map->count == 0) {
            status = rlmr_error_set(err, RLMR_E_INPUT,
                                    "no capture is left of %zu found: check --rank-list %s and --role %s",
                                    map->found, options->rank_list, options->role);
        }
    }
    release_paths(&pending);
    release_paths(&found);
    return status;
}

void rlmr_datamap_release(rlmr_datamap *map) {
    for (size_t i = 0; i < map->count; i++) {
        rlmr_capture_release(&map->captures[i]);
    }
    free(map->captures);
    free(map->pieces);
    *map = (rlmr_datamap){0};
}
