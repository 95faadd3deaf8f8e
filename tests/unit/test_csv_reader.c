#include "rlmr/csv_reader.h"

#include "rlmr/limits.h"

#include <CUnit/Basic.h>

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that are read at once: a row may lie on the border of two such pieces. */
#define PIECE_BYTES ((size_t)256 * 1024)

/* ---- The file that is read ---- */

typedef struct {
    char *directory;
    char *path;
} fixture;

static fixture write_fixture(rlmr_slice content) {
    fixture made;
    const char *parent = getenv("TMPDIR");
    CU_ASSERT_FATAL(asprintf(&made.directory, "%s/rlmr-csv-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made.directory));
    CU_ASSERT_FATAL(asprintf(&made.path, "%s/operator_memory.csv", made.directory) > 0);
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

/* A row is "number@offset:" and its cells, each in angle brackets; behind a last row without a line end comes
 * a "!", behind a quote that is cut a "?". */
static rlmr_status note_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    FILE *out = context;
    (void)err;
    (void)fprintf(out, "%llu@%lld:", (unsigned long long)row->number, (long long)row->offset);
    for (size_t i = 0; i < row->count; i++) {
        (void)fputc('<', out);
        (void)fwrite(row->cells[i].text, 1, row->cells[i].bytes, out);
        (void)fputc('>', out);
    }
    (void)fputs(row->in_quotes ? "?" : "", out);
    (void)fputs(row->unended ? "!\n" : "\n", out);
    return RLMR_OK;
}

/* A lost row is a line of its own. */
static rlmr_status note_lost(void *context, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)err;
    (void)fprintf(context, "%s@%lld: %s\n", lost ? "lost" : "damage", (long long)offset, reason);
    return RLMR_OK;
}

static void check_slice(rlmr_slice content, rlmr_slice wanted) {
    fixture file = write_fixture(content);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_damage damage = {.met = note_lost, .self = out};
    CU_ASSERT_EQUAL(rlmr_csv_read(file.path, note_row, out, &damage, NULL, &err), RLMR_OK);
    CU_ASSERT_EQUAL(fclose(out), 0);
    bool same = rlmr_slice_equal((rlmr_slice){text, bytes}, wanted);
    CU_ASSERT_TRUE(same);
    if (!same) {
        (void)fprintf(stderr, "\n    wanted:\n%.*s    read:\n%s", (int)wanted.bytes, wanted.text, text);
    }
    free(text);
    remove_fixture(&file);
}

static void check(const char *content, const char *wanted) {
    check_slice(rlmr_slice_of(content), rlmr_slice_of(wanted));
}

/* ---- Rows and cells ---- */

static void test_rows_have_number_offset_and_cells(void) {
    check("Name,Size(KB)\naten::add,512\naten::mul,1024\n",
          "0@0:<Name><Size(KB)>\n1@14:<aten::add><512>\n2@28:<aten::mul><1024>\n");
}

static void test_empty_cells_are_cells(void) {
    check("a,b,c\n,,\nx,,\n,,y\n", "0@0:<a><b><c>\n1@6:<><><>\n2@9:<x><><>\n3@13:<><><y>\n");
}

static void test_quotes_hide_commas_and_quotes(void) {
    check("a,b,c\n\"x,y\",\"say \"\"hi\"\"\",\"\"\n\"\"\"\",plain\n",
          "0@0:<a><b><c>\n1@6:<x,y><say \"hi\"><>\n2@28:<\"><plain>\n");
}

static void test_line_breaks_inside_quotes_are_text(void) {
    check("a,b\n\"one\ntwo\",1\n\"three\r\n\n\nfour\",2\n5,6\n",
          "0@0:<a><b>\n1@4:<one\ntwo><1>\n2@16:<three\r\n\n\nfour><2>\n3@34:<5><6>\n");
}

static void test_a_quote_that_is_not_closed_costs_its_row(void) {
    check("a,b\n1,\"two\n3,4\n", "0@0:<a><b>\nlost@4: a quote that is not closed\n2@11:<3><4>\n");
    check("a,b\r\n\"1,2\r\n3,4\r\n5,6",
          "0@0:<a><b>\nlost@5: a quote that is not closed\n2@11:<3><4>\n3@16:<5><6>!\n");
    check("a,b\n\"1\n\"2\n3,4\n",
          "0@0:<a><b>\nlost@4: a quote inside quotes that is not doubled, or one before it that is not "
          "closed\nlost@7: a quote that is not closed\n3@10:<3><4>\n");
    check("a,b\n1,2\n3,\"", "0@0:<a><b>\n1@4:<1><2>\n2@8:<3><>?!\n"); /* it is cut */
    check("a,b\n\"1,2\n\"3\",4\n5,6\n",
          "0@0:<a><b>\nlost@4: a quote inside quotes that is not doubled, or one before it "
          "that is not closed\n2@9:<3><4>\n3@15:<5><6>\n");
    check("a,b\n1,\"2\"", "0@0:<a><b>\n1@4:<1><2>!\n");
}

static void test_quotes_inside_a_plain_cell_stay(void) {
    check("a,b\nx\"y,z\n", "0@0:<a><b>\n1@4:<x\"y><z>\n");
}

static void test_lines_may_end_in_lf_or_crlf(void) {
    check("a,b\r\n1,2\n3,4\r\n5,6\n", "0@0:<a><b>\n1@5:<1><2>\n2@9:<3><4>\n3@14:<5><6>\n");
}

static void test_lines_may_end_in_cr(void) {
    check("a,b\r1,2\r3,4\r", "0@0:<a><b>\n1@4:<1><2>\n2@8:<3><4>\n");
}

static void test_a_byte_order_mark_is_passed_over(void) {
    check("\xEF\xBB\xBFName,b\n1,2\n", "0@3:<Name><b>\n1@10:<1><2>\n");
    check("\xEF\xBB\xBF\"Name\",b\n", "0@3:<Name><b>\n");
    check("\xEF\xBB\xBF\nName\n", "0@4:<Name>\n");
    check("\xEF\xBB\xBF", "");
    check("a\n\xEF\xBB\xBF,b\n", "0@0:<a>\n1@2:<\xEF\xBB\xBF><b>\n");
}

static void test_blank_lines_are_passed_over(void) {
    check("\na,b\n", "0@1:<a><b>\n");
    check("\r\n\r\na,b\r\n\n\n1,2\n\n", "0@4:<a><b>\n1@11:<1><2>\n");
    check("   \n \t \na,b\n", "0@8:<a><b>\n");
}

static void test_a_file_without_rows_has_none(void) {
    check("", "");
    check("\n", "");
    check("\r\n\n  \n", "");
}

static void test_a_header_alone_is_a_row(void) {
    check("Name,Size(KB)\n", "0@0:<Name><Size(KB)>\n");
}

static void test_a_last_row_without_line_end_says_so(void) {
    check("a,b", "0@0:<a><b>!\n");
    check("a,b\n1,2", "0@0:<a><b>\n1@4:<1><2>!\n");
    check("a,b\n1,", "0@0:<a><b>\n1@4:<1><>!\n");
    check("a,b\n1", "0@0:<a><b>\n1@4:<1>!\n");
    check("a,b\n\"1", "0@0:<a><b>\n1@4:<1>?!\n");
    check("a,b\n1,2\r", "0@0:<a><b>\n1@4:<1><2>\n");
}

static void test_blanks_and_tabs_around_a_cell_go_inside_quotes_too(void) {
    check("a,b,c\n1736412474720984.920\t,\"1779785515596661.420\t\",\"  x \t\"\n",
          "0@0:<a><b><c>\n1@6:<1736412474720984.920><1779785515596661.420><x>\n");
    check(" a ,\tb\t, \" c \" \n x y , \"\t\" ,z\n", "0@0:<a><b><c>\n1@16:<x y><><z>\n");
    check("\"\na\n\"\n", "0@0:<\na\n>\n");
}

static void test_not_available_is_an_empty_cell(void) {
    check("N/A,\"N/A\",\" N/A\t\",N/A \nn/a,N/A/N/A,N/,xN/A\n",
          "0@0:<><><><>\n1@23:<n/a><N/A/N/A><N/><xN/A>\n");
}

static void test_zero_bytes_and_bytes_above_127_are_text(void) {
    check_slice(RLMR_SLICE("a,b\nx\0y,\0\n\xE9\xFF,\"\0\"\n"),
                RLMR_SLICE("0@0:<a><b>\n1@4:<x\0y><\0>\n2@10:<\xE9\xFF><\0>\n"));
}

/* ---- The border between two pieces ---- */

/* `row`, of these cells, at every place around the first border, with blank lines before and a row behind it. */
static void check_on_border(const char *row, const char *cells) {
    const size_t row_bytes = strlen(row);
    char *content = malloc(PIECE_BYTES + 100);
    char wanted[200];
    for (size_t before = 0; before <= row_bytes + 1; before++) {
        size_t start = PIECE_BYTES - before;
        memset(content, '\n', start);
        memcpy(content, "h\n", 2);
        memcpy(content + start, row, row_bytes);
        memcpy(content + start + row_bytes, "1,2\n", 4);
        (void)snprintf(wanted, sizeof wanted, "0@0:<h>\n1@%zu:%s\n2@%zu:<1><2>\n", start, cells,
                       start + row_bytes);
        check_slice((rlmr_slice){content, start + row_bytes + 4}, rlmr_slice_of(wanted));
    }
    free(content);
}

static void test_rows_lie_anywhere_on_the_border_of_pieces(void) {
    check_on_border("\"x\ny\" ,\"q\"\"r\", 7 ,z\r\n", "<x\ny><q\"r><7><z>");
    check_on_border(" \t x,y\r", "<x><y>");
    check_on_border(",,\n", "<><><>");
}

static void test_a_row_may_be_longer_than_a_piece(void) {
    enum { CELLS = 300, CELL_BYTES = 3000 };
    char *content = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&content, &bytes);
    char *wanted = NULL;
    size_t wanted_bytes = 0;
    FILE *out = open_memstream(&wanted, &wanted_bytes);
    (void)fputs("h\n", file);
    (void)fputs("0@0:<h>\n1@2:", out);
    for (int i = 0; i < CELLS; i++) {
        (void)fprintf(file, "%s%0*d", i == 0 ? "" : ",", CELL_BYTES, i);
        (void)fprintf(out, "<%0*d>", CELL_BYTES, i);
    }
    (void)fputs("\n9\n", file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    (void)fprintf(out, "\n2@%zu:<9>\n", bytes - 2);
    CU_ASSERT_EQUAL(fclose(out), 0);
    check_slice((rlmr_slice){content, bytes}, (rlmr_slice){wanted, wanted_bytes});
    free(content);
    free(wanted);
}

typedef struct {
    uint64_t rows;
    uint64_t wrong;
} numbered;

static rlmr_status check_numbered(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    numbered *self = context;
    char text[40];
    (void)err;
    (void)snprintf(text, sizeof text, "row %llu", (unsigned long long)row->number);
    self->wrong += row->number != self->rows || row->count != 3 || row->unended ||
                   !rlmr_slice_equal(row->cells[0], rlmr_slice_of(text)) ||
                   !rlmr_slice_equal(row->cells[2], RLMR_SLICE("end"));
    self->rows++;
    return RLMR_OK;
}

static void test_many_rows_are_read_over_many_pieces(void) {
    enum { ROWS = 50000 };
    char *content = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&content, &bytes);
    for (int i = 0; i < ROWS; i++) {
        (void)fprintf(file, "row %d,\"%.*s\t\",end\r\n", i, i % 41,
                      "a line\nof some length, with commas, in quotes");
    }
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_TRUE(bytes > 4 * PIECE_BYTES);
    fixture made = write_fixture((rlmr_slice){content, bytes});
    numbered seen = {0};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, check_numbered, &seen, NULL, NULL, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(seen.rows, ROWS);
    CU_ASSERT_EQUAL(seen.wrong, 0);
    remove_fixture(&made);
    free(content);
}

