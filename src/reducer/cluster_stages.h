/** Pipeline stages of each role, from the members of its groups. */
#ifndef RLMR_CLUSTER_STAGES_H
#define RLMR_CLUSTER_STAGES_H

#include "cluster_groups.h"

/** Fill stages, stage_ranks and stage_members of the map, in a role in order of the least ranks. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_stages(rlmr_cluster_map *map, const rlmr_member_sets *sets,
                                                rlmr_error *err);

#endif
