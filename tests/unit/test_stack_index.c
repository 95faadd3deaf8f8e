#include "stack_index.h"

#include "rlmr/limits.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Traces as texts, and questions to them ---- */

/* NULL is an absent field. */
typedef struct {
    const char *name, *cat, *ts, *dur, *pid, *tid, *sequence, *forward_thread, *stack;
} event_text;

typedef struct {
    int64_t time_ns;
    const char *name;
} question;

typedef struct {
    rlmr_found found;
    char stack[32];
} answer;

static rlmr_slice slice_or_empty(const char *text) {
    return text == NULL ? (rlmr_slice){.text = ""} : rlmr_slice_of(text);
}

static rlmr_trace_event event_of(const event_text *event, uint64_t number) {
    return (rlmr_trace_event){.name = slice_or_empty(event->name),
                              .cat = slice_or_empty(event->cat),
                              .ts = slice_or_empty(event->ts),
                              .dur = slice_or_empty(event->dur),
                              .pid = slice_or_empty(event->pid),
                              .tid = slice_or_empty(event->tid),
                              .sequence = slice_or_empty(event->sequence),
                              .forward_thread = slice_or_empty(event->forward_thread),
                              .call_stack = slice_or_empty(event->stack),
                              .number = number,
                              .offset = (int64_t)number};
}

typedef struct {
    rlmr_symtab *names;
    rlmr_symtab *texts;
    rlmr_stack_index *index;
} fixture;

static fixture open_index(const rlmr_map_options *options) {
    fixture made;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&made.names, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&made.texts, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_stack_index_open(made.names, made.texts, options, &made.index, NULL), RLMR_OK);
    return made;
}

static void close_index(fixture *made) {
    rlmr_stack_index_close(made->index);
    rlmr_symtab_close(made->texts);
    rlmr_symtab_close(made->names);
}

/* @return what the index said is wrong with the event */
static rlmr_event_problem add(fixture *made, const event_text *event, uint64_t number) {
    rlmr_trace_event given = event_of(event, number);
    rlmr_event_problem problem = {0};
    CU_ASSERT_EQUAL_FATAL(rlmr_stack_index_add(made->index, &given, &problem, NULL), RLMR_OK);
    return problem;
}

/* The records of the questions about times of a window; all names are known. */
static rlmr_record *records_of(fixture *made, const question *questions, size_t count,
                               const rlmr_time_window *window, size_t *records_count) {
    rlmr_record *records = calloc(count + 1, sizeof *records);
    *records_count = 0;
    for (size_t i = 0; i < count; i++) {
        rlmr_record record = {.time_ns = questions[i].time_ns, .row = i};
        CU_ASSERT_EQUAL_FATAL(
            rlmr_symtab_intern(made->names, rlmr_slice_of(questions[i].name), &record.name, NULL), RLMR_OK);
        if (record.time_ns >= window->first_ns && record.time_ns <= window->last_ns) {
            records[(*records_count)++] = record;
        }
    }
    return records;
}

static void take_answers(fixture *made, rlmr_record *records, size_t count, answer *answers) {
    CU_ASSERT_EQUAL_FATAL(rlmr_stack_index_match(made->index, records, count, NULL), RLMR_OK);
    for (size_t i = 0; i < count; i++) {
        rlmr_slice stack = rlmr_symtab_text(made->texts, records[i].stack);
        answer *to = &answers[records[i].row];
        CU_ASSERT_FATAL(stack.bytes < sizeof to->stack);
        to->found = records[i].found;
        memcpy(to->stack, stack.text, stack.bytes);
        to->stack[stack.bytes] = '\0';
        CU_ASSERT_TRUE(i == 0 || records[i].time_ns >= records[i - 1].time_ns);
    }
}

/* Ask everything at once; answers[i] belongs to questions[i]. */
static void ask(const event_text *events, size_t events_count, const rlmr_map_options *options,
                const question *questions, size_t count, answer *answers) {
    fixture made = open_index(options);
    rlmr_time_window all = {.first_ns = INT64_MIN, .last_ns = INT64_MAX};
    rlmr_record *records = records_of(&made, questions, count, &all, &count);
    for (size_t i = 0; i < events_count; i++) {
        (void)add(&made, &events[i], i);
    }
    take_answers(&made, records, count, answers);
    free(records);
    close_index(&made);
}

/* ---- The same, asked of several processes ---- */

enum { PARTS_MAX = 80 };

typedef struct {
    fixture made;
    rlmr_record *records;
    size_t count;
    rlmr_time_window window;
    rlmr_bytes asked;
} part;

/* Of the times themselves. */
static rlmr_time_window window_of(const rlmr_record *records, size_t count) {
    rlmr_time_window window = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        window.first_ns = records[i].time_ns < window.first_ns ? records[i].time_ns : window.first_ns;
        window.last_ns = records[i].time_ns > window.last_ns ? records[i].time_ns : window.last_ns;
    }
    return window;
}

static void tell(const part *from, const part *to, bool answers, rlmr_bytes *told) {
    CU_ASSERT_EQUAL(answers ? rlmr_stack_index_answer(from->made.index, &to->asked, &to->window, told, NULL)
                            : rlmr_stack_index_encode(from->made.index, &to->window, told, NULL),
                    RLMR_OK);
}

/* Each part takes in what all others tell it, or answer; all have told before. */
static void exchange(part *parts, size_t count, bool answers) {
    rlmr_bytes *told = calloc(count * count, sizeof *told);
    for (size_t i = 0; i < count * count; i++) {
        if (i / count != i % count) {
            tell(&parts[i / count], &parts[i % count], answers, &told[i]);
        }
    }
    for (size_t i = 0; i < count * count; i++) {
        rlmr_slice text = {.text = (const char *)told[i].data, .bytes = told[i].bytes};
        CU_ASSERT_EQUAL(
            i / count == i % count ? RLMR_OK : rlmr_stack_index_take(parts[i % count].made.index, text, NULL),
            RLMR_OK);
        rlmr_bytes_release(&told[i]);
    }
    free(told);
}

/* Part p has the events of its share of the file, and the questions about its share of the times 0 .. last_ns. */
static void ask_parts(const event_text *events, size_t events_count, const rlmr_map_options *options,
                      const question *questions, size_t count, size_t parts_count, int64_t last_ns,
                      answer *answers) {
    int64_t share_ns = last_ns / (int64_t)parts_count + 1;
    part parts[PARTS_MAX] = {0};
    for (size_t p = 0; p < parts_count; p++) {
        parts[p].made = open_index(options);
        rlmr_time_window window = {.first_ns = p == 0 ? INT64_MIN : (int64_t)p * share_ns,
                                   .last_ns = (int64_t)(p + 1) * share_ns - 1};
        parts[p].records = records_of(&parts[p].made, questions, count, &window, &parts[p].count);
        parts[p].window = window_of(parts[p].records, parts[p].count);
        for (size_t i = p * events_count / parts_count; i < (p + 1) * events_count / parts_count; i++) {
            (void)add(&parts[p].made, &events[i], i);
        }
    }
    exchange(parts, parts_count, false);
    for (size_t p = 0; p < parts_count; p++) {
        CU_ASSERT_EQUAL(rlmr_stack_index_ask(parts[p].made.index, &parts[p].window, &parts[p].asked, NULL),
                        RLMR_OK);
    }
    exchange(parts, parts_count, true);
    for (size_t p = 0; p < parts_count; p++) {
        take_answers(&parts[p].made, parts[p].records, parts[p].count, answers);
        rlmr_bytes_release(&parts[p].asked);
        free(parts[p].records);
        close_index(&parts[p].made);
    }
}

