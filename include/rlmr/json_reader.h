/* layer: io */
/** JSON files as a stream of tokens (yajl), without ever holding the file. */
#ifndef RLMR_JSON_READER_H
#define RLMR_JSON_READER_H

#include "rlmr/stream.h"

typedef enum {
    RLMR_JSON_OBJECT,     /**< { */
    RLMR_JSON_OBJECT_END, /**< } */
    RLMR_JSON_ARRAY,      /**< [ */
    RLMR_JSON_ARRAY_END,  /**< ] */
    RLMR_JSON_KEY,
    RLMR_JSON_STRING,
    RLMR_JSON_NUMBER, /**< its digits as written */
    RLMR_JSON_LITERAL /**< true, false, null */
} rlmr_json_kind;

/** One token. `text` is decoded and borrowed for the call; `depth` counts the objects and arrays around the
 *  token, a bracket itself not included. */
typedef rlmr_status (*rlmr_json_token)(void *self, rlmr_json_kind kind, rlmr_slice text, int depth,
                                       rlmr_error *err);

/** Read one JSON value, and check that nothing but blanks follows.
 *
 *  Texts are not checked for UTF-8. On E_PARSE and E_LIMIT err->offset is the byte where it was met.
 *  @param meter NULL for none
 *  @return OK, E_INPUT, E_NOMEM, E_PARSE, E_LIMIT, or what `token` or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_json_read(const char *path, rlmr_json_token token, void *self,
                                           const rlmr_meter *meter, rlmr_error *err);

/** As rlmr_json_read(). @param end out: while `token` is called, the offset of the byte behind the token */
RLMR_MUST_CHECK rlmr_status rlmr_json_read_located(const char *path, rlmr_json_token token, void *self,
                                                   const rlmr_meter *meter, int64_t *end, rlmr_error *err);

/** The text that a JSON string stands for.
 *
 *  @param raw what stands between its quotes
 *  @param out the text is appended to it; not checked for UTF-8; as it was on an error
 *  @return OK, E_NOMEM, E_PARSE (no JSON string), E_LIMIT (STRING_BYTES) */
RLMR_MUST_CHECK rlmr_status rlmr_json_string_decode(rlmr_slice raw, rlmr_bytes *out, rlmr_error *err);

/** The text, or number, under a key of the object that the file holds.
 *
 *  @param numbers whether a number is taken too, as its digits
 *  @param present out: whether the key is there, with whatever value
 *  @param value out: owned by the caller, free(); clean UTF-8, NUL-terminated; NULL if the key is absent or its value is
 *               of another type
 *  @return as rlmr_json_read(); E_PARSE also if the file does not hold an object */
RLMR_MUST_CHECK rlmr_status rlmr_json_scalar(const char *path, const char *key, bool numbers, bool *present,
                                             char **value, rlmr_error *err);

#endif