/* ---- Limits ---- */

typedef struct {
    size_t rows;
    size_t cells; /* of the last row */
    size_t lost;
    int64_t offset; /* of the row lost last */
    char reason[128];
} counted;

static rlmr_status count_lost(void *context, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    counted *self = context;
    (void)err;
    self->lost += lost;
    self->offset = offset;
    (void)snprintf(self->reason, sizeof self->reason, "%s", reason);
    return RLMR_OK;
}

static rlmr_status count_row(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    counted *self = context;
    (void)err;
    self->rows++;
    self->cells = row->count;
    return RLMR_OK;
}

/* Reads a file of a header, one row of `cells` cells that have `cell_bytes` bytes, the last of them `more`, and
 * another row. */
static void read_large(size_t cells, size_t cell_bytes, size_t more, counted *seen) {
    size_t bytes = 2 + cells * (cell_bytes + 1) + more + 2;
    char *content = malloc(bytes);
    char *at = content;
    at = mempcpy(at, "h\n", 2);
    for (size_t i = 0; i < cells; i++) {
        size_t length = cell_bytes + (i + 1 == cells ? more : 0);
        memset(at, 'x', length);
        at += length;
        *at++ = i + 1 == cells ? '\n' : ',';
    }
    (void)memcpy(at, "9\n", 2);
    fixture made = write_fixture((rlmr_slice){content, bytes});
    free(content);
    *seen = (counted){0};
    rlmr_damage damage = {.met = count_lost, .self = seen};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, seen, &damage, NULL, NULL), RLMR_OK);
    remove_fixture(&made);
}

