#include "rlmr/analysis_db.h"

#include "rlmr/limits.h"

#include <CUnit/Basic.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The database that is read ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static void write_database(const char *path, const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK);
    if (message != NULL) {
        (void)fprintf(stderr, "\n    %s: %s\n", sql, message);
        sqlite3_free(message);
    }
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
}

static fixture make_database(const char *sql) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-analysis-XXXXXX", parent == NULL ? "/tmp" : parent) >
                    0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/analysis.db", made.directory) > 0);
    write_database(made.path, sql);
    return made;
}

static void remove_fixture(fixture *made) {
    CU_ASSERT_EQUAL(unlink(made->path), 0);
    CU_ASSERT_EQUAL(rmdir(made->directory), 0);
    free(made->path);
    free(made->directory);
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

typedef struct {
    FILE *out;
    int left; /* calls that are still taken, -1 for all */
} notes;

static rlmr_status count_call(notes *self, rlmr_error *err) {
    return self->left >= 0 && self->left-- == 0 ? rlmr_error_set(err, RLMR_E_RANGE, "no more of it")
                                                : RLMR_OK;
}

static void print_slice(FILE *out, rlmr_slice text) {
    CU_ASSERT_PTR_NOT_NULL(text.text);
    (void)fputc('<', out);
    (void)fwrite(text.text, 1, text.bytes, out);
    (void)fputc('>', out);
}

static rlmr_status note_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    notes *self = context;
    CU_ASSERT_EQUAL(row->offset, -1);
    CU_ASSERT_FALSE(row->unended || row->in_quotes);
    (void)fprintf(self->out, "%llu:", (unsigned long long)row->number);
    for (size_t i = 0; i < row->count; i++) {
        print_slice(self->out, row->cells[i]);
    }
    (void)fputs("\n", self->out);
    return count_call(self, err);
}

static void print_key(const notes *self, const char *what, const rlmr_communication_key *key) {
    CU_ASSERT_EQUAL(key->offset, -1);
    (void)fprintf(self->out, "%s ", what);
    print_slice(self->out, key->step);
    (void)fputc(key->p2p ? 'p' : 'c', self->out);
    print_slice(self->out, key->op);
    print_slice(self->out, key->group);
}

#define PRINT_FIELD(field, key, column) print_slice(self->out, record->field);

static rlmr_status note_time(void *context, const rlmr_communication_time *record, rlmr_error *err) {
    notes *self = context;
    print_key(self, "time", &record->key);
    RLMR_COMMUNICATION_TIME_FIELDS(PRINT_FIELD)
    (void)fputs("\n", self->out);
    return count_call(self, err);
}

static rlmr_status note_band(void *context, const rlmr_communication_band *record, rlmr_error *err) {
    notes *self = context;
    print_key(self, "band", &record->key);
    print_slice(self->out, record->transport);
    RLMR_COMMUNICATION_BAND_FIELDS(PRINT_FIELD)
    (void)fputs("\n", self->out);
    return count_call(self, err);
}

static rlmr_status note_link(void *context, const rlmr_communication_link *record, rlmr_error *err) {
    notes *self = context;
    print_key(self, "link", &record->key);
    print_slice(self->out, record->src);
    print_slice(self->out, record->dst);
    RLMR_COMMUNICATION_LINK_FIELDS(PRINT_FIELD)
    (void)fputs("\n", self->out);
    return count_call(self, err);
}

static rlmr_status note_damage(void *context, int64_t offset, bool lost, const char *reason,
                               rlmr_error *err) {
    notes *self = context;
    CU_ASSERT_EQUAL(offset, -1);
    (void)fprintf(self->out, "%s: %s\n", lost ? "lost" : "damage", reason);
    return count_call(self, err);
}

typedef enum { STEPS = 1, COMMUNICATION = 2, MATRIX = 4, ALL = 7 } parts;

