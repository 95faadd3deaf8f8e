#include "memory.h"

#include "columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records and trace that lie further apart than this do not share a clock. */
#define RANGES_APART_NS INT64_C(3600000000000)

/* X(column, title, kind, required): the columns we use, as named in the file without their unit. */
#define CSV_COLUMNS(X)                                                                                       \
    X(name, "Name", TEXT, true)                                                                              \
    X(size, "Size", KIB, true)                                                                               \
    X(allocation_time, "Allocation Time", TIME, true)                                                        \
    X(release_time, "Release Time", TIME, false)                                                             \
    X(duration, "Duration", TIME, false)                                                                     \
    X(active_duration, "Active Duration", TIME, false)                                                       \
    X(allocated, "Allocation Total Allocated", MIB, false)                                                   \
    X(reserved, "Allocation Total Reserved", MIB, false)                                                     \
    X(active, "Allocation Total Active", MIB, false)                                                         \
    X(release_allocated, "Release Total Allocated", MIB, false)                                              \
    X(release_reserved, "Release Total Reserved", MIB, false)                                                \
    X(release_active, "Release Total Active", MIB, false)                                                    \
    X(stream, "Stream Ptr", TEXT, false)                                                                     \
    X(device, "Device Type", TEXT, false)

#define CSV_ENUM(column, title, kind, required) CSV_##column,
enum { CSV_COLUMNS(CSV_ENUM) CSV_COUNT };

#define CSV_COLUMN(column, title, kind, required) {title, RLMR_CELL_##kind, required},
static const rlmr_csv_column csv_columns[CSV_COUNT] = {CSV_COLUMNS(CSV_COLUMN)};

#define TABLE_COLUMN(type, name, unit, storage, description) TABLE_##name,
enum { RLMR_MEMORY_EVENTS(TABLE_COLUMN) TABLE_COLUMNS };

#define FOUND_TEXT(name, text) text,
static const char *const found_texts[RLMR_FOUND_COUNT] = {RLMR_FOUND_LIST(FOUND_TEXT)};

struct rlmr_memory {
    rlmr_capture *capture;
    rlmr_partial *partial;
    rlmr_symtab *names; /* of the records that look for a stack */
    rlmr_stack_index *index;
    rlmr_bytes records; /* of rlmr_record */
    uint64_t first_row; /* in the table */
    uint32_t role;      /* ids of texts that many rows share */
    uint32_t found[RLMR_FOUND_COUNT];
    uint32_t pta;
    uint32_t ge;
    const char *records_name;        /* of the file that rows come from */
    rlmr_columns columns;            /* of that file */
    rlmr_file_damage *events_damage; /* of the file that events come from */
    int64_t first_ns; /* least and greatest time of the records, of all processes that share the capture */
    int64_t last_ns;
    bool time_offset; /* the user has shifted the trace */
};

static rlmr_status intern(rlmr_memory *memory, const char *text, uint32_t *id, rlmr_error *err) {
    return rlmr_symtab_intern_utf8(memory->partial->texts, rlmr_slice_of(text), id, NULL, err);
}

static rlmr_status intern_shared(rlmr_memory *memory, rlmr_error *err) {
    rlmr_status status =
        intern(memory, memory->capture->role == NULL ? "" : memory->capture->role, &memory->role, err);
    status = status == RLMR_OK ? intern(memory, "PTA", &memory->pta, err) : status;
    status = status == RLMR_OK ? intern(memory, "GE", &memory->ge, err) : status;
    for (int found = 0; found < RLMR_FOUND_COUNT && status == RLMR_OK; found++) {
        status = intern(memory, found_texts[found], &memory->found[found], err);
    }
    return status;
}

rlmr_status rlmr_memory_open(rlmr_capture *capture, const rlmr_map_options *options, rlmr_partial *partial,
                             rlmr_memory **out, rlmr_error *err) {
    rlmr_memory *memory = calloc(1, sizeof *memory);
    *out = memory;
    if (memory == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to map a capture");
    }
    memory->capture = capture;
    memory->partial = partial;
    memory->first_row = partial->tables[RLMR_TABLE_memory_events].rows;
    memory->time_offset = options->time_offset_ns != 0;
    memory->first_ns = INT64_MAX;
    memory->last_ns = INT64_MIN;
    rlmr_status status = rlmr_symtab_open(&memory->names, err);
    status = status == RLMR_OK
                 ? rlmr_stack_index_open(memory->names, partial->texts, options, &memory->index, err)
                 : status;
    status = status == RLMR_OK ? intern_shared(memory, err) : status;
    if (status != RLMR_OK) {
        rlmr_memory_close(memory);
        *out = NULL;
    }
    return status;
}

