#include "rlmr/communication_reader.h"

#include "rlmr/limits.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that are read at once: a token may lie on the border of two such pieces. */
#define PIECE_BYTES ((size_t)256 * 1024)

/* ---- The file that is read ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static fixture write_fixture(rlmr_slice content) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(
        asprintf(&made.directory, "%s/rlmr-communication-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/communication.json", made.directory) > 0);
    FILE *file = fopen(made.path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(content.text, 1, content.bytes, file), content.bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    return made;
}

static void remove_fixture(fixture *made) {
    CU_ASSERT_EQUAL(unlink(made->path), 0);
    CU_ASSERT_EQUAL(rmdir(made->directory), 0);
    free(made->path);
    free(made->directory);
}

/* ---- What comes of it, as text ---- */

typedef struct {
    FILE *out;
    bool offsets;  /* of records are written too */
    int64_t shift; /* that is taken off them */
    int left;      /* calls that are still taken, -1 for all */
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

static void print_key(const notes *self, const char *what, const rlmr_communication_key *key) {
    (void)fprintf(self->out, "%s ", what);
    if (self->offsets) {
        (void)fprintf(self->out, "%lld ", (long long)(key->offset - self->shift));
    }
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
    (void)fprintf(self->out, "%s %lld: %s\n", lost ? "lost" : "damage", (long long)(offset - self->shift),
                  reason);
    return count_call(self, err);
}

typedef rlmr_status (*read_function)(const char *path, const rlmr_communication_sink *sink,
                                     const rlmr_damage *damage, const rlmr_meter *meter, rlmr_error *err);

static rlmr_status read_into(notes *self, read_function read, const char *path, rlmr_error *err) {
    rlmr_communication_sink sink = {.time = note_time, .band = note_band, .link = note_link, .self = self};
    rlmr_damage damage = {.met = note_damage, .self = self};
    rlmr_error_clear(err);
    rlmr_status status = read(path, &sink, &damage, NULL, err);
    CU_ASSERT_EQUAL(err->code, status);
    return status;
}

/* @param text out: what was given, owned by the caller */
static rlmr_status read_noted(read_function read, rlmr_slice content, notes self, char **text,
                              rlmr_error *err) {
    size_t bytes = 0;
    *text = NULL;
    fixture file = write_fixture(content);
    self.out = open_memstream(text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self.out);
    rlmr_status status = read_into(&self, read, file.path, err);
    CU_ASSERT_EQUAL(fclose(self.out), 0);
    remove_fixture(&file);
    return status;
}

static rlmr_status read_slice(read_function read, rlmr_slice content, bool offsets, char **text,
                              rlmr_error *err) {
    return read_noted(read, content, (notes){.offsets = offsets, .left = -1}, text, err);
}

static void check_text(const char *text, const char *wanted) {
    CU_ASSERT_STRING_EQUAL(text, wanted);
    if (strcmp(text, wanted) != 0) {
        (void)fprintf(stderr, "\n    wanted:\n%s    read:\n%.2000s", wanted, text);
    }
}

static void check(read_function read, const char *content, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(read, rlmr_slice_of(content), false, &text, &err), RLMR_OK);
    check_text(text, wanted);
    free(text);
}

static void check_error(read_function read, const char *content, rlmr_status status, const char *wanted) {
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(read, rlmr_slice_of(content), false, &text, &err), status);
    CU_ASSERT_TRUE(err.offset >= 0 && err.offset <= (int64_t)strlen(content));
    check_text(text, wanted);
    free(text);
}

/* An operator of step 5 under a key. */
#define COLLECTIVE(operators) "{\"step5\": {\"collective\": {" operators "}}}"
#define BLOCK_OF(block) COLLECTIVE("\"a@7\": {" block "}")
#define TIMES(fields) BLOCK_OF("\"Communication Time Info\": {" fields "}")
#define BANDS(transports) BLOCK_OF("\"Communication Bandwidth Info\": {" transports "}")
#define NO_TIME "time <5>c<a><7><><><><><><>\n"

/* ---- Records ---- */