static rlmr_status read_into(notes *self, const char *path, parts wanted, const rlmr_meter *meter) {
    rlmr_communication_sink sink = {.time = note_time, .band = note_band, .link = note_link, .self = self};
    rlmr_damage damage = {.met = note_damage, .self = self};
    rlmr_analysis_db *db = NULL;
    bool present = true;
    /* Each call has a record of its own: an error goes to that of the call. */
    rlmr_error errs[4];
    for (size_t i = 0; i < sizeof errs / sizeof errs[0]; i++) {
        rlmr_error_clear(&errs[i]);
    }
    size_t call = 0;
    rlmr_status status = rlmr_analysis_db_open(path, &damage, meter, &db, &errs[call]);
    if (status == RLMR_OK && (wanted & STEPS) != 0) {
        status = rlmr_analysis_db_steps(db, note_row, self, &present, &errs[++call]);
        (void)fputs(present ? "" : "no steps\n", self->out);
    }
    if (status == RLMR_OK && (wanted & COMMUNICATION) != 0) {
        status = rlmr_analysis_db_communication(db, &sink, &present, &errs[++call]);
        (void)fputs(present ? "" : "no communication\n", self->out);
    }
    if (status == RLMR_OK && (wanted & MATRIX) != 0) {
        status = rlmr_analysis_db_matrix(db, &sink, &present, &errs[++call]);
        (void)fputs(present ? "" : "no matrix\n", self->out);
    }
    CU_ASSERT_EQUAL(errs[call].code, status);
    if (status != RLMR_OK) {
        (void)fprintf(self->out, "%s: %s\n", rlmr_status_text(status), errs[call].message);
    }
    rlmr_analysis_db_close(db);
    return status;
}

/* @param text out: owned by the caller */
static rlmr_status read_file(const char *path, parts wanted, int left, const rlmr_meter *meter, char **text) {
    size_t bytes;
    notes self = {.out = open_memstream(text, &bytes), .left = left};
    CU_ASSERT_PTR_NOT_NULL_FATAL(self.out);
    rlmr_status status = read_into(&self, path, wanted, meter);
    CU_ASSERT_EQUAL(fclose(self.out), 0);
    return status;
}

static void check_file(const char *path, parts wanted, const char *wanted_text) {
    char *text;
    (void)read_file(path, wanted, -1, NULL, &text);
    CU_ASSERT_STRING_EQUAL(text, wanted_text);
    if (strcmp(text, wanted_text) != 0) {
        (void)fprintf(stderr, "\n    wanted:\n%s    read:\n%.2000s", wanted_text, text);
    }
    free(text);
}

static void check(const char *sql, parts wanted, const char *text) {
    fixture made = make_database(sql);
    check_file(made.path, wanted, text);
    remove_fixture(&made);
}

#define TIME_TABLE                                                                                           \
    "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, "           \
    "elapse_time NUMERIC, "                                                                                  \
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, "  \
    "type TEXT);"
#define BAND_TABLE                                                                                           \
    "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, "          \
    "transit_size NUMERIC, "                                                                                 \
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count "      \
    "NUMERIC, "                                                                                              \
    "total_duration NUMERIC, step TEXT, type TEXT);"
#define LINK_TABLE                                                                                           \
    "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, "    \
    "transport_type TEXT, "                                                                                  \
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT);"
#define STEP_TITLES                                                                                          \
    "<Step><Computing><Communication(Not Overlapped)><Overlapped><Communication><Free><Stage><Bubble>"       \
    "<Communication(Not Overlapped and Exclude Receive)><Preparing>\n"

/* ---- StepTraceTime ---- */

static void test_steps_come_as_rows_under_titles(void) {
    check("CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, "
          "communication_not_overlapped NUMERIC, "
          "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
          "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);"
          "INSERT INTO StepTraceTime VALUES (4, '13', 400448.26, 1, 2.5, 3, 4, 5, 6, 7, 189.13),"
          "(5, 'step14', NULL, 1, 1, 1, 1, 1, 1, 8555.699999999999, NULL), (5, NULL, 'x', 0, 0, 0, 0, 0, 0, "
          "0, 0)",
          STEPS,
          "0:<Device_id>" STEP_TITLES "1:<4><13><400448.26><1><2.5><3><4><5><6><7><189.13>\n"
          "2:<5><step14><><1><1><1><1><1><1><8555.699999999999><>\n3:<5><><x><0><0><0><0><0><0><0><0>\n");
}

static void test_a_column_that_the_steps_lack_is_left_out(void) {
    check("CREATE TABLE StepTraceTime (other, STEP, Free); INSERT INTO StepTraceTime VALUES (1, '2', 3)",
          STEPS, "0:<Step><Free>\n1:<2><3>\n");
    check("CREATE TABLE StepTraceTime (step)", STEPS, "0:<Step>\n");
    check("CREATE TABLE StepTraceTime (other)", STEPS, "0:\n");
    check("CREATE TABLE StepTraceTime (step, free AS (1)); INSERT INTO StepTraceTime VALUES ('5')", STEPS,
          "0:<Step>\n1:<5>\n");
}