static bool answers_with(const event_text *events, size_t count, rlmr_match_policy match, const char *name,
                         int64_t time_ns, rlmr_found found, const char *stack) {
    answer got;
    ask(events, count, &(rlmr_map_options){.match = match}, &(question){time_ns, name}, 1, &got);
    bool good = got.found == found && strcmp(got.stack, stack) == 0;
    if (!good) {
        (void)fprintf(stderr, "\n    %s at %lld finds %d '%s'\n", name, (long long)time_ns, (int)got.found,
                      got.stack);
    }
    return good;
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define CHECK(events, policy, name, time_ns, kind, stack)                                                    \
    CU_ASSERT_TRUE(                                                                                          \
        answers_with(events, COUNT(events), RLMR_MATCH_##policy, name, time_ns, RLMR_FOUND_##kind, stack))

#define OP .cat = "cpu_op", .pid = "1", .tid = "1"

/* ---- nearest ---- */

static void test_the_nearest_is_the_last_that_starts_before(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "3", .dur = "1", .stack = "third"},
        {OP, .name = "add", .ts = "1", .dur = "1", .stack = "first"},
        {OP, .name = "add", .ts = "2.0005", .dur = "100", .stack = "second"},
        {OP, .name = "mul", .ts = "2.9", .dur = "1", .stack = "of another name"},
    };
    CHECK(events, NEAREST, "add", 999, NONE, "");
    CHECK(events, NEAREST, "add", 1000, NEAREST, "first");
    CHECK(events, NEAREST, "add", 2000, NEAREST, "first");
    CHECK(events, NEAREST, "add", 2001, NEAREST, "second"); /* 2000.5 ns are rounded up */
    CHECK(events, NEAREST, "add", 2999, NEAREST, "second");
    CHECK(events, NEAREST, "add", 3000, NEAREST, "third");
    CHECK(events, NEAREST, "add", INT64_MAX, NEAREST, "third");
    CHECK(events, NEAREST, "sub", 5000, NONE, "");
}

static void test_of_equal_starts_the_later_in_the_file_is_nearest(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "9", .stack = "a"},
        {OP, .name = "add", .ts = "1", .dur = "1", .stack = "c"},
        {OP, .name = "add", .ts = "1", .dur = "5", .stack = "b"},
    };
    CHECK(events, NEAREST, "add", 1000, NEAREST, "b");
    CHECK(events, NEAREST, "add", 9000, NEAREST, "b");
}

static void test_only_operators_with_a_stack_are_near(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .stack = "good"},
        {OP, .name = "add", .ts = "2"},
        {OP, .name = "add", .ts = "2", .stack = ""},
        {.cat = "user_annotation", .name = "add", .ts = "3", .stack = "no operator"},
        {.name = "add", .ts = "4", .stack = "without a category"},
        {OP, .name = "add", .ts = "soon", .stack = "without a time"},
        {OP, .ts = "5", .stack = "without a name"},
    };
    CHECK(events, NEAREST, "add", 9000, NEAREST, "good");
    CHECK(events, BEST, "add", 9000, NEAREST, "good");
}

static void test_many_records_may_find_one_event(void) {
    static const event_text events[] = {{OP, .name = "add", .ts = "1", .dur = "1", .stack = "s"}};
    static const question questions[] = {
        {5000, "add"}, {500, "add"}, {1000, "add"}, {5000, "add"}, {1500, "add"}};
    answer got[COUNT(questions)];
    ask(events, 1, &(rlmr_map_options){.match = RLMR_MATCH_BEST}, questions, COUNT(questions), got);
    static const rlmr_found wanted[] = {RLMR_FOUND_NEAREST, RLMR_FOUND_NONE, RLMR_FOUND_ENCLOSING,
                                        RLMR_FOUND_NEAREST, RLMR_FOUND_ENCLOSING};
    for (size_t i = 0; i < COUNT(questions); i++) {
        CU_ASSERT_EQUAL(got[i].found, wanted[i]);
        CU_ASSERT_STRING_EQUAL(got[i].stack, wanted[i] == RLMR_FOUND_NONE ? "" : "s");
    }
}

/* ---- enclosing ---- */

static void test_the_start_encloses_and_the_end_does_not(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "2.0004", .stack = "s"},
        {OP, .name = "mul", .ts = "1", .dur = "2.00050000000000001", .stack = "t"}};
    CHECK(events, ENCLOSING, "add", 999, NONE, "");
    CHECK(events, ENCLOSING, "add", 1000, ENCLOSING, "s");
    CHECK(events, ENCLOSING, "add", 2999, ENCLOSING, "s");
    CHECK(events, ENCLOSING, "add", 3000, NONE, "");
    CHECK(events, ENCLOSING, "mul", 3000, ENCLOSING, "t"); /* its duration is rounded up */
    CHECK(events, ENCLOSING, "mul", 3001, NONE, "");
}

static void test_an_earlier_and_longer_event_may_enclose_where_the_last_has_ended(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "100", .stack = "outer"},
        {OP, .name = "add", .ts = "10", .dur = "50", .stack = "middle"},
        {OP, .name = "add", .ts = "20", .dur = "5", .stack = "inner"},
        {OP, .name = "add", .ts = "30", .dur = "5", .stack = "second inner"},
    };
    CHECK(events, ENCLOSING, "add", 9999, ENCLOSING, "outer");
    CHECK(events, ENCLOSING, "add", 24999, ENCLOSING, "inner");
    CHECK(events, ENCLOSING, "add", 25000, ENCLOSING, "middle");
    CHECK(events, ENCLOSING, "add", 34999, ENCLOSING, "second inner");
    CHECK(events, ENCLOSING, "add", 35000, ENCLOSING, "middle");
    CHECK(events, ENCLOSING, "add", 60000, ENCLOSING, "outer");
    CHECK(events, ENCLOSING, "add", 101000, NONE, "");
    CHECK(events, BEST, "add", 60000, ENCLOSING, "outer");
    CHECK(events, NEAREST, "add", 60000, NEAREST, "second inner");
}

static void test_events_that_overlap_enclose_one_after_the_other(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "10", .stack = "a"},
        {OP, .name = "add", .ts = "5", .dur = "10", .stack = "b"},
        {OP, .name = "add", .ts = "8", .dur = "2", .stack = "c"},
    };
    CHECK(events, ENCLOSING, "add", 9000, ENCLOSING, "c");
    CHECK(events, ENCLOSING, "add", 10000, ENCLOSING, "b");
    CHECK(events, ENCLOSING, "add", 12000, ENCLOSING, "b");
}

