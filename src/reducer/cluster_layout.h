/** How the ranks of one role are laid out: sizes of the kinds of parallelism, and a rank's coordinates. */
#ifndef RLMR_CLUSTER_LAYOUT_H
#define RLMR_CLUSTER_LAYOUT_H

#include "rlmr/cluster.h"

#include <stdbool.h>

#define RLMR_LAYOUT_FIELD(type, name, unit, storage, description) rlmr_row_##type name;
typedef struct {
    RLMR_JOB_SIZES(RLMR_LAYOUT_FIELD)
} rlmr_layout;

typedef struct {
    int32_t dp;
    int32_t pp;
    int32_t tp;
} rlmr_coordinates;

/** A size of 0 becomes 1, but not the world's.
 *  @return true if the sizes are all known and agree: world = tp pp dp cp, and ep divides dp */
bool rlmr_layout_complete(rlmr_layout *layout);

/** Coordinates in Megatron-LM's order tp-cp-dp-pp, tp innermost; all -1 if the layout, complete, has no such rank, or is NULL. */
rlmr_coordinates rlmr_layout_place(const rlmr_layout *layout, int32_t rank);

#endif