static void test_rows_come_in_rowid_order(void) {
    check("CREATE TABLE StepTraceTime (step); INSERT INTO StepTraceTime (rowid, step) VALUES (9, 'c'), (-4, "
          "'a'), (3, 'b');"
          "CREATE INDEX i ON StepTraceTime (step DESC)",
          STEPS, "0:<Step>\n1:<a>\n2:<b>\n3:<c>\n");
    check(TIME_TABLE "INSERT INTO CommAnalyzerTime (rowid, hccl_op_name) VALUES (2, 'a'), (1, 'b')",
          COMMUNICATION, "time <>c<b><><><><><><><>\ntime <>c<a><><><><><><><>\n");
}

/* ---- CommAnalyzer... ---- */

static void test_times_come_before_bands(void) {
    check(
        BAND_TABLE TIME_TABLE "INSERT INTO CommAnalyzerBandwidth VALUES ('hcom_send__1', "
                              "'11022204950826225271', 'HCCS', 16.777216, 0.40092, 20.9234, "
                              "1.0, 4e-06, 2, 0.3, 'step13', 'p2p');"
                              "INSERT INTO CommAnalyzerTime VALUES ('hcom_send__1', '11022204950826225271', "
                              "1764246877076689.8, 71.42468, 0, 0.5, "
                              "1e-3, -2.5, 'step13', 'p2p'), ('b', '8', 1764246877255715, NULL, 'x', 1, 2, "
                              "3, 'step', 'collective')",
        COMMUNICATION,
        "time <13>p<hcom_send__1><11022204950826225271><1764246877076689.8><71.42468><0><0.5><0.001><-2.5>\n"
        "time <>c<b><8><1764246877255715><><x><1><2><3>\n"
        "band "
        "<13>p<hcom_send__1><11022204950826225271><HCCS><16.777216><0.40092><20.9234><1><0.000004><2><0.3>"
        "\n");
}

static void test_a_size_of_0_with_count_0_is_an_empty_distribution(void) {
    check(
        BAND_TABLE
        "INSERT INTO CommAnalyzerBandwidth (hccl_op_name, transport_type, transit_size, package_size, count, "
        "total_duration) VALUES ('a', 'SDMA', 3, 0, 0, 0), ('a', 'SDMA', 3, '0.0', 0.0, 7), "
        "('a', 'SDMA', 3, 0, 1, 5), ('a', 'SDMA', 3, 1, 0, 0), ('a', 'SDMA', 3, NULL, 0, 0), ('a', 'SDMA', "
        "3, 0, NULL, 0)",
        COMMUNICATION,
        "band <>c<a><><SDMA><3><><><><><><>\nband <>c<a><><SDMA><3><><><><><><>\nband "
        "<>c<a><><SDMA><3><><><><0><1><5>\n"
        "band <>c<a><><SDMA><3><><><><1><0><0>\nband <>c<a><><SDMA><3><><><><><0><0>\nband "
        "<>c<a><><SDMA><3><><><><0><><0>\n");
}

static void test_a_matrix_gives_its_links(void) {
    check(LINK_TABLE "INSERT INTO CommAnalyzerMatrix VALUES ('allreduce-top1', '7', '0', '15', 'HCCS', 8.25, "
                     "0.5, 16.5, 'step5', "
                     "'collective', 'hcom_allReduce__1'), ('send-total', '8', 1, NULL, 'RDMA', 1, 2, 0.5, "
                     "'step5', 'p2p', '')",
          MATRIX,
          "link <5>c<allreduce-top1><7><0><15><HCCS><hcom_allReduce__1><8.25><0.5>\nlink "
          "<5>p<send-total><8><1><><RDMA><><1><2>\n");
}

static void test_columns_that_are_missing_give_empty_fields(void) {
    check("CREATE TABLE CommAnalyzerTime (hccl_op_name); INSERT INTO CommAnalyzerTime VALUES ('a');"
          "CREATE TABLE CommAnalyzerBandwidth (group_name); INSERT INTO CommAnalyzerBandwidth VALUES ('7');"
          "CREATE TABLE CommAnalyzerMatrix (other); INSERT INTO CommAnalyzerMatrix VALUES (1)",
          COMMUNICATION | MATRIX,
          "time <>c<a><><><><><><><>\nband <>c<><7><><><><><><><><>\nlink <>c<><><><><><><><>\n");
}

