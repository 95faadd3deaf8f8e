#include "rlmr/event_scan.h"

#include "random_json.h"
#include "rlmr/event_guess.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a scan gives, and how it is compared ---- */

#define EVENTS_MAX 256

typedef struct {
    rlmr_event_bounds events[EVENTS_MAX];
    size_t count;
    rlmr_scan_state state;
    int64_t good;
} result;

static rlmr_status note_event(void *self, const rlmr_event_bounds *event, rlmr_error *err) {
    result *out = self;
    (void)err;
    CU_ASSERT_FATAL(out->count < EVENTS_MAX);
    CU_ASSERT_EQUAL(event->number, out->count);
    out->events[out->count++] = *event;
    return RLMR_OK;
}

static bool is_same_event(const rlmr_event_bounds *a, const rlmr_event_bounds *b) {
    return a->start == b->start && a->end == b->end && a->flags == b->flags;
}

static bool is_same(const result *a, const result *b) {
    bool same = a->count == b->count && a->state == b->state && a->good == b->good;
    for (size_t i = 0; same && i < a->count; i++) {
        same = is_same_event(&a->events[i], &b->events[i]);
    }
    return same;
}

static void print_result(const char *name, const result *out) {
    (void)fprintf(stderr, "    %s: state %d, good up to %lld, %zu events:", name, (int)out->state,
                  (long long)out->good, out->count);
    for (size_t i = 0; i < out->count; i++) {
        (void)fprintf(stderr, " %lld-%lld/%u", (long long)out->events[i].start, (long long)out->events[i].end,
                      out->events[i].flags);
    }
    (void)fprintf(stderr, "\n");
}

/* Feed `text`, the first piece with `first` bytes, and then pieces of `piece`. */
static result scan_in_pieces(rlmr_scan_path path, rlmr_slice text, size_t first, size_t piece) {
    result out = {.count = 0};
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, path, 0, 1);
    size_t bytes = first < text.bytes ? first : text.bytes;
    for (size_t at = 0; at < text.bytes; at += bytes, bytes = piece) {
        bytes = bytes < text.bytes - at ? bytes : text.bytes - at;
        /* In memory of its own size, so that a sanitizer sees what is read behind it. */
        char *copy = malloc(bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, text.text + at, bytes);
        rlmr_slice fed = {.text = copy, .bytes = bytes};
        CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, fed, note_event, &out, NULL), RLMR_OK);
        free(copy);
    }
    out.state = scan.state;
    out.good = scan.good;
    CU_ASSERT_EQUAL(scan.events, out.count);
    return out;
}

static result scan_whole(rlmr_scan_path path, rlmr_slice text) {
    return scan_in_pieces(path, text, text.bytes, text.bytes);
}

/* ---- The same, byte by byte ---- */

typedef struct {
    rlmr_slice text;
    result out;
    rlmr_scan_next next;
    char open[RLMR_LIMIT_JSON_DEPTH]; /* brackets */
    int depth;
    bool in_string;
    bool escaped; /* the byte at hand */
    bool closed;  /* the byte before ended a string */
    char last;    /* that was no blank */
    rlmr_event_bounds event;
} oracle;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_delimiter(char c) {
    return is_blank(c) || (c != '\0' && strchr(",:{}[]", c) != NULL);
}

static bool has_before(const oracle *self, size_t at, const char *key) {
    size_t bytes = strlen(key);
    return at + 1 >= bytes && memcmp(self->text.text + at + 1 - bytes, key, bytes) == 0;
}

static bool step_in_string(oracle *self, size_t at) {
    char c = self->text.text[at];
    if ((unsigned char)c < 0x20) {
        return false;
    }
    if (self->escaped) {
        self->escaped = false;
        self->event.flags |= c != '\\' ? RLMR_EVENT_UNSURE : 0;
    } else if (c == '\\') {
        self->escaped = true;
    } else if (c == '"') {
        self->in_string = false;
        self->event.flags |= has_before(self, at, "\"Call stack\"") ? RLMR_EVENT_STACK : 0;
        self->event.flags |= has_before(self, at, "\"Sequence number\"") ? RLMR_EVENT_SEQUENCE : 0;
        self->event.flags |= has_before(self, at, "\"cpu_op\"") ? RLMR_EVENT_CPU_OP : 0;
    }
    self->closed = !self->in_string;
    return true;
}