static void test_of_equal_starts_the_later_in_the_file_encloses(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "3", .stack = "a"},
        {OP, .name = "add", .ts = "1", .dur = "9", .stack = "b"},
        {OP, .name = "add", .ts = "1", .dur = "6", .stack = "c"},
    };
    CHECK(events, ENCLOSING, "add", 1000, ENCLOSING, "c");
    CHECK(events, ENCLOSING, "add", 6999, ENCLOSING, "c");
    CHECK(events, ENCLOSING, "add", 7000, ENCLOSING, "b");
}

static void test_an_event_without_a_positive_duration_never_encloses(void) {
    static const char *const durations[] = {NULL, "", "0", "0.0004", "-5", "-0", "some", "1e-9"};
    for (size_t i = 0; i < COUNT(durations); i++) {
        const event_text events[] = {{OP, .name = "add", .ts = "1", .dur = durations[i], .stack = "s"}};
        CHECK(events, ENCLOSING, "add", 1000, NONE, "");
        CHECK(events, BEST, "add", 1000, NEAREST, "s");
    }
}

static void test_a_policy_of_one_rule_has_no_other(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "1", .stack = "s"},
        {OP, .name = "fill", .ts = "10", .dur = "10"},
        {OP, .name = "AddBackward0", .ts = "9", .dur = "20", .sequence = "4", .forward_thread = "1"},
        {OP, .name = "forward", .ts = "2", .dur = "1", .sequence = "4", .stack = "f"},
    };
    CHECK(events, ENCLOSING, "add", 5000, NONE, "");
    CHECK(events, BEST, "add", 5000, NEAREST, "s");
    CHECK(events, BEST, "fill", 15000, BACKWARD, "f");
    CHECK(events, ENCLOSING, "fill", 15000, NONE, "");
    CHECK(events, NEAREST, "fill", 15000, NONE, "");
}

static void test_best_takes_enclosing_then_backward_then_nearest(void) {
    static const event_text events[] = {
        {OP, .name = "forward", .ts = "0", .dur = "1", .sequence = "4", .stack = "of forward"},
        {OP, .name = "add", .ts = "1", .dur = "2", .stack = "own"},
        {OP, .name = "AddBackward0", .ts = "1", .dur = "20", .sequence = "4", .forward_thread = "1"},
        {OP, .name = "add", .ts = "1", .dur = "10"},
    };
    CHECK(events, BEST, "add", 2000, ENCLOSING, "own");
    CHECK(events, BEST, "add", 3000, BACKWARD, "of forward");
    CHECK(events, BEST, "add", 11000, NEAREST, "own");
    CHECK(events, BEST, "add", 500, NONE, "");
}

/* ---- backward ---- */

#define BACKWARD_OP .cat = "cpu_op", .pid = "1", .tid = "2", .forward_thread = "1"

static void test_the_start_of_the_backward_op_is_after_the_forward_op(void) {
    static const event_text events[] = {
        {OP, .name = "early", .ts = "1", .sequence = "4", .stack = "early"},
        {OP, .name = "last", .ts = "9.999", .sequence = "4", .stack = "last before"},
        {OP, .name = "equal", .ts = "10", .sequence = "4", .stack = "at the same time"},
        {OP, .name = "late", .ts = "11", .sequence = "4", .stack = "later"},
        {BACKWARD_OP, .name = "AddBackward0", .ts = "10", .dur = "20", .sequence = "4"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "12", .dur = "5"},
    };
    CHECK(events, BEST, "add", 13000, BACKWARD, "last before");
}

static void test_the_forward_op_may_be_any_event_and_the_later_in_the_file_wins(void) {
    static const event_text events[] = {
        {OP, .name = "a", .ts = "1", .sequence = "4", .stack = "first"},
        {.cat = "python_function", .name = "b", .ts = "1", .sequence = "4", .stack = "second"},
        {.ts = "1", .sequence = "5", .stack = "of another sequence"},
        {OP, .name = "c", .ts = "1", .sequence = "4"},
        {BACKWARD_OP, .name = "AddBackward0", .ts = "10", .dur = "20", .sequence = "4"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "12", .dur = "5"},
    };
    CHECK(events, BEST, "add", 13000, BACKWARD, "second");
}

static void test_the_operator_must_enclose_the_record_and_have_no_stack(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "4", .stack = "f"},
        {BACKWARD_OP, .name = "AddBackward0", .ts = "10", .dur = "90", .sequence = "4"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "20", .dur = "10"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "mul", .ts = "20", .dur = "10", .stack = "own"},
        {.cat = "kernel", .pid = "1", .tid = "2", .name = "sub", .ts = "20", .dur = "10"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "div", .ts = "20"},
    };
    CHECK(events, BEST, "add", 19999, NONE, "");
    CHECK(events, BEST, "add", 20000, BACKWARD, "f");
    CHECK(events, BEST, "add", 29999, BACKWARD, "f");
    CHECK(events, BEST, "add", 30000, NONE, "");
    CHECK(events, BEST, "mul", 30000, NEAREST, "own");
    CHECK(events, BEST, "sub", 25000, NONE, "");
    CHECK(events, BEST, "div", 20000, NONE, "");
}

static void test_an_operator_may_be_its_own_backward_op(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "4", .stack = "f"},
        {BACKWARD_OP, .name = "add", .ts = "10", .dur = "10", .sequence = "4"},
    };
    CHECK(events, BEST, "add", 15000, BACKWARD, "f");
}

static void test_the_innermost_is_the_last_to_start_then_the_shortest(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {OP, .name = "f", .ts = "1", .sequence = "2", .stack = "two"},
        {OP, .name = "f", .ts = "1", .sequence = "3", .stack = "three"},
        {OP, .name = "f", .ts = "1", .sequence = "4", .stack = "four"},
        {BACKWARD_OP, .name = "outer", .ts = "10", .dur = "90", .sequence = "1"},
        {BACKWARD_OP, .name = "inner", .ts = "20", .dur = "10", .sequence = "2"},
        {BACKWARD_OP, .name = "inner", .ts = "20", .dur = "30", .sequence = "3"},
        {BACKWARD_OP, .name = "inner", .ts = "20", .dur = "5", .sequence = "4"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "5", .dur = "95"},
    };
    CHECK(events, BEST, "add", 19000, BACKWARD, "one");
    CHECK(events, BEST, "add", 20000, BACKWARD, "four");
    CHECK(events, BEST, "add", 25000, BACKWARD, "two");
    CHECK(events, BEST, "add", 30000, BACKWARD, "three");
    CHECK(events, BEST, "add", 50000, BACKWARD, "one");
}

static void test_of_equal_backward_ops_the_later_in_the_file_is_innermost(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {OP, .name = "f", .ts = "1", .sequence = "2", .stack = "two"},
        {BACKWARD_OP, .name = "b", .ts = "10", .dur = "90", .sequence = "2"},
        {BACKWARD_OP, .name = "b", .ts = "10", .dur = "90", .sequence = "1"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "20", .dur = "5"},
    };
    CHECK(events, BEST, "add", 20000, BACKWARD, "one");
}

static void test_an_innermost_op_without_a_forward_op_is_not_passed_over(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {BACKWARD_OP, .name = "outer", .ts = "10", .dur = "90", .sequence = "1"},
        {BACKWARD_OP, .name = "inner", .ts = "20", .dur = "10", .sequence = "2"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "15", .dur = "50"},
    };
    CHECK(events, BEST, "add", 19000, BACKWARD, "one");
    CHECK(events, BEST, "add", 25000, NONE, "");
    CHECK(events, BEST, "add", 30000, BACKWARD, "one");
}