static void test_names_match_in_any_case(void) {
    check(
        "CREATE TABLE commanalyzertime (HCCL_OP_NAME, Idle_Time, STEP); INSERT INTO commanalyzertime VALUES "
        "('a', 1, 'step2');"
        "CREATE TABLE COMMANALYZERMATRIX (Src_Rank, TYPE); INSERT INTO COMMANALYZERMATRIX VALUES (4, 'p2p')",
        COMMUNICATION | MATRIX, "time <2>c<a><><><><><><><1>\nlink <>p<><><4><><><><><>\n");
}

static void test_without_a_type_the_name_decides(void) {
    check("CREATE TABLE CommAnalyzerTime (hccl_op_name, type); INSERT INTO CommAnalyzerTime VALUES "
          "('hcom_send_', NULL), "
          "('HCOM_Receive__1', ''), ('hcom_batchSendRecv__128_3_1', NULL), ('hcom_sen', NULL), "
          "('xhcom_send', NULL), ('', NULL), "
          "('hcom_batchsend', NULL), ('hcom_send', 'collective'), ('hcom_allReduce', 'p2p')",
          COMMUNICATION,
          "time <>p<hcom_send_><><><><><><><>\ntime <>p<HCOM_Receive__1><><><><><><><>\n"
          "time <>p<hcom_batchSendRecv__128_3_1><><><><><><><>\ntime <>c<hcom_sen><><><><><><><>\n"
          "time <>c<xhcom_send><><><><><><><>\ntime <>c<><><><><><><><>\ntime "
          "<>c<hcom_batchsend><><><><><><><>\n"
          "time <>c<hcom_send><><><><><><><>\ntime <>p<hcom_allReduce><><><><><><><>\n");
    check("CREATE TABLE CommAnalyzerMatrix (hccl_op_name); INSERT INTO CommAnalyzerMatrix VALUES "
          "('hcom_receive__1'), ('a')",
          MATRIX, "link <>p<hcom_receive__1><><><><><><><>\nlink <>c<a><><><><><><><>\n");
}

static void test_rows_of_an_unknown_type_are_left_out(void) {
    check(
        "CREATE TABLE CommAnalyzerTime (hccl_op_name, type); CREATE TABLE CommAnalyzerBandwidth "
        "(hccl_op_name, type);"
        "CREATE TABLE CommAnalyzerMatrix (hccl_op_name, type);"
        "INSERT INTO CommAnalyzerTime VALUES ('a', 'P2P'), ('b', 5), ('c', 'p2p'), ('Total', 'x');"
        "INSERT INTO CommAnalyzerBandwidth VALUES ('a', 'collectives');"
        "INSERT INTO CommAnalyzerMatrix VALUES ('a', ' p2p'), ('b', 'collective')",
        COMMUNICATION | MATRIX,
        "time <>p<c><><><><><><><>\nlost: CommAnalyzerTime: 2 rows whose type is neither p2p nor collective\n"
        "lost: CommAnalyzerBandwidth: 1 rows whose type is neither p2p nor collective\n"
        "link <>c<b><><><><><><><>\nlost: CommAnalyzerMatrix: 1 rows whose type is neither p2p nor "
        "collective\n");
}

static void test_totals_are_passed_over(void) {
    check(TIME_TABLE BAND_TABLE LINK_TABLE
          "INSERT INTO CommAnalyzerTime (hccl_op_name) VALUES ('Total Op Info'), ('total'), ('Tota');"
          "INSERT INTO CommAnalyzerBandwidth (hccl_op_name) VALUES ('Total');"
          "INSERT INTO CommAnalyzerMatrix (hccl_op_name) VALUES ('Totals'), ('allreduce-total')",
          COMMUNICATION | MATRIX,
          "time <>c<total><><><><><><><>\ntime <>c<Tota><><><><><><><>\n"
          "link <>c<allreduce-total><><><><><><><>\n");
}

/* ---- What is no table ---- */

