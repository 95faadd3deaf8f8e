#include "report.h"

#include "rlmr/capture.h"
#include "rlmr/message.h"

rlmr_status rlmr_report_init(rlmr_report *report, rlmr_sink inner, int verbosity, rlmr_error *err) {
    *report = (rlmr_report){.inner = inner, .verbosity = verbosity};
    rlmr_status status = rlmr_symtab_open(&report->texts, err);
    return status == RLMR_OK
               ? rlmr_collector_open(&rlmr_captures_schema, report->texts, &report->captures, err)
               : status;
}

void rlmr_report_release(rlmr_report *report) {
    rlmr_collector_close(report->captures);
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
    if (report->schema == &rlmr_captures_schema) {
        rlmr_sink captures = rlmr_collector_sink(report->captures);
        status = captures.categories(captures.self, column, texts, count, err);
    }
    return status == RLMR_OK ? report->inner.categories(report->inner.self, column, texts, count, err)
                             : status;
}

static rlmr_slice text_of(const rlmr_report *report, uint64_t row, const char *name) {
    size_t column = rlmr_schema_column(&rlmr_captures_schema, name);
    const uint32_t *id = rlmr_table_value(rlmr_collector_table(report->captures), row, column);
    return rlmr_symtab_text(report->texts, *id);
}

static void say(const rlmr_report *report, uint64_t row) {
    rlmr_slice path = text_of(report, row, "path");
    rlmr_slice status = text_of(report, row, "status");
    rlmr_slice message = text_of(report, row, "message");
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
    rlmr_status status = RLMR_OK;
    if (report->schema == &rlmr_captures_schema) {
        rlmr_sink captures = rlmr_collector_sink(report->captures);
        status = captures.rows(captures.self, rows, err);
        for (; report->said < rlmr_collector_table(report->captures)->rows; report->said++) {
            say(report, report->said);
        }
    }
    return status == RLMR_OK ? report->inner.rows(report->inner.self, rows, err) : status;
}

static rlmr_status end(void *self, rlmr_error *err) {
    rlmr_report *report = self;
    return report->inner.end(report->inner.self, err);
}

rlmr_sink rlmr_report_sink(rlmr_report *report) {
    return (rlmr_sink){
        .begin = begin, .categories = categories, .rows = take_rows, .end = end, .self = report};
}
