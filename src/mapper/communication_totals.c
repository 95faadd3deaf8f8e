#include "communication.h"

#include "rlmr/sum.h"

#include <stdlib.h>

#define TIME_NUMBER(type, name, unit, storage, description) TIME_##name,
enum { RLMR_CLUSTER_COMMUNICATION_TIME(TIME_NUMBER) TIME_COLUMNS };
#define BAND_NUMBER(type, name, unit, storage, description) BAND_##name,
enum { RLMR_CLUSTER_COMMUNICATION_BANDWIDTH(BAND_NUMBER) BAND_COLUMNS };

/* Rows of one capture in a table, in an order. */
typedef struct {
    const rlmr_table *table;
    const rlmr_symtab *texts;
    const int *key; /* columns, ended by -1: texts and int64 */
    uint64_t *rows;
    size_t count;
} selection;

static uint32_t id_at(const selection *from, size_t at, int column) {
    return *(const uint32_t *)rlmr_table_value(from->table, from->rows[at], (size_t)column);
}

static int64_t integer_at(const selection *from, size_t at, int column) {
    return *(const int64_t *)rlmr_table_value(from->table, from->rows[at], (size_t)column);
}

static double number_at(const selection *from, size_t at, int column) {
    return *(const double *)rlmr_table_value(from->table, from->rows[at], (size_t)column);
}

static int compare_column(const selection *from, uint64_t a, uint64_t b, int column) {
    const void *left = rlmr_table_value(from->table, a, (size_t)column);
    const void *right = rlmr_table_value(from->table, b, (size_t)column);
    if (from->table->schema->columns[column].type == RLMR_TYPE_I64) {
        int64_t x = *(const int64_t *)left;
        int64_t y = *(const int64_t *)right;
        return (x > y) - (x < y);
    }
    uint32_t x = *(const uint32_t *)left;
    uint32_t y = *(const uint32_t *)right;
    return x == y ? 0
                  : rlmr_slice_compare(rlmr_symtab_text(from->texts, x), rlmr_symtab_text(from->texts, y));
}

static int compare_rows(const void *left, const void *right, void *context) {
    const selection *from = context;
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    int order = 0;
    for (const int *column = from->key; *column >= 0 && order == 0; column++) {
        order = compare_column(from, a, b, *column);
    }
    return order != 0 ? order : (a > b) - (a < b);
}

static void sort(selection *rows, size_t count) {
    qsort_r(rows->rows, count, sizeof *rows->rows, compare_rows, rows);
}

static rlmr_status select_rows(const rlmr_communication *self, int table, uint64_t first, selection *out,
                               rlmr_error *err) {
    out->table = &self->job->partial->tables[table];
    out->texts = self->job->partial->texts;
    out->count = out->table->rows - first;
    out->rows = malloc((out->count + 1) * sizeof *out->rows);
    if (out->rows == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the totals of a capture");
    }
    for (size_t i = 0; i < out->count; i++) {
        out->rows[i] = first + i;
    }
    return RLMR_OK;
}

/* Rows from `first` on that are equal in these columns, ended by -1. */
static size_t run_end(const selection *from, size_t first, const int *columns) {
    size_t end = first + 1;
    bool same = true;
    while (end < from->count && same) {
        for (const int *column = columns; *column >= 0 && same; column++) {
            same = id_at(from, first, *column) == id_at(from, end, *column);
        }
        end += same;
    }
    return end;
}

/* ---- Times ---- */

static const int time_group[] = {TIME_step, TIME_type, TIME_group_name, -1};
static const int time_order[] = {TIME_step, TIME_type, TIME_group_name, TIME_hccl_op_name, -1};

static double time_sum(const selection *from, size_t first, size_t end, int column) {
    rlmr_sum sum = {0};
    for (size_t at = first; at < end; at++) {
        rlmr_sum_add(&sum, number_at(from, at, column));
    }
    return rlmr_sum_value(&sum);
}

static rlmr_status append_time(const rlmr_communication *self, const selection *from, size_t first,
                               size_t end, rlmr_error *err) {
    const rlmr_capture *capture = self->job->capture;
    rlmr_cluster_communication_time_row row = {
        .role = self->job->job_role,
        .window = capture->window,
        .step = id_at(from, first, TIME_step),
        .rank_id = capture->rank_id,
        .capture = capture->number,
        .type = id_at(from, first, TIME_type),
        .hccl_op_name = self->total_op,
        .group_name = id_at(from, first, TIME_group_name),
        .start_timestamp_ns = INT64_MIN,
        .elapsed_time = time_sum(from, first, end, TIME_elapsed_time),
        .transit_time = time_sum(from, first, end, TIME_transit_time),
        .wait_time = time_sum(from, first, end, TIME_wait_time),
        .synchronization_time = time_sum(from, first, end, TIME_synchronization_time),
        .idle_time = time_sum(from, first, end, TIME_idle_time),
    };
    row.synchronization_time_ratio =
        rlmr_quotient_of(row.synchronization_time, row.synchronization_time + row.transit_time);
    row.wait_time_ratio = rlmr_quotient_of(row.wait_time, row.wait_time + row.transit_time);
    return rlmr_table_append(&self->job->partial->tables[RLMR_TABLE_cluster_communication_time], &row, err);
}