void rlmr_memory_close(rlmr_memory *memory) {
    if (memory != NULL) {
        rlmr_stack_index_close(memory->index);
        rlmr_symtab_close(memory->names);
        rlmr_bytes_release(&memory->records);
        free(memory);
    }
}

static void widen_times(rlmr_memory *memory, int64_t first_ns, int64_t last_ns) {
    memory->first_ns = first_ns < memory->first_ns ? first_ns : memory->first_ns;
    memory->last_ns = last_ns > memory->last_ns ? last_ns : memory->last_ns;
}

/* A record with an allocation time looks for its stack. */
static rlmr_status add_record(rlmr_memory *memory, rlmr_slice name, int64_t time_ns, rlmr_error *err) {
    rlmr_record record = {.time_ns = time_ns, .row = memory->partial->tables[RLMR_TABLE_memory_events].rows};
    rlmr_status status = rlmr_symtab_intern(memory->names, name, &record.name, err);
    widen_times(memory, time_ns, time_ns);
    return status == RLMR_OK ? rlmr_bytes_append(&memory->records, &record, sizeof record, err) : status;
}

static rlmr_status read_times(rlmr_memory *memory, const rlmr_csv_row *row, rlmr_memory_events_row *out,
                              bool *release_only, rlmr_error *err) {
    int64_t allocation;
    int64_t release;
    int64_t bad_before = memory->capture->bad_cells;
    rlmr_status status = rlmr_columns_time(&memory->columns, row, CSV_allocation_time, &allocation, err);
    status = status == RLMR_OK ? rlmr_columns_time(&memory->columns, row, CSV_release_time, &release, err)
                               : status;
    if (status != RLMR_OK) {
        return status;
    }
    *release_only = allocation == RLMR_TIME_ABSENT && release != RLMR_TIME_ABSENT;
    out->is_released = release != RLMR_TIME_ABSENT;
    out->start_time_ns = allocation != RLMR_TIME_ABSENT ? allocation : release;
    out->start_time_ms = out->start_time_ns != RLMR_TIME_ABSENT ? (double)out->start_time_ns / 1e6 : NAN;
    if (out->start_time_ns == RLMR_TIME_ABSENT && memory->capture->bad_cells == bad_before) {
        status = rlmr_columns_bad_cell(&memory->columns, row, CSV_allocation_time, (rlmr_slice){.text = ""},
                                       "a record without any time", err);
    }
    if (status == RLMR_OK && allocation != RLMR_TIME_ABSENT) {
        status = add_record(memory, rlmr_columns_cell(&memory->columns, row, CSV_name), allocation, err);
    }
    return status;
}

static rlmr_status read_numbers(rlmr_memory *memory, const rlmr_csv_row *row, rlmr_memory_events_row *out,
                                bool release_only, rlmr_error *err) {
    const struct {
        int column;
        double *value;
    } numbers[] = {
        {CSV_size, &out->size_kb},
        {CSV_duration, &out->duration_ms},
        {CSV_active_duration, &out->active_duration_ms},
        {release_only ? CSV_release_allocated : CSV_allocated, &out->total_allocated_mb},
        {release_only ? CSV_release_reserved : CSV_reserved, &out->total_reserved_mb},
        {release_only ? CSV_release_active : CSV_active, &out->total_active_mb},
    };
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == RLMR_OK; i++) {
        status = rlmr_columns_number(&memory->columns, row, numbers[i].column, numbers[i].value, err);
    }
    /* RL-Insight's rule: a record whose duration is not known was held for 0 ms. */
    out->is_released = out->is_released || !isnan(out->duration_ms);
    out->duration_ms = isnan(out->duration_ms) ? 0.0 : out->duration_ms;
    return status;
}

