/** The files of cluster_analysis_output/ as text, each of one part. */
#ifndef RLMR_EXPORT_TEXT_H
#define RLMR_EXPORT_TEXT_H

#include "job.h"
#include "rlmr/text_writer.h"

/** X(name, file): what is written, in this order. */
#define RLMR_EXPORT_TEXT_FILES(X)                                                                            \
    X(groups, "communication_group.json")                                                                    \
    X(step_trace, "cluster_step_trace_time.csv")                                                             \
    X(communication, "cluster_communication.json")                                                           \
    X(matrix, "cluster_communication_matrix.json")

/** Whether the part has content for the file; the groups are always written, as they are by mstt. */
bool rlmr_export_has_groups(const rlmr_export_job *job, const rlmr_export_part *part);
bool rlmr_export_has_step_trace(const rlmr_export_job *job, const rlmr_export_part *part);
bool rlmr_export_has_communication(const rlmr_export_job *job, const rlmr_export_part *part);
bool rlmr_export_has_matrix(const rlmr_export_job *job, const rlmr_export_part *part);

/** Write the content of the file. @return OK, E_NOMEM, or the first error of `out` */
#define RLMR_EXPORT_TEXT_FUNCTION(name, file)                                                                \
    RLMR_MUST_CHECK rlmr_status rlmr_export_write_##name(                                                    \
        const rlmr_export_job *job, const rlmr_export_part *part, const rlmr_export_groups *groups,          \
        rlmr_text *out, rlmr_error *err);
RLMR_EXPORT_TEXT_FILES(RLMR_EXPORT_TEXT_FUNCTION)

#endif
