#include "rlmr/mapper.h"

#include "damage.h"
#include "memory.h"
#include "rlmr/profiler_db.h"

#define TABLE_SCHEMA(table) &rlmr_##table##_schema,
const rlmr_schema *const rlmr_table_schemas[RLMR_TABLE_COUNT] = {RLMR_TABLES(TABLE_SCHEMA)};

rlmr_status rlmr_partial_init(rlmr_partial *partial, rlmr_error *err) {
    for (int table = 0; table < RLMR_TABLE_COUNT; table++) {
        rlmr_table_init(&partial->tables[table], rlmr_table_schemas[table]);
    }
    return rlmr_symtab_open(&partial->texts, err);
}

void rlmr_partial_release(rlmr_partial *partial) {
    for (int table = 0; table < RLMR_TABLE_COUNT; table++) {
        rlmr_table_release(&partial->tables[table]);
    }
    rlmr_symtab_close(partial->texts);
    partial->texts = NULL;
}

static bool is_there(const rlmr_capture *capture, rlmr_file_kind kind) {
    return capture->files[kind].state != RLMR_FILE_ABSENT;
}

bool rlmr_map_reads(const rlmr_map_options *options, const rlmr_capture *capture, rlmr_file_kind kind) {
    if (!options->analyses[RLMR_ANALYSIS_MEMORY]) {
        return false;
    }
    bool all_text = is_there(capture, RLMR_FILE_operator_memory) && is_there(capture, RLMR_FILE_trace_view);
    return kind == RLMR_FILE_trace_view || kind == RLMR_FILE_operator_memory ||
           (kind == RLMR_FILE_profiler_db && !all_text);
}

bool rlmr_map_makes(const rlmr_map_options *options, int table) {
    return table == RLMR_TABLE_captures ||
           (table == RLMR_TABLE_memory_events && options->analyses[RLMR_ANALYSIS_MEMORY]);
}

/* Counts a capture's bytes on their way to the caller's meter. */
typedef struct {
    rlmr_capture *capture;
    const rlmr_meter *outer;
} counter;

static rlmr_status count_bytes(void *self, size_t bytes, rlmr_error *err) {
    counter *count = self;
    count->capture->bytes_read += (int64_t)bytes;
    return count->outer->advance(count->outer->self, bytes, err);
}

/* What the files of one capture are read for and with. */
typedef struct {
    rlmr_capture *capture;
    const rlmr_meter *meter;
    const rlmr_damage_log *log; /* NULL for none */
    rlmr_memory *memory;
    rlmr_profiler_db *db; /* NULL if it is not there, not needed or not readable */
    rlmr_file_damage db_damage;
    rlmr_damage db_errors;           /* goes there */
    rlmr_file_damage *events_damage; /* of the file that the events come from */
} job;

/* One pass over the trace serves every analysis. */
static rlmr_status on_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    job *at = self;
    at->capture->events_with_stack +=
        event->call_stack.bytes > 0 && rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op"));
    return rlmr_memory_event(at->memory, event, at->events_damage, err);
}

static rlmr_status note_damage(rlmr_file_damage *damage, int64_t offset, const char *reason,
                               rlmr_error *err) {
    return offset < 0
               ? rlmr_file_damage_met(damage, offset, err, "%s", reason)
               : rlmr_file_damage_met(damage, offset, err, "%s at byte %lld", reason, (long long)offset);
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    rlmr_file_damage *damage = self;
    damage->capture->events_skipped += lost && damage->events;
    return note_damage(damage, offset, reason, err);
}

/* What is wrong with a file is the capture's matter; all else ends the run. */
static rlmr_status keep_or_fail(rlmr_file_damage *damage, rlmr_status status, const rlmr_error *trouble,
                                rlmr_error *err) {
    if (status == RLMR_E_INPUT || status == RLMR_E_PARSE || status == RLMR_E_LIMIT) {
        return note_damage(damage, trouble->offset, trouble->message, err);
    }
    return status == RLMR_OK ? RLMR_OK : rlmr_error_set(err, status, "%s", trouble->message);
}

static rlmr_file_damage damage_of(const job *at, rlmr_file_kind kind) {
    return (rlmr_file_damage){.capture = at->capture, .kind = kind, .log = at->log};
}

static rlmr_status open_db(job *at, rlmr_error *err) {
    rlmr_file *file = &at->capture->files[RLMR_FILE_profiler_db];
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    at->db_damage = damage_of(at, RLMR_FILE_profiler_db);
    at->db_errors = (rlmr_damage){.met = on_damage, .self = &at->db_damage};
    rlmr_status status = rlmr_profiler_db_open(file->path, &at->db_errors, at->meter, &at->db, &trouble);
    return keep_or_fail(&at->db_damage, status, &trouble, err);
}

static rlmr_status read_csv(job *at, rlmr_file *file, rlmr_error *err) {
    rlmr_file_damage damage = damage_of(at, RLMR_FILE_operator_memory);
    rlmr_damage lost_rows = {.met = on_damage, .self = &damage};
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    file->state = RLMR_FILE_READ;
    rlmr_memory_rows_begin(at->memory, &damage);
    rlmr_status status =
        rlmr_csv_read(file->path, rlmr_memory_row, at->memory, &lost_rows, at->meter, &trouble);
    status = keep_or_fail(&damage, status, &trouble, err);
    status = status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
    rlmr_memory_rows_end(at->memory);
    return status;
}

/* A database in which a table was looked for and found counts as read. */
static void note_used(job *at, bool present) {
    rlmr_file *file = &at->capture->files[RLMR_FILE_profiler_db];
    if (present && file->state == RLMR_FILE_UNUSED) {
        file->state = RLMR_FILE_READ;
    }
}

