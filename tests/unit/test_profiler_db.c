#include "rlmr/profiler_db.h"

#include "rlmr/limits.h"

#include <CUnit/Basic.h>

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The database that is read ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static fixture new_fixture(const char *name) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-db-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/%s", made.directory, name) > 0);
    return made;
}

static void remove_fixture(fixture *made) {
    CU_ASSERT_EQUAL(unlink(made->path), 0);
    CU_ASSERT_EQUAL(rmdir(made->directory), 0);
    free(made->path);
    free(made->directory);
}

static void execute(sqlite3 *db, const char *sql) {
    char *message = NULL;
    CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK);
    if (message != NULL) {
        (void)fprintf(stderr, "\n    %s: %s\n", sql, message);
        sqlite3_free(message);
    }
}

static void write_database(const char *path, const char *sql) {
    sqlite3 *db;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
    execute(db, "PRAGMA synchronous=OFF");
    execute(db, sql);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
}

static fixture make_database(const char *sql) {
    fixture made = new_fixture("profiler.db");
    write_database(made.path, sql);
    return made;
}

static void write_bytes(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(data, 1, bytes, file), bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static unsigned char *read_bytes(const char *path, size_t *bytes) {
    struct stat info;
    CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
    *bytes = (size_t)info.st_size;
    unsigned char *data = malloc(*bytes + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fread(data, 1, *bytes, file), *bytes);
    (void)fclose(file);
    return data;
}

/* ---- What comes of it, as text ---- */

static void print_slice(FILE *out, rlmr_slice text) {
    (void)fputc('<', out);
    (void)fwrite(text.text, 1, text.bytes, out);
    (void)fputc('>', out);
}

/* A row is its number and its cells, each in angle brackets. */
static rlmr_status note_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    CU_ASSERT_EQUAL(row->offset, -1);
    CU_ASSERT_FALSE(row->unended);
    (void)fprintf(out, "%llu:", (unsigned long long)row->number);
    for (size_t i = 0; i < row->count; i++) {
        print_slice(out, row->cells[i]);
    }
    (void)fputs("\n", out);
    return RLMR_OK;
}

/* An event is its number, then name, cat, ts, dur, pid, tid, sequence, forward thread and call stack. */
static rlmr_status note_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    CU_ASSERT_EQUAL(event->offset, -1);
    const rlmr_slice fields[] = {event->name,      event->cat, event->ts,       event->dur,
                                 event->pid,       event->tid, event->sequence, event->forward_thread,
                                 event->call_stack};
    (void)fprintf(out, "%llu:", (unsigned long long)event->number);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        print_slice(out, fields[i]);
    }
    (void)fputs("\n", out);
    return RLMR_OK;
}

static rlmr_status note_group(void *context, rlmr_slice id, rlmr_slice name, const int32_t *ranks,
                              size_t count, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fputs("group ", out);
    print_slice(out, id);
    print_slice(out, name);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, " %d", ranks[i]);
    }
    (void)fputs("\n", out);
    return RLMR_OK;
}

static rlmr_status note_distribution(void *context, const rlmr_distributed_args *args, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "args %d %d ", args->tp, args->world);
    print_slice(out, args->json);
    (void)fputs("\n", out);
    return RLMR_OK;
}

static rlmr_status note_device(void *context, rlmr_slice rank, rlmr_slice device, rlmr_slice host_uid,
                               rlmr_slice host_name, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fputs("device ", out);
    print_slice(out, rank);
    print_slice(out, device);
    print_slice(out, host_uid);
    print_slice(out, host_name);
    (void)fputs("\n", out);
    return RLMR_OK;
}

static rlmr_status note_damage(void *context, int64_t offset, bool lost, const char *reason,
                               rlmr_error *err) {
    FILE *out = context;
    (void)err;
    CU_ASSERT_EQUAL(offset, -1);
    (void)fprintf(out, "%s: %s\n", lost ? "lost" : "damage", reason);
    return RLMR_OK;
}

typedef struct {
    char *text;
    size_t bytes;
    FILE *out;
} note;

static void begin_note(note *made) {
    *made = (note){0};
    made->out = open_memstream(&made->text, &made->bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(made->out);
}

static void end_note(note *made, rlmr_slice wanted) {
    CU_ASSERT_EQUAL(fclose(made->out), 0);
    bool same = rlmr_slice_equal((rlmr_slice){made->text, made->bytes}, wanted);
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    wanted:\n%.*s    read:\n%.*s", (int)wanted.bytes, wanted.text,
                      (int)made->bytes, made->text);
    }
    free(made->text);
}

typedef enum { MEMORY = 1, EVENTS = 2, GROUPS = 4, DISTRIBUTION = 8, METADATA = 12, DEVICES = 16 } parts;

static rlmr_status read_job(FILE *out, rlmr_profiler_db *db, parts wanted, rlmr_error *err) {
    rlmr_metadata_sink sink = {.group = note_group, .distribution = note_distribution, .self = out};
    rlmr_status status = RLMR_OK;
    bool present = true;
    if ((wanted & METADATA) != 0) {
        status = rlmr_profiler_db_metadata(db, &sink, (wanted & GROUPS) != 0, (wanted & DISTRIBUTION) != 0,
                                           &present, err);
        (void)fputs(present ? "" : "no META_DATA\n", out);
    }
    if (status == RLMR_OK && (wanted & DEVICES) != 0) {
        status = rlmr_profiler_db_devices(db, note_device, out, &present, err);
        (void)fputs(present ? "" : "no RANK_DEVICE_MAP\n", out);
    }
    return status;
}

/* Reads the file's rows and events into `out`, or says why not. */
static rlmr_status read_into(FILE *out, const char *path, parts wanted, const rlmr_meter *meter) {
    rlmr_error err;
    rlmr_damage damage = {.met = note_damage, .self = out};
    rlmr_profiler_db *db = NULL;
    bool present = false;
    uint64_t events = 0;
    rlmr_error_clear(&err);
    rlmr_status status = rlmr_profiler_db_open(path, &damage, meter, &db, &err);
    if (status == RLMR_OK && (wanted & MEMORY) != 0) {
        status = rlmr_profiler_db_memory(db, note_row, out, &present, &err);
        (void)fputs(present ? "" : "no OP_MEMORY\n", out);
    }
    if (status == RLMR_OK && (wanted & EVENTS) != 0) {
        status = rlmr_profiler_db_events(db, note_event, out, &events, &present, &err);
        (void)(present ? fprintf(out, "%llu events\n", (unsigned long long)events)
                       : fputs("no PYTORCH_API\n", out));
    }
    status = status == RLMR_OK ? read_job(out, db, wanted, &err) : status;
    CU_ASSERT_EQUAL(err.code, status);
    if (status != RLMR_OK) {
        (void)fprintf(out, "%s: %s\n", rlmr_status_text(status), err.message);
    }
    rlmr_profiler_db_close(db);
    return status;
}

static void check_file(const char *path, parts wanted, rlmr_slice text) {
    note made;
    begin_note(&made);
    (void)read_into(made.out, path, wanted, NULL);
    end_note(&made, text);
}

static void check_slice(const char *sql, parts wanted, rlmr_slice text) {
    fixture made = make_database(sql);
    check_file(made.path, wanted, text);
    remove_fixture(&made);
}

static void check(const char *sql, parts wanted, const char *text) {
    check_slice(sql, wanted, rlmr_slice_of(text));
}

#define STRINGS                                                                                              \
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"                                          \
    "INSERT INTO STRING_IDS VALUES (1, 'aten::add'), (2, 'aten::mul'), (3, 'Add'), (11, 'f.py(1): f'),"      \
    "(12, 'g.py(2): g'), (13, 'h.py(3): h');"
#define API                                                                                                  \
    "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name "     \
    "INTEGER, "                                                                                              \
    "sequenceNumber INTEGER, fwdThreadId INTEGER, callchainId INTEGER, type INTEGER);"
#define CHAINS "CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);"
#define ALL_TITLES                                                                                           \
    "0:<Name><Size(B)><Allocation Time(ns)><Release Time(ns)><Active Release Time(ns)><Duration(ns)>"        \
    "<Active Duration(ns)><Allocation Total Allocated(B)><Allocation Total Reserved(B)>"                     \
    "<Allocation Total Active(B)><Release Total Allocated(B)><Release Total Reserved(B)>"                    \
    "<Release Total Active(B)><Stream Ptr><Device Type>\n"
#define MEMORY_TABLE                                                                                         \
    "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "      \
    "activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated "         \
    "INTEGER, "                                                                                              \
    "allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, "        \
    "releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);"

/* ---- OP_MEMORY ---- */

static void test_records_come_as_rows_under_titles_with_units(void) {
    check(STRINGS MEMORY_TABLE
          "INSERT INTO OP_MEMORY VALUES (1, 512, 1736414119641485690, 1736414119682894460, "
          "1736414119682894140, 34, "
          "33, 1000, 2000, 1001, 1002, 2001, 1003, 94509039890976, 4),"
          "(2, -512, NULL, 1736414119682894460, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, 3, NULL, NULL);",
          MEMORY,
          ALL_TITLES
          "1:<aten::add><512><1736414119641485690><1736414119682894460><1736414119682894140><34><33><1000>"
          "<2000><1001><1002><2001><1003><94509039890976><NPU:4>\n"
          "2:<aten::mul><-512><><1736414119682894460><><><><><><><1><2><3><><>\n");
}

static void test_a_record_without_stream_and_active_total_is_of_ge(void) {
    check(STRINGS
          "CREATE TABLE OP_MEMORY (name, allocationTotalActive, releaseTotalActive, streamPtr);"
          "INSERT INTO OP_MEMORY VALUES (3, NULL, NULL, NULL), (3, 0, NULL, NULL), (3, NULL, 0, NULL), "
          "(3, NULL, NULL, 0), ('cann::Sub', NULL, NULL, NULL), (NULL, NULL, NULL, NULL), ('', NULL, NULL, "
          "'');",
          MEMORY,
          "0:<Name><Allocation Total Active(B)><Release Total Active(B)><Stream Ptr>\n"
          "1:<cann::Add><><><>\n2:<Add><0><><>\n3:<Add><><0><>\n4:<Add><><><0>\n5:<cann::Sub><><><>\n"
          "6:<cann::><><><>\n7:<cann::><><><>\n");
}

