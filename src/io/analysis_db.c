#include "rlmr/analysis_db.h"

#include "communication_key.h"
#include "rlmr/decimal.h"
#include "sqlite_scan.h"

#include <stdlib.h>

struct rlmr_analysis_db {
    rlmr_sqlite_file file;
};

rlmr_status rlmr_analysis_db_open(const char *path, const rlmr_damage *damage, const rlmr_meter *meter,
                                  rlmr_analysis_db **out, rlmr_error *err) {
    rlmr_analysis_db *db = calloc(1, sizeof *db);
    *out = NULL;
    if (db == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a database");
    }
    rlmr_status status = rlmr_sqlite_file_open(path, damage, meter, &db->file, err);
    if (status != RLMR_OK) {
        rlmr_analysis_db_close(db);
        return status;
    }
    *out = db;
    return RLMR_OK;
}

void rlmr_analysis_db_close(rlmr_analysis_db *db) {
    if (db != NULL) {
        rlmr_sqlite_file_close(&db->file);
        free(db);
    }
}

/* ---- StepTraceTime ---- */

/* X(column, title) */
#define STEP_COLUMNS(X)                                                                                      \
    X(deviceId, "Device_id")                                                                                 \
    X(step, "Step")                                                                                          \
    X(computing, "Computing")                                                                                \
    X(communication_not_overlapped, "Communication(Not Overlapped)")                                         \
    X(overlapped, "Overlapped")                                                                              \
    X(communication, "Communication")                                                                        \
    X(free, "Free")                                                                                          \
    X(stage, "Stage")                                                                                        \
    X(bubble, "Bubble")                                                                                      \
    X(communication_not_overlapped_and_exclude_receive, "Communication(Not Overlapped and Exclude Receive)") \
    X(preparing, "Preparing")

#define STEP_ENUM(column, title) STEP_##column,
enum { STEP_COLUMNS(STEP_ENUM) STEP_COUNT };
_Static_assert(STEP_COUNT <= RLMR_SQLITE_CSV_COLUMNS, "columns of a row");

#define STEP_COLUMN(column, title) {.name = #column},
#define STEP_TITLE(column, title) {.text = (title), .bytes = sizeof(title) - 1},
static const rlmr_slice step_titles[STEP_COUNT] = {STEP_COLUMNS(STEP_TITLE)};

typedef struct {
    rlmr_on_row on_row;
    void *self;
    rlmr_sqlite_column columns[STEP_COUNT];
    uint64_t number; /* of the next row, 0 before the titles */
} step_reader;

static rlmr_status give_step(step_reader *self, const rlmr_slice *cells, rlmr_error *err) {
    return rlmr_sqlite_scan_csv_row(self->columns, cells, STEP_COUNT, self->number++, self->on_row,
                                    self->self, err);
}

static rlmr_status take_step(void *context, const rlmr_sqlite_scan *scan) {
    step_reader *self = context;
    rlmr_status status = self->number == 0 ? give_step(self, step_titles, scan->file->err) : RLMR_OK;
    return status == RLMR_OK ? give_step(self, scan->cells, scan->file->err) : status;
}

rlmr_status rlmr_analysis_db_steps(rlmr_analysis_db *db, rlmr_on_row on_row, void *self, bool *present,
                                   rlmr_error *err) {
    step_reader state = {.on_row = on_row, .self = self, .columns = {STEP_COLUMNS(STEP_COLUMN)}};
    *present = false;
    rlmr_sqlite_file_begin(&db->file, err);
    rlmr_status status = rlmr_sqlite_scan_table(&db->file, "StepTraceTime", state.columns, STEP_COUNT,
                                                take_step, &state, present);
    bool untitled = status == RLMR_OK && *present && state.number == 0;
    return untitled ? give_step(&state, step_titles, err) : status;
}

/* ---- CommAnalyzer... ---- */

/* What all three tables begin with; then come the columns of each. */
#define KEY_COLUMNS(X) X(hccl_op_name) X(group_name) X(step) X(type)

#define KEY_ENUM(column) KEY_##column,
#define TIME_ENUM(field, key, column) TIME_##field,
#define BAND_ENUM(field, key, column) BAND_##field,
#define LINK_ENUM(field, key, column) LINK_##field,
enum { KEY_COLUMNS(KEY_ENUM) KEY_LAST = KEY_type };
enum { TIME_BEFORE = KEY_LAST, RLMR_COMMUNICATION_TIME_FIELDS(TIME_ENUM) TIME_COUNT };
enum { BAND_BEFORE = KEY_LAST, BAND_transport, RLMR_COMMUNICATION_BAND_FIELDS(BAND_ENUM) BAND_COUNT };
enum { LINK_BEFORE = KEY_LAST, LINK_src, LINK_dst, RLMR_COMMUNICATION_LINK_FIELDS(LINK_ENUM) LINK_COUNT };

#define KEY_COLUMN(column) {.name = #column},
#define FIELD_COLUMN(field, key, column) {.name = (column)},

typedef struct {
    const rlmr_communication_sink *sink;
    uint64_t bad_types;
} table_reader;

