#include "db.h"

#include "tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const rlmr_export_job *job;
    const rlmr_export_part *part;
    const rlmr_export_groups *groups;
    uint32_t total; /* id of RLMR_TOTAL_OP */
    rlmr_sqlite *out;
    rlmr_bytes text; /* of the cell that is made */
    rlmr_error *err;
    rlmr_status status; /* of what needs memory here */
} writing;

/* Rounded as numpy does, which scales first: some quotients differ from the correctly rounded ones of the text form. */
static double round_scaled(double value) {
    return rint(value * 1e4) / 1e4;
}

static void put_text(const writing *self, uint32_t id) {
    rlmr_sqlite_text(self->out, rlmr_export_text(self->job, id));
}

/* "step5" for step 5. */
static void put_step(writing *self, uint32_t step) {
    rlmr_slice id = rlmr_export_text(self->job, step);
    rlmr_bytes_clear(&self->text);
    rlmr_status status = rlmr_bytes_append(&self->text, "step", 4, self->err);
    status = status == RLMR_OK ? rlmr_bytes_append(&self->text, id.text, id.bytes, self->err) : status;
    self->status = self->status == RLMR_OK ? status : self->status;
    rlmr_sqlite_text(self->out, (rlmr_slice){(const char *)self->text.data, self->text.bytes});
}

/* "(0, 1)" as "(0,1)", and "(3,)" as "(3)". */
static void put_ranks(writing *self, uint32_t id) {
    rlmr_slice ranks = rlmr_export_text(self->job, id);
    rlmr_bytes_clear(&self->text);
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < ranks.bytes && status == RLMR_OK; i++) {
        bool last_comma = ranks.text[i] == ',' && i + 1 < ranks.bytes && ranks.text[i + 1] == ')';
        if (ranks.text[i] != ' ' && !last_comma) {
            status = rlmr_bytes_append(&self->text, &ranks.text[i], 1, self->err);
        }
    }
    self->status = self->status == RLMR_OK ? status : self->status;
    rlmr_sqlite_text(self->out, (rlmr_slice){(const char *)self->text.data, self->text.bytes});
}

/* ---- CommunicationGroupMapping ---- */

static void write_groups(writing *self) {
    rlmr_sqlite_table(self->out, "CommunicationGroupMapping",
                      "CREATE TABLE \"CommunicationGroupMapping\" (\n\"type\" TEXT,\n  \"rank_set\" TEXT,\n  "
                      "\"group_name\" TEXT,\n  \"group_id\" TEXT,\n  \"pg_name\" TEXT\n)",
                      5);
    for (size_t i = 0; i < self->job->communication_group.count; i++) {
        const rlmr_communication_group_row *row = &self->job->communication_group.rows[i];
        if (row->role == self->part->role &&
            rlmr_export_groups_get(self->job, self->groups, row->type, row->group_name) != NULL) {
            put_text(self, row->type);
            put_ranks(self, row->rank_set);
            put_text(self, row->group_name);
            put_text(self, row->group_id);
            put_text(self, row->pg_name);
            rlmr_sqlite_end_row(self->out);
        }
    }
}

/* ---- ClusterCommunicationTime ---- */

/* Nanoseconds as the double nearest to the microseconds: a quotient of doubles would be rounded twice. */
static double microseconds(int64_t ns) {
    char text[48];
    (void)snprintf(text, sizeof text, "%" PRId64 "e-3", ns);
    return strtod(text, NULL);
}

static void write_time(writing *self, const rlmr_cluster_communication_time_row *row) {
    bool total = row->hccl_op_name == self->total;
    put_step(self, row->step);
    rlmr_sqlite_i64(self->out, row->rank_id);
    put_text(self, row->hccl_op_name);
    put_text(self, row->group_name);
    if (row->start_timestamp_ns == INT64_MIN && !total) {
        rlmr_sqlite_null(self->out);
    } else {
        rlmr_sqlite_f64(self->out, total ? 0 : microseconds(row->start_timestamp_ns));
    }
    rlmr_sqlite_f64(self->out, row->elapsed_time);
    rlmr_sqlite_f64(self->out, row->transit_time);
    rlmr_sqlite_f64(self->out, row->wait_time);
    rlmr_sqlite_f64(self->out, row->synchronization_time);
    rlmr_sqlite_f64(self->out, row->idle_time);
    /* mstt has ratios of totals only */
    rlmr_sqlite_f64(self->out, total ? round_scaled(row->synchronization_time_ratio) : 0);
    rlmr_sqlite_f64(self->out, total ? round_scaled(row->wait_time_ratio) : 0);
    rlmr_sqlite_end_row(self->out);
}