static void test_rows_come_in_rowid_order_whatever_an_index_says(void) {
    check(STRINGS "CREATE TABLE OP_MEMORY (size); CREATE INDEX by_size ON OP_MEMORY (size);"
                  "INSERT INTO OP_MEMORY (_rowid_, size) VALUES (9223372036854775807, 1), (7, 2), (-5, 3), "
                  "(-9223372036854775808, 4);",
          MEMORY, "0:<Size(B)>\n1:<4>\n2:<3>\n3:<2>\n4:<1>\n");
}

static void test_a_value_of_any_type_comes_as_its_text(void) {
    check_slice(
        "CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (-9223372036854775808), (' 1,\"2 '), "
        "('N/A'), (x'00ff'), (x''), (''), (NULL), ('a' || char(0) || 'b');",
        MEMORY,
        RLMR_SLICE(
            "0:<Size(B)>\n1:<-9223372036854775808>\n2:< 1,\"2 >\n3:<N/A>\n4:<\0\xff>\n5:<>\n6:<>\n7:<>\n"
            "8:<a\0b>\n"));
}

static void check_real(const char *literal, const char *wanted) {
    char sql[200];
    char text[600];
    (void)snprintf(sql, sizeof sql, "CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (%s)",
                   literal);
    (void)snprintf(text, sizeof text, "0:<Size(B)>\n1:<%s>\n", wanted);
    check(sql, MEMORY, text);
}

static void test_a_real_is_its_shortest_decimal_without_exponent(void) {
    check_real("1.7364144e18", "1736414400000000000");
    check_real("1736414119641485690.0", "1736414119641485600");
    check_real("1736414472720984.92", "1736414472720985");
    check_real("0.1", "0.1");
    check_real("-0.30000000000000004", "-0.30000000000000004");
    check_real("1.0", "1");
    check_real("100.0", "100");
    check_real("-12.5", "-12.5");
    check_real("0.0", "0");
    check_real("1e-7", "0.0000001");
    check_real("123456789.0625", "123456789.0625");
    check_real("9007199254740993.0", "9007199254740992");
    check_real("1e23", "100000000000000000000000");
    check_real("9e999", "inf");
}

static void test_the_longest_reals_have_room(void) {
    char wanted[400];
    memset(wanted, '0', sizeof wanted);
    (void)memcpy(wanted, "0.", 2);
    (void)memcpy(wanted + 2 + 323, "5", 2);
    check_real("4.9406564584124654e-324", wanted);
    memset(wanted, '0', sizeof wanted);
    (void)memcpy(wanted, "-0.", 3);
    (void)memcpy(wanted + 3 + 307, "22250738585072014", 18);
    check_real("-2.2250738585072014e-308", wanted);
    memset(wanted, '0', sizeof wanted);
    (void)memcpy(wanted, "-17976931348623157", 18);
    wanted[1 + 309] = '\0';
    check_real("-1.7976931348623157e308", wanted);
}

static void test_names_of_tables_and_columns_match_in_any_case(void) {
    check("CREATE TABLE string_ids (ID INTEGER PRIMARY KEY, Value TEXT); INSERT INTO string_ids VALUES (1, "
          "'x');"
          "CREATE TABLE Op_Memory (DEVICEID, NAME, streamptr); INSERT INTO Op_Memory VALUES (0, 1, 5);",
          MEMORY, "0:<Name><Stream Ptr><Device Type>\n1:<x><5><NPU:0>\n");
}

static void test_names_that_are_not_there_are_counted_and_empty(void) {
    check(
        STRINGS
        "CREATE TABLE OP_MEMORY (name, size, streamPtr);"
        "INSERT INTO OP_MEMORY VALUES (1, 1, 0), (99, 2, 0), (99, 3, NULL), (-1, 4, 0), ('99', 5, 0), "
        "(NULL, 6, 0), (2.0, 7, 0), (2.5, 8, 0);",
        MEMORY,
        "0:<Name><Size(B)><Stream "
        "Ptr>\n1:<aten::add><1><0>\n2:<><2><0>\n3:<cann::><3><>\n4:<><4><0>\n5:<99><5><0>\n"
        "6:<><6><0>\n7:<aten::mul><7><0>\n8:<><8><0>\ndamage: 4 names of OP_MEMORY are not in STRING_IDS\n");
}

static void test_without_texts_every_number_is_not_there(void) {
    static const char wanted[] =
        "0:<Name><Stream Ptr>\n1:<><0>\n2:<x><0>\ndamage: 1 names of OP_MEMORY are not in STRING_IDS\n";
#define NAMED "CREATE TABLE OP_MEMORY (name, streamPtr); INSERT INTO OP_MEMORY VALUES (1, 0), ('x', 0);"
    check(NAMED, MEMORY, wanted);
    check(NAMED "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, text)", MEMORY, wanted);
    check(
        NAMED
        "CREATE TABLE STRING_IDS (number INTEGER PRIMARY KEY, value); INSERT INTO STRING_IDS VALUES (1, 'y')",
        MEMORY, wanted);
    check(NAMED
          "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value); INSERT INTO STRING_IDS VALUES (1, NULL)",
          MEMORY, wanted);
}

static void test_texts_are_found_whatever_key_their_table_has(void) {
    static const char *const tables[] = {"STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)",
                                         "STRING_IDS (value TEXT, id INTEGER)",
                                         "STRING_IDS (id, value)",
                                         "STRING_IDS (id TEXT PRIMARY KEY, value TEXT)",
                                         "STRING_IDS (id INTEGER PRIMARY KEY DESC, value TEXT)",
                                         "STRING_IDS (id INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID",
                                         "STRING_IDS (value TEXT, id INTEGER, PRIMARY KEY (value, id))"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[400];
        (void)snprintf(
            sql, sizeof sql,
            "CREATE TABLE %s; INSERT INTO STRING_IDS (id, value) VALUES (2, 'two'), (1, 'one');"
            "CREATE TABLE OP_MEMORY (name INTEGER, streamPtr); INSERT INTO OP_MEMORY VALUES (1, 0), (2, 0);",
            tables[i]);
        check(sql, MEMORY, "0:<Name><Stream Ptr>\n1:<one><0>\n2:<two><0>\n");
    }
    check("CREATE TABLE STRING_IDS (id, value);"
          "INSERT INTO STRING_IDS VALUES (1, 'first'), (1, 'again'), ('x', 'text'), (NULL, 'none'), (2.5, "
          "'part');"
          "CREATE TABLE OP_MEMORY (name, streamPtr); INSERT INTO OP_MEMORY VALUES (1, 0), (0, 0), (2, 0);",
          MEMORY,
          "0:<Name><Stream Ptr>\n1:<first><0>\n2:<><0>\n3:<><0>\ndamage: 2 names of OP_MEMORY are not in "
          "STRING_IDS\n");
}

/* ---- PYTORCH_API ---- */

static void test_events_have_their_fields(void) {
    check(STRINGS API CHAINS
          "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
          "INSERT INTO ENUM_API_TYPE VALUES (50001, 'queue'), (7, 'op');"
          "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 12, 0), (0, 11, 1);"
          "INSERT INTO PYTORCH_API VALUES ('1736414119641640110', '1736414119641654790', 13819731587963129, "
          "5, 1, 42, 3, "
          "0, 7), (1736414119641640111, 1736414119641654790, 13, NULL, 2, -1, NULL, NULL, 50001);",
          EVENTS,
          "0:<aten::add><cpu_op><1736414119641640.110><14.680><><13819731587963129><42><3><g.py(2): "
          "g;\r\nf.py(1): f>\n"
          "1:<aten::mul><><1736414119641640.111><14.679><><13><-1><><>\n2 events\n");
}

static void test_a_cpu_op_has_type_50001_if_the_database_does_not_say(void) {
    static const char wanted[] =
        "0:<><cpu_op><><><><><><><>\n1:<><><><><><><><><>\n2:<><><><><><><><><>\n3 events\n";
#define TYPED "CREATE TABLE PYTORCH_API (type); INSERT INTO PYTORCH_API VALUES (50001), (50002), (NULL);"
    check(TYPED, EVENTS, wanted);
    check(TYPED "CREATE TABLE ENUM_API_TYPE (id INTEGER, name TEXT); INSERT INTO ENUM_API_TYPE VALUES "
                "(50002, 'queue')",
          EVENTS, wanted);
    check(TYPED "CREATE VIEW ENUM_API_TYPE AS SELECT 50002 AS id, 'op' AS name", EVENTS, wanted);
}

static void check_times(const char *start, const char *end, const char *ts, const char *dur) {
    static const char *const types[] = {"", "TEXT", "INTEGER"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char sql[300];
        char text[300];
        (void)snprintf(
            sql, sizeof sql,
            "CREATE TABLE PYTORCH_API (startNs %s, endNs %s); INSERT INTO PYTORCH_API VALUES (%s, %s)",
            types[i], types[i], start, end);
        (void)snprintf(text, sizeof text, "0:<><><%s><%s><><><><><>\n1 events\n", ts, dur);
        check(sql, EVENTS, text);
    }
}

static void test_times_are_microseconds_exact_to_the_ns(void) {
    check_times("1736414119641640110", "'1736414119641654790'", "1736414119641640.110", "14.680");
    check_times("0", "1", "0.000", "0.001");
    check_times("999", "1000", "0.999", "0.001");
    check_times("-1", "-1001", "-0.001", "-1.000");
    check_times("-1736414119641640110", "0", "-1736414119641640.110", "1736414119641640.110");
    check_times("9223372036854775807", "-9223372036854775807", "9223372036854775.807",
                "-9223372036854775807 ns");
    check_times("-9223372036854775807", "-9223372036854775807", "-9223372036854775.807", "0.000");
    check_times("5", "NULL", "0.005", "");
    check_times("NULL", "5", "", "");
    check_times("5", "'later'", "0.005", "later");
    check_times("'soon'", "5", "soon", "");
}