static bool step_between(oracle *self, size_t at) {
    char c = self->text.text[at];
    if (is_blank(c)) {
        return true;
    }
    if (c == ',' && self->next == RLMR_SCAN_COMMA) {
        self->next = RLMR_SCAN_EVENT;
        return true;
    }
    if (c == ']' && self->next != RLMR_SCAN_EVENT) {
        self->out.state = RLMR_SCAN_CLOSED;
        self->out.good = (int64_t)at + 1;
        return true;
    }
    if (c == '{' && self->next != RLMR_SCAN_COMMA) {
        self->event = (rlmr_event_bounds){.start = (int64_t)at};
        self->open[self->depth++] = c;
        return true;
    }
    return false;
}

static bool step_open(oracle *self, char c) {
    bool object = self->open[self->depth - 1] == '{';
    if (object ? self->last != ':' : self->last != ',' && self->last != '[') {
        return false;
    }
    if (self->depth + 1 == RLMR_LIMIT_JSON_DEPTH) {
        return false;
    }
    self->open[self->depth++] = c;
    return true;
}

static bool step_close(oracle *self, size_t at) {
    char c = self->text.text[at];
    self->depth--;
    if (self->open[self->depth] != (c == '}' ? '{' : '[')) {
        return false;
    }
    if (self->depth == 0) {
        self->event.end = (int64_t)at + 1;
        self->out.events[self->out.count++] = self->event;
        self->out.good = self->event.end;
        self->next = RLMR_SCAN_COMMA;
    }
    return true;
}

static bool step(oracle *self, size_t at) {
    char c = self->text.text[at];
    char before = at == 0 ? '[' : self->text.text[at - 1];
    if (self->in_string) {
        return step_in_string(self, at);
    }
    bool beside = self->closed;
    self->closed = false;
    if ((beside && !is_delimiter(c)) || ((unsigned char)c < 0x20 && !is_blank(c)) || c == '\\') {
        return false;
    }
    if (self->depth == 0) {
        return step_between(self, at);
    }
    switch (c) {
    case '"':
        self->in_string = true;
        return is_delimiter(before);
    case '{':
    case '[':
        return step_open(self, c);
    case '}':
    case ']':
        return step_close(self, at);
    default:
        return true;
    }
}

static result scan_bytewise(rlmr_slice text) {
    oracle self = {.text = text, .last = '['};
    for (size_t at = 0; at < text.bytes && self.out.state == RLMR_SCAN_OPEN; at++) {
        if (!step(&self, at)) {
            self.out.state = RLMR_SCAN_DAMAGED;
        }
        self.last = is_blank(text.text[at]) ? self.last : text.text[at];
    }
    return self.out;
}

/* ---- Checks ---- */

static void check_same(const char *what, rlmr_slice text, const result *wanted, const result *got) {
    bool same = is_same(wanted, got);
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    %s, in %zu bytes:\n%.*s\n", what, text.bytes, (int)text.bytes,
                      text.text);
        print_result("wanted", wanted);
        print_result("got", got);
    }
}

static const char *const path_names[RLMR_SCAN_PATHS] = {"portable", "AVX2", "NEON"};

/* Whole, and in pieces that begin at a place in the blocks that `seed` gives. */
static void check_text(rlmr_slice text, size_t seed) {
    result wanted = scan_bytewise(text);
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        if (rlmr_scan_has((rlmr_scan_path)path)) {
            result whole = scan_whole((rlmr_scan_path)path, text);
            check_same(path_names[path], text, &wanted, &whole);
            result shifted = scan_in_pieces((rlmr_scan_path)path, text, seed % 64 + 1, text.bytes + 1);
            check_same(path_names[path], text, &wanted, &shifted);
        }
    }
}

static void check_all_pieces(rlmr_slice text) {
    result wanted = scan_bytewise(text);
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        for (size_t piece = 1; rlmr_scan_has((rlmr_scan_path)path) && piece <= text.bytes; piece++) {
            result got = scan_in_pieces((rlmr_scan_path)path, text, piece, piece);
            check_same(path_names[path], text, &wanted, &got);
        }
    }
}

