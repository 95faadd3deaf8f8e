#include "rlmr/mapper.h"

#include "analyses.h"
#include "rlmr/share.h"

#define TABLE_SCHEMA(table) &rlmr_##table##_schema,
const rlmr_schema *const rlmr_table_schemas[RLMR_TABLE_AND_FACT_COUNT] = {RLMR_TABLES(TABLE_SCHEMA)
                                                                              RLMR_FACTS(TABLE_SCHEMA)};

rlmr_status rlmr_partial_init(rlmr_partial *partial, rlmr_error *err) {
    for (int table = 0; table < RLMR_TABLE_AND_FACT_COUNT; table++) {
        rlmr_table_init(&partial->tables[table], rlmr_table_schemas[table]);
    }
    return rlmr_symtab_open(&partial->texts, err);
}

void rlmr_partial_release(rlmr_partial *partial) {
    for (int table = 0; table < RLMR_TABLE_AND_FACT_COUNT; table++) {
        rlmr_table_release(&partial->tables[table]);
    }
    rlmr_symtab_close(partial->texts);
    partial->texts = NULL;
}

static bool is_there(const rlmr_capture *capture, rlmr_file_kind kind) {
    return capture->files[kind].state != RLMR_FILE_ABSENT;
}

static bool is_chosen(const rlmr_map_options *options, rlmr_analysis analysis) {
    return options->analyses[analysis];
}

bool rlmr_map_cluster(const rlmr_map_options *options) {
    return is_chosen(options, RLMR_ANALYSIS_STEP_TRACE) ||
           is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_TIME) ||
           is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_MATRIX);
}

/* Whether it is read for memory. */
static bool memory_reads(const rlmr_capture *capture, rlmr_file_kind kind) {
    bool all_text = is_there(capture, RLMR_FILE_operator_memory) && is_there(capture, RLMR_FILE_trace_view);
    return kind == RLMR_FILE_trace_view || kind == RLMR_FILE_operator_memory ||
           (kind == RLMR_FILE_profiler_db && !all_text);
}

/* Whether it is read for the cluster tables. */
static bool cluster_reads(const rlmr_map_options *options, const rlmr_capture *capture, rlmr_file_kind kind) {
    const struct {
        rlmr_file_kind text;
        bool wanted;
    } texts[] = {{RLMR_FILE_step_trace_time, true}, /* communication needs the name of the step */
                 {RLMR_FILE_communication, is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_TIME)},
                 {RLMR_FILE_communication_matrix, is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_MATRIX)}};
    bool reads = kind == RLMR_FILE_profiler_metadata || kind == RLMR_FILE_profiler_db;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool from_db = kind == RLMR_FILE_analysis_db && !is_there(capture, texts[i].text);
        reads = reads || (texts[i].wanted && (kind == texts[i].text || from_db));
    }
    return reads;
}

bool rlmr_map_reads(const rlmr_map_options *options, const rlmr_capture *capture, rlmr_file_kind kind) {
    return (is_chosen(options, RLMR_ANALYSIS_MEMORY) && memory_reads(capture, kind)) ||
           (rlmr_map_cluster(options) && cluster_reads(options, capture, kind));
}

bool rlmr_map_makes(const rlmr_map_options *options, int table) {
    bool matrix = is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_MATRIX);
    bool time = is_chosen(options, RLMR_ANALYSIS_COMMUNICATION_TIME);
    switch (table) {
    case RLMR_TABLE_captures:
        return true;
    case RLMR_TABLE_memory_events:
        return is_chosen(options, RLMR_ANALYSIS_MEMORY);
    case RLMR_TABLE_cluster_step_trace_time:
        return matrix || is_chosen(options, RLMR_ANALYSIS_STEP_TRACE);
    case RLMR_TABLE_cluster_communication_time:
    case RLMR_TABLE_cluster_communication_bandwidth:
        return time;
    case RLMR_TABLE_cluster_communication_matrix:
        return matrix;
    case RLMR_TABLE_communication_group:
        return time || matrix;
    default:
        return rlmr_map_cluster(options);
    }
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

/* With --strict a damaged capture has failed, and nothing more need be read of it. */
static bool goes_on(const rlmr_job *job) {
    return !(job->options->strict && job->capture->status != RLMR_CAPTURE_OK);
}

static rlmr_status map_cluster(rlmr_job *job, rlmr_error *err) {
    bool communication = rlmr_map_makes(job->options, RLMR_TABLE_communication_group);
    rlmr_status status = rlmr_map_metadata(job, err);
    status = status == RLMR_OK && goes_on(job) ? rlmr_map_steps(job, err) : status;
    return status == RLMR_OK && goes_on(job) && communication ? rlmr_map_communication(job, err) : status;
}

/* Rows that the capture brings to the output. */
static uint64_t count_rows(const rlmr_partial *partial) {
    uint64_t rows = 0;
    for (int table = 0; table < RLMR_TABLE_COUNT; table++) {
        rows += table == RLMR_TABLE_captures ? 0 : partial->tables[table].rows;
    }
    return rows;
}

/* A capture of which nothing is left, because its files are damaged, has failed. */
static void check_usable(rlmr_capture *capture, uint64_t rows) {
    bool damaged = false;
    for (rlmr_file_kind kind = RLMR_FILE_trace_view; kind < RLMR_FILES; kind++) {
        damaged = damaged || capture->files[kind].state == RLMR_FILE_DAMAGED;
    }
    if (rows == 0 && damaged) {
        rlmr_capture_degrade(capture, RLMR_CAPTURE_FAILED);
    }
}

static rlmr_status map_files(rlmr_job *job, const rlmr_share *share, rlmr_error *err) {
    uint64_t before = count_rows(job->partial);
    rlmr_status status = rlmr_job_open(job, err);
    if (share != NULL && rlmr_share_holds(share)) {
        rlmr_share_report(share, job->capture);
        before -= (uint64_t)job->capture->memory_rows;
    } else if (status == RLMR_OK && is_chosen(job->options, RLMR_ANALYSIS_MEMORY)) {
        status = rlmr_map_memory(job, err);
    }
    if (status == RLMR_OK && goes_on(job) && rlmr_map_cluster(job->options)) {
        status = map_cluster(job, err);
    }
    status = rlmr_job_close(job, status, err);
    check_usable(job->capture, count_rows(job->partial) - before);
    return status;
}

rlmr_status rlmr_map_capture(rlmr_capture *capture, const rlmr_map_options *options, rlmr_partial *partial,
                             const rlmr_share *share, const rlmr_meter *meter, const rlmr_damage_log *log,
                             rlmr_error *err) {
    counter count = {.capture = capture, .outer = meter};
    rlmr_meter counting = {.advance = count_bytes, .self = &count};
    rlmr_status status = RLMR_OK;
    bool readable = capture->status == RLMR_CAPTURE_OK || capture->status == RLMR_CAPTURE_PARTIAL;
    if (readable) {
        rlmr_job job = {
            .capture = capture, .options = options, .partial = partial, .meter = &counting, .log = log};
        status = map_files(&job, share, err);
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
