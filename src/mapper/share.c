#include "rlmr/share.h"

#include "job.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Added up over all parts. */
typedef struct {
    int64_t rows;   /* of the file of records */
    int64_t events; /* of the trace */
    int64_t events_with_stack;
    int64_t memory_rows;
    int64_t rows_matched;
} counts;

struct rlmr_share {
    rlmr_piece piece;
    rlmr_capture
        seen; /* a copy of the capture, for what the readers note; its message is ours, other texts are borrowed */
    rlmr_partial *outer;
    rlmr_partial partial; /* the rows of this part; the texts are those of `outer` */
    rlmr_job job;
    rlmr_meter counting; /* seen.bytes_read, on the way to the caller's */
    const rlmr_meter *meter;
    rlmr_memory *memory;
    rlmr_time_window *windows; /* of the records of each part */
    rlmr_bytes *asked;         /* by each of the other parts, see rlmr_stack_index_ask() */
    bool sound;                /* nothing is wrong, as far as is known */
    bool wants_trace;          /* a record of some part looks for a stack */
    int64_t rows_before;       /* of the file of records, in earlier parts */
    counts own;
    counts all;
};

/* A sparse file may claim any size. No file has more rows or events than bytes. */
#define FILE_BYTES_MAX ((int64_t)1 << 40)

static bool is_shareable(const rlmr_capture *capture, rlmr_file_kind kind) {
    const rlmr_file *file = &capture->files[kind];
    size_t bytes = file->path == NULL ? 0 : strlen(file->path);
    bool packed = bytes > 3 && strcmp(file->path + bytes - 3, ".gz") == 0;
    return file->state == RLMR_FILE_UNUSED && file->bytes > 0 && file->bytes < FILE_BYTES_MAX && !packed;
}

int64_t rlmr_share_bytes(const rlmr_capture *capture, const rlmr_map_options *options) {
    bool fit = options->analyses[RLMR_ANALYSIS_MEMORY] && !options->strict &&
               capture->status == RLMR_CAPTURE_OK && is_shareable(capture, RLMR_FILE_trace_view) &&
               is_shareable(capture, RLMR_FILE_operator_memory);
    int64_t bytes =
        fit ? capture->files[RLMR_FILE_trace_view].bytes + capture->files[RLMR_FILE_operator_memory].bytes
            : 0;
    return options->split_bytes > 0 && bytes >= options->split_bytes ? bytes : 0;
}

static rlmr_status count_bytes(void *self, size_t bytes, rlmr_error *err) {
    rlmr_share *share = self;
    share->seen.bytes_read += (int64_t)bytes;
    return share->meter->advance(share->meter->self, bytes, err);
}

rlmr_status rlmr_share_open(const rlmr_capture *capture, const rlmr_piece *piece,
                            const rlmr_map_options *options, rlmr_partial *partial, const rlmr_meter *meter,
                            rlmr_share **out, rlmr_error *err) {
    rlmr_share *share = calloc(1, sizeof *share);
    *out = share;
    if (share == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to map a capture");
    }
    share->piece = *piece;
    share->seen = *capture;
    share->seen.message = NULL;
    share->outer = partial;
    share->partial.texts = partial->texts;
    rlmr_table_init(&share->partial.tables[RLMR_TABLE_memory_events], &rlmr_memory_events_schema);
    share->job = (rlmr_job){
        .capture = &share->seen, .options = options, .partial = &share->partial, .meter = &share->counting};
    share->meter = meter;
    share->counting = (rlmr_meter){.advance = count_bytes, .self = share};
    share->sound = true;
    share->windows = calloc((size_t)piece->count, sizeof *share->windows);
    share->asked = calloc((size_t)piece->count, sizeof *share->asked);
    rlmr_status status = share->windows == NULL || share->asked == NULL
                             ? rlmr_error_set(err, RLMR_E_NOMEM, "no memory to map a capture")
                             : RLMR_OK;
    status = status == RLMR_OK ? rlmr_memory_open(&share->seen, options, &share->partial, &share->memory, err)
                               : status;
    if (status != RLMR_OK) {
        rlmr_share_close(share);
        *out = NULL;
    }
    return status;
}