static rlmr_status read_db_records(job *at, bool *no_rows, rlmr_error *err) {
    bool present;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_rows_begin(at->memory, &at->db_damage);
    rlmr_status status = rlmr_profiler_db_memory(at->db, rlmr_memory_row, at->memory, &present, &trouble);
    rlmr_memory_rows_end(at->memory);
    note_used(at, present);
    *no_rows = present && at->capture->memory_rows == 0 && at->db_damage.errors > 0;
    return keep_or_fail(&at->db_damage, status, &trouble, err);
}

static rlmr_status read_records(job *at, rlmr_error *err) {
    rlmr_file *file = &at->capture->files[RLMR_FILE_operator_memory];
    rlmr_status status = RLMR_OK;
    bool no_rows = false; /* though there should be some */
    if (file->state != RLMR_FILE_ABSENT) {
        status = read_csv(at, file, err);
        no_rows = file->state == RLMR_FILE_DAMAGED && at->capture->memory_rows == 0;
    } else if (at->db != NULL) {
        status = read_db_records(at, &no_rows, err);
    } else {
        no_rows = at->capture->files[RLMR_FILE_profiler_db].state == RLMR_FILE_DAMAGED;
    }
    if (no_rows) {
        rlmr_capture_degrade(at->capture, RLMR_CAPTURE_FAILED); /* nothing usable */
    }
    return status;
}

static rlmr_status read_text_trace(job *at, rlmr_file *file, uint64_t *events, rlmr_error *err) {
    rlmr_file_damage damage = damage_of(at, RLMR_FILE_trace_view);
    rlmr_damage errors = {.met = on_damage, .self = &damage};
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    damage.events = true;
    file->state = RLMR_FILE_READ;
    at->events_damage = &damage;
    rlmr_status status = rlmr_trace_read(file->path, on_event, at, &errors, at->meter, events, &trouble);
    status = keep_or_fail(&damage, status, &trouble, err);
    status = status == RLMR_OK ? rlmr_memory_finish(at->memory, &damage, err) : status;
    at->events_damage = NULL;
    return status == RLMR_OK ? rlmr_file_damage_end(&damage, err) : status;
}

static rlmr_status read_db_trace(job *at, uint64_t *events, rlmr_error *err) {
    bool present;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    at->events_damage = &at->db_damage;
    at->db_damage.events = true;
    rlmr_status status = rlmr_profiler_db_events(at->db, on_event, at, events, &present, &trouble);
    note_used(at, present);
    status = keep_or_fail(&at->db_damage, status, &trouble, err);
    return status == RLMR_OK ? rlmr_memory_finish(at->memory, &at->db_damage, err) : status;
}

static rlmr_status read_trace(job *at, rlmr_error *err) {
    rlmr_file *file = &at->capture->files[RLMR_FILE_trace_view];
    uint64_t events = 0;
    rlmr_status status = RLMR_OK;
    if (file->state != RLMR_FILE_ABSENT) {
        status = read_text_trace(at, file, &events, err);
    } else if (at->db != NULL) {
        status = read_db_trace(at, &events, err);
    }
    at->capture->events_seen = (int64_t)events;
    return status;
}

static rlmr_status map_memory(job *at, const rlmr_map_options *options, rlmr_partial *partial,
                              rlmr_error *err) {
    rlmr_capture *capture = at->capture;
    rlmr_status status = rlmr_memory_open(capture, options, partial, &at->memory, err);
    if (status == RLMR_OK && is_there(capture, RLMR_FILE_profiler_db) &&
        rlmr_map_reads(options, capture, RLMR_FILE_profiler_db)) {
        status = open_db(at, err);
    }
    status = status == RLMR_OK ? read_records(at, err) : status;
    /* With --strict a damaged capture has failed by now, so its trace need not be read. */
    bool go_on = !(options->strict && capture->status != RLMR_CAPTURE_OK);
    if (status == RLMR_OK && go_on && rlmr_memory_wants_trace(at->memory)) {
        status = read_trace(at, err);
    }
    status = status == RLMR_OK ? rlmr_file_damage_end(&at->db_damage, err) : status;
    rlmr_profiler_db_close(at->db);
    rlmr_memory_close(at->memory);
    return status;
}

rlmr_status rlmr_map_capture(rlmr_capture *capture, const rlmr_map_options *options, rlmr_partial *partial,
                             const rlmr_meter *meter, const rlmr_damage_log *log, rlmr_error *err) {
    counter count = {.capture = capture, .outer = meter};
    rlmr_meter counting = {.advance = count_bytes, .self = &count};
    rlmr_status status = RLMR_OK;
    bool readable = capture->status == RLMR_CAPTURE_OK || capture->status == RLMR_CAPTURE_PARTIAL;
    if (readable && options->analyses[RLMR_ANALYSIS_MEMORY]) {
        job at = {.capture = capture, .meter = &counting, .log = log};
        status = map_memory(&at, options, partial, err);
    }
    bool bad = capture->status == RLMR_CAPTURE_PARTIAL || capture->status == RLMR_CAPTURE_FAILED;
    if (status == RLMR_OK && options->strict && bad) {
        status = rlmr_error_set(err, RLMR_E_PARSE, "--strict: capture %s is %s: %s", capture->path,
                                rlmr_capture_status_text(capture->status), capture->message);
    }
    return status == RLMR_OK
               ? rlmr_capture_append(capture, &partial->tables[RLMR_TABLE_captures], partial->texts, err)
               : status;
}