static void test_an_op_that_is_no_backward_op_is_passed_over(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {BACKWARD_OP, .name = "outer", .ts = "10", .dur = "90", .sequence = "1"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "inner", .ts = "16", .dur = "10"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "inner", .ts = "17", .dur = "10", .sequence = "9"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "2",
         .name = "inner",
         .ts = "17",
         .dur = "10",
         .sequence = "9",
         .forward_thread = "0"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "2",
         .name = "inner",
         .ts = "17",
         .dur = "10",
         .forward_thread = "1"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "2",
         .name = "inner",
         .ts = "17",
         .dur = "10",
         .sequence = "-1",
         .forward_thread = "1"},
        {.cat = "other",
         .pid = "1",
         .tid = "2",
         .name = "inner",
         .ts = "17",
         .dur = "10",
         .sequence = "9",
         .forward_thread = "1"},
        {BACKWARD_OP, .name = "ended", .ts = "17", .dur = "1", .sequence = "9"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "15", .dur = "50"},
    };
    CHECK(events, BEST, "add", 19000, BACKWARD, "one");
}

static void test_the_backward_op_is_on_the_thread_of_the_operator(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "23",
         .name = "b",
         .ts = "10",
         .dur = "90",
         .sequence = "1",
         .forward_thread = "7"},
        {.cat = "cpu_op", .pid = "12", .tid = "3", .name = "add", .ts = "15", .dur = "5"},
        {.cat = "cpu_op", .pid = "1", .tid = "24", .name = "add", .ts = "25", .dur = "5"},
        {.cat = "cpu_op", .pid = "2", .tid = "23", .name = "add", .ts = "35", .dur = "5"},
        {.cat = "cpu_op", .pid = "1", .name = "add", .ts = "45", .dur = "5"},
        {.cat = "cpu_op", .pid = "1", .tid = "23", .name = "add", .ts = "55", .dur = "5"},
    };
    CHECK(events, BEST, "add", 15000, NONE, "");
    CHECK(events, BEST, "add", 25000, NONE, "");
    CHECK(events, BEST, "add", 35000, NONE, "");
    CHECK(events, BEST, "add", 45000, NONE, "");
    CHECK(events, BEST, "add", 55000, BACKWARD, "one");
}

static void test_a_second_operator_is_asked_if_the_last_has_no_answer(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "1", .stack = "one"},
        {OP, .name = "f", .ts = "1", .sequence = "2", .stack = "two"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "2",
         .name = "b",
         .ts = "10",
         .dur = "90",
         .sequence = "1",
         .forward_thread = "1"},
        {.cat = "cpu_op",
         .pid = "1",
         .tid = "3",
         .name = "b",
         .ts = "10",
         .dur = "20",
         .sequence = "2",
         .forward_thread = "1"},
        {.cat = "cpu_op", .pid = "1", .tid = "2", .name = "add", .ts = "20", .dur = "50"},
        {.cat = "cpu_op", .pid = "1", .tid = "3", .name = "add", .ts = "21", .dur = "40"},
        {.cat = "cpu_op", .pid = "1", .tid = "4", .name = "add", .ts = "22", .dur = "30"},
    };
    CHECK(events, BEST, "add", 20500, BACKWARD, "one");
    CHECK(events, BEST, "add", 25000, BACKWARD, "two"); /* thread 4 has none, thread 3 is next */
    CHECK(events, BEST, "add", 30000, BACKWARD, "one"); /* that of thread 3 has ended */
    CHECK(events, BEST, "add", 69999, BACKWARD, "one");
    CHECK(events, BEST, "add", 70000, NONE, "");
}

static void test_sequence_and_thread_may_be_integer_texts_and_nothing_else(void) {
    static const struct {
        const char *sequence;
        const char *forward_thread;
        bool found;
    } cases[] = {
        {"0", "1", true},
        {"7", "-3", true},
        {"9223372036854775807", "9223372036854775807", true},
        {"007", "01", true},
        {"-1", "1", false},
        {"-7", "1", false},
        {"1.0", "1", false},
        {"1e1", "1", false},
        {"seven", "1", false},
        {"", "1", false},
        {"7", "0", false},
        {"7", "", false},
        {"7", "1.5", false},
        {"9223372036854775808", "1", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const event_text events[] = {
            {OP, .name = "f", .ts = "1", .sequence = cases[i].sequence, .stack = "f"},
            {OP, .name = "b", .ts = "10", .dur = "90", .sequence = cases[i].sequence,
             .forward_thread = cases[i].forward_thread},
            {OP, .name = "add", .ts = "20", .dur = "50"},
        };
        if (cases[i].found) {
            CHECK(events, BEST, "add", 30000, BACKWARD, "f");
        } else {
            CHECK(events, BEST, "add", 30000, NONE, "");
        }
    }
}

/* ---- Other ---- */

static void test_a_record_without_a_name_finds_nothing(void) {
    static const event_text events[] = {{OP, .name = "", .ts = "1", .dur = "9", .stack = "s"},
                                        {OP, .ts = "1", .dur = "9"}};
    CHECK(events, BEST, "", 2000, NONE, "");
    CHECK(events, NEAREST, "", 2000, NONE, "");
    CHECK(events, ENCLOSING, "", 2000, NONE, "");
}

static void test_an_index_without_events_finds_nothing(void) {
    answer got;
    ask(NULL, 0, &(rlmr_map_options){.match = RLMR_MATCH_BEST}, &(question){1, "add"}, 1, &got);
    CU_ASSERT_EQUAL(got.found, RLMR_FOUND_NONE);
    ask(NULL, 0, &(rlmr_map_options){.match = RLMR_MATCH_BEST}, NULL, 0, &got);
}

static void test_the_trace_is_shifted_by_the_offset(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .dur = "2", .stack = "s"},
        {OP, .name = "add", .ts = "9223372036854775.806", .dur = "0", .stack = "out of range"},
    };
    const rlmr_map_options options = {.match = RLMR_MATCH_ENCLOSING, .time_offset_ns = 1000000};
    static const question questions[] = {
        {1000999, "add"}, {1001000, "add"}, {1002999, "add"}, {1003000, "add"}, {1000, "add"}};
    answer got[COUNT(questions)];
    ask(events, COUNT(events), &options, questions, COUNT(questions), got);
    for (size_t i = 0; i < COUNT(questions); i++) {
        CU_ASSERT_EQUAL(got[i].found, i == 1 || i == 2 ? RLMR_FOUND_ENCLOSING : RLMR_FOUND_NONE);
    }
}

/* What the index says of one event: lost, or kept though something is wrong, or nothing. */
static void check_problem(event_text event, const char *reason, bool lost) {
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    uint32_t id;
    CU_ASSERT_EQUAL(rlmr_symtab_intern(made.names, RLMR_SLICE("add"), &id, NULL), RLMR_OK);
    rlmr_event_problem problem = add(&made, &event, 0);
    CU_ASSERT_EQUAL(problem.reason == NULL, reason == NULL);
    CU_ASSERT_STRING_EQUAL(problem.reason == NULL ? "" : problem.reason, reason == NULL ? "" : reason);
    CU_ASSERT_EQUAL(problem.lost, lost);
    close_index(&made);
}

