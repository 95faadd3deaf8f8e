#include "rlmr/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static bool is_control(unsigned char byte) {
    return byte < 0x20 || byte == 0x7f;
}

/* The text with control bytes shown as \xNN; owned by the caller, NULL without memory. */
static char *make_safe(const char *text) {
    char *safe = malloc(4 * strlen(text) + 1);
    char *end = safe;
    for (const char *c = text; safe != NULL && *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (is_control(byte)) {
            end += sprintf(end, "\\x%02x", byte);
        } else {
            *end++ = *c;
        }
    }
    if (safe != NULL) {
        *end = '\0';
    }
    return safe;
}

/* Byte by byte, since a list that lacked a text for want of memory would be wrong in silence. */
void rlmr_message_put(FILE *stream, const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (is_control(byte)) {
            (void)fprintf(stream, "\\x%02x", byte);
        } else {
            (void)putc(byte, stream);
        }
    }
}

void rlmr_message(int verbosity, rlmr_level level, const char *format, ...) {
    if ((int)level > RLMR_LEVEL_INFO + verbosity) {
        return;
    }
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int bytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    char *safe = bytes < 0 ? NULL : make_safe(text);
    /* stderr has no buffer: one call is one write, or lines of several programs under mpirun mix. */
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, level_names[level],
                  safe == NULL ? "(no memory for the message)" : safe);
    free(safe);
    free(bytes < 0 ? NULL : text);
}

bool rlmr_message_flush(int verbosity) {
    bool good = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!good) {
        rlmr_message(verbosity, RLMR_LEVEL_ERROR, "standard output cannot be written: %s", strerror(errno));
    }
    return good;
}

bool rlmr_message_silent(void) {
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *rank = getenv(variables[i]);
        if (rank != NULL && rank[0] != '\0' && strcmp(rank, "0") != 0) {
            return true;
        }
    }
    return false;
}
