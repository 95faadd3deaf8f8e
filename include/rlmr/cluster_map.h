/* layer: reducer */
/** The job as a whole: members of its groups, pipeline stages, coordinates of its ranks. Made on process 0 from the facts that
 *  all captures state (cluster.h), then sent to every process, which completes its rows with it. Roles are kept apart.
 *
 *  Members of a group come from metadata where it declares them, else from the captures seen to use it. A number in a group is
 *  turned into a rank by the metadata, else by the links of ranks to themselves; whether p2p or collective, since one hash is
 *  one communicator. Pipelines are the connected components of the groups whose name begins with `pp`; a stage is a connected
 *  component of the collective groups that share at most one rank with every pipeline. Coordinates are those of Megatron-LM's
 *  order tp-cp-dp-pp, where the sizes are all known and agree with the world's.
 */
#ifndef RLMR_CLUSTER_MAP_H
#define RLMR_CLUSTER_MAP_H

#include "rlmr/cluster.h"

typedef struct rlmr_cluster_map rlmr_cluster_map;

/** @param uses,declared,jobs tables of rlmr_group_use_schema, rlmr_group_declared_schema, rlmr_job_distribution_schema of all
 *                            captures, rows appended in key order, texts as ids of `texts`
 *  @param out                owned by the caller, rlmr_cluster_map_close()
 *  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_build(const rlmr_table *uses, const rlmr_table *declared,
                                                   const rlmr_table *jobs, const rlmr_symtab *texts,
                                                   rlmr_cluster_map **out, rlmr_error *err);
void rlmr_cluster_map_close(rlmr_cluster_map *map);

/** Append to `out`, and take back, all that the functions below need. @return OK, E_NOMEM; E_PARSE (decode) */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_encode(const rlmr_cluster_map *map, rlmr_bytes *out,
                                                    rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_decode(const rlmr_bytes *in, rlmr_cluster_map **out,
                                                    rlmr_error *err);

/** Append all rows of /communication_group and /cluster_base_info. For the map that was built, on process 0. @return OK, E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_tables(const rlmr_cluster_map *map, rlmr_table *groups,
                                                    rlmr_table *info, rlmr_symtab *texts, rlmr_error *err);

/** Fill in src_rank and dst_rank of all rows of a /cluster_communication_matrix whose texts are ids of `texts`. */
void rlmr_cluster_map_links(const rlmr_cluster_map *map, rlmr_table *links, const rlmr_symtab *texts);

/** Fill in dp_index, pp_index and tp_index of the rows of a /cluster_step_trace_time, and append for each of them one row of its
 *  stage if its role has stages ("()": its rank is in none): folding makes one of these. @return OK, E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_steps(const rlmr_cluster_map *map, rlmr_table *steps,
                                                   rlmr_symtab *texts, rlmr_error *err);

#endif
