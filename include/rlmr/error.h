/* layer: core */
/** Status codes and the error record that a caller owns.
 *
 *  Every function that can fail returns rlmr_status and takes an `rlmr_error *err` last, which may be NULL.
 *  The first writer of a record wins; outer layers only put more in front of its text. Nothing below src/app
 *  prints or exits.
 */
#ifndef RLMR_ERROR_H
#define RLMR_ERROR_H

#include <stdint.h>

#define RLMR_MUST_CHECK __attribute__((warn_unused_result))
#define RLMR_PRINTF(text_at, first) __attribute__((format(printf, text_at, first)))

/** X(name, text, exit code of a run that ends with it). The one list of what can go wrong. */
#define RLMR_STATUS_LIST(X)                                                                                  \
    X(OK, "success", 0)                                                                                      \
    X(E_NOMEM, "out of memory", 1)                                                                           \
    X(E_USAGE, "wrong usage", 2)                                                                             \
    X(E_INPUT, "input cannot be read", 1)                                                                    \
    X(E_PARSE, "input is damaged", 1)                                                                        \
    X(E_LIMIT, "input exceeds a limit", 1)                                                                   \
    X(E_RANGE, "value out of range", 1)                                                                      \
    X(E_OUTPUT, "output cannot be written", 1)                                                               \
    X(E_COMM, "communication failed", 1)                                                                     \
    X(E_STOPPED, "stopped because another process failed", 1)

typedef enum {
#define RLMR_STATUS_ENUM(name, text, exit_code) RLMR_##name,
    RLMR_STATUS_LIST(RLMR_STATUS_ENUM)
#undef RLMR_STATUS_ENUM
} rlmr_status;

#define RLMR_ERROR_TEXT_BYTES 2048

/** What went wrong. Plain data without pointers, so that it can be sent to another process as it is. */
typedef struct {
    rlmr_status code;
    int32_t sys_errno; /**< errno of the failing call, 0 if none */
    int64_t offset;    /**< byte offset in the input, -1 if none */
    char message[RLMR_ERROR_TEXT_BYTES];
} rlmr_error;

/** Make `err` empty: RLMR_OK, no errno, offset -1, no text. */
void rlmr_error_clear(rlmr_error *err);

/** Fill `err` unless it is NULL or already holds an error.
 *
 *  @param code   what went wrong, not RLMR_OK
 *  @return `code`, so that a caller can write `return rlmr_error_set(...)` */
RLMR_PRINTF(3, 4) rlmr_status rlmr_error_set(rlmr_error *err, rlmr_status code, const char *format, ...);

/** As rlmr_error_set(), with `sys_errno` kept and its text appended after ": ". */
RLMR_PRINTF(4, 5)
rlmr_status rlmr_error_set_errno(rlmr_error *err, rlmr_status code, int sys_errno, const char *format, ...);

/** Put text before the message of an error that is already set; nothing happens to an empty record or NULL.
 */
RLMR_PRINTF(2, 3) void rlmr_error_prefix(rlmr_error *err, const char *format, ...);

/** The fixed text of a status, for example "out of memory". */
const char *rlmr_status_text(rlmr_status code);

/** The exit code (0, 1 or 2) of a run that ends with `code`. */
int rlmr_status_exit_code(rlmr_status code);

#endif
