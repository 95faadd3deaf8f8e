#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};

void rlmr_message_put(FILE *stream, const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7f) {
            (void)fprintf(stream, "\\x%02x", byte);
        } else {
            (void)fputc(byte, stream);
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
    /* One line goes out in one write, or lines of several programs under mpirun mix. */
    flockfile(stderr);
    (void)fprintf(stderr, "rl-insight-mr: %s: ", level_names[level]);
    rlmr_message_put(stderr, bytes < 0 ? "(no memory for the message)" : text);
    (void)fputc('\n', stderr);
    funlockfile(stderr);
    free(bytes < 0 ? NULL : text);
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
