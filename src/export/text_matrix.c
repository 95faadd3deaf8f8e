#include "text.h"
#include "tree.h"

#include <inttypes.h>
#include <stdio.h>

typedef rlmr_cluster_communication_matrix_row link_row;

static const link_row *link_of(const rlmr_export_tree *tree, const rlmr_export_item *item) {
    return &tree->job->cluster_communication_matrix.rows[item->row];
}

static void put_key(const rlmr_export_item *item, rlmr_text *out) {
    char text[32];
    rlmr_json_key(
        out, (rlmr_slice){text, (size_t)sprintf(text, "%" PRId32 "-%" PRId32, item->leaf[0], item->leaf[1])});
}

/* One entry a link, though it may have used several transports: sizes and times are summed, the last names it. */
static void put_value(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                      rlmr_text *out) {
    double size = 0;
    double time = 0;
    for (size_t i = 0; i < count; i++) {
        size = rlmr_export_sum(size, link_of(tree, &items[i])->transit_size);
        time = rlmr_export_sum(time, link_of(tree, &items[i])->transit_time);
    }
    const link_row *last = link_of(tree, &items[count - 1]);
    rlmr_json_open(out, '{');
    rlmr_json_key(out, RLMR_SLICE("Transport Type"));
    rlmr_json_text(out, rlmr_export_text(tree->job, last->transport_type));
    rlmr_export_number(out, "Transit Time(ms)", time);
    rlmr_export_number(out, "Transit Size(MB)", size);
    rlmr_json_key(out, RLMR_SLICE("Op Name"));
    rlmr_json_text(out, rlmr_export_text(tree->job, last->op_name));
    rlmr_export_number(out, "Bandwidth(GB/s)", rlmr_export_quotient(size, time));
    rlmr_json_close(out, '}');
}

bool rlmr_export_has_matrix(const rlmr_export_job *job, const rlmr_export_part *part) {
    bool has = false;
    for (size_t i = part->cluster_communication_matrix.first;
         i < part->cluster_communication_matrix.end && !has; i++) {
        has = RLMR_EXPORT_IS_OF(part, &job->cluster_communication_matrix.rows[i]);
    }
    return has;
}

/* An operator stays though none of its links is resolved; a total does not. */
static rlmr_status add_links(rlmr_export_tree *tree, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = tree->part->cluster_communication_matrix.first;
         i < tree->part->cluster_communication_matrix.end && status == RLMR_OK; i++) {
        const link_row *row = &tree->job->cluster_communication_matrix.rows[i];
        bool resolved = row->src_rank >= 0 && row->dst_rank >= 0;
        if (RLMR_EXPORT_IS_OF(tree->part, row) && (resolved || row->hccl_op_name != tree->total)) {
            rlmr_export_item item = {.leaf = {row->src_rank, row->dst_rank}, .row = i};
            status = rlmr_export_tree_add(tree, item, row->step, row->type, row->group_name,
                                          row->hccl_op_name, err);
        }
    }
    return status;
}

rlmr_status rlmr_export_write_matrix(const rlmr_export_job *job, const rlmr_export_part *part,
                                     const rlmr_export_groups *groups, rlmr_text *out, rlmr_error *err) {
    static const rlmr_export_leaf leaf = {.key = put_key, .value = put_value};
    rlmr_export_tree tree;
    rlmr_export_tree_init(&tree, job, part, groups);
    rlmr_status status = add_links(&tree, err);
    status = status == RLMR_OK ? rlmr_export_tree_write(&tree, &leaf, out, err) : status;
    rlmr_export_tree_release(&tree);
    return status;
}
