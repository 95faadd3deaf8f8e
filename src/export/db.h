/** The tables of cluster_analysis.db, in the layout that MindStudio Insight reads, of one part. */
#ifndef RLMR_EXPORT_DB_H
#define RLMR_EXPORT_DB_H

#include "job.h"
#include "rlmr/sqlite_writer.h"

/** Write all tables that have content. @return OK, or the first error of `out` */
RLMR_MUST_CHECK rlmr_status rlmr_export_write_db(const rlmr_export_job *job, const rlmr_export_part *part,
                                                 const rlmr_export_groups *groups, rlmr_sqlite *out,
                                                 rlmr_error *err);

#endif
