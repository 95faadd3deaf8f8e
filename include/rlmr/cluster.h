/* layer: core */
/** Schemas of the tables that describe the job as a cluster: step trace, communication, groups. In all of them `role` is the
 *  job's role (capture.h, job_role), and `step` the bare id of a step, "5". Times and sizes that are absent are NaN. */
#ifndef RLMR_CLUSTER_H
#define RLMR_CLUSTER_H

#include "rlmr/table.h"

/** hccl_op_name of the sums over all operators of a group. */
#define RLMR_TOTAL_OP "Total Op Info"

#define RLMR_STEP_NUMBERS(X)                                                                                 \
    X(F64, computing, "us", STORED, "NPU computing")                                                         \
    X(F64, communication_not_overlapped, "us", STORED, "communication that no computing hides")              \
    X(F64, overlapped, "us", STORED, "communication hidden by computing")                                    \
    X(F64, communication, "us", STORED, "communication in all")                                              \
    X(F64, free, "us", STORED, "neither computing nor communication")                                        \
    X(F64, stage, "us", STORED, "time of the step in its pipeline stage, without the bubble")                \
    X(F64, bubble, "us", STORED, "waiting to receive from another pipeline stage")                           \
    X(F64, communication_not_overlapped_and_exclude_receive, "us", STORED,                                   \
      "communication_not_overlapped without the bubble")                                                     \
    X(F64, preparing, "us", STORED, "from the start of the step to its first task on the device")

#define RLMR_CLUSTER_STEP_TRACE_TIME(X)                                                                      \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(I32, window, "1", STORED, "position of the capture among those of its role and rank")                  \
    X(TEXT, step, "", STORED, "id of the step")                                                              \
    X(TEXT, type, "", STORED, "rank, or stage: the maximum of each column over the ranks of a stage")        \
    X(TEXT, index, "", STORED, "the rank, or the ranks of the stage, for example (2, 3)")                    \
    X(I32, rank_id, "1", STORED, "rank of the training job; -1 for a stage")                                 \
    X(I32, capture, "1", STORED, "row of /captures; -1 for a stage")                                         \
    RLMR_STEP_NUMBERS(X)                                                                                     \
    X(I32, dp_index, "1", STORED, "coordinate in data parallelism; -1 if unknown, or a stage")               \
    X(I32, pp_index, "1", STORED, "coordinate in pipeline parallelism; -1 if unknown, or a stage")           \
    X(I32, tp_index, "1", STORED, "coordinate in tensor parallelism; -1 if unknown, or a stage")             \
    X(I64, file_row, "1", HIDDEN, "row number in the capture's file; 0 for a stage")
RLMR_TABLE_DECLARE(cluster_step_trace_time, RLMR_CLUSTER_STEP_TRACE_TIME)

/* The columns that name one operator, or total, of one rank. */
#define RLMR_COMMUNICATION_KEY(X)                                                                            \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(I32, window, "1", STORED, "position of the capture among those of its role and rank")                  \
    X(TEXT, step, "", STORED, "id of the step")                                                              \
    X(I32, rank_id, "1", STORED, "rank of the training job")                                                 \
    X(I32, capture, "1", STORED, "row of /captures")                                                         \
    X(TEXT, type, "", STORED, "collective or p2p")                                                           \
    X(TEXT, hccl_op_name, "", STORED, "operator; Total Op Info: the sum over the operators of the group")    \
    X(TEXT, group_name, "", STORED, "hash that names the communicator, as text")

#define RLMR_CLUSTER_COMMUNICATION_TIME(X)                                                                   \
    RLMR_COMMUNICATION_KEY(X)                                                                                \
    X(I64, start_timestamp_ns, "ns", STORED,                                                                 \
      "start since the epoch; -9223372036854775808 if absent, or a total")                                   \
    X(F64, elapsed_time, "ms", STORED, "from start to end")                                                  \
    X(F64, transit_time, "ms", STORED, "transfer of data")                                                   \
    X(F64, wait_time, "ms", STORED, "waiting for other ranks")                                               \
    X(F64, synchronization_time, "ms", STORED, "of the waiting, what came before the first transfer")        \
    X(F64, idle_time, "ms", STORED, "elapsed_time without transit_time and wait_time")                       \
    X(F64, synchronization_time_ratio, "1", STORED,                                                          \
      "synchronization_time / (synchronization_time + transit_time), 0 if both are 0")                       \
    X(F64, wait_time_ratio, "1", STORED, "wait_time / (wait_time + transit_time), 0 if both are 0")