static void write_times(writing *self) {
    rlmr_sqlite_table(
        self->out, "ClusterCommunicationTime",
        "CREATE TABLE \"ClusterCommunicationTime\" (\n\"step\" TEXT,\n  \"rank_id\" INTEGER,\n  "
        "\"hccl_op_name\" TEXT,\n  \"group_name\" TEXT,\n  \"start_timestamp\" REAL,\n  "
        "\"elapsed_time\" REAL,\n  \"transit_time\" REAL,\n  \"wait_time\" REAL,\n  "
        "\"synchronization_time\" REAL,\n  \"idle_time\" REAL,\n  "
        "\"synchronization_time_ratio\" REAL,\n  \"wait_time_ratio\" REAL\n)",
        12);
    for (size_t i = self->part->cluster_communication_time.first;
         i < self->part->cluster_communication_time.end; i++) {
        const rlmr_cluster_communication_time_row *row = &self->job->cluster_communication_time.rows[i];
        if (RLMR_EXPORT_IS_OF(self->part, row)) {
            write_time(self, row);
        }
    }
}

/* ---- ClusterCommunicationBandwidth ---- */

static void write_band(writing *self, const rlmr_cluster_communication_bandwidth_row *row) {
    bool total = row->hccl_op_name == self->total;
    put_step(self, row->step);
    rlmr_sqlite_i64(self->out, row->rank_id);
    put_text(self, row->hccl_op_name);
    put_text(self, row->group_name);
    put_text(self, row->band_type);
    rlmr_sqlite_f64(self->out, row->transit_size);
    rlmr_sqlite_f64(self->out, row->transit_time);
    rlmr_sqlite_f64(self->out, total ? round_scaled(row->bandwidth) : row->bandwidth);
    rlmr_sqlite_f64(self->out, total ? 0 : row->large_packet_ratio);
    rlmr_sqlite_f64(self->out, isnan(row->package_size) ? 0 : row->package_size); /* no packages, in mstt */
    rlmr_sqlite_i64(self->out, row->count);
    rlmr_sqlite_f64(self->out, row->total_duration);
    rlmr_sqlite_end_row(self->out);
}

static void write_bands(writing *self) {
    rlmr_sqlite_table(
        self->out, "ClusterCommunicationBandwidth",
        "CREATE TABLE \"ClusterCommunicationBandwidth\" (\n\"step\" TEXT,\n  \"rank_id\" INTEGER,\n  "
        "\"hccl_op_name\" TEXT,\n  \"group_name\" TEXT,\n  \"band_type\" TEXT,\n  "
        "\"transit_size\" REAL,\n  \"transit_time\" REAL,\n  \"bandwidth\" REAL,\n  "
        "\"large_packet_ratio\" REAL,\n  \"package_size\" REAL,\n  \"count\" INTEGER,\n  "
        "\"total_duration\" REAL\n)",
        12);
    for (size_t i = self->part->cluster_communication_bandwidth.first;
         i < self->part->cluster_communication_bandwidth.end; i++) {
        const rlmr_cluster_communication_bandwidth_row *row =
            &self->job->cluster_communication_bandwidth.rows[i];
        if (RLMR_EXPORT_IS_OF(self->part, row)) {
            write_band(self, row);
        }
    }
}

/* ---- ClusterCommunicationMatrix ---- */

typedef rlmr_cluster_communication_matrix_row link_row;

static bool is_resolved(const writing *self, const link_row *row) {
    return RLMR_EXPORT_IS_OF(self->part, row) && row->src_rank >= 0 && row->dst_rank >= 0;
}

static bool is_same_link(const link_row *a, const link_row *b) {
    return a->step == b->step && a->type == b->type && a->hccl_op_name == b->hccl_op_name &&
           a->group_name == b->group_name && a->src_rank == b->src_rank && a->dst_rank == b->dst_rank;
}

