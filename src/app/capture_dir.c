#include "capture_dir.h"

#include "rlmr/decimal.h"
#include "rlmr/input.h"
#include "rlmr/json_reader.h"
#include "rlmr/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMESTAMP_DIGITS 17

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static size_t digits_at(const char *text) {
    size_t count = 0;
    while (is_digit(text[count])) {
        count++;
    }
    return count;
}

/* The last run of 14 to 17 digits, or of 8 digits, an underscore and 6 digits, padded with zeros; empty if
 * none. */
static void find_timestamp(const char *name, char stamp[TIMESTAMP_DIGITS + 1]) {
    stamp[0] = '\0';
    for (const char *at = name; *at != '\0';) {
        size_t run = digits_at(at);
        const char *end = at + (run == 0 ? 1 : run);
        if (run == 8 && at[8] == '_' && digits_at(at + 9) == 6) {
            (void)snprintf(stamp, TIMESTAMP_DIGITS + 1, "%.8s%.6s000", at, at + 9);
            end = at + 15;
        } else if (run >= 14 && run <= TIMESTAMP_DIGITS) {
            (void)snprintf(stamp, TIMESTAMP_DIGITS + 1, "%.*s%.*s", (int)run, at,
                           (int)(TIMESTAMP_DIGITS - run), "000");
        }
        at = end;
    }
}

static rlmr_status set_text(char **text, const char *value, size_t bytes, rlmr_error *err) {
    char *copy = strndup(value, bytes);
    if (copy == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap");
    }
    free(*text);
    *text = copy;
    return RLMR_OK;
}

/* role and timestamp from the path; the role may be replaced by the metadata's later. */
static rlmr_status read_path(const char *path, rlmr_capture *capture, rlmr_error *err) {
    char stamp[TIMESTAMP_DIGITS + 1];
    const char *name = strrchr(path, '/') + 1;
    find_timestamp(name, stamp);
    const char *parent_end = name - 1;
    const char *parent = parent_end;
    while (parent > path && parent[-1] != '/') {
        parent--;
    }
    rlmr_status status = set_text(&capture->timestamp, stamp, strlen(stamp), err);
    if (status != RLMR_OK) {
        return status;
    }
    /* Clean from the start, as in the table: roles that look the same there are the same. */
    capture->role = rlmr_utf8_copy((rlmr_slice){parent, (size_t)(parent_end - parent)}, err);
    return capture->role != NULL ? RLMR_OK : RLMR_E_NOMEM;
}

static rlmr_status add_file(rlmr_capture *capture, rlmr_file_kind kind, const char *directory,
                            const rlmr_entry *entry, rlmr_error *err) {
    rlmr_file *file = &capture->files[kind];
    char *path;
    if (asprintf(&path, "%s/%s", directory, entry->name) < 0) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap");
    }
    free(file->path);
    /* What has the name but is no file is found out when it is read. */
    int64_t bytes = entry->kind == RLMR_ENTRY_FILE ? entry->bytes : 0;
    *file = (rlmr_file){.state = RLMR_FILE_UNUSED, .bytes = bytes, .path = path};
    return RLMR_OK;
}

/* The rank in "profiler_info_<rank>.json". */
static bool rank_in_name(const char *name, int32_t *rank) {
    static const char start[] = "profiler_info_";
    if (!starts_with(name, start)) {
        return false;
    }
    const char *digits = name + sizeof start - 1;
    size_t count = digits_at(digits);
    return count > 0 && strcmp(digits + count, ".json") == 0 &&
           rlmr_capture_parse_rank((rlmr_slice){digits, count}, rank);
}

static rlmr_status no_rank(rlmr_capture *capture, rlmr_error *err, const char *reason) {
    capture->rank_id = -1;
    rlmr_capture_degrade(capture, RLMR_CAPTURE_FAILED);
    return rlmr_capture_note(capture, err, "no rank id: %s", reason);
}

/* A file that holds one object with a scalar we want. @param good out: false if it was damaged, which is
 * noted */