static void check_limit(size_t cells, size_t cell_bytes, size_t more, const char *reason) {
    counted seen;
    read_large(cells, cell_bytes, more, &seen);
    CU_ASSERT_EQUAL(seen.rows, reason == NULL ? 3 : 2);
    CU_ASSERT_EQUAL(seen.cells, 1);
    CU_ASSERT_EQUAL(seen.lost, reason == NULL ? 0 : 1);
    if (reason != NULL) {
        CU_ASSERT_EQUAL(seen.offset, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(seen.reason, reason));
    }
}

static void test_a_row_has_at_most_so_many_cells(void) {
    check_limit(RLMR_LIMIT_CSV_COLUMNS - 1, 1, 0, NULL);
    check_limit(RLMR_LIMIT_CSV_COLUMNS, 1, 0, NULL);
    check_limit(RLMR_LIMIT_CSV_COLUMNS + 1, 1, 0, "(limit CSV_COLUMNS)");
    check_limit(200000, 1, 0, "(limit CSV_COLUMNS)");
}

static void test_a_cell_has_at_most_so_many_bytes(void) {
    check_limit(2, RLMR_LIMIT_CSV_CELL_BYTES - 1, 0, NULL);
    check_limit(2, RLMR_LIMIT_CSV_CELL_BYTES, 0, NULL);
    check_limit(2, RLMR_LIMIT_CSV_CELL_BYTES, 1, "(limit CSV_CELL_BYTES)");
}