/* A number of ns that is no integer must not be taken for microseconds. */
static void test_a_start_that_is_no_integer_is_no_number(void) {
    check("CREATE TABLE PYTORCH_API (startNs, endNs);"
          "INSERT INTO PYTORCH_API VALUES (1.7364144e18, 1736414400000000256.0), (12.5, 13), ('12.5', 13), "
          "('1e3', 2000), (99999999999999999999, 1), (' 5', 6), (5, 6.5);",
          EVENTS,
          "0:<><><1736414400000000.000><0.300><><><><><>\n1:<><><12.5 ns><><><><><><>\n2:<><><12.5 "
          "ns><><><><><><>\n"
          "3:<><><1e3 ns><><><><><><>\n4:<><><100000000000000000000 ns><><><><><><>\n5:<><>< 5><><><><><><>\n"
          "6:<><><0.005><6.5 ns><><><><><>\n7 events\n");
}

static void test_frames_come_in_order_of_depth(void) {
    static const char wanted[] = "0:<><><><><><><><><f.py(1): f;\r\ng.py(2): g;\r\nh.py(3): h>\n"
                                 "1:<><><><><><><><><g.py(2): g>\n"
                                 "2:<><><><><><><><><f.py(1): f;\r\ng.py(2): g;\r\nh.py(3): h>\n3 events\n";
#define THREE STRINGS API CHAINS "INSERT INTO PYTORCH_API (callchainId) VALUES (70000000000), (-4), (2);"
    check(THREE "INSERT INTO PYTORCH_CALLCHAINS VALUES (-4, 12, 0), (2, 11, 0), (2, 12, 1), (2, 13, 2), "
                "(70000000000, 11, 0), (70000000000, 12, 1), (70000000000, 13, 2)",
          EVENTS, wanted);
    check(THREE
          "INSERT INTO PYTORCH_CALLCHAINS VALUES (70000000000, 13, 2), (2, 12, 1), (2, 11, 0), (-4, 12, 0), "
          "(70000000000, 11, 0), (2, 13, 2), (70000000000, 12, 1)",
          EVENTS, wanted);
    check(THREE "INSERT INTO PYTORCH_CALLCHAINS VALUES (-4, 12, 0), (2, 11, 0), (2, 13, 2), (2, 12, 1), "
                "(70000000000, 11, 0), (70000000000, 12, 1), (70000000000, 13, 2)",
          EVENTS, wanted);
}

static void test_frames_of_the_same_depth_stay_in_rowid_order(void) {
    static const char wanted[] = "0:<><><><><><><><><h.py(3): h;\r\ng.py(2): g;\r\nf.py(1): f>\n1 events\n";
#define ONE STRINGS API "INSERT INTO PYTORCH_API (callchainId) VALUES (0);"
    check(ONE CHAINS "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 13, 0), (0, 12, 0), (0, 11, 0)", EVENTS,
          wanted);
    check(ONE CHAINS "INSERT INTO PYTORCH_CALLCHAINS VALUES (1, 11, 0), (0, 13, 0), (0, 12, 0), (0, 11, 0)",
          EVENTS, wanted);
    check(ONE "CREATE TABLE PYTORCH_CALLCHAINS (id, stack);"
              "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 13), (0, 12), (0, 11)",
          EVENTS, wanted);
    check(ONE "CREATE TABLE PYTORCH_CALLCHAINS (id, stack, stackDepth);"
              "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 11, 'last'), (0, 13, NULL), (0, 12, 2)",
          EVENTS, wanted);
}

static void test_frames_and_stacks_that_are_not_there_are_counted(void) {
    check(STRINGS API CHAINS
          "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 11, 0), (0, 99, 1), (0, 12, 2), (1, 98, 0), (1, 97, 1), "
          "(2, 'x.py(4): x', 0), (NULL, 11, 0), ('3', 11, 0), (3.5, 11, 0), ('x', 12, 0), (4, NULL, 0), (4, "
          "11, 1);"
          "INSERT INTO PYTORCH_API (callchainId, name) VALUES (0, 1), (1, 99), (2, 'text'), (5, 98), ('x', "
          "1), (3, 1), "
          "(4, 1);",
          EVENTS,
          "damage: 3 frames of PYTORCH_CALLCHAINS are not in STRING_IDS\n"
          "0:<aten::add><><><><><><><><f.py(1): f;\r\n;\r\ng.py(2): g>\n1:<><><><><><><><><>\n"
          "2:<text><><><><><><><><x.py(4): x>\n3:<><><><><><><><><>\n4:<aten::add><><><><><><><><>\n"
          "5:<aten::add><><><><><><><><f.py(1): f>\n6:<aten::add><><><><><><><><;\r\nf.py(1): f>\n"
          "damage: 2 names of PYTORCH_API are not in STRING_IDS\n"
          "damage: 2 call stacks of PYTORCH_API are not in PYTORCH_CALLCHAINS\n7 events\n");
}

/* A chain of the same frames as one before it, of numbers or not, has the same stack. */
static void test_chains_of_the_same_frames_are_the_same_stack(void) {
    check(STRINGS API
          "CREATE TABLE PYTORCH_CALLCHAINS (id, stack, stackDepth);"
          "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 11, 0), (0, 12, 1), (1, 12, 0), (1, 11, 1), (2, 11, 0), "
          "(2, 12, 1), (3, 11.0, 0), (3, '12', 1), (4, '11', 0), (4, 12, 1), (5, 12, 0), (5, 11, 1), "
          "(6, 11.0, 0), (6, '12', 1), (7, 99, 0), (8, 99, 0);"
          "INSERT INTO PYTORCH_API (callchainId) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8);",
          EVENTS,
          "damage: 2 frames of PYTORCH_CALLCHAINS are not in STRING_IDS\n"
          "0:<><><><><><><><><f.py(1): f;\r\ng.py(2): g>\n1:<><><><><><><><><g.py(2): g;\r\nf.py(1): f>\n"
          "2:<><><><><><><><><f.py(1): f;\r\ng.py(2): g>\n3:<><><><><><><><><f.py(1): f;\r\n12>\n"
          "4:<><><><><><><><><11;\r\ng.py(2): g>\n5:<><><><><><><><><g.py(2): g;\r\nf.py(1): f>\n"
          "6:<><><><><><><><><f.py(1): f;\r\n12>\n7:<><><><><><><><><>\n8:<><><><><><><><><>\n9 events\n");
}

static void test_without_call_chains_there_are_no_stacks(void) {
    static const char wanted[] = "0:<><><><><><><><><>\n1 events\n";
    check(ONE, EVENTS, wanted);
    check(ONE
          "CREATE TABLE PYTORCH_CALLCHAINS (id, stackDepth); INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 0)",
          EVENTS, wanted);
    check(ONE "CREATE TABLE PYTORCH_CALLCHAINS (stack, stackDepth)", EVENTS, wanted);
    check(STRINGS CHAINS "CREATE TABLE PYTORCH_API (type)", EVENTS, "0 events\n");
}

/* ---- What is no table ---- */

static void test_missing_tables_are_absent(void) {
    check("CREATE TABLE other (a)", MEMORY | EVENTS, "no OP_MEMORY\nno PYTORCH_API\n");
    check("CREATE TABLE OP_MEMORY (other); INSERT INTO OP_MEMORY VALUES (1)", MEMORY, "0:\n1:\n");
    check("CREATE TABLE OP_MEMORY (name)", MEMORY, "0:<Name>\n");
    fixture made = new_fixture("empty.db");
    write_bytes(made.path, "", 0);
    check_file(made.path, MEMORY | EVENTS, RLMR_SLICE("no OP_MEMORY\nno PYTORCH_API\n"));
    remove_fixture(&made);
}

static void test_views_and_virtual_tables_are_no_tables(void) {
    check("CREATE VIEW OP_MEMORY AS SELECT 1 AS name; CREATE VIEW PYTORCH_API AS SELECT 1 AS name",
          MEMORY | EVENTS, "no OP_MEMORY\nno PYTORCH_API\n");
    check("CREATE VIRTUAL TABLE OP_MEMORY USING fts4(name); INSERT INTO OP_MEMORY VALUES ('x');"
          "CREATE TABLE PYTORCH_API (name); CREATE VIEW STRING_IDS AS SELECT 1 AS id, 'x' AS value;"
          "INSERT INTO PYTORCH_API VALUES (1)",
          MEMORY | EVENTS,
          "no OP_MEMORY\n0:<><><><><><><><><>\ndamage: 1 names of PYTORCH_API are not in STRING_IDS\n1 "
          "events\n");
}

/* The schema names a table, and creates a view under that name: it must not be evaluated. */
static void test_a_view_under_the_name_of_a_table_is_not_read(void) {
    check("CREATE TABLE OP_MEMORY (name); CREATE VIEW hidden AS SELECT 'from a view' AS name;"
          "PRAGMA writable_schema=ON;"
          "UPDATE sqlite_master SET sql = 'CREATE TABLE other (name)' WHERE name = 'OP_MEMORY';"
          "UPDATE sqlite_master SET sql = 'CREATE VIEW OP_MEMORY AS SELECT ''from a view'' AS name' "
          "WHERE name = 'hidden'",
          MEMORY, "input is damaged: SQLite: malformed database schema (OP_MEMORY)\n");
}

static void test_generated_columns_are_not_computed(void) {
    check("CREATE TABLE OP_MEMORY (name, size AS (length(name)), deviceId AS (1) STORED);"
          "INSERT INTO OP_MEMORY (name) VALUES ('x')",
          MEMORY, "0:<Name>\n1:<x>\n");
}

/* ---- What lies beside the file ---- */

static void check_beside(const char *ending, size_t bytes, const char *wanted) {
    fixture made = new_fixture("profiler.db");
    char *beside = NULL;
    write_database(made.path, "CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1)");
    CU_ASSERT_FATAL(asprintf(&beside, "%s%s", made.path, ending) > 0);
    write_bytes(beside, "some", bytes);
    check_file(made.path, MEMORY, rlmr_slice_of(wanted));
    size_t left = 0;
    free(read_bytes(beside, &left));
    CU_ASSERT_EQUAL(left, bytes);
    CU_ASSERT_EQUAL(unlink(beside), 0);
    free(beside);
    remove_fixture(&made);
}

static void test_a_log_beside_the_file_is_damage_with_its_cure(void) {
    check_beside("-wal", 4,
                 "damage: what profiler.db-wal holds is not read: run sqlite3 profiler.db 'PRAGMA "
                 "wal_checkpoint(TRUNCATE)'\n0:<Size(B)>\n1:<1>\n");
    check_beside("-wal", 0, "0:<Size(B)>\n1:<1>\n");
    check_beside("-journal", 4,
                 "damage: what profiler.db-journal holds is not read: run sqlite3 profiler.db 'PRAGMA "
                 "journal_mode=PERSIST; PRAGMA journal_mode=DELETE'\n0:<Size(B)>\n1:<1>\n");
    check_beside("-journal", 0, "0:<Size(B)>\n1:<1>\n");
    check_beside("-shm", 4, "0:<Size(B)>\n1:<1>\n");
}