/* One row a link: several transports of it, which lie together in the table, are summed; the first names it, as in mstt. */
static void write_link(writing *self, const link_row *rows, size_t count) {
    double size = 0;
    double time = 0;
    for (size_t i = 0; i < count; i++) {
        size = rlmr_export_sum(size, rows[i].transit_size);
        time = rlmr_export_sum(time, rows[i].transit_time);
    }
    put_step(self, rows->step);
    put_text(self, rows->hccl_op_name);
    put_text(self, rows->group_name);
    rlmr_sqlite_f64(self->out, rows->src_rank);
    rlmr_sqlite_f64(self->out, rows->dst_rank);
    put_text(self, rows->transport_type);
    put_text(self, rows->op_name);
    rlmr_sqlite_f64(self->out, size);
    rlmr_sqlite_f64(self->out, time);
    rlmr_sqlite_f64(self->out, time == 0 ? 0 : size / time);
    rlmr_sqlite_end_row(self->out);
}

static void write_links(writing *self) {
    rlmr_sqlite_table(
        self->out, "ClusterCommunicationMatrix",
        "CREATE TABLE \"ClusterCommunicationMatrix\" (\n\"step\" TEXT,\n  \"hccl_op_name\" TEXT,\n  "
        "\"group_name\" TEXT,\n  \"src_rank\" REAL,\n  \"dst_rank\" REAL,\n  "
        "\"transport_type\" TEXT,\n  \"op_name\" TEXT,\n  \"transit_size\" REAL,\n  "
        "\"transit_time\" REAL,\n  \"bandwidth\" REAL\n)",
        10);
    const link_row *rows = self->job->cluster_communication_matrix.rows;
    size_t count = self->part->cluster_communication_matrix.end;
    for (size_t first = self->part->cluster_communication_matrix.first; first < count;) {
        size_t end = first + 1;
        if (is_resolved(self, &rows[first])) {
            while (end < count && is_resolved(self, &rows[end]) && is_same_link(&rows[first], &rows[end])) {
                end++;
            }
            write_link(self, &rows[first], end - first);
        }
        first = end;
    }
}

/* ---- ClusterStepTraceTime ---- */

typedef rlmr_cluster_step_trace_time_row step_row;

/* Coordinates that are not known are 0 in mstt, for all rows if no rank has them; those of a stage are NA. */
static void put_indices(const writing *self, const step_row *row, bool known) {
    const int32_t indices[] = {row->dp_index, row->pp_index, row->tp_index};
    bool stage = rlmr_slice_equal(rlmr_export_text(self->job, row->type), RLMR_SLICE("stage"));
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        if (known && stage) {
            rlmr_sqlite_text(self->out, RLMR_SLICE("NA"));
        } else {
            rlmr_sqlite_i64(self->out, indices[i] < 0 ? 0 : indices[i]);
        }
    }
}

static void write_step(writing *self, const step_row *row, bool known) {
    put_text(self, row->step);
    put_text(self, row->type);
    put_ranks(self, row->index);
#define PUT(type, name, unit, storage, description) rlmr_sqlite_f64(self->out, row->name);
    RLMR_STEP_NUMBERS(PUT)
#undef PUT
    put_indices(self, row, known);
    rlmr_sqlite_end_row(self->out);
}

static void write_steps(writing *self) {
    rlmr_sqlite_table(
        self->out, "ClusterStepTraceTime",
        "CREATE TABLE ClusterStepTraceTime(step TEXT,type TEXT,\"index\" TEXT,computing NUMERIC,"
        "communication_not_overlapped NUMERIC,overlapped NUMERIC,communication NUMERIC,free NUMERIC,"
        "stage NUMERIC,bubble NUMERIC,communication_not_overlapped_and_exclude_receive NUMERIC,"
        "preparing NUMERIC,dp_index INTEGER,pp_index INTEGER,tp_index INTEGER)",
        15);
    const step_row *rows = self->job->cluster_step_trace_time.rows;
    bool known = false;
    for (size_t i = self->part->cluster_step_trace_time.first; i < self->part->cluster_step_trace_time.end;
         i++) {
        known = known || (RLMR_EXPORT_IS_OF(self->part, &rows[i]) && rows[i].dp_index >= 0);
    }
    for (size_t i = self->part->cluster_step_trace_time.first; i < self->part->cluster_step_trace_time.end;
         i++) {
        if (RLMR_EXPORT_IS_OF(self->part, &rows[i])) {
            write_step(self, &rows[i], known);
        }
    }
}

/* ---- ClusterBaseInfo, HostInfo, RankDeviceMap ---- */

