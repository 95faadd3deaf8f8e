#include "damage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *rlmr_file_damage_name(const rlmr_file_damage *damage) {
    const char *path = damage->capture->files[damage->kind].path;
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash == NULL ? rlmr_file_kind_text(damage->kind) : slash + 1;
}

rlmr_status rlmr_file_damage_met(rlmr_file_damage *damage, int64_t offset, rlmr_error *err,
                                 const char *format, ...) {
    char text[RLMR_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool first = damage->errors == 0;
    if (!first) {
        (void)snprintf(damage->last, sizeof damage->last, "%.*s", (int)sizeof damage->last - 1, text);
    }
    damage->errors++;
    rlmr_capture_damaged(damage->capture, damage->kind, offset);
    if (damage->log != NULL) {
        damage->log->met(damage->log->self, damage->capture, rlmr_file_damage_name(damage), text);
    }
    return first ? rlmr_capture_note(damage->capture, err, "%s: %s", rlmr_file_damage_name(damage), text)
                 : RLMR_OK;
}

rlmr_status rlmr_file_damage_end(const rlmr_file_damage *damage, rlmr_error *err) {
    if (damage->errors < 2) {
        return RLMR_OK;
    }
    /* The last may be why a file was not read to its end. */
    return rlmr_capture_note(damage->capture, err, "%llu errors in %s, the last: %s",
                             (unsigned long long)damage->errors, rlmr_file_damage_name(damage), damage->last);
}
