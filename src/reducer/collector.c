#include "rlmr/collector.h"

#include <stdlib.h>
#include <string.h>

struct rlmr_collector {
    rlmr_table table;
    rlmr_symtab *texts;
    rlmr_bytes *ids; /* by column: the id of each code */
    void *row;       /* a row struct */
};

/* Of the row struct, without what may pad its end; at least 1. */
static size_t struct_bytes(const rlmr_schema *schema) {
    size_t bytes = 1;
    for (size_t c = 0; c < schema->columns_count; c++) {
        size_t behind = schema->columns[c].offset + rlmr_type_bytes(schema->columns[c].type);
        bytes = behind > bytes ? behind : bytes;
    }
    return bytes;
}

rlmr_status rlmr_collector_open(const rlmr_schema *schema, rlmr_symtab *texts, rlmr_collector **out,
                                rlmr_error *err) {
    *out = NULL;
    rlmr_collector *collector = calloc(1, sizeof *collector);
    if (collector != NULL) {
        rlmr_table_init(&collector->table, schema);
        collector->texts = texts;
        collector->ids = calloc(schema->columns_count, sizeof *collector->ids);
        collector->row = malloc(struct_bytes(schema));
    }
    if (collector == NULL || collector->ids == NULL || collector->row == NULL) {
        rlmr_collector_close(collector);
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to collect the rows of %s", schema->name);
    }
    *out = collector;
    return RLMR_OK;
}

void rlmr_collector_close(rlmr_collector *collector) {
    if (collector == NULL) {
        return;
    }
    for (size_t c = 0; collector->ids != NULL && c < collector->table.schema->columns_count; c++) {
        rlmr_bytes_release(&collector->ids[c]);
    }
    free(collector->ids);
    free(collector->row);
    rlmr_table_release(&collector->table);
    free(collector);
}

static rlmr_status begin(void *self, const rlmr_schema *schema, rlmr_error *err) {
    (void)self;
    (void)schema;
    (void)err;
    return RLMR_OK;
}

static rlmr_status categories(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    rlmr_collector *collector = self;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        uint32_t id = 0;
        status = rlmr_symtab_intern(collector->texts, texts[i], &id, err);
        status = status == RLMR_OK ? rlmr_bytes_append_u32(&collector->ids[column], id, err) : status;
    }
    return status;
}

/* The code in place `value` of the row becomes the id. */
static rlmr_status translate(const rlmr_collector *collector, size_t column, char *value, rlmr_error *err) {
    const rlmr_bytes *ids = &collector->ids[column];
    uint32_t code = 0;
    memcpy(&code, value, sizeof code);
    if (code >= ids->bytes / sizeof code) {
        return rlmr_error_set(err, RLMR_E_PARSE, "a row of %s has text %u of %zu",
                              collector->table.schema->name, code, ids->bytes / sizeof code);
    }
    memcpy(value, ids->data + code * sizeof code, sizeof code);
    return RLMR_OK;
}

static rlmr_status take_row(rlmr_collector *collector, const rlmr_rows *rows, size_t at, rlmr_error *err) {
    const rlmr_schema *schema = collector->table.schema;
    rlmr_status status = RLMR_OK;
    for (size_t c = 0; c < schema->columns_count && status == RLMR_OK; c++) {
        size_t bytes = rlmr_type_bytes(schema->columns[c].type);
        char *value = (char *)collector->row + schema->columns[c].offset;
        memcpy(value, (const char *)rows->columns[c] + at * bytes, bytes);
        if (schema->columns[c].type == RLMR_TYPE_TEXT) {
            status = translate(collector, c, value, err);
        }
    }
    return status == RLMR_OK ? rlmr_table_append(&collector->table, collector->row, err) : status;
}

static rlmr_status take_rows(void *self, const rlmr_rows *rows, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < rows->rows && status == RLMR_OK; at++) {
        status = take_row(self, rows, at, err);
    }
    return status;
}

static rlmr_status end(void *self, rlmr_error *err) {
    (void)self;
    (void)err;
    return RLMR_OK;
}

rlmr_sink rlmr_collector_sink(rlmr_collector *collector) {
    return (rlmr_sink){
        .begin = begin, .categories = categories, .rows = take_rows, .end = end, .self = collector};
}

rlmr_table *rlmr_collector_table(rlmr_collector *collector) {
    return &collector->table;
}