static rlmr_status read_scalar(rlmr_capture *capture, rlmr_file_kind kind, const char *key, bool numbers,
                               bool *present, char **value, bool *good, rlmr_error *err) {
    rlmr_file *file = &capture->files[kind];
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    file->state = RLMR_FILE_READ;
    rlmr_status status = rlmr_json_scalar(file->path, key, numbers, present, value, &trouble);
    *good = status == RLMR_OK;
    if (status == RLMR_OK || status == RLMR_E_NOMEM) {
        return status == RLMR_OK ? status : rlmr_error_set(err, status, "%s", trouble.message);
    }
    rlmr_capture_damaged(capture, kind, trouble.offset);
    return trouble.offset < 0
               ? rlmr_capture_note(capture, err, "%s.json: %s", rlmr_file_kind_text(kind), trouble.message)
               : rlmr_capture_note(capture, err, "%s.json: %s at byte %lld", rlmr_file_kind_text(kind),
                                   trouble.message, (long long)trouble.offset);
}

static rlmr_status rank_from_file(rlmr_capture *capture, rlmr_error *err) {
    char *text = NULL;
    bool good;
    bool present = false;
    rlmr_status status =
        read_scalar(capture, RLMR_FILE_profiler_info, "rank_id", true, &present, &text, &good, err);
    if (status == RLMR_OK && !good) {
        status = no_rank(capture, err, "profiler_info.json cannot be read");
    } else if (status == RLMR_OK && !present) {
        capture->rank_id = 0;
        status = rlmr_capture_note(capture, err,
                                   "not distributed: profiler_info.json has no rank_id, taken as rank 0");
    } else if (status == RLMR_OK &&
               (text == NULL || !rlmr_capture_parse_rank(rlmr_slice_of(text), &capture->rank_id))) {
        status = no_rank(capture, err, "rank_id in profiler_info.json is no rank");
    }
    free(text);
    return status;
}

/* rank_id and the files that lie in the capture directory itself. */
static rlmr_status read_top(rlmr_capture *capture, const char *path, const rlmr_directory *top,
                            rlmr_error *err) {
    int named = 0;
    bool plain = false;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < top->count && status == RLMR_OK; i++) {
        const rlmr_entry *entry = &top->entries[i];
        int32_t rank;
        if (strcmp(entry->name, "profiler_metadata.json") == 0) {
            status = add_file(capture, RLMR_FILE_profiler_metadata, path, entry, err);
        } else if (entry->kind != RLMR_ENTRY_FILE) {
            continue;
        } else if (rank_in_name(entry->name, &rank)) {
            named++;
            capture->rank_id = rank;
            status = add_file(capture, RLMR_FILE_profiler_info, path, entry, err);
        } else if (strcmp(entry->name, "profiler_info.json") == 0 && named == 0) {
            plain = true;
            status = add_file(capture, RLMR_FILE_profiler_info, path, entry, err);
        }
    }
    if (status != RLMR_OK || named == 1) {
        return status;
    }
    if (named > 1) {
        return no_rank(capture, err, "several profiler_info_<rank>.json");
    }
    return plain ? rank_from_file(capture, err) : no_rank(capture, err, "no profiler_info file");
}

static rlmr_status read_role(rlmr_capture *capture, rlmr_error *err) {
    if (capture->files[RLMR_FILE_profiler_metadata].state == RLMR_FILE_ABSENT) {
        return RLMR_OK;
    }
    char *role = NULL;
    bool good;
    bool present = false;
    rlmr_status status =
        read_scalar(capture, RLMR_FILE_profiler_metadata, "role", false, &present, &role, &good, err);
    if (status == RLMR_OK && role != NULL && role[0] != '\0') {
        status = set_text(&capture->role, role, strlen(role), err);
        status = status == RLMR_OK ? set_text(&capture->job_role, role, strlen(role), err) : status;
    }
    free(role);
    return status;
}

static bool is_profiler_db(const char *name) {
    static const char start[] = "ascend_pytorch_profiler";
    if (!starts_with(name, start)) {
        return false;
    }
    const char *rest = name + sizeof start - 1;
    if (rest[0] == '_' && is_digit(rest[1])) {
        rest += 1 + digits_at(rest + 1);
    }
    return strcmp(rest, ".db") == 0;
}

