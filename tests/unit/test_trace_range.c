/** A trace that is read in ranges: if all are sound, it is as if it were read at once. */
#include "random_json.h"
#include "rlmr/trace_reader.h"
#include "temp_file.h"

#include <CUnit/Basic.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGES_MAX 17

#ifdef __SANITIZE_ADDRESS__
enum { RANDOM_TEXTS = 200 }; /* each is opened and read hundreds of times, which the sanitizer makes slow */
#else
enum { RANDOM_TEXTS = 2000 };
#endif

/* ---- What comes of it ---- */

typedef struct {
    uint64_t before; /* events of the ranges before */
    uint64_t events;
    uint64_t given;
    uint64_t hash; /* of all that is given */
    uint64_t damages;
    bool sound;
} reading;

static void add_bytes(reading *out, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) { /* FNV-1a */
        out->hash = (out->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    }
}

static void add_slice(reading *out, rlmr_slice text) {
    add_bytes(out, &text.bytes, sizeof text.bytes);
    add_bytes(out, text.text, text.bytes);
}

static rlmr_status add_event(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    reading *out = self;
    uint64_t number = out->before + event->number;
    (void)err;
    out->given++;
    add_bytes(out, &number, sizeof number);
    add_bytes(out, &event->offset, sizeof event->offset);
    add_bytes(out, &event->call_stack_escaped, sizeof event->call_stack_escaped);
#define ADD_FIELD(field, key) add_slice(out, event->field);
    RLMR_EVENT_FIELDS(ADD_FIELD)
    RLMR_ARGS_FIELDS(ADD_FIELD)
#undef ADD_FIELD
    return RLMR_OK;
}

static rlmr_status add_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    reading *out = self;
    (void)offset;
    (void)lost;
    (void)reason;
    (void)err;
    out->damages++;
    return RLMR_OK;
}

static reading read_whole(const char *path, bool strict) {
    reading out = {.hash = 0xcbf29ce484222325};
    rlmr_damage damage = {.met = add_damage, .self = &out};
    CU_ASSERT_EQUAL(rlmr_trace_read(path, strict, add_event, &out, &damage, NULL, &out.events, NULL),
                    RLMR_OK);
    out.sound = out.damages == 0;
    return out;
}

typedef struct {
    int64_t told;
} meter;

static rlmr_status count_bytes(void *self, size_t bytes, rlmr_error *err) {
    (void)err;
    ((meter *)self)->told += (int64_t)bytes;
    return RLMR_OK;
}

/* @param ends of the ranges, the last INT64_MAX */
static reading read_ranges(const char *path, bool strict, const int64_t *ends, size_t count) {
    reading out = {.hash = 0xcbf29ce484222325, .sound = true};
    meter counted = {.told = 0};
    rlmr_meter told = {.advance = count_bytes, .self = &counted};
    int64_t from = 0;
    for (size_t i = 0; i < count && out.sound; i++) {
        rlmr_file_range range = {.path = path, .from = from, .to = ends[i]};
        uint64_t events = 99;
        rlmr_error err;
        rlmr_error_clear(&err);
        CU_ASSERT_EQUAL(
            rlmr_trace_read_range(&range, strict, add_event, &out, &told, &events, &out.sound, &err),
            RLMR_OK);
        CU_ASSERT_EQUAL(err.code, RLMR_OK);
        out.before += events;
        from = ends[i];
    }
    out.events = out.before;
    if (out.sound) {
        FILE *file = fopen(path, "r");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(fseek(file, 0, SEEK_END), 0);
        CU_ASSERT_EQUAL(counted.told, ftell(file));
        CU_ASSERT_EQUAL(fclose(file), 0);
    }
    return out;
}