/* What follows the `[` of an array: how many events it has, and where the last of these, or the array, ends. */
static void check_scan(const char *content, rlmr_scan_state state, size_t count, int64_t good) {
    rlmr_slice text = rlmr_slice_of(content);
    result got = scan_whole(rlmr_scan_best(), text);
    CU_ASSERT_EQUAL(got.state, state);
    CU_ASSERT_EQUAL(got.count, count);
    CU_ASSERT_EQUAL(got.good, good);
    if (got.state != state || got.count != count || got.good != good) {
        (void)fprintf(stderr, "\n    in %s\n", content);
        print_result("got", &got);
    }
    check_all_pieces(text);
}

/* ---- Paths ---- */

static void test_a_path_of_this_machine_is_the_best(void) {
    CU_ASSERT_TRUE(rlmr_scan_has(RLMR_SCAN_PORTABLE));
    CU_ASSERT_TRUE(rlmr_scan_has(rlmr_scan_best()));
    CU_ASSERT_FALSE(rlmr_scan_has(RLMR_SCAN_PATHS));
#if defined(__aarch64__)
    CU_ASSERT_EQUAL(rlmr_scan_best(), RLMR_SCAN_NEON);
#elif defined(__AVX2__)
    CU_ASSERT_EQUAL(rlmr_scan_best(), RLMR_SCAN_AVX2);
#endif
}

/* ---- Bounds ---- */

static void test_an_array_may_be_empty(void) {
    check_scan("]", RLMR_SCAN_CLOSED, 0, 1);
    check_scan(" \n\t\r ] more", RLMR_SCAN_CLOSED, 0, 6);
    check_scan("", RLMR_SCAN_OPEN, 0, 0);
    check_scan("  ", RLMR_SCAN_OPEN, 0, 0);
}

static void test_events_are_given_with_their_bounds(void) {
    check_scan("{}]", RLMR_SCAN_CLOSED, 1, 3);
    check_scan("{},{},{}]", RLMR_SCAN_CLOSED, 3, 9);
    check_scan(" {\"a\": 1} ,\n {\"b\": [1, {\"c\": []}, []]} ] , {}", RLMR_SCAN_CLOSED, 2, 40);
    check_scan("{\"a\": \"}{][\\\"}{\", \"b\\\\\": \"\"}, {}", RLMR_SCAN_OPEN, 2, 32);
}

static void test_values_are_not_looked_at(void) {
    check_scan("{\"a\": NaN, \"b\": N/A, 1 2 :, \"c\"},{:}]", RLMR_SCAN_CLOSED, 2, 37);
}

/* ---- Flags ---- */

static unsigned flags_of(const char *content) {
    rlmr_slice text = rlmr_slice_of(content);
    check_all_pieces(text);
    result got = scan_whole(rlmr_scan_best(), text);
    CU_ASSERT_EQUAL(got.count, 1);
    return got.events[0].flags;
}

static void test_the_keys_looked_for_are_seen(void) {
    CU_ASSERT_EQUAL(flags_of("{\"args\": {\"Call stack\": \"a\"}}"), RLMR_EVENT_STACK);
    CU_ASSERT_EQUAL(flags_of("{\"args\": {\"Sequence number\": 1}}"), RLMR_EVENT_SEQUENCE);
    CU_ASSERT_EQUAL(flags_of("{\"cat\":\"cpu_op\"}"), RLMR_EVENT_CPU_OP);
    CU_ASSERT_EQUAL(flags_of("{\"cat\": \"cpu_ops\", \"a\": \"acpu_op\", \"b\": \"op\", \"c\": \"CPU_OP\"}"),
                    0);
    CU_ASSERT_EQUAL(flags_of("{\"Call stack\":0,\"Sequence number\":1}"),
                    RLMR_EVENT_STACK + RLMR_EVENT_SEQUENCE);
    CU_ASSERT_EQUAL(flags_of("{\"Call stac\": 1, \"all stack\": 1, \"call stack\": 1, \"Call  stack\": 1}"),
                    0);
    CU_ASSERT_EQUAL(flags_of("{\"Sequence\": 1, \"number\": \"worker\", \"sequence number\": 1}"), 0);
    CU_ASSERT_EQUAL(flags_of("{\"my Call stack\": 1, \"Call stack \": 1}"), 0);
}

