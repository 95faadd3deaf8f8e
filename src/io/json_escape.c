#include "json_escape.h"

#include <stdio.h>
#include <string.h>

bool rlmr_json_is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

size_t rlmr_json_escape(uint32_t character, char text[RLMR_JSON_ESCAPE_BYTES]) {
    static const char escaped[] = "\"\\\n\r\t\f\b";
    static const char letters[] = "\"\\nrtfb";
    const char *found = character != 0 && character < 0x80 ? strchr(escaped, (int)character) : NULL;
    if (found != NULL) {
        return (size_t)sprintf(text, "\\%c", letters[found - escaped]);
    }
    if (character < 0x10000) {
        return (size_t)sprintf(text, "\\u%04x", character);
    }
    uint32_t above = character - 0x10000;
    return (size_t)sprintf(text, "\\u%04x\\u%04x", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
}
