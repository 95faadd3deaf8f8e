#include "rlmr/number_text.h"
#include "text.h"
#include "tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef rlmr_cluster_communication_time_row time_row;
typedef rlmr_cluster_communication_bandwidth_row band_row;

static const time_row *time_of(const rlmr_export_tree *tree, const rlmr_export_item *item) {
    return &tree->job->cluster_communication_time.rows[item->row];
}

static const band_row *band_of(const rlmr_export_tree *tree, const rlmr_export_item *item) {
    return &tree->job->cluster_communication_bandwidth.rows[item->row];
}

/* ---- One operator of one rank ---- */

static void put_time(const time_row *row, rlmr_text *out) {
    rlmr_json_open(out, '{');
    if (row->start_timestamp_ns != INT64_MIN) {
        char text[RLMR_NUMBER_TEXT_BYTES];
        rlmr_json_key(out, RLMR_SLICE("Start Timestamp(us)"));
        rlmr_json_number(out, (rlmr_slice){text, rlmr_number_text_us(row->start_timestamp_ns, text)});
    }
    rlmr_export_number(out, "Elapse Time(ms)", row->elapsed_time);
    rlmr_export_number(out, "Transit Time(ms)", row->transit_time);
    rlmr_export_number(out, "Wait Time(ms)", row->wait_time);
    rlmr_export_number(out, "Synchronization Time(ms)", row->synchronization_time);
    rlmr_export_number(out, "Idle Time(ms)", row->idle_time);
    rlmr_export_number(out, "Wait Time Ratio", rlmr_number_round(row->wait_time_ratio, 4));
    rlmr_export_number(out, "Synchronization Time Ratio",
                       rlmr_number_round(row->synchronization_time_ratio, 4));
    rlmr_json_close(out, '}');
}

/* [count, time] by size, of rows in order of their size; equal ones are one entry. */
static void put_distribution(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                             rlmr_text *out) {
    rlmr_json_key(out, RLMR_SLICE("Size Distribution"));
    rlmr_json_open(out, '{');
    for (size_t at = 0; at < count;) {
        uint64_t packages = 0; /* wraps for counts that nobody has */
        double duration = 0;
        double size = items[at].size;
        for (; at < count && items[at].size == size; at++) {
            const band_row *row = band_of(tree, &items[at]);
            packages += (uint64_t)row->count;
            duration = rlmr_export_sum(duration, row->total_duration);
        }
        if (size >= 0) {
            char text[RLMR_NUMBER_TEXT_BYTES];
            rlmr_json_key(out, (rlmr_slice){text, rlmr_number_text(size, text)});
            rlmr_json_open(out, '[');
            rlmr_json_i64(out, (int64_t)packages);
            rlmr_json_f64(out, duration);
            rlmr_json_close(out, ']');
        }
    }
    rlmr_json_close(out, '}');
}

static void put_band(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                     rlmr_text *out) {
    const band_row *row = band_of(tree, items);
    rlmr_json_open(out, '{');
    rlmr_export_number(out, "Transit Size(MB)", row->transit_size);
    rlmr_export_number(out, "Transit Time(ms)", row->transit_time);
    rlmr_export_number(out, "Bandwidth(GB/s)", rlmr_number_round(row->bandwidth, 4));
    rlmr_export_number(out, "Large Packet Ratio", rlmr_number_round(row->large_packet_ratio, 4));
    put_distribution(tree, items, count, out);
    rlmr_json_close(out, '}');
}

/* ---- Totals of a group ----
 *
 * The file has one key for the totals of a group, whether of collective operators or of p2p. Where both kinds use one group with
 * the same ranks captured, they are summed, as mstt does; the tables keep them apart. */

static bool is_first_of_type(const rlmr_export_item *items, size_t at) {
    size_t before = 0;
    while (before < at && items[before].type != items[at].type) {
        before++;
    }
    return before == at;
}

static void put_total_time(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                           rlmr_text *out) {
    time_row sum = {.elapsed_time = NAN,
                    .transit_time = NAN,
                    .wait_time = NAN,
                    .synchronization_time = NAN,
                    .idle_time = NAN};
    for (size_t i = 0; i < count; i++) {
        const time_row *row = time_of(tree, &items[i]);
#define ADD(field) sum.field = rlmr_export_sum(sum.field, row->field);
        ADD(elapsed_time)
        ADD(transit_time)
        ADD(wait_time)
        ADD(synchronization_time)
        ADD(idle_time)
#undef ADD
    }
    double transit = rlmr_export_sum(sum.transit_time, 0);
    double wait = rlmr_export_sum(sum.wait_time, 0);
    double synchronization = rlmr_export_sum(sum.synchronization_time, 0);
    rlmr_json_open(out, '{');
    rlmr_export_number(out, "Elapse Time(ms)", sum.elapsed_time);
    rlmr_export_number(out, "Transit Time(ms)", sum.transit_time);
    rlmr_export_number(out, "Wait Time(ms)", sum.wait_time);
    rlmr_export_number(out, "Synchronization Time(ms)", sum.synchronization_time);
    rlmr_export_number(out, "Idle Time(ms)", sum.idle_time);
    rlmr_export_number(out, "Wait Time Ratio", rlmr_export_quotient(wait, wait + transit));
    rlmr_export_number(out, "Synchronization Time Ratio",
                       rlmr_export_quotient(synchronization, synchronization + transit));
    rlmr_json_close(out, '}');
}