static void test_an_operator_gives_its_times_then_its_bands(void) {
    check(rlmr_communication_read,
          "{\"step13\": {\"p2p\": {\"hcom_send__271_0_1@11022204950826225271\": {"
          "\"Communication Time Info\": {\"Start Timestamp(us)\": 1764246877076689.8, \"Elapse Time(ms)\": "
          "71.42468, "
          "\"Transit Time(ms)\": 0, \"Wait Time(ms)\": 0.5, \"Synchronization Time(ms)\": 1e-3, "
          "\"Idle Time(ms)\": -2.50, \"Wait Time Ratio\": 0.7, \"Synchronization Time Ratio\": 0.8},"
          "\"Communication Bandwidth Info\": {"
          "\"RDMA\": {\"Transit Size(MB)\": 0, \"Transit Time(ms)\": 0.0, \"Bandwidth(GB/s)\": 0, "
          "\"Large Packet Ratio\": 0, \"Size Distribution\": {}},"
          "\"HCCS\": {\"Transit Size(MB)\": 16.777216, \"Transit Time(ms)\": 0.40092, \"Bandwidth(GB/s)\": "
          "20.9234, "
          "\"Large Packet Ratio\": 1.0, \"Size Distribution\": {\"8.388608\": [2, 0.3], \"4e-06\": [1, "
          "0.10092]}}}}}}}",
          "time <13>p<hcom_send__271_0_1><11022204950826225271>"
          "<1764246877076689.8><71.42468><0><0.5><1e-3><-2.50>\n"
          "band <13>p<hcom_send__271_0_1><11022204950826225271><RDMA><0><0.0><0><0><><><>\n"
          "band <13>p<hcom_send__271_0_1><11022204950826225271><HCCS>"
          "<16.777216><0.40092><20.9234><1.0><8.388608><2><0.3>\n"
          "band <13>p<hcom_send__271_0_1><11022204950826225271><HCCS>"
          "<16.777216><0.40092><20.9234><1.0><4e-06><1><0.10092>\n");
}

static void test_a_matrix_gives_its_links(void) {
    check(
        rlmr_communication_matrix_read,
        "{\"step13\": {\"collective\": {\"allreduce-top1@7\": {"
        "\"0-0\": {\"Transport Type\": \"LOCAL\", \"Transit Size(MB)\": 8.25, \"Transit Time(ms)\": 0.02484, "
        "\"Bandwidth(GB/s)\": 337.706, \"Op Name\": \"hcom_allReduce__128_5_1\"}, "
        "\"0-15\": {\"Transit Time(ms)\": 1, \"Transit Size(MB)\": 2, \"Transport Type\": \"HCCS\"}}},"
        "\"p2p\": {\"send-total@8\": {\"1-0\": {}}}}}",
        "link <13>c<allreduce-top1><7><0><0><LOCAL><hcom_allReduce__128_5_1><8.25><0.02484>\n"
        "link <13>c<allreduce-top1><7><0><15><HCCS><><2><1>\n"
        "link <13>p<send-total><8><1><0><><><><>\n");
}

static void test_steps_sections_and_operators_come_in_the_order_of_the_file(void) {
    check(rlmr_communication_read,
          "{\"step9\": {\"collective\": {\"b@1\": {}, \"a@1\": {}}, \"p2p\": {\"c@1\": {}}}, "
          "\"step10\": {\"p2p\": {\"a@1\": {}}, \"collective\": {}}, \"step11\": {}}",
          "time <9>c<b><1><><><><><><>\ntime <9>c<a><1><><><><><><>\n"
          "time <9>p<c><1><><><><><><>\ntime <10>p<a><1><><><><><><>\n");
}

static void test_a_step_is_its_bare_id(void) {
    check(rlmr_communication_read,
          "{\"step\": {\"p2p\": {\"a@7\": {}}}, \"step0012\": {\"p2p\": {\"a@7\": {}}}, \"\": {\"p2p\": "
          "{\"a@7\": {}}}, "
          "\"Step5\": {\"p2p\": {\"a@7\": {}}}, \"6\": {\"p2p\": {\"a@7\": {}}}, \"ste\": {\"p2p\": "
          "{\"a@7\": {}}}}",
          "time <>p<a><7><><><><><><>\ntime <0012>p<a><7><><><><><><>\ntime <>p<a><7><><><><><><>\n"
          "time <Step5>p<a><7><><><><><><>\ntime <6>p<a><7><><><><><><>\ntime <ste>p<a><7><><><><><><>\n");
}

static void test_a_key_is_split_at_its_last_at_sign(void) {
    check(rlmr_communication_read,
          COLLECTIVE("\"a@b@7\": {}, \"alone\": {}, \"@7\": {}, \"a@\": {}, \"\": {}, \"\\u00e9@8\": {}"),
          "time <5>c<a@b><7><><><><><><>\ntime <5>c<alone><alone><><><><><><>\ntime <5>c<><7><><><><><><>\n"
          "time <5>c<a><><><><><><><>\ntime <5>c<><><><><><><><>\ntime <5>c<\xC3\xA9><8><><><><><><>\n");
}

static void test_totals_are_passed_over_whatever_they_hold(void) {
    check(rlmr_communication_read,
          COLLECTIVE("\"Total Op Info\": {\"Communication Time Info\": {\"a\": [{}]}}, \"Total\": 3, "
                     "\"Totals@7\": [1, [2]], "
                     "\"total@7\": {}, \"a@7\": {}"),
          "time <5>c<total><7><><><><><><>\n" NO_TIME);
    check(rlmr_communication_matrix_read,
          COLLECTIVE("\"Total Op Info\": {\"0-1\": {\"Transport Type\": \"SDMA\"}}, \"a@7\": {\"0-1\": {}}"),
          "link <5>c<a><7><0><1><><><><>\n");
}