void rlmr_share_close(rlmr_share *share) {
    if (share != NULL) {
        rlmr_memory_close(share->memory);
        rlmr_table_release(&share->partial.tables[RLMR_TABLE_memory_events]);
        for (int part = 0; share->asked != NULL && part < share->piece.count; part++) {
            rlmr_bytes_release(&share->asked[part]);
        }
        free(share->asked);
        free(share->windows);
        free(share->seen.message);
        free(share);
    }
}

/* What is wrong with a file ends the share, all else the run. */
static rlmr_status settle(rlmr_share *share, rlmr_status status, bool sound, const rlmr_error *trouble,
                          rlmr_error *err) {
    bool wrong = status == RLMR_E_INPUT || status == RLMR_E_PARSE || status == RLMR_E_LIMIT;
    bool noted = share->seen.status != RLMR_CAPTURE_OK || share->seen.message != NULL;
    share->sound = share->sound && status == RLMR_OK && sound && !noted;
    return status == RLMR_OK || wrong ? RLMR_OK : rlmr_error_set(err, status, "%s", trouble->message);
}

typedef rlmr_status (*guess)(const char *path, int64_t offset, int64_t *start, rlmr_error *err);

/* Where the part of a file begins that lies behind `at` of the capture's bytes. */
static rlmr_status find_start(const rlmr_share *share, rlmr_file_kind kind, guess guess_start, int64_t at,
                              int64_t *start, rlmr_error *err) {
    const rlmr_file *file = &share->seen.files[kind];
    if (at <= 0 || at >= share->piece.of) {
        *start = at <= 0 ? 0 : INT64_MAX;
        return RLMR_OK;
    }
    int64_t offset = (int64_t)((double)file->bytes * ((double)at / (double)share->piece.of));
    rlmr_status status = guess_start(file->path, offset, start, err);
    *start = status == RLMR_OK && *start >= file->bytes ? INT64_MAX : *start; /* none begins behind it */
    return status;
}

static rlmr_status find_range(const rlmr_share *share, rlmr_file_kind kind, guess guess_start,
                              rlmr_file_range *range, rlmr_error *err) {
    range->path = share->seen.files[kind].path;
    rlmr_status status = find_start(share, kind, guess_start, share->piece.from, &range->from, err);
    return status == RLMR_OK ? find_start(share, kind, guess_start, share->piece.to, &range->to, err)
                             : status;
}

static rlmr_status read_records(rlmr_share *share, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(&share->job, RLMR_FILE_operator_memory);
    rlmr_file_range range;
    bool sound = true;
    uint64_t rows = 0;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_rows_begin(share->memory, &damage);
    rlmr_status status = find_range(share, RLMR_FILE_operator_memory, rlmr_csv_guess, &range, &trouble);
    if (status == RLMR_OK && range.from != range.to) {
        status = rlmr_csv_read_range(&range, rlmr_memory_row, share->memory, share->job.meter, &rows, &sound,
                                     &trouble);
    }
    rlmr_memory_rows_end(share->memory);
    share->windows[share->piece.index] = rlmr_memory_window(share->memory);
    share->own.rows = (int64_t)rows;
    share->own.memory_rows = share->seen.memory_rows;
    share->wants_trace = share->wants_trace || rlmr_memory_wants_trace(share->memory);
    return settle(share, status, sound, &trouble, err);
}

