/* layer: io */
/** analysis.db (SQLite), in the form in which the text files come. Opened as profiler_db.h says; a missing table or column is
 *  absence. */
#ifndef RLMR_ANALYSIS_DB_H
#define RLMR_ANALYSIS_DB_H

#include "rlmr/communication_reader.h"
#include "rlmr/csv_reader.h"

typedef struct rlmr_analysis_db rlmr_analysis_db;

/** As rlmr_profiler_db_open(). */
RLMR_MUST_CHECK rlmr_status rlmr_analysis_db_open(const char *path, const rlmr_damage *damage,
                                                  const rlmr_meter *meter, rlmr_analysis_db **out,
                                                  rlmr_error *err);
void rlmr_analysis_db_close(rlmr_analysis_db *db);

/** Table StepTraceTime: first a row of titles as in step_trace_time.csv ("Step", "Computing", ...), then its rows in rowid order,
 *  numbered from 1, offset -1. A column that the table lacks is left out.
 *  @param present out: whether there is such a table; if not, no row is given
 *  @return OK, E_NOMEM, or what a callback returned; damage inside goes to the `damage` of open */
RLMR_MUST_CHECK rlmr_status rlmr_analysis_db_steps(rlmr_analysis_db *db, rlmr_on_row on_row, void *self,
                                                   bool *present, rlmr_error *err);

/** Tables CommAnalyzerTime, then CommAnalyzerBandwidth, in rowid order. Without a type, an operator is p2p if its name in
 *  lower case begins with hcom_send, hcom_receive or hcom_batchsendrecv; rows of an unknown type are left out, which is damage.
 *  Without a column `step` the step is empty. A size 0 with count 0 gives no size, count and duration.
 *  @param present out: whether one of the two is there
 *  @return as rlmr_analysis_db_steps() */
RLMR_MUST_CHECK rlmr_status rlmr_analysis_db_communication(rlmr_analysis_db *db,
                                                           const rlmr_communication_sink *sink, bool *present,
                                                           rlmr_error *err);

/** Table CommAnalyzerMatrix, as above. */
RLMR_MUST_CHECK rlmr_status rlmr_analysis_db_matrix(rlmr_analysis_db *db, const rlmr_communication_sink *sink,
                                                    bool *present, rlmr_error *err);

#endif
