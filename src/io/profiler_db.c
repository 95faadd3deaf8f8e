#include "rlmr/profiler_db.h"

#include "call_chains.h"
#include "metadata_json.h"
#include "rlmr/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In torch_npu's numbering; for a database that does not say itself. */
#define OP_TYPE "50001"

struct rlmr_profiler_db {
    rlmr_sqlite_file file;
    rlmr_string_ids strings;
};

rlmr_status rlmr_profiler_db_open(const char *path, const rlmr_damage *damage, const rlmr_meter *meter,
                                  rlmr_profiler_db **out, rlmr_error *err) {
    rlmr_profiler_db *db = calloc(1, sizeof *db);
    *out = NULL;
    if (db == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to read a database");
    }
    rlmr_status status = rlmr_sqlite_file_open(path, damage, meter, &db->file, err);
    if (status != RLMR_OK) {
        rlmr_profiler_db_close(db);
        return status;
    }
    *out = db;
    return RLMR_OK;
}

void rlmr_profiler_db_close(rlmr_profiler_db *db) {
    if (db != NULL) {
        rlmr_string_ids_close(&db->strings);
        rlmr_sqlite_file_close(&db->file);
        free(db);
    }
}

/* Of each public call: texts are looked up in one statement, and errors go to the caller's record. */
static rlmr_status begin(rlmr_profiler_db *db, rlmr_error *err) {
    rlmr_sqlite_file_begin(&db->file, err);
    return db->strings.file == NULL ? rlmr_string_ids_open(&db->file, &db->strings) : RLMR_OK;
}

static rlmr_status tell_unknown(rlmr_profiler_db *db, const char *what, const char *table, uint64_t count,
                                const char *where) {
    return count == 0 ? RLMR_OK
                      : rlmr_sqlite_file_damaged(&db->file, false, NULL, "%llu %s of %s are not in %s",
                                                 (unsigned long long)count, what, table, where);
}

/* ---- OP_MEMORY ---- */

/* X(column, title) */
#define MEMORY_COLUMNS(X)                                                                                    \
    X(name, "Name")                                                                                          \
    X(size, "Size(B)")                                                                                       \
    X(allocationTime, "Allocation Time(ns)")                                                                 \
    X(releaseTime, "Release Time(ns)")                                                                       \
    X(activeReleaseTime, "Active Release Time(ns)")                                                          \
    X(duration, "Duration(ns)")                                                                              \
    X(activeDuration, "Active Duration(ns)")                                                                 \
    X(allocationTotalAllocated, "Allocation Total Allocated(B)")                                             \
    X(allocationTotalReserved, "Allocation Total Reserved(B)")                                               \
    X(allocationTotalActive, "Allocation Total Active(B)")                                                   \
    X(releaseTotalAllocated, "Release Total Allocated(B)")                                                   \
    X(releaseTotalReserved, "Release Total Reserved(B)")                                                     \
    X(releaseTotalActive, "Release Total Active(B)")                                                         \
    X(streamPtr, "Stream Ptr")                                                                               \
    X(deviceId, "Device Type")

#define MEMORY_ENUM(column, title) MEMORY_##column,
enum { MEMORY_COLUMNS(MEMORY_ENUM) MEMORY_COUNT };
_Static_assert(MEMORY_COUNT <= RLMR_SQLITE_CSV_COLUMNS, "columns of a row");

#define MEMORY_COLUMN(column, title) {.name = #column},
#define MEMORY_TITLE(column, title) {.text = (title), .bytes = sizeof(title) - 1},
static const rlmr_slice memory_titles[MEMORY_COUNT] = {MEMORY_COLUMNS(MEMORY_TITLE)};

static const char memory_table[] = "OP_MEMORY";

typedef struct {
    rlmr_profiler_db *db;
    rlmr_on_row on_row;
    void *self;
    rlmr_sqlite_column columns[MEMORY_COUNT];
    rlmr_sqlite_scan scan;
    rlmr_bytes name;
    rlmr_bytes device;
    uint64_t unknown_names;
    uint64_t number; /* of the next row */
} memory_reader;

