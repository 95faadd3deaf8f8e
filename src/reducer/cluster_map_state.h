/** What a cluster map holds. Its arrays are rlmr_bytes, so that they grow and are released alike. */
#ifndef RLMR_CLUSTER_MAP_STATE_H
#define RLMR_CLUSTER_MAP_STATE_H

#include "cluster_layout.h"
#include "rlmr/cluster_map.h"

typedef struct {
    uint32_t role; /**< place in roles */
    rlmr_layout layout;
} rlmr_role_layout;

/** A rank and its number in a group. */
typedef struct {
    int32_t number;
    int32_t rank;
} rlmr_numbered;

/** The known numbers of one communicator. */
typedef struct {
    uint32_t role; /**< place in roles */
    uint32_t name; /**< of the group, as an id of texts */
    size_t first;  /**< in numbered */
    size_t count;
} rlmr_numbering;

/** A pipeline stage. */
typedef struct {
    uint32_t role; /**< place in roles */
    size_t first;  /**< in stage_ranks */
    size_t count;
} rlmr_stage;

typedef struct {
    uint32_t role;
    int32_t rank;
    uint32_t stage; /**< place in stages */
} rlmr_stage_member;

struct rlmr_cluster_map {
    rlmr_symtab *texts;
    rlmr_table groups;        /**< /communication_group, with ids of texts; empty in a map that was decoded */
    rlmr_table info;          /**< /cluster_base_info, likewise */
    rlmr_bytes roles;         /**< uint32_t, ids of texts in order of the texts */
    rlmr_bytes layouts;       /**< rlmr_role_layout, complete ones, in order of role */
    rlmr_bytes numberings;    /**< rlmr_numbering, in order of role and text of name */
    rlmr_bytes numbered;      /**< rlmr_numbered, in each numbering in order of number */
    rlmr_bytes stages;        /**< rlmr_stage, in order of role */
    rlmr_bytes stage_ranks;   /**< int32_t, ascending in each stage */
    rlmr_bytes stage_members; /**< rlmr_stage_member, in order of role and rank */
};

/** Item `at` of an array; a pointer to the first where there is none is NULL. */
#define RLMR_ITEMS(type, array) ((type *)(void *)(array).data)
#define RLMR_COUNT(type, array) ((array).bytes / sizeof(type))

/** An empty map. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_open(rlmr_cluster_map **out, rlmr_error *err);

/** Text of a role by its place in roles. */
rlmr_slice rlmr_cluster_map_role(const rlmr_cluster_map *map, uint32_t role);

/** @return false if there is no such role */
bool rlmr_cluster_map_find_role(const rlmr_cluster_map *map, rlmr_slice text, uint32_t *role);

/** Make stage_members of stages and stage_ranks. @return OK, E_NOMEM; E_PARSE if a rank is in two stages of a role */
RLMR_MUST_CHECK rlmr_status rlmr_cluster_map_index_stages(rlmr_cluster_map *map, rlmr_error *err);

#endif
