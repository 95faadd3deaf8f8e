#include "rlmr/sqlite_writer.h"

#include <CUnit/Basic.h>

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char definition[] =
    "CREATE TABLE \"probe\" (\n\"name\" TEXT,\n  \"size\" REAL,\n  \"count\" INTEGER\n)";

typedef struct {
    char path[512];
    char target[600]; /* "out.db" in it */
} scratch;

static scratch scratch_open(void) {
    scratch made;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(made.path, sizeof made.path, "%s/rlmr-sqlite-XXXXXX", parent == NULL ? "/tmp" : parent);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.path));
    (void)snprintf(made.target, sizeof made.target, "%s/out.db", made.path);
    return made;
}

/* Nothing but the target may be left, no journal either. */
static void scratch_close(const scratch *used) {
    (void)unlink(used->target);
    CU_ASSERT_EQUAL(rmdir(used->path), 0);
}

static rlmr_sqlite *create(const char *target) {
    rlmr_sqlite *file = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_sqlite_create(target, false, &file, &err), RLMR_OK);
    return file;
}

static void put_row(rlmr_sqlite *file, const char *name, double size, int64_t count) {
    rlmr_sqlite_text(file, rlmr_slice_of(name));
    rlmr_sqlite_f64(file, size);
    rlmr_sqlite_i64(file, count);
    rlmr_sqlite_end_row(file);
}

/* The first column of the first row, as text. */
static void check_query(const char *path, const char *sql, const char *expected) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_step(statement), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    CU_ASSERT_STRING_EQUAL(text == NULL ? "NULL" : text, expected);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
}

static void write_sample(const char *target, int rows) {
    rlmr_sqlite *file = create(target);
    rlmr_sqlite_table(file, "none", "CREATE TABLE none (a)", 1);
    rlmr_sqlite_table(file, "probe", definition, 3);
    for (int i = 0; i < rows; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "name %d", i);
        put_row(file, name, i % 3 == 0 ? NAN : i / 2.0, i);
    }
    CU_ASSERT_EQUAL(rlmr_sqlite_commit(file, NULL), RLMR_OK);
}

static void test_rows_come_back(void) {
    scratch place = scratch_open();
    write_sample(place.target, 3000);
    check_query(place.target, "PRAGMA integrity_check", "ok");
    check_query(place.target, "SELECT count(*) || ' ' || sum(count) FROM probe", "3000 4498500");
    check_query(place.target, "SELECT size FROM probe WHERE name = 'name 7'", "3.5");
    check_query(place.target, "SELECT size FROM probe WHERE name = 'name 6'", "NULL");
    check_query(place.target, "SELECT sql FROM sqlite_master", definition);
    check_query(place.target, "SELECT group_concat(name) FROM sqlite_master", "probe"); /* none has no rows */
    scratch_close(&place);
}

static void test_cells_keep_their_kind(void) {
    scratch place = scratch_open();
    rlmr_sqlite *file = create(place.target);
    rlmr_sqlite_table(file, "kinds", "CREATE TABLE kinds (a, b, c, d, e)", 5);
    rlmr_sqlite_text(file, (rlmr_slice){NULL, 0});
    rlmr_sqlite_text(file, (rlmr_slice){"cut here", 3});
    rlmr_sqlite_i64(file, INT64_MIN);
    rlmr_sqlite_f64(file, 1);
    rlmr_sqlite_null(file);
    rlmr_sqlite_end_row(file);
    CU_ASSERT_EQUAL(rlmr_sqlite_commit(file, NULL), RLMR_OK);
    check_query(place.target, "SELECT quote(a)||quote(b)||quote(c)||quote(d)||quote(e) FROM kinds",
                "'''cut'-92233720368547758081.0NULL");
    scratch_close(&place);
}

static void test_a_row_of_another_length_is_an_error(void) {
    scratch place = scratch_open();
    rlmr_sqlite *file = create(place.target);
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_sqlite_table(file, "probe", definition, 3);
    put_row(file, "good", 1, 1);
    rlmr_sqlite_i64(file, 1);
    rlmr_sqlite_end_row(file);
    put_row(file, "late", 1, 1);
    CU_ASSERT_EQUAL(rlmr_sqlite_commit(file, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "1 cells for the 3 columns of probe"));
    CU_ASSERT_NOT_EQUAL(access(place.target, F_OK), 0);
    scratch_close(&place);
}

