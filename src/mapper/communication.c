#include "communication.h"

#include "rlmr/decimal.h"
#include "rlmr/sum.h"

#include <stdio.h>
#include <string.h>

rlmr_status rlmr_communication_bad(rlmr_communication *self, const rlmr_communication_key *key,
                                   const char *name, rlmr_slice text, const char *reason, rlmr_error *err) {
    int shown = text.bytes > 64 ? 64 : (int)text.bytes;
    int op = key->op.bytes > 64 ? 64 : (int)key->op.bytes;
    char place[40] = "";
    if (key->offset >= 0) {
        (void)snprintf(place, sizeof place, " at byte %lld", (long long)key->offset);
    }
    self->job->capture->bad_cells++;
    return rlmr_file_damage_met(self->damage, key->offset, err, "operator \"%.*s\"%s: %s \"%.*s\": %s", op,
                                key->op.text, place, name, shown, text.text, reason);
}

rlmr_status rlmr_communication_number(rlmr_communication *self, const rlmr_communication_key *key,
                                      const char *name, rlmr_slice text, double *value, rlmr_error *err) {
    *value = NAN;
    if (text.bytes == 0) {
        return RLMR_OK;
    }
    double number;
    if (!rlmr_decimal_to_double(text, 0, &number) || !isfinite(number)) {
        return rlmr_communication_bad(self, key, name, text, "not a number", err);
    }
    *value = number;
    return RLMR_OK;
}

static rlmr_status intern(rlmr_communication *self, const rlmr_communication_key *key, const char *name,
                          rlmr_slice text, uint32_t *id, rlmr_error *err) {
    bool replaced = false;
    rlmr_status status = rlmr_symtab_intern_utf8(self->job->partial->texts, text, id, &replaced, err);
    return status == RLMR_OK && replaced
               ? rlmr_communication_bad(self, key, name, text, "not UTF-8, or a NUL byte", err)
               : status;
}

rlmr_status rlmr_communication_name(rlmr_communication *self, const rlmr_communication_key *key,
                                    rlmr_communication_ids *ids, rlmr_error *err) {
    *ids = (rlmr_communication_ids){.step = self->job->only_step, .type = self->types[key->p2p]};
    rlmr_status status = RLMR_OK;
    if (key->step.bytes > 0) {
        status = intern(self, key, "step", key->step, &ids->step, err);
    }
    status = status == RLMR_OK ? intern(self, key, "name", key->op, &ids->op, err) : status;
    return status == RLMR_OK ? intern(self, key, "group", key->group, &ids->group, err) : status;
}

rlmr_status rlmr_communication_use(rlmr_communication *self, const rlmr_communication_ids *ids, int32_t src,
                                   int32_t dst, rlmr_error *err) {
    const uint32_t group[] = {ids->type, ids->group};
    uint32_t count = rlmr_symtab_count(self->groups);
    uint32_t id;
    rlmr_status status = rlmr_symtab_intern(
        self->groups, (rlmr_slice){.text = (const char *)group, .bytes = sizeof group}, &id, err);
    if (status == RLMR_OK && id == count) {
        rlmr_group_use_row made = {.role = self->job->job_role,
                                   .type = ids->type,
                                   .group_name = ids->group,
                                   .rank_id = self->job->capture->rank_id,
                                   .capture = self->job->capture->number,
                                   .own_local = -1,
                                   .greatest_local = -1};
        status = rlmr_bytes_append(&self->uses, &made, sizeof made, err);
    }
    if (status == RLMR_OK && src >= 0) {
        rlmr_group_use_row *use = (rlmr_group_use_row *)(void *)self->uses.data + (id - 1);
        use->own_local = src == dst && use->own_local < 0 ? src : use->own_local;
        int32_t greatest = src > dst ? src : dst;
        use->greatest_local = greatest > use->greatest_local ? greatest : use->greatest_local;
    }
    return status;
}

rlmr_status rlmr_communication_repeats(rlmr_communication *self, const rlmr_communication_key *key,
                                       const rlmr_communication_ids *ids, const rlmr_slice *more,
                                       size_t count, bool *repeats, rlmr_error *err) {
    const uint32_t names[] = {ids->type, ids->step, ids->op, ids->group};
    uint32_t id;
    uint32_t known = rlmr_symtab_count(self->seen);
    rlmr_bytes_clear(&self->key);
    rlmr_status status = rlmr_bytes_append(&self->key, names, sizeof names, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = rlmr_bytes_append_slice(&self->key, more[i], err);
    }
    if (status == RLMR_OK) {
        status = rlmr_symtab_intern(
            self->seen, (rlmr_slice){.text = (const char *)self->key.data, .bytes = self->key.bytes}, &id,
            err);
    }
    if (status != RLMR_OK) {
        return status;
    }
    *repeats = id != known;
    return *repeats
               ? rlmr_communication_bad(self, key, "of the group", key->group, "a second time, left out", err)
               : RLMR_OK;
}

/* ---- Rows ---- */

static rlmr_status read_start(rlmr_communication *self, const rlmr_communication_time *time, int64_t *ns,
                              rlmr_error *err) {
    *ns = INT64_MIN;
    if (time->start_us.bytes == 0 || rlmr_decimal_time_to_ns(time->start_us, 3, ns)) {
        return RLMR_OK;
    }
    *ns = INT64_MIN;
    return rlmr_communication_bad(self, &time->key, "start", time->start_us,
                                  "no time, or its precision is gone (saved by a spreadsheet?)", err);
}

