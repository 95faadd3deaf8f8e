/** The scan of events against the parser, and their raw fields against the reader of traces. */
#include "json_parser.h"
#include "random_json.h"
#include "rlmr/event_fields.h"
#include "rlmr/trace_reader.h"

#include <CUnit/Basic.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Bounds by the parser ---- */

typedef struct {
    rlmr_event_bounds *events;
    size_t count;
    size_t room;
    rlmr_json_parser *parser; /* NULL for the scan */
    bool closed;              /* the end of the array was met, without an error before it */
    const rlmr_event_scan *scan;
    rlmr_slice text; /* that is scanned */

    int64_t end; /* behind the last event, or the array */
} bounds;

static void add_event(bounds *out, int64_t start, int64_t end, unsigned flags) {
    if (out->count == out->room) {
        out->room = 2 * out->room + 64;
        rlmr_event_bounds *grown = realloc(out->events, out->room * sizeof *grown);
        CU_ASSERT_PTR_NOT_NULL_FATAL(grown);
        out->events = grown;
    }
    out->events[out->count++] = (rlmr_event_bounds){.start = start, .end = end, .flags = flags};
    out->end = end;
}

static rlmr_status on_token(void *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    bounds *out = self;
    int64_t at = (int64_t)rlmr_json_parser_at(out->parser);
    (void)text;
    if (depth == 0) {
        out->closed = kind == RLMR_JSON_ARRAY_END;
        out->end = out->closed ? at : out->end;
        return kind == RLMR_JSON_ARRAY ? RLMR_OK : rlmr_error_set(err, RLMR_E_STOPPED, "end");
    }
    if (depth == 1 && kind == RLMR_JSON_OBJECT) {
        add_event(out, at - 1, 0, 0);
        out->count--; /* until it is complete */
    } else if (depth == 1 && kind == RLMR_JSON_OBJECT_END) {
        out->events[out->count++].end = at;
        out->end = at;
    } else if (depth == 1) {
        return rlmr_error_set(err, RLMR_E_PARSE, "no object");
    }
    return RLMR_OK;
}

/* Of `text`, which begins with the `[`. Offsets are those of it. */
static bounds parse_bounds(rlmr_slice text) {
    bounds out = {.end = 1};
    CU_ASSERT_EQUAL_FATAL(rlmr_json_parser_open(on_token, &out, &out.parser, NULL), RLMR_OK);
    rlmr_error err;
    rlmr_error_clear(&err);
    out.closed = false;
    CU_ASSERT_EQUAL(rlmr_json_parser_feed(out.parser, text, &err), err.code);
    rlmr_json_parser_close(out.parser);
    return out;
}

/* ---- Bounds by the scan ---- */

static rlmr_slice slice_of(rlmr_slice text, const rlmr_event_bounds *event) {
    return (rlmr_slice){.text = text.text + event->start, .bytes = (size_t)(event->end - event->start)};
}

static bool is_same_field(rlmr_raw_field a, rlmr_raw_field b) {
    return a.raw.text == b.raw.text && a.raw.bytes == b.raw.bytes && a.text == b.text &&
           a.escaped == b.escaped;
}

/* With the masks of the scan and with new ones the same is found. */
static bool is_found_alike(const bounds *out, const rlmr_event_bounds *event) {
    rlmr_event_fields found;
    rlmr_event_fields scanned;
    rlmr_slice text = slice_of(out->text, event);
    bool sure = rlmr_event_fields_find(out->scan->path, text, 1, &found);
    bool same = rlmr_event_fields_scanned(out->scan, event, text, &scanned) == sure;
#define IS_SAME(field, key, kind) same = same && (!sure || is_same_field(found.field, scanned.field));
    RLMR_RAW_EVENT_FIELDS(IS_SAME)
    RLMR_RAW_ARGS_FIELDS(IS_SAME)
#undef IS_SAME
    return same;
}

static rlmr_status note_bounds(void *self, const rlmr_event_bounds *event, rlmr_error *err) {
    (void)err;
    CU_ASSERT_TRUE(is_found_alike(self, event));
    add_event(self, event->start, event->end, event->flags);
    return RLMR_OK;
}

static bounds scan_bounds(rlmr_scan_path path, rlmr_slice text, size_t piece) {
    rlmr_event_scan scan;
    bounds out = {.end = 1, .scan = &scan, .text = text};
    rlmr_event_scan_begin(&scan, path, 1, 1);
    for (size_t at = 1; at < text.bytes; at += piece) {
        size_t rest = text.bytes - at;
        rlmr_slice fed = {.text = text.text + at, .bytes = rest < piece ? rest : piece};
        CU_ASSERT_EQUAL(rlmr_event_scan_feed(&scan, fed, note_bounds, &out, NULL), RLMR_OK);
    }
    out.closed = scan.state == RLMR_SCAN_CLOSED;
    CU_ASSERT_TRUE(out.closed || scan.good == out.end);
    out.end = scan.good;
    return out;
}