static void copy_file(const char *from, const char *to) {
    size_t bytes;
    unsigned char *data = read_bytes(from, &bytes);
    write_bytes(to, data, bytes);
    free(data);
}

/* The cure on what a writer leaves behind that is killed after `sql`: then all that was committed is read. */
static void check_cure(const char *sql, const char *ending, const char *command, const char *wanted) {
    fixture writing = new_fixture("profiler.db");
    fixture left = new_fixture("profiler.db");
    char *log = NULL;
    char *log_left = NULL;
    sqlite3 *db;
    CU_ASSERT_FATAL(asprintf(&log, "%s%s", writing.path, ending) > 0);
    CU_ASSERT_FATAL(asprintf(&log_left, "%s%s", left.path, ending) > 0);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(writing.path, &db), SQLITE_OK);
    execute(db, "PRAGMA page_size=512; CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1), (2)");
    execute(db, sql);
    copy_file(writing.path, left.path);
    copy_file(log, log_left);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);

    CU_ASSERT_EQUAL_FATAL(sqlite3_open(left.path, &db), SQLITE_OK);
    execute(db, command);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
    CU_ASSERT_NOT_EQUAL(access(log_left, F_OK), 0);
    check_file(left.path, MEMORY, rlmr_slice_of(wanted));
    (void)unlink(log);
    free(log);
    free(log_left);
    remove_fixture(&writing);
    remove_fixture(&left);
}

static void test_what_the_message_says_cures_a_log(void) {
    static const char *const persist = "PRAGMA journal_mode=PERSIST; PRAGMA journal_mode=DELETE";
    check_cure("PRAGMA journal_mode=WAL; INSERT INTO OP_MEMORY VALUES (3)", "-wal",
               "PRAGMA wal_checkpoint(TRUNCATE)", "0:<Size(B)>\n1:<1>\n2:<2>\n3:<3>\n");
    /* Written to the file, and not committed. */
    check_cure("PRAGMA cache_size=1; BEGIN; UPDATE OP_MEMORY SET size = 7;"
               "INSERT INTO OP_MEMORY SELECT hex(zeroblob(2000)) FROM sqlite_master, sqlite_master",
               "-journal", persist, "0:<Size(B)>\n1:<1>\n2:<2>\n");
    check_cure("PRAGMA journal_mode=PERSIST; INSERT INTO OP_MEMORY VALUES (3)", "-journal", persist,
               "0:<Size(B)>\n1:<1>\n2:<2>\n3:<3>\n");
}

/* ---- Paths ---- */

static void test_a_path_may_have_any_bytes(void) {
    static const char *const names[] = {
        "a?mode=memory", "a#b",        "a%20b%", "\xE4\xB8\xAD\xE6\x96\x87 db",
        "a&b=c;d",       "\xff\x01\n", "a:b",    "'\"`$"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fixture made = new_fixture("plain.db");
        char *odd = NULL;
        char *doubled = NULL;
        write_database(made.path, "CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1)");
        CU_ASSERT_FATAL(asprintf(&odd, "%s/%s", made.directory, names[i]) > 0);
        CU_ASSERT_FATAL(asprintf(&doubled, "/%s", odd) > 0);
        CU_ASSERT_EQUAL(rename(made.path, odd), 0);
        check_file(odd, MEMORY, RLMR_SLICE("0:<Size(B)>\n1:<1>\n"));
        check_file(doubled, MEMORY, RLMR_SLICE("0:<Size(B)>\n1:<1>\n"));
        free(doubled);
        free(made.path);
        made.path = odd;
        remove_fixture(&made);
    }
}