static rlmr_status total_times(const rlmr_communication *self, rlmr_error *err) {
    selection rows = {.key = time_order};
    rlmr_status status =
        select_rows(self, RLMR_TABLE_cluster_communication_time, self->first_time, &rows, err);
    if (status == RLMR_OK) {
        sort(&rows, rows.count);
    }
    for (size_t first = 0; first < rows.count && status == RLMR_OK;) {
        size_t end = run_end(&rows, first, time_group);
        status = append_time(self, &rows, first, end, err);
        first = end;
    }
    free(rows.rows);
    return status;
}

/* ---- Bandwidths ---- */

static const int band_group[] = {BAND_step, BAND_type, BAND_group_name, BAND_band_type, -1};
static const int band_order[] = {BAND_step,         BAND_type,          BAND_group_name, BAND_band_type,
                                 BAND_hccl_op_name, BAND_package_order, BAND_file_row,   -1};
static const int package_order[] = {BAND_package_order, BAND_hccl_op_name, BAND_file_row, -1};

/* Of each operator once: all its rows repeat it. */
static double transit_sum(const selection *from, size_t first, size_t end, int column) {
    rlmr_sum sum = {0};
    for (size_t at = first; at < end; at++) {
        if (at == first || id_at(from, at, BAND_hccl_op_name) != id_at(from, at - 1, BAND_hccl_op_name)) {
            rlmr_sum_add(&sum, number_at(from, at, column));
        }
    }
    return rlmr_sum_value(&sum);
}

/* One row for each size of packets, of rows in that order. */
static rlmr_status append_packages(const rlmr_communication *self, const selection *from, size_t first,
                                   size_t end, rlmr_cluster_communication_bandwidth_row *row,
                                   rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t at = first; at < end && status == RLMR_OK;) {
        int64_t size = integer_at(from, at, BAND_package_order);
        rlmr_sum duration = {0};
        row->package_order = size;
        row->package_size = number_at(from, at, BAND_package_size);
        row->count = 0;
        for (; at < end && integer_at(from, at, BAND_package_order) == size; at++) {
            int64_t count = integer_at(from, at, BAND_count);
            if (count > 0 && __builtin_add_overflow(row->count, count, &row->count)) {
                row->count = INT64_MAX;
            }
            rlmr_sum_add(&duration, number_at(from, at, BAND_total_duration));
        }
        row->total_duration = rlmr_sum_value(&duration);
        status = rlmr_table_append(&self->job->partial->tables[RLMR_TABLE_cluster_communication_bandwidth],
                                   row, err);
    }
    return status;
}

static rlmr_status append_bands(const rlmr_communication *self, selection *from, size_t first, size_t end,
                                rlmr_error *err) {
    const rlmr_capture *capture = self->job->capture;
    rlmr_cluster_communication_bandwidth_row row = {
        .role = self->job->job_role,
        .window = capture->window,
        .step = id_at(from, first, BAND_step),
        .rank_id = capture->rank_id,
        .capture = capture->number,
        .type = id_at(from, first, BAND_type),
        .hccl_op_name = self->total_op,
        .group_name = id_at(from, first, BAND_group_name),
        .band_type = id_at(from, first, BAND_band_type),
        .transit_size = transit_sum(from, first, end, BAND_transit_size),
        .transit_time = transit_sum(from, first, end, BAND_transit_time),
        .large_packet_ratio = NAN,
        .file_row = -1,
    };
    row.bandwidth = rlmr_quotient_of(row.transit_size, row.transit_time);
    selection sizes = *from;
    sizes.rows += first;
    sizes.key = package_order;
    sort(&sizes, end - first);
    return append_packages(self, from, first, end, &row, err);
}

static rlmr_status total_bands(const rlmr_communication *self, rlmr_error *err) {
    selection rows = {.key = band_order};
    rlmr_status status =
        select_rows(self, RLMR_TABLE_cluster_communication_bandwidth, self->first_band, &rows, err);
    if (status == RLMR_OK) {
        sort(&rows, rows.count);
    }
    for (size_t first = 0; first < rows.count && status == RLMR_OK;) {
        size_t end = run_end(&rows, first, band_group);
        status = append_bands(self, &rows, first, end, err);
        first = end;
    }
    free(rows.rows);
    return status;
}

rlmr_status rlmr_communication_totals(rlmr_communication *self, rlmr_error *err) {
    rlmr_status status = total_times(self, err);
    return status == RLMR_OK ? total_bands(self, err) : status;
}