/* The scan gives what the parser gives, and goes on behind an error only if that is a value inside an event. */
static bool agree(rlmr_slice text, const bounds *parsed, const bounds *scanned) {
    bool same = scanned->count >= parsed->count;
    for (size_t i = 0; same && i < parsed->count; i++) {
        same = scanned->events[i].start == parsed->events[i].start &&
               scanned->events[i].end == parsed->events[i].end;
    }
    if (!same || parsed->closed) {
        return same && scanned->closed && scanned->count == parsed->count && scanned->end == parsed->end;
    }
    if (scanned->count == parsed->count) {
        return !scanned->closed;
    }
    rlmr_event_fields fields;
    rlmr_slice first = slice_of(text, &scanned->events[parsed->count]);
    return !rlmr_event_fields_find(rlmr_scan_best(), first, 1, &fields);
}

static bool check_bounds(rlmr_slice text, size_t piece) {
    bounds parsed = parse_bounds(text);
    bool closed = parsed.closed;
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        if (rlmr_scan_has((rlmr_scan_path)path)) {
            bounds scanned = scan_bounds((rlmr_scan_path)path, text, piece);
            bool same = agree(text, &parsed, &scanned);
            CU_ASSERT_TRUE(same);
            if (!same) {
                (void)fprintf(stderr, "\n    path %d, parsed %zu up to %lld, scanned %zu up to %lld: %.*s\n",
                              path, parsed.count, (long long)parsed.end, scanned.count,
                              (long long)scanned.end, (int)(text.bytes < 3000 ? text.bytes : 3000),
                              text.text);
            }
            free(scanned.events);
        }
    }
    free(parsed.events);
    return closed;
}

static void test_random_texts_have_the_bounds_of_the_parser(void) {
    random_json out = {.random = 3};
    size_t closed = 0;
    for (size_t i = 0; i < 100000; i++) {
        random_events(&out);
        if (i % 2 == 1) {
            random_damage(&out);
        }
        char text[RANDOM_JSON_BYTES + 1] = "[";
        memcpy(text + 1, out.text, out.bytes);
        closed += check_bounds((rlmr_slice){.text = text, .bytes = out.bytes + 1}, 1 + i % 200);
    }
    CU_ASSERT_TRUE(closed > 40000 && closed < 90000);
}

/* Events about as long as what is kept of the masks, and longer, behind short ones. */
static void test_long_events_have_the_fields_of_short_ones(void) {
    enum { LONGEST = 40000 };
    char *text = malloc((size_t)2 * LONGEST + 1000);
    for (size_t bytes = 100; bytes < LONGEST; bytes += bytes < 12000 || bytes > 18000 ? 1777 : 61) {
        char *at = stpcpy(text, "[");
        for (int i = 0; i < 2; i++) {
            at = stpcpy(at, "{\"name\":\"a\",\"ts\":1},{\"cat\":\"cpu_op\",\"args\":{\"Call stack\":\"");
            memset(at, 's', bytes);
            at[bytes / 2] = i == 0 ? '"' : 's'; /* damage, but only of values */
            memcpy(at + bytes / 2 + 1, i == 0 ? ",\"" : "ss", 2);
            at = stpcpy(at + bytes, "\",\"Sequence number\":7},\"dur\":3},");
        }
        at = stpcpy(at, "{}]");
        (void)check_bounds((rlmr_slice){.text = text, .bytes = (size_t)(at - text)}, 1 << 18);
        (void)check_bounds((rlmr_slice){.text = text, .bytes = (size_t)(at - text)}, 20000);
    }
    free(text);
}

/* ---- Fields ---- */

typedef struct {
    rlmr_slice text;
    const bounds *events;
    uint64_t sure;
    uint64_t differ;
    uint64_t unflagged; /* a key that is looked for, without its flag */
} comparison;

static rlmr_status keep_string(void *self, rlmr_json_kind kind, rlmr_slice text, int depth, rlmr_error *err) {
    (void)depth;
    rlmr_bytes_clear(self);
    return kind == RLMR_JSON_STRING ? rlmr_bytes_append(self, text.text, text.bytes, err) : RLMR_OK;
}