static rlmr_status read_record(rlmr_memory *memory, const rlmr_csv_row *row, rlmr_error *err) {
    rlmr_slice name = rlmr_columns_cell(&memory->columns, row, CSV_name);
    bool ge = name.bytes >= 6 && memcmp(name.text, "cann::", 6) == 0;
    rlmr_memory_events_row out = {.role = memory->role,
                                  .rank_id = memory->capture->rank_id,
                                  .capture = memory->capture->number,
                                  .component = ge ? memory->ge : memory->pta,
                                  .call_stack_match = memory->found[RLMR_FOUND_NONE],
                                  .file_row = (int64_t)row->number};
    bool release_only = false;
    rlmr_status status = read_times(memory, row, &out, &release_only, err);
    status = status == RLMR_OK ? read_numbers(memory, row, &out, release_only, err) : status;
    status = status == RLMR_OK
                 ? rlmr_columns_text(&memory->columns, row, CSV_name, memory->partial->texts, &out.name, err)
                 : status;
    status = status == RLMR_OK ? rlmr_columns_text(&memory->columns, row, CSV_stream, memory->partial->texts,
                                                   &out.stream, err)
                               : status;
    status = status == RLMR_OK ? rlmr_columns_text(&memory->columns, row, CSV_device, memory->partial->texts,
                                                   &out.device_type, err)
                               : status;
    if (status == RLMR_OK) {
        status = rlmr_table_append(&memory->partial->tables[RLMR_TABLE_memory_events], &out, err);
    }
    return status;
}

rlmr_status rlmr_memory_row(void *self, const rlmr_csv_row *row, rlmr_error *err) {
    rlmr_memory *memory = self;
    rlmr_csv_row kept;
    bool is_data;
    rlmr_status status = rlmr_columns_row(&memory->columns, row, &kept, &is_data, err);
    return status == RLMR_OK && is_data ? read_record(memory, &kept, err) : status;
}

void rlmr_memory_rows_begin(rlmr_memory *memory, rlmr_file_damage *damage) {
    _Static_assert(CSV_COUNT <= RLMR_COLUMNS_MAX, "rlmr_columns has room");
    memory->columns = rlmr_columns_of(csv_columns, CSV_COUNT, damage);
    memory->records_name = rlmr_file_damage_name(damage);
}

void rlmr_memory_rows_end(rlmr_memory *memory) {
    memory->capture->memory_rows =
        (int64_t)(memory->partial->tables[RLMR_TABLE_memory_events].rows - memory->first_row);
}

bool rlmr_memory_wants_trace(const rlmr_memory *memory) {
    return memory->records.bytes > 0;
}

void rlmr_memory_events_begin(rlmr_memory *memory, rlmr_file_damage *damage) {
    memory->events_damage = damage;
}

rlmr_status rlmr_memory_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    rlmr_memory *memory = self;
    rlmr_event_problem problem = {0};
    memory->capture->events_with_stack +=
        event->call_stack.bytes > 0 && rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op"));
    rlmr_status status = rlmr_stack_index_add(memory->index, event, &problem, err);
    if (status == RLMR_OK && problem.reason != NULL) {
        int shown = event->name.bytes > 64 ? 64 : (int)event->name.bytes;
        char place[40] = "";
        if (event->offset >= 0) {
            (void)snprintf(place, sizeof place, " at byte %lld", (long long)event->offset);
        }
        memory->capture->events_skipped += problem.lost;
        status = rlmr_file_damage_met(memory->events_damage, event->offset, err, "event %llu%s: \"%.*s\": %s",
                                      (unsigned long long)event->number, place, shown, event->name.text,
                                      problem.reason);
    }
    return status;
}

static rlmr_record *records_of(rlmr_memory *memory, uint64_t *count) {
    *count = memory->records.bytes / sizeof(rlmr_record);
    return (rlmr_record *)(void *)memory->records.data;
}

/* Times in the trace and in the records that lie more than an hour apart are not of the same clock. */
static rlmr_status check_ranges(rlmr_memory *memory, const rlmr_file_damage *trace, bool *meet,
                                rlmr_error *err) {
    int64_t first = memory->first_ns;
    int64_t last = memory->last_ns;
    int64_t least;
    int64_t greatest;
    *meet = true;
    if (!rlmr_stack_index_range(memory->index, &least, &greatest)) {
        return RLMR_OK;
    }
    int64_t gap;
    bool apart =
        (first > greatest && (__builtin_sub_overflow(first, greatest, &gap) || gap > RANGES_APART_NS)) ||
        (least > last && (__builtin_sub_overflow(least, last, &gap) || gap > RANGES_APART_NS));
    if (!apart) {
        return RLMR_OK;
    }
    *meet = false;
    rlmr_capture_degrade(memory->capture, RLMR_CAPTURE_PARTIAL);
    return rlmr_capture_note(memory->capture, err,
                             "times do not meet, no call stacks: events of %s %lld..%lld ns%s, records of %s "
                             "%lld..%lld ns; --time-offset "
                             "shifts the events",
                             rlmr_file_damage_name(trace), (long long)least, (long long)greatest,
                             memory->time_offset ? " (shifted)" : "", memory->records_name, (long long)first,
                             (long long)last);
}