static void test_a_number_may_be_a_text_and_null_is_absent(void) {
    check(rlmr_communication_read,
          TIMES("\"Start Timestamp(us)\": \"17.5\", \"Elapse Time(ms)\": null, \"Transit Time(ms)\": \"\", "
                "\"Wait Time(ms)\": \" 1 \", \"Idle Time(ms)\": \"N/A\""),
          "time <5>c<a><7><17.5><><>< 1 ><><N/A>\n");
    check(rlmr_communication_read,
          BANDS("\"SDMA\": {\"Transit Size(MB)\": \"3\", \"Bandwidth(GB/s)\": null, \"Size Distribution\": "
                "{\"1\": [\"2\", null], \"\": [null, \"x\"]}}"),
          NO_TIME "band <5>c<a><7><SDMA><3><><><><1><2><>\nband <5>c<a><7><SDMA><3><><><><><><x>\n");
    check(rlmr_communication_matrix_read,
          BLOCK_OF("\"0-1\": {\"Transport Type\": 5, \"Op Name\": null, \"Transit Size(MB)\": \"1.5\"}"),
          "link <5>c<a><7><0><1><5><><1.5><>\n");
}

static void test_a_value_of_another_type_is_left_to_the_caller(void) {
    check(rlmr_communication_read,
          TIMES("\"Start Timestamp(us)\": true, \"Elapse Time(ms)\": false, \"Transit Time(ms)\": {\"a\": "
                "{\"b\": 1}}, "
                "\"Wait Time(ms)\": [1, [2], {}], \"Idle Time(ms)\": 3"),
          "time <5>c<a><7><true><false><{><[><><3>\n");
    check(rlmr_communication_read,
          BANDS("\"SDMA\": {\"Transit Time(ms)\": {}, \"Bandwidth(GB/s)\": [], \"Size Distribution\": "
                "{\"1\": [true, 2]}}"),
          NO_TIME "band <5>c<a><7><SDMA><><{><[><><1><true><2>\n");
    check(rlmr_communication_matrix_read,
          BLOCK_OF("\"0-1\": {\"Transport Type\": {\"Op Name\": \"x\"}, \"Op Name\": [\"0-2\"], \"Transit "
                   "Time(ms)\": true}"),
          "link <5>c<a><7><0><1><{><[><><true>\n");
}

static void test_what_is_not_known_inside_an_operator_is_passed_over(void) {
    check(rlmr_communication_read,
          BLOCK_OF("\"Other\": {\"SDMA\": {\"Transit Size(MB)\": 1}}, \"More\": [1], \"Else\": 5, "
                   "\"Communication Time Info\": {\"\": 1, \"Other\": {\"Idle Time(ms)\": 7}, \"Idle "
                   "Time(ms)\": 2}, "
                   "\"Communication Bandwidth Info\": {\"X\": {\"\": 3, \"Other\": {\"Size Distribution\": "
                   "{\"1\": [1, 1]}}}}"),
          "time <5>c<a><7><><><><><><2>\nband <5>c<a><7><X><><><><><><><>\n");
    check(rlmr_communication_matrix_read,
          BLOCK_OF("\"0-1\": {\"\": 1, \"Other\": {\"Op Name\": \"x\"}, \"Bandwidth(GB/s)\": [1]}"),
          "link <5>c<a><7><0><1><><><><>\n");
}

static void test_bands_before_the_times_come_behind_them(void) {
    check(rlmr_communication_read,
          BLOCK_OF("\"Communication Bandwidth Info\": {\"SDMA\": {\"Transit Size(MB)\": 1}}, "
                   "\"Communication Time Info\": {\"Idle Time(ms)\": 2}"),
          "time <5>c<a><7><><><><><><2>\nband <5>c<a><7><SDMA><1><><><><><><>\n");
}

static void test_nothing_of_an_operator_stays_for_the_next(void) {
    check(rlmr_communication_read,
          COLLECTIVE("\"a@7\": {\"Communication Time Info\": {\"Idle Time(ms)\": 2}, \"Communication "
                     "Bandwidth Info\": "
                     "{\"SDMA\": {\"Transit Size(MB)\": 1, \"Size Distribution\": {\"1\": [1, 2]}}, \"SIO\": "
                     "{}}}, \"b@8\": {}"),
          "time <5>c<a><7><><><><><><2>\nband <5>c<a><7><SDMA><1><><><><1><1><2>\nband "
          "<5>c<a><7><SIO><><><><><><><>\n"
          "time <5>c<b><8><><><><><><>\n");
    check(rlmr_communication_matrix_read,
          COLLECTIVE("\"a@7\": {\"0-1\": {\"Op Name\": \"x\"}, \"1-0\": {}}, \"b@8\": {\"0-1\": {}}"),
          "link <5>c<a><7><0><1><><x><><>\nlink <5>c<a><7><1><0><><><><>\nlink <5>c<b><8><0><1><><><><>\n");
}

