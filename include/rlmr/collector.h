/* layer: reducer */
/** A sink that keeps the merged rows of one table in memory, as a table again. */
#ifndef RLMR_COLLECTOR_H
#define RLMR_COLLECTOR_H

#include "rlmr/stream.h"

typedef struct rlmr_collector rlmr_collector;

/** @param texts borrowed until close; several collectors may share it
 *  @param out   owned by the caller, rlmr_collector_close()  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_collector_open(const rlmr_schema *schema, rlmr_symtab *texts,
                                                rlmr_collector **out, rlmr_error *err);
void rlmr_collector_close(rlmr_collector *collector);

/** The collector as a sink; valid until close. A text that was not announced is E_PARSE. */
rlmr_sink rlmr_collector_sink(rlmr_collector *collector);

/** The rows that have come so far, appended in key order, with ids of `texts`; valid until close. */
rlmr_table *rlmr_collector_table(rlmr_collector *collector);

#endif