RLMR_TABLE_DECLARE(cluster_communication_time, RLMR_CLUSTER_COMMUNICATION_TIME)

#define RLMR_CLUSTER_COMMUNICATION_BANDWIDTH(X)                                                              \
    RLMR_COMMUNICATION_KEY(X)                                                                                \
    X(TEXT, band_type, "", STORED, "transport: RDMA, HCCS, PCIE, SDMA, SIO")                                 \
    X(F64, transit_size, "MB", STORED,                                                                       \
      "bytes over this transport, the same in all rows of operator and transport")                           \
    X(F64, transit_time, "ms", STORED,                                                                       \
      "time over this transport, the same in all rows of operator and transport")                            \
    X(F64, bandwidth, "GB/s", STORED, "as recorded; of a total transit_size / transit_time, 0 if no time")   \
    X(F64, large_packet_ratio, "1", STORED, "part of the packets that are large; NaN for a total")           \
    X(F64, package_size, "MB", STORED, "size of the packets of this row; NaN if none were sent")             \
    X(I64, count, "1", STORED, "packets of this size; -1 if unreadable")                                     \
    X(F64, total_duration, "ms", STORED, "time of the packets of this size")                                 \
    X(I64, package_order, "1", HIDDEN, "package_size as an integer of the same order, no packets first")     \
    X(I64, file_row, "1", HIDDEN, "position in the capture's file")
RLMR_TABLE_DECLARE(cluster_communication_bandwidth, RLMR_CLUSTER_COMMUNICATION_BANDWIDTH)

#define RLMR_CLUSTER_COMMUNICATION_MATRIX(X)                                                                 \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(I32, window, "1", STORED, "position of the captures among those of their role and rank")               \
    X(TEXT, step, "", STORED, "id of the step")                                                              \
    X(TEXT, type, "", STORED, "collective or p2p")                                                           \
    X(TEXT, hccl_op_name, "", STORED,                                                                        \
      "kind of operator and statistic, for example allreduce-top1; Total Op Info: the sum")                  \
    X(TEXT, group_name, "", STORED, "hash that names the communicator, as text")                             \
    X(I32, src_rank, "1", STORED, "sending rank of the training job; -1 if unresolved")                      \
    X(I32, dst_rank, "1", STORED, "receiving rank of the training job; -1 if unresolved")                    \
    X(I32, src_local, "1", STORED, "sender's number in the group")                                           \
    X(I32, dst_local, "1", STORED, "receiver's number in the group")                                         \
    X(TEXT, transport_type, "", STORED, "HCCS, PCIE, RDMA, SIO; LOCAL on the device itself")                 \
    X(TEXT, op_name, "", STORED, "operator that the statistic picked; empty for sums")                       \
    X(F64, transit_size, "MB", STORED, "bytes over the link, summed over the captures that recorded it")     \
    X(F64, transit_time, "ms", STORED, "time over the link, summed over the captures that recorded it")      \
    X(F64, bandwidth, "GB/s", STORED, "transit_size / transit_time, 0 if no time")                           \
    X(TEXT, source_op, "", HIDDEN, "hccl_op_name that a total adds up; empty if no total")                   \
    X(I32, capture, "1", HIDDEN, "row of /captures that recorded it")                                        \
    X(I64, file_row, "1", HIDDEN, "position in the capture's file")
RLMR_TABLE_DECLARE(cluster_communication_matrix, RLMR_CLUSTER_COMMUNICATION_MATRIX)

#define RLMR_COMMUNICATION_GROUP(X)                                                                          \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(TEXT, type, "", STORED, "collective or p2p")                                                           \
    X(TEXT, group_name, "", STORED, "hash that names the communicator, as text")                             \
    X(TEXT, group_id, "", STORED, "id of the communicator; empty if unknown")                                \
    X(TEXT, pg_name, "", STORED, "name of the process group, for example tp; empty if unknown")              \
    X(TEXT, rank_set, "", STORED, "known members, ascending, for example (0, 1)")                            \
    X(I32, size, "1", STORED, "members in all, as far as known")                                             \
    X(I32, members_seen, "1", STORED, "members that a capture shows to use it")                              \
    X(TEXT, source, "", STORED, "metadata, or observed: the members are those seen")