static rlmr_status fill_in(rlmr_memory *memory, const rlmr_record *record, rlmr_file_damage *damage,
                           rlmr_error *err) {
    rlmr_table *table = &memory->partial->tables[RLMR_TABLE_memory_events];
    rlmr_status status = RLMR_OK;
    *(uint32_t *)rlmr_table_value(table, record->row, TABLE_call_stack) = record->stack;
    *(uint32_t *)rlmr_table_value(table, record->row, TABLE_call_stack_top) = record->top;
    *(uint32_t *)rlmr_table_value(table, record->row, TABLE_call_stack_match) = memory->found[record->found];
    memory->capture->rows_matched += record->found != RLMR_FOUND_NONE;
    if (record->unclean) {
        rlmr_slice stack = rlmr_symtab_text(memory->partial->texts, record->stack);
        int shown = stack.bytes > 64 ? 64 : (int)stack.bytes;
        status = rlmr_file_damage_met(
            damage, -1, err, "a call stack that is not UTF-8, or has a NUL: \"%.*s\"", shown, stack.text);
    }
    return status;
}

rlmr_status rlmr_memory_finish(rlmr_memory *memory, rlmr_file_damage *damage, rlmr_error *err) {
    bool meet;
    uint64_t count;
    rlmr_status status = check_ranges(memory, damage, &meet, err);
    rlmr_record *records = records_of(memory, &count);
    if (status != RLMR_OK || !meet || count == 0) {
        return status;
    }
    status = rlmr_stack_index_match(memory->index, records, count, err);
    for (uint64_t i = 0; i < count && status == RLMR_OK; i++) {
        status = fill_in(memory, &records[i], damage, err);
    }
    return status;
}

rlmr_time_window rlmr_memory_window(const rlmr_memory *memory) {
    return (rlmr_time_window){.first_ns = memory->first_ns, .last_ns = memory->last_ns};
}

rlmr_status rlmr_memory_encode_records(const rlmr_memory *memory, rlmr_bytes *out, rlmr_error *err) {
    uint32_t count = rlmr_symtab_count(memory->names);
    rlmr_status status = rlmr_bytes_append_i64(out, memory->first_ns, err);
    status = status == RLMR_OK ? rlmr_bytes_append_i64(out, memory->last_ns, err) : status;
    for (uint32_t name = 1; name < count && status == RLMR_OK; name++) {
        status = rlmr_bytes_append_slice(out, rlmr_symtab_text(memory->names, name), err);
    }
    return status;
}

rlmr_status rlmr_memory_take_records(rlmr_memory *memory, rlmr_slice told, rlmr_time_window *window,
                                     rlmr_error *err) {
    rlmr_reader in = {.data = (const uint8_t *)told.text, .bytes = told.bytes};
    rlmr_status status = rlmr_reader_i64(&in, &window->first_ns, err);
    status = status == RLMR_OK ? rlmr_reader_i64(&in, &window->last_ns, err) : status;
    if (status == RLMR_OK) {
        widen_times(memory, window->first_ns, window->last_ns);
    }
    while (status == RLMR_OK && in.at < in.bytes) {
        rlmr_slice name;
        uint32_t id;
        status = rlmr_reader_slice(&in, &name, err);
        status = status == RLMR_OK ? rlmr_symtab_intern(memory->names, name, &id, err) : status;
    }
    return status;
}

rlmr_status rlmr_memory_encode_events(const rlmr_memory *memory, const rlmr_time_window *window,
                                      rlmr_bytes *out, rlmr_error *err) {
    return rlmr_stack_index_encode(memory->index, window, out, err);
}

rlmr_status rlmr_memory_ask(const rlmr_memory *memory, const rlmr_time_window *own, rlmr_bytes *out,
                            rlmr_error *err) {
    return rlmr_stack_index_ask(memory->index, own, out, err);
}

rlmr_status rlmr_memory_answer(const rlmr_memory *memory, const rlmr_bytes *asked,
                               const rlmr_time_window *window, rlmr_bytes *out, rlmr_error *err) {
    return rlmr_stack_index_answer(memory->index, asked, window, out, err);
}

rlmr_status rlmr_memory_take_events(rlmr_memory *memory, rlmr_slice told, rlmr_error *err) {
    return rlmr_stack_index_take(memory->index, told, err);
}

void rlmr_memory_shift_rows(rlmr_memory *memory, int64_t rows_before) {
    rlmr_table *table = &memory->partial->tables[RLMR_TABLE_memory_events];
    for (uint64_t row = memory->first_row; row < table->rows; row++) {
        *(int64_t *)rlmr_table_value(table, row, TABLE_file_row) += rows_before;
    }
}