/* Whether the raw field is what the reader gave, decoded. */
static bool is_field(rlmr_raw_field raw, rlmr_slice wanted) {
    if (!raw.escaped) {
        return rlmr_slice_equal(raw.raw, wanted);
    }
    rlmr_json_parser *parser;
    rlmr_bytes decoded = {0};
    CU_ASSERT_EQUAL_FATAL(rlmr_json_parser_open(keep_string, &decoded, &parser, NULL), RLMR_OK);
    rlmr_slice quoted = {.text = raw.raw.text - 1, .bytes = raw.raw.bytes + 2};
    CU_ASSERT_EQUAL(rlmr_json_parser_feed(parser, quoted, NULL), RLMR_OK);
    bool same =
        rlmr_slice_equal((rlmr_slice){.text = (const char *)decoded.data, .bytes = decoded.bytes}, wanted);
    rlmr_json_parser_close(parser);
    rlmr_bytes_release(&decoded);
    return same && raw.text;
}

static rlmr_status compare_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    comparison *out = self;
    (void)err;
    CU_ASSERT_FATAL(event->number < out->events->count);
    const rlmr_event_bounds *at = &out->events->events[event->number];
    bool same = at->start == event->offset;
    for (int path = 0; path < RLMR_SCAN_PATHS; path++) {
        rlmr_event_fields fields;
        if (rlmr_scan_has((rlmr_scan_path)path) &&
            rlmr_event_fields_find((rlmr_scan_path)path, slice_of(out->text, at), 1, &fields)) {
#define IS_FIELD(field, key) same = same && is_field(fields.field, event->field);
            RLMR_EVENT_FIELDS(IS_FIELD)
            RLMR_ARGS_FIELDS(IS_FIELD)
#undef IS_FIELD
            out->sure += path == RLMR_SCAN_PORTABLE;
        } else if (rlmr_scan_has((rlmr_scan_path)path)) {
            same = same && memchr(out->text.text + at->start, '\\', (size_t)(at->end - at->start)) != NULL;
        }
    }
    out->differ += !same;
    out->unflagged +=
        (event->call_stack.bytes > 0 && (at->flags & (RLMR_EVENT_STACK | RLMR_EVENT_UNSURE)) == 0) ||
        (event->sequence.bytes > 0 && (at->flags & (RLMR_EVENT_SEQUENCE | RLMR_EVENT_UNSURE)) == 0);
    return RLMR_OK;
}

static rlmr_status no_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)self;
    (void)lost;
    (void)reason;
    (void)err;
    CU_ASSERT_EQUAL(offset, -2);
    return RLMR_OK;
}