static rlmr_status read_events(rlmr_share *share, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(&share->job, RLMR_FILE_trace_view);
    rlmr_file_range range;
    bool sound = true;
    uint64_t events = 0;
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_events_begin(share->memory, &damage);
    rlmr_status status = find_range(share, RLMR_FILE_trace_view, rlmr_trace_guess, &range, &trouble);
    if (status == RLMR_OK && range.from != range.to) {
        status = rlmr_trace_read_range(&range, share->job.options->strict, rlmr_memory_event, share->memory,
                                       share->job.meter, &events, &sound, &trouble);
    }
    share->own.events = (int64_t)events;
    share->own.events_with_stack = share->seen.events_with_stack;
    return settle(share, status, sound, &trouble, err);
}

static rlmr_status match(rlmr_share *share, rlmr_error *err) {
    rlmr_file_damage damage = rlmr_job_damage(&share->job, RLMR_FILE_trace_view);
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_memory_shift_rows(share->memory, share->rows_before);
    rlmr_status status = rlmr_memory_finish(share->memory, &damage, &trouble);
    share->own.rows_matched = share->seen.rows_matched;
    return settle(share, status, true, &trouble, err);
}

rlmr_status rlmr_share_work(rlmr_share *share, rlmr_share_step step, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    switch (step) {
    case RLMR_SHARE_RECORDS:
        status = read_records(share, err);
        break;
    case RLMR_SHARE_EVENTS:
        status = share->sound && share->wants_trace ? read_events(share, err) : RLMR_OK;
        break;
    case RLMR_SHARE_STACKS:
        status = share->sound && share->wants_trace ? match(share, err) : RLMR_OK;
        share->all = share->own;
        break;
    case RLMR_SHARE_QUESTIONS:
    case RLMR_SHARE_ANSWERS:
    case RLMR_SHARE_STEPS:
        break;
    }
    return status;
}

/* Told with each step: whether the part is sound, and its counts so far. */
static rlmr_status put_counts(const rlmr_share *share, rlmr_bytes *out, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_append_u32(out, share->sound, err);
    return status == RLMR_OK ? rlmr_bytes_append(out, &share->own, sizeof share->own, err) : status;
}

/* What is found in a step, for part `to`. */
static rlmr_status put_findings(const rlmr_share *share, rlmr_share_step step, int to, rlmr_bytes *out,
                                rlmr_error *err) {
    const rlmr_time_window *window = &share->windows[to];
    switch (step) {
    case RLMR_SHARE_RECORDS:
        return rlmr_memory_encode_records(share->memory, out, err);
    case RLMR_SHARE_EVENTS:
        return rlmr_memory_encode_events(share->memory, window, out, err);
    case RLMR_SHARE_QUESTIONS:
        return rlmr_memory_ask(share->memory, &share->windows[share->piece.index], out, err);
    case RLMR_SHARE_ANSWERS:
        return rlmr_memory_answer(share->memory, &share->asked[to], window, out, err);
    case RLMR_SHARE_STACKS:
    case RLMR_SHARE_STEPS:
        break;
    }
    return RLMR_OK;
}

rlmr_status rlmr_share_tell(const rlmr_share *share, rlmr_share_step step, int to, rlmr_bytes *out,
                            rlmr_error *err) {
    rlmr_status status = put_counts(share, out, err);
    return status == RLMR_OK && share->sound ? put_findings(share, step, to, out, err) : status;
}

static rlmr_status malformed(rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_PARSE, "what another process tells of a shared capture is malformed");
}

static bool is_count(int64_t told) {
    return told >= 0 && told <= FILE_BYTES_MAX;
}

static rlmr_status read_counts(rlmr_reader *in, counts *told, rlmr_error *err) {
    if (in->bytes - in->at < sizeof *told) {
        return malformed(err);
    }
    memcpy(told, in->data + in->at, sizeof *told);
    in->at += sizeof *told;
    bool possible = is_count(told->rows) && is_count(told->events) && is_count(told->events_with_stack) &&
                    is_count(told->memory_rows) && is_count(told->rows_matched);
    return possible ? RLMR_OK : malformed(err);
}

