#include "stack_index_state.h"

#include "rlmr/json_reader.h"

#include <stdlib.h>
#include <string.h>

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))
#define RETURN_IF_DIFFERENT(x, y)                                                                            \
    if ((x) != (y)) {                                                                                        \
        return COMPARE(x, y);                                                                                \
    }

static int compare_stacks(const void *left, const void *right) {
    const stack_entry *a = left;
    const stack_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->position, b->position);
}

static int compare_plains(const void *left, const void *right) {
    const plain_entry *a = left;
    const plain_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->position, b->position);
}

/* The innermost is the one with the greatest ts, then the shortest: so it is the last. */
static int compare_backwards(const void *left, const void *right) {
    const backward_entry *a = left;
    const backward_entry *b = right;
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    RETURN_IF_DIFFERENT(b->end, a->end)
    return COMPARE(a->position, b->position);
}

static int compare_forwards(const void *left, const void *right) {
    const forward_entry *a = left;
    const forward_entry *b = right;
    RETURN_IF_DIFFERENT(a->sequence, b->sequence)
    RETURN_IF_DIFFERENT(a->ts, b->ts)
    return COMPARE(a->position, b->position);
}

static int compare_records(const void *left, const void *right) {
    const rlmr_record *a = left;
    const rlmr_record *b = right;
    RETURN_IF_DIFFERENT(a->time_ns, b->time_ns)
    return COMPARE(a->row, b->row);
}

/* ---- Sorting: a trace is mostly in order, and what other processes have told of theirs follows it, in some more runs ---- */

enum { RUNS_MAX = 64 };

typedef struct {
    char *items;
    size_t bytes; /* of an item */
    int (*compare)(const void *, const void *);
    char *scratch; /* room for all items but those of the first run */
} sorting;

/* Ends of the runs in order; RUNS_MAX + 1 if there are more. */
static size_t find_runs(const sorting *at, size_t count, size_t *ends) {
    size_t runs = 0;
    for (size_t i = 1; i <= count && runs <= RUNS_MAX; i++) {
        if (i == count || at->compare(at->items + (i - 1) * at->bytes, at->items + i * at->bytes) > 0) {
            ends[runs++] = i;
        }
    }
    return runs;
}

/* Of items [from, to), how many come before `item`. */
static size_t count_before(const sorting *at, size_t from, size_t to, const char *item) {
    size_t low = from;
    while (low < to) {
        size_t middle = low + (to - low) / 2;
        if (at->compare(at->items + middle * at->bytes, item) <= 0) {
            low = middle + 1;
        } else {
            to = middle;
        }
    }
    return low - from;
}

/* The runs [from, middle) and [middle, to) become one, from behind; what is in place already is not touched. */
static void merge_runs(const sorting *at, size_t from, size_t middle, size_t to) {
    size_t bytes = at->bytes;
    from += count_before(at, from, middle, at->items + middle * bytes);
    memcpy(at->scratch, at->items + middle * bytes, (to - middle) * bytes);
    char *out = at->items + to * bytes;
    const char *left = at->items + middle * bytes;
    const char *right = at->scratch + (to - middle) * bytes;
    while (right > at->scratch) {
        bool take_left = left > at->items + from * bytes && at->compare(left - bytes, right - bytes) > 0;
        const char **taken = take_left ? &left : &right;
        *taken -= bytes;
        out -= bytes;
        memmove(out, *taken, bytes);
    }
}

/* Neighbours become one, until there is one. */
static void merge_all(const sorting *at, size_t *ends, size_t runs) {
    while (runs > 1) {
        size_t merged = 0;
        for (size_t run = 0; run < runs; run += 2) {
            size_t from = run == 0 ? 0 : ends[run - 1];
            if (run + 1 < runs) {
                merge_runs(at, from, ends[run], ends[run + 1]);
            }
            ends[merged++] = run + 1 < runs ? ends[run + 1] : ends[run];
        }
        runs = merged;
    }
}

static void sort(void *items, size_t count, size_t bytes, int (*compare)(const void *, const void *)) {
    sorting at = {.items = items, .bytes = bytes, .compare = compare};
    size_t ends[RUNS_MAX + 1];
    size_t runs = find_runs(&at, count, ends);
    at.scratch = runs > 1 && runs <= RUNS_MAX ? malloc((count - ends[0]) * bytes) : NULL;
    if (at.scratch != NULL) {
        merge_all(&at, ends, runs);
    } else if (runs > 1) {
        qsort(items, count, bytes, compare);
    }
    free(at.scratch);
}

static size_t sort_entries(rlmr_bytes *entries, size_t bytes, int (*compare)(const void *, const void *)) {
    sort(entries->data, entries->bytes / bytes, bytes, compare);
    return entries->bytes / bytes;
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

/* A raw stack in the texts, once something has asked for it. */
typedef struct {
    uint32_t text; /* id + 1; 0 if nothing has asked yet */
    uint32_t top;  /* id of its innermost frame */
    bool unclean;
} decoded_stack;

static rlmr_slice top_frame(rlmr_slice stack) {
    const char *end = stack.bytes == 0 ? NULL : memmem(stack.text, stack.bytes, ";\r\n", 3);
    return end == NULL ? stack : (rlmr_slice){.text = stack.text, .bytes = (size_t)(end - stack.text)};
}

static rlmr_status decode(rlmr_stack_index *index, raw_stack stack, decoded_stack *out, rlmr_error *err) {
    rlmr_slice text = rlmr_symtab_text(index->raw_stacks, stack / 2);
    rlmr_status status = RLMR_OK;
    if (stack % 2 != 0) {
        rlmr_bytes_clear(&index->scratch);
        status = rlmr_json_string_decode(text, &index->scratch, err);
        text = (rlmr_slice){.text = (const char *)index->scratch.data, .bytes = index->scratch.bytes};
    }
    uint32_t id;
    status =
        status == RLMR_OK ? rlmr_symtab_intern_utf8(index->texts, text, &id, &out->unclean, err) : status;
    if (status == RLMR_OK) {
        out->text = id + 1;
        status =
            rlmr_symtab_intern(index->texts, top_frame(rlmr_symtab_text(index->texts, id)), &out->top, err);
    }
    return status;
}

/* Raw stacks become texts, each once. */
static rlmr_status decode_found(rlmr_stack_index *index, rlmr_record *records, uint64_t count,
                                rlmr_error *err) {
    decoded_stack *stacks = calloc(2 * (size_t)rlmr_symtab_count(index->raw_stacks), sizeof *stacks);
    if (stacks == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the call stacks of %llu records",
                              (unsigned long long)count);
    }
    rlmr_status status = RLMR_OK;
    for (uint64_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_record *record = &records[i];
        decoded_stack *stack = &stacks[record->stack];
        if (record->found == RLMR_FOUND_NONE) {
            continue;
        }
        status = stack->text == 0 ? decode(index, record->stack, stack, err) : RLMR_OK;
        record->stack = stack->text - 1;
        record->top = stack->top;
        record->unclean = stack->unclean;
    }
    free(stacks);
    return status;
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
    sort(records, count, sizeof *records, compare_records);
    for (uint64_t i = 0; i < count; i++) {
        push_until(&at, records[i].time_ns);
        records[i].found = (uint8_t)find_stack(&at, index->match, &records[i]);
    }
    free(memory);
    return decode_found(index, records, count, err);
}
