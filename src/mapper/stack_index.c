#include "stack_index.h"

#include "rlmr/decimal.h"
#include "rlmr/limits.h"

#include <stdlib.h>
#include <string.h>

/* Entries lie in sorted arrays and are pushed, in that order, on linked stacks while the sweep passes their
 * ts. On every stack the top is the last entry; once time has passed its end it can never enclose again and
 * is dropped. */

/* A cpu_op of a wanted name with a call stack. */
typedef struct {
    int64_t ts;
    int64_t end; /* not after ts if it never encloses */
    uint64_t number;
    uint32_t name;
    uint32_t stack;
    uint32_t below; /* entry under this one + 1 */
} stack_entry;

/* A cpu_op of a wanted name without one. */
typedef struct {
    int64_t ts;
    int64_t end;
    uint64_t number;
    uint32_t pair; /* of its name and thread */
    uint32_t below;
} plain_entry;

/* A cpu_op that stands for a forward op: it has that one's sequence number. */
typedef struct {
    int64_t ts;
    int64_t end;
    uint64_t number;
    int64_t sequence;
    uint32_t thread;
    uint32_t below;
} backward_entry;

/* An event with a sequence number and a call stack. */
typedef struct {
    int64_t sequence;
    int64_t ts;
    uint64_t number;
    uint32_t stack;
} forward_entry;

/* A name on a thread: the plain entries of one pair share the answer to "which forward op". */
typedef struct {
    uint32_t name;
    uint32_t thread;
} pair_key;

struct rlmr_stack_index {
    const rlmr_symtab *names;
    rlmr_symtab *texts;
    rlmr_match_policy match;
    int64_t time_offset_ns;
    rlmr_symtab *threads;     /* pid NUL tid */
    rlmr_symtab *pairs;       /* pair_key as bytes */
    rlmr_symtab *stacks_seen; /* ids of stacks, as bytes: what other captures have does not count */
    rlmr_bytes unclean;       /* for each of these a byte: not 0 if something in it was replaced */
    rlmr_bytes scratch;
    rlmr_bytes stacks; /* of stack_entry, and so on */
    rlmr_bytes plains;
    rlmr_bytes backwards;
    rlmr_bytes forwards;
    int64_t least_ns;
    int64_t greatest_ns;
    bool any;
};

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
    status = status == RLMR_OK ? rlmr_symtab_open(&index->stacks_seen, err) : status;
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
    rlmr_symtab_close(index->stacks_seen);
    rlmr_bytes_release(&index->unclean);
    rlmr_bytes_release(&index->scratch);
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

static void widen_range(rlmr_stack_index *index, const reading *at) {
    index->least_ns = !index->any || at->ts < index->least_ns ? at->ts : index->least_ns;
    index->greatest_ns = !index->any || at->end > index->greatest_ns ? at->end : index->greatest_ns;
    index->any = true;
}

static rlmr_status append_entry(rlmr_bytes *entries, const void *entry, size_t bytes, rlmr_error *err) {
    if (entries->bytes / bytes >= UINT32_MAX - 1) {
        return rlmr_error_set(err, RLMR_E_RANGE, "more than %u events of one kind in the call-stack index",
                              UINT32_MAX - 1);
    }
    return rlmr_bytes_append(entries, entry, bytes, err);
}

static rlmr_status intern_thread(rlmr_stack_index *index, const rlmr_trace_event *event, uint32_t *thread,
                                 rlmr_error *err) {
    rlmr_bytes *key = &index->scratch;
    rlmr_bytes_clear(key);
    rlmr_status status = rlmr_bytes_append(key, event->pid.text, event->pid.bytes, err);
    status = status == RLMR_OK ? rlmr_bytes_append(key, "", 1, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append(key, event->tid.text, event->tid.bytes, err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    return rlmr_symtab_intern(index->threads, (rlmr_slice){(const char *)key->data, key->bytes}, thread, err);
}

static rlmr_status add_plain(rlmr_stack_index *index, const rlmr_trace_event *event, const reading *at,
                             uint32_t thread, rlmr_error *err) {
    pair_key key = {.name = at->name, .thread = thread};
    plain_entry entry = {.ts = at->ts, .end = at->end, .number = event->number};
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
                                .number = event->number,
                                .sequence = at->sequence,
                                .thread = thread};
        status = append_entry(&index->backwards, &entry, sizeof entry, err);
    }
    return status;
}

