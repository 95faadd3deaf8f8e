/** Metadata as JSON in memory, one value of it at a time. */
#ifndef RLMR_METADATA_JSON_H
#define RLMR_METADATA_JSON_H

#include "rlmr/metadata_reader.h"

/** What a value is. */
typedef enum { RLMR_METADATA_OTHER, RLMR_METADATA_GROUPS, RLMR_METADATA_DISTRIBUTION } rlmr_metadata_kind;

/** @param damage out: what is wrong with the JSON, E_PARSE or E_LIMIT; what came before was given
 *  @return OK (also with damage), E_NOMEM, or what a callback returned */
RLMR_MUST_CHECK rlmr_status rlmr_metadata_parse(rlmr_slice json, rlmr_metadata_kind kind,
                                                const rlmr_metadata_sink *sink, rlmr_error *damage,
                                                rlmr_error *err);

#endif