static void test_of_a_repeated_field_or_block_the_last_counts(void) {
    check(rlmr_communication_read,
          TIMES("\"Idle Time(ms)\": 2, \"Idle Time(ms)\": 3, \"Idle Time(ms)\": null"), NO_TIME);
    check(rlmr_communication_read,
          BLOCK_OF("\"Communication Time Info\": {\"Idle Time(ms)\": 2}, \"Communication Time Info\": "
                   "{\"Elapse Time(ms)\": 3}"),
          "time <5>c<a><7><><3><><><><>\n");
    check(rlmr_communication_read,
          BLOCK_OF("\"Communication Bandwidth Info\": {\"SDMA\": {\"Size Distribution\": {\"1\": [1, 1]}}}, "
                   "\"Communication Bandwidth Info\": {\"SIO\": {}}"),
          NO_TIME "band <5>c<a><7><SIO><><><><><><><>\n");
    check(rlmr_communication_read,
          BANDS("\"HCCS\": {\"Size Distribution\": {\"4\": [4, 4]}}, \"SDMA\": {\"Size Distribution\": "
                "{\"1\": [1, 1], \"2\": [2, "
                "2]}, \"Size Distribution\": {\"3\": [3, 3]}}"),
          NO_TIME "band <5>c<a><7><HCCS><><><><><4><4><4>\nband <5>c<a><7><SDMA><><><><><3><3><3>\n");
}

static void test_repeated_operators_transports_sizes_and_links_are_all_given(void) {
    check(rlmr_communication_read, COLLECTIVE("\"a@7\": {}, \"a@7\": {}"), NO_TIME NO_TIME);
    check(rlmr_communication_read,
          BANDS("\"SDMA\": {}, \"SDMA\": {\"Size Distribution\": {\"1\": [1, 2], \"1\": [3, 4]}}"),
          NO_TIME "band <5>c<a><7><SDMA><><><><><><><>\nband <5>c<a><7><SDMA><><><><><1><1><2>\n"
                  "band <5>c<a><7><SDMA><><><><><1><3><4>\n");
    check(rlmr_communication_matrix_read, BLOCK_OF("\"0-1\": {}, \"0-1\": {}"),
          "link <5>c<a><7><0><1><><><><>\nlink <5>c<a><7><0><1><><><><>\n");
}

static void test_a_link_is_split_at_its_first_dash(void) {
    check(rlmr_communication_matrix_read, BLOCK_OF("\"0-1-2\": {}, \"-\": {}, \"a-\": {}, \"-b\": {}"),
          "link <5>c<a><7><0><1-2><><><><>\nlink <5>c<a><7><><><><><><>\nlink <5>c<a><7><a><><><><><>\n"
          "link <5>c<a><7><><b><><><><>\n");
}

static void test_records_have_an_offset(void) {
    char *text;
    rlmr_error err;
    static const char bands[] =
        "{\"step5\": {\"p2p\":\n {\"a@7\": {\"Communication Bandwidth Info\": {\"SDMA\": {}}}}}}";
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted,
                   "time %d <5>p<a><7><><><><><><>\nband %d <5>p<a><7><SDMA><><><><><><><>\n",
                   (int)(strstr(bands, "\"a@7\"") - bands), (int)(strstr(bands, "\"SDMA\"") - bands));
    CU_ASSERT_EQUAL(read_slice(rlmr_communication_read, rlmr_slice_of(bands), true, &text, &err), RLMR_OK);
    check_text(text, wanted);
    free(text);
    static const char links[] = "{\"step5\": {\"p2p\": {\"a@7\": {\"0-1\": {}, \"0-2\" : {}}}}}";
    (void)snprintf(wanted, sizeof wanted,
                   "link %d <5>p<a><7><0><1><><><><>\nlink %d <5>p<a><7><0><2><><><><>\n",
                   (int)(strstr(links, "\"a@7\"") - links), (int)(strstr(links, "\"a@7\"") - links));
    CU_ASSERT_EQUAL(read_slice(rlmr_communication_matrix_read, rlmr_slice_of(links), true, &text, &err),
                    RLMR_OK);
    check_text(text, wanted);
    free(text);
}

static void test_a_file_without_steps_is_empty(void) {
    check(rlmr_communication_read, "{}", "");
    check(rlmr_communication_matrix_read, "\xEF\xBB\xBF{}\n", "");
}

/* ---- Damage ---- */

/* `content` holds a ^ before the key at fault, which is taken out. */
static void check_damage(read_function read, const char *content, bool lost, const char *reason,
                         const char *wanted) {
    char *plain = strdup(content);
    char *mark = strchr(plain, '^');
    CU_ASSERT_PTR_NOT_NULL_FATAL(mark);
    memmove(mark, mark + 1, strlen(mark));
    char *all = NULL;
    CU_ASSERT_FATAL(
        asprintf(&all, "%s %d: %s\n%s", lost ? "lost" : "damage", (int)(mark - plain), reason, wanted) > 0);
    check(read, plain, all);
    free(all);
    free(plain);
}