/* What is sound is right. @return whether it is sound */
static bool check_ranges(const char *path, bool strict, const reading *whole, const int64_t *ends,
                         size_t count) {
    reading got = read_ranges(path, strict, ends, count);
    bool right = !got.sound || (whole->sound && got.events == whole->events && got.given == whole->given &&
                                got.hash == whole->hash);
    CU_ASSERT_TRUE(right);
    if (!right) {
        (void)fprintf(stderr,
                      "\n    %zu ranges, first end %lld: %d events, %d given, wanted %d, %d, damages %d\n",
                      count, (long long)ends[0], (int)got.events, (int)got.given, (int)whole->events,
                      (int)whole->given, (int)whole->damages);
    }
    return got.sound;
}

static int64_t guess(const char *path, int64_t offset) {
    int64_t start = -1;
    CU_ASSERT_EQUAL(rlmr_trace_guess(path, offset, &start, NULL), RLMR_OK);
    CU_ASSERT_TRUE(start >= offset);
    return start;
}

/* As processes would share it. @return the number of ranges that are not empty, 0 if it is not sound */
static size_t check_shared(const char *path, int64_t bytes, bool strict, const reading *whole, size_t count) {
    int64_t ends[RANGES_MAX];
    size_t filled = 1;
    for (size_t i = 0; i + 1 < count; i++) {
        ends[i] = guess(path, bytes * (int64_t)(i + 1) / (int64_t)count);
        filled += ends[i] < bytes && (i == 0 || ends[i] > ends[i - 1]);
    }
    ends[count - 1] = INT64_MAX;
    return check_ranges(path, strict, whole, ends, count) ? filled : 0;
}

/* ---- Small texts ---- */

#define STACK                                                                                                \
    "{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"ts\":\"1.5\",\"args\":{\"Call "                      \
    "stack\":\"a},{\\\"b;\\r\\nc\"}}"
#define PLAIN "{\"ph\":\"C\",\"name\":\"},{ \",\"l\":[{\"x\":1},{\"y\":{}}, {\"z\":[]}]}"
#define MANY PLAIN "," STACK " ,\n " PLAIN "," PLAIN "\n,\n" STACK ",{}"

static const char *const whole_texts[] = {
    "[" MANY "]\n",
    "{\"a\":[{\"b\":1},{\"c\":2},{\"d\":{}}],\"traceEvents\":[" MANY "],\"e\":[{\"f\":1},{\"g\":2}]}",
    "\xEF\xBB\xBF [ " MANY " ] ",
    "[]",
    "{\"traceEvents\":[]}",
};

static const char *const damaged_texts[] = {
    "[" MANY ", 5," MANY "]",
    "[" MANY "," MANY,
    "[" MANY "," STACK ",]",
    "[" MANY "]]",
    "[" MANY "{}]",
    "[" MANY ",{\"cat\":\"cpu_op\",\"ts\":1x}," MANY "]",
    "[" MANY ",{\"a\":\"b}," MANY "]",
    "{\"events\":[" MANY "]}",
    "{\"traceEvents\":[" MANY "],\"e\":[NaN]}",
    "",
    "{},{},{},{}",
};

/* Every place for one end, and every pair of some. */
static void check_every_split(const char *path, size_t bytes, bool strict, const reading *whole) {
    for (size_t at = 0; at <= bytes; at++) {
        int64_t ends[] = {(int64_t)at, 0, INT64_MAX};
        ends[1] = INT64_MAX;
        (void)check_ranges(path, strict, whole, ends, 2);
        for (size_t then = at % 29; at % 7 == 0 && then <= bytes; then += 29) {
            ends[1] = (int64_t)then;
            (void)check_ranges(path, strict, whole, ends, 3);
        }
    }
}

static void check_texts(const char *const *texts, size_t count, bool sound) {
    temp_file file = temp_file_open("trace_view.json");
    for (size_t i = 0; i < count; i++) {
        for (int strict = 0; strict < 2; strict++) {
            rlmr_slice text = rlmr_slice_of(texts[i]);
            temp_file_write(&file, text);
            reading whole = read_whole(file.path, false);
            reading strictly = read_whole(file.path, true);
            CU_ASSERT_EQUAL(whole.sound, sound);
            check_every_split(file.path, text.bytes, strict, strict ? &strictly : &whole);
            for (size_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
                bool all = check_shared(file.path, (int64_t)text.bytes, strict, strict ? &strictly : &whole,
                                        ranges) > 0;
                CU_ASSERT_TRUE(sound || !all);
                CU_ASSERT_TRUE(all || !sound || ranges > 1);
            }
        }
    }
    temp_file_remove(&file);
}

