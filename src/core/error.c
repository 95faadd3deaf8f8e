#include "rlmr/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rlmr_error_clear(rlmr_error *err) {
    *err = (rlmr_error){.code = RLMR_OK, .offset = -1};
}

rlmr_status rlmr_error_set(rlmr_error *err, rlmr_status code, const char *format, ...) {
    if (err != NULL && err->code == RLMR_OK) {
        va_list arguments;
        va_start(arguments, format);
        err->code = code;
        (void)vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return code;
}

rlmr_status rlmr_error_set_errno(rlmr_error *err, rlmr_status code, int sys_errno, const char *format, ...) {
    if (err != NULL && err->code == RLMR_OK) {
        va_list arguments;
        va_start(arguments, format);
        err->code = code;
        err->sys_errno = sys_errno;
        (void)vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
        size_t used = strlen(err->message);
        (void)snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(sys_errno));
    }
    return code;
}

void rlmr_error_prefix(rlmr_error *err, const char *format, ...) {
    if (err == NULL || err->code == RLMR_OK) {
        return;
    }
    char prefix[RLMR_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    size_t length = written < 0 ? 0 : (size_t)written;
    if (length >= sizeof prefix) {
        length = sizeof prefix - 1;
    }
    size_t kept = strnlen(err->message, sizeof err->message - 1 - length);
    memmove(err->message + length, err->message, kept);
    memcpy(err->message, prefix, length);
    err->message[length + kept] = '\0';
}

const char *rlmr_status_text(rlmr_status code) {
    switch (code) {
#define RLMR_STATUS_TEXT(name, text, exit_code)                                                              \
    case RLMR_##name:                                                                                        \
        return text;
        RLMR_STATUS_LIST(RLMR_STATUS_TEXT)
#undef RLMR_STATUS_TEXT
    }
    return "unknown status";
}

int rlmr_status_exit_code(rlmr_status code) {
    switch (code) {
#define RLMR_STATUS_EXIT(name, text, exit_code)                                                              \
    case RLMR_##name:                                                                                        \
        return exit_code;
        RLMR_STATUS_LIST(RLMR_STATUS_EXIT)
#undef RLMR_STATUS_EXIT
    }
    return 1;
}