/* Put a text before a cell. */
static rlmr_status put_before(rlmr_slice before, rlmr_slice *cell, rlmr_bytes *buffer, rlmr_error *err) {
    rlmr_bytes_clear(buffer);
    rlmr_status status = rlmr_bytes_append(buffer, before.text, before.bytes, err);
    status = status == RLMR_OK ? rlmr_bytes_append(buffer, cell->text, cell->bytes, err) : status;
    if (status == RLMR_OK) {
        *cell = (rlmr_slice){.text = (const char *)buffer->data, .bytes = buffer->bytes};
    }
    return status;
}

static rlmr_status name_record(memory_reader *self) {
    static const rlmr_slice cann = {.text = "cann::", .bytes = 6};
    const rlmr_slice *cells = self->scan.cells;
    rlmr_slice *name = &self->scan.cells[MEMORY_name];
    bool found;
    rlmr_status status =
        rlmr_string_ids_text(&self->db->strings, *name, self->scan.is_text[MEMORY_name], name, &found);
    if (status != RLMR_OK) {
        return status;
    }
    self->unknown_names += !found;
    bool tells =
        self->columns[MEMORY_streamPtr].present || self->columns[MEMORY_allocationTotalActive].present;
    bool ge = tells && cells[MEMORY_streamPtr].bytes == 0 && cells[MEMORY_allocationTotalActive].bytes == 0 &&
              cells[MEMORY_releaseTotalActive].bytes == 0;
    bool marked = name->bytes >= cann.bytes && memcmp(name->text, cann.text, cann.bytes) == 0;
    return ge && !marked ? put_before(cann, name, &self->name, self->db->file.err) : RLMR_OK;
}

static rlmr_status give_row(memory_reader *self, const rlmr_slice *cells) {
    return rlmr_sqlite_scan_csv_row(self->columns, cells, MEMORY_COUNT, self->number++, self->on_row,
                                    self->self, self->db->file.err);
}

static rlmr_status give_record(memory_reader *self) {
    rlmr_status status = name_record(self);
    if (status == RLMR_OK && self->scan.cells[MEMORY_deviceId].bytes > 0) {
        status = put_before(RLMR_SLICE("NPU:"), &self->scan.cells[MEMORY_deviceId], &self->device,
                            self->db->file.err);
    }
    return status == RLMR_OK ? give_row(self, self->scan.cells) : status;
}

static rlmr_status give_records(memory_reader *self) {
    rlmr_status status = give_row(self, memory_titles);
    if (status == RLMR_OK) {
        status =
            rlmr_sqlite_scan_open(&self->db->file, memory_table, self->columns, MEMORY_COUNT, &self->scan);
    }
    bool row = true;
    while (status == RLMR_OK && row) {
        status = rlmr_sqlite_scan_next(&self->scan, &row);
        status = status == RLMR_OK && row ? give_record(self) : status;
    }
    return status == RLMR_OK
               ? tell_unknown(self->db, "names", memory_table, self->unknown_names, "STRING_IDS")
               : status;
}

rlmr_status rlmr_profiler_db_memory(rlmr_profiler_db *db, rlmr_on_row on_row, void *self, bool *present,
                                    rlmr_error *err) {
    memory_reader state = {
        .db = db, .on_row = on_row, .self = self, .columns = {MEMORY_COLUMNS(MEMORY_COLUMN)}};
    *present = false;
    rlmr_status status = begin(db, err);
    if (status == RLMR_OK) {
        status = rlmr_sqlite_file_table(&db->file, memory_table, state.columns, MEMORY_COUNT, present);
    }
    if (status == RLMR_OK && *present) {
        status = give_records(&state);
    }
    rlmr_sqlite_scan_close(&state.scan);
    rlmr_bytes_release(&state.name);
    rlmr_bytes_release(&state.device);
    return status;
}

/* ---- PYTORCH_API ---- */

#define API_COLUMNS(X)                                                                                       \
    X(startNs) X(endNs) X(globalTid) X(name) X(sequenceNumber) X(fwdThreadId) X(callchainId) X(type)

