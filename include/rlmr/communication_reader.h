/* layer: io */
/** Communication of one rank, from text or database, as a stream of records that hold the digits as written.
 *
 *  Every slice is borrowed for the call. A number that is absent or null is empty; a value of another type stays as it is written,
 *  for the caller to refuse. Records of `Total...` entries are never given. */
#ifndef RLMR_COMMUNICATION_READER_H
#define RLMR_COMMUNICATION_READER_H

#include "rlmr/stream.h"

/** What a record is about. */
typedef struct {
    rlmr_slice step;  /**< bare id: "5" for "step5", empty for "step" */
    bool p2p;         /**< else collective */
    rlmr_slice op;    /**< what stands before the last `@` of the key; the whole key if there is none */
    rlmr_slice group; /**< what stands behind it; the whole key if there is none */
    int64_t offset;   /**< a byte near the record's, for messages; -1 in a database */
} rlmr_communication_key;

/** Times of one operator. X(field, key in communication.json, column of CommAnalyzerTime) */
#define RLMR_COMMUNICATION_TIME_FIELDS(X)                                                                    \
    X(start_us, "Start Timestamp(us)", "start_timestamp")                                                    \
    X(elapsed_ms, "Elapse Time(ms)", "elapse_time")                                                          \
    X(transit_ms, "Transit Time(ms)", "transit_time")                                                        \
    X(wait_ms, "Wait Time(ms)", "wait_time")                                                                 \
    X(synchronization_ms, "Synchronization Time(ms)", "synchronization_time")                                \
    X(idle_ms, "Idle Time(ms)", "idle_time")

/** One size of packets over one transport. A transport without packets gives one record whose package_size is empty; so does, of a
 *  database, a size 0 with count 0. X(field, key in communication.json or "" for the distribution, column) */
#define RLMR_COMMUNICATION_BAND_FIELDS(X)                                                                    \
    X(transit_size_mb, "Transit Size(MB)", "transit_size")                                                   \
    X(transit_time_ms, "Transit Time(ms)", "transit_time")                                                   \
    X(bandwidth, "Bandwidth(GB/s)", "bandwidth")                                                             \
    X(large_packet_ratio, "Large Packet Ratio", "large_packet_ratio")                                        \
    X(package_size_mb, "", "package_size")                                                                   \
    X(count, "", "count")                                                                                    \
    X(total_duration_ms, "", "total_duration")

/** One link. X(field, key in communication_matrix.json, column of CommAnalyzerMatrix) */
#define RLMR_COMMUNICATION_LINK_FIELDS(X)                                                                    \
    X(transport, "Transport Type", "transport_type")                                                         \
    X(op_name, "Op Name", "op_name")                                                                         \
    X(transit_size_mb, "Transit Size(MB)", "transit_size")                                                   \
    X(transit_time_ms, "Transit Time(ms)", "transit_time")

#define RLMR_COMMUNICATION_SLICE(field, key, column) rlmr_slice field;
typedef struct {
    rlmr_communication_key key;
    RLMR_COMMUNICATION_TIME_FIELDS(RLMR_COMMUNICATION_SLICE)
} rlmr_communication_time;
typedef struct {
    rlmr_communication_key key;
    rlmr_slice transport;
    RLMR_COMMUNICATION_BAND_FIELDS(RLMR_COMMUNICATION_SLICE)
} rlmr_communication_band;
typedef struct {
    rlmr_communication_key
        key;        /**< op: kind and statistic, "allreduce-top1"; offset: of the operator, in a text */
    rlmr_slice src; /**< local numbers, as written; a database may lack them */
    rlmr_slice dst;
    RLMR_COMMUNICATION_LINK_FIELDS(RLMR_COMMUNICATION_SLICE)
} rlmr_communication_link;

/** Takes records. Of one operator of a text file all bands follow its time; in a database all times come first. */
typedef struct {
    rlmr_status (*time)(void *self, const rlmr_communication_time *time, rlmr_error *err);
    rlmr_status (*band)(void *self, const rlmr_communication_band *band, rlmr_error *err);
    rlmr_status (*link)(void *self, const rlmr_communication_link *link, rlmr_error *err);
    void *self;
} rlmr_communication_sink;

/** Read communication.json: times and bands, operator by operator; no more than one operator is held.
 *
 *  Operators that are complete before an error in the JSON are given. Each gives one time, empty if it has no times. Of a
 *  repeated field or block the last counts; operators, transports, sizes and links come as often as they stand there.
 *  @param damage told of what has not the form of the file: a step, section, operator, block of an operator, transport, link or
 *                distribution that is no object, an unknown section, a size whose value is not [count, duration], a link without
 *                `-`, an operator over the limit RECORD_BYTES; it costs only that. The offset is that of its key
 *  @param meter  NULL for none
 *  @return OK; E_INPUT, E_PARSE and E_LIMIT (err->offset says where; what came before was given), E_NOMEM, or what a callback
 *          or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_communication_read(const char *path, const rlmr_communication_sink *sink,
                                                    const rlmr_damage *damage, const rlmr_meter *meter,
                                                    rlmr_error *err);

/** Read communication_matrix.json: links. Otherwise as rlmr_communication_read(). */
RLMR_MUST_CHECK rlmr_status rlmr_communication_matrix_read(const char *path,
                                                           const rlmr_communication_sink *sink,
                                                           const rlmr_damage *damage, const rlmr_meter *meter,
                                                           rlmr_error *err);

#endif
