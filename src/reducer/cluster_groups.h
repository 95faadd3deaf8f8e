/** Groups in use: their members, the numbers of ranks in them, and the rows of /communication_group. */
#ifndef RLMR_CLUSTER_GROUPS_H
#define RLMR_CLUSTER_GROUPS_H

#include "cluster_map_state.h"

/** The members of one group in use. */
typedef struct {
    uint32_t role; /**< place in the map's roles */
    bool collective;
    bool pipeline; /**< its process group is a pp* */
    size_t first;  /**< in members */
    size_t count;
} rlmr_member_set;

typedef struct {
    rlmr_bytes sets;    /**< rlmr_member_set, in order of role */
    rlmr_bytes members; /**< int32_t, ascending in each set */
} rlmr_member_sets;

/** Fill groups, numberings and numbered of a map whose roles are there.
 *  @param out all zero; rlmr_member_sets_release() in any case  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_groups(rlmr_cluster_map *map, const rlmr_table *uses,
                                                const rlmr_table *declared, const rlmr_symtab *texts,
                                                rlmr_member_sets *out, rlmr_error *err);
void rlmr_member_sets_release(rlmr_member_sets *sets);

#endif