static void test_an_event_that_would_count_is_lost_without_a_time(void) {
    check_problem((event_text){OP, .name = "add", .ts = "1", .dur = "1", .stack = "s"}, NULL, false);
    check_problem((event_text){OP, .name = "add", .stack = "s"}, "no readable ts", true);
    check_problem((event_text){OP, .name = "add", .ts = "x", .stack = "s"}, "no readable ts", true);
    check_problem((event_text){OP, .name = "add", .ts = "9223372036854775.807", .dur = "1"},
                  "ts + dur is no time", true);
    check_problem((event_text){.cat = "other", .sequence = "3", .stack = "s"}, "no readable ts", true);
    check_problem((event_text){.cat = "other", .sequence = "3"}, NULL, false);
    check_problem((event_text){.cat = "other", .name = "add", .stack = "s"}, NULL, false);
    check_problem((event_text){.ts = "x"}, NULL, false);
}

static void test_a_bad_value_costs_itself_alone(void) {
    check_problem((event_text){OP, .ts = "1", .dur = "long"}, "dur is no number", false);
    check_problem((event_text){OP, .ts = "1", .dur = "-5"}, NULL, false);
    check_problem((event_text){OP, .ts = "1", .sequence = "first"},
                  "Sequence number is no integer of 64 bits", false);
    check_problem((event_text){OP, .ts = "1", .sequence = "12345678901234567890"},
                  "Sequence number is no integer of 64 bits", false);
    check_problem((event_text){OP, .ts = "1", .forward_thread = "main"}, "Fwd thread id is no integer",
                  false);
    check_problem((event_text){OP, .ts = "1", .forward_thread = "12345678901234567890"}, NULL, false);
    check_problem((event_text){.cat = "other", .ts = "1", .dur = "long", .sequence = "first"}, NULL, false);
}

static void test_a_stack_that_was_cleaned_is_known(void) {
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_NEAREST});
    rlmr_record records[] = {
        {.time_ns = 1000}, {.time_ns = 2000, .row = 1}, {.time_ns = 3000, .row = 2}, {.row = 3}};
    for (size_t i = 0; i < COUNT(records); i++) {
        CU_ASSERT_EQUAL(rlmr_symtab_intern(made.names, RLMR_SLICE("add"), &records[i].name, NULL), RLMR_OK);
    }
    CU_ASSERT_PTR_NULL(add(&made, &(event_text){OP, .name = "add", .ts = "1", .stack = "clean"}, 0).reason);
    CU_ASSERT_PTR_NULL(add(&made, &(event_text){OP, .name = "add", .ts = "2", .stack = "\xFF"}, 1).reason);
    CU_ASSERT_PTR_NULL(add(&made, &(event_text){OP, .name = "add", .ts = "3", .stack = "clean"}, 2).reason);
    CU_ASSERT_EQUAL(rlmr_stack_index_match(made.index, records, COUNT(records), NULL), RLMR_OK);
    CU_ASSERT_EQUAL(records[0].row, 3);
    CU_ASSERT_FALSE(records[0].unclean);
    CU_ASSERT_FALSE(records[1].unclean);
    CU_ASSERT_TRUE(records[2].unclean);
    CU_ASSERT_FALSE(records[3].unclean);
    CU_ASSERT_TRUE(
        rlmr_slice_equal(rlmr_symtab_text(made.texts, records[2].stack), RLMR_SLICE("\xEF\xBF\xBD")));
    CU_ASSERT_EQUAL(records[1].stack, records[3].stack);
    close_index(&made);
}

static void test_stacks_with_escapes_are_decoded_when_they_are_found(void) {
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_NEAREST});
    rlmr_record records[] = {{.time_ns = 1000}, {.time_ns = 2000, .row = 1}};
    for (size_t i = 0; i < COUNT(records); i++) {
        CU_ASSERT_EQUAL(rlmr_symtab_intern(made.names, RLMR_SLICE("add"), &records[i].name, NULL), RLMR_OK);
    }
    const event_text events[] = {{OP, .name = "add", .ts = "1", .stack = "a\\nb"},
                                 {OP, .name = "add", .ts = "2", .stack = "a\\nb"}};
    for (size_t i = 0; i < COUNT(events);
         i++) { /* the first is JSON text, the second has a backslash and an n */
        rlmr_trace_event given = event_of(&events[i], i);
        rlmr_event_problem problem = {0};
        given.call_stack_escaped = i == 0;
        CU_ASSERT_EQUAL(rlmr_stack_index_add(made.index, &given, &problem, NULL), RLMR_OK);
    }
    CU_ASSERT_EQUAL(rlmr_symtab_count(made.texts), 1);
    CU_ASSERT_EQUAL(rlmr_stack_index_match(made.index, records, COUNT(records), NULL), RLMR_OK);
    CU_ASSERT_TRUE(rlmr_slice_equal(rlmr_symtab_text(made.texts, records[0].stack), RLMR_SLICE("a\nb")));
    CU_ASSERT_TRUE(rlmr_slice_equal(rlmr_symtab_text(made.texts, records[1].stack), RLMR_SLICE("a\\nb")));
    close_index(&made);
}

static void test_a_thread_id_beyond_64_bits_is_one(void) {
    static const event_text events[] = {
        {OP, .name = "forward", .ts = "1", .dur = "1", .sequence = "7", .stack = "of the forward op"},
        {OP, .name = "AddBackward", .ts = "10", .dur = "10", .sequence = "7",
         .forward_thread = "12345678901234567890"},
        {OP, .name = "add", .ts = "11", .dur = "5"},
    };
    CU_ASSERT_TRUE(answers_with(events, COUNT(events), RLMR_MATCH_BEST, "add", 12000, RLMR_FOUND_BACKWARD,
                                "of the forward op"));
}

static void test_distinct_stacks_have_a_limit(void) {
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    uint32_t id;
    CU_ASSERT_EQUAL(rlmr_symtab_intern(made.names, RLMR_SLICE("add"), &id, NULL), RLMR_OK);
    /* what other captures have does not count */
    CU_ASSERT_EQUAL(rlmr_symtab_intern(made.texts, RLMR_SLICE("other"), &id, NULL), RLMR_OK);
    rlmr_event_problem problem = {0};
    int refused = 0;
    for (int i = 0; i <= RLMR_LIMIT_STACKS; i++) {
        char stack[16];
        (void)snprintf(stack, sizeof stack, "%d", i);
        event_text event = {OP, .name = "add", .ts = "1", .stack = stack};
        rlmr_trace_event given = event_of(&event, (uint64_t)i);
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_status status = rlmr_stack_index_add(made.index, &given, &problem, &err);
        refused += status != RLMR_OK;
        CU_ASSERT_FATAL(status == RLMR_OK || i == RLMR_LIMIT_STACKS);
        CU_ASSERT_TRUE(status == RLMR_OK || strstr(err.message, "(limit STACKS)") != NULL);
    }
    CU_ASSERT_EQUAL(refused, 1);
    event_text again = {OP, .name = "add", .ts = "1", .stack = "5"};
    CU_ASSERT_PTR_NULL(add(&made, &again, 0).reason); /* a known one is no further one */
    close_index(&made);
}

