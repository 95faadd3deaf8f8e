/** A CSV file that is read in ranges: if all are sound, it is as if it were read at once. */
#include "rlmr/csv_reader.h"
#include "temp_file.h"

#include <CUnit/Basic.h>

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
    FILE *file;
    char *text; /* of the rows */
    size_t bytes;
    uint64_t before; /* rows of the ranges before */
    bool later;      /* in a range that is not the first: its titles were given before */
    uint64_t rows;
    bool sound;
} reading;

static void open_reading(reading *out) {
    *out = (reading){.sound = true};
    out->file = open_memstream(&out->text, &out->bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out->file);
}

static void close_reading(reading *out) {
    CU_ASSERT_EQUAL(fclose(out->file), 0);
}

static rlmr_status note_row(void *self, const rlmr_csv_row *row, rlmr_error *err) {
    reading *out = self;
    (void)err;
    if (out->later && row->number == 0) {
        return RLMR_OK;
    }
    (void)fprintf(out->file, "%llu@%lld:", (unsigned long long)(out->before + row->number),
                  (long long)row->offset);
    for (size_t i = 0; i < row->count; i++) {
        (void)fputc('<', out->file);
        (void)fwrite(row->cells[i].text, 1, row->cells[i].bytes, out->file);
        (void)fputc('>', out->file);
    }
    (void)fprintf(out->file, "%s%s\n", row->in_quotes ? "?" : "", row->unended ? "!" : "");
    return RLMR_OK;
}

static rlmr_status note_lost(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)offset;
    (void)lost;
    (void)reason;
    (void)err;
    ((reading *)self)->sound = false;
    return RLMR_OK;
}

static void read_whole(const char *path, reading *out) {
    open_reading(out);
    rlmr_damage damage = {.met = note_lost, .self = out};
    CU_ASSERT_EQUAL(rlmr_csv_read(path, note_row, out, &damage, NULL, NULL), RLMR_OK);
    close_reading(out);
}

static rlmr_status count_bytes(void *self, size_t bytes, rlmr_error *err) {
    (void)err;
    *(int64_t *)self += (int64_t)bytes;
    return RLMR_OK;
}

static bool check_ranges(const char *path, int64_t bytes, const reading *whole, const int64_t *ends,
                         size_t count) {
    reading got;
    int64_t told = 0;
    rlmr_meter meter = {.advance = count_bytes, .self = &told};
    open_reading(&got);
    int64_t from = 0;
    for (size_t i = 0; i < count && got.sound; i++) {
        rlmr_file_range range = {.path = path, .from = from, .to = ends[i]};
        uint64_t rows = 99;
        rlmr_error err;
        rlmr_error_clear(&err);
        CU_ASSERT_EQUAL(rlmr_csv_read_range(&range, note_row, &got, &meter, &rows, &got.sound, &err),
                        RLMR_OK);
        CU_ASSERT_EQUAL(err.code, RLMR_OK);
        got.before += rows;
        got.later = got.later || ends[i] > 0;
        from = ends[i];
    }
    close_reading(&got);
    bool right = !got.sound || (whole->sound && strcmp(got.text, whole->text) == 0 && told == bytes);
    CU_ASSERT_TRUE(right);
    if (!right) {
        (void)fprintf(stderr,
                      "\n    %zu ranges, first end %lld, told %lld of %lld\n%.300s    wanted:\n%.300s", count,
                      (long long)ends[0], (long long)told, (long long)bytes, got.text, whole->text);
    }
    free(got.text);
    return got.sound;
}

static bool check_shared(const char *path, int64_t bytes, const reading *whole, size_t count) {
    int64_t ends[RANGES_MAX];
    for (size_t i = 0; i + 1 < count; i++) {
        ends[i] = -1;
        int64_t offset = bytes * (int64_t)(i + 1) / (int64_t)count;
        CU_ASSERT_EQUAL(rlmr_csv_guess(path, offset, &ends[i], NULL), RLMR_OK);
        CU_ASSERT_TRUE(ends[i] >= offset);
    }
    ends[count - 1] = INT64_MAX;
    return check_ranges(path, bytes, whole, ends, count);
}

