/* layer: mapper */
/** One capture in, rows of partial tables out. Knows no other process and no other rank. */
#ifndef RLMR_MAPPER_H
#define RLMR_MAPPER_H

#include "rlmr/capture.h"
#include "rlmr/cluster.h"
#include "rlmr/memory_events.h"
#include "rlmr/stream.h"

/** X(table): every table of the output, in the order in which they are written. */
#define RLMR_TABLES(X)                                                                                       \
    X(captures)                                                                                              \
    X(memory_events)                                                                                         \
    X(cluster_step_trace_time)                                                                               \
    X(cluster_communication_time)                                                                            \
    X(cluster_communication_bandwidth)                                                                       \
    X(cluster_communication_matrix)                                                                          \
    X(communication_group)                                                                                   \
    X(rank_device_map)                                                                                       \
    X(cluster_base_info)

/** X(table): facts that process 0 collects to complete the tables above; not written. */
#define RLMR_FACTS(X) X(group_use) X(group_declared) X(job_distribution)

#define RLMR_TABLE_ENUM(table) RLMR_TABLE_##table,
enum {
    RLMR_TABLES(RLMR_TABLE_ENUM) RLMR_TABLE_COUNT,
    RLMR_TABLE_BEFORE_FACTS = RLMR_TABLE_COUNT - 1,
    RLMR_FACTS(RLMR_TABLE_ENUM) RLMR_TABLE_AND_FACT_COUNT
};

/** The schemas, by table number. */
extern const rlmr_schema *const rlmr_table_schemas[RLMR_TABLE_AND_FACT_COUNT];

/** X(NAME, name): analyses that are built; a mode is a set of them. */
#define RLMR_ANALYSES(X)                                                                                     \
    X(MEMORY, "memory")                                                                                      \
    X(STEP_TRACE, "step_trace")                                                                              \
    X(COMMUNICATION_TIME, "communication_time")                                                              \
    X(COMMUNICATION_MATRIX, "communication_matrix")

#define RLMR_ANALYSIS_ENUM(name, text) RLMR_ANALYSIS_##name,
typedef enum { RLMR_ANALYSES(RLMR_ANALYSIS_ENUM) RLMR_ANALYSIS_COUNT } rlmr_analysis;

/** X(NAME, name): how a record finds its call stack. */
#define RLMR_MATCH_POLICIES(X) X(BEST, "best") X(NEAREST, "nearest") X(ENCLOSING, "enclosing")

#define RLMR_MATCH_ENUM(name, text) RLMR_MATCH_##name,
typedef enum { RLMR_MATCH_POLICIES(RLMR_MATCH_ENUM) RLMR_MATCH_COUNT } rlmr_match_policy;

typedef struct {
    bool analyses[RLMR_ANALYSIS_COUNT];
    rlmr_match_policy match;
    int64_t time_offset_ns; /**< added to trace times */
    bool strict;            /**< damage is an error */
    int64_t
        split_bytes; /**< captures whose shared files (share.h) have so many bytes may be split; 0: none */
} rlmr_map_options;

/** Is told of every error in a capture's files, also of those that the capture's message only counts. */
typedef struct {
    void (*met)(void *self, const rlmr_capture *capture, const char *file, const char *text);
    void *self;
} rlmr_damage_log;

/** What one process has mapped: the rows of all its captures. */
typedef struct {
    rlmr_symtab *texts; /**< of the text columns of all tables */
    rlmr_table tables[RLMR_TABLE_AND_FACT_COUNT];
} rlmr_partial;

/** @return OK or E_NOMEM; rlmr_partial_release() in both cases */
RLMR_MUST_CHECK rlmr_status rlmr_partial_init(rlmr_partial *partial, rlmr_error *err);
void rlmr_partial_release(rlmr_partial *partial);

/** Whether the analyses chosen read this file of the capture; a database is read for what is not there as text. */
bool rlmr_map_reads(const rlmr_map_options *options, const rlmr_capture *capture, rlmr_file_kind kind);

/** Whether the analyses chosen describe the job as a cluster, so that facts are collected. */
bool rlmr_map_cluster(const rlmr_map_options *options);

/** Whether the analyses chosen make a table. */
bool rlmr_map_makes(const rlmr_map_options *options, int table);

typedef struct rlmr_share rlmr_share;

/** Read one capture's files and append its rows to the partial tables, its row of `/captures` last.
 *
 *  What is wrong with the capture is kept in it (status, file states, counts, message) and is no error;
 *  nothing is read of a capture that is failed or empty already.
 *  @param share if it holds (share.h), the memory analysis is done and its rows are taken already; NULL for none
 *  @param meter told of all bytes read, may end the work
 *  @param log   NULL for none
 *  @return OK, E_NOMEM, E_RANGE; with options->strict E_PARSE for a capture that is not ok or empty; or what
 *  the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_map_capture(rlmr_capture *capture, const rlmr_map_options *options,
                                             rlmr_partial *partial, const rlmr_share *share,
                                             const rlmr_meter *meter, const rlmr_damage_log *log,
                                             rlmr_error *err);

#endif