#define API_ENUM(column) API_##column,
enum { API_COLUMNS(API_ENUM) API_COUNT };

#define API_COLUMN(column) {.name = #column},

static const char api_table[] = "PYTORCH_API";

/* A time in ns as microseconds, with room for the sign and the point. */
#define TIME_BYTES 24

typedef struct {
    rlmr_profiler_db *db;
    rlmr_on_event on_event;
    void *self;
    rlmr_sqlite_column columns[API_COUNT];
    rlmr_sqlite_scan scan;
    rlmr_call_chains chains;
    rlmr_bytes op_type; /* as the cells of type have it */
    rlmr_bytes bad_time;
    uint64_t unknown_names;
    uint64_t unknown_chains;
    uint64_t events;
} event_reader;

static rlmr_slice us_of_ns(int64_t ns, char out[TIME_BYTES]) {
    uint64_t amount = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    int bytes = sprintf(out, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(amount / 1000),
                        (unsigned)(amount % 1000));
    return (rlmr_slice){.text = out, .bytes = (size_t)bytes};
}

/* A time that is no integer stays as it is written; but as a number it would be taken for microseconds, so
 * it gets its unit. */
static rlmr_status bad_time(event_reader *self, rlmr_slice cell, rlmr_slice *ts) {
    double unused;
    *ts = cell;
    if (!rlmr_decimal_to_double(cell, 0, &unused)) {
        return RLMR_OK;
    }
    rlmr_bytes_clear(&self->bad_time);
    rlmr_status status = rlmr_bytes_append(&self->bad_time, cell.text, cell.bytes, self->db->file.err);
    status = status == RLMR_OK ? rlmr_bytes_append(&self->bad_time, " ns", 3, self->db->file.err) : status;
    *ts = (rlmr_slice){.text = (const char *)self->bad_time.data, .bytes = self->bad_time.bytes};
    return status;
}

static rlmr_status set_times(event_reader *self, rlmr_trace_event *event, char ts[TIME_BYTES],
                             char dur[TIME_BYTES]) {
    rlmr_slice start_cell = self->scan.cells[API_startNs];
    int64_t start;
    int64_t end;
    int64_t lasted;
    if (!rlmr_decimal_to_i64(start_cell, &start)) {
        return bad_time(self, start_cell, &event->ts);
    }
    event->ts = us_of_ns(start, ts);
    rlmr_slice end_cell = self->scan.cells[API_endNs];
    if (end_cell.bytes == 0) {
        return RLMR_OK;
    }
    if (!rlmr_decimal_to_i64(end_cell, &end) || __builtin_sub_overflow(end, start, &lasted)) {
        return bad_time(self, end_cell, &event->dur);
    }
    event->dur = us_of_ns(lasted, dur);
    return RLMR_OK;
}

static void set_stack(event_reader *self, rlmr_trace_event *event) {
    rlmr_slice cell = self->scan.cells[API_callchainId];
    int64_t id;
    if (cell.bytes == 0 || !self->chains.present) {
        return;
    }
    bool found =
        rlmr_decimal_to_i64(cell, &id) && rlmr_call_chains_find(&self->chains, id, &event->call_stack);
    self->unknown_chains += !found;
}

static rlmr_status give_event(event_reader *self) {
    static const rlmr_slice none = {.text = "", .bytes = 0};
    char ts[TIME_BYTES];
    char dur[TIME_BYTES];
    bool found;
    const rlmr_slice *cells = self->scan.cells;
    rlmr_slice op = {.text = (const char *)self->op_type.data, .bytes = self->op_type.bytes};
    rlmr_trace_event event = {.ts = none,
                              .dur = none,
                              .pid = none,
                              .tid = cells[API_globalTid],
                              .cat = rlmr_slice_equal(cells[API_type], op) ? RLMR_SLICE("cpu_op") : none,
                              .sequence = cells[API_sequenceNumber],
                              .forward_thread = cells[API_fwdThreadId],
                              .call_stack = none,
                              .number = self->events,
                              .offset = -1};
    rlmr_status status = rlmr_string_ids_text(&self->db->strings, cells[API_name],
                                              self->scan.is_text[API_name], &event.name, &found);
    status = status == RLMR_OK ? set_times(self, &event, ts, dur) : status;
    if (status != RLMR_OK) {
        return status;
    }
    self->unknown_names += !found;
    set_stack(self, &event);
    self->events++;
    return self->on_event(self->self, &event, self->db->file.err);
}