static void write_base_info(writing *self) {
    rlmr_sqlite_table(self->out, "ClusterBaseInfo", "CREATE TABLE ClusterBaseInfo(key TEXT,value TEXT)", 2);
    bool written = false;
    for (size_t i = 0; i < self->job->cluster_base_info.count && !written; i++) {
        const rlmr_cluster_base_info_row *row = &self->job->cluster_base_info.rows[i];
        written = row->role == self->part->role &&
                  rlmr_slice_equal(rlmr_export_text(self->job, row->key), RLMR_SLICE("distributed_args"));
        if (written) {
            put_text(self, row->key);
            put_text(self, row->value);
            rlmr_sqlite_end_row(self->out);
        }
    }
}

typedef rlmr_rank_device_map_row device_row;

static bool is_device_of(const writing *self, const device_row *row) {
    const rlmr_captures_row *capture = rlmr_export_capture(self->job, row->capture);
    return row->role == self->part->role && (capture == NULL ? 0 : capture->window) == self->part->window;
}

static int compare_hosts(const void *left, const void *right, void *context) {
    const rlmr_export_job *job = context;
    const device_row *a = &job->rank_device_map.rows[*(const size_t *)left];
    const device_row *b = &job->rank_device_map.rows[*(const size_t *)right];
    if (a->host_uid != b->host_uid) {
        return job->order[a->host_uid] < job->order[b->host_uid] ? -1 : 1;
    }
    uint32_t name_a = job->order[a->host_name];
    uint32_t name_b = job->order[b->host_name];
    return (name_a < name_b) - (name_a > name_b); /* one without a name last */
}

static void write_hosts(writing *self) {
    size_t count = 0;
    const device_row *rows = self->job->rank_device_map.rows;
    size_t *hosts = calloc(self->job->rank_device_map.count + 1, sizeof *hosts); /* rows */
    if (hosts == NULL) {
        self->status = rlmr_error_set(self->err, RLMR_E_NOMEM, "no memory for the hosts");
        return;
    }
    for (size_t i = 0; i < self->job->rank_device_map.count; i++) {
        if (is_device_of(self, &rows[i]) && rows[i].host_uid != 0) {
            hosts[count++] = i;
        }
    }
    qsort_r(hosts, count, sizeof *hosts, compare_hosts, (void *)self->job);
    rlmr_sqlite_table(self->out, "HostInfo", "CREATE TABLE HostInfo(hostUid TEXT,hostName TEXT)", 2);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || rows[hosts[i]].host_uid != rows[hosts[i - 1]].host_uid) {
            put_text(self, rows[hosts[i]].host_uid);
            put_text(self, rows[hosts[i]].host_name);
            rlmr_sqlite_end_row(self->out);
        }
    }
    free(hosts);
}

static void write_devices(writing *self) {
    rlmr_sqlite_table(
        self->out, "RankDeviceMap",
        "CREATE TABLE RankDeviceMap(rankId INTEGER,deviceId INTEGER,hostUid TEXT,profilePath TEXT)", 4);
    for (size_t i = 0; i < self->job->rank_device_map.count; i++) {
        const device_row *row = &self->job->rank_device_map.rows[i];
        const rlmr_captures_row *capture = rlmr_export_capture(self->job, row->capture);
        if (!is_device_of(self, row)) {
            continue;
        }
        rlmr_sqlite_i64(self->out, row->rank_id);
        if (row->device_id < 0) {
            rlmr_sqlite_null(self->out);
        } else {
            rlmr_sqlite_i64(self->out, row->device_id);
        }
        put_text(self, row->host_uid);
        put_text(self, capture == NULL ? 0 : capture->path);
        rlmr_sqlite_end_row(self->out);
    }
}

rlmr_status rlmr_export_write_db(const rlmr_export_job *job, const rlmr_export_part *part,
                                 const rlmr_export_groups *groups, rlmr_sqlite *out, rlmr_error *err) {
    writing self = {.job = job, .part = part, .groups = groups, .total = UINT32_MAX, .out = out, .err = err};
    (void)rlmr_symtab_find(job->texts, RLMR_SLICE(RLMR_TOTAL_OP), &self.total);
    write_groups(&self);
    write_times(&self);
    write_bands(&self);
    write_links(&self);
    write_base_info(&self);
    write_steps(&self);
    write_hosts(&self);
    write_devices(&self);
    rlmr_bytes_release(&self.text);
    return self.status == RLMR_OK ? rlmr_sqlite_status(out, err) : self.status;
}