static void test_missing_tables_are_absent(void) {
    check("CREATE TABLE other (a)", ALL, "no steps\nno communication\nno matrix\n");
    check(TIME_TABLE, ALL, "no steps\nno matrix\n");
    check(BAND_TABLE, ALL, "no steps\nno matrix\n");
    check(LINK_TABLE, ALL, "no steps\nno communication\n");
    check("CREATE VIEW StepTraceTime AS SELECT 1 AS step; CREATE VIEW CommAnalyzerTime AS SELECT 'a' AS "
          "hccl_op_name",
          ALL, "no steps\nno communication\nno matrix\n");
    fixture made = make_database("");
    write_bytes(made.path, "", 0);
    check_file(made.path, ALL, "no steps\nno communication\nno matrix\n");
    remove_fixture(&made);
}

static void test_tables_are_read_in_any_order_and_again(void) {
    fixture made =
        make_database("CREATE TABLE StepTraceTime (step); INSERT INTO StepTraceTime VALUES ('5');" TIME_TABLE
                      "INSERT INTO CommAnalyzerTime (hccl_op_name) VALUES ('a')");
    char *text = NULL;
    size_t bytes;
    notes self = {.out = open_memstream(&text, &bytes), .left = -1};
    rlmr_communication_sink sink = {.time = note_time, .self = &self};
    rlmr_damage damage = {.met = note_damage, .self = &self};
    rlmr_analysis_db *db;
    bool present;
    CU_ASSERT_EQUAL_FATAL(rlmr_analysis_db_open(made.path, &damage, NULL, &db, NULL), RLMR_OK);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(rlmr_analysis_db_communication(db, &sink, &present, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_analysis_db_steps(db, note_row, &self, &present, NULL), RLMR_OK);
    }
    rlmr_analysis_db_close(db);
    rlmr_analysis_db_close(NULL);
    CU_ASSERT_EQUAL(fclose(self.out), 0);
    CU_ASSERT_STRING_EQUAL(
        text, "time <>c<a><><><><><><><>\n0:<Step>\n1:<5>\ntime <>c<a><><><><><><><>\n0:<Step>\n1:<5>\n");
    free(text);
    remove_fixture(&made);
}

/* ---- Damage ---- */

static void test_a_log_beside_the_file_is_damage_with_its_cure(void) {
    fixture made = make_database("CREATE TABLE StepTraceTime (step)");
    char *beside = NULL;
    CU_ASSERT_FATAL(asprintf(&beside, "%s-wal", made.path) > 0);
    write_bytes(beside, "some", 4);
    check_file(made.path, STEPS,
               "damage: what analysis.db-wal holds is not read: run sqlite3 analysis.db 'PRAGMA "
               "wal_checkpoint(TRUNCATE)'\n"
               "0:<Step>\n");
    CU_ASSERT_EQUAL(unlink(beside), 0);
    free(beside);
    remove_fixture(&made);
}

static void test_what_is_no_database_cannot_be_parsed(void) {
    fixture made = make_database("");
    write_bytes(made.path, "{\"step5\": {}}", 13);
    check_file(made.path, ALL, "input is damaged: SQLite: file is not a database\n");
    remove_fixture(&made);
    char *text;
    CU_ASSERT_EQUAL(read_file("/nowhere/analysis.db", ALL, -1, NULL, &text), RLMR_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "cannot be opened: No such file or directory"));
    free(text);
}

static void test_a_row_over_the_limit_is_left_out(void) {
    char *sql = NULL;
    CU_ASSERT_FATAL(
        asprintf(&sql,
                 TIME_TABLE
                 "INSERT INTO CommAnalyzerTime (hccl_op_name) VALUES ('a'), (hex(zeroblob(%d))), ('b')",
                 RLMR_LIMIT_STRING_BYTES / 2 + 1) > 0);
    check(sql, COMMUNICATION,
          "time <>c<a><><><><><><><>\nlost: CommAnalyzerTime: a row over the limit STRING_BYTES, 8388608 "
          "bytes, is left out\n"
          "time <>c<b><><><><><><><>\n");
    free(sql);
}

