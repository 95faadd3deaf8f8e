#include "complete.h"

#include "reduce.h"
#include "rlmr/cluster_map.h"

enum { FACTS = RLMR_TABLE_AND_FACT_COUNT - RLMR_TABLE_COUNT };
#define FACT(table) (RLMR_TABLE_##table - RLMR_TABLE_COUNT)

/* On process 0. */
static rlmr_status build(rlmr_collector *const *facts, const rlmr_symtab *texts, rlmr_partial *partial,
                         rlmr_cluster_map **map, rlmr_bytes *bytes, rlmr_error *err) {
    rlmr_status status = rlmr_cluster_map_build(
        rlmr_collector_table(facts[FACT(group_use)]), rlmr_collector_table(facts[FACT(group_declared)]),
        rlmr_collector_table(facts[FACT(job_distribution)]), texts, map, err);
    status = status == RLMR_OK ? rlmr_cluster_map_encode(*map, bytes, err) : status;
    return status == RLMR_OK
               ? rlmr_cluster_map_tables(*map, &partial->tables[RLMR_TABLE_communication_group],
                                         &partial->tables[RLMR_TABLE_cluster_base_info], partial->texts, err)
               : status;
}

/* Collective. Make the map on process 0, and give it to all. */
static rlmr_status share_map(rlmr_comm *comm, rlmr_collector *const *facts, const rlmr_symtab *texts,
                             rlmr_partial *partial, rlmr_cluster_map **map, rlmr_error *err) {
    rlmr_bytes bytes = {0};
    bool first = rlmr_comm_rank(comm) == 0;
    rlmr_status status = first ? build(facts, texts, partial, map, &bytes, err) : RLMR_OK;
    status = rlmr_comm_agree(comm, status, err);
    status = status == RLMR_OK ? rlmr_comm_broadcast(comm, &bytes, err) : status;
    if (status == RLMR_OK && !first) {
        status = rlmr_cluster_map_decode(&bytes, map, err);
    }
    rlmr_bytes_release(&bytes);
    return status;
}

static rlmr_status fill_in(const rlmr_cluster_map *map, rlmr_partial *partial, rlmr_error *err) {
    rlmr_cluster_map_links(map, &partial->tables[RLMR_TABLE_cluster_communication_matrix], partial->texts);
    return rlmr_cluster_map_steps(map, &partial->tables[RLMR_TABLE_cluster_step_trace_time], partial->texts,
                                  err);
}

rlmr_status rlmr_complete(rlmr_comm *comm, rlmr_partial *partial, const rlmr_map_options *options,
                          size_t block_bytes, rlmr_error *err) {
    rlmr_symtab *texts = NULL;
    rlmr_collector *facts[FACTS] = {NULL};
    rlmr_cluster_map *map = NULL;
    if (!rlmr_map_cluster(options)) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_comm_agree(comm, rlmr_symtab_open(&texts, err), err);
    for (int fact = 0; fact < FACTS && status == RLMR_OK; fact++) {
        status = rlmr_reduce_collect(comm, &partial->tables[RLMR_TABLE_COUNT + fact], partial->texts,
                                     block_bytes, texts, &facts[fact], err);
    }
    status = status == RLMR_OK ? share_map(comm, facts, texts, partial, &map, err) : status;
    status = status == RLMR_OK ? fill_in(map, partial, err) : status;
    rlmr_cluster_map_close(map);
    for (int fact = 0; fact < FACTS; fact++) {
        rlmr_collector_close(facts[fact]);
    }
    rlmr_symtab_close(texts);
    return rlmr_comm_agree(comm, status, err);
}