static void test_the_range_is_that_of_all_operators(void) {
    static const event_text events[] = {
        {.cat = "other", .name = "x", .ts = "1", .dur = "1000", .sequence = "1", .stack = "s"},
        {OP, .name = "never asked for", .ts = "50", .dur = "7.5"},
        {OP, .name = "add", .ts = "40", .dur = "100", .stack = "s"},
        {OP, .ts = "100", .dur = "-70"},
        {OP, .name = "add", .ts = "none", .dur = "1000"},
        {OP, .name = "add", .ts = "30"},
    };
    static const int64_t least[] = {0, 50000, 40000, 40000, 40000, 30000};
    static const int64_t greatest[] = {0, 57500, 140000, 140000, 140000, 140000};
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_NEAREST});
    int64_t from = 0;
    int64_t to = 0;
    CU_ASSERT_FALSE(rlmr_stack_index_range(made.index, &from, &to));
    for (size_t i = 0; i < COUNT(events); i++) {
        (void)add(&made, &events[i], i);
        CU_ASSERT_EQUAL(rlmr_stack_index_range(made.index, &from, &to), i > 0);
        CU_ASSERT_TRUE(i == 0 || (from == least[i] && to == greatest[i]));
    }
    close_index(&made);
}

static void test_a_stack_is_stored_once_and_as_utf8(void) {
    static const event_text events[] = {
        {OP, .name = "add", .ts = "1", .stack = "caf\xE9"},
        {OP, .name = "add", .ts = "2", .stack = "caf\xE9"},
        {OP, .name = "never asked for", .ts = "2", .stack = "not kept"},
    };
    CHECK(events, NEAREST, "add", 5000, NEAREST, "caf\xEF\xBF\xBD");
    fixture made = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    rlmr_record records[] = {{.time_ns = 1000}, {.time_ns = 2000, .row = 1}};
    for (size_t i = 0; i < COUNT(records); i++) {
        CU_ASSERT_EQUAL(rlmr_symtab_intern(made.names, RLMR_SLICE("add"), &records[i].name, NULL), RLMR_OK);
    }
    for (size_t i = 0; i < COUNT(events); i++) {
        (void)add(&made, &events[i], i);
    }
    CU_ASSERT_EQUAL(rlmr_stack_index_match(made.index, records, COUNT(records), NULL), RLMR_OK);
    CU_ASSERT_EQUAL(records[0].stack, records[1].stack);
    CU_ASSERT_EQUAL(rlmr_symtab_count(made.texts), 2);
    close_index(&made);
}

/* ---- Random traces, against the definitions by linear scans ---- */

enum { NAMES = 4, EVENTS_MAX = 1000, QUESTIONS_MAX = 100, FIELD_BYTES = 32 };

static const char *const op_names[NAMES + 1] = {"add", "mul", "", "fill", "never asked for"};

/* An event as numbers. */
typedef struct {
    int name;
    bool cpu_op;
    int64_t ts;  /* ns */
    int64_t dur; /* 0 if it encloses nothing */
    int pid;
    int tid;
    int sequence; /* -1: none */
    int forward_thread;
    bool stack; /* its text is its place in the trace */
} model;

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static int below(uint64_t *state, int limit) {
    return (int)(next_random(state) % (uint32_t)limit);
}

static model random_event(uint64_t *state, int times) {
    static const int64_t durations[] = {0, 1, 500, 1000, 1500, 2500, 4000, 9000};
    return (model){.name = below(state, NAMES + 1),
                   .cpu_op = below(state, 6) > 0,
                   .ts = 500 * below(state, times),
                   .dur = durations[below(state, 8)],
                   .pid = 1 + below(state, 2),
                   .tid = 1 + below(state, 2),
                   .sequence = below(state, 5) - 1,
                   .forward_thread = below(state, 3),
                   .stack = below(state, 2) == 0};
}

/* The fields of one event, as the reader would give them. Absent values are written in different ways. */
static event_text text_of(uint64_t *state, const model *event, size_t place, char (*fields)[FIELD_BYTES]) {
    static const char *const no_duration[] = {NULL, "0", "-3.5"};
    static const char *const no_thread[] = {NULL, "0"};
    static const char *const no_sequence[] = {NULL, "-1"};
    (void)snprintf(fields[0], FIELD_BYTES, "%d.%03d", (int)event->ts / 1000, (int)event->ts % 1000);
    (void)snprintf(fields[1], FIELD_BYTES, "%d.%03d00000000000001", (int)event->dur / 1000,
                   (int)event->dur % 1000);
    (void)snprintf(fields[2], FIELD_BYTES, "%d", event->pid);
    (void)snprintf(fields[3], FIELD_BYTES, "%d", event->tid);
    (void)snprintf(fields[4], FIELD_BYTES, "%d", event->sequence);
    (void)snprintf(fields[5], FIELD_BYTES, "%d", event->forward_thread);
    (void)snprintf(fields[6], FIELD_BYTES, "%zu", place);
    return (event_text){.name = op_names[event->name],
                        .cat = event->cpu_op ? "cpu_op" : "other",
                        .ts = fields[0],
                        .dur = event->dur > 0 ? fields[1] : no_duration[below(state, 3)],
                        .pid = fields[2],
                        .tid = fields[3],
                        .sequence = event->sequence >= 0 ? fields[4] : no_sequence[below(state, 2)],
                        .forward_thread = event->forward_thread != 0 ? fields[5] : no_thread[below(state, 2)],
                        .stack = event->stack ? fields[6] : NULL};
}

static bool encloses(const model *event, int64_t time) {
    return event->dur > 0 && event->ts <= time && time < event->ts + event->dur;
}

/* The last by ts, then place, of the same-named operators with (or without) a stack that enclose the time, or
 * just start before it; those in `used` are left out. @return its place, or -1 */
static int scan_last(const model *events, int count, int name, bool stack, bool enclosing, int64_t time,
                     const bool *used) {
    int last = -1;
    for (int i = 0; i < count; i++) {
        const model *event = &events[i];
        if (event->cpu_op && event->name == name && event->stack == stack && !used[i] && event->ts <= time &&
            (!enclosing || encloses(event, time)) && (last < 0 || event->ts >= events[last].ts)) {
            last = i;
        }
    }
    return last;
}

/* The innermost backward op on the thread of events[on]: greatest ts, then shortest, then the last. */
static int scan_innermost(const model *events, int count, int on, int64_t time) {
    int innermost = -1;
    for (int i = 0; i < count; i++) {
        const model *event = &events[i];
        if (!event->cpu_op || event->pid != events[on].pid || event->tid != events[on].tid ||
            event->sequence < 0 || event->forward_thread == 0 || !encloses(event, time)) {
            continue;
        }
        if (innermost < 0 || event->ts > events[innermost].ts ||
            (event->ts == events[innermost].ts && event->dur <= events[innermost].dur)) {
            innermost = i;
        }
    }
    return innermost;
}