static void test_a_row_has_at_most_so_many_bytes(void) {
    enum { CELL_BYTES = 8191 }; /* with its comma or line end 8192 */
    const size_t cells = RLMR_LIMIT_CSV_ROW_BYTES / (CELL_BYTES + 1);
    check_limit(cells - 1, CELL_BYTES, CELL_BYTES, NULL);
    check_limit(cells, CELL_BYTES, 0, NULL);
    check_limit(cells, CELL_BYTES, 1, "(limit CSV_ROW_BYTES)");
    check_limit(3 * cells, CELL_BYTES, 0, "(limit CSV_ROW_BYTES)");
}

/* Behind a quote that is not closed lies more than a row may have: the lines behind its own are rows all the same. */
static void test_a_quote_that_is_not_closed_for_long_costs_its_row(void) {
    enum { LINES = 6 * (RLMR_LIMIT_CSV_ROW_BYTES >> 4) };
    char *content = malloc((size_t)LINES * 16 + 32);
    char *at = stpcpy(content, "a,b\n1,\"2\n");
    for (int i = 0; i < LINES; i++) {
        at = stpcpy(at, "0123456,8901234\n");
    }
    fixture made = write_fixture((rlmr_slice){content, (size_t)(at - content)});
    free(content);
    counted seen = {0};
    rlmr_damage damage = {.met = count_lost, .self = &seen};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, &seen, &damage, NULL, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(seen.lost, 1);
    CU_ASSERT_EQUAL(seen.offset, 4);
    CU_ASSERT_EQUAL(seen.rows, 1 + LINES);
    remove_fixture(&made);
}