static void test_an_escape_makes_an_event_unsure(void) {
    CU_ASSERT_EQUAL(flags_of("{\"Call st\\u0061ck\": 1}"), RLMR_EVENT_UNSURE);
    CU_ASSERT_EQUAL(flags_of("{\"a\": \"\\\\u\"}"), 0);
    CU_ASSERT_EQUAL(flags_of("{\"a\": \"u\"}"), 0);
}

static void test_flags_are_those_of_their_event(void) {
    rlmr_slice text =
        RLMR_SLICE("{\"a\":\"\\n\"},{},{\"Call stack\":1},{\"b\":1},{\"Sequence number\":\"\"},{}]");
    const unsigned wanted[] = {RLMR_EVENT_UNSURE, 0, RLMR_EVENT_STACK, 0, RLMR_EVENT_SEQUENCE, 0};
    result got = scan_whole(rlmr_scan_best(), text);
    CU_ASSERT_EQUAL_FATAL(got.count, 6);
    for (size_t i = 0; i < got.count; i++) {
        CU_ASSERT_EQUAL(got.events[i].flags, wanted[i]);
    }
    check_all_pieces(text);
}

/* ---- Damage ---- */

static void test_damage_between_events_is_noticed(void) {
    const char *const behind[] = {",]",  ",,{}]",  "{}]", "1]",  "\"\"]", ":{}]", "}]",     ",[{}]]",
                                  ",1]", ",\"\"]", ",}]", ",x]", "\x01]", "\\]",  ",null]", "\xEF\xBB\xBF]"};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        char *text;
        CU_ASSERT_FATAL(asprintf(&text, "{\"a\": {}} %s", behind[i]) > 0);
        check_scan(text, RLMR_SCAN_DAMAGED, 1, 9);
        free(text);
    }
    check_scan(", {}]", RLMR_SCAN_DAMAGED, 0, 0);
    check_scan("[]]", RLMR_SCAN_DAMAGED, 0, 0);
    check_scan("}", RLMR_SCAN_DAMAGED, 0, 0);
    check_scan("0]", RLMR_SCAN_DAMAGED, 0, 0);
}

static void test_damage_inside_an_event_is_noticed(void) {
    const char *const inside[] = {
        "{\"a\": [1}}",         "{\"a\": {\"b\": 1]}",
        "{\"a\": 1]", /* the other bracket */
        "{\"a\": 1, {\"b\": 2", "{{}",
        "{\"a\" {}}", /* where no value may stand */
        "{\"a\": [1 {}]}",      "{\"a\": {} []}",
        "{\"a\": [{}[]]}",      "{\"a\": \"b\"c\"}",
        "{\"a\": b\"c\"}",      "{\"a\": \"b\"\"c\"}", /* a string beside what is none */
        "{\"a\": \"b\n\"}",     "{\"a\": \"\x1F\"}",
        "{\"a\": \"\t\"}", /* a control byte in a string */
        "{\"a\": \x01}",        "{\"a\":\x0B 1}",
        "{\"a\": \\1}", /* and outside */
        "{\"a\": \\\"b\"}",
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        char *text;
        CU_ASSERT_FATAL(asprintf(&text, "{}, %s, {}, {}]", inside[i]) > 0);
        check_scan(text, RLMR_SCAN_DAMAGED, 1, 2);
        free(text);
    }
}

static void test_zero_bytes_are_damage(void) {
    const rlmr_slice texts[] = {RLMR_SLICE("{},\0{}]"), RLMR_SLICE("{},{\"a\":\0 1}]"),
                                RLMR_SLICE("{},{\"a\":\"\0\"}]")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        result got = scan_whole(rlmr_scan_best(), texts[i]);
        CU_ASSERT_TRUE(got.state == RLMR_SCAN_DAMAGED && got.count == 1 && got.good == 2);
        check_all_pieces(texts[i]);
    }
}