static int scan_forward(const model *events, int count, int backward) {
    int last = -1;
    for (int i = 0; i < count; i++) {
        if (events[i].sequence == events[backward].sequence && events[i].stack &&
            events[i].ts < events[backward].ts && (last < 0 || events[i].ts >= events[last].ts)) {
            last = i;
        }
    }
    return last;
}

static int scan_backward(const model *events, int count, int name, int64_t time) {
    bool used[EVENTS_MAX] = {false};
    for (;;) {
        int plain = scan_last(events, count, name, false, true, time, used);
        if (plain < 0) {
            return -1;
        }
        used[plain] = true;
        int innermost = scan_innermost(events, count, plain, time);
        int forward = innermost < 0 ? -1 : scan_forward(events, count, innermost);
        if (forward >= 0) {
            return forward;
        }
    }
}

static rlmr_found scan(const model *events, int count, rlmr_match_policy match, int name, int64_t time,
                       int *place) {
    static const bool none_used[EVENTS_MAX] = {false};
    *place = -1;
    if (op_names[name][0] == '\0') {
        return RLMR_FOUND_NONE;
    }
    if (match != RLMR_MATCH_NEAREST &&
        (*place = scan_last(events, count, name, true, true, time, none_used)) >= 0) {
        return RLMR_FOUND_ENCLOSING;
    }
    if (match == RLMR_MATCH_BEST && (*place = scan_backward(events, count, name, time)) >= 0) {
        return RLMR_FOUND_BACKWARD;
    }
    if (match != RLMR_MATCH_ENCLOSING &&
        (*place = scan_last(events, count, name, true, false, time, none_used)) >= 0) {
        return RLMR_FOUND_NEAREST;
    }
    return RLMR_FOUND_NONE;
}

/* One random trace under one policy. @return answers that differ from the scans'; adds to `found` by kind */
static size_t compare_one(uint64_t *state, int events_count, int questions_count, int times,
                          rlmr_match_policy match, size_t parts, size_t *found) {
    static model events[EVENTS_MAX];
    static event_text texts[EVENTS_MAX];
    static char fields[EVENTS_MAX][7][FIELD_BYTES];
    int names[QUESTIONS_MAX];
    question questions[QUESTIONS_MAX] = {0};
    answer answers[QUESTIONS_MAX];
    for (int i = 0; i < events_count; i++) {
        events[i] = random_event(state, times);
        texts[i] = text_of(state, &events[i], (size_t)i, fields[i]);
    }
    for (int i = 0; i < questions_count; i++) {
        names[i] = below(state, NAMES);
        questions[i] = (question){500 * below(state, times + 4) + below(state, 3) - 1, op_names[names[i]]};
    }
    ask_parts(texts, (size_t)events_count, &(rlmr_map_options){.match = match}, questions,
              (size_t)questions_count, parts, 500 * (times + 4), answers);
    size_t wrong = 0;
    for (int i = 0; i < questions_count; i++) {
        int place;
        char stack[FIELD_BYTES] = "";
        rlmr_found wanted = scan(events, events_count, match, names[i], questions[i].time_ns, &place);
        if (place >= 0) {
            (void)snprintf(stack, sizeof stack, "%d", place);
        }
        wrong += answers[i].found != wanted || strcmp(answers[i].stack, stack) != 0;
        found[wanted]++;
    }
    return wrong;
}

static void compare_many(int traces, int events_max, int questions_max, int times, int parts_max) {
    static const rlmr_match_policy policies[] = {RLMR_MATCH_BEST, RLMR_MATCH_BEST, RLMR_MATCH_NEAREST,
                                                 RLMR_MATCH_ENCLOSING};
    uint64_t state = 20260526;
    size_t found[RLMR_FOUND_COUNT] = {0};
    for (int trace = 0; trace < traces; trace++) {
        int events_count = below(&state, events_max + 1);
        uint64_t before = state;
        size_t parts = parts_max > 1 ? 2 + (size_t)below(&state, parts_max - 1) : 1;
        size_t wrong =
            compare_one(&state, events_count, questions_max, times, policies[trace % 4], parts, found);
        CU_ASSERT_EQUAL(wrong, 0);
        if (wrong > 0) {
            (void)fprintf(stderr, "\n    trace %d of %d events in %zu parts, state %llu\n", trace,
                          events_count, parts, (unsigned long long)before);
        }
    }
    /* A comparison that never meets one of the rules would say little. */
    for (int kind = 0; kind < RLMR_FOUND_COUNT; kind++) {
        CU_ASSERT_TRUE(found[kind] > 400);
    }
}

static void test_small_random_traces_give_what_the_definitions_say(void) {
    compare_many(2000, 20, 20, 6, 1);
}

static void test_larger_random_traces_give_what_the_definitions_say(void) {
    compare_many(200, 300, QUESTIONS_MAX, 60, 1);
    compare_many(100, EVENTS_MAX, QUESTIONS_MAX, 200, 1); /* in more runs than are merged */
}

static void test_traces_in_parts_give_what_the_definitions_say(void) {
    compare_many(4000, 20, 20, 6, 4);
    compare_many(200, 300, QUESTIONS_MAX, 60, 5);
    compare_many(150, 300, QUESTIONS_MAX, 60, PARTS_MAX);
}