/* The number that ENUM_API_TYPE gives to `op`. */
static rlmr_status find_op_type(rlmr_profiler_db *db, rlmr_bytes *op_type) {
    static const char table[] = "ENUM_API_TYPE";
    rlmr_sqlite_column columns[] = {{.name = "id"}, {.name = "name"}};
    rlmr_sqlite_scan scan = {0};
    bool row = false;
    rlmr_status status = rlmr_sqlite_file_table(&db->file, table, columns, 2, &row);
    status = status == RLMR_OK && row ? rlmr_sqlite_scan_open(&db->file, table, columns, 2, &scan) : status;
    while (status == RLMR_OK && row && op_type->bytes == 0) {
        status = rlmr_sqlite_scan_next(&scan, &row);
        if (status == RLMR_OK && row && rlmr_slice_equal(scan.cells[1], RLMR_SLICE("op"))) {
            status = rlmr_bytes_append(op_type, scan.cells[0].text, scan.cells[0].bytes, db->file.err);
        }
    }
    rlmr_sqlite_scan_close(&scan);
    return status == RLMR_OK && op_type->bytes == 0
               ? rlmr_bytes_append(op_type, OP_TYPE, sizeof OP_TYPE - 1, db->file.err)
               : status;
}

static rlmr_status give_events(event_reader *self) {
    rlmr_profiler_db *db = self->db;
    rlmr_status status = find_op_type(db, &self->op_type);
    if (status == RLMR_OK && self->columns[API_callchainId].present) {
        status = rlmr_call_chains_open(&db->file, &db->strings, &self->chains);
    }
    if (status == RLMR_OK) {
        status = rlmr_sqlite_scan_open(&db->file, api_table, self->columns, API_COUNT, &self->scan);
    }
    bool row = true;
    while (status == RLMR_OK && row) {
        status = rlmr_sqlite_scan_next(&self->scan, &row);
        status = status == RLMR_OK && row ? give_event(self) : status;
    }
    status =
        status == RLMR_OK ? tell_unknown(db, "names", api_table, self->unknown_names, "STRING_IDS") : status;
    return status == RLMR_OK
               ? tell_unknown(db, "call stacks", api_table, self->unknown_chains, "PYTORCH_CALLCHAINS")
               : status;
}

rlmr_status rlmr_profiler_db_events(rlmr_profiler_db *db, rlmr_on_event on_event, void *self,
                                    uint64_t *events, bool *present, rlmr_error *err) {
    event_reader state = {.db = db, .on_event = on_event, .self = self, .columns = {API_COLUMNS(API_COLUMN)}};
    *present = false;
    rlmr_status status = begin(db, err);
    if (status == RLMR_OK) {
        status = rlmr_sqlite_file_table(&db->file, api_table, state.columns, API_COUNT, present);
    }
    if (status == RLMR_OK && *present) {
        status = give_events(&state);
    }
    *events = state.events;
    rlmr_sqlite_scan_close(&state.scan);
    rlmr_call_chains_close(&state.chains);
    rlmr_bytes_release(&state.op_type);
    rlmr_bytes_release(&state.bad_time);
    return status;
}

/* ---- META_DATA ---- */

typedef struct {
    rlmr_profiler_db *db;
    const rlmr_metadata_sink *sink;
    bool groups;
    bool distribution;
} metadata_reader;