static void test_a_path_may_be_relative(void) {
    fixture made = make_database("CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1)");
    char *before = getcwd(NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(before);
    CU_ASSERT_EQUAL(chdir(made.directory), 0);
    check_file("profiler.db", MEMORY, RLMR_SLICE("0:<Size(B)>\n1:<1>\n"));
    check_file("./profiler.db", MEMORY, RLMR_SLICE("0:<Size(B)>\n1:<1>\n"));
    CU_ASSERT_EQUAL(chdir(before), 0);
    free(before);
    remove_fixture(&made);
}

static void test_a_path_may_be_long(void) {
    enum { DEPTH = 15 };
    fixture made = make_database("CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1)");
    char *directories[DEPTH];
    char *path = NULL;
    for (int i = 0; i < DEPTH; i++) {
        CU_ASSERT_FATAL(
            asprintf(&directories[i], "%s/%0200d", i == 0 ? made.directory : directories[i - 1], i) > 0);
        CU_ASSERT_EQUAL_FATAL(mkdir(directories[i], 0700), 0);
    }
    CU_ASSERT_FATAL(asprintf(&path, "%s/profiler.db", directories[DEPTH - 1]) > 0);
    CU_ASSERT_TRUE(strlen(path) > 3000);
    CU_ASSERT_EQUAL_FATAL(rename(made.path, path), 0);
    check_file(path, MEMORY, RLMR_SLICE("0:<Size(B)>\n1:<1>\n"));
    CU_ASSERT_EQUAL(rename(path, made.path), 0);
    for (int i = DEPTH; i-- > 0;) {
        CU_ASSERT_EQUAL(rmdir(directories[i]), 0);
        free(directories[i]);
    }
    free(path);
    remove_fixture(&made);
}

static void test_what_is_no_regular_file_is_not_read(void) {
    fixture made = new_fixture("pipe.db");
    CU_ASSERT_EQUAL_FATAL(mkfifo(made.path, 0600), 0);
    check_file(made.path, MEMORY, RLMR_SLICE("input cannot be read: not a regular file\n"));
    check_file(made.directory, MEMORY, RLMR_SLICE("input cannot be read: not a regular file\n"));
    CU_ASSERT_EQUAL(unlink(made.path), 0);
    check_file(made.path, MEMORY,
               RLMR_SLICE("input cannot be read: cannot be opened: No such file or directory\n"));
    write_bytes(made.path, "", 0);
    remove_fixture(&made);
}

/* Two at once: each has its own file. */
static void test_several_databases_are_open_at_once(void) {
    fixture first = make_database("CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (1)");
    fixture second = make_database("CREATE TABLE OP_MEMORY (size); INSERT INTO OP_MEMORY VALUES (2)");
    note made;
    begin_note(&made);
    rlmr_damage damage = {.met = note_damage, .self = made.out};
    rlmr_profiler_db *one = NULL;
    rlmr_profiler_db *two = NULL;
    bool present;
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(first.path, &damage, NULL, &one, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(second.path, &damage, NULL, &two, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(one, note_row, made.out, &present, NULL), RLMR_OK);
    rlmr_profiler_db_close(one);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(two, note_row, made.out, &present, NULL), RLMR_OK);
    rlmr_profiler_db_close(two);
    end_note(&made, RLMR_SLICE("0:<Size(B)>\n1:<1>\n0:<Size(B)>\n1:<2>\n"));
    remove_fixture(&first);
    remove_fixture(&second);
}

/* ---- Damage ---- */

static void test_what_is_no_database_cannot_be_parsed(void) {
    fixture made = new_fixture("text.db");
    write_bytes(made.path, "Name,Size(KB)\n", 14);
    check_file(made.path, MEMORY, RLMR_SLICE("input is damaged: SQLite: file is not a database\n"));
    char zeros[4096] = {0};
    write_bytes(made.path, zeros, sizeof zeros);
    check_file(made.path, MEMORY, RLMR_SLICE("input is damaged: SQLite: file is not a database\n"));
    remove_fixture(&made);
}

#define PAGE_BYTES 512

/* Three tables over many pages each. */
static fixture make_large(const char *more) {
    char *sql = NULL;
    CU_ASSERT_FATAL(
        asprintf(&sql,
                 "PRAGMA page_size=512; PRAGMA auto_vacuum=NONE; BEGIN;"
                 "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
                 "CREATE TABLE OP_MEMORY (name INTEGER, size, streamPtr);" API CHAINS
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
                 "INSERT INTO STRING_IDS SELECT i, 'name ' || i FROM n;"
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
                 "INSERT INTO OP_MEMORY SELECT i, 1000 + i, 0 FROM n;"
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
                 "INSERT INTO PYTORCH_CALLCHAINS SELECT i / 3, i, i %% 3 FROM n;"
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
                 "INSERT INTO PYTORCH_API SELECT 1000 * i, 1000 * i + 500, 1, NULL, i, i, 0, i, 50001 FROM n;"
                 "COMMIT; %s",
                 more) > 0);
    fixture made = make_database(sql);
    free(sql);
    return made;
}

/* The root page of a table, and how many pages lie under it. */
static unsigned char *root_page(unsigned char *data, const char *path, const char *table, unsigned *cells) {
    sqlite3 *db;
    sqlite3_stmt *statement;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(
        sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_master WHERE name = ?1", -1, &statement, NULL),
        SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_step(statement), SQLITE_ROW);
    unsigned char *root = data + (size_t)(sqlite3_column_int(statement, 0) - 1) * PAGE_BYTES;
    CU_ASSERT_EQUAL(sqlite3_finalize(statement), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(root[0], 5); /* an inner page of a table */
    *cells = root[3] * 256U + root[4];
    return root;
}

/* Where a page names its child number `at`; the last one is named in its head. */
static unsigned char *child_of(unsigned char *root, unsigned at, unsigned cells) {
    return at == cells ? root + 8 : root + root[12 + 2 * at] * 256U + root[13 + 2 * at];
}

static unsigned char *page_of_child(unsigned char *data, const unsigned char *child) {
    size_t number = child[0] * 16777216U + child[1] * 65536U + child[2] * 256U + child[3];
    return data + (number - 1) * PAGE_BYTES;
}

/* The text of reading a file in whose `table` page number `at` is overwritten. */
static char *read_overwritten(const char *table, unsigned at, parts wanted) {
    fixture made = make_large("");
    size_t bytes;
    unsigned cells;
    unsigned char *data = read_bytes(made.path, &bytes);
    unsigned char *root = root_page(data, made.path, table, &cells);
    CU_ASSERT_TRUE_FATAL(cells > at);
    memset(page_of_child(data, child_of(root, at, cells)), 0xff, PAGE_BYTES);
    write_bytes(made.path, data, bytes);
    free(data);
    note text;
    begin_note(&text);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, wanted, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(fclose(text.out), 0);
    remove_fixture(&made);
    return text.text;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

static void test_rows_before_a_damaged_page_are_given(void) {
    char *text = read_overwritten("OP_MEMORY", 3, MEMORY);
    size_t rows = count_of(text, "<name ");
    CU_ASSERT_TRUE(rows > 60 && rows < 200);
    CU_ASSERT_EQUAL(count_of(text, "lost: OP_MEMORY: SQLite: database disk image is malformed\n"), 1);
    CU_ASSERT_EQUAL(count_of(text, "\n"), rows + 2);
    free(text);

    text = read_overwritten("PYTORCH_API", 3, EVENTS);
    size_t events = count_of(text, "<cpu_op>");
    CU_ASSERT_TRUE(events > 20 && events < 80);
    CU_ASSERT_EQUAL(count_of(text, "lost: PYTORCH_API: SQLite: database disk image is malformed\n"), 1);
    CU_ASSERT_EQUAL(count_of(text, "\n"), 3 * events + 2);
    free(text);
}

static void test_stacks_before_a_damaged_page_are_given(void) {
    char *text = read_overwritten("PYTORCH_CALLCHAINS", 2, EVENTS);
    CU_ASSERT_EQUAL(count_of(text, "<cpu_op>"), 100);
    CU_ASSERT_EQUAL(count_of(text, "lost: PYTORCH_CALLCHAINS: SQLite: database disk image is malformed\n"),
                    1);
    /* Each has its three frames: half a stack is none. */
    size_t stacks = count_of(text, ";\r\n") / 2;
    CU_ASSERT_EQUAL(count_of(text, ";\r\n"), 2 * stacks);
    CU_ASSERT_TRUE(stacks > 15 && stacks < 90);
    char wanted[100];
    (void)snprintf(wanted, sizeof wanted,
                   "damage: %zu call stacks of PYTORCH_API are not in PYTORCH_CALLCHAINS\n", 100 - stacks);
    CU_ASSERT_EQUAL(count_of(text, wanted), 1);
    free(text);
}

static void test_damage_among_the_texts_is_told_once(void) {
    char *text = read_overwritten("STRING_IDS", 2, MEMORY);
    CU_ASSERT_EQUAL(count_of(text, "<0>\n"), 300);
    size_t names = count_of(text, "<name ");
    CU_ASSERT_TRUE(names > 200 && names < 300);
    CU_ASSERT_EQUAL(count_of(text, "lost: STRING_IDS: SQLite: database disk image is malformed\n"), 1);
    char wanted[100];
    (void)snprintf(wanted, sizeof wanted, "damage: %zu names of OP_MEMORY are not in STRING_IDS\n",
                   300 - names);
    CU_ASSERT_EQUAL(count_of(text, wanted), 1);
    free(text);
}

/* All children of the page are those of number `child`. */
static void set_children(unsigned char *page, unsigned cells, const unsigned char child[4]) {
    for (unsigned at = 0; at <= cells; at++) {
        (void)memcpy(child_of(page, at, cells), child, 4);
    }
}

/* Makes the pages under a table's root a tower of `levels` pages, each all children of the one above: its
 * rows come again and again. */
static fixture make_tower(const char *sql, const char *table, unsigned levels) {
    fixture made = make_large(sql);
    size_t bytes;
    unsigned cells;
    unsigned char children[10][4];
    unsigned char *data = read_bytes(made.path, &bytes);
    unsigned char *root = root_page(data, made.path, table, &cells);
    CU_ASSERT_TRUE_FATAL(levels <= 10 && cells >= levels);
    for (unsigned at = 0; at < levels; at++) {
        (void)memcpy(children[at], child_of(root, at, cells), 4);
    }
    for (unsigned at = 0; at + 1 < levels; at++) {
        unsigned char *page = page_of_child(data, children[at]);
        (void)memcpy(page, root, PAGE_BYTES);
        set_children(page, cells, children[at + 1]);
    }
    set_children(root, cells, children[0]);
    write_bytes(made.path, data, bytes);
    free(data);
    return made;
}

static void check_tower(const char *sql, const char *table, unsigned levels, parts wanted,
                        const char *message) {
    fixture made = make_tower(sql, table, levels);
    note text;
    begin_note(&text);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, wanted, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(fclose(text.out), 0);
    CU_ASSERT_EQUAL(count_of(text.text, message), 1);
    CU_ASSERT_TRUE(count_of(text.text, "\n") < 700);
    free(text.text);
    remove_fixture(&made);
}

static void test_rows_that_come_again_end_a_table(void) {
    for (unsigned levels = 1; levels < 7; levels++) {
        check_tower("", "OP_MEMORY", levels, MEMORY, "lost: OP_MEMORY: SQLite: rows are not in order\n");
        check_tower("", "PYTORCH_API", levels, EVENTS, "lost: PYTORCH_API: SQLite: rows are not in order\n");
        check_tower("", "PYTORCH_CALLCHAINS", levels, EVENTS,
                    "lost: PYTORCH_CALLCHAINS: SQLite: rows are not in order\n");
        check_tower("UPDATE PYTORCH_CALLCHAINS SET id = -id", "PYTORCH_CALLCHAINS", levels, EVENTS,
                    "lost: PYTORCH_CALLCHAINS: SQLite: rows are not in order\n");
    }
}

static void test_endless_texts_end(void) {
    check_tower("ALTER TABLE STRING_IDS RENAME TO gone; CREATE TABLE STRING_IDS (id, value);"
                "INSERT INTO STRING_IDS SELECT * FROM gone",
                "STRING_IDS", 7, MEMORY,
                "lost: STRING_IDS: SQLite: more work than a file of its size can need: its pages may form a "
                "circle\n");
}

static rlmr_status ignore_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    (void)context;
    (void)row;
    (void)err;
    return RLMR_OK;
}

static rlmr_status ignore_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    (void)context;
    (void)event;
    (void)err;
    return RLMR_OK;
}

static rlmr_status count_damage(void *context, int64_t offset, bool lost, const char *reason,
                                rlmr_error *err) {
    size_t *count = context;
    (void)offset;
    (void)lost;
    (void)err;
    CU_ASSERT_TRUE(strlen(reason) > 0);
    (*count)++;
    return RLMR_OK;
}

/* Reads all there is; a few words of damage are fine, an endless tale is not. @return whether it could be
 * opened */
static bool survive(const char *path) {
    size_t damages = 0;
    rlmr_damage damage = {.met = count_damage, .self = &damages};
    rlmr_profiler_db *db;
    rlmr_error err;
    bool present;
    uint64_t events;
    rlmr_error_clear(&err);
    rlmr_status status = rlmr_profiler_db_open(path, &damage, NULL, &db, &err);
    if (status != RLMR_OK) {
        CU_ASSERT_TRUE(status == RLMR_E_PARSE || status == RLMR_E_INPUT);
        CU_ASSERT_EQUAL(err.code, status);
        CU_ASSERT_PTR_NULL(db);
        return false;
    }
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, ignore_row, NULL, &present, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_events(db, ignore_event, NULL, &events, &present, &err), RLMR_OK);
    CU_ASSERT_TRUE(damages < 30);
    CU_ASSERT_TRUE(events < 1000);
    rlmr_profiler_db_close(db);
    return true;
}

static void test_a_file_cut_anywhere_ends_well(void) {
    fixture made = make_large("");
    size_t bytes;
    unsigned char *data = read_bytes(made.path, &bytes);
    CU_ASSERT_TRUE(survive(made.path));
    for (size_t cut = bytes; cut > 0; cut -= cut > 1200 ? 487 : 1) {
        write_bytes(made.path, data, cut - 1);
        bool opened = survive(made.path);
        CU_ASSERT_EQUAL(opened, cut <= 2); /* to SQLite no byte and one byte are an empty database */
    }
    free(data);
    remove_fixture(&made);
}

static void test_flipped_bytes_end_well(void) {
    fixture made = make_large("");
    size_t bytes;
    unsigned char *data = read_bytes(made.path, &bytes);
    unsigned random = 1;
    for (int i = 0; i < 800; i++) {
        /* The head of a page is hit as often as all the rest of it. */
        random = random * 1103515245U + 12345U;
        size_t page = (random >> 8) % (bytes / PAGE_BYTES);
        random = random * 1103515245U + 12345U;
        size_t at = page * PAGE_BYTES + (random >> 8) % (i % 2 == 0 ? 100 : PAGE_BYTES);
        random = random * 1103515245U + 12345U;
        unsigned char before = data[at];
        data[at] ^= (unsigned char)(1 + (random >> 8) % 255);
        write_bytes(made.path, data, bytes);
        (void)survive(made.path);
        data[at] = before;
    }
    free(data);
    remove_fixture(&made);
}

static rlmr_status refuse_damage(void *context, int64_t offset, bool lost, const char *reason,
                                 rlmr_error *err) {
    (void)context;
    (void)offset;
    (void)lost;
    return rlmr_error_set(err, RLMR_E_RANGE, "not this: %s", reason);
}

static void test_who_is_told_of_damage_may_end_the_reading(void) {
    fixture made =
        make_database("CREATE TABLE OP_MEMORY (name, streamPtr); INSERT INTO OP_MEMORY VALUES (1, 0)");
    rlmr_damage damage = {.met = refuse_damage};
    rlmr_profiler_db *db;
    rlmr_error err;
    bool present;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(made.path, &damage, NULL, &db, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, ignore_row, NULL, &present, &err), RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "not this: 1 names of OP_MEMORY are not in STRING_IDS");
    rlmr_profiler_db_close(db);
    remove_fixture(&made);
}

