#include "stack_index_state.h"

#include "rlmr/decimal.h"
#include "rlmr/limits.h"

#include <stdlib.h>
#include <string.h>

/* A trace that has filled the first will fill more. Memory that is not touched costs nothing; so much is kept for the next capture when
 * it is freed, and what grows beyond it is not copied more than once (rlmr_tables_keep_memory()). Where there is not so much address
 * space, entries grow step by step. */
#define FEW_ENTRIES_BYTES ((size_t)256 * 1024)
#define MANY_ENTRIES_BYTES ((size_t)30 << 20)

rlmr_status rlmr_stack_index_open(const rlmr_symtab *names, rlmr_symtab *texts,
                                  const rlmr_map_options *options, rlmr_stack_index **out, rlmr_error *err) {
    rlmr_stack_index *index = calloc(1, sizeof *index);
    if (index == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the call-stack index");
    }
    index->names = names;
    index->texts = texts;
    index->match = options->match;
    index->time_offset_ns = options->time_offset_ns;
    rlmr_status status = rlmr_symtab_open(&index->threads, err);
    status = status == RLMR_OK ? rlmr_symtab_open(&index->pairs, err) : status;
    status = status == RLMR_OK ? rlmr_symtab_open(&index->raw_stacks, err) : status;
    if (status != RLMR_OK) {
        rlmr_stack_index_close(index);
        index = NULL;
    }
    *out = index;
    return status;
}

void rlmr_stack_index_close(rlmr_stack_index *index) {
    if (index == NULL) {
        return;
    }
    rlmr_symtab_close(index->threads);
    rlmr_symtab_close(index->pairs);
    rlmr_symtab_close(index->raw_stacks);
    rlmr_bytes_release(&index->scratch);
    rlmr_bytes_release(&index->thread_key);
    rlmr_bytes_release(&index->stacks);
    rlmr_bytes_release(&index->plains);
    rlmr_bytes_release(&index->backwards);
    rlmr_bytes_release(&index->forwards);
    free(index);
}

/* What an event means for matching, in numbers. */
typedef struct {
    int64_t ts;
    int64_t end;
    int64_t sequence;
    bool forward_thread; /* it names one */
    uint32_t name;
    bool cpu_op;
    bool known_name;
    bool has_stack;
} reading;

static void note_problem(rlmr_event_problem *problem, const char *reason, bool lost) {
    *problem = (rlmr_event_problem){.reason = reason, .lost = lost};
}

static bool read_times(const rlmr_stack_index *index, const rlmr_trace_event *event, reading *out,
                       rlmr_event_problem *problem) {
    int64_t dur = 0;
    if (!rlmr_decimal_us_to_ns(event->ts, &out->ts) ||
        __builtin_add_overflow(out->ts, index->time_offset_ns, &out->ts)) {
        note_problem(problem, "no readable ts", true);
        return false;
    }
    /* An event without a readable duration encloses nothing, but may still be the nearest. */
    if (event->dur.bytes > 0 && !rlmr_decimal_us_to_ns(event->dur, &dur)) {
        dur = 0;
        note_problem(problem, "dur is no number", false);
    }
    if (__builtin_add_overflow(out->ts, dur < 0 ? 0 : dur, &out->end)) {
        note_problem(problem, "ts + dur is no time", true);
        return false;
    }
    return true;
}

static int64_t read_sequence(const rlmr_trace_event *event, rlmr_event_problem *problem) {
    int64_t sequence = -1;
    if (event->sequence.bytes > 0 && !rlmr_decimal_to_i64(event->sequence, &sequence)) {
        note_problem(problem, "Sequence number is no integer of 64 bits", false);
        return -1;
    }
    return sequence;
}

/* All that counts is whether it is 0; it may be a hash of 20 digits. */
static bool names_thread(const rlmr_trace_event *event, rlmr_event_problem *problem) {
    rlmr_slice text = event->forward_thread;
    size_t at = text.bytes > 0 && (text.text[0] == '-' || text.text[0] == '+') ? 1 : 0;
    bool other = false;
    bool integer = at < text.bytes;
    for (; at < text.bytes; at++) {
        integer = integer && text.text[at] >= '0' && text.text[at] <= '9';
        other = other || text.text[at] != '0';
    }
    if (text.bytes > 0 && !integer) {
        note_problem(problem, "Fwd thread id is no integer", false);
    }
    return integer && other;
}