/* The same for a value that is a number, a text, null, and an array: of this nothing is looked at. */
static void check_no_object(read_function read, const char *before, const char *after, const char *reason,
                            const char *wanted) {
    static const char *const values[] = {"3",    "\"x\"", "null",
                                         "true", "[]",    "[{\"p2p\": {\"a@7\": {}}}, [1]]"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *content = NULL;
        CU_ASSERT_FATAL(asprintf(&content, "%s%s%s", before, values[i], after) > 0);
        check_damage(read, content, true, reason, wanted);
        free(content);
    }
}

static void test_what_is_no_object_costs_itself(void) {
    static const read_function both[] = {rlmr_communication_read, rlmr_communication_matrix_read};
    static const char *const wanted[] = {NO_TIME, "link <5>c<a><7><0><1><><><><>\n"};
    for (size_t i = 0; i < 2; i++) {
        check_no_object(both[i], "{^\"step4\": ", ", \"step5\": {\"collective\": {\"a@7\": {\"0-1\": {}}}}}",
                        "a step that is no object", wanted[i]);
        check_no_object(both[i], "{\"step5\": {^\"p2p\": ", ", \"collective\": {\"a@7\": {\"0-1\": {}}}}}",
                        "a section that is no object", wanted[i]);
        check_no_object(both[i], "{\"step5\": {\"collective\": {^\"b@7\": ", ", \"a@7\": {\"0-1\": {}}}}}",
                        "an operator that is no object", wanted[i]);
    }
}

static void test_a_block_that_is_no_object_costs_itself(void) {
    check_no_object(
        rlmr_communication_read,
        "{\"step5\": {\"collective\": {\"a@7\": {\"Communication Bandwidth Info\": {\"SIO\": {}}, "
        "^\"Communication Time Info\": ",
        "}, \"b@8\": {}}}}", "times of an operator that are no object",
        NO_TIME "band <5>c<a><7><SIO><><><><><><><>\ntime <5>c<b><8><><><><><><>\n");
    check_no_object(rlmr_communication_read,
                    "{\"step5\": {\"collective\": {\"a@7\": {^\"Communication Bandwidth Info\": ",
                    ", \"Communication Time Info\": {\"Idle Time(ms)\": 2}}}}}",
                    "transports of an operator that are no object", "time <5>c<a><7><><><><><><2>\n");
}

static void test_a_transport_or_link_that_is_no_object_costs_itself(void) {
    check_no_object(rlmr_communication_read,
                    "{\"step5\": {\"collective\": {\"a@7\": {\"Communication Bandwidth Info\": {^\"SDMA\": ",
                    ", \"SIO\": {}}}}}}", "a transport that is no object",
                    NO_TIME "band <5>c<a><7><SIO><><><><><><><>\n");
    check_no_object(rlmr_communication_matrix_read,
                    "{\"step5\": {\"collective\": {\"a@7\": {\"1-1\": {}, ^\"1-0\": ", ", \"0-1\": {}}}}}",
                    "a link that is no object",
                    "link <5>c<a><7><1><1><><><><>\nlink <5>c<a><7><0><1><><><><>\n");
}

static void test_a_distribution_that_is_no_object_costs_itself(void) {
    check_no_object(rlmr_communication_read,
                    "{\"step5\": {\"collective\": {\"a@7\": {\"Communication Bandwidth Info\": {\"SDMA\": {"
                    "^\"Size Distribution\": ",
                    ", \"Transit Size(MB)\": 4}}}}}}", "a size distribution that is no object",
                    NO_TIME "band <5>c<a><7><SDMA><4><><><><><><>\n");
}

static void test_a_size_needs_a_count_and_a_duration(void) {
    static const char *const values[] = {"3",
                                         "null",
                                         "{}",
                                         "{\"1\": [1, 1]}",
                                         "\"1, 2\"",
                                         "[]",
                                         "[1]",
                                         "[1, 2, 3]",
                                         "[1, 2, 3, 4, 5]",
                                         "[1, [2]]",
                                         "[{}, 2]",
                                         "[[1, 2], [3, 4]]",
                                         "[1, 2, []]"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *content = NULL;
        CU_ASSERT_FATAL(
            asprintf(&content,
                     BANDS("\"SDMA\": {\"Size Distribution\": {\"1\": [1, 2], ^\"2\": %s, \"3\": [3, 4]}}"),
                     values[i]) > 0);
        check_damage(rlmr_communication_read, content, true, "a packet size without [count, duration]",
                     NO_TIME
                     "band <5>c<a><7><SDMA><><><><><1><1><2>\nband <5>c<a><7><SDMA><><><><><3><3><4>\n");
        free(content);
    }
}

static void test_a_transport_stays_when_its_only_size_is_lost(void) {
    check_damage(rlmr_communication_read,
                 BANDS("\"SDMA\": {\"Transit Size(MB)\": 4, \"Size Distribution\": {^\"1\": [1]}}"), true,
                 "a packet size without [count, duration]", NO_TIME "band <5>c<a><7><SDMA><4><><><><><><>\n");
}