static rlmr_status take_metadata(void *context, const rlmr_sqlite_scan *scan) {
    metadata_reader *self = context;
    rlmr_slice name = scan->cells[0];
    rlmr_metadata_kind kind = RLMR_METADATA_OTHER;
    if (self->groups && rlmr_slice_equal(name, RLMR_SLICE("parallel_group_info"))) {
        kind = RLMR_METADATA_GROUPS;
    } else if (self->distribution && rlmr_slice_equal(name, RLMR_SLICE("distributed_args"))) {
        kind = RLMR_METADATA_DISTRIBUTION;
    } else {
        return RLMR_OK;
    }
    rlmr_error damage;
    rlmr_status status = rlmr_metadata_parse(scan->cells[1], kind, self->sink, &damage, self->db->file.err);
    return status == RLMR_OK && damage.code != RLMR_OK
               ? rlmr_sqlite_file_damaged(&self->db->file, true, scan->table, "%.*s: %s", (int)name.bytes,
                                          name.text, damage.message)
               : status;
}

rlmr_status rlmr_profiler_db_metadata(rlmr_profiler_db *db, const rlmr_metadata_sink *sink, bool groups,
                                      bool distribution, bool *present, rlmr_error *err) {
    metadata_reader state = {.db = db, .sink = sink, .groups = groups, .distribution = distribution};
    rlmr_sqlite_column columns[] = {{.name = "name"}, {.name = "value"}};
    *present = false;
    rlmr_sqlite_file_begin(&db->file, err);
    return rlmr_sqlite_scan_table(&db->file, "META_DATA", columns, 2, take_metadata, &state, present);
}

/* ---- RANK_DEVICE_MAP ---- */

typedef struct {
    rlmr_profiler_db *db;
    rlmr_on_device on_device;
    void *self;
    rlmr_bytes uid;
    rlmr_bytes name;
} device_reader;

static rlmr_slice whole(const rlmr_bytes *bytes) {
    return (rlmr_slice){.text = bytes->bytes == 0 ? "" : (const char *)bytes->data, .bytes = bytes->bytes};
}

/* The first row of HOST_INFO. */
static rlmr_status find_host(device_reader *self) {
    static const char table[] = "HOST_INFO";
    rlmr_sqlite_file *file = &self->db->file;
    rlmr_sqlite_column columns[] = {{.name = "hostUid"}, {.name = "hostName"}};
    rlmr_sqlite_scan scan = {0};
    bool row = false;
    rlmr_status status = rlmr_sqlite_file_table(file, table, columns, 2, &row);
    if (status == RLMR_OK && row) {
        status = rlmr_sqlite_scan_open(file, table, columns, 2, &scan);
        status = status == RLMR_OK ? rlmr_sqlite_scan_next(&scan, &row) : status;
    }
    if (status == RLMR_OK && row) {
        status = rlmr_bytes_append(&self->uid, scan.cells[0].text, scan.cells[0].bytes, file->err);
        status = status == RLMR_OK
                     ? rlmr_bytes_append(&self->name, scan.cells[1].text, scan.cells[1].bytes, file->err)
                     : status;
    }
    rlmr_sqlite_scan_close(&scan);
    return status;
}

static rlmr_status give_device(void *context, const rlmr_sqlite_scan *scan) {
    device_reader *self = context;
    return self->on_device(self->self, scan->cells[0], scan->cells[1], whole(&self->uid), whole(&self->name),
                           self->db->file.err);
}

rlmr_status rlmr_profiler_db_devices(rlmr_profiler_db *db, rlmr_on_device on_device, void *self,
                                     bool *present, rlmr_error *err) {
    device_reader state = {.db = db, .on_device = on_device, .self = self};
    *present = false;
    rlmr_sqlite_file_begin(&db->file, err);
    rlmr_status status = find_host(&state);
    if (status == RLMR_OK) {
        rlmr_sqlite_column columns[] = {{.name = "rankId"}, {.name = "deviceId"}};
        status =
            rlmr_sqlite_scan_table(&db->file, "RANK_DEVICE_MAP", columns, 2, give_device, &state, present);
    }
    rlmr_bytes_release(&state.uid);
    rlmr_bytes_release(&state.name);
    return status;
}
