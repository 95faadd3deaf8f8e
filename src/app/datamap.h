/** The DataMap: (role, rank_id) -> captures, built on process 0 from the directories alone. */
#ifndef RLMR_DATAMAP_H
#define RLMR_DATAMAP_H

#include "options.h"
#include "rlmr/share.h"

/** Captures in the order of their numbers: role, rank_id, window, path. All zero is an empty map. */
typedef struct {
    rlmr_capture *captures;
    rlmr_piece *pieces; /**< in a share: what of each capture is for this process; else NULL */
    size_t count;
    size_t found;      /**< before the filters */
    size_t unreadable; /**< directories that could not be searched; a warning was given for each */
} rlmr_datamap;

/** Search the roots, find role, rank, window and files of each capture, filter, number.
 *
 *  @param map out: rlmr_datamap_release() in every case
 *  @return OK, E_NOMEM, E_INPUT (a root is unreadable, nothing found, nothing left) */
RLMR_MUST_CHECK rlmr_status rlmr_datamap_build(const rlmr_options *options, rlmr_datamap *map,
                                               rlmr_error *err);
void rlmr_datamap_release(rlmr_datamap *map);

/** Share the captures out so that all processes get nearly equal bytes. Large ones are laid end to end and cut into pieces of
 *  consecutive processes, if options->split_bytes allows; the others go whole, the largest first, each to the
 *  process that has least so far (Graham's LPT rule). @param parts out: one encoded share for each of `count`
 *  processes, all zero before */
RLMR_MUST_CHECK rlmr_status rlmr_datamap_share(const rlmr_datamap *map, const rlmr_map_options *options,
                                               rlmr_bytes *parts, int count, rlmr_error *err);

/** Append one piece to the bytes of a share. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_datamap_encode(const rlmr_capture *capture, const rlmr_piece *piece,
                                                rlmr_bytes *part, rlmr_error *err);

/** A share, back from its bytes. @return OK, E_NOMEM, E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_datamap_decode(const rlmr_bytes *part, rlmr_datamap *map, rlmr_error *err);

/** Bytes that the chosen analyses read of a capture. */
int64_t rlmr_datamap_weight(const rlmr_capture *capture, const rlmr_map_options *options);

#endif