static void test_an_unknown_section_costs_itself(void) {
    static const char reason[] = "a section that is neither p2p nor collective";
    check_damage(rlmr_communication_read,
                 "{\"step5\": {^\"other\": {\"b@7\": {}}, \"collective\": {\"a@7\": {}}}}", true, reason,
                 NO_TIME);
    check_damage(rlmr_communication_read, "{\"step5\": {^\"P2P\": 3, \"collective\": {\"a@7\": {}}}}", true,
                 reason, NO_TIME);
    check_damage(rlmr_communication_matrix_read,
                 "{\"step5\": {^\"\": [1], \"collective\": {\"a@7\": {\"0-1\": {}}}}}", true, reason,
                 "link <5>c<a><7><0><1><><><><>\n");
}

static void test_a_link_without_a_dash_costs_itself(void) {
    static const char reason[] = "a link without `-` between its ends";
    check_damage(rlmr_communication_matrix_read, BLOCK_OF("^\"01\": {\"Op Name\": \"x\"}, \"0-1\": {}"), true,
                 reason, "link <5>c<a><7><0><1><><><><>\n");
    check_damage(rlmr_communication_matrix_read, BLOCK_OF("^\"\": 3, \"0-1\": {}"), true, reason,
                 "link <5>c<a><7><0><1><><><><>\n");
}

static void test_a_file_that_is_no_object_cannot_be_parsed(void) {
    check_error(rlmr_communication_read, "[]", RLMR_E_PARSE, "");
    check_error(rlmr_communication_read, "3", RLMR_E_PARSE, "");
    check_error(rlmr_communication_matrix_read, "null", RLMR_E_PARSE, "");
    check_error(rlmr_communication_matrix_read, "", RLMR_E_PARSE, "");
}

static void test_operators_before_an_error_are_given(void) {
    check_error(rlmr_communication_read, COLLECTIVE("\"a@7\": {}, \"b@7\": {NaN}"), RLMR_E_PARSE, NO_TIME);
    check_error(rlmr_communication_read, COLLECTIVE("\"a@7\": {}") " x", RLMR_E_PARSE, NO_TIME);
    check_error(rlmr_communication_matrix_read,
                COLLECTIVE("\"a@7\": {\"0-1\": {}}, \"b@7\": {\"0-1\": {}, \"1-0\": N/A}"), RLMR_E_PARSE,
                "link <5>c<a><7><0><1><><><><>\n");
}

/* ---- Files that are cut ---- */

static const char whole_file[] = "{\"step5\": {\"p2p\": {\"a@7\": {\"Communication Time Info\": {\"Idle "
                                 "Time(ms)\": 1.5}, \"Communication Bandwidth Info\": "
                                 "{\"SDMA\": {\"Size Distribution\": {\"1\": [1, 2], \"2\": [3, 4]}}, "
                                 "\"SIO\": {}}, \"0-1\": {\"Op Name\": \"x\"}}, \"b@8\": "
                                 "{\"1-0\": {}}}, \"collective\": {\"Total Op Info\": {}, \"c\": {\"0-0\": "
                                 "{\"Transport Type\": \"LOCAL\"}}}}}";

/* What the whole file gives, as far as it is complete in so many bytes. */
static void check_cuts(read_function read) {
    char *whole;
    rlmr_error err;
    rlmr_slice content = rlmr_slice_of(whole_file);
    /* The blocks are links of a wrong form to the reader of links, and the links unknown blocks to the other one. */
    CU_ASSERT_EQUAL(read_slice(read, content, true, &whole, &err), RLMR_OK);
    size_t longest = 0;
    for (size_t bytes = 0; bytes < content.bytes; bytes++) {
        char *text;
        CU_ASSERT_EQUAL(read_slice(read, (rlmr_slice){content.text, bytes}, true, &text, &err), RLMR_E_PARSE);
        CU_ASSERT_EQUAL(err.offset, (int64_t)bytes);
        size_t length = strlen(text);
        CU_ASSERT_TRUE(length >= longest && strncmp(text, whole, length) == 0);
        longest = length;
        free(text);
    }
    CU_ASSERT_EQUAL(longest, strlen(whole));
    free(whole);
}

static void test_a_file_cut_at_any_byte_gives_what_is_complete(void) {
    check_cuts(rlmr_communication_read);
    check_cuts(rlmr_communication_matrix_read);
}

/* ---- Limits ---- */

