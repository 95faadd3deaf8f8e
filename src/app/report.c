#include "report.h"

#include "message.h"
#include "rlmr/capture.h"

#include <stdlib.h>

rlmr_status rlmr_report_init(rlmr_report *report, rlmr_sink inner, int verbosity, rlmr_error *err) {
    *report = (rlmr_report){.inner = inner, .verbosity = verbosity};
    report->ids = calloc(rlmr_captures_schema.columns_count, sizeof *report->ids);
    if (report->ids == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the report");
    }
    return rlmr_symtab_open(&report->texts, err);
}

void rlmr_report_release(rlmr_report *report) {
    for (size_t column = 0; report->ids != NULL && column < rlmr_captures_schema.columns_count; column++) {
        rlmr_bytes_release(&report->ids[column]);
    }
    free(report->ids);
    rlmr_symtab_close(report->texts);
    *report = (rlmr_report){0};
}

static rlmr_status begin(void *self, const rlmr_schema *schema, rlmr_error *err) {
    rlmr_report *report = self;
    report->schema = schema;
    return report->inner.begin(report->inner.self, schema, err);
}

static rlmr_status categories(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    rlmr_report *report = self;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK && report->schema == &rlmr_captures_schema; i++) {
        uint32_t id;
        status = rlmr_symtab_intern(report->texts, texts[i], &id, err);
        status = status == RLMR_OK ? rlmr_bytes_append_u32(&report->ids[column], id, err) : status;
    }
    return status == RLMR_OK ? report->inner.categories(report->inner.self, column, texts, count, err)
                             : status;
}

static rlmr_slice text_of(const rlmr_report *report, const rlmr_rows *rows, size_t row, const char *name) {
    size_t column = rlmr_schema_column(report->schema, name);
    uint32_t code = ((const uint32_t *)rows->columns[column])[row];
    return rlmr_symtab_text(report->texts, ((const uint32_t *)(const void *)report->ids[column].data)[code]);
}

static void say(const rlmr_report *report, const rlmr_rows *rows, size_t row) {
    rlmr_slice path = text_of(report, rows, row, "path");
    rlmr_slice status = text_of(report, rows, row, "status");
    rlmr_slice message = text_of(report, rows, row, "message");
    bool ok = rlmr_slice_equal(status, RLMR_SLICE("ok"));
    if (ok && message.bytes == 0) {
        return;
    }
    rlmr_message(report->verbosity, ok ? RLMR_LEVEL_INFO : RLMR_LEVEL_WARNING, "capture %.*s is %.*s: %.*s",
                 (int)path.bytes, path.text, (int)status.bytes, status.text, (int)message.bytes,
                 message.text);
}

static rlmr_status take_rows(void *self, const rlmr_rows *rows, rlmr_error *err) {
    rlmr_report *report = self;
    for (size_t row = 0; row < rows->rows && report->schema == &rlmr_captures_schema; row++) {
        say(report, rows, row);
    }
    return report->inner.rows(report->inner.self, rows, err);
}

static rlmr_status end(void *self, rlmr_error *err) {
    rlmr_report *report = self;
    return report->inner.end(report->inner.self, err);
}

rlmr_sink rlmr_report_sink(rlmr_report *report) {
    return (rlmr_sink){
        .begin = begin, .categories = categories, .rows = take_rows, .end = end, .self = report};
}