/* Behind such a quote a line is at hand whole when it is read again, however long it is. @return rows lost */
static size_t lost_behind_a_quote(size_t cells, size_t cell_bytes) {
    char *content = NULL;
    size_t bytes;
    FILE *out = open_memstream(&content, &bytes);
    (void)fputs("h\n\"2\n", out);
    for (size_t i = 0; i < cells; i++) {
        (void)fprintf(out, "%s%0*d", i == 0 ? "" : ",", (int)cell_bytes, 1);
    }
    for (int i = 0; i < RLMR_LIMIT_CSV_ROW_BYTES / 2; i++) {
        (void)fputs("\n9", out);
    }
    CU_ASSERT_EQUAL(fclose(out), 0);
    fixture made = write_fixture((rlmr_slice){content, bytes});
    free(content);
    counted seen = {0};
    rlmr_damage damage = {.met = count_lost, .self = &seen};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, &seen, &damage, NULL, NULL), RLMR_OK);
    remove_fixture(&made);
    return seen.lost;
}

static void test_long_lines_behind_a_quote_have_the_same_limits(void) {
    enum { CELL_BYTES = 8191 };
    const size_t cells = RLMR_LIMIT_CSV_ROW_BYTES / (CELL_BYTES + 1);
    CU_ASSERT_EQUAL(lost_behind_a_quote(1, RLMR_LIMIT_CSV_CELL_BYTES), 1);
    CU_ASSERT_EQUAL(lost_behind_a_quote(1, RLMR_LIMIT_CSV_CELL_BYTES + 1), 2);
    CU_ASSERT_EQUAL(lost_behind_a_quote(cells, CELL_BYTES), 1);
    CU_ASSERT_EQUAL(lost_behind_a_quote(cells + 1, CELL_BYTES), 2);
}

/* Each line opens a quote that nothing closes. */
static void test_reading_again_has_a_limit(void) {
    enum { LINES = 1 << 17, LINE_BYTES = 128 };
    char *content = malloc((size_t)LINES * LINE_BYTES);
    memset(content, 'x', (size_t)LINES * LINE_BYTES);
    for (size_t at = 0; at < (size_t)LINES * LINE_BYTES; at += LINE_BYTES) {
        content[at] = '"'; /* doubled: it also goes on a quote that is open */
        content[at + 1] = '"';
        content[at + LINE_BYTES - 1] = '\n';
    }
    fixture made = write_fixture((rlmr_slice){content, (size_t)LINES * LINE_BYTES});
    free(content);
    counted seen = {0};
    rlmr_damage damage = {.met = count_lost, .self = &seen};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, &seen, &damage, NULL, &err), RLMR_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "(limit REREAD_BYTES)"));
    CU_ASSERT_EQUAL(seen.lost, RLMR_LIMIT_REREAD_BYTES / RLMR_LIMIT_CSV_ROW_BYTES + 1);
    remove_fixture(&made);
}

/* ---- Ends ---- */

static rlmr_status refuse_second(void *context, const rlmr_csv_row *row, rlmr_error *err) {
    counted *self = context;
    self->rows++;
    return row->number == 1 ? rlmr_error_set(err, RLMR_E_RANGE, "no more of it") : RLMR_OK;
}

static void test_the_taker_of_rows_may_end_the_reading(void) {
    fixture made = write_fixture(RLMR_SLICE("a\nb\nc\nd\n"));
    counted seen = {0};
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, refuse_second, &seen, NULL, NULL, &err), RLMR_E_RANGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no more of it");
    CU_ASSERT_EQUAL(seen.rows, 2);
    remove_fixture(&made);
}