/* No file may grow: as a full disk. */
static void test_a_full_disk_for_sorting_is_damage_with_its_cure(void) {
    fixture made = make_database(
        STRINGS API CHAINS "INSERT INTO PYTORCH_API (callchainId) VALUES (0);"
                           "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 399999)"
                           "INSERT INTO PYTORCH_CALLCHAINS SELECT -i, 11, 0 FROM n");
    struct rlimit before;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    note text;
    begin_note(&text);
    CU_ASSERT_PTR_NOT_EQUAL(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, EVENTS, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    CU_ASSERT_PTR_NOT_EQUAL(signal(SIGXFSZ, SIG_DFL), SIG_ERR);
    end_note(&text,
             RLMR_SLICE("lost: PYTORCH_CALLCHAINS: SQLite: disk I/O error; if it is the disk for temporary "
                        "files, set SQLITE_TMPDIR to another one\n0:<><><><><><><><><>\n"
                        "damage: 1 call stacks of PYTORCH_API are not in PYTORCH_CALLCHAINS\n1 events\n"));
    remove_fixture(&made);
}

static void test_too_little_memory_is_no_damage(void) {
    fixture made = make_large("");
    size_t refused = 0;
    size_t read = 0;
    for (int64_t bytes = 4000; bytes < 4000000 && read < 3; bytes += bytes / 50) {
        size_t damages = 0;
        rlmr_damage damage = {.met = count_damage, .self = &damages};
        rlmr_profiler_db *db;
        bool present;
        uint64_t events;
        CU_ASSERT_EQUAL(sqlite3_hard_heap_limit64(0), 0);
        (void)sqlite3_hard_heap_limit64(bytes);
        rlmr_status status = rlmr_profiler_db_open(made.path, &damage, NULL, &db, NULL);
        if (status == RLMR_OK) {
            status = rlmr_profiler_db_memory(db, ignore_row, NULL, &present, NULL);
        }
        if (status == RLMR_OK) {
            status = rlmr_profiler_db_events(db, ignore_event, NULL, &events, &present, NULL);
        }
        rlmr_profiler_db_close(db);
        (void)sqlite3_hard_heap_limit64(0);
        CU_ASSERT_TRUE(status == RLMR_OK || status == RLMR_E_NOMEM);
        CU_ASSERT_EQUAL(damages, 0);
        refused += status == RLMR_E_NOMEM;
        read += status == RLMR_OK;
    }
    CU_ASSERT_TRUE(refused > 20);
    CU_ASSERT_EQUAL(read, 3);
    remove_fixture(&made);
}

/* ---- Nothing is written ---- */

static void test_nothing_is_written_beside_the_file(void) {
    fixture made = make_large(
        "DELETE FROM PYTORCH_CALLCHAINS WHERE id = 5; INSERT INTO PYTORCH_CALLCHAINS VALUES (5, 1, 0);"
        "ALTER TABLE STRING_IDS RENAME TO gone; CREATE TABLE STRING_IDS (id, value);"
        "INSERT INTO STRING_IDS SELECT * FROM gone; PRAGMA journal_mode=WAL");
    size_t bytes;
    size_t bytes_after;
    struct stat before;
    struct stat after;
    unsigned char *data = read_bytes(made.path, &bytes);
    CU_ASSERT_EQUAL(stat(made.path, &before), 0);
    CU_ASSERT_TRUE(survive(made.path));
    CU_ASSERT_EQUAL(stat(made.path, &after), 0);
    unsigned char *data_after = read_bytes(made.path, &bytes_after);
    CU_ASSERT_EQUAL(bytes_after, bytes);
    CU_ASSERT_EQUAL(memcmp(data, data_after, bytes), 0);
    CU_ASSERT_EQUAL(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    CU_ASSERT_EQUAL(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    DIR *directory = opendir(made.directory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    int entries = 0;
    while (readdir(directory) != NULL) {
        entries++;
    }
    (void)closedir(directory);
    CU_ASSERT_EQUAL(entries, 3); /* with . and .. */
    free(data);
    free(data_after);
    remove_fixture(&made);
}

/* ---- The meter ---- */

typedef struct {
    size_t bytes;
    size_t calls;
    size_t calls_max; /* it refuses the next */
} meter_state;

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    meter_state *self = context;
    self->bytes += bytes;
    self->calls++;
    return self->calls > self->calls_max ? rlmr_error_set(err, RLMR_E_STOPPED, "enough") : RLMR_OK;
}

static void test_the_meter_hears_of_no_more_bytes_than_there_are(void) {
    fixture made = make_large("");
    size_t bytes;
    free(read_bytes(made.path, &bytes));
    meter_state state = {.calls_max = SIZE_MAX};
    rlmr_meter meter = {.advance = advance, .self = &state};
    note text;
    begin_note(&text);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, MEMORY | EVENTS, &meter), RLMR_OK);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, MEMORY | EVENTS, NULL), RLMR_OK);
    (void)fclose(text.out);
    free(text.text);
    CU_ASSERT_TRUE(state.bytes <= bytes);
    CU_ASSERT_TRUE(state.bytes > bytes * 2 / 3);
    remove_fixture(&made);
}

static void test_the_meter_may_end_the_reading_at_any_call(void) {
    fixture made = make_large("");
    meter_state all = {.calls_max = SIZE_MAX};
    rlmr_meter meter = {.advance = advance, .self = &all};
    note text;
    begin_note(&text);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, MEMORY | EVENTS, &meter), RLMR_OK);
    CU_ASSERT_TRUE(all.calls > 4);
    for (size_t calls = 0; calls < all.calls; calls++) {
        meter_state state = {.calls_max = calls};
        meter.self = &state;
        (void)fseek(text.out, 0, SEEK_SET);
        CU_ASSERT_EQUAL(read_into(text.out, made.path, MEMORY | EVENTS, &meter), RLMR_E_STOPPED);
        CU_ASSERT_EQUAL(state.calls, calls + 1);
        CU_ASSERT_EQUAL(fflush(text.out), 0);
        CU_ASSERT_EQUAL(count_of(text.text, "stopped because another process failed: enough\n"), 1);
    }
    (void)fclose(text.out);
    free(text.text);
    remove_fixture(&made);
}

/* One statement that gives no row for long: frames that must be sorted. */
static void test_the_meter_may_end_a_long_sort(void) {
    fixture made = make_database(
        STRINGS API CHAINS "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)"
                           "INSERT INTO PYTORCH_CALLCHAINS SELECT -i, 11, 0 FROM n");
    meter_state state = {.calls_max = 30};
    rlmr_meter meter = {.advance = advance, .self = &state};
    note text;
    begin_note(&text);
    CU_ASSERT_EQUAL(read_into(text.out, made.path, EVENTS, &meter), RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(state.calls, 31);
    end_note(&text, RLMR_SLICE("0 events\nstopped because another process failed: enough\n"));
    remove_fixture(&made);
}

static rlmr_status refuse_third_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    (void)context;
    return row->number == 2 ? rlmr_error_set(err, RLMR_E_RANGE, "no more rows") : RLMR_OK;
}

static rlmr_status refuse_third_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    (void)context;
    return event->number == 2 ? rlmr_error_set(err, RLMR_E_RANGE, "no more events") : RLMR_OK;
}

static void test_who_takes_rows_or_events_may_end_the_reading(void) {
    fixture made = make_large("");
    size_t damages = 0;
    rlmr_damage damage = {.met = count_damage, .self = &damages};
    rlmr_profiler_db *db;
    rlmr_error err;
    bool present = false;
    uint64_t events = 0;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(made.path, &damage, NULL, &db, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, refuse_third_row, NULL, &present, &err), RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more rows");
    CU_ASSERT_TRUE(present);
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_profiler_db_events(db, refuse_third_event, NULL, &events, &present, &err),
                    RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more events");
    CU_ASSERT_EQUAL(events, 3);
    CU_ASSERT_EQUAL(damages, 0);
    rlmr_profiler_db_close(db);
    remove_fixture(&made);
}

/* ---- Limits ---- */

static rlmr_status note_sizes(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "%llu:%zu\n", (unsigned long long)row->number, row->cells[0].bytes);
    return RLMR_OK;
}

static rlmr_status note_stack_size(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "%llu:%zu:%zu\n", (unsigned long long)event->number, event->name.bytes,
                  event->call_stack.bytes);
    return RLMR_OK;
}

/* As check(), with the sizes of texts in place of them. */
static void check_sizes(const char *sql, const char *wanted) {
    fixture made = make_database(sql);
    note text;
    begin_note(&text);
    rlmr_damage damage = {.met = note_damage, .self = text.out};
    rlmr_profiler_db *db;
    rlmr_error err;
    bool present;
    uint64_t events;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(made.path, &damage, NULL, &db, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, note_sizes, text.out, &present, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_events(db, note_stack_size, text.out, &events, &present, &err), RLMR_OK);
    rlmr_profiler_db_close(db);
    end_note(&text, rlmr_slice_of(wanted));
    remove_fixture(&made);
}

#define BLANKS(bytes) "CAST(zeroblob(" bytes ") AS TEXT)"

static void test_a_row_over_the_limit_is_left_out_and_reading_goes_on(void) {
    check_sizes("CREATE TABLE OP_MEMORY (name); INSERT INTO OP_MEMORY VALUES ('ab'), (zeroblob(8388500)), "
                "(zeroblob(8388609)), ('abc'), (zeroblob(9000000)), (zeroblob(9000000)), ('abcd'), "
                "(zeroblob(9000000));"
                "INSERT INTO OP_MEMORY (_rowid_, name) VALUES (9223372036854775807, zeroblob(9000000))",
                "0:4\n1:2\n2:8388500\n"
                "lost: OP_MEMORY: a row over the limit STRING_BYTES, 8388608 bytes, is left out\n3:3\n"
                "lost: OP_MEMORY: a row over the limit STRING_BYTES, 8388608 bytes, is left out\n"
                "lost: OP_MEMORY: a row over the limit STRING_BYTES, 8388608 bytes, is left out\n4:4\n"
                "lost: OP_MEMORY: a row over the limit STRING_BYTES, 8388608 bytes, is left out\n"
                "lost: OP_MEMORY: a row over the limit STRING_BYTES, 8388608 bytes, is left out\n");
}

static void test_a_table_with_a_column_named_as_the_rowid_is_not_read(void) {
    check("CREATE TABLE OP_MEMORY (name, _RowId_ TEXT); INSERT INTO OP_MEMORY VALUES ('x', 'y');", MEMORY,
          "lost: OP_MEMORY: a column named _rowid_, the table is not read\nno OP_MEMORY\n");
}

