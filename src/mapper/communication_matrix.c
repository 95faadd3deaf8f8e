#include "communication.h"

#include "rlmr/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINK_NUMBER(type, name, unit, storage, description) LINK_##name,
enum { RLMR_CLUSTER_COMMUNICATION_MATRIX(LINK_NUMBER) LINK_COLUMNS };

/* Statistics that pick one operator, "allreduce-top1"; what is left, "-total" and names without any, makes the total. */
static bool picks_one(rlmr_slice op) {
    const char *dash = memrchr(op.text, '-', op.bytes);
    if (op.bytes == 0 || dash == NULL) {
        return false;
    }
    rlmr_slice statistic = {.text = dash + 1, .bytes = op.bytes - (size_t)(dash + 1 - op.text)};
    while (statistic.bytes > 0 && statistic.text[statistic.bytes - 1] >= '0' &&
           statistic.text[statistic.bytes - 1] <= '9') {
        statistic.bytes--;
    }
    return rlmr_slice_equal(statistic, RLMR_SLICE("top")) ||
           rlmr_slice_equal(statistic, RLMR_SLICE("middle")) ||
           rlmr_slice_equal(statistic, RLMR_SLICE("bottom"));
}

/* @return whether both ends are numbers of a group */
static bool read_ends(const rlmr_communication_link *link, int32_t *src, int32_t *dst) {
    int64_t from;
    int64_t to;
    bool good = rlmr_decimal_to_i64(link->src, &from) && rlmr_decimal_to_i64(link->dst, &to) && from >= 0 &&
                from <= INT32_MAX && to >= 0 && to <= INT32_MAX;
    *src = good ? (int32_t)from : -1;
    *dst = good ? (int32_t)to : -1;
    return good;
}

static rlmr_status bad_link(rlmr_communication *self, const rlmr_communication_link *link, rlmr_error *err) {
    char text[64];
    int src = link->src.bytes > 24 ? 24 : (int)link->src.bytes;
    int dst = link->dst.bytes > 24 ? 24 : (int)link->dst.bytes;
    (void)snprintf(text, sizeof text, "%.*s-%.*s", src, link->src.text, dst, link->dst.text);
    return rlmr_communication_bad(self, &link->key, "link", rlmr_slice_of(text),
                                  "its ends are no numbers in the group, left out", err);
}

static rlmr_status read_row(rlmr_communication *self, const rlmr_communication_link *link,
                            rlmr_cluster_communication_matrix_row *row, rlmr_error *err) {
    const rlmr_communication_key *key = &link->key;
    rlmr_symtab *texts = self->job->partial->texts;
    bool replaced = false;
    rlmr_status status =
        rlmr_communication_number(self, key, "transit size", link->transit_size_mb, &row->transit_size, err);
    status = status == RLMR_OK ? rlmr_communication_number(self, key, "transit time", link->transit_time_ms,
                                                           &row->transit_time, err)
                               : status;
    status = status == RLMR_OK
                 ? rlmr_symtab_intern_utf8(texts, link->transport, &row->transport_type, &replaced, err)
                 : status;
    status = status == RLMR_OK ? rlmr_symtab_intern_utf8(texts, link->op_name, &row->op_name, &replaced, err)
                               : status;
    return status == RLMR_OK && replaced
               ? rlmr_communication_bad(self, key, "name", link->op_name, "not UTF-8, or a NUL byte", err)
               : status;
}

static rlmr_status append(rlmr_communication *self, rlmr_cluster_communication_matrix_row *row, rlmr_slice op,
                          rlmr_error *err) {
    rlmr_table *table = &self->job->partial->tables[RLMR_TABLE_cluster_communication_matrix];
    rlmr_status status = rlmr_table_append(table, row, err);
    if (status != RLMR_OK || picks_one(op)) {
        return status;
    }
    row->source_op = row->hccl_op_name;
    row->hccl_op_name = self->total_op;
    row->op_name = 0;
    return rlmr_table_append(table, row, err);
}

/* In a text all links of an operator have its offset; of one that has come before none counts. */
static rlmr_status begin_operator(rlmr_communication *self, const rlmr_communication_key *key,
                                  const rlmr_communication_ids *ids, rlmr_error *err) {
    if (!self->is_text || key->offset == self->operator_at) {
        return RLMR_OK;
    }
    self->operator_at = key->offset;
    return rlmr_communication_repeats(self, key, ids, NULL, 0, &self->leaves_out, err);
}

rlmr_status rlmr_communication_link_row(void *context, const rlmr_communication_link *link, rlmr_error *err) {
    rlmr_communication *self = context;
    const rlmr_capture *capture = self->job->capture;
    const rlmr_slice more[] = {link->src, link->dst, link->transport};
    rlmr_communication_ids ids;
    bool repeats = false;
    rlmr_cluster_communication_matrix_row row = {.role = self->job->job_role,
                                                 .window = capture->window,
                                                 .src_rank = -1,
                                                 .dst_rank = -1,
                                                 .capture = capture->number,
                                                 .file_row = self->record++};
    bool good = read_ends(link, &row.src_local, &row.dst_local);
    rlmr_status status = rlmr_communication_name(self, &link->key, &ids, err);
    status = status == RLMR_OK ? begin_operator(self, &link->key, &ids, err) : status;
    if (status != RLMR_OK || self->leaves_out) {
        return status;
    }
    status = rlmr_communication_use(self, &ids, row.src_local, row.dst_local, err);
    if (status == RLMR_OK && !good) {
        return bad_link(self, link, err);
    }
    status = status == RLMR_OK ? rlmr_communication_repeats(self, &link->key, &ids, more, 3, &repeats, err)
                               : status;
    if (status != RLMR_OK || repeats) {
        return status;
    }
    row.step = ids.step;
    row.type = ids.type;
    row.hccl_op_name = ids.op;
    row.group_name = ids.group;
    status = read_row(self, link, &row, err);
    return status == RLMR_OK ? append(self, &row, rlmr_symtab_text(self->job->partial->texts, ids.op), err)
                             : status;
}