static bool find_kind(const char *name, rlmr_file_kind *kind) {
    static const struct {
        const char *name;
        rlmr_file_kind kind;
    } names[] = {{"trace_view.json", RLMR_FILE_trace_view},
                 {"trace_view.json.gz", RLMR_FILE_trace_view},
                 {"operator_memory.csv", RLMR_FILE_operator_memory},
                 {"step_trace_time.csv", RLMR_FILE_step_trace_time},
                 {"communication.json", RLMR_FILE_communication},
                 {"communication_matrix.json", RLMR_FILE_communication_matrix},
                 {"analysis.db", RLMR_FILE_analysis_db}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i].name) == 0) {
            *kind = names[i].kind;
            return true;
        }
    }
    *kind = RLMR_FILE_profiler_db;
    return is_profiler_db(name);
}

/* The data files. */
static rlmr_status read_output(rlmr_capture *capture, const char *path, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_directory output;
    rlmr_status status = rlmr_directory_list(path, &output, &trouble);
    if (status == RLMR_E_NOMEM) {
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (status != RLMR_OK) {
        rlmr_capture_degrade(capture, RLMR_CAPTURE_FAILED);
        return rlmr_capture_note(capture, err, "%s", trouble.message);
    }
    /* Entries come by name: of two files of one kind the first counts, so a plain trace before a packed one.
     */
    bool any = false;
    bool is_file[RLMR_FILES] = {false};
    for (size_t i = 0; i < output.count && status == RLMR_OK; i++) {
        rlmr_file_kind kind;
        const rlmr_entry *entry = &output.entries[i];
        /* What is no file gives way to one. */
        if (find_kind(entry->name, &kind) && (capture->files[kind].state == RLMR_FILE_ABSENT ||
                                              (!is_file[kind] && entry->kind == RLMR_ENTRY_FILE))) {
            any = true;
            is_file[kind] = entry->kind == RLMR_ENTRY_FILE;
            status = add_file(capture, kind, path, entry, err);
        }
    }
    rlmr_directory_release(&output);
    if (status == RLMR_OK && !any) {
        rlmr_capture_degrade(capture, RLMR_CAPTURE_EMPTY);
        status = rlmr_capture_note(capture, err, "no known file in ASCEND_PROFILER_OUTPUT");
    }
    return status;
}

typedef struct {
    bool output;
    bool framework;
    bool prof;
} contents;

static contents look_at(const rlmr_directory *top) {
    contents has = {0};
    for (size_t i = 0; i < top->count; i++) {
        const rlmr_entry *entry = &top->entries[i];
        bool directory = entry->kind == RLMR_ENTRY_DIRECTORY || entry->kind == RLMR_ENTRY_LINKED_DIRECTORY;
        has.output = has.output || (directory && strcmp(entry->name, "ASCEND_PROFILER_OUTPUT") == 0);
        has.framework = has.framework || (directory && strcmp(entry->name, "FRAMEWORK") == 0);
        has.prof = has.prof || (directory && starts_with(entry->name, "PROF_"));
    }
    return has;
}

static rlmr_status read_data(rlmr_capture *capture, const char *path, const rlmr_directory *top,
                             rlmr_error *err) {
    contents has = look_at(top);
    if (has.output) {
        char *output;
        if (asprintf(&output, "%s/ASCEND_PROFILER_OUTPUT", path) < 0) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap");
        }
        rlmr_status status = read_output(capture, output, err);
        free(output);
        return status;
    }
    rlmr_capture_degrade(capture, RLMR_CAPTURE_EMPTY);
    if (has.framework || has.prof) {
        return rlmr_capture_note(capture, err,
                                 "raw data, not analysed: run torch_npu.profiler.profiler.analyse(path)");
    }
    return rlmr_capture_note(capture, err, "no ASCEND_PROFILER_OUTPUT");
}

rlmr_status rlmr_capture_dir_read(const char *path, rlmr_capture *capture, rlmr_error *err) {
    rlmr_status status = read_path(path, capture, err);
    if (status != RLMR_OK) {
        return status;
    }
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_directory top;
    status = rlmr_directory_list(path, &top, &trouble);
    if (status == RLMR_E_NOMEM) {
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (status != RLMR_OK) {
        rlmr_capture_degrade(capture, RLMR_CAPTURE_FAILED);
        return rlmr_capture_note(capture, err, "the directory %s", trouble.message);
    }
    status = read_top(capture, path, &top, err);
    status = status == RLMR_OK ? read_role(capture, err) : status;
    status = status == RLMR_OK ? read_data(capture, path, &top, err) : status;
    rlmr_directory_release(&top);
    return status;
}
