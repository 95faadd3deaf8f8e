/** Call stacks of one trace, and the search for the one that belongs to a memory record.
 *
 *  Entries hold numbers and the id of a stack, never a stack: memory grows with events of wanted names and
 *  with distinct stacks, not with the trace. Matching is one sweep over records and entries in order of time:
 *  O(n log n) for the sorting, then constant work for each entry, and for each record one step for each thread
 *  that runs its operator.
 */
#ifndef RLMR_STACK_INDEX_H
#define RLMR_STACK_INDEX_H

#include "rlmr/mapper.h"
#include "rlmr/trace_reader.h"

typedef struct rlmr_stack_index rlmr_stack_index;

/** X(NAME, name): how a stack was found; the values of the column call_stack_match. */
#define RLMR_FOUND_LIST(X)                                                                                   \
    X(NONE, "none") X(ENCLOSING, "enclosing") X(BACKWARD, "backward") X(NEAREST, "nearest")
#define RLMR_FOUND_ENUM(name, text) RLMR_FOUND_##name,
typedef enum { RLMR_FOUND_LIST(RLMR_FOUND_ENUM) RLMR_FOUND_COUNT } rlmr_found;

/** One memory record that looks for its stack. */
typedef struct {
    int64_t time_ns; /**< of the allocation */
    uint64_t row;    /**< the caller's */
    uint32_t name;   /**< id in the index's names; 0, the empty name, finds nothing */
    uint32_t stack;  /**< out: id in the index's texts, 0 if none */
    uint32_t top;    /**< out: of its innermost frame, in the same texts */
    uint8_t found;   /**< out: an rlmr_found */
    bool
        unclean; /**< out: something in the stack is not as the file has it: what is not UTF-8, and NULs, are replaced */
} rlmr_record;

/** @param names  names of the records, by which events are chosen; borrowed until close
 *  @param texts  takes the stacks; borrowed until close
 *  @param out    owned by the caller, rlmr_stack_index_close()  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_open(const rlmr_symtab *names, rlmr_symtab *texts,
                                                  const rlmr_map_options *options, rlmr_stack_index **out,
                                                  rlmr_error *err);
void rlmr_stack_index_close(rlmr_stack_index *index);

/** What is wrong with an event that matching could use. */
typedef struct {
    const char *reason; /**< NULL if nothing is */
    bool lost;          /**< it could not be used at all */
} rlmr_event_problem;

/** Keep what matching needs of an event.
 *  @param problem out: untouched if there is none
 *  @return OK, E_NOMEM, E_RANGE, E_LIMIT (STACKS) */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_add(rlmr_stack_index *index, const rlmr_trace_event *event,
                                                 rlmr_event_problem *problem, rlmr_error *err);

/** [least ts, greatest ts + dur] of all cpu_op events so far. @return false if there was none */
bool rlmr_stack_index_range(const rlmr_stack_index *index, int64_t *least_ns, int64_t *greatest_ns);

/** The first and the last time of some records; first > last if there are none. */
typedef struct {
    int64_t first_ns;
    int64_t last_ns;
} rlmr_time_window;

/** For processes that read parts of the same trace. First each tells another of the operators that may matter to the records of that one, which
 *  have times in `window`; then it asks for the sequence numbers of all backward operators that may matter to its own; and the others answer
 *  with the forward operators that have these. In each of the three, all append to `out` before any takes. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_encode(const rlmr_stack_index *index,
                                                    const rlmr_time_window *window, rlmr_bytes *out,
                                                    rlmr_error *err);

/** @param window of the records here */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_ask(const rlmr_stack_index *index,
                                                 const rlmr_time_window *window, rlmr_bytes *out,
                                                 rlmr_error *err);

/** @param asked what the process has appended that asks  @param window of its records */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_answer(const rlmr_stack_index *index, const rlmr_bytes *asked,
                                                    const rlmr_time_window *window, rlmr_bytes *out,
                                                    rlmr_error *err);

/** Add what another process has encoded, or answered; its names are among the names here. What is then found does not depend on which
 *  process has seen which event. @return OK, E_NOMEM, E_RANGE, E_LIMIT (STACKS), E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_take(rlmr_stack_index *index, rlmr_slice encoded,
                                                  rlmr_error *err);

/** Find the stack of every record; call once. @param records sorted by time here  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_stack_index_match(rlmr_stack_index *index, rlmr_record *records,
                                                   uint64_t count, rlmr_error *err);

#endif
