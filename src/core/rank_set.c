#include "rlmr/rank_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Digits from `*at` on. @return -1 if there are none, or the number is no rank */
static int32_t take_rank(rlmr_slice text, size_t *at) {
    int64_t rank = -1;
    for (; *at < text.bytes && text.text[*at] >= '0' && text.text[*at] <= '9'; ++*at) {
        rank = (rank < 0 ? 0 : rank) * 10 + (text.text[*at] - '0');
        if (rank > INT32_MAX) {
            return -1;
        }
    }
    return (int32_t)rank;
}

rlmr_status rlmr_ranks_parse(rlmr_slice text, rlmr_bytes *ranks, rlmr_error *err) {
    rlmr_bytes_clear(ranks);
    for (size_t at = 0; at < text.bytes; at++) {
        int32_t rank = take_rank(text, &at);
        bool ends_well = at == text.bytes || (text.text[at] == ' ' && at + 1 < text.bytes);
        if (rank < 0 || !ends_well) {
            rlmr_bytes_clear(ranks);
            return RLMR_OK;
        }
        rlmr_status status = rlmr_bytes_append(ranks, &rank, sizeof rank, err);
        if (status != RLMR_OK) {
            return status;
        }
    }
    return RLMR_OK;
}

static int compare_ranks(const void *left, const void *right) {
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

void rlmr_ranks_make_set(rlmr_bytes *ranks) {
    int32_t *items = (int32_t *)(void *)ranks->data;
    size_t count = ranks->bytes / sizeof *items;
    size_t kept = 0;
    if (count > 0) {
        qsort(items, count, sizeof *items, compare_ranks);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || items[kept - 1] != items[i]) {
            items[kept++] = items[i];
        }
    }
    ranks->bytes = kept * sizeof *items;
}

rlmr_status rlmr_ranks_print(const int32_t *ranks, size_t count, rlmr_bytes *out, rlmr_error *err) {
    rlmr_status status = rlmr_bytes_append(out, "(", 1, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        char text[16];
        int bytes = snprintf(text, sizeof text, i == 0 ? "%" PRId32 : ", %" PRId32, ranks[i]);
        status = rlmr_bytes_append(out, text, (size_t)bytes, err);
    }
    rlmr_slice tail = count == 1 ? RLMR_SLICE(",)") : RLMR_SLICE(")");
    return status == RLMR_OK ? rlmr_bytes_append(out, tail.text, tail.bytes, err) : status;
}