static void put_total_band(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                           rlmr_text *out) {
    double size = 0;
    double time = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_first_of_type(items, i)) {
            size = rlmr_export_sum(size, band_of(tree, &items[i])->transit_size);
            time = rlmr_export_sum(time, band_of(tree, &items[i])->transit_time);
        }
    }
    rlmr_json_open(out, '{');
    rlmr_export_number(out, "Transit Time(ms)", time);
    rlmr_export_number(out, "Transit Size(MB)", size);
    put_distribution(tree, items, count, out);
    rlmr_export_number(out, "Bandwidth(GB/s)", rlmr_export_quotient(size, time));
    rlmr_json_close(out, '}');
}

/* ---- Leaves ---- */

static void put_bands(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                      rlmr_text *out) {
    rlmr_json_open(out, '{');
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && items[end].band == items[first].band) {
            end++;
        }
        rlmr_json_key(out, rlmr_export_text(tree->job, band_of(tree, &items[first])->band_type));
        (items[first].total ? put_total_band : put_band)(tree, &items[first], end - first, out);
        first = end;
    }
    rlmr_json_close(out, '}');
}

/* A total has both blocks, as in mstt; an operator, whose name and group occur in one section only, those that were recorded. */
static void put_value(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count,
                      rlmr_text *out) {
    size_t times = 0;
    while (times < count && !items[times].of_bandwidth) {
        times++;
    }
    rlmr_json_open(out, '{');
    if (items->total) {
        rlmr_json_key(out, RLMR_SLICE("Communication Time Info"));
        put_total_time(tree, items, times, out);
    } else if (times > 0) {
        rlmr_json_key(out, RLMR_SLICE("Communication Time Info"));
        put_time(time_of(tree, items), out);
    }
    if (items->total || times < count) {
        rlmr_json_key(out, RLMR_SLICE("Communication Bandwidth Info"));
        put_bands(tree, items + times, count - times, out);
    }
    rlmr_json_close(out, '}');
}

static void put_key(const rlmr_export_item *item, rlmr_text *out) {
    char text[16];
    rlmr_json_key(out, (rlmr_slice){text, (size_t)sprintf(text, "%" PRId32, item->leaf[0])});
}

/* ---- The file ---- */

bool rlmr_export_has_communication(const rlmr_export_job *job, const rlmr_export_part *part) {
    bool has = false;
#define LOOK(table)                                                                                          \
    for (size_t i = part->table.first; i < part->table.end && !has; i++) {                                   \
        has = RLMR_EXPORT_IS_OF(part, &job->table.rows[i]);                                                  \
    }
    LOOK(cluster_communication_time)
    LOOK(cluster_communication_bandwidth)
    return has;
}

static rlmr_status add_times(rlmr_export_tree *tree, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = tree->part->cluster_communication_time.first;
         i < tree->part->cluster_communication_time.end && status == RLMR_OK; i++) {
        const time_row *row = &tree->job->cluster_communication_time.rows[i];
        if (RLMR_EXPORT_IS_OF(tree->part, row)) {
            rlmr_export_item item = {.leaf = {row->rank_id, 0}, .row = i};
            status = rlmr_export_tree_add(tree, item, row->step, row->type, row->group_name,
                                          row->hccl_op_name, err);
        }
    }
    return status;
}

static rlmr_status add_bands(rlmr_export_tree *tree, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = tree->part->cluster_communication_bandwidth.first;
         i < tree->part->cluster_communication_bandwidth.end && status == RLMR_OK; i++) {
        const band_row *row = &tree->job->cluster_communication_bandwidth.rows[i];
        if (RLMR_EXPORT_IS_OF(tree->part, row)) {
            rlmr_export_item item = {.leaf = {row->rank_id, 0},
                                     .row = i,
                                     .of_bandwidth = true,
                                     .band = tree->job->order[row->band_type],
                                     .size = isnan(row->package_size) ? -1 : row->package_size};
            status = rlmr_export_tree_add(tree, item, row->step, row->type, row->group_name,
                                          row->hccl_op_name, err);
        }
    }
    return status;
}

rlmr_status rlmr_export_write_communication(const rlmr_export_job *job, const rlmr_export_part *part,
                                            const rlmr_export_groups *groups, rlmr_text *out,
                                            rlmr_error *err) {
    static const rlmr_export_leaf leaf = {.key = put_key, .value = put_value};
    rlmr_export_tree tree;
    rlmr_export_tree_init(&tree, job, part, groups);
    rlmr_status status = add_times(&tree, err);
    status = status == RLMR_OK ? add_bands(&tree, err) : status;
    status = status == RLMR_OK ? rlmr_export_tree_write(&tree, &leaf, out, err) : status;
    rlmr_export_tree_release(&tree);
    return status;
}