static void test_a_cut_array_stays_open(void) {
    const char *whole = "{\"a\": \"b\\\\\"}, {\"c\": [1, {}]} ]";
    for (size_t bytes = 0; bytes < strlen(whole); bytes++) {
        rlmr_slice text = {.text = whole, .bytes = bytes};
        result got = scan_whole(rlmr_scan_best(), text);
        CU_ASSERT_EQUAL(got.state, RLMR_SCAN_OPEN);
        CU_ASSERT_EQUAL(got.good, bytes < 12 ? 0 : bytes < 28 ? 12 : 28);
        check_all_pieces(text);
    }
}

/* ---- Limits ---- */

/* An event of `depth` brackets, in an array in `outer_depth` - 1 more. */
static result scan_nested(rlmr_scan_path path, int outer_depth, int depth) {
    char text[4 * RLMR_LIMIT_JSON_DEPTH + 8] = "{\"a\":";
    size_t bytes = strlen(text);
    memset(text + bytes, '[', (size_t)depth - 1);
    memset(text + bytes + depth - 1, ']', (size_t)depth - 1);
    bytes += 2 * (size_t)(depth - 1);
    memcpy(text + bytes, "}]", 2);
    result out = {.count = 0};
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, path, 0, outer_depth);
    rlmr_slice fed = {.text = text, .bytes = bytes + 2};
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, fed, note_event, &out, NULL), RLMR_OK);
    out.state = scan.state;
    return out;
}

static void test_depth_has_a_limit(void) {
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        for (int outer = 1; rlmr_scan_has((rlmr_scan_path)path) && outer <= 2; outer++) {
            result most = scan_nested((rlmr_scan_path)path, outer, RLMR_LIMIT_JSON_DEPTH - outer);
            CU_ASSERT_TRUE(most.state == RLMR_SCAN_CLOSED && most.count == 1);
            result more = scan_nested((rlmr_scan_path)path, outer, RLMR_LIMIT_JSON_DEPTH - outer + 1);
            CU_ASSERT_TRUE(more.state == RLMR_SCAN_DAMAGED && more.count == 0);
        }
    }
}

/* An event of `bytes` bytes, behind a small one, in pieces. */
static result scan_long(size_t bytes, size_t piece) {
    const rlmr_slice before = RLMR_SLICE("{},");
    char *text = malloc(before.bytes + bytes + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', before.bytes + bytes);
    memcpy(text, before.text, before.bytes);
    memcpy(text + before.bytes, "{\"a\":\"", 6);
    memcpy(text + before.bytes + bytes - 2, "\"}]", 3);
    result out = {.count = 0};
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, rlmr_scan_best(), 0, 1);
    for (size_t at = 0; at < before.bytes + bytes + 1; at += piece) {
        size_t rest = before.bytes + bytes + 1 - at;
        rlmr_slice fed = {.text = text + at, .bytes = rest < piece ? rest : piece};
        CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, fed, note_event, &out, NULL), RLMR_OK);
    }
    out.state = scan.state;
    out.good = scan.good;
    free(text);
    return out;
}

static void test_the_bytes_of_an_event_have_a_limit(void) {
    const size_t pieces[] = {1 << 16, 1 << 18, 1 << 26};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        result most = scan_long(RLMR_LIMIT_EVENT_BYTES, pieces[i]);
        CU_ASSERT_TRUE(most.state == RLMR_SCAN_CLOSED && most.count == 2);
        CU_ASSERT_EQUAL(most.events[1].flags, RLMR_EVENT_UNSURE); /* its string may be too long */
        result more = scan_long((size_t)RLMR_LIMIT_EVENT_BYTES + 1, pieces[i]);
        CU_ASSERT_TRUE(more.state == RLMR_SCAN_DAMAGED && more.count == 1 && more.good == 2);
    }
    CU_ASSERT_EQUAL(scan_long(RLMR_LIMIT_STRING_BYTES, 1 << 18).events[1].flags, 0);
}