/* What orders events of equal times: that of the file, whoever has counted them. */
static uint64_t position_of(const rlmr_trace_event *event) {
    return event->offset >= 0 ? (uint64_t)event->offset : event->number;
}

void rlmr_stack_index_widen(rlmr_stack_index *index, int64_t least_ns, int64_t greatest_ns) {
    index->least_ns = !index->any || least_ns < index->least_ns ? least_ns : index->least_ns;
    index->greatest_ns = !index->any || greatest_ns > index->greatest_ns ? greatest_ns : index->greatest_ns;
    index->any = true;
}

static rlmr_status append_entry(rlmr_bytes *entries, const void *entry, size_t bytes, rlmr_error *err) {
    if (entries->bytes / bytes >= UINT32_MAX - 1) {
        return rlmr_error_set(err, RLMR_E_RANGE, RLMR_TOO_MANY_ENTRIES, UINT32_MAX - 1);
    }
    bool full = entries->capacity - entries->bytes < bytes;
    if (full && entries->bytes >= FEW_ENTRIES_BYTES && entries->capacity < MANY_ENTRIES_BYTES) {
        rlmr_status reserved = rlmr_bytes_reserve(entries, MANY_ENTRIES_BYTES, NULL);
        (void)reserved;
    }
    return rlmr_bytes_append(entries, entry, bytes, err);
}

/* Whether the last thread is that of the event, as it mostly is. */
static bool is_last_thread(const rlmr_stack_index *index, const rlmr_trace_event *event) {
    const rlmr_bytes *key = &index->thread_key;
    if (key->bytes != event->pid.bytes + 1 + event->tid.bytes) {
        return false;
    }
    rlmr_slice pid = {.text = (const char *)key->data, .bytes = event->pid.bytes};
    rlmr_slice tid = {.text = (const char *)key->data + event->pid.bytes + 1, .bytes = event->tid.bytes};
    return rlmr_slice_equal(pid, event->pid) && key->data[pid.bytes] == '\0' &&
           rlmr_slice_equal(tid, event->tid);
}

static rlmr_status intern_thread(rlmr_stack_index *index, const rlmr_trace_event *event, uint32_t *thread,
                                 rlmr_error *err) {
    rlmr_bytes *key = &index->thread_key;
    rlmr_status status = RLMR_OK;
    if (!is_last_thread(index, event)) {
        rlmr_bytes_clear(key);
        status = rlmr_bytes_append(key, event->pid.text, event->pid.bytes, err);
        status = status == RLMR_OK ? rlmr_bytes_append(key, "", 1, err) : status;
        status = status == RLMR_OK ? rlmr_bytes_append(key, event->tid.text, event->tid.bytes, err) : status;
        rlmr_slice text = {.text = (const char *)key->data, .bytes = key->bytes};
        status = status == RLMR_OK ? rlmr_symtab_intern(index->threads, text, &index->thread, err) : status;
    }
    *thread = index->thread;
    return status;
}

static rlmr_status add_plain(rlmr_stack_index *index, const rlmr_trace_event *event, const reading *at,
                             uint32_t thread, rlmr_error *err) {
    pair_key key = {.name = at->name, .thread = thread};
    plain_entry entry = {.ts = at->ts, .end = at->end, .position = position_of(event)};
    rlmr_status status =
        rlmr_symtab_intern(index->pairs, (rlmr_slice){(const char *)&key, sizeof key}, &entry.pair, err);
    return status == RLMR_OK ? append_entry(&index->plains, &entry, sizeof entry, err) : status;
}