typedef struct {
    size_t bytes;
    size_t limit;
} meter_state;

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    meter_state *self = context;
    self->bytes += bytes;
    return self->bytes > self->limit ? rlmr_error_set(err, RLMR_E_STOPPED, "enough") : RLMR_OK;
}

static void test_the_meter_hears_of_all_bytes_and_may_end_the_reading(void) {
    char *content = malloc(3 * PIECE_BYTES);
    memset(content, '\n', 3 * PIECE_BYTES);
    memcpy(content, "a,b\n", 4);
    fixture made = write_fixture((rlmr_slice){content, 3 * PIECE_BYTES});
    free(content);
    meter_state state = {.limit = SIZE_MAX};
    rlmr_meter meter = {.advance = advance, .self = &state};
    counted seen = {0};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, &seen, NULL, &meter, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(state.bytes, 3 * PIECE_BYTES);

    state = (meter_state){.limit = PIECE_BYTES};
    CU_ASSERT_EQUAL(rlmr_csv_read(made.path, count_row, &seen, NULL, &meter, NULL), RLMR_E_STOPPED);
    CU_ASSERT_EQUAL(state.bytes, 2 * PIECE_BYTES);
    remove_fixture(&made);
}

static void test_a_file_that_is_not_there_cannot_be_read(void) {
    fixture made = write_fixture(RLMR_SLICE(""));
    char *absent = NULL;
    CU_ASSERT_FATAL(asprintf(&absent, "%s/absent.csv", made.directory) > 0);
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL(rlmr_csv_read(absent, count_row, &(counted){0}, NULL, NULL, &err), RLMR_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "cannot be opened: No such file or directory"));
    free(absent);
    remove_fixture(&made);
}

/* ---- Plain lines, against libcsv ---- */

/* What libcsv makes of one line, as note_row() writes it. */
typedef struct {
    FILE *out;
    int rows;
} oracle;

static void oracle_cell(void *text, size_t bytes, void *context) {
    const char *from = text;
    const char *to = from + bytes;
    while (from < to && (*from == ' ' || *from == '\t')) {
        from++;
    }
    while (to > from && (to[-1] == ' ' || to[-1] == '\t')) {
        to--;
    }
    bool absent = to - from == 3 && memcmp(from, "N/A", 3) == 0;
    (void)fprintf(((oracle *)context)->out, "<%.*s>", absent ? 0 : (int)(to - from), from);
}

static void oracle_row(int ended_by, void *context) {
    (void)ended_by;
    ((oracle *)context)->rows++;
}