static void test_any_split_that_is_sound_is_right(void) {
    check_texts(whole_texts, sizeof whole_texts / sizeof *whole_texts, true);
}

static void test_what_is_damaged_is_not_sound(void) {
    check_texts(damaged_texts, sizeof damaged_texts / sizeof *damaged_texts, false);
}

/* An end between two events is sound, and no other is. */
static void test_a_range_ends_between_events(void) {
    temp_file file = temp_file_open("trace_view.json");
    const char *text = whole_texts[1];
    int64_t bytes = (int64_t)strlen(text);
    temp_file_write(&file, rlmr_slice_of(text));
    reading whole = read_whole(file.path, false);
    size_t sound = 0;
    for (int64_t at = 1; at < bytes; at++) {
        int64_t ends[] = {at, INT64_MAX};
        sound += check_ranges(file.path, false, &whole, ends, 2);
    }
    CU_ASSERT_EQUAL(whole.events, 6);
    CU_ASSERT_EQUAL(sound, 6);
    temp_file_remove(&file);
}

static void test_ranges_may_be_empty_but_not_turn_back(void) {
    temp_file file = temp_file_open("trace_view.json");
    const char *text = whole_texts[0];
    int64_t bytes = (int64_t)strlen(text);
    temp_file_write(&file, rlmr_slice_of(text));
    reading whole = read_whole(file.path, false);
    int64_t second = strstr(text, STACK) - text;
    int64_t empty[] = {second, second, INT64_MAX};
    CU_ASSERT_TRUE(check_ranges(file.path, false, &whole, empty, 3));
    int64_t last[] = {bytes, bytes, INT64_MAX};
    CU_ASSERT_TRUE(check_ranges(file.path, false, &whole, last, 3));
    int64_t back[] = {bytes, second, INT64_MAX};
    CU_ASSERT_FALSE(check_ranges(file.path, false, &whole, back, 3));
    temp_file_remove(&file);
}

static void test_random_texts_in_random_ranges(void) {
    temp_file file = temp_file_open("trace_view.json");
    random_json out = {.random = 23};
    size_t sound = 0;
    for (size_t i = 0; i < RANDOM_TEXTS; i++) {
        random_events(&out);
        if (i % 3 == 2) {
            random_damage(&out);
        }
        char text[RANDOM_JSON_BYTES + 1] = "[";
        memcpy(text + 1, out.text, out.bytes);
        temp_file_write(&file, (rlmr_slice){.text = text, .bytes = out.bytes + 1});
        bool strict = i % 2 == 1;
        reading whole = read_whole(file.path, strict);
        int64_t ends[4] = {0, 0, 0, INT64_MAX};
        for (size_t k = 0; k < 3; k++) {
            /* mostly where something may begin */
            size_t at = random_roll(&out, out.bytes + 2);
            const char *brace =
                k == 0 ? NULL : memchr(text + at, '{', out.bytes + 1 - (at > out.bytes ? out.bytes + 1 : at));
            ends[k] = brace == NULL ? guess(file.path, (int64_t)at) : brace - text;
        }
        sound += check_ranges(file.path, strict, &whole, ends, 4);
        (void)check_shared(file.path, (int64_t)out.bytes + 1, strict, &whole, 1 + i % RANGES_MAX);
    }
    CU_ASSERT_TRUE(sound > RANDOM_TEXTS / 30 && sound < RANDOM_TEXTS * 5 / 6);
    temp_file_remove(&file);
}

/* ---- Ordinary files ---- */

static size_t traces_checked; /* nftw() passes nothing on */