/* ---- The names of reduceScatter ---- */

static uint32_t *text_at(const rlmr_communication *self, uint64_t row, int column) {
    return rlmr_table_value(&self->job->partial->tables[RLMR_TABLE_cluster_communication_matrix], row,
                            (size_t)column);
}

static rlmr_slice text_of(const rlmr_communication *self, uint32_t id) {
    return rlmr_symtab_text(self->job->partial->texts, id);
}

static bool starts_with_reduce(rlmr_slice op) {
    return op.bytes >= 7 && memcmp(op.text, "reduce-", 7) == 0;
}

/* HCCL's name: hcom_reduceScatter__... */
static bool is_reduce_scatter(rlmr_slice op_name) {
    static const char word[] = "reducescatter";
    for (size_t at = 0; at + sizeof word - 1 <= op_name.bytes; at++) {
        if (strncasecmp(op_name.text + at, word, sizeof word - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* What is known of the `reduce-*` of one step, type and group. */
typedef struct {
    bool any;
    bool other; /* an operator that is no reduceScatter */
} reduces;

/* The reduces of a row; grown as they are met. @param at out: place in `all`, SIZE_MAX for a row of another kind */
static rlmr_status find_reduces(const rlmr_communication *self, uint64_t row, rlmr_symtab *keys,
                                rlmr_bytes *all, size_t *at, rlmr_error *err) {
    *at = SIZE_MAX;
    uint32_t op = *text_at(self, row, LINK_hccl_op_name);
    op = op == self->total_op ? *text_at(self, row, LINK_source_op) : op;
    if (!starts_with_reduce(text_of(self, op))) {
        return RLMR_OK;
    }
    const uint32_t key[] = {*text_at(self, row, LINK_step), *text_at(self, row, LINK_type),
                            *text_at(self, row, LINK_group_name)};
    const reduces none = {0};
    uint32_t count = rlmr_symtab_count(keys);
    uint32_t id;
    rlmr_status status =
        rlmr_symtab_intern(keys, (rlmr_slice){.text = (const char *)key, .bytes = sizeof key}, &id, err);
    if (status == RLMR_OK && id == count) {
        status = rlmr_bytes_append(all, &none, sizeof none, err);
    }
    if (status == RLMR_OK) {
        *at = id - 1;
    }
    return status;
}

/* NULL for a row of another kind. */
static reduces *reduces_at(const rlmr_bytes *all, size_t at) {
    return at == SIZE_MAX || all->data == NULL ? NULL : (reduces *)(void *)all->data + at;
}

static rlmr_status rename_op(const rlmr_communication *self, uint32_t *op, rlmr_error *err) {
    char *name;
    rlmr_slice text = text_of(self, *op);
    if (!starts_with_reduce(text)) {
        return RLMR_OK; /* a total's own name */
    }
    if (asprintf(&name, "reducescatter%.*s", (int)(text.bytes - 6), text.text + 6) < 0) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for a name");
    }
    rlmr_status status = rlmr_symtab_intern(self->job->partial->texts, rlmr_slice_of(name), op, err);
    free(name);
    return status;
}

rlmr_status rlmr_communication_rename(rlmr_communication *self, rlmr_error *err) {
    uint64_t end = self->job->partial->tables[RLMR_TABLE_cluster_communication_matrix].rows;
    rlmr_symtab *keys = NULL;
    rlmr_bytes all = {0};
    size_t at = SIZE_MAX;
    rlmr_status status = rlmr_symtab_open(&keys, err);
    for (uint64_t row = self->first_link; row < end && status == RLMR_OK; row++) {
        uint32_t name = *text_at(self, row, LINK_op_name);
        status = find_reduces(self, row, keys, &all, &at, err);
        reduces *known = reduces_at(&all, at);
        if (status == RLMR_OK && known != NULL && name != 0) {
            known->any = true;
            known->other = known->other || !is_reduce_scatter(text_of(self, name));
        }
    }
    for (uint64_t row = self->first_link; row < end && status == RLMR_OK; row++) {
        status = find_reduces(self, row, keys, &all, &at, err);
        const reduces *known = reduces_at(&all, at);
        if (status == RLMR_OK && known != NULL && known->any && !known->other) {
            status = rename_op(self, text_at(self, row, LINK_hccl_op_name), err);
            status = status == RLMR_OK ? rename_op(self, text_at(self, row, LINK_source_op), err) : status;
        }
    }
    rlmr_symtab_close(keys);
    rlmr_bytes_release(&all);
    return status;
}
