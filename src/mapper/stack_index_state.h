/** What an index of call stacks holds; for its own files. */
#ifndef RLMR_STACK_INDEX_STATE_H
#define RLMR_STACK_INDEX_STATE_H

#include "stack_index.h"

/* Entries lie in sorted arrays and are pushed, in that order, on linked stacks while the sweep passes their
 * ts. On every stack the top is the last entry; once time has passed its end it can never enclose again and
 * is dropped. */

/* A call stack as it is given: twice its id in raw_stacks, plus 1 if it is written with JSON's escapes. Few of them are ever
 * looked at, and only these are decoded. */
typedef uint32_t raw_stack;

/* A cpu_op of a wanted name with a call stack. */
typedef struct {
    union {
        int64_t ts;
        uint32_t below; /* once the sweep has passed ts: entry under this one + 1 */
    };
    int64_t end;       /* not after ts if it never encloses */
    uint64_t position; /* in the file */
    uint32_t name;
    raw_stack stack;
} stack_entry;

/* A cpu_op of a wanted name without one. */
typedef struct {
    union {
        int64_t ts;
        uint32_t below;
    };
    int64_t end;
    uint64_t position; /* in the file */
    uint32_t pair;     /* of its name and thread */
} plain_entry;

/* A cpu_op that stands for a forward op: it has that one's sequence number. */
typedef struct {
    int64_t ts;
    int64_t end;
    uint64_t position; /* in the file */
    int64_t sequence;
    uint32_t thread;
    uint32_t below;
} backward_entry;

/* An event with a sequence number and a call stack. */
typedef struct {
    int64_t sequence;
    int64_t ts;
    uint64_t position; /* in the file */
    raw_stack stack;
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
    rlmr_symtab *threads;  /* pid NUL tid */
    rlmr_bytes thread_key; /* of the last one */
    uint32_t thread;
    rlmr_symtab *pairs;      /* pair_key as bytes */
    rlmr_symtab *raw_stacks; /* call stacks as they are given, most of them JSON text with escapes */
    rlmr_bytes scratch;
    rlmr_bytes stacks; /* of stack_entry, and so on */
    rlmr_bytes plains;
    rlmr_bytes backwards;
    rlmr_bytes forwards;
    uint64_t stacks_of_all; /* distinct ones, those of each process that shares the trace counted apart */
    int64_t least_ns;
    int64_t greatest_ns;
    bool any;
};

#define RLMR_TOO_MANY_ENTRIES "more than %u events of one kind in the call-stack index"

/** @return E_LIMIT, with its text */
rlmr_status rlmr_stack_index_too_many(rlmr_error *err);

/** Times of cpu_op events, for rlmr_stack_index_range(). */
void rlmr_stack_index_widen(rlmr_stack_index *index, int64_t least_ns, int64_t greatest_ns);

#endif