rlmr_status rlmr_communication_time_row(void *context, const rlmr_communication_time *time, rlmr_error *err) {
    rlmr_communication *self = context;
    const rlmr_capture *capture = self->job->capture;
    rlmr_communication_ids ids;
    bool repeats = false;
    rlmr_status status = rlmr_communication_name(self, &time->key, &ids, err);
    status = status == RLMR_OK ? rlmr_communication_use(self, &ids, -1, -1, err) : status;
    status = status == RLMR_OK ? rlmr_communication_repeats(self, &time->key, &ids, NULL, 0, &repeats, err)
                               : status;
    self->leaves_out = repeats && self->is_text;
    if (status != RLMR_OK || repeats) {
        return status;
    }
    rlmr_cluster_communication_time_row row = {.role = self->job->job_role,
                                               .window = capture->window,
                                               .step = ids.step,
                                               .rank_id = capture->rank_id,
                                               .capture = capture->number,
                                               .type = ids.type,
                                               .hccl_op_name = ids.op,
                                               .group_name = ids.group};
    const struct {
        const char *name;
        rlmr_slice text;
        double *value;
    } numbers[] = {{"elapsed time", time->elapsed_ms, &row.elapsed_time},
                   {"transit time", time->transit_ms, &row.transit_time},
                   {"wait time", time->wait_ms, &row.wait_time},
                   {"synchronization time", time->synchronization_ms, &row.synchronization_time},
                   {"idle time", time->idle_ms, &row.idle_time}};
    status = read_start(self, time, &row.start_timestamp_ns, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == RLMR_OK; i++) {
        status = rlmr_communication_number(self, &time->key, numbers[i].name, numbers[i].text,
                                           numbers[i].value, err);
    }
    row.synchronization_time_ratio =
        rlmr_quotient_of(row.synchronization_time, row.synchronization_time + row.transit_time);
    row.wait_time_ratio = rlmr_quotient_of(row.wait_time, row.wait_time + row.transit_time);
    return status == RLMR_OK
               ? rlmr_table_append(&self->job->partial->tables[RLMR_TABLE_cluster_communication_time], &row,
                                   err)
               : status;
}

/* An integer of the same order as the number; none comes first. */
static int64_t order_of(double number) {
    if (isnan(number)) {
        return INT64_MIN;
    }
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static rlmr_status read_packages(rlmr_communication *self, const rlmr_communication_band *band,
                                 rlmr_cluster_communication_bandwidth_row *row, rlmr_error *err) {
    const rlmr_communication_key *key = &band->key;
    row->count = 0;
    row->total_duration = 0;
    row->package_size = NAN;
    rlmr_status status = RLMR_OK;
    if (band->package_size_mb.bytes > 0) {
        status = rlmr_communication_number(self, key, "package size", band->package_size_mb,
                                           &row->package_size, err);
        status = status == RLMR_OK
                     ? rlmr_communication_number(self, key, "total duration", band->total_duration_ms,
                                                 &row->total_duration, err)
                     : status;
        if (status == RLMR_OK && !rlmr_decimal_to_whole(band->count, &row->count)) {
            row->count = -1;
            status = rlmr_communication_bad(self, key, "packet count", band->count, "not an integer", err);
        }
    }
    row->package_order = order_of(row->package_size);
    return status;
}

rlmr_status rlmr_communication_band_row(void *context, const rlmr_communication_band *band, rlmr_error *err) {
    rlmr_communication *self = context;
    const rlmr_capture *capture = self->job->capture;
    const rlmr_slice more[] = {band->transport, band->package_size_mb};
    rlmr_communication_ids ids;
    bool repeats = false;
    if (self->leaves_out) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_communication_name(self, &band->key, &ids, err);
    status = status == RLMR_OK ? rlmr_communication_use(self, &ids, -1, -1, err) : status;
    status = status == RLMR_OK ? rlmr_communication_repeats(self, &band->key, &ids, more, 2, &repeats, err)
                               : status;
    if (status != RLMR_OK || repeats) {
        return status;
    }
    rlmr_cluster_communication_bandwidth_row row = {.role = self->job->job_role,
                                                    .window = capture->window,
                                                    .step = ids.step,
                                                    .rank_id = capture->rank_id,
                                                    .capture = capture->number,
                                                    .type = ids.type,
                                                    .hccl_op_name = ids.op,
                                                    .group_name = ids.group,
                                                    .file_row = self->record++};
    const struct {
        const char *name;
        rlmr_slice text;
        double *value;
    } numbers[] = {{"transit size", band->transit_size_mb, &row.transit_size},
                   {"transit time", band->transit_time_ms, &row.transit_time},
                   {"bandwidth", band->bandwidth, &row.bandwidth},
                   {"large packet ratio", band->large_packet_ratio, &row.large_packet_ratio}};
    status = intern(self, &band->key, "transport", band->transport, &row.band_type, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == RLMR_OK; i++) {
        status = rlmr_communication_number(self, &band->key, numbers[i].name, numbers[i].text,
                                           numbers[i].value, err);
    }
    status = status == RLMR_OK ? read_packages(self, band, &row, err) : status;
    return status == RLMR_OK
               ? rlmr_table_append(&self->job->partial->tables[RLMR_TABLE_cluster_communication_bandwidth],
                                   &row, err)
               : status;
}