/* At every place, and where a line end seems to be behind it; then shared among processes. */
static size_t check_text(const temp_file *file, rlmr_slice text, bool wanted_sound) {
    reading whole;
    temp_file_write(file, text);
    read_whole(file->path, &whole);
    CU_ASSERT_EQUAL(whole.sound, wanted_sound);
    size_t sound = 0;
    for (size_t at = 0; at <= text.bytes; at++) {
        int64_t start;
        CU_ASSERT_EQUAL(rlmr_csv_guess(file->path, (int64_t)at, &start, NULL), RLMR_OK);
        int64_t guessed[] = {start, INT64_MAX};
        int64_t ends[] = {start, start, INT64_MAX};
        sound += check_ranges(file->path, (int64_t)text.bytes, &whole, guessed, 2);
        (void)check_ranges(file->path, (int64_t)text.bytes, &whole, ends, 3);
    }
    for (size_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
        bool all = check_shared(file->path, (int64_t)text.bytes, &whole, ranges);
        CU_ASSERT_TRUE(all || !wanted_sound || ranges > 1);
    }
    free(whole.text);
    return sound;
}

static void test_any_split_that_is_sound_is_right(void) {
    static const char *const texts[] = {
        "a,b\n1,2\n3,4\n5,6\n",
        "a,b\r\n1,2\r\n3,4\r\n\r\n5,6",
        "a,b\r1,2\r3,4\r5,6\r",
        "\xEF\xBB\xBF\n  \na,b\n1,2\n\n \n3,4",
        "a,\"b\nc\"\n1,\"2,\n\"\"3\"\"\"\n\"\n\n\",4\n5,6\n",
        "a,b\r\n\"1\r\n,2\",3\r\n4,\"\r\"\r\n5,6\r\n",
        "a,b",
        "a,b\n",
        "",
        "\n\n",
        "a,b\n1,\"2",
    };
    temp_file file = temp_file_open("operator_memory.csv");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_TRUE(check_text(&file, rlmr_slice_of(texts[i]), true) > 0);
    }
    temp_file_remove(&file);
}

/* Without quotes that hold line ends every split is sound. */
static void test_ordinary_rows_are_sound_everywhere(void) {
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    temp_file file = temp_file_open("operator_memory.csv");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[400];
        char *at = stpcpy(stpcpy(text, "Name,Size(KB),Time(us)"), ends[i]);
        for (int row = 0; row < 7; row++) {
            at = stpcpy(stpcpy(at, row % 2 == 0 ? "aten::add,4.5,\"17,5\"" : "\"x\"\"y\",,"), ends[i]);
        }
        rlmr_slice content = rlmr_slice_of(text);
        CU_ASSERT_EQUAL(check_text(&file, content, true), content.bytes + 1);
        reading whole;
        read_whole(file.path, &whole);
        for (size_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
            CU_ASSERT_TRUE(check_shared(file.path, (int64_t)content.bytes, &whole, ranges));
        }
        free(whole.text);
    }
    temp_file_remove(&file);
}

static void test_a_file_that_loses_rows_is_not_sound(void) {
    static const char *const texts[] = {
        "a,b\n1,\"2\n3,4\n5,6\n",
        "a,b\n1,\"2\n\"x\"y,4\n5,6\n",
        "a,\"b\n1,2\n3,4\n",
    };
    temp_file file = temp_file_open("operator_memory.csv");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_EQUAL(check_text(&file, rlmr_slice_of(texts[i]), false), 0);
    }
    temp_file_remove(&file);
}

