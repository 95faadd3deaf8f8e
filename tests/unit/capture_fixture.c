#include "capture_fixture.h"

#include <CUnit/Basic.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rlmr_status advance(void *context, size_t bytes, rlmr_error *err) {
    capture_fixture *self = context;
    self->metered += bytes;
    return self->metered > self->metered_max ? rlmr_error_set(err, RLMR_E_STOPPED, "enough") : RLMR_OK;
}

void capture_fixture_open(capture_fixture *made, rlmr_analysis analysis) {
    const char *parent = getenv("TMPDIR");
    *made = (capture_fixture){.options = {.match = RLMR_MATCH_BEST}, .metered_max = SIZE_MAX};
    made->options.analyses[analysis] = true;
    CU_ASSERT_FATAL(asprintf(&made->directory, "%s/rlmr-map-XXXXXX", parent == NULL ? "/tmp" : parent) > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made->directory));
    made->meter = (rlmr_meter){.advance = advance, .self = made};
    rlmr_error_clear(&made->err);
    CU_ASSERT_EQUAL_FATAL(rlmr_partial_init(&made->partial, NULL), RLMR_OK);
    rlmr_capture_init(&made->capture);
    made->capture.number = 4;
    made->capture.rank_id = 17;
    made->capture.role = strdup("actor");
    made->capture.job_role = strdup("actor");
    made->capture.path = strdup("a_ascend_pt");
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void capture_fixture_close(capture_fixture *made) {
    rlmr_capture_release(&made->capture);
    rlmr_partial_release(&made->partial);
    CU_ASSERT_EQUAL(nftw(made->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(made->directory);
}

void capture_fixture_put(capture_fixture *made, rlmr_file_kind kind, const char *name, rlmr_slice content) {
    rlmr_file *file = &made->capture.files[kind];
    CU_ASSERT_FATAL(asprintf(&file->path, "%s/%s", made->directory, name) > 0);
    FILE *out = fopen(file->path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL_FATAL(fwrite(content.text, 1, content.bytes, out), content.bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
    file->state = RLMR_FILE_UNUSED;
    file->bytes = (int64_t)content.bytes;
}

void capture_fixture_map(capture_fixture *made) {
    made->status = rlmr_map_capture(&made->capture, &made->options, &made->partial, NULL, &made->meter, NULL,
                                    &made->err);
    CU_ASSERT_EQUAL(made->err.code, made->status);
}

/* ---- Rows as text ---- */

static void print_value(FILE *out, const capture_fixture *made, const rlmr_table *table, uint64_t row,
                        size_t column) {
    const void *value = rlmr_table_value(table, row, column);
    rlmr_slice text;
    switch (table->schema->columns[column].type) {
    case RLMR_TYPE_TEXT:
        text = rlmr_symtab_text(made->partial.texts, *(const uint32_t *)value);
        (void)fprintf(out, "%.*s", (int)text.bytes, text.bytes == 0 ? "" : text.text);
        break;
    case RLMR_TYPE_F64:
        (void)fprintf(out, "%.10g", *(const double *)value);
        break;
    case RLMR_TYPE_I64:
        (void)fprintf(out, "%lld", (long long)*(const int64_t *)value);
        break;
    case RLMR_TYPE_I32:
        (void)fprintf(out, "%d", *(const int32_t *)value);
        break;
    case RLMR_TYPE_U8:
        (void)fprintf(out, "%u", *(const uint8_t *)value);
        break;
    }
}

static void print_row(FILE *out, const capture_fixture *made, const rlmr_table *table, uint64_t row,
                      const char *columns) {
    char *list = strdup(columns);
    char *rest = list;
    for (char *name = strtok_r(list, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        size_t column = rlmr_schema_column(table->schema, name);
        CU_ASSERT_FATAL(column < table->schema->columns_count);
        (void)fprintf(out, "%s", name == list ? "" : " ");
        print_value(out, made, table, row, column);
    }
    (void)fprintf(out, "\n");
    free(list);
}

void capture_fixture_check_rows(const capture_fixture *made, int table, const char *columns,
                                const char *expected) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (uint64_t row = 0; row < made->partial.tables[table].rows; row++) {
        print_row(out, made, &made->partial.tables[table], row, columns);
    }
    (void)fclose(out);
    if (strcmp(text, expected) != 0) {
        (void)fprintf(stderr, "\n    the rows of %s are\n%s    and not\n%s", rlmr_table_schemas[table]->name,
                      text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}