static rlmr_slice id_bytes(const uint32_t *id) {
    return (rlmr_slice){.text = (const char *)id, .bytes = sizeof *id};
}

static rlmr_status intern_stack(rlmr_stack_index *index, rlmr_slice text, uint32_t *stack, rlmr_error *err) {
    bool replaced = false;
    uint32_t seen;
    rlmr_status status = rlmr_symtab_intern_utf8(index->texts, text, stack, &replaced, err);
    status = status == RLMR_OK ? rlmr_symtab_intern(index->stacks_seen, id_bytes(stack), &seen, err) : status;
    if (status != RLMR_OK) {
        return status;
    }
    if (seen > RLMR_LIMIT_STACKS) {
        return rlmr_error_set(err, RLMR_E_LIMIT, "more than %d distinct call stacks" RLMR_LIMIT_TEXT(STACKS),
                              RLMR_LIMIT_STACKS);
    }
    while (status == RLMR_OK && index->unclean.bytes <= seen) {
        status = rlmr_bytes_append(&index->unclean, "", 1, err);
    }
    if (status == RLMR_OK && replaced) {
        index->unclean.data[seen] = 1;
    }
    return status;
}

bool rlmr_stack_index_unclean(const rlmr_stack_index *index, uint32_t stack) {
    uint32_t seen;
    return rlmr_symtab_find(index->stacks_seen, id_bytes(&stack), &seen) && index->unclean.data[seen] != 0;
}

static rlmr_status add_stack(rlmr_stack_index *index, const rlmr_trace_event *event, const reading *at,
                             rlmr_error *err) {
    bool own = at->cpu_op && at->known_name;
    bool forward = index->match == RLMR_MATCH_BEST && at->sequence >= 0;
    if (!at->has_stack || !(own || forward)) {
        return RLMR_OK;
    }
    uint32_t stack;
    rlmr_status status = intern_stack(index, event->call_stack, &stack, err);
    if (status == RLMR_OK && own) {
        stack_entry entry = {
            .ts = at->ts, .end = at->end, .number = event->number, .name = at->name, .stack = stack};
        status = append_entry(&index->stacks, &entry, sizeof entry, err);
    }
    if (status == RLMR_OK && forward) {
        forward_entry entry = {
            .sequence = at->sequence, .ts = at->ts, .number = event->number, .stack = stack};
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
        widen_range(index, &at);
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

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))
#define RETURN_IF_DIFFERENT(x, y)                                                                            \
    if ((x) != (y)) {                                                                                        \
        return COMPARE(x, y);                                                                                \
    }

static int compare_stacks(const void *left, const void *right) {
    const stack_entry *a = left;
    const stack_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->number, b->number);
}

static int compare_plains(const void *left, const void *right) {
    const plain_entry *a = left;
    const plain_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->number, b->number);
}

/* The innermost is the one with the greatest ts, then the shortest: so it is the last. */
static int compare_backwards(const void *left, const void *right) {
    const backward_entry *a = left;
    const backward_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    RETURN_IF_DIFFERENT(b->end, a->end)
    return COMPARE(a->number, b->number);
}

static int compare_forwards(const void *left, const void *right) {
    const forward_entry *a = left;
    const forward_entry *b = right;
    RETURN_IF_DIFFERENT(a->sequence, b->sequence)
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->number, b->number);
}

static int compare_records(const void *left, const void *right) {
    const rlmr_record *a = left;
    const rlmr_record *b = right;
    RETURN_IF_DIFFERENT(a->time_ns, b->time_ns)
    return COMPARE(a->row, b->row);
}

static size_t sort_entries(rlmr_bytes *entries, size_t bytes, int (*compare)(const void *, const void *)) {
    size_t count = entries->bytes / bytes;
    if (count > 0) {
        qsort(entries->data, count, bytes, compare);
    }
    return count;
}