/* @return what the line is, if it is one row and no more begins in it; else NULL */
static char *ask_oracle(const char *line, size_t bytes) {
    struct csv_parser parser;
    char *text = NULL;
    size_t text_bytes;
    oracle is = {.out = open_memstream(&text, &text_bytes)};
    CU_ASSERT_EQUAL_FATAL(csv_init(&parser, 0), 0);
    CU_ASSERT_EQUAL(csv_parse(&parser, line, bytes, oracle_cell, oracle_row, &is), bytes);
    int rows = is.rows;
    CU_ASSERT_EQUAL(csv_fini(&parser, oracle_cell, oracle_row, &is), 0);
    csv_free(&parser);
    CU_ASSERT_EQUAL(fclose(is.out), 0);
    if (rows != 1 || is.rows != 1) {
        free(text);
        text = NULL;
    }
    return text;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A line of cells, some in quotes, some with blanks or a quote where they may be in the way. */
static size_t random_line(uint64_t *state, char *line) {
    static const char *const parts[] = {"a", "0.5", "N/A", "\"b\"", "\"c,d\"", "\"\"", "\"e\"\"f\"", ",", ",",
                                        ",", ",\"", "\",", " ",     "\t",      "\"",   "\"1\t\""};
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    char *at = line;
    for (uint64_t count = 1 + next_random(state) % 8; count > 0; count--) {
        at = stpcpy(at, parts[next_random(state) % (sizeof parts / sizeof *parts)]);
    }
    at = stpcpy(at, ends[next_random(state) % 3]);
    return (size_t)(at - line);
}

static void test_plain_lines_are_those_of_libcsv(void) {
    enum { LINES = 200000, LINE_BYTES = 128 };
    uint64_t state = 20261130;
    char *content = NULL;
    char *wanted = NULL;
    size_t content_bytes;
    size_t wanted_bytes;
    FILE *file = open_memstream(&content, &content_bytes);
    FILE *rows = open_memstream(&wanted, &wanted_bytes);
    long offset = 0;
    int number = 0;
    int left_out = 0;
    for (int i = 0; i < LINES; i++) {
        char line[LINE_BYTES];
        size_t bytes = random_line(&state, line);
        char *row = ask_oracle(line, bytes);
        if (row == NULL) {
            left_out++;
            continue;
        }
        (void)fwrite(line, 1, bytes, file);
        (void)fprintf(rows, "%d@%ld:%s\n", number++, offset, row);
        offset += (long)bytes;
        free(row);
    }
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(fclose(rows), 0);
    CU_ASSERT_TRUE(number > LINES / 2 && left_out > LINES / 20);
    check_slice((rlmr_slice){content, content_bytes}, (rlmr_slice){wanted, wanted_bytes});
    free(content);
    free(wanted);
}

CU_TestInfo rlmr_tests_csv_reader[] = {
    {"rows have number, offset and cells", test_rows_have_number_offset_and_cells},
    {"empty cells are cells", test_empty_cells_are_cells},
    {"quotes hide commas and quotes", test_quotes_hide_commas_and_quotes},
    {"line breaks inside quotes are text", test_line_breaks_inside_quotes_are_text},
    {"a quote that is not closed costs its row", test_a_quote_that_is_not_closed_costs_its_row},
    {"quotes inside a plain cell stay", test_quotes_inside_a_plain_cell_stay},
    {"lines may end in LF or CRLF", test_lines_may_end_in_lf_or_crlf},
    {"lines may end in CR, and rows still have their offsets", test_lines_may_end_in_cr},
    {"a byte order mark is passed over", test_a_byte_order_mark_is_passed_over},
    {"blank lines are passed over", test_blank_lines_are_passed_over},
    {"a file without rows has none", test_a_file_without_rows_has_none},
    {"a header alone is a row", test_a_header_alone_is_a_row},
    {"a last row without line end says so", test_a_last_row_without_line_end_says_so},
    {"blanks and TABs around a cell go, inside quotes too",
     test_blanks_and_tabs_around_a_cell_go_inside_quotes_too},
    {"N/A is an empty cell", test_not_available_is_an_empty_cell},
    {"zero bytes and bytes above 127 are text", test_zero_bytes_and_bytes_above_127_are_text},
    {"rows lie anywhere on the border of pieces", test_rows_lie_anywhere_on_the_border_of_pieces},
    {"a row may be longer than a piece", test_a_row_may_be_longer_than_a_piece},
    {"many rows are read over many pieces", test_many_rows_are_read_over_many_pieces},
    {"a row has at most so many cells", test_a_row_has_at_most_so_many_cells},
    {"a cell has at most so many bytes", test_a_cell_has_at_most_so_many_bytes},
    {"a row has at most so many bytes", test_a_row_has_at_most_so_many_bytes},
    {"a quote that is not closed for long costs its row",
     test_a_quote_that_is_not_closed_for_long_costs_its_row},
    {"long lines behind a quote have the same limits", test_long_lines_behind_a_quote_have_the_same_limits},
    {"reading again has a limit", test_reading_again_has_a_limit},
    {"the taker of rows may end the reading", test_the_taker_of_rows_may_end_the_reading},
    {"the meter hears of all bytes and may end the reading",
     test_the_meter_hears_of_all_bytes_and_may_end_the_reading},
    {"plain lines are those of libcsv", test_plain_lines_are_those_of_libcsv},
    {"a file that is not there cannot be read", test_a_file_that_is_not_there_cannot_be_read},
    CU_TEST_INFO_NULL,
};