/* All that is in the file of an array, which is not damaged. */
static comparison compare_file(const char *path, rlmr_slice text, const bounds *events) {
    comparison out = {.text = text, .events = events};
    rlmr_damage damage = {.met = no_damage};
    uint64_t count = 0;
    CU_ASSERT_EQUAL(rlmr_trace_read(path, true, compare_event, &out, &damage, NULL, &count, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(count, events->count);
    CU_ASSERT_EQUAL(out.differ, 0);
    CU_ASSERT_EQUAL(out.unflagged, 0);
    return out;
}

static char *new_directory(void) {
    char *directory;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&directory, "%s/rlmr-agreement-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    return directory;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_directory(char *directory) {
    CU_ASSERT_EQUAL(nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(directory);
}

static void test_fields_are_those_of_the_reader(void) {
    char *directory = new_directory();
    char *path;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_FATAL(asprintf(&path, "%s/trace_view.json", directory) > 0);
    random_json out = {.random = 5};
    (void)fputc('[', file);
    for (size_t added = 0; added < 20000;) {
        random_events(&out);
        out.text[out.bytes - 1] = ' ';
        char array[RANDOM_JSON_BYTES + 2] = "[";
        memcpy(array + 1, out.text, out.bytes);
        array[out.bytes + 1] = ']';
        bounds parsed = parse_bounds((rlmr_slice){.text = array, .bytes = out.bytes + 2});
        if (parsed.closed && parsed.count > 0) {
            (void)fprintf(file, added > 0 ? "," : "");
            (void)fwrite(out.text, 1, out.bytes, file);
            added += parsed.count;
        }
        free(parsed.events);
    }
    (void)fputc(']', file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    FILE *copy = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, copy), bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(copy), 0);

    rlmr_slice whole = {.text = text, .bytes = bytes};
    CU_ASSERT_TRUE(check_bounds(whole, 1 << 18));
    bounds events = scan_bounds(rlmr_scan_best(), whole, 4099);
    comparison compared = compare_file(path, whole, &events);
    CU_ASSERT_TRUE(compared.sure > 10000 && compared.sure < events.count);
    free(events.events);
    free(text);
    free(path);
    remove_directory(directory);
}

/* What is sure is right, and what is right is sure but for escapes in keys. */
static void test_an_event_is_sure_if_the_parser_takes_it(void) {
    random_json out = {.random = 9};
    size_t taken = 0;
    size_t refused = 0;
    for (size_t i = 0; i < 200000; i++) {
        out.bytes = 0;
        put_elements(&out, 0, true);
        if (i % 4 > 0) {
            random_damage(&out);
        }
        char array[RANDOM_JSON_BYTES + 2] = "[";
        memcpy(array + 1, out.text, out.bytes);
        array[out.bytes + 1] = ']';
        bounds parsed = parse_bounds((rlmr_slice){.text = array, .bytes = out.bytes + 2});
        bool right = parsed.closed && parsed.count == 1 && parsed.events[0].start == 1 &&
                     parsed.events[0].end == (int64_t)out.bytes + 1;
        rlmr_event_fields fields;
        bool sure =
            rlmr_event_fields_find((rlmr_scan_path)(i / 4 % 2 == 0 ? rlmr_scan_best() : RLMR_SCAN_PORTABLE),
                                   random_text(&out), 1, &fields);
        CU_ASSERT_TRUE(right || !sure);
        CU_ASSERT_TRUE(sure || !right || memchr(out.text, '\\', out.bytes) != NULL);
        if (right != sure && (sure || memchr(out.text, '\\', out.bytes) == NULL)) {
            (void)fprintf(stderr, "\n    %d %d %.*s\n", right, sure, (int)out.bytes, out.text);
        }
        taken += sure;
        refused += !right;
        free(parsed.events);
    }
    CU_ASSERT_TRUE(taken > 50000 && refused > 50000);
}

/* ---- Traces ---- */

static size_t traces_compared; /* nftw() passes nothing on */

static char *read_file(const char *path, size_t *bytes) {
    char *text = NULL;
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    text = malloc(*bytes + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(fread(text, 1, *bytes, file), *bytes);
    CU_ASSERT_EQUAL(fclose(file), 0);
    return text;
}

static int compare_trace(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    if (type != FTW_F || strcmp(path + place->base, "trace_view.json") != 0) {
        return 0;
    }
    size_t bytes;
    char *text = read_file(path, &bytes);
    rlmr_slice whole = {.text = text, .bytes = bytes};
    CU_ASSERT_FATAL(bytes > 0 && text[0] == '[');
    CU_ASSERT_TRUE(check_bounds(whole, 1 << 18));
    CU_ASSERT_TRUE(check_bounds(whole, 1009));
    bounds events = scan_bounds(rlmr_scan_best(), whole, 1 << 18);
    comparison compared = compare_file(path, whole, &events);
    CU_ASSERT_EQUAL(compared.sure, events.count);
    free(events.events);
    free(text);
    traces_compared++;
    return 0;
}

static void test_real_traces_agree(void) {
    static const char real[] = SOURCE_DIR "/../shared/data/real";
    if (access(real, R_OK) != 0) {
        (void)printf(" (skipped: no real captures beside the source) ");
        return;
    }
    traces_compared = 0;
    CU_ASSERT_EQUAL(nftw(real, compare_trace, 16, FTW_PHYS), 0);
    CU_ASSERT_TRUE(traces_compared >= 5);
}

static void test_generated_traces_agree(void) {
    char *directory = new_directory();
    char *command;
    CU_ASSERT_FATAL(asprintf(&command, "/usr/bin/python3 '%s' '%s' --roles actor_update --mb 3 >'%s/events'",
                             SOURCE_DIR "/tests/support/gen_memory.py", directory, directory) > 0);
    CU_ASSERT_EQUAL(system(command), 0);
    traces_compared = 0;
    CU_ASSERT_EQUAL(nftw(directory, compare_trace, 16, FTW_PHYS), 0);
    CU_ASSERT_EQUAL(traces_compared, 2);
    free(command);
    remove_directory(directory);
}

CU_TestInfo rlmr_tests_event_agreement[] = {
    {"random texts have the bounds of the parser", test_random_texts_have_the_bounds_of_the_parser},
    {"long events have the fields of short ones", test_long_events_have_the_fields_of_short_ones},
    {"fields are those of the reader", test_fields_are_those_of_the_reader},
    {"an event is sure if the parser takes it", test_an_event_is_sure_if_the_parser_takes_it},
    {"real traces agree", test_real_traces_agree},
    {"generated traces agree", test_generated_traces_agree},
    CU_TEST_INFO_NULL,
};
