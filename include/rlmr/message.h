/* layer: cli */
/** Messages on stderr, each with its level: from process 0, but for debug messages about a capture. */
#ifndef RLMR_MESSAGE_H
#define RLMR_MESSAGE_H

#include "rlmr/error.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum { RLMR_LEVEL_ERROR, RLMR_LEVEL_WARNING, RLMR_LEVEL_INFO, RLMR_LEVEL_DEBUG } rlmr_level;

/** Print text with control bytes shown as \xNN, so that no file's name or content can steer the user's terminal. */
void rlmr_message_put(FILE *stream, const char *text);

/** Print a line on stderr, behind the name of the program, safe as by rlmr_message_put().
 *  @param verbosity -1 shows warnings and errors, 0 also info, 1 all */
RLMR_PRINTF(3, 4) void rlmr_message(int verbosity, rlmr_level level, const char *format, ...);

/** Write out standard output. @return false, after a message, if that fails */
bool rlmr_message_flush(int verbosity);

/** True if this process is to stay silent before MPI has started, because it is not the first. */
bool rlmr_message_silent(void);

#endif