static void test_random_texts_are_right(void) {
    static const char *const parts[] = {"a",  "1.5", ",",  ",",    "\n", "\n",    "\r\n",
                                        "\r", "\"",  "\"", "\"\"", " ",  "\"x\"", ",\"y\nz\","};
    uint64_t random = 31;
    size_t sound = 0;
    temp_file file = temp_file_open("operator_memory.csv");
    for (size_t i = 0; i < RANDOM_TEXTS; i++) {
        char text[400] = "";
        char *at = stpcpy(text, i % 2 == 0 ? "a,b\n" : "");
        for (size_t count = 0; count < 3 + i % 30; count++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            at = stpcpy(at, parts[(random >> 33) % (sizeof parts / sizeof *parts)]);
        }
        temp_file_write(&file, rlmr_slice_of(text));
        reading whole;
        read_whole(file.path, &whole);
        for (int64_t place = 0; place <= at - text; place += 3) {
            int64_t start;
            CU_ASSERT_EQUAL(rlmr_csv_guess(file.path, place, &start, NULL), RLMR_OK);
            int64_t ends[] = {start, INT64_MAX};
            sound += check_ranges(file.path, at - text, &whole, ends, 2);
        }
        (void)check_shared(file.path, at - text, &whole, 1 + i % RANGES_MAX);
        free(whole.text);
    }
    CU_ASSERT_TRUE(sound > RANDOM_TEXTS);
    temp_file_remove(&file);
}

/* Over the borders of the pieces in which a file is read. */
static void test_long_files_are_read_in_ranges(void) {
    enum { ROWS = 20000 };
    char *text = malloc((size_t)ROWS * 32);
    char *at = stpcpy(text, "Name,Size(KB)\n");
    for (int row = 0; row < ROWS; row++) {
        at += sprintf(at, "op%d,\"%d\"\r\n", row * 7919 % 1000, row);
    }
    temp_file file = temp_file_open("operator_memory.csv");
    temp_file_write(&file, (rlmr_slice){text, (size_t)(at - text)});
    reading whole;
    read_whole(file.path, &whole);
    for (size_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
        CU_ASSERT_TRUE(check_shared(file.path, at - text, &whole, ranges));
    }
    free(whole.text);
    free(text);
    temp_file_remove(&file);
}

static rlmr_status refuse(void *self, const rlmr_csv_row *row, rlmr_error *err) {
    (void)self;
    return row->number == 0 ? RLMR_OK : rlmr_error_set(err, RLMR_E_RANGE, "no more of it");
}

static void test_the_taker_of_rows_may_end_a_range(void) {
    temp_file file = temp_file_open("operator_memory.csv");
    temp_file_write(&file, RLMR_SLICE("a,b\n1,2\n3,4\n"));
    uint64_t rows;
    bool sound = true;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_csv_read_range(&(rlmr_file_range){file.path, 8, INT64_MAX}, refuse, NULL, NULL,
                                        &rows, &sound, &err),
                    RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    CU_ASSERT_FALSE(sound);
    temp_file_remove(&file);
    temp_file none = temp_file_open("operator_memory.csv");
    int64_t start;
    CU_ASSERT_EQUAL(rlmr_csv_guess(none.path, 8, &start, NULL), RLMR_E_INPUT);
    CU_ASSERT_EQUAL(
        rlmr_csv_read_range(&(rlmr_file_range){none.path, 0, 8}, refuse, NULL, NULL, &rows, &sound, NULL),
        RLMR_E_INPUT);
    temp_file_remove(&none);
}

CU_TestInfo rlmr_tests_csv_range[] = {
    {"any split that is sound is right", test_any_split_that_is_sound_is_right},
    {"ordinary rows are sound everywhere", test_ordinary_rows_are_sound_everywhere},
    {"a file that loses rows is not sound", test_a_file_that_loses_rows_is_not_sound},
    {"random texts are right", test_random_texts_are_right},
    {"long files are read in ranges", test_long_files_are_read_in_ranges},
    {"the taker of rows may end a range", test_the_taker_of_rows_may_end_a_range},
    CU_TEST_INFO_NULL,
};
