/** A sink that reads `/captures` on its way to another sink and says on stderr what a user should know. */
#ifndef RLMR_REPORT_H
#define RLMR_REPORT_H

#include "rlmr/collector.h"

typedef struct {
    rlmr_sink inner;
    int verbosity;
    const rlmr_schema *schema;
    rlmr_symtab *texts;
    rlmr_collector *captures;
    uint64_t said; /**< rows of /captures looked at */
} rlmr_report;

/** @param inner gets every call  @return OK or E_NOMEM; rlmr_report_release() in both cases */
RLMR_MUST_CHECK rlmr_status rlmr_report_init(rlmr_report *report, rlmr_sink inner, int verbosity,
                                             rlmr_error *err);
void rlmr_report_release(rlmr_report *report);

/** The report as a sink; the report stays with the caller. */
rlmr_sink rlmr_report_sink(rlmr_report *report);

#endif