static void test_an_error_of_sqlite_is_readable(void) {
    scratch place = scratch_open();
    rlmr_sqlite *file = create(place.target);
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_sqlite_table(file, "probe", "CREATE NONSENSE", 1);
    rlmr_sqlite_i64(file, 1);
    rlmr_sqlite_end_row(file);
    CU_ASSERT_EQUAL(rlmr_sqlite_commit(file, &err), RLMR_E_OUTPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "NONSENSE"));
    scratch_close(&place);
}

static void test_a_discard_leaves_nothing(void) {
    scratch place = scratch_open();
    rlmr_sqlite *file = create(place.target);
    CU_ASSERT_EQUAL(access(rlmr_sqlite_temporary(file), F_OK), 0);
    rlmr_sqlite_table(file, "probe", definition, 3);
    for (int i = 0; i < 100000; i++) {
        put_row(file, "a name that fills the cache", 1, i);
    }
    rlmr_sqlite_discard(file);
    rlmr_sqlite_discard(NULL);
    scratch_close(&place);
}

static char *take_file(const char *path, size_t *bytes) {
    struct stat seen;
    FILE *stream = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL_FATAL(fstat(fileno(stream), &seen), 0);
    char *data = malloc((size_t)seen.st_size + 1);
    *bytes = fread(data, 1, (size_t)seen.st_size, stream);
    (void)fclose(stream);
    return data;
}

static void test_the_bytes_are_the_same_every_time(void) {
    scratch place = scratch_open();
    size_t bytes_a;
    size_t bytes_b;
    write_sample(place.target, 2000);
    char *a = take_file(place.target, &bytes_a);
    CU_ASSERT_EQUAL(unlink(place.target), 0);
    write_sample(place.target, 2000);
    char *b = take_file(place.target, &bytes_b);
    CU_ASSERT_TRUE(bytes_a == bytes_b && bytes_a > 4096 && memcmp(a, b, bytes_a) == 0);
    free(a);
    free(b);
    scratch_close(&place);
}

/* SQLite's own layer takes no path over 512 bytes. */
static void test_a_long_path_serves(void) {
    scratch place = scratch_open();
    char path[PATH_MAX];
    size_t used = (size_t)snprintf(path, sizeof path, "%s", place.path);
    size_t ends[4];
    for (int i = 0; i < 4; i++) {
        path[used++] = '/';
        memset(path + used, 'd', 200);
        used += 200;
        path[used] = '\0';
        ends[i] = used;
        CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    }
    (void)snprintf(path + used, sizeof path - used, "/out.db");
    write_sample(path, 10);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    for (int i = 3; i >= 0; i--) {
        path[ends[i]] = '\0';
        CU_ASSERT_EQUAL(rmdir(path), 0);
    }
    scratch_close(&place);
}

/* At every size: in the first page, in the cache's pages, at the commit. */
static void test_a_full_disk_is_an_error_and_no_more(void) {
    scratch place = scratch_open();
    struct rlimit old;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    CU_ASSERT_EQUAL_FATAL(sigaction(SIGXFSZ, &ignore, &before), 0);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t limit = 0; limit < 200000; limit = limit * 3 / 2 + 1000) {
        struct rlimit small = {.rlim_cur = limit, .rlim_max = old.rlim_max};
        rlmr_error err;
        rlmr_error_clear(&err);
        rlmr_sqlite *file = create(place.target);
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
        rlmr_sqlite_table(file, "probe", definition, 3);
        for (int i = 0; i < 20000; i++) {
            put_row(file, "a name", 1, i);
        }
        rlmr_status status = rlmr_sqlite_commit(file, &err);
        (void)setrlimit(RLIMIT_FSIZE, &old);
        CU_ASSERT_EQUAL(status, RLMR_E_OUTPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ulimit -f"));
        CU_ASSERT_NOT_EQUAL(access(place.target, F_OK), 0);
    }
    (void)sigaction(SIGXFSZ, &before, NULL);
    scratch_close(&place);
}

CU_TestInfo rlmr_tests_sqlite_writer[] = {
    {"rows come back, and a table without rows is not there", test_rows_come_back},
    {"cells keep their kind", test_cells_keep_their_kind},
    {"a row of another length is an error", test_a_row_of_another_length_is_an_error},
    {"an error of SQLite is readable", test_an_error_of_sqlite_is_readable},
    {"a discard leaves nothing", test_a_discard_leaves_nothing},
    {"the bytes are the same every time", test_the_bytes_are_the_same_every_time},
    {"a long path serves", test_a_long_path_serves},
    {"a full disk, at whatever size, is an error and no more", test_a_full_disk_is_an_error_and_no_more},
    CU_TEST_INFO_NULL,
};