/* `before`, then `part` so often that there are `bytes` of them, then `after`. */
static rlmr_slice fill(const char *before, const char *part, size_t bytes, const char *after) {
    size_t times = bytes / strlen(part) + 1;
    char *content = malloc(strlen(before) + times * strlen(part) + strlen(after) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(content);
    char *at = stpcpy(content, before);
    for (size_t i = 0; i < times; i++) {
        at = stpcpy(at, part);
    }
    at = stpcpy(at, after);
    return (rlmr_slice){.text = content, .bytes = (size_t)(at - content)};
}

static void check_too_large(read_function read, const char *before, const char *part, const char *after,
                            const char *wanted) {
    rlmr_slice content = fill(before, part, RLMR_LIMIT_RECORD_BYTES, after);
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(read, content, false, &text, &err), RLMR_OK);
    CU_ASSERT_TRUE(strncmp(text, "lost ", 5) == 0 && strstr(text, wanted) != NULL);
    CU_ASSERT_STRING_EQUAL(strstr(text, wanted) == NULL ? text : strstr(text, wanted), wanted);
    free(text);
    free((char *)content.text);
}

static void test_an_operator_over_the_limit_costs_itself(void) {
    check_too_large(rlmr_communication_read,
                    "{\"step5\": {\"collective\": {\"b@7\": {\"Communication Bandwidth Info\": {",
                    "\"SDMA\": {}, ", "\"SIO\": {}}}, \"a@7\": {}}}}",
                    ": an operator with too many bytes (limit RECORD_BYTES)\n" NO_TIME);
    check_too_large(
        rlmr_communication_matrix_read, "{\"step5\": {\"collective\": {\"b@7\": {", "\"0-1\": {}, ",
        "\"1-0\": {}}, \"a@7\": {\"0-1\": {}}}}}",
        ": an operator with too many bytes (limit RECORD_BYTES)\nlink <5>c<a><7><0><1><><><><>\n");
}

static void test_many_operators_have_no_limit_together(void) {
#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    rlmr_slice content =
        fill("{\"step5\": {\"collective\": {",
             "\"b@7\": {\"Communication Time Info\": {\"Idle Time(ms)\": \"" LONG LONG LONG "\"}, "
             "\"Communication Bandwidth Info\": {\"SDMA\": {\"Size Distribution\": {\"1\": [2, 3]}}}}, ",
             2 * RLMR_LIMIT_RECORD_BYTES, "\"a@7\": {}}}}");
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_communication_read, content, false, &text, &err), RLMR_OK);
    CU_ASSERT_PTR_NULL(strstr(text, "lost"));
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - strlen(NO_TIME), NO_TIME);
    free(text);
    free((char *)content.text);
}

static void test_a_text_over_the_limit_ends_the_reading(void) {
    rlmr_slice content = fill("{\"step5\": {\"collective\": {\"a@7\": {}, \"", "0123456789abcdef",
                              RLMR_LIMIT_STRING_BYTES, "\": {}}}}");
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_communication_read, content, false, &text, &err), RLMR_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "(limit STRING_BYTES)"));
    CU_ASSERT_TRUE(err.offset > 0);
    check_text(text, NO_TIME);
    free(text);
    free((char *)content.text);
}

static void test_too_deep_nesting_ends_the_reading(void) {
    rlmr_slice content =
        fill("{\"step5\": {\"collective\": {\"a@7\": {}, \"Total\": ", "[", RLMR_LIMIT_JSON_DEPTH, "");
    char *text;
    rlmr_error err;
    CU_ASSERT_EQUAL(read_slice(rlmr_communication_read, content, false, &text, &err), RLMR_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "(limit JSON_DEPTH)"));
    check_text(text, NO_TIME);
    free(text);
    free((char *)content.text);
}

/* ---- The border between two pieces ---- */