/* @return false if there is nothing to give: a total, or an operator of an unknown type */
static bool find_key(table_reader *self, const rlmr_slice *cells, rlmr_communication_key *key) {
    rlmr_slice type = cells[KEY_type];
    *key = (rlmr_communication_key){.step = rlmr_communication_step(cells[KEY_step]),
                                    .p2p = rlmr_slice_equal(type, RLMR_SLICE("p2p")),
                                    .op = cells[KEY_hccl_op_name],
                                    .group = cells[KEY_group_name],
                                    .offset = -1};
    if (rlmr_communication_is_total(key->op)) {
        return false;
    }
    if (type.bytes == 0) {
        key->p2p = rlmr_communication_is_p2p(key->op);
    } else if (!key->p2p && !rlmr_slice_equal(type, RLMR_SLICE("collective"))) {
        self->bad_types++;
        return false;
    }
    return true;
}

static rlmr_status take_time(void *context, const rlmr_sqlite_scan *scan) {
    table_reader *self = context;
    const rlmr_slice *cells = scan->cells;
#define TIME_SET(field, key, column) .field = cells[TIME_##field],
    rlmr_communication_time time = {RLMR_COMMUNICATION_TIME_FIELDS(TIME_SET)};
    return find_key(self, cells, &time.key) ? self->sink->time(self->sink->self, &time, scan->file->err)
                                            : RLMR_OK;
}

static bool is_zero(rlmr_slice cell) {
    double value;
    return rlmr_decimal_to_double(cell, 0, &value) && value == 0;
}

static rlmr_status take_band(void *context, const rlmr_sqlite_scan *scan) {
    table_reader *self = context;
    const rlmr_slice *cells = scan->cells;
#define BAND_SET(field, key, column) .field = cells[BAND_##field],
    rlmr_communication_band band = {.transport = cells[BAND_transport],
                                    RLMR_COMMUNICATION_BAND_FIELDS(BAND_SET)};
    if (is_zero(band.package_size_mb) && is_zero(band.count)) { /* so an empty distribution is written */
        band.package_size_mb = RLMR_SLICE("");
        band.count = RLMR_SLICE("");
        band.total_duration_ms = RLMR_SLICE("");
    }
    return find_key(self, cells, &band.key) ? self->sink->band(self->sink->self, &band, scan->file->err)
                                            : RLMR_OK;
}

static rlmr_status take_link(void *context, const rlmr_sqlite_scan *scan) {
    table_reader *self = context;
    const rlmr_slice *cells = scan->cells;
#define LINK_SET(field, key, column) .field = cells[LINK_##field],
    rlmr_communication_link link = {
        .src = cells[LINK_src], .dst = cells[LINK_dst], RLMR_COMMUNICATION_LINK_FIELDS(LINK_SET)};
    return find_key(self, cells, &link.key) ? self->sink->link(self->sink->self, &link, scan->file->err)
                                            : RLMR_OK;
}

/* @param present set if there is such a table, else untouched */
static rlmr_status read_table(rlmr_analysis_db *db, const char *table, rlmr_sqlite_column *columns,
                              size_t count, rlmr_sqlite_on_row take, const rlmr_communication_sink *sink,
                              bool *present) {
    table_reader state = {.sink = sink};
    bool found = false;
    rlmr_status status = rlmr_sqlite_scan_table(&db->file, table, columns, count, take, &state, &found);
    *present = *present || found;
    return status == RLMR_OK && state.bad_types > 0
               ? rlmr_sqlite_file_damaged(&db->file, true, table,
                                          "%llu rows whose type is neither p2p nor collective",
                                          (unsigned long long)state.bad_types)
               : status;
}

rlmr_status rlmr_analysis_db_communication(rlmr_analysis_db *db, const rlmr_communication_sink *sink,
                                           bool *present, rlmr_error *err) {
    rlmr_sqlite_column times[] = {KEY_COLUMNS(KEY_COLUMN) RLMR_COMMUNICATION_TIME_FIELDS(FIELD_COLUMN)};
    rlmr_sqlite_column bands[] = {KEY_COLUMNS(KEY_COLUMN){.name = "transport_type"},
                                  RLMR_COMMUNICATION_BAND_FIELDS(FIELD_COLUMN)};
    *present = false;
    rlmr_sqlite_file_begin(&db->file, err);
    rlmr_status status = read_table(db, "CommAnalyzerTime", times, TIME_COUNT, take_time, sink, present);
    return status == RLMR_OK
               ? read_table(db, "CommAnalyzerBandwidth", bands, BAND_COUNT, take_band, sink, present)
               : status;
}

rlmr_status rlmr_analysis_db_matrix(rlmr_analysis_db *db, const rlmr_communication_sink *sink, bool *present,
                                    rlmr_error *err) {
    rlmr_sqlite_column links[] = {KEY_COLUMNS(KEY_COLUMN){.name = "src_rank"},
                                  {.name = "dst_rank"},
                                  RLMR_COMMUNICATION_LINK_FIELDS(FIELD_COLUMN)};
    *present = false;
    rlmr_sqlite_file_begin(&db->file, err);
    return read_table(db, "CommAnalyzerMatrix", links, LINK_COUNT, take_link, sink, present);
}