/* 300 rows in each table, on many pages. */
static fixture make_large(void) {
    return make_database(
        "PRAGMA page_size=512; BEGIN; CREATE TABLE StepTraceTime (step, free);" TIME_TABLE BAND_TABLE
            LINK_TABLE "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
        "INSERT INTO StepTraceTime SELECT i, i / 7.0 FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
        "INSERT INTO CommAnalyzerTime SELECT 'name ' || i, i, i, i, i, i, i, i, 'step5', 'p2p' FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
        "INSERT INTO CommAnalyzerBandwidth SELECT 'name ' || i, i, i, i, i, i, i, i, i, i, 'step5', 'p2p' "
        "FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
        "INSERT INTO CommAnalyzerMatrix SELECT 'name ' || i, i, i, i, i, i, i, i, 'step5', 'p2p', i FROM n; "
        "COMMIT");
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* @return whether the file could be opened; its rows are no more than there were */
static bool survive(const char *path, int damages_max) {
    char *text;
    rlmr_status status = read_file(path, ALL, -1, NULL, &text);
    CU_ASSERT_TRUE(status == RLMR_OK || status == RLMR_E_PARSE || status == RLMR_E_INPUT);
    CU_ASSERT_TRUE(count_of(text, "time <") <= 330 && count_of(text, "link <") <= 330);
    CU_ASSERT_TRUE(count_of(text, "lost: ") + count_of(text, "damage: ") <= (size_t)damages_max);
    free(text);
    return status == RLMR_OK;
}

static void test_a_file_cut_anywhere_ends_well(void) {
    fixture made = make_large();
    size_t bytes;
    unsigned char *data = read_bytes(made.path, &bytes);
    CU_ASSERT_TRUE(survive(made.path, 0));
    for (size_t cut = bytes; cut > 0; cut -= cut > 4096 ? 1021 : cut > 100 ? 97 : 1) {
        write_bytes(made.path, data, cut - 1);
        CU_ASSERT_EQUAL(survive(made.path, 0),
                        cut <= 2); /* to SQLite no byte and one byte are an empty database */
    }
    free(data);
    remove_fixture(&made);
}

static void test_damaged_pages_end_well(void) {
    fixture made = make_large();
    size_t bytes;
    unsigned char *data = read_bytes(made.path, &bytes);
    size_t opened = 0;
    for (size_t page = 1; page < bytes / 512; page++) {
        unsigned char before[512];
        memcpy(before, data + page * 512, 512);
        memset(data + page * 512, page % 2 == 0 ? 0 : 0xA5, 512);
        write_bytes(made.path, data, bytes);
        opened += survive(made.path, 10);
        memcpy(data + page * 512, before, 512);
    }
    CU_ASSERT_TRUE(opened > 50);
    free(data);
    remove_fixture(&made);
}

/* ---- Ends ---- */

static void test_who_is_told_may_end_the_reading(void) {
    fixture made = make_database(
        "CREATE TABLE StepTraceTime (step); INSERT INTO StepTraceTime VALUES (1), (2);" TIME_TABLE BAND_TABLE
            LINK_TABLE "INSERT INTO CommAnalyzerTime (hccl_op_name, type) VALUES ('a', 'p2p'), ('b', 'x');"
        "INSERT INTO CommAnalyzerBandwidth (hccl_op_name) VALUES ('a'), ('b');"
        "INSERT INTO CommAnalyzerMatrix (hccl_op_name, type) VALUES ('a', 'x'), ('b', 'p2p')");
    char *whole;
    CU_ASSERT_EQUAL(read_file(made.path, ALL, -1, NULL, &whole), RLMR_OK);
    int calls = (int)count_of(whole, "\n");
    CU_ASSERT_EQUAL(calls, 9);
    for (int left = 0; left < calls; left++) {
        char *text;
        CU_ASSERT_EQUAL(read_file(made.path, ALL, left, NULL, &text), RLMR_E_RANGE);
        CU_ASSERT_EQUAL(count_of(text, "\n"), left + 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "value out of range: no more of it\n"));
        free(text);
    }
    free(whole);
    remove_fixture(&made);
}

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

static void test_the_meter_hears_of_the_bytes_and_may_end_the_reading(void) {
    fixture made = make_large();
    size_t bytes;
    free(read_bytes(made.path, &bytes));
    meter_state all = {.calls_max = SIZE_MAX};
    rlmr_meter meter = {.advance = advance, .self = &all};
    char *text;
    CU_ASSERT_EQUAL(read_file(made.path, ALL, -1, &meter, &text), RLMR_OK);
    free(text);
    CU_ASSERT_TRUE(all.bytes <= bytes && all.bytes > bytes * 2 / 3);
    for (size_t calls = 0; calls < all.calls; calls++) {
        meter_state state = {.calls_max = calls};
        meter.self = &state;
        CU_ASSERT_EQUAL(read_file(made.path, ALL, -1, &meter, &text), RLMR_E_STOPPED);
        CU_ASSERT_EQUAL(state.calls, calls + 1);
        free(text);
    }
    remove_fixture(&made);
}