/* The file behind so many blanks that the border lies at each of its bytes in turn. */
static void check_border(read_function read) {
    char *wanted;
    rlmr_error err;
    rlmr_slice content = rlmr_slice_of(whole_file);
    CU_ASSERT_EQUAL(read_slice(read, content, true, &wanted, &err), RLMR_OK);
    char *late = malloc(PIECE_BYTES + content.bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(late);
    for (size_t before = 0; before <= content.bytes; before++) {
        size_t start = PIECE_BYTES - before;
        memset(late, ' ', start);
        memcpy(late + start, content.text, content.bytes);
        char *text;
        notes shifted = {.offsets = true, .shift = (int64_t)start, .left = -1};
        CU_ASSERT_EQUAL(read_noted(read, (rlmr_slice){late, start + content.bytes}, shifted, &text, &err),
                        RLMR_OK);
        check_text(text, wanted);
        free(text);
    }
    free(late);
    free(wanted);
}

static void test_the_border_of_pieces_does_not_show(void) {
    check_border(rlmr_communication_read);
    check_border(rlmr_communication_matrix_read);
}

/* ---- Ends ---- */

static void test_who_is_told_may_end_the_reading(void) {
    rlmr_error err;
    static const read_function both[] = {rlmr_communication_read, rlmr_communication_matrix_read};
    for (size_t i = 0; i < 2; i++) {
        char *whole;
        CU_ASSERT_EQUAL(read_slice(both[i], rlmr_slice_of(whole_file), false, &whole, &err), RLMR_OK);
        int calls = 0;
        for (const char *at = whole; *at != '\0'; at++) {
            calls += *at == '\n';
        }
        CU_ASSERT_TRUE(calls > 4);
        for (int left = 0; left < calls; left++) {
            char *text;
            rlmr_status status =
                read_noted(both[i], rlmr_slice_of(whole_file), (notes){.left = left}, &text, &err);
            CU_ASSERT_EQUAL(status, RLMR_E_RANGE);
            CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
            CU_ASSERT_EQUAL(strncmp(text, whole, strlen(text)), 0);
            CU_ASSERT_TRUE(strlen(text) < strlen(whole) || left + 1 == calls);
            free(text);
        }
        free(whole);
    }
}

static rlmr_status stop(void *context, size_t bytes, rlmr_error *err) {
    *(size_t *)context += bytes;
    return rlmr_error_set(err, RLMR_E_STOPPED, "enough");
}

static void test_the_meter_may_end_the_reading(void) {
    fixture file = write_fixture(rlmr_slice_of(whole_file));
    size_t bytes = 0;
    rlmr_meter meter = {.advance = stop, .self = &bytes};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_communication_read(file.path, NULL, NULL, &meter, &err), RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(bytes, strlen(whole_file));
    remove_fixture(&file);
}

static void test_a_file_that_is_not_there_cannot_be_read(void) {
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_communication_read("/nowhere/communication.json", NULL, NULL, NULL, &err),
                    RLMR_E_INPUT);
    CU_ASSERT_EQUAL(rlmr_communication_matrix_read("/nowhere/communication.json", NULL, NULL, NULL, NULL),
                    RLMR_E_INPUT);
    CU_ASSERT_EQUAL(err.code, RLMR_E_INPUT);
}

CU_TestInfo rlmr_tests_communication_reader[] = {
    {"an operator gives its times then its bands", test_an_operator_gives_its_times_then_its_bands},
    {"a matrix gives its links", test_a_matrix_gives_its_links},
    {"steps sections and operators come in the order of the file",
     test_steps_sections_and_operators_come_in_the_order_of_the_file},
    {"a step is its bare id", test_a_step_is_its_bare_id},
    {"a key is split at its last at sign", test_a_key_is_split_at_its_last_at_sign},
    {"totals are passed over whatever they hold", test_totals_are_passed_over_whatever_they_hold},
    {"a number may be a text and null is absent", test_a_number_may_be_a_text_and_null_is_absent},
    {"a value of another type is left to the caller", test_a_value_of_another_type_is_left_to_the_caller},
    {"what is not known inside an operator is passed over",
     test_what_is_not_known_inside_an_operator_is_passed_over},
    {"bands before the times come behind them", test_bands_before_the_times_come_behind_them},
    {"nothing of an operator stays for the next", test_nothing_of_an_operator_stays_for_the_next},
    {"of a repeated field or block the last counts", test_of_a_repeated_field_or_block_the_last_counts},
    {"repeated operators transports sizes and links are all given",
     test_repeated_operators_transports_sizes_and_links_are_all_given},
    {"a link is split at its first dash", test_a_link_is_split_at_its_first_dash},
    {"records have an offset", test_records_have_an_offset},
    {"a file without steps is empty", test_a_file_without_steps_is_empty},
    {"what is no object costs itself", test_what_is_no_object_costs_itself},
    {"a block that is no object costs itself", test_a_block_that_is_no_object_costs_itself},
    {"a transport or link that is no object costs itself",
     test_a_transport_or_link_that_is_no_object_costs_itself},
    {"a distribution that is no object costs itself", test_a_distribution_that_is_no_object_costs_itself},
    {"a size needs a count and a duration", test_a_size_needs_a_count_and_a_duration},
    {"a transport stays when its only size is lost", test_a_transport_stays_when_its_only_size_is_lost},
    {"an unknown section costs itself", test_an_unknown_section_costs_itself},
    {"a link without a dash costs itself", test_a_link_without_a_dash_costs_itself},
    {"a file that is no object cannot be parsed", test_a_file_that_is_no_object_cannot_be_parsed},
    {"operators before an error are given", test_operators_before_an_error_are_given},
    {"a file cut at any byte gives what is complete", test_a_file_cut_at_any_byte_gives_what_is_complete},
    {"an operator over the limit costs itself", test_an_operator_over_the_limit_costs_itself},
    {"many operators have no limit together", test_many_operators_have_no_limit_together},
    {"a text over the limit ends the reading", test_a_text_over_the_limit_ends_the_reading},
    {"too deep nesting ends the reading", test_too_deep_nesting_ends_the_reading},
    {"the border of pieces does not show", test_the_border_of_pieces_does_not_show},
    {"who is told may end the reading", test_who_is_told_may_end_the_reading},
    {"the meter may end the reading", test_the_meter_may_end_the_reading},
    {"a file that is not there cannot be read", test_a_file_that_is_not_there_cannot_be_read},
    CU_TEST_INFO_NULL,
};