static void test_an_event_that_does_not_end_is_given_up(void) {
    const size_t bytes = (size_t)RLMR_LIMIT_EVENT_BYTES;
    char *text = calloc(bytes + 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, ' ', bytes);
    text[0] = '{';
    result out = {.count = 0};
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, rlmr_scan_best(), 0, 1);
    rlmr_slice most = {.text = text, .bytes = bytes};
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, most, note_event, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(scan.state, RLMR_SCAN_OPEN);
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, RLMR_SLICE(" "), note_event, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(scan.state, RLMR_SCAN_DAMAGED);
    CU_ASSERT_TRUE(out.count == 0 && scan.good == 0);
    free(text);
}

/* ---- Calls ---- */

static rlmr_status refuse_second(void *self, const rlmr_event_bounds *event, rlmr_error *err) {
    int *calls = self;
    (*calls)++;
    return event->number == 1 ? rlmr_error_set(err, RLMR_E_OUTPUT, "full") : RLMR_OK;
}

static void test_a_callback_ends_the_scan(void) {
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, rlmr_scan_best(), 0, 1);
    rlmr_error err;
    rlmr_error_clear(&err);
    int calls = 0;
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, RLMR_SLICE("{},{},{}]"), refuse_second, &calls, &err),
                    RLMR_E_OUTPUT);
    CU_ASSERT_EQUAL(calls, 2);
    CU_ASSERT_STRING_EQUAL(err.message, "full");
}

static void test_offsets_count_from_where_the_scan_begins(void) {
    result out = {.count = 0};
    rlmr_event_scan scan;
    const int64_t offset = (int64_t)1 << 40;
    rlmr_event_scan_begin(&scan, rlmr_scan_best(), offset, 1);
    CU_ASSERT_EQUAL(scan.good, offset);
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, RLMR_SLICE(" {}, {"), note_event, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(scan.at, offset + 6);
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, RLMR_SLICE(""), note_event, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, RLMR_SLICE("}]"), note_event, &out, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(out.count, 2);
    CU_ASSERT_TRUE(out.events[0].start == offset + 1 && out.events[0].end == offset + 3);
    CU_ASSERT_TRUE(out.events[1].start == offset + 5 && out.events[1].end == offset + 7);
    CU_ASSERT_TRUE(scan.state == RLMR_SCAN_CLOSED && scan.good == offset + 8);
}

/* ---- Random texts ---- */

static void test_random_texts_are_scanned_as_byte_by_byte(void) {
    random_json out = {.random = 20260628};
    size_t damaged = 0;
    size_t closed = 0;
    for (size_t i = 0; i < 100000; i++) {
        random_events(&out);
        if (i % 2 == 1) {
            random_damage(&out);
        }
        check_text(random_text(&out), i);
        rlmr_scan_state state = scan_bytewise(random_text(&out)).state;
        damaged += state == RLMR_SCAN_DAMAGED;
        closed += state == RLMR_SCAN_CLOSED;
    }
    /* Else these texts would say nothing. */
    CU_ASSERT_TRUE(damaged > 20000 && closed > 40000);
}

static void test_pieces_of_every_size_give_the_same(void) {
    random_json out = {.random = 7};
    for (size_t i = 0; i < 200; i++) {
        random_events(&out);
        if (i % 2 == 1) {
            random_damage(&out);
        }
        check_all_pieces(random_text(&out));
    }
}

/* A backslash run of every length, which ends at every place of a block. */
static void test_backslashes_are_counted_over_the_edges_of_blocks(void) {
    char text[512];
    for (size_t blanks = 0; blanks < 64; blanks++) {
        for (size_t run = 0; run < 140; run++) {
            memset(text, ' ', blanks);
            memcpy(text + blanks, "{\"", 2);
            memset(text + blanks + 2, '\\', run);
            const char *rest = run % 2 == 0 ? "\":\"}\"}]" : "\"}{\":\"}\"}]";
            memcpy(text + blanks + 2 + run, rest, strlen(rest));
            rlmr_slice whole = {.text = text, .bytes = blanks + 2 + run + strlen(rest)};
            result got = scan_whole(rlmr_scan_best(), whole);
            CU_ASSERT_TRUE(got.state == RLMR_SCAN_CLOSED && got.count == 1);
            CU_ASSERT_EQUAL(got.good, (int64_t)whole.bytes);
            check_text(whole, run);
        }
    }
}