RLMR_TABLE_DECLARE(communication_group, RLMR_COMMUNICATION_GROUP)

#define RLMR_RANK_DEVICE_MAP(X)                                                                              \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(I32, rank_id, "1", STORED, "rank of the training job")                                                 \
    X(I32, capture, "1", STORED, "row of /captures")                                                         \
    X(I64, device_id, "1", STORED, "device of the rank on its host; -1 if unknown")                          \
    X(TEXT, host_uid, "", STORED, "id of the host")                                                          \
    X(TEXT, host_name, "", STORED, "name of the host")                                                       \
    X(I64, file_row, "1", HIDDEN, "row number in the capture's file")
RLMR_TABLE_DECLARE(rank_device_map, RLMR_RANK_DEVICE_MAP)

#define RLMR_CLUSTER_BASE_INFO(X)                                                                            \
    X(TEXT, role, "", STORED, "role in the job")                                                             \
    X(TEXT, key, "", STORED, "distributed_args")                                                             \
    X(TEXT, value, "", STORED, "as JSON, of the first rank that has it, without the rank")
RLMR_TABLE_DECLARE(cluster_base_info, RLMR_CLUSTER_BASE_INFO)

/* ---- Facts: what captures say of the job, exchanged but not written ---- */

/** One row for each group that a capture uses in one section. */
#define RLMR_GROUP_USE(X)                                                                                    \
    X(TEXT, role, "", HIDDEN, "role in the job")                                                             \
    X(TEXT, type, "", HIDDEN, "collective or p2p")                                                           \
    X(TEXT, group_name, "", HIDDEN, "hash that names the communicator, as text")                             \
    X(I32, rank_id, "1", HIDDEN, "rank of the training job")                                                 \
    X(I32, capture, "1", HIDDEN, "row of /captures")                                                         \
    X(I32, own_local, "1", HIDDEN, "the rank's number in the group, from its link to itself; -1 if unknown") \
    X(I32, greatest_local, "1", HIDDEN, "greatest number in the group of any link; -1 if none")
RLMR_TABLE_DECLARE(group_use, RLMR_GROUP_USE)

/** One row for each group that a capture's metadata declares, used or not. */
#define RLMR_GROUP_DECLARED(X)                                                                               \
    X(TEXT, role, "", HIDDEN, "role in the job")                                                             \
    X(TEXT, group_id, "", HIDDEN, "id of the communicator")                                                  \
    X(I32, rank_id, "1", HIDDEN, "rank of the training job")                                                 \
    X(I32, capture, "1", HIDDEN, "row of /captures")                                                         \
    X(TEXT, pg_name, "", HIDDEN, "name of the process group")                                                \
    X(TEXT, global_ranks, "", HIDDEN, "members by their number in the group: \"0 2 4\"; empty if not said")
RLMR_TABLE_DECLARE(group_declared, RLMR_GROUP_DECLARED)

/** One row for each capture whose metadata says how the job is distributed. A size is -1 if it is not said. */
#define RLMR_JOB_SIZES(X)                                                                                    \
    X(I32, tp, "1", HIDDEN, "tensor_model_parallel_size")                                                    \
    X(I32, pp, "1", HIDDEN, "pipeline_model_parallel_size")                                                  \
    X(I32, dp, "1", HIDDEN, "data_parallel_size")                                                            \
    X(I32, cp, "1", HIDDEN, "context_parallel_size")                                                         \
    X(I32, ep, "1", HIDDEN, "expert_model_parallel_size")                                                    \
    X(I32, world, "1", HIDDEN, "world_size")
#define RLMR_JOB_DISTRIBUTION(X)                                                                             \
    X(TEXT, role, "", HIDDEN, "role in the job")                                                             \
    X(I32, rank_id, "1", HIDDEN, "rank of the training job")                                                 \
    X(I32, capture, "1", HIDDEN, "row of /captures")                                                         \
    RLMR_JOB_SIZES(X)                                                                                        \
    X(TEXT, distributed_args, "", HIDDEN, "as JSON, without the rank")
RLMR_TABLE_DECLARE(job_distribution, RLMR_JOB_DISTRIBUTION)

#endif
