/* layer: core */
/** One capture: an entry of the DataMap, then what became of it, then its row of `/captures`. */
#ifndef RLMR_CAPTURE_H
#define RLMR_CAPTURE_H

#include "rlmr/table.h"

/** Y(X, kind) for each kind of input file, in the order of the columns. */
#define RLMR_FILE_KINDS(Y, X)                                                                                \
    Y(X, profiler_info)                                                                                      \
    Y(X, profiler_metadata)                                                                                  \
    Y(X, trace_view)                                                                                         \
    Y(X, operator_memory)                                                                                    \
    Y(X, step_trace_time)                                                                                    \
    Y(X, communication)                                                                                      \
    Y(X, communication_matrix)                                                                               \
    Y(X, profiler_db)                                                                                        \
    Y(X, analysis_db)

#define RLMR_FILE_ENUM(X, kind) RLMR_FILE_##kind,
typedef enum { RLMR_FILE_KINDS(RLMR_FILE_ENUM, ) RLMR_FILES } rlmr_file_kind;

#define RLMR_FILE_COLUMNS(X, kind)                                                                           \
    X(TEXT, kind##_state, "", STORED, "absent, read, damaged (read with loss), unused (not needed)")         \
    X(I64, kind##_bytes, "1", STORED, "size of the file; -1 if absent")

#define RLMR_CAPTURES(X)                                                                                     \
    X(I32, capture, "1", STORED, "number of the capture, in order of role, rank_id, window, path")           \
    X(TEXT, role, "", STORED, "from profiler_metadata.json, else the name of the parent directory")          \
    X(I32, rank_id, "1", STORED, "rank of the training job; -1 if unknown")                                  \
    X(I32, window, "1", STORED, "position among the captures of the same role and rank, by timestamp")       \
    X(TEXT, path, "", STORED, "relative to the deepest directory that holds all captures found")             \
    X(TEXT, timestamp, "", STORED, "digits in the directory's name, padded to 17; empty if none")            \
    X(TEXT, source, "", STORED, "what was read: text, db, text+db, torch; empty if nothing")                 \
    X(TEXT, status, "", STORED, "ok, partial (read with loss), failed, empty")                               \
    RLMR_FILE_KINDS(RLMR_FILE_COLUMNS, X)                                                                    \
    X(I64, events_seen, "1", STORED, "events of trace_view.json that were read")                             \
    X(I64, events_with_stack, "1", STORED, "of these, cpu_op events with a call stack")                      \
    X(I64, events_skipped, "1", STORED, "events lost to damage, as far as they can be counted")              \
    X(I64, memory_rows, "1", STORED, "rows of /memory_events")                                               \
    X(I64, rows_matched, "1", STORED, "of these, rows with a call stack")                                    \
    X(I64, bad_cells, "1", STORED, "unreadable cells, each lost alone")                                      \
    X(I64, first_error_offset, "1", STORED,                                                                  \
      "byte offset of the first damage in the file that message names; -1 if none")                          \
    X(TEXT, message, "", STORED, "what a user should know, empty if nothing")

RLMR_TABLE_DECLARE(captures, RLMR_CAPTURES)

/** X(name, text) of a capture's status and of a file's state. */
#define RLMR_CAPTURE_STATUS_LIST(X) X(OK, "ok") X(PARTIAL, "partial") X(FAILED, "failed") X(EMPTY, "empty")
#define RLMR_FILE_STATE_LIST(X) X(ABSENT, "absent") X(READ, "read") X(DAMAGED, "damaged") X(UNUSED, "unused")

#define RLMR_CAPTURE_STATUS_ENUM(name, text) RLMR_CAPTURE_##name,
#define RLMR_FILE_STATE_ENUM(name, text) RLMR_FILE_##name,
typedef enum { RLMR_CAPTURE_STATUS_LIST(RLMR_CAPTURE_STATUS_ENUM) RLMR_CAPTURE_STATUSES } rlmr_capture_status;
typedef enum { RLMR_FILE_STATE_LIST(RLMR_FILE_STATE_ENUM) RLMR_FILE_STATES } rlmr_file_state;

typedef struct {
    rlmr_file_state state;
    int64_t bytes; /**< -1 if absent */
    char *path;    /**< absolute; NULL if absent */
} rlmr_file;

/** All texts are owned and NUL-terminated; NULL means empty. Paths are bytes as the file system has them. */
typedef struct {
    int32_t number;
    int32_t rank_id;
    int32_t window;
    rlmr_capture_status status;
    char *role;
    char *
        job_role; /**< role in the tables of cluster.h: a parent's name counts only if one rank lies under two parents */
    char *path; /**< relative, as in the table */
    char *timestamp;
    rlmr_file files[RLMR_FILES];
    int64_t events_seen;
    int64_t events_with_stack;
    int64_t events_skipped;
    int64_t memory_rows;
    int64_t rows_matched;
    int64_t bad_cells;
    int64_t bytes_read;
    int64_t first_error_offset;
    char *message;
} rlmr_capture;

const char *rlmr_capture_status_text(rlmr_capture_status status);
const char *rlmr_file_state_text(rlmr_file_state state);

/** "trace_view" and so on. */
const char *rlmr_file_kind_text(rlmr_file_kind kind);

/** No rank, no files, no error: rank_id -1, first_error_offset -1, all files absent. */
void rlmr_capture_init(rlmr_capture *capture);
void rlmr_capture_release(rlmr_capture *capture);

/** Add a sentence to the message, after "; " if there is one already. @return OK or E_NOMEM */
RLMR_PRINTF(3, 4)
RLMR_MUST_CHECK rlmr_status rlmr_capture_note(rlmr_capture *capture, rlmr_error *err, const char *format,
                                              ...);

/** Make the status worse: ok -> partial -> failed; anything else stays. */
void rlmr_capture_degrade(rlmr_capture *capture, rlmr_capture_status status);

/** Remember where damage was met, if it is the first, and that the capture is partial. @param offset -1 if
 *  unknown */
void rlmr_capture_damaged(rlmr_capture *capture, rlmr_file_kind kind, int64_t offset);

/** A rank: digits, 0 .. 2^31 - 1. @return false if the text is no rank */
bool rlmr_capture_parse_rank(rlmr_slice text, int32_t *rank);

/** Append to `out`, and take back, all that a DataMap entry holds. @return OK, E_NOMEM, E_PARSE (decode) */
RLMR_MUST_CHECK rlmr_status rlmr_capture_encode(const rlmr_capture *capture, rlmr_bytes *out,
                                                rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_capture_decode(rlmr_capture *capture, rlmr_reader *in, rlmr_error *err);

/** Append the capture's row to a table of rlmr_captures_schema. @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_capture_append(const rlmr_capture *capture, rlmr_table *captures,
                                                rlmr_symtab *texts, rlmr_error *err);

#endif