/* The state of the sweep. Heads are entry numbers + 1, 0 for an empty stack. */
typedef struct {
    stack_entry *stacks;
    plain_entry *plains;
    backward_entry *backwards;
    const forward_entry *forwards;
    size_t stacks_count, plains_count, backwards_count, forwards_count;
    size_t stacks_at, plains_at, backwards_at; /* pushed so far */
    uint32_t *stack_head;                      /* by name */
    uint32_t *nearest;                         /* by name: last entry pushed */
    uint32_t *plain_head;                      /* by pair */
    uint32_t *backward_head;                   /* by thread */
    uint32_t *first_pair;                      /* by name */
    uint32_t *next_pair;                       /* by pair */
    uint32_t *pair_thread;                     /* by pair */
    uint32_t *candidates; /* scratch: plain entries that enclose a record, at most one a pair */
} sweep;

static void sort_all(rlmr_stack_index *index, sweep *at) {
    at->stacks_count = sort_entries(&index->stacks, sizeof(stack_entry), compare_stacks);
    at->plains_count = sort_entries(&index->plains, sizeof(plain_entry), compare_plains);
    at->backwards_count = sort_entries(&index->backwards, sizeof(backward_entry), compare_backwards);
    at->forwards_count = sort_entries(&index->forwards, sizeof(forward_entry), compare_forwards);
    at->stacks = (stack_entry *)(void *)index->stacks.data;
    at->plains = (plain_entry *)(void *)index->plains.data;
    at->backwards = (backward_entry *)(void *)index->backwards.data;
    at->forwards = (const forward_entry *)(void *)index->forwards.data;
}

static uint32_t *take(uint32_t **memory, uint32_t count) {
    uint32_t *part = *memory;
    *memory += count;
    return part;
}

/* One block for all the arrays of the sweep, zeroed. */
static uint32_t *open_sweep(rlmr_stack_index *index, sweep *at) {
    uint32_t names = rlmr_symtab_count(index->names);
    uint32_t pairs = rlmr_symtab_count(index->pairs);
    uint32_t threads = rlmr_symtab_count(index->threads);
    uint32_t *memory = calloc(3 * (size_t)names + 4 * (size_t)pairs + threads, sizeof *memory);
    if (memory == NULL) {
        return NULL;
    }
    uint32_t *rest = memory;
    at->stack_head = take(&rest, names);
    at->nearest = take(&rest, names);
    at->first_pair = take(&rest, names);
    at->plain_head = take(&rest, pairs);
    at->next_pair = take(&rest, pairs);
    at->pair_thread = take(&rest, pairs);
    at->candidates = take(&rest, pairs);
    at->backward_head = take(&rest, threads);
    for (uint32_t pair = 1; pair < pairs; pair++) { /* 0 is the empty text, no pair */
        pair_key key;
        memcpy(&key, rlmr_symtab_text(index->pairs, pair).text, sizeof key);
        at->pair_thread[pair] = key.thread;
        at->next_pair[pair] = at->first_pair[key.name];
        at->first_pair[key.name] = pair;
    }
    return memory;
}

static void push_until(sweep *at, int64_t time) {
    for (; at->stacks_at < at->stacks_count && at->stacks[at->stacks_at].ts <= time; at->stacks_at++) {
        stack_entry *entry = &at->stacks[at->stacks_at];
        uint32_t number = (uint32_t)at->stacks_at + 1;
        at->nearest[entry->name] = number;
        entry->below = at->stack_head[entry->name];
        at->stack_head[entry->name] = number;
    }
    for (; at->plains_at < at->plains_count && at->plains[at->plains_at].ts <= time; at->plains_at++) {
        plain_entry *entry = &at->plains[at->plains_at];
        entry->below = at->plain_head[entry->pair];
        at->plain_head[entry->pair] = (uint32_t)at->plains_at + 1;
    }
    for (; at->backwards_at < at->backwards_count && at->backwards[at->backwards_at].ts <= time;
         at->backwards_at++) {
        backward_entry *entry = &at->backwards[at->backwards_at];
        entry->below = at->backward_head[entry->thread];
        at->backward_head[entry->thread] = (uint32_t)at->backwards_at + 1;
    }
}

