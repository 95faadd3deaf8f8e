#include "rlmr/reducer.h"
#include "rlmr/sum.h"

#include <stdlib.h>
#include <string.h>

struct rlmr_fold {
    const rlmr_schema *schema;
    rlmr_sink *inner;
    rlmr_rows *out;       /* the last row is the one that further rows may be folded into */
    rlmr_sum *sums;       /* by column: of the last row */
    bool *none_is_code_0; /* by column: it holds the empty text, which comes before all others */
};

static double *number_at(const rlmr_fold *fold, size_t column) {
    return (double *)fold->out->columns[column] + (fold->out->rows - 1);
}

/* NaN is neither greater nor equal. Of equal values the positive zero stays: the result must not depend on the order. */
static void take_max(double *most, double value) {
    if (isnan(*most) || value > *most || (value == *most && !signbit(value))) {
        *most = value;
    }
}

static void take_first(const rlmr_fold *fold, size_t column, uint32_t code) {
    uint32_t *first = (uint32_t *)fold->out->columns[column] + (fold->out->rows - 1);
    if (*first == 0 && fold->none_is_code_0[column]) {
        *first = code;
    }
}

/* Row `at` of `rows` as the last row of out. */
static void begin_row(rlmr_fold *fold, const rlmr_rows *rows, size_t at) {
    rlmr_rows_copy(fold->out, rows, at, 1);
    for (size_t c = 0; c < fold->schema->columns_count; c++) {
        if (fold->schema->merge[c] == RLMR_MERGE_SUM) {
            fold->sums[c] = (rlmr_sum){0};
            rlmr_sum_add(&fold->sums[c], *number_at(fold, c));
        }
    }
}

/* Row `at` of `rows` into the last row of out. */
static void take_row(rlmr_fold *fold, const rlmr_rows *rows, size_t at) {
    const rlmr_schema *schema = fold->schema;
    for (size_t c = 0; c < schema->columns_count; c++) {
        const void *values = rows->columns[c];
        switch (schema->merge[c]) {
        case RLMR_MERGE_FIRST:
            if (schema->columns[c].type == RLMR_TYPE_TEXT) {
                take_first(fold, c, ((const uint32_t *)values)[at]);
            }
            break;
        case RLMR_MERGE_SUM:
            rlmr_sum_add(&fold->sums[c], ((const double *)values)[at]);
            break;
        case RLMR_MERGE_MAX:
            take_max(number_at(fold, c), ((const double *)values)[at]);
            break;
        }
    }
}

/* Complete the last row of out. */
static void end_row(rlmr_fold *fold) {
    const rlmr_schema *schema = fold->schema;
    if (fold->out->rows == 0) {
        return;
    }
    for (size_t c = 0; c < schema->columns_count; c++) {
        if (schema->merge[c] == RLMR_MERGE_SUM) {
            *number_at(fold, c) = rlmr_sum_value(&fold->sums[c]);
        }
    }
    for (size_t q = 0; q < schema->quotients_count; q++) {
        const rlmr_quotient *of = &schema->quotients[q];
        *number_at(fold, of->column) =
            rlmr_quotient_of(*number_at(fold, of->numerator), *number_at(fold, of->denominator));
    }
}

static rlmr_status give_rows(rlmr_fold *fold, rlmr_error *err) {
    rlmr_status status = fold->inner->rows(fold->inner->self, fold->out, err);
    fold->out->rows = 0;
    return status;
}

/* Equal bytes are equal values, since a key has no F64. */
static bool folds_into_last(const rlmr_fold *fold, const rlmr_rows *rows, size_t at) {
    bool same = fold->out->rows > 0;
    for (size_t k = 0; k < fold->schema->fold_count && same; k++) {
        size_t column = fold->schema->key[k];
        size_t bytes = rlmr_type_bytes(fold->schema->columns[column].type);
        const char *last = (const char *)fold->out->columns[column] + (fold->out->rows - 1) * bytes;
        same = memcmp(last, (const char *)rows->columns[column] + at * bytes, bytes) == 0;
    }
    return same;
}

static rlmr_status begin(void *self, const rlmr_schema *schema, rlmr_error *err) {
    rlmr_fold *fold = self;
    return fold->inner->begin(fold->inner->self, schema, err);
}

static rlmr_status categories(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    rlmr_fold *fold = self;
    if (count > 0 && texts[0].bytes == 0) {
        fold->none_is_code_0[column] = true;
    }
    return fold->inner->categories(fold->inner->self, column, texts, count, err);
}

static rlmr_status take_rows(void *self, const rlmr_rows *rows, rlmr_error *err) {
    rlmr_fold *fold = self;
    rlmr_status status = RLMR_OK;
    for (size_t at = 0; at < rows->rows && status == RLMR_OK; at++) {
        if (folds_into_last(fold, rows, at)) {
            take_row(fold, rows, at);
            continue;
        }
        end_row(fold);
        if (fold->out->rows == fold->out->capacity) {
            status = give_rows(fold, err);
        }
        begin_row(fold, rows, at);
    }
    return status;
}

static rlmr_status end(void *self, rlmr_error *err) {
    rlmr_fold *fold = self;
    end_row(fold);
    rlmr_status status = fold->out->rows > 0 ? give_rows(fold, err) : RLMR_OK;
    return status == RLMR_OK ? fold->inner->end(fold->inner->self, err) : status;
}

rlmr_status rlmr_fold_open(const rlmr_schema *schema, rlmr_sink *inner, rlmr_fold **out, rlmr_error *err) {
    *out = NULL;
    rlmr_fold *fold = calloc(1, sizeof *fold);
    if (fold != NULL) {
        *fold = (rlmr_fold){.schema = schema, .inner = inner};
        fold->sums = calloc(schema->columns_count, sizeof *fold->sums);
        fold->none_is_code_0 = calloc(schema->columns_count, sizeof *fold->none_is_code_0);
    }
    rlmr_status status = RLMR_OK;
    if (fold == NULL || fold->sums == NULL || fold->none_is_code_0 == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to fold the rows of %s", schema->name);
    } else {
        status = rlmr_rows_open(schema, RLMR_BLOCK_ROWS, &fold->out, err);
    }
    if (status != RLMR_OK) {
        rlmr_fold_close(fold);
        return status;
    }
    *out = fold;
    return RLMR_OK;
}

void rlmr_fold_close(rlmr_fold *fold) {
    if (fold != NULL) {
        rlmr_rows_close(fold->out);
        free(fold->sums);
        free(fold->none_is_code_0);
        free(fold);
    }
}

rlmr_sink rlmr_fold_sink(rlmr_fold *fold) {
    return (rlmr_sink){.begin = begin, .categories = categories, .rows = take_rows, .end = end, .self = fold};
}