static int check_trace(const char *path, const struct stat *status, int type, struct FTW *place) {
    if (type != FTW_F || strcmp(path + place->base, "trace_view.json") != 0) {
        return 0;
    }
    reading whole = read_whole(path, false);
    CU_ASSERT_TRUE(whole.sound);
    for (size_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
        size_t filled = check_shared(path, status->st_size, false, &whole, ranges);
        CU_ASSERT_TRUE(filled > 0);
        CU_ASSERT_TRUE(filled == ranges || status->st_size < (int64_t)RANGES_MAX * 8192);
    }
    traces_checked++;
    return 0;
}

static void test_real_traces_are_read_in_ranges(void) {
    static const char real[] = SOURCE_DIR "/../shared/data/real";
    if (access(real, R_OK) != 0) {
        (void)printf(" (skipped: no real captures beside the source) ");
        return;
    }
    traces_checked = 0;
    CU_ASSERT_EQUAL(nftw(real, check_trace, 16, FTW_PHYS), 0);
    CU_ASSERT_TRUE(traces_checked >= 5);
}

static void test_generated_traces_are_read_in_ranges(void) {
    temp_file file = temp_file_open("trace_view.json");
    char *command;
    CU_ASSERT_FATAL(asprintf(&command, "/usr/bin/python3 '%s' '%s' --roles actor_update --mb 3 >'%s/events'",
                             SOURCE_DIR "/tests/support/gen_memory.py", file.directory, file.directory) > 0);
    CU_ASSERT_EQUAL(system(command), 0);
    traces_checked = 0;
    CU_ASSERT_EQUAL(nftw(file.directory, check_trace, 16, FTW_PHYS), 0);
    CU_ASSERT_EQUAL(traces_checked, 2);
    free(command);
    temp_file_remove(&file);
}

/* ---- Ends ---- */

static rlmr_status refuse(void *self, const rlmr_trace_event *event, rlmr_error *err) {
    (void)self;
    (void)event;
    return rlmr_error_set(err, RLMR_E_RANGE, "no more of it");
}

static void test_the_taker_of_events_may_end_a_range(void) {
    temp_file file = temp_file_open("trace_view.json");
    temp_file_write(&file, rlmr_slice_of(whole_texts[0]));
    uint64_t events;
    bool sound = true;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_trace_read_range(&(rlmr_file_range){file.path, 0, INT64_MAX}, false, refuse, NULL,
                                          NULL, &events, &sound, &err),
                    RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    CU_ASSERT_FALSE(sound);
    temp_file_remove(&file);
}

static void test_a_file_that_is_not_there_has_no_ranges(void) {
    temp_file file = temp_file_open("trace_view.json");
    uint64_t events = 99;
    bool sound = true;
    int64_t start;
    CU_ASSERT_EQUAL(rlmr_trace_guess(file.path, 5, &start, NULL), RLMR_E_INPUT);
    CU_ASSERT_EQUAL(rlmr_trace_read_range(&(rlmr_file_range){file.path, 0, INT64_MAX}, false, refuse, NULL,
                                          NULL, &events, &sound, NULL),
                    RLMR_E_INPUT);
    CU_ASSERT_FALSE(sound);
    CU_ASSERT_EQUAL(events, 0);
    temp_file_remove(&file);
}

CU_TestInfo rlmr_tests_trace_range[] = {
    {"any split that is sound is right", test_any_split_that_is_sound_is_right},
    {"what is damaged is not sound", test_what_is_damaged_is_not_sound},
    {"a range ends between events", test_a_range_ends_between_events},
    {"ranges may be empty, but not turn back", test_ranges_may_be_empty_but_not_turn_back},
    {"random texts in random ranges", test_random_texts_in_random_ranges},
    {"real traces are read in ranges", test_real_traces_are_read_in_ranges},
    {"generated traces are read in ranges", test_generated_traces_are_read_in_ranges},
    {"the taker of events may end a range", test_the_taker_of_events_may_end_a_range},
    {"a file that is not there has no ranges", test_a_file_that_is_not_there_has_no_ranges},
    CU_TEST_INFO_NULL,
};