static rlmr_status take_counts(rlmr_share *share, rlmr_share_step step, int64_t from, rlmr_reader *in,
                               bool *sound, rlmr_error *err) {
    uint32_t told = 0;
    counts other = {0};
    rlmr_status status = rlmr_reader_u32(in, &told, err);
    status = status == RLMR_OK ? read_counts(in, &other, err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    *sound = told != 0;
    if (step == RLMR_SHARE_RECORDS && from < share->piece.index) {
        share->rows_before += other.rows;
    }
    if (step == RLMR_SHARE_STACKS) {
        share->all.events += other.events;
        share->all.events_with_stack += other.events_with_stack;
        share->all.memory_rows += other.memory_rows;
        share->all.rows_matched += other.rows_matched;
    }
    return RLMR_OK;
}

static rlmr_status hear_records(rlmr_share *share, int64_t from, rlmr_slice told, rlmr_error *err) {
    rlmr_time_window *window = &share->windows[from];
    rlmr_status status = rlmr_memory_take_records(share->memory, told, window, err);
    share->wants_trace = share->wants_trace || window->first_ns <= window->last_ns;
    return status;
}

static rlmr_status hear_events(rlmr_share *share, rlmr_slice told, rlmr_error *err) {
    rlmr_error trouble;
    rlmr_error_clear(&trouble);
    rlmr_status status = rlmr_memory_take_events(share->memory, told, &trouble);
    if (status == RLMR_E_LIMIT) { /* one process would meet it too, and says so */
        share->sound = false;
        return RLMR_OK;
    }
    return status == RLMR_OK ? RLMR_OK : rlmr_error_set(err, status, "%s", trouble.message);
}

static rlmr_status hear_findings(rlmr_share *share, rlmr_share_step step, int64_t from, rlmr_slice told,
                                 rlmr_error *err) {
    switch (step) {
    case RLMR_SHARE_RECORDS:
        return hear_records(share, from, told, err);
    case RLMR_SHARE_EVENTS:
    case RLMR_SHARE_ANSWERS:
        return hear_events(share, told, err);
    case RLMR_SHARE_QUESTIONS:
        return rlmr_bytes_append(&share->asked[from], told.text, told.bytes, err);
    case RLMR_SHARE_STACKS:
    case RLMR_SHARE_STEPS:
        break;
    }
    return RLMR_OK;
}

rlmr_status rlmr_share_hear(rlmr_share *share, rlmr_share_step step, int64_t from, rlmr_slice told,
                            rlmr_error *err) {
    rlmr_reader in = {.data = (const uint8_t *)told.text, .bytes = told.bytes};
    bool sound = false;
    if (from < 0 || from >= share->piece.count || from == share->piece.index) {
        return malformed(err);
    }
    rlmr_status status = take_counts(share, step, from, &in, &sound, err);
    share->sound = share->sound && sound;
    rlmr_slice rest = {.text = told.text + in.at, .bytes = told.bytes - in.at};
    return status == RLMR_OK && share->sound ? hear_findings(share, step, from, rest, err) : status;
}

int64_t rlmr_share_bytes_read(const rlmr_share *share) {
    return share->sound ? share->seen.bytes_read : 0;
}

bool rlmr_share_holds(const rlmr_share *share) {
    return share->sound;
}

rlmr_status rlmr_share_finish(rlmr_share *share, rlmr_error *err) {
    return share->sound ? rlmr_table_move(&share->outer->tables[RLMR_TABLE_memory_events],
                                          &share->partial.tables[RLMR_TABLE_memory_events], err)
                        : RLMR_OK;
}

void rlmr_share_report(const rlmr_share *share, rlmr_capture *capture) {
    capture->events_seen = share->all.events;
    capture->events_with_stack = share->all.events_with_stack;
    capture->memory_rows = share->all.memory_rows;
    capture->rows_matched = share->all.rows_matched;
    capture->files[RLMR_FILE_trace_view].state = share->seen.files[RLMR_FILE_trace_view].state;
    capture->files[RLMR_FILE_operator_memory].state = share->seen.files[RLMR_FILE_operator_memory].state;
}
