#include "analyses.h"
#include "rlmr/cluster.h"
#include "rlmr/decimal.h"

#include <stdio.h>

/* Metadata are read for their facts; what text gives, a database does not give again. */
typedef struct {
    rlmr_job *job;
    rlmr_file_damage *damage; /* of the file at hand */
    rlmr_bytes ranks;         /* scratch */
    int64_t rows;
} reading;

static rlmr_status intern(reading *at, rlmr_slice text, uint32_t *id, rlmr_error *err) {
    return rlmr_symtab_intern_utf8(at->job->partial->texts, text, id, NULL, err);
}

static rlmr_status write_ranks(reading *at, const int32_t *ranks, size_t count, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    rlmr_bytes_clear(&at->ranks);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        char text[16];
        int bytes = snprintf(text, sizeof text, i == 0 ? "%d" : " %d", ranks[i]);
        status = rlmr_bytes_append(&at->ranks, text, (size_t)bytes, err);
    }
    return status;
}

static rlmr_status on_group(void *self, rlmr_slice group_id, rlmr_slice pg_name, const int32_t *ranks,
                            size_t count, rlmr_error *err) {
    reading *at = self;
    rlmr_group_declared_row row = {
        .role = at->job->job_role, .rank_id = at->job->capture->rank_id, .capture = at->job->capture->number};
    rlmr_status status = write_ranks(at, ranks, count, err);
    rlmr_slice text = {.text = (const char *)at->ranks.data, .bytes = at->ranks.bytes};
    status = status == RLMR_OK ? intern(at, group_id, &row.group_id, err) : status;
    status = status == RLMR_OK ? intern(at, pg_name, &row.pg_name, err) : status;
    status = status == RLMR_OK ? intern(at, text, &row.global_ranks, err) : status;
    return status == RLMR_OK
               ? rlmr_table_append(&at->job->partial->tables[RLMR_TABLE_group_declared], &row, err)
               : status;
}

static rlmr_status on_distribution(void *self, const rlmr_distributed_args *args, rlmr_error *err) {
    reading *at = self;
    rlmr_job_distribution_row row = {.role = at->job->job_role,
                                     .rank_id = at->job->capture->rank_id,
                                     .capture = at->job->capture->number,
                                     .tp = args->tp,
                                     .pp = args->pp,
                                     .dp = args->dp,
                                     .cp = args->cp,
                                     .ep = args->ep,
                                     .world = args->world};
    rlmr_status status = intern(at, args->json, &row.distributed_args, err);
    return status == RLMR_OK
               ? rlmr_table_append(&at->job->partial->tables[RLMR_TABLE_job_distribution], &row, err)
               : status;
}

/* A rank is a number of the job; a cell without one is this capture's. */
static rlmr_status on_device(void *self, rlmr_slice rank, rlmr_slice device, rlmr_slice host_uid,
                             rlmr_slice host_name, rlmr_error *err) {
    reading *at = self;
    rlmr_rank_device_map_row row = {.role = at->job->job_role,
                                    .rank_id = at->job->capture->rank_id,
                                    .capture = at->job->capture->number,
                                    .device_id = -1,
                                    .file_row = at->rows++};
    int32_t known;
    if (rlmr_capture_parse_rank(rank, &known)) {
        row.rank_id = known;
    }
    rlmr_status status = RLMR_OK;
    if (device.bytes > 0 && !rlmr_decimal_to_i64(device, &row.device_id)) {
        int shown = device.bytes > 64 ? 64 : (int)device.bytes;
        row.device_id = -1;
        at->job->capture->bad_cells++;
        status = rlmr_file_damage_met(at->damage, -1, err, "RANK_DEVICE_MAP: device \"%.*s\": not an integer",
                                      shown, device.text);
    }
    status = status == RLMR_OK ? intern(at, host_uid, &row.host_uid, err) : status;
    status = status == RLMR_OK ? intern(at, host_name, &row.host_name, err) : status;
    return status == RLMR_OK
               ? rlmr_table_append(&at->job->partial->tables[RLMR_TABLE_rank_device_map], &row, err)
               : status;
}

static rlmr_metadata_sink sink_of(reading *at, const rlmr_damage *damage) {
    return (rlmr_metadata_sink){
        .group = on_group, .distribution = on_distribution, .self = at, .damage = damage};
}

static rlmr_status read_text(reading *at, bool *groups, bool *distribution, rlmr_error *err) {
    rlmr_file *file = &at->job->capture->files[RLMR_FILE_profiler_metadata];
    /* A damaged one was noted when the role was looked for; no database replaces it. */
    *groups = file->state == RLMR_FILE_DAMAGED;
    *distribution = *groups;
    if (file->state == RLMR_FILE_ABSENT || file->state == RLMR_FILE_DAMAGED) {
        return RLMR_OK;
    }
    rlmr_file_damage damage = rlmr_job_damage(at->job, RLMR_FILE_profiler_metadata);
    rlmr_damage errors = rlmr_job_errors(&damage);
    rlmr_metadata_sink sink = sink_of(at, &errors);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status =
        rlmr_metadata_read(file->path, &sink, at->job->meter, groups, distribution, &trouble);
    status = rlmr_job_keep(&damage, status, &trouble, err);
    return status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
}

static rlmr_status read_db(reading *at, rlmr_profiler_db *db, bool groups, bool distribution,
                           rlmr_error *err) {
    rlmr_metadata_sink sink = sink_of(at, &at->job->profiler_db.errors);
    bool present = false;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    at->damage = &at->job->profiler_db.damage;
    rlmr_status status = RLMR_OK;
    if (groups || distribution) {
        status = rlmr_profiler_db_metadata(db, &sink, groups, distribution, &present, &trouble);
        rlmr_job_used(at->job, RLMR_FILE_profiler_db, present);
        status = rlmr_job_keep(at->damage, status, &trouble, err);
    }
    if (status == RLMR_OK) {
        rlmr_error_clear(&trouble);
        status = rlmr_profiler_db_devices(db, on_device, at, &present, &trouble);
        rlmr_job_used(at->job, RLMR_FILE_profiler_db, present);
        status = rlmr_job_keep(at->damage, status, &trouble, err);
    }
    return status;
}

rlmr_status rlmr_map_metadata(rlmr_job *job, rlmr_error *err) {
    reading at = {.job = job};
    bool groups;
    bool distribution;
    rlmr_profiler_db *db = NULL;
    rlmr_status status = read_text(&at, &groups, &distribution, err);
    status = status == RLMR_OK ? rlmr_job_profiler_db(job, &db, err) : status;
    if (status == RLMR_OK && db != NULL) {
        status = read_db(&at, db, !groups, !distribution, err);
    }
    rlmr_bytes_release(&at.ranks);
    return status;
}
