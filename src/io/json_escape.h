/** Characters of a JSON string, as Python's json.dumps writes them: all in ASCII. */
#ifndef RLMR_JSON_ESCAPE_H
#define RLMR_JSON_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RLMR_JSON_ESCAPE_BYTES = 16 }; /**< of the longest escape, with its NUL */

/** Whether a byte stands for itself. */
bool rlmr_json_is_plain(char c);

/** The escape of a character that does not: a letter, \uXXXX, or two of these. @param text out: NUL-terminated
 *  @return its bytes without the NUL */
size_t rlmr_json_escape(uint32_t character, char text[RLMR_JSON_ESCAPE_BYTES]);

#endif