static void test_a_text_is_scanned_alike_at_every_place(void) {
    static const char event[] =
        "{\"name\":\"a\\\"}\",\"args\":{\"Call stack\":\"x(1): f;\\r\\ny(2): g\",\"Sequence "
        "number\":[[]]},\"cat\":\"\\\\\"},{\"b\":\"\"}]";
    char text[sizeof event + 64];
    for (size_t blanks = 0; blanks < 64; blanks++) {
        memset(text, ' ', blanks);
        memcpy(text + blanks, event, sizeof event - 1);
        rlmr_slice whole = {.text = text, .bytes = blanks + sizeof event - 1};
        result got = scan_whole(rlmr_scan_best(), whole);
        CU_ASSERT_EQUAL(got.state, RLMR_SCAN_CLOSED);
        CU_ASSERT_EQUAL_FATAL(got.count, 2);
        CU_ASSERT_EQUAL(got.events[0].start, (int64_t)blanks);
        CU_ASSERT_EQUAL(got.events[0].flags, RLMR_EVENT_STACK + RLMR_EVENT_SEQUENCE + RLMR_EVENT_UNSURE);
        CU_ASSERT_EQUAL(got.events[1].flags, 0);
        check_all_pieces(whole);
    }
}

/* Every byte, in a string, behind one, and outside, as the last of a block or not. */
static void test_every_byte_means_the_same_on_every_path(void) {
    static const char *const before[] = {"{", "{\"a\":\"", "{\"a\""};
    char text[100];
    for (size_t i = 0; i < 3 * 256 * 66; i++) {
        size_t at = (size_t)(stpcpy(text, before[i % 3]) - text);
        memset(text + at, ' ', sizeof text - at);
        text[at + i / 3 % 66] = (char)(i / 3 / 66);
        memcpy(text + sizeof text - 12, i % 3 == 1 ? "\"},{\"b\":[]}]" : " },{\"b\":[]}]", 12);
        rlmr_slice whole = {.text = text, .bytes = sizeof text};
        result wanted = scan_whole(RLMR_SCAN_PORTABLE, whole);
        for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
            if (rlmr_scan_has((rlmr_scan_path)path)) {
                result got = scan_whole((rlmr_scan_path)path, whole);
                CU_ASSERT_TRUE(is_same(&wanted, &got));
            }
        }
    }
}

/* ---- Ranges ---- */

/* Whether a scan up to `at` expects an event there. */
static bool is_between_at(rlmr_slice text, size_t at) {
    result out = {.count = 0};
    rlmr_event_scan scan;
    rlmr_event_scan_begin(&scan, rlmr_scan_best(), 0, 1);
    rlmr_slice before = {.text = text.text, .bytes = at};
    CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, before, note_event, &out, NULL), RLMR_OK);
    return rlmr_event_scan_is_between(&scan);
}

static void test_a_scan_says_whether_an_event_may_begin(void) {
    random_json out = {.random = 13};
    size_t starts = 0;
    for (size_t i = 0; i < 300; i++) {
        random_events(&out);
        result wanted = scan_bytewise(random_text(&out));
        size_t events = 0;
        for (size_t at = 0; at < out.bytes; at++) {
            bool start = events < wanted.count && wanted.events[events].start == (int64_t)at;
            events += start;
            if (out.text[at] == '{' && (start || wanted.state == RLMR_SCAN_CLOSED)) {
                CU_ASSERT_EQUAL(is_between_at(random_text(&out), at), start);
            }
        }
        starts += events;
    }
    CU_ASSERT_TRUE(starts > 300);
    CU_ASSERT_FALSE(is_between_at(RLMR_SLICE("{}]"), 2));
    CU_ASSERT_FALSE(is_between_at(RLMR_SLICE("{}]"), 3));
}

#define GUESS_EVENTS 200

