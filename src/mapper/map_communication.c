#include "communication.h"

static rlmr_status open_state(rlmr_communication *self, rlmr_job *job, rlmr_error *err) {
    rlmr_table *tables = job->partial->tables;
    rlmr_symtab *texts = job->partial->texts;
    *self = (rlmr_communication){.job = job,
                                 .first_time = tables[RLMR_TABLE_cluster_communication_time].rows,
                                 .first_band = tables[RLMR_TABLE_cluster_communication_bandwidth].rows,
                                 .first_link = tables[RLMR_TABLE_cluster_communication_matrix].rows};
    rlmr_status status = rlmr_symtab_open(&self->groups, err);
    status = status == RLMR_OK ? rlmr_symtab_intern(texts, RLMR_SLICE("collective"), &self->types[false], err)
                               : status;
    status =
        status == RLMR_OK ? rlmr_symtab_intern(texts, RLMR_SLICE("p2p"), &self->types[true], err) : status;
    return status == RLMR_OK ? rlmr_symtab_intern(texts, RLMR_SLICE(RLMR_TOTAL_OP), &self->total_op, err)
                             : status;
}

static void close_state(rlmr_communication *self) {
    rlmr_symtab_close(self->seen);
    rlmr_symtab_close(self->groups);
    rlmr_bytes_release(&self->key);
    rlmr_bytes_release(&self->uses);
}

/* Keys that have come before are those of one kind of file. */
static rlmr_status begin_file(rlmr_communication *self, rlmr_file_damage *damage, bool is_text,
                              rlmr_error *err) {
    self->damage = damage;
    self->record = 0;
    self->operator_at = -1;
    self->leaves_out = false;
    self->is_text = is_text;
    rlmr_symtab_close(self->seen);
    self->seen = NULL;
    return rlmr_symtab_open(&self->seen, err);
}

/* The two kinds of file differ in nothing but the functions that read them. */
typedef struct {
    rlmr_file_kind text;
    rlmr_status (*read_text)(const char *path, const rlmr_communication_sink *sink, const rlmr_damage *damage,
                             const rlmr_meter *meter, rlmr_error *err);
    rlmr_status (*read_db)(rlmr_analysis_db *db, const rlmr_communication_sink *sink, bool *present,
                           rlmr_error *err);
} source;

static const source times = {RLMR_FILE_communication, rlmr_communication_read,
                             rlmr_analysis_db_communication};
static const source links = {RLMR_FILE_communication_matrix, rlmr_communication_matrix_read,
                             rlmr_analysis_db_matrix};

static rlmr_communication_sink sink_of(rlmr_communication *self) {
    return (rlmr_communication_sink){.time = rlmr_communication_time_row,
                                     .band = rlmr_communication_band_row,
                                     .link = rlmr_communication_link_row,
                                     .self = self};
}

static rlmr_status read_text(rlmr_communication *self, const source *from, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(self->job, from->text);
    rlmr_damage errors = rlmr_job_errors(&damage);
    rlmr_communication_sink sink = sink_of(self);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = begin_file(self, &damage, true, err);
    if (status != RLMR_OK) {
        return status;
    }
    status = from->read_text(self->job->capture->files[from->text].path, &sink, &errors, self->job->meter,
                             &trouble);
    status = rlmr_job_keep(&damage, status, &trouble, err);
    return status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
}

static rlmr_status read_db(rlmr_communication *self, const source *from, rlmr_analysis_db *db,
                           rlmr_error *err) {
    rlmr_file_damage *damage = &self->job->analysis_db.damage;
    rlmr_communication_sink sink = sink_of(self);
    bool present = false;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = begin_file(self, damage, false, err);
    if (status != RLMR_OK) {
        return status;
    }
    status = from->read_db(db, &sink, &present, &trouble);
    rlmr_job_used(self->job, RLMR_FILE_analysis_db, present);
    return rlmr_job_keep(damage, status, &trouble, err);
}

static rlmr_status read_source(rlmr_communication *self, const source *from, rlmr_error *err) {
    if (rlmr_job_has(self->job, from->text)) {
        return read_text(self, from, err);
    }
    rlmr_analysis_db *db;
    rlmr_status status = rlmr_job_analysis_db(self->job, &db, err);
    return status == RLMR_OK && db != NULL ? read_db(self, from, db, err) : status;
}

static rlmr_status append_uses(const rlmr_communication *self, rlmr_error *err) {
    const rlmr_group_use_row *uses = (const rlmr_group_use_row *)(const void *)self->uses.data;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < self->uses.bytes / sizeof *uses && status == RLMR_OK; i++) {
        status = rlmr_table_append(&self->job->partial->tables[RLMR_TABLE_group_use], &uses[i], err);
    }
    return status;
}

rlmr_status rlmr_map_communication(rlmr_job *job, rlmr_error *err) {
    rlmr_communication self;
    rlmr_status status = open_state(&self, job, err);
    if (status == RLMR_OK && job->options->analyses[RLMR_ANALYSIS_COMMUNICATION_TIME]) {
        status = read_source(&self, &times, err);
        status = status == RLMR_OK ? rlmr_communication_totals(&self, err) : status;
    }
    if (status == RLMR_OK && job->options->analyses[RLMR_ANALYSIS_COMMUNICATION_MATRIX]) {
        status = read_source(&self, &links, err);
        status = status == RLMR_OK ? rlmr_communication_rename(&self, err) : status;
    }
    status = status == RLMR_OK ? append_uses(&self, err) : status;
    close_state(&self);
    return status;
}