/* What others have counts, although nothing of it may be told. */
static void test_distinct_stacks_of_all_parts_have_a_limit(void) {
    fixture one = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    fixture other = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    uint32_t id;
    CU_ASSERT_EQUAL(rlmr_symtab_intern(one.names, RLMR_SLICE("add"), &id, NULL), RLMR_OK);
    for (int i = 0; i < RLMR_LIMIT_STACKS / 2; i++) {
        char stack[16];
        (void)snprintf(stack, sizeof stack, "%d", i);
        (void)add(&one, &(event_text){OP, .name = "add", .ts = "1", .stack = stack}, (uint64_t)i);
    }
    rlmr_time_window none = {.first_ns = 1, .last_ns = 0};
    rlmr_bytes told = {0};
    rlmr_bytes asked = {0};
    CU_ASSERT_EQUAL(rlmr_stack_index_encode(one.index, &none, &told, NULL), RLMR_OK);
    rlmr_slice text = {.text = (const char *)told.data, .bytes = told.bytes};
    CU_ASSERT_EQUAL(rlmr_stack_index_take(other.index, text, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_stack_index_take(other.index, text, NULL), RLMR_OK); /* of a third part as many */
    rlmr_bytes answered = {0};
    CU_ASSERT_EQUAL(rlmr_stack_index_answer(one.index, &asked, &none, &answered, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(
        rlmr_stack_index_take(other.index, (rlmr_slice){(const char *)answered.data, answered.bytes}, NULL),
        RLMR_OK); /* they are not counted again */
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_stack_index_take(other.index, text, &err), RLMR_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "(limit STACKS)"));
    rlmr_bytes_release(&told);
    rlmr_bytes_release(&answered);
    close_index(&one);
    close_index(&other);
}

static void test_no_more_is_told_than_matters(void) {
    enum { EVENTS = 1000, FEW_BYTES = 400 };
    fixture one = open_index(&(rlmr_map_options){.match = RLMR_MATCH_BEST});
    uint32_t id;
    CU_ASSERT_EQUAL(rlmr_symtab_intern(one.names, RLMR_SLICE("add"), &id, NULL), RLMR_OK);
    for (int i = 0; i < EVENTS; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        (void)add(&one, &(event_text){OP, .name = "add", .ts = number, .sequence = number, .stack = "s"},
                  (uint64_t)i);
        (void)add(&one,
                  &(event_text){BACKWARD_OP, .name = "back", .ts = number, .dur = "1",
                                .sequence = i % 2 == 0 ? "900" : "7"},
                  (uint64_t)i);
    }
    const rlmr_time_window all = {.first_ns = 0, .last_ns = INT64_MAX};
    const rlmr_time_window middle = {.first_ns = 500000, .last_ns = 501000};
    const rlmr_time_window early = {.first_ns = -5, .last_ns = -1};
    const int64_t both[] = {7, 900};
    rlmr_bytes asked = {0};
    rlmr_bytes told = {0};
    CU_ASSERT_EQUAL(rlmr_stack_index_ask(one.index, &all, &asked, NULL), RLMR_OK);
    CU_ASSERT_TRUE(asked.bytes == sizeof both && memcmp(asked.data, both, sizeof both) == 0);
    CU_ASSERT_EQUAL(rlmr_stack_index_answer(one.index, &asked, &all, &told, NULL), RLMR_OK);
    size_t of_two = told.bytes;
    CU_ASSERT_TRUE(of_two < FEW_BYTES);
    rlmr_bytes_clear(&told);
    CU_ASSERT_EQUAL(rlmr_stack_index_answer(one.index, &asked, &early, &told, NULL), RLMR_OK);
    CU_ASSERT_TRUE(told.bytes < of_two);
    rlmr_bytes_clear(&told);
    CU_ASSERT_EQUAL(rlmr_stack_index_encode(one.index, &middle, &told, NULL), RLMR_OK);
    CU_ASSERT_TRUE(told.bytes < FEW_BYTES);
    rlmr_bytes_release(&told);
    rlmr_bytes_release(&asked);
    close_index(&one);
}

/* Many threads and names of other lengths, one after the other: each event is on its own. */
static void test_threads_that_look_alike_are_not_the_same(void) {
    static const event_text events[] = {
        {OP, .name = "f", .ts = "1", .sequence = "4", .stack = "f"},
        {.cat = "cpu_op",
         .pid = "11",
         .tid = "2",
         .name = "Back",
         .ts = "10",
         .dur = "90",
         .sequence = "4",
         .forward_thread = "1"},
        {.cat = "cpu_op", .pid = "1", .tid = "12", .name = "add", .ts = "20", .dur = "10"},
        {.cat = "cpu_op", .pid = "11", .tid = "3", .name = "mul", .ts = "20", .dur = "10"},
        {.cat = "cpu_op", .pid = "12", .tid = "2", .name = "sub", .ts = "20", .dur = "10"},
        {.cat = "cpu_op", .pid = "11", .tid = "2", .name = "div", .ts = "20", .dur = "10"},
    };
    CHECK(events, BEST, "add", 25000, NONE, "");
    CHECK(events, BEST, "mul", 25000, NONE, "");
    CHECK(events, BEST, "sub", 25000, NONE, "");
    CHECK(events, BEST, "div", 25000, BACKWARD, "f");
}

CU_TestInfo rlmr_tests_stack_index[] = {
    {"the nearest is the last that starts before", test_the_nearest_is_the_last_that_starts_before},
    {"of equal starts the later in the file is nearest",
     test_of_equal_starts_the_later_in_the_file_is_nearest},
    {"only operators with a stack are near", test_only_operators_with_a_stack_are_near},
    {"many records may find one event", test_many_records_may_find_one_event},
    {"the start encloses and the end does not", test_the_start_encloses_and_the_end_does_not},
    {"an earlier and longer event may enclose where the last has ended",
     test_an_earlier_and_longer_event_may_enclose_where_the_last_has_ended},
    {"events that overlap enclose one after the other", test_events_that_overlap_enclose_one_after_the_other},
    {"of equal starts the later in the file encloses", test_of_equal_starts_the_later_in_the_file_encloses},
    {"an event without a positive duration never encloses",
     test_an_event_without_a_positive_duration_never_encloses},
    {"a policy of one rule has no other", test_a_policy_of_one_rule_has_no_other},
    {"best takes enclosing, then backward, then nearest",
     test_best_takes_enclosing_then_backward_then_nearest},
    {"the forward op starts before the backward op, the last one counts",
     test_the_start_of_the_backward_op_is_after_the_forward_op},
    {"the forward op may be any event, and the later in the file wins",
     test_the_forward_op_may_be_any_event_and_the_later_in_the_file_wins},
    {"the operator must enclose the record and have no stack",
     test_the_operator_must_enclose_the_record_and_have_no_stack},
    {"an operator may be its own backward op", test_an_operator_may_be_its_own_backward_op},
    {"the innermost is the last to start, then the shortest",
     test_the_innermost_is_the_last_to_start_then_the_shortest},
    {"of equal backward ops the later in the file is innermost",
     test_of_equal_backward_ops_the_later_in_the_file_is_innermost},
    {"an innermost op without a forward op is not passed over",
     test_an_innermost_op_without_a_forward_op_is_not_passed_over},
    {"an op that is no backward op is passed over", test_an_op_that_is_no_backward_op_is_passed_over},
    {"the backward op is on the thread of the operator",
     test_the_backward_op_is_on_the_thread_of_the_operator},
    {"a second operator is asked if the last has no answer",
     test_a_second_operator_is_asked_if_the_last_has_no_answer},
    {"sequence and thread may be integer texts and nothing else",
     test_sequence_and_thread_may_be_integer_texts_and_nothing_else},
    {"a record without a name finds nothing", test_a_record_without_a_name_finds_nothing},
    {"an index without events finds nothing", test_an_index_without_events_finds_nothing},
    {"the trace is shifted by the offset", test_the_trace_is_shifted_by_the_offset},
    {"an event that would count is lost without a time",
     test_an_event_that_would_count_is_lost_without_a_time},
    {"a bad value costs itself alone", test_a_bad_value_costs_itself_alone},
    {"a stack that was cleaned is known", test_a_stack_that_was_cleaned_is_known},
    {"stacks with escapes are decoded when they are found",
     test_stacks_with_escapes_are_decoded_when_they_are_found},
    {"a thread id beyond 64 bits is one", test_a_thread_id_beyond_64_bits_is_one},
    {"distinct stacks have a limit", test_distinct_stacks_have_a_limit},
    {"the range is that of all operators", test_the_range_is_that_of_all_operators},
    {"a stack is stored once and as UTF-8", test_a_stack_is_stored_once_and_as_utf8},
    {"small random traces give what the definitions say",
     test_small_random_traces_give_what_the_definitions_say},
    {"larger random traces give what the definitions say",
     test_larger_random_traces_give_what_the_definitions_say},
    {"traces in parts give what the definitions say", test_traces_in_parts_give_what_the_definitions_say},
    {"distinct stacks of all parts have a limit", test_distinct_stacks_of_all_parts_have_a_limit},
    {"no more is told than matters", test_no_more_is_told_than_matters},
    {"threads that look alike are not the same", test_threads_that_look_alike_are_not_the_same},
    CU_TEST_INFO_NULL,
};