/* For the backward rule: operators without a stack, and those that name their forward op. */
static rlmr_status add_backward(rlmr_stack_index *index, const rlmr_trace_event *event, const reading *at,
                                rlmr_error *err) {
    bool plain = at->known_name && !at->has_stack;
    bool names_forward = at->sequence >= 0 && at->forward_thread;
    if (!at->cpu_op || at->end <= at->ts || !(plain || names_forward)) {
        return RLMR_OK;
    }
    uint32_t thread;
    rlmr_status status = intern_thread(index, event, &thread, err);
    if (status == RLMR_OK && plain) {
        status = add_plain(index, event, at, thread, err);
    }
    if (status == RLMR_OK && names_forward) {
        backward_entry entry = {.ts = at->ts,
                                .end = at->end,
                                .position = position_of(event),
                                .sequence = at->sequence,
                                .thread = thread};
        status = append_entry(&index->backwards, &entry, sizeof entry, err);
    }
    return status;
}

rlmr_status rlmr_stack_index_too_many(rlmr_error *err) {
    return rlmr_error_set(err, RLMR_E_LIMIT, "more than %d distinct call stacks" RLMR_LIMIT_TEXT(STACKS),
                          RLMR_LIMIT_STACKS);
}

static rlmr_status intern_stack(rlmr_stack_index *index, const rlmr_trace_event *event, raw_stack *stack,
                                rlmr_error *err) {
    uint32_t id = 0;
    rlmr_status status = rlmr_symtab_intern(index->raw_stacks, event->call_stack, &id, err);
    *stack = 2 * id + event->call_stack_escaped;
    index->stacks_of_all = rlmr_symtab_count(index->raw_stacks) - 1;
    if (status == RLMR_OK && id > RLMR_LIMIT_STACKS) {
        return rlmr_stack_index_too_many(err);
    }
    return status;
}

static rlmr_status add_stack(rlmr_stack_index *index, const rlmr_trace_event *event, const reading *at,
                             rlmr_error *err) {
    bool own = at->cpu_op && at->known_name;
    bool forward = index->match == RLMR_MATCH_BEST && at->sequence >= 0;
    if (!at->has_stack || !(own || forward)) {
        return RLMR_OK;
    }
    raw_stack stack;
    rlmr_status status = intern_stack(index, event, &stack, err);
    if (status == RLMR_OK && own) {
        stack_entry entry = {
            .ts = at->ts, .end = at->end, .position = position_of(event), .name = at->name, .stack = stack};
        status = append_entry(&index->stacks, &entry, sizeof entry, err);
    }
    if (status == RLMR_OK && forward) {
        forward_entry entry = {
            .sequence = at->sequence, .ts = at->ts, .position = position_of(event), .stack = stack};
        status = append_entry(&index->forwards, &entry, sizeof entry, err);
    }
    return status;
}

rlmr_status rlmr_stack_index_add(rlmr_stack_index *index, const rlmr_trace_event *event,
                                 rlmr_event_problem *problem, rlmr_error *err) {
    rlmr_event_problem found = {0};
    reading at = {.cpu_op = rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op")),
                  .sequence = read_sequence(event, &found),
                  .has_stack = event->call_stack.bytes > 0};
    if (!at.cpu_op && (at.sequence < 0 || !at.has_stack)) {
        return RLMR_OK;
    }
    at.forward_thread = names_thread(event, &found);
    if (!read_times(index, event, &at, &found)) {
        *problem = found;
        return RLMR_OK;
    }
    at.known_name = event->name.bytes > 0 && rlmr_symtab_find(index->names, event->name, &at.name);
    if (at.cpu_op) {
        rlmr_stack_index_widen(index, at.ts, at.end);
    }
    rlmr_status status = add_stack(index, event, &at, err);
    if (status == RLMR_OK && index->match == RLMR_MATCH_BEST) {
        status = add_backward(index, event, &at, err);
    }
    if (found.reason != NULL) {
        *problem = found;
    }
    return status;
}

bool rlmr_stack_index_range(const rlmr_stack_index *index, int64_t *least_ns, int64_t *greatest_ns) {
    *least_ns = index->least_ns;
    *greatest_ns = index->greatest_ns;
    return index->any;
}
