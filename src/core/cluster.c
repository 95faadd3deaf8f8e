#include "rlmr/cluster.h"

/* What every schema here has; `row` is a word for its columns. Keys follow. */
#define KEY(row, ...) static const size_t row##_key[] = {__VA_ARGS__};

#define SCHEMA(row, table, text, ...)                                                                        \
    const rlmr_schema rlmr_##table##_schema = {.name = #table,                                               \
                                               .description = (text),                                        \
                                               .columns = row##_columns,                                     \
                                               .columns_count =                                              \
                                                   sizeof row##_columns / sizeof row##_columns[0],           \
                                               .index = -1,                                                  \
                                               .key = row##_key,                                             \
                                               .key_count = sizeof row##_key / sizeof row##_key[0],          \
                                               __VA_ARGS__};

/* ---- /cluster_step_trace_time ---- */

#define STEP_NUMBER(type, name, unit, storage, description) STEP_##name,
enum { RLMR_CLUSTER_STEP_TRACE_TIME(STEP_NUMBER) STEP_COLUMNS };
#define RLMR_ROW rlmr_cluster_step_trace_time_row
static const rlmr_column step_columns[] = {RLMR_CLUSTER_STEP_TRACE_TIME(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(step, STEP_role, STEP_window, STEP_step, STEP_type, STEP_rank_id, STEP_index, STEP_capture, STEP_file_row)
#define STEP_MERGE(type, name, unit, storage, description) [STEP_##name] = RLMR_MERGE_MAX,
static const rlmr_merge step_merge[STEP_COLUMNS] = {RLMR_STEP_NUMBERS(STEP_MERGE)};
SCHEMA(step, cluster_step_trace_time,
       "what each rank, and each pipeline stage, did with the time of each step",
       .fold_count = sizeof step_key / sizeof step_key[0], .merge = step_merge)

/* ---- /cluster_communication_time ---- */

#define TIME_NUMBER(type, name, unit, storage, description) TIME_##name,
enum { RLMR_CLUSTER_COMMUNICATION_TIME(TIME_NUMBER) TIME_COLUMNS };
#define RLMR_ROW rlmr_cluster_communication_time_row
static const rlmr_column time_columns[] = {RLMR_CLUSTER_COMMUNICATION_TIME(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(time, TIME_role, TIME_window, TIME_step, TIME_rank_id, TIME_type, TIME_group_name, TIME_hccl_op_name,
    TIME_capture)
SCHEMA(time, cluster_communication_time,
       "time of each communication operator of each rank, and their sums by group", )

/* ---- /cluster_communication_bandwidth ---- */

#define BAND_NUMBER(type, name, unit, storage, description) BAND_##name,
enum { RLMR_CLUSTER_COMMUNICATION_BANDWIDTH(BAND_NUMBER) BAND_COLUMNS };
#define RLMR_ROW rlmr_cluster_communication_bandwidth_row
static const rlmr_column band_columns[] = {RLMR_CLUSTER_COMMUNICATION_BANDWIDTH(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(band, BAND_role, BAND_window, BAND_step, BAND_rank_id, BAND_type, BAND_group_name, BAND_hccl_op_name,
    BAND_band_type, BAND_package_order, BAND_capture, BAND_file_row)
SCHEMA(band, cluster_communication_bandwidth,
       "bytes, time and packet sizes of each communication operator by transport, and their sums by group", )

/* ---- /cluster_communication_matrix ---- */

#define LINK_NUMBER(type, name, unit, storage, description) LINK_##name,
enum { RLMR_CLUSTER_COMMUNICATION_MATRIX(LINK_NUMBER) LINK_COLUMNS };
#define RLMR_ROW rlmr_cluster_communication_matrix_row
static const rlmr_column link_columns[] = {RLMR_CLUSTER_COMMUNICATION_MATRIX(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(link, LINK_role, LINK_window, LINK_step, LINK_type, LINK_hccl_op_name, LINK_group_name, LINK_src_rank,
    LINK_dst_rank, LINK_src_local, LINK_dst_local, LINK_transport_type, LINK_source_op, LINK_capture,
    LINK_file_row)
static const rlmr_merge link_merge[LINK_COLUMNS] = {
    [LINK_transit_size] = RLMR_MERGE_SUM, [LINK_transit_time] = RLMR_MERGE_SUM};
static const rlmr_quotient link_quotients[] = {{LINK_bandwidth, LINK_transit_size, LINK_transit_time}};
SCHEMA(link, cluster_communication_matrix,
       "bytes and time of each link between two ranks, by operator, and their sums by group",
       .fold_count = 11, .merge = link_merge, .quotients = link_quotients, .quotients_count = 1)

/* ---- /communication_group ---- */

#define GROUP_NUMBER(type, name, unit, storage, description) GROUP_##name,
enum { RLMR_COMMUNICATION_GROUP(GROUP_NUMBER) GROUP_COLUMNS };
#define RLMR_ROW rlmr_communication_group_row
static const rlmr_column group_columns[] = {RLMR_COMMUNICATION_GROUP(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(group, GROUP_role, GROUP_type, GROUP_group_name, GROUP_group_id)
SCHEMA(group, communication_group, "every communicator that an operator uses, with its members", )

/* ---- /rank_device_map ---- */

#define DEVICE_NUMBER(type, name, unit, storage, description) DEVICE_##name,
enum { RLMR_RANK_DEVICE_MAP(DEVICE_NUMBER) DEVICE_COLUMNS };
#define RLMR_ROW rlmr_rank_device_map_row
static const rlmr_column device_columns[] = {RLMR_RANK_DEVICE_MAP(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(device, DEVICE_role, DEVICE_rank_id, DEVICE_capture, DEVICE_device_id, DEVICE_file_row)
SCHEMA(device, rank_device_map, "device and host of each rank, from databases", )

/* ---- /cluster_base_info ---- */

#define INFO_NUMBER(type, name, unit, storage, description) INFO_##name,
enum { RLMR_CLUSTER_BASE_INFO(INFO_NUMBER) INFO_COLUMNS };
#define RLMR_ROW rlmr_cluster_base_info_row
static const rlmr_column info_columns[] = {RLMR_CLUSTER_BASE_INFO(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(info, INFO_role, INFO_key)
SCHEMA(info, cluster_base_info, "what is known of the job as a whole", )

/* ---- Facts ---- */

#define USE_NUMBER(type, name, unit, storage, description) USE_##name,
enum { RLMR_GROUP_USE(USE_NUMBER) USE_COLUMNS };
#define RLMR_ROW rlmr_group_use_row
static const rlmr_column use_columns[] = {RLMR_GROUP_USE(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(use, USE_role, USE_group_name, USE_type, USE_rank_id, USE_capture)
SCHEMA(use, group_use, "the groups that captures use", )

#define DECLARED_NUMBER(type, name, unit, storage, description) DECLARED_##name,
enum { RLMR_GROUP_DECLARED(DECLARED_NUMBER) DECLARED_COLUMNS };
#define RLMR_ROW rlmr_group_declared_row
static const rlmr_column declared_columns[] = {RLMR_GROUP_DECLARED(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(declared, DECLARED_role, DECLARED_group_id, DECLARED_rank_id, DECLARED_capture)
SCHEMA(declared, group_declared, "the groups that the metadata of captures declare", )

#define JOB_NUMBER(type, name, unit, storage, description) JOB_##name,
enum { RLMR_JOB_DISTRIBUTION(JOB_NUMBER) JOB_COLUMNS };
#define RLMR_ROW rlmr_job_distribution_row
static const rlmr_column job_columns[] = {RLMR_JOB_DISTRIBUTION(RLMR_COLUMN)};
#undef RLMR_ROW
KEY(job, JOB_role, JOB_rank_id, JOB_capture)
SCHEMA(job, job_distribution, "how the job is distributed, as each capture says", )