/* Drop what has ended from a stack; the top that is left encloses `time`. */
#define DROP_ENDED(head, entries, time)                                                                      \
    while ((head) != 0 && (entries)[(head)-1].end <= (time)) {                                               \
        (head) = (entries)[(head)-1].below;                                                                  \
    }

static bool find_enclosing(sweep *at, rlmr_record *record) {
    uint32_t *head = &at->stack_head[record->name];
    DROP_ENDED(*head, at->stacks, record->time_ns)
    if (*head == 0) {
        return false;
    }
    record->stack = at->stacks[*head - 1].stack;
    return true;
}

/* The last entry of a sequence number before a time: bisection. */
static const forward_entry *find_forward(const sweep *at, int64_t sequence, int64_t before) {
    size_t low = 0;
    size_t high = at->forwards_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const forward_entry *entry = &at->forwards[middle];
        if (entry->sequence < sequence || (entry->sequence == sequence && entry->ts < before)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && at->forwards[low - 1].sequence == sequence ? &at->forwards[low - 1] : NULL;
}

static bool find_on_thread(sweep *at, uint32_t thread, rlmr_record *record) {
    uint32_t *head = &at->backward_head[thread];
    DROP_ENDED(*head, at->backwards, record->time_ns)
    if (*head == 0) {
        return false;
    }
    const backward_entry *innermost = &at->backwards[*head - 1];
    const forward_entry *forward = find_forward(at, innermost->sequence, innermost->ts);
    if (forward != NULL) {
        record->stack = forward->stack;
    }
    return forward != NULL;
}

static int compare_descending(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return COMPARE(b, a);
}

static bool find_backward(sweep *at, rlmr_record *record) {
    size_t count = 0;
    for (uint32_t pair = at->first_pair[record->name]; pair != 0; pair = at->next_pair[pair]) {
        uint32_t *head = &at->plain_head[pair];
        DROP_ENDED(*head, at->plains, record->time_ns)
        if (*head != 0) {
            at->candidates[count++] = *head;
        }
    }
    qsort(at->candidates, count, sizeof *at->candidates, compare_descending);
    for (size_t i = 0; i < count; i++) {
        uint32_t pair = at->plains[at->candidates[i] - 1].pair;
        if (find_on_thread(at, at->pair_thread[pair], record)) {
            return true;
        }
    }
    return false;
}

static bool find_nearest(const sweep *at, rlmr_record *record) {
    uint32_t last = at->nearest[record->name];
    if (last != 0) {
        record->stack = at->stacks[last - 1].stack;
    }
    return last != 0;
}

static rlmr_found find_stack(sweep *at, rlmr_match_policy match, rlmr_record *record) {
    if (record->name == 0) {
        return RLMR_FOUND_NONE; /* a record without a name */
    }
    if (match != RLMR_MATCH_NEAREST && find_enclosing(at, record)) {
        return RLMR_FOUND_ENCLOSING;
    }
    if (match == RLMR_MATCH_BEST && find_backward(at, record)) {
        return RLMR_FOUND_BACKWARD;
    }
    if (match != RLMR_MATCH_ENCLOSING && find_nearest(at, record)) {
        return RLMR_FOUND_NEAREST;
    }
    return RLMR_FOUND_NONE;
}

rlmr_status rlmr_stack_index_match(rlmr_stack_index *index, rlmr_record *records, uint64_t count,
                                   rlmr_error *err) {
    sweep at = {0};
    uint32_t *memory = open_sweep(index, &at);
    if (memory == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to match %llu records",
                              (unsigned long long)count);
    }
    sort_all(index, &at);
    qsort(records, count, sizeof *records, compare_records);
    for (uint64_t i = 0; i < count; i++) {
        push_until(&at, records[i].time_ns);
        records[i].found = find_stack(&at, index->match, &records[i]);
    }
    free(memory);
    return RLMR_OK;
}
