#include "rlmr/mapper.h"

#include "memory.h"

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

bool rlmr_map_reads(const rlmr_map_options *options, rlmr_file_kind kind) {
    return options->analyses[RLMR_ANALYSIS_MEMORY] &&
           (kind == RLMR_FILE_trace_view || kind == RLMR_FILE_operator_memory);
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

/* One pass over the trace serves every analysis. */
typedef struct {
    rlmr_capture *capture;
    rlmr_memory *memory;
} listeners;

static rlmr_status on_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    listeners *all = self;
    all->capture->events_with_stack +=
        event->call_stack.bytes > 0 && rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op"));
    return rlmr_memory_event(all->memory, event, err);
}

static rlmr_status note_trace_damage(rlmr_capture *capture, const rlmr_error *trouble, rlmr_error *err) {
    rlmr_capture_damaged(capture, RLMR_FILE_trace_view, trouble->offset);
    if (trouble->code == RLMR_E_INPUT) {
        return rlmr_capture_note(capture, err, "trace_view.json: %s", trouble->message);
    }
    if (trouble->offset < 0) {
        return rlmr_capture_note(capture, err, "trace_view.json: %s; no call stacks from it",
                                 trouble->message);
    }
    return rlmr_capture_note(
        capture, err, "trace_view.json: %s at byte %lld; call stacks come from the %lld events before it",
        trouble->message, (long long)trouble->offset, (long long)capture->events_seen);
}

static rlmr_status read_trace(rlmr_capture *capture, rlmr_memory *memory, const rlmr_meter *meter,
                              rlmr_error *err) {
    rlmr_file *file = &capture->files[RLMR_FILE_trace_view];
    if (file->state == RLMR_FILE_ABSENT) {
        return RLMR_OK;
    }
    file->state = RLMR_FILE_READ;
    listeners all = {.capture = capture, .memory = memory};
    uint64_t events = 0;
    uint64_t no_objects = 0;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = rlmr_trace_read(file->path, on_event, &all, meter, &events, &no_objects, &trouble);
    capture->events_seen = (int64_t)events;
    capture->events_skipped += (int64_t)no_objects;
    if (status == RLMR_E_INPUT || status == RLMR_E_PARSE || status == RLMR_E_LIMIT) {
        return note_trace_damage(capture, &trouble, err);
    }
    if (status != RLMR_OK) {
        return rlmr_error_set(err, status, "%s", trouble.message);
    }
    if (capture->events_skipped > 0) {
        rlmr_capture_damaged(capture, RLMR_FILE_trace_view, -1);
        status = rlmr_capture_note(capture, err,
                                   "trace_view.json: %lld events without a readable ts, or no objects",
                                   (long long)capture->events_skipped);
    }
    return status;
}

static rlmr_status map_memory(rlmr_capture *capture, const rlmr_map_options *options, rlmr_partial *partial,
                              const rlmr_meter *meter, rlmr_error *err) {
    if (capture->files[RLMR_FILE_operator_memory].state == RLMR_FILE_ABSENT &&
        capture->files[RLMR_FILE_profiler_db].state != RLMR_FILE_ABSENT) {
        rlmr_capture_degrade(capture, RLMR_CAPTURE_PARTIAL);
        return rlmr_capture_note(capture, err,
                                 "memory records in a database are not read yet: export the capture as text");
    }
    rlmr_memory *memory;
    rlmr_status status = rlmr_memory_open(capture, options, partial, &memory, err);
    if (status != RLMR_OK) {
        return status;
    }
    status = rlmr_memory_read(memory, meter, err);
    /* With --strict a damaged capture has failed by now, so its trace need not be read. */
    bool go_on = !(options->strict && capture->status != RLMR_CAPTURE_OK);
    if (status == RLMR_OK && go_on && rlmr_memory_wants_trace(memory)) {
        status = read_trace(capture, memory, meter, err);
        status = status == RLMR_OK ? rlmr_memory_finish(memory, err) : status;
    }
    rlmr_memory_close(memory);
    return status;
}

rlmr_status rlmr_map_capture(rlmr_capture *capture, const rlmr_map_options *options, rlmr_partial *partial,
                             const rlmr_meter *meter, rlmr_error *err) {
    counter count = {.capture = capture, .outer = meter};
    rlmr_meter counting = {.advance = count_bytes, .self = &count};
    rlmr_status status = RLMR_OK;
    bool readable = capture->status == RLMR_CAPTURE_OK || capture->status == RLMR_CAPTURE_PARTIAL;
    if (readable && options->analyses[RLMR_ANALYSIS_MEMORY]) {
        status = map_memory(capture, options, partial, &counting, err);
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