/* A thousand rows that name one text of 8 MB: more than such a file can need. */
static void test_texts_that_are_named_too_often_are_left_out(void) {
    fixture made = make_database("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
                                 "INSERT INTO STRING_IDS VALUES (1, " BLANKS(
                                     "8000000") ");"
                                                "CREATE TABLE OP_MEMORY (name INTEGER); WITH RECURSIVE n(i) "
                                                "AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) "
                                                "INSERT INTO OP_MEMORY SELECT 1 FROM n;");
    note text;
    begin_note(&text);
    rlmr_damage damage = {.met = note_damage, .self = text.out};
    rlmr_profiler_db *db;
    bool present;
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(made.path, &damage, NULL, &db, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, note_sizes, text.out, &present, NULL), RLMR_OK);
    rlmr_profiler_db_close(db);
    CU_ASSERT_EQUAL(fclose(text.out), 0);
    CU_ASSERT_EQUAL(count_of(text.text, "further ones are left out"), 1);
    CU_ASSERT_TRUE(count_of(text.text, ":8000000\n") > 64 && count_of(text.text, ":8000000\n") < 200);
    CU_ASSERT_TRUE(count_of(text.text, ":0\n") > 800);
    free(text.text);
    remove_fixture(&made);
}

static void test_a_text_over_the_limit_is_left_out(void) {
    check_sizes(
        "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO STRING_IDS VALUES (1, " BLANKS("8388500") "), (2, " BLANKS(
            "8388609") "), (3, 'ab');"
                       "CREATE TABLE PYTORCH_API (name); INSERT INTO PYTORCH_API VALUES (1), (2), (2), (3)",
        "0:8388500:0\ndamage: STRING_IDS: a text over the limit STRING_BYTES, 8388608 bytes, is left out\n"
        "1:0:0\n2:0:0\n3:2:0\ndamage: 2 names of PYTORCH_API are not in STRING_IDS\n");
}

static void test_a_stack_over_the_limit_is_left_out(void) {
    check_sizes(
        "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO STRING_IDS VALUES (1, " BLANKS("4194302") "), (2, " BLANKS("4194303") "), (3, " BLANKS(
            "4194304") ");" API CHAINS "INSERT INTO PYTORCH_CALLCHAINS VALUES (0, 1, 0), (0, 2, 1), (1, 2, "
                       "0), (1, 2, 1), (2, 2, 0), (2, 1, 1), "
                       "(2, 3, 2), (3, 1, 0);"
                       "INSERT INTO PYTORCH_API (callchainId) VALUES (0), (1), (2), (3), (0)",
        "damage: PYTORCH_CALLCHAINS: 2 call stacks left out: limit STRING_BYTES, bytes of one: 8388608\n"
        "0:0:8388608\n1:0:0\n2:0:0\n3:0:4194302\n4:0:8388608\n");
}

/* Texts of a few files' worth of bytes, named again and again. */
static void test_all_stacks_together_have_a_limit(void) {
    check_sizes("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
                "INSERT INTO STRING_IDS VALUES (0, " BLANKS(
                    "8388000") ");" API CHAINS
                               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70)"
                               "INSERT INTO STRING_IDS SELECT i, 'frame ' || i FROM n;"
                               "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 141)"
                               "INSERT INTO PYTORCH_CALLCHAINS SELECT i / 2, i / 2 * (i % 2), i % 2 FROM n;"
                               "INSERT INTO PYTORCH_API (callchainId) VALUES (1), (63), (64), (65), (70)",
                "damage: PYTORCH_CALLCHAINS: 6 call stacks left out: bytes of all that are kept: 536870912\n"
                "0:0:8388010\n1:0:8388011\n2:0:8388011\n3:0:0\n4:0:0\n");
}

static void check_stacks(int stacks, const char *wanted) {
    char *sql = NULL;
    CU_ASSERT_FATAL(
        asprintf(&sql,
                 "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);" API CHAINS
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 "INSERT INTO PYTORCH_CALLCHAINS SELECT i, 'f' || i, 0 FROM n;"
                 "INSERT INTO PYTORCH_CALLCHAINS VALUES (%d, 'f7', 0), (%d, '', 0);"
                 "INSERT INTO PYTORCH_API (callchainId) VALUES (1), (1048575), (1048576), (%d), (%d), (%d)",
                 stacks, stacks + 1, stacks + 2, stacks, stacks + 1, stacks + 2) > 0);
    check_sizes(sql, wanted);
    free(sql);
}

static void test_distinct_stacks_have_a_limit(void) {
    check_stacks(RLMR_LIMIT_STACKS, "0:0:2\n1:0:8\n2:0:8\n3:0:8\n4:0:2\n5:0:0\n");
    check_stacks(RLMR_LIMIT_STACKS + 1,
                 "damage: PYTORCH_CALLCHAINS: 1 call stacks left out: limit STACKS, distinct ones: 1048576\n"
                 "0:0:2\n1:0:8\n2:0:8\n3:0:0\n4:0:2\n5:0:0\n");
}

/* ---- Real captures ---- */

typedef struct {
    size_t rows;
    size_t named;
    size_t ge;
    size_t ops;
    size_t stacks;
    size_t events;
} counted;

static bool begins(rlmr_slice text, rlmr_slice start) {
    return text.bytes >= start.bytes && memcmp(text.text, start.text, start.bytes) == 0;
}

static rlmr_status count_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    counted *self = context;
    (void)err;
    self->rows += row->number > 0;
    self->named += row->number > 0 && row->cells[0].bytes > 0;
    self->ge += begins(row->cells[0], RLMR_SLICE("cann::"));
    return RLMR_OK;
}

static rlmr_status count_event(void *context, const rlmr_trace_event *event, rlmr_error *err) {
    counted *self = context;
    (void)err;
    self->events++;
    self->ops += rlmr_slice_equal(event->cat, RLMR_SLICE("cpu_op"));
    self->stacks += event->call_stack.bytes > 0;
    return RLMR_OK;
}

static void check_real_capture(const char *path, size_t events) {
    size_t damages = 0;
    counted seen = {0};
    rlmr_damage damage = {.met = count_damage, .self = &damages};
    rlmr_profiler_db *db;
    uint64_t given = 0;
    bool present = false;
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(path, &damage, NULL, &db, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_memory(db, count_row, &seen, &present, NULL), RLMR_OK);
    CU_ASSERT_TRUE(present);
    CU_ASSERT_EQUAL(rlmr_profiler_db_events(db, count_event, &seen, &given, &present, NULL), RLMR_OK);
    CU_ASSERT_TRUE(present);
    rlmr_profiler_db_close(db);
    CU_ASSERT_EQUAL(damages, 0);
    CU_ASSERT_EQUAL(seen.rows, 184);
    CU_ASSERT_EQUAL(seen.named, 184);
    CU_ASSERT_EQUAL(seen.ge, 57);
    CU_ASSERT_EQUAL(given, events);
    CU_ASSERT_EQUAL(seen.events, events);
    CU_ASSERT_EQUAL(seen.ops, 860);
    CU_ASSERT_EQUAL(seen.stacks, 316);
}

static void test_real_captures_are_read_whole(void) {
    static const char real[] = SOURCE_DIR "/../shared/data/real/resnet_2rank_level2_db";
    static const size_t events[] = {2460, 2492};
    if (access(real, R_OK) != 0) {
        (void)printf(" (skipped: no real captures beside the source) ");
        return;
    }
    for (int rank = 0; rank < 2; rank++) {
        char *path = NULL;
        CU_ASSERT_FATAL(asprintf(&path,
                                 "%s/rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_%d.db",
                                 real, rank, rank) > 0);
        check_real_capture(path, events[rank]);
        free(path);
    }
}

/* ---- META_DATA, RANK_DEVICE_MAP ---- */

#define META "CREATE TABLE META_DATA (name TEXT, value TEXT);"
#define GROUP_INFO                                                                                           \
    "('parallel_group_info', '{\"10.0.0.1%eth0\": {\"group_name\": \"tp\", \"global_ranks\": [0, 4]}}')"
#define ARGS_INFO                                                                                            \
    "('distributed_args', "                                                                                  \
    "'{\"tensor_model_parallel_size\":2,\"rank\":3,\"world_size\":8,\"\xC3\xA9\":[1]}')"
#define GROUP_TEXT "group <10.0.0.1%eth0><tp> 0 4\n"
#define ARGS_TEXT "args 2 8 <{\"tensor_model_parallel_size\": 2, \"world_size\": 8, \"\\u00e9\": [1]}>\n"

static void test_metadata_is_what_the_text_file_has(void) {
    const char *sql =
        META "INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.0.0'), " GROUP_INFO ", " ARGS_INFO;
    check(sql, METADATA, GROUP_TEXT ARGS_TEXT);
    check(sql, GROUPS, GROUP_TEXT);
    check(sql, DISTRIBUTION, ARGS_TEXT);
    check(META "INSERT INTO META_DATA VALUES " ARGS_INFO ", " GROUP_INFO, METADATA, ARGS_TEXT GROUP_TEXT);
}

static void test_without_its_rows_or_columns_there_is_no_metadata(void) {
    check("CREATE TABLE other (a)", METADATA, "no META_DATA\n");
    check(META, METADATA, "");
    check(META "INSERT INTO META_DATA VALUES ('parallel_group', '{\"a\": {}}'), ('', ''), (NULL, NULL)",
          METADATA, "");
    check("CREATE TABLE META_DATA (value); INSERT INTO META_DATA VALUES ('{\"a\": {}}')", METADATA, "");
    check(META "INSERT INTO META_DATA VALUES ('parallel_group_info', '[1]'), ('distributed_args', '{}')",
          METADATA, "");
}

