/** The tables of the job as a cluster, in memory, and the parts that are exported each for itself. */
#ifndef RLMR_EXPORT_JOB_H
#define RLMR_EXPORT_JOB_H

#include "rlmr/capture.h"
#include "rlmr/cluster.h"
#include "rlmr/hdf5_source.h"

/** X(table): what text and database are made of, beside captures. */
#define RLMR_EXPORT_TABLES(X)                                                                                \
    X(cluster_step_trace_time)                                                                               \
    X(cluster_communication_time)                                                                            \
    X(cluster_communication_bandwidth)                                                                       \
    X(cluster_communication_matrix)                                                                          \
    X(communication_group)                                                                                   \
    X(rank_device_map)                                                                                       \
    X(cluster_base_info)

#define RLMR_EXPORT_ROWS(table)                                                                              \
    struct {                                                                                                 \
        const rlmr_##table##_row *rows;                                                                      \
        size_t count;                                                                                        \
    } table;

/** X(table): those whose rows have role and window. */
#define RLMR_EXPORT_PART_TABLES(X)                                                                           \
    X(cluster_step_trace_time)                                                                               \
    X(cluster_communication_time)                                                                            \
    X(cluster_communication_bandwidth)                                                                       \
    X(cluster_communication_matrix)

/** Between which rows of a table those of a part lie: first .. end - 1. */
#define RLMR_EXPORT_RANGE(table)                                                                             \
    struct {                                                                                                 \
        size_t first;                                                                                        \
        size_t end;                                                                                          \
    } table;

/** The captures of one role in one window. The rows of a part lie together in a file of rl-insight-mr; in any other, rows of
 *  other parts may lie between them. */
typedef struct {
    uint32_t role;
    int32_t window;
    RLMR_EXPORT_PART_TABLES(RLMR_EXPORT_RANGE)
} rlmr_export_part;

typedef struct {
    rlmr_symtab *texts;
    uint32_t *order;  /**< of each text its place among all in bytewise order */
    uint32_t *sorted; /**< the texts in that order */
    RLMR_EXPORT_ROWS(captures)
    RLMR_EXPORT_TABLES(RLMR_EXPORT_ROWS)
    rlmr_export_part
        *parts; /**< in order of role and window; one, without rows, if there are no rows at all */
    size_t parts_count;
    bool has_rows;
} rlmr_export_job;

/** Read the tables. @param path of the source, for messages  @param job out: rlmr_export_job_release() in every case
 *  @return OK, E_NOMEM, E_RANGE, E_PARSE (damaged, or none of the tables is there) */
RLMR_MUST_CHECK rlmr_status rlmr_export_job_load(rlmr_hdf5_source *source, const char *path,
                                                 rlmr_export_job *job, rlmr_error *err);
void rlmr_export_job_release(rlmr_export_job *job);

rlmr_slice rlmr_export_text(const rlmr_export_job *job, uint32_t id);

/** The captures row of this number, or NULL. */
const rlmr_captures_row *rlmr_export_capture(const rlmr_export_job *job, int32_t capture);

/** A row that has role and window is of the part. */
#define RLMR_EXPORT_IS_OF(part, row) ((row)->role == (part)->role && (row)->window == (part)->window)

/** A communicator in a part. */
typedef struct {
    uint32_t type;
    uint32_t name;
    const int32_t *ranks; /**< those of its members that a capture of the part shows, ascending */
    size_t ranks_count;
    uint32_t place; /**< of its list of ranks, among the different ones in their order */
} rlmr_export_group;

typedef struct {
    rlmr_export_group *groups; /**< in bytewise order of type and name */
    size_t count;
    int32_t *ranks; /**< what the groups point into */
} rlmr_export_groups;

/** The groups that a part uses; if it is the only one of its role, all of the role.
 *  @param out rlmr_export_groups_release() in every case  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_export_groups_find(const rlmr_export_job *job, const rlmr_export_part *part,
                                                    rlmr_export_groups *out, rlmr_error *err);
void rlmr_export_groups_release(rlmr_export_groups *groups);

/** The group of a row, or NULL. */
const rlmr_export_group *rlmr_export_groups_get(const rlmr_export_job *job, const rlmr_export_groups *groups,
                                                uint32_t type, uint32_t name);

/** Take the next rank from a text like "(0, 1)". @param at in and out: where to go on  @return false at the end */
bool rlmr_export_next_rank(rlmr_slice rank_set, size_t *at, int64_t *rank);

#endif
