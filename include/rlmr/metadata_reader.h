/* layer: io */
/** What a capture's metadata says of the job: `parallel_group_info` and `distributed_args`, from profiler_metadata.json or from
 *  the table META_DATA. */
#ifndef RLMR_METADATA_READER_H
#define RLMR_METADATA_READER_H

#include "rlmr/stream.h"

/** distributed_args. A size that is absent or no integer of 32 bits is -1. */
typedef struct {
    int32_t tp;
    int32_t pp;
    int32_t dp;
    int32_t cp;
    int32_t ep;
    int32_t world;
    rlmr_slice
        json; /**< the object as one line of JSON in the manner of Python's json.dumps, keys in file order, without `rank` */
} rlmr_distributed_args;

/** Takes what is found. What has another form than it should is left out, and told as damage; null is absent. */
typedef struct {
    /** @param ranks members by their number in the group; NULL and 0 if global_ranks is absent, or holds what is no rank */
    rlmr_status (*group)(void *self, rlmr_slice group_id, rlmr_slice pg_name, const int32_t *ranks,
                         size_t count, rlmr_error *err);
    /** Not called for an empty object, or what is none. */
    rlmr_status (*distribution)(void *self, const rlmr_distributed_args *args, rlmr_error *err);
    void *self;
    const rlmr_damage *damage; /**< NULL if nobody wants to know */
} rlmr_metadata_sink;

/** Read profiler_metadata.json.
 *  @param has_groups,has_distribution out: whether the keys are there, with whatever value
 *  @return OK; E_INPUT, E_PARSE, E_LIMIT (what came before was given), E_NOMEM, or what a callback or the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_metadata_read(const char *path, const rlmr_metadata_sink *sink,
                                               const rlmr_meter *meter, bool *has_groups,
                                               bool *has_distribution, rlmr_error *err);

#endif