/* ---- Real captures ---- */

/* Rows of a table whose operator is no total, as SQLite counts them. */
static size_t count_rows(const char *path, const char *table) {
    sqlite3 *db;
    sqlite3_stmt *statement;
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_step(statement), SQLITE_ROW);
    size_t count = (size_t)sqlite3_column_int64(statement, 0);
    CU_ASSERT_EQUAL(sqlite3_finalize(statement), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_close(db), SQLITE_OK);
    return count;
}

static void check_real_capture(const char *directory, const char *first_time) {
    char *path = NULL;
    char *text;
    CU_ASSERT_FATAL(asprintf(&path, "%s/ASCEND_PROFILER_OUTPUT/analysis.db", directory) > 0);
    CU_ASSERT_EQUAL(read_file(path, ALL, -1, NULL, &text), RLMR_OK);
    CU_ASSERT_EQUAL(count_of(text, "lost: ") + count_of(text, "damage: ") + count_of(text, "no "), 0);
    CU_ASSERT_EQUAL(count_of(text, "time <"), count_rows(path, "CommAnalyzerTime"));
    CU_ASSERT_EQUAL(count_of(text, "band <"), count_rows(path, "CommAnalyzerBandwidth"));
    CU_ASSERT_EQUAL(count_of(text, "link <"), count_rows(path, "CommAnalyzerMatrix"));
    CU_ASSERT_EQUAL(count_of(text, ":<"), 1 + count_rows(path, "StepTraceTime"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, first_time));
    free(text);
    free(path);
}

static void test_real_captures_are_read_whole(void) {
    static const char real[] = SOURCE_DIR "/../shared/data/real";
    if (access(real, R_OK) != 0) {
        (void)printf(" (skipped: no real captures beside the source) ");
        return;
    }
    check_real_capture(
        SOURCE_DIR "/../shared/data/real/resnet_2rank_level2_db/rank0_ascend_pt",
        "time <50>c<hcom_allReduce__865_1_1><11978775601474615865><1736414119758670.8><2.29312584375>");
    check_real_capture(
        SOURCE_DIR "/../shared/data/real/llm_pp2_dp2_4rank/rank_2_ascend_pt",
        "time <13>p<hcom_batchSendRecv__128_3_1><3985310405473756128><1764246877076689.8><71.42468><0><0>");
}

CU_TestInfo rlmr_tests_analysis_db[] = {
    {"steps come as rows under titles", test_steps_come_as_rows_under_titles},
    {"a column that the steps lack is left out", test_a_column_that_the_steps_lack_is_left_out},
    {"rows come in rowid order", test_rows_come_in_rowid_order},
    {"times come before bands", test_times_come_before_bands},
    {"a size of 0 with count 0 is an empty distribution",
     test_a_size_of_0_with_count_0_is_an_empty_distribution},
    {"a matrix gives its links", test_a_matrix_gives_its_links},
    {"columns that are missing give empty fields", test_columns_that_are_missing_give_empty_fields},
    {"names match in any case", test_names_match_in_any_case},
    {"without a type the name decides", test_without_a_type_the_name_decides},
    {"rows of an unknown type are left out", test_rows_of_an_unknown_type_are_left_out},
    {"totals are passed over", test_totals_are_passed_over},
    {"missing tables are absent", test_missing_tables_are_absent},
    {"tables are read in any order and again", test_tables_are_read_in_any_order_and_again},
    {"a log beside the file is damage with its cure", test_a_log_beside_the_file_is_damage_with_its_cure},
    {"what is no database cannot be parsed", test_what_is_no_database_cannot_be_parsed},
    {"a row over the limit is left out", test_a_row_over_the_limit_is_left_out},
    {"a file cut anywhere ends well", test_a_file_cut_anywhere_ends_well},
    {"damaged pages end well", test_damaged_pages_end_well},
    {"who is told may end the reading", test_who_is_told_may_end_the_reading},
    {"the meter hears of the bytes and may end the reading",
     test_the_meter_hears_of_the_bytes_and_may_end_the_reading},
    {"real captures are read whole", test_real_captures_are_read_whole},
    CU_TEST_INFO_NULL,
};