static void test_metadata_that_does_not_parse_is_damage(void) {
    check(META "INSERT INTO META_DATA VALUES ('parallel_group_info', '{\"a\": {}, \"b\": {x}}'), " ARGS_INFO,
          METADATA,
          "group <a><>\nlost: META_DATA: parallel_group_info: lexical error: invalid char in json "
          "text.\n" ARGS_TEXT);
    check(META "INSERT INTO META_DATA VALUES ('distributed_args', '{\"a\": 1'), ('parallel_group_info', "
               "NULL), " GROUP_INFO,
          METADATA,
          "lost: META_DATA: distributed_args: parse error: premature EOF\n"
          "lost: META_DATA: parallel_group_info: parse error: premature EOF\n" GROUP_TEXT);
    check("CREATE TABLE META_DATA (name); INSERT INTO META_DATA VALUES ('distributed_args')", METADATA,
          "lost: META_DATA: distributed_args: parse error: premature EOF\n");
    check(META "INSERT INTO META_DATA VALUES ('distributed_args', replace(hex(zeroblob(100)), '00', '['))",
          METADATA, "lost: META_DATA: distributed_args: parse error: premature EOF\n");
    check(META "INSERT INTO META_DATA VALUES ('distributed_args', '{\"a\": ' || replace(hex(zeroblob(200)), "
               "'00', '['))",
          METADATA, "lost: META_DATA: distributed_args: nested deeper than 128 (limit JSON_DEPTH)\n");
}

static rlmr_status refuse_group(void *context, rlmr_slice id, rlmr_slice name, const int32_t *ranks,
                                size_t count, rlmr_error *err) {
    (void)context;
    (void)id;
    (void)name;
    (void)ranks;
    (void)count;
    return rlmr_error_set(err, RLMR_E_PARSE, "no groups");
}

static rlmr_status refuse_device(void *context, rlmr_slice rank, rlmr_slice device, rlmr_slice host_uid,
                                 rlmr_slice host_name, rlmr_error *err) {
    (void)context;
    (void)device;
    (void)host_uid;
    (void)host_name;
    return rlmr_slice_equal(rank, RLMR_SLICE("1")) ? rlmr_error_set(err, RLMR_E_RANGE, "no devices")
                                                   : RLMR_OK;
}

static void test_who_takes_groups_or_devices_may_end_the_reading(void) {
    fixture made = make_database(
        META "INSERT INTO META_DATA VALUES " GROUP_INFO ";"
             "CREATE TABLE RANK_DEVICE_MAP (rankId); INSERT INTO RANK_DEVICE_MAP VALUES (0), (1)");
    size_t damages = 0;
    rlmr_damage damage = {.met = count_damage, .self = &damages};
    rlmr_metadata_sink sink = {.group = refuse_group};
    rlmr_profiler_db *db;
    rlmr_error err;
    bool present;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_profiler_db_open(made.path, &damage, NULL, &db, &err), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_profiler_db_metadata(db, &sink, true, true, &present, &err), RLMR_E_PARSE);
    CU_ASSERT_STRING_EQUAL(err.message, "no groups");
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_profiler_db_devices(db, refuse_device, NULL, &present, &err), RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no devices");
    CU_ASSERT_EQUAL(damages, 0);
    rlmr_profiler_db_close(db);
    remove_fixture(&made);
}

static void test_devices_come_with_the_first_host(void) {
    check("CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
          "INSERT INTO RANK_DEVICE_MAP VALUES (8, 0), (-1, 3), (NULL, 'x');"
          "CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);"
          "INSERT INTO HOST_INFO (rowid, hostUid, hostName) VALUES (7, 'other', 'more'), (2, "
          "'3538958389648580163', 'ubuntu')",
          DEVICES,
          "device <8><0><3538958389648580163><ubuntu>\ndevice <-1><3><3538958389648580163><ubuntu>\n"
          "device <><x><3538958389648580163><ubuntu>\n");
}

static void test_what_the_device_map_lacks_is_empty(void) {
    check("CREATE TABLE other (a)", DEVICES, "no RANK_DEVICE_MAP\n");
    check("CREATE TABLE HOST_INFO (hostUid); INSERT INTO HOST_INFO VALUES (1)", DEVICES,
          "no RANK_DEVICE_MAP\n");
    check("CREATE TABLE RANK_DEVICE_MAP (rankId)", DEVICES, "");
    check("CREATE TABLE RANK_DEVICE_MAP (deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (1)", DEVICES,
          "device <><1><><>\n");
    check("CREATE TABLE RANK_DEVICE_MAP (rankId); INSERT INTO RANK_DEVICE_MAP VALUES (1);"
          "CREATE TABLE HOST_INFO (hostName); INSERT INTO HOST_INFO VALUES ('h')",
          DEVICES, "device <1><><><h>\n");
    check("CREATE TABLE RANK_DEVICE_MAP (rankId); INSERT INTO RANK_DEVICE_MAP VALUES (1);"
          "CREATE TABLE HOST_INFO (hostUid, hostName)",
          DEVICES, "device <1><><><>\n");
}

static void test_real_captures_have_a_device(void) {
    static const char real[] = SOURCE_DIR "/../shared/data/real/resnet_2rank_level2_db";
    if (access(real, R_OK) != 0) {
        (void)printf(" (skipped: no real captures beside the source) ");
        return;
    }
    check_file(SOURCE_DIR
               "/../shared/data/real/resnet_2rank_level2_db/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/"
               "ascend_pytorch_profiler_1.db",
               METADATA | DEVICES, RLMR_SLICE("device <1><1><3538958389648580163><ubuntu>\n"));
}

CU_TestInfo rlmr_tests_profiler_db[] = {
    {"records come as rows under titles with units", test_records_come_as_rows_under_titles_with_units},
    {"a record without stream and active total is of GE",
     test_a_record_without_stream_and_active_total_is_of_ge},
    {"rows come in rowid order, whatever an index says",
     test_rows_come_in_rowid_order_whatever_an_index_says},
    {"a value of any type comes as its text", test_a_value_of_any_type_comes_as_its_text},
    {"a REAL is its shortest decimal without exponent", test_a_real_is_its_shortest_decimal_without_exponent},
    {"the longest REALs have room", test_the_longest_reals_have_room},
    {"names of tables and columns match in any case", test_names_of_tables_and_columns_match_in_any_case},
    {"names that are not there are counted, and empty", test_names_that_are_not_there_are_counted_and_empty},
    {"without texts every number is not there", test_without_texts_every_number_is_not_there},
    {"texts are found whatever key their table has", test_texts_are_found_whatever_key_their_table_has},
    {"events have their fields", test_events_have_their_fields},
    {"a cpu_op has type 50001 if the database does not say",
     test_a_cpu_op_has_type_50001_if_the_database_does_not_say},
    {"times are microseconds, exact to the ns", test_times_are_microseconds_exact_to_the_ns},
    {"a start that is no integer is no number", test_a_start_that_is_no_integer_is_no_number},
    {"frames come in order of depth", test_frames_come_in_order_of_depth},
    {"frames of the same depth stay in rowid order", test_frames_of_the_same_depth_stay_in_rowid_order},
    {"frames and stacks that are not there are counted",
     test_frames_and_stacks_that_are_not_there_are_counted},
    {"chains of the same frames are the same stack", test_chains_of_the_same_frames_are_the_same_stack},
    {"without call chains there are no stacks", test_without_call_chains_there_are_no_stacks},
    {"missing tables are absent", test_missing_tables_are_absent},
    {"views and virtual tables are no tables", test_views_and_virtual_tables_are_no_tables},
    {"a view under the name of a table is not read", test_a_view_under_the_name_of_a_table_is_not_read},
    {"generated columns are not computed", test_generated_columns_are_not_computed},
    {"a log beside the file is damage with its cure", test_a_log_beside_the_file_is_damage_with_its_cure},
    {"what the message says cures a log", test_what_the_message_says_cures_a_log},
    {"a path may have any bytes", test_a_path_may_have_any_bytes},
    {"a path may be relative", test_a_path_may_be_relative},
    {"a path may be long", test_a_path_may_be_long},
    {"what is no regular file is not read", test_what_is_no_regular_file_is_not_read},
    {"several databases are open at once", test_several_databases_are_open_at_once},
    {"what is no database cannot be parsed", test_what_is_no_database_cannot_be_parsed},
    {"rows before a damaged page are given", test_rows_before_a_damaged_page_are_given},
    {"stacks before a damaged page are given", test_stacks_before_a_damaged_page_are_given},
    {"damage among the texts is told once", test_damage_among_the_texts_is_told_once},
    {"rows that come again end a table", test_rows_that_come_again_end_a_table},
    {"endless texts end", test_endless_texts_end},
    {"a file cut anywhere ends well", test_a_file_cut_anywhere_ends_well},
    {"flipped bytes end well", test_flipped_bytes_end_well},
    {"who is told of damage may end the reading", test_who_is_told_of_damage_may_end_the_reading},
    {"a full disk for sorting is damage with its cure", test_a_full_disk_for_sorting_is_damage_with_its_cure},
    {"too little memory is no damage", test_too_little_memory_is_no_damage},
    {"nothing is written beside the file", test_nothing_is_written_beside_the_file},
    {"the meter hears of no more bytes than there are", test_the_meter_hears_of_no_more_bytes_than_there_are},
    {"the meter may end the reading at any call", test_the_meter_may_end_the_reading_at_any_call},
    {"the meter may end a long sort", test_the_meter_may_end_a_long_sort},
    {"who takes rows or events may end the reading", test_who_takes_rows_or_events_may_end_the_reading},
    {"a row over the limit is left out, and reading goes on",
     test_a_row_over_the_limit_is_left_out_and_reading_goes_on},
    {"a table with a column named as the rowid is not read",
     test_a_table_with_a_column_named_as_the_rowid_is_not_read},
    {"texts that are named too often are left out", test_texts_that_are_named_too_often_are_left_out},
    {"a text over the limit is left out", test_a_text_over_the_limit_is_left_out},
    {"a stack over the limit is left out", test_a_stack_over_the_limit_is_left_out},
    {"all stacks together have a limit", test_all_stacks_together_have_a_limit},
    {"distinct stacks have a limit", test_distinct_stacks_have_a_limit},
    {"real captures are read whole", test_real_captures_are_read_whole},
    {"metadata is what the text file has", test_metadata_is_what_the_text_file_has},
    {"without its rows or columns there is no metadata",
     test_without_its_rows_or_columns_there_is_no_metadata},
    {"metadata that does not parse is damage", test_metadata_that_does_not_parse_is_damage},
    {"who takes groups or devices may end the reading", test_who_takes_groups_or_devices_may_end_the_reading},
    {"devices come with the first host", test_devices_come_with_the_first_host},
    {"what the device map lacks is empty", test_what_the_device_map_lacks_is_empty},
    {"real captures have a device", test_real_captures_have_a_device},
    CU_TEST_INFO_NULL,
};
