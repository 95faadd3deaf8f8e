/** A JSON parser that is fed piece by piece (yajl). */
#ifndef RLMR_JSON_PARSER_H
#define RLMR_JSON_PARSER_H

#include "rlmr/json_reader.h"

typedef struct rlmr_json_parser rlmr_json_parser;

/** @param token,self borrowed until close  @param out owned by the caller, rlmr_json_parser_close()
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_json_parser_open(rlmr_json_token token, void *self, rlmr_json_parser **out,
                                                  rlmr_error *err);
void rlmr_json_parser_close(rlmr_json_parser *parser);

/** Parse one piece; one without bytes is the end of the document. After an error nothing more may be fed.
 *  @return OK, E_NOMEM, E_PARSE, E_LIMIT, or what `token` returned; rlmr_json_parser_at() says where */
RLMR_MUST_CHECK rlmr_status rlmr_json_parser_feed(rlmr_json_parser *parser, rlmr_slice piece,
                                                  rlmr_error *err);

/** Bytes of the last piece up to and with the token at hand, or at fault. */
size_t rlmr_json_parser_at(const rlmr_json_parser *parser);

#endif