static void test_a_guess_is_the_first_event_of_a_range(void) {
    random_json out = {.random = 17};
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    long starts[GUESS_EVENTS];
    for (size_t i = 0; i < GUESS_EVENTS; i++) {
        (void)fprintf(file, i > 0 ? ",\n " : "");
        starts[i] = ftell(file);
        (void)fprintf(
            file,
            "{\"name\": \"%s\", \"ts\": %zu, \"args\": {\"Call stack\": \"a}, {\\\"b\\\": {c\", \"list\": "
            "[{\"x\": 1}, {\"y\": {}}, {\"z\": 2}]}}",
            i % 3 == 0 ? "}, {" : "op", random_roll(&out, 1000));
    }
    (void)fprintf(file, "]");
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    size_t next = 0; /* event that begins at or behind `from` and has one before it there */
    size_t wrong = 0;
    size_t found = 0;
    for (size_t from = 0; from < bytes; from += 7) {
        while (next < GUESS_EVENTS && (size_t)starts[next] < from) {
            next++;
        }
        size_t at = 0;
        rlmr_slice range = {.text = text + from,
                            .bytes = bytes - from - 1}; /* without the end of the array */
        if (rlmr_event_guess(rlmr_scan_best(), range, &at)) {
            found++;
            bool is_start = false;
            for (size_t i = next; i < GUESS_EVENTS && i < next + 2; i++) {
                is_start = is_start || (size_t)starts[i] == from + at;
            }
            wrong += !is_start;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(found > bytes / 7 * 9 / 10);
    free(text);
}

static void test_no_guess_is_made_without_two_events(void) {
    const char *const texts[] = {"",
                                 "{}",
                                 "{\"a\": 1}",
                                 "\"a\": 1}, {\"b\": 2",
                                 "{\"a\": [{}, {}, {}]}",
                                 "{}, {}]",
                                 "}, {\"a\": \"b\"c}",
                                 "1, {}, 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t at = 0;
        CU_ASSERT_FALSE(rlmr_event_guess(rlmr_scan_best(), rlmr_slice_of(texts[i]), &at));
    }
    size_t at = 0;
    CU_ASSERT_TRUE(rlmr_event_guess(rlmr_scan_best(), RLMR_SLICE("x\"} ,\n {\"a\": 1}, "), &at));
    CU_ASSERT_EQUAL(at, 7);
}

CU_TestInfo rlmr_tests_event_scan[] = {
    {"a path of this machine is the best", test_a_path_of_this_machine_is_the_best},
    {"an array may be empty", test_an_array_may_be_empty},
    {"events are given with their bounds", test_events_are_given_with_their_bounds},
    {"values are not looked at", test_values_are_not_looked_at},
    {"the keys looked for are seen", test_the_keys_looked_for_are_seen},
    {"an escape makes an event unsure", test_an_escape_makes_an_event_unsure},
    {"flags are those of their event", test_flags_are_those_of_their_event},
    {"damage between events is noticed", test_damage_between_events_is_noticed},
    {"damage inside an event is noticed", test_damage_inside_an_event_is_noticed},
    {"zero bytes are damage", test_zero_bytes_are_damage},
    {"a cut array stays open", test_a_cut_array_stays_open},
    {"depth has a limit", test_depth_has_a_limit},
    {"the bytes of an event have a limit", test_the_bytes_of_an_event_have_a_limit},
    {"an event that does not end is given up", test_an_event_that_does_not_end_is_given_up},
    {"a callback ends the scan", test_a_callback_ends_the_scan},
    {"offsets count from where the scan begins", test_offsets_count_from_where_the_scan_begins},
    {"random texts are scanned as byte by byte", test_random_texts_are_scanned_as_byte_by_byte},
    {"pieces of every size give the same", test_pieces_of_every_size_give_the_same},
    {"backslashes are counted over the edges of blocks",
     test_backslashes_are_counted_over_the_edges_of_blocks},
    {"a text is scanned alike at every place", test_a_text_is_scanned_alike_at_every_place},
    {"every byte means the same on every path", test_every_byte_means_the_same_on_every_path},
    {"a scan says whether an event may begin", test_a_scan_says_whether_an_event_may_begin},
    {"a guess is the first event of a range", test_a_guess_is_the_first_event_of_a_range},
    {"no guess is made without two events", test_no_guess_is_made_without_two_events},
    CU_TEST_INFO_NULL,
};
