#include "heap.h"
#include "rlmr/reducer.h"

#include <stdlib.h>

static rlmr_status next_rows(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    (void)reply;
    rlmr_row_run *run = self;
    uint64_t left = run->table->rows - run->at;
    size_t count = left < run->block_rows ? (size_t)left : run->block_rows;
    if (count == 0) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_table_encode(run->table, run->at, count, block, err);
    run->at += count;
    return status;
}

rlmr_source rlmr_row_run_source(rlmr_row_run *run) {
    return (rlmr_source){.next = next_rows, .self = run};
}

rlmr_status rlmr_block_run_keep(rlmr_block_run *run, rlmr_bytes *block, rlmr_error *err) {
    if (run->count == run->capacity) {
        size_t capacity = run->capacity == 0 ? 16 : run->capacity * 2;
        rlmr_bytes *blocks = realloc(run->blocks, capacity * sizeof *blocks);
        if (blocks == NULL) {
            return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for %zu blocks", capacity);
        }
        run->blocks = blocks;
        run->capacity = capacity;
    }
    run->blocks[run->count++] = *block;
    *block = (rlmr_bytes){0};
    return RLMR_OK;
}

static rlmr_status next_block(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    (void)reply;
    (void)err;
    rlmr_block_run *run = self;
    rlmr_bytes_release(block);
    if (run->at < run->count) {
        *block = run->blocks[run->at];
        run->blocks[run->at++] = (rlmr_bytes){0};
    }
    return RLMR_OK;
}

rlmr_source rlmr_block_run_source(rlmr_block_run *run) {
    return (rlmr_source){.next = next_block, .self = run};
}

void rlmr_block_run_release(rlmr_block_run *run) {
    for (size_t i = run->at; i < run->count; i++) {
        rlmr_bytes_release(&run->blocks[i]);
    }
    free(run->blocks);
    *run = (rlmr_block_run){0};
}

static rlmr_status append_rows(void *self, const rlmr_rows *rows, rlmr_error *err) {
    return rlmr_table_append_rows(self, rows, err);
}

static rlmr_status begin(void *self, const rlmr_schema *schema, rlmr_error *err) {
    (void)self;
    (void)schema;
    (void)err;
    return RLMR_OK;
}

static rlmr_status categories(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    (void)self;
    (void)column;
    (void)texts;
    (void)count;
    (void)err;
    return RLMR_OK;
}

static rlmr_status end(void *self, rlmr_error *err) {
    (void)self;
    (void)err;
    return RLMR_OK;
}

rlmr_sink rlmr_table_sink(rlmr_table *table) {
    return (rlmr_sink){
        .begin = begin, .categories = categories, .rows = append_rows, .end = end, .self = table};
}

size_t rlmr_block_rows(const rlmr_schema *schema, size_t block_bytes) {
    size_t rows = block_bytes / rlmr_schema_row_bytes(schema);
    if (rows < 1) {
        return 1;
    }
    return rows > RLMR_BLOCK_ROWS ? RLMR_BLOCK_ROWS : rows;
}

/* One run in the merge: the block it is at, and its place there. */
typedef struct {
    rlmr_source *source;
    rlmr_bytes block;
    rlmr_rows *rows;
    size_t at;
} cursor;

static bool cursor_before(const void *context, int a, int b) {
    const cursor *cursors = context;
    int order = rlmr_rows_compare(cursors[a].rows, cursors[a].at, cursors[b].rows, cursors[b].at);
    return order < 0 || (order == 0 && a < b);
}

/* Pull the next block. At the end of the run the cursor's rows are none. */
static rlmr_status refill(cursor *at, rlmr_error *err) {
    static const rlmr_bytes no_reply = {0};
    rlmr_bytes_clear(&at->block);
    at->at = 0;
    at->rows->rows = 0;
    rlmr_status status = at->source->next(at->source->self, &no_reply, &at->block, err);
    if (status == RLMR_OK && at->block.bytes > 0) {
        status = rlmr_rows_decode(at->rows, at->block.data, at->block.bytes, err);
        if (status == RLMR_OK && at->rows->rows == 0) {
            /* It would pass for the end of the run, and what follows be lost in silence. */
            status = rlmr_error_set(err, RLMR_E_PARSE, "a block without rows of %s", at->rows->schema->name);
        }
    }
    return status;
}

/* How many rows of the least run can go out at once: those that come before the next of every other run. */
static size_t rows_at_once(const cursor *cursors, const rlmr_heap *heap, size_t most) {
    int least = heap->items[0];
    const cursor *at = &cursors[least];
    size_t count = at->rows->rows - at->at;
    count = count < most ? count : most;
    if (heap->count == 1) {
        return count;
    }
    int next = heap->count > 2 && cursor_before(cursors, heap->items[2], heap->items[1]) ? heap->items[2]
                                                                                         : heap->items[1];
    const cursor *other = &cursors[next];
    size_t same = 1;
    for (; same < count; same++) {
        int order = rlmr_rows_compare(at->rows, at->at + same, other->rows, other->at);
        if (order > 0 || (order == 0 && least > next)) {
            break;
        }
    }
    return same;
}

/* Rows that follow one another in a block and in the result. */
typedef struct {
    const rlmr_rows *rows;
    uint32_t at;
    uint32_t count;
} pick;

/* What the merge has chosen and not yet copied. */
typedef struct {
    pick *picks; /* room for RLMR_BLOCK_ROWS */
    size_t count;
    size_t rows; /* of all picks */
    rlmr_rows *out;
} picking;

// NOLINTBEGIN(bugprone-macro-parentheses): a type in a declaration has none
#define COPY_PICKS(type)                                                                                     \
    static void copy_##type(const picking *from, size_t column) {                                            \
        size_t to = from->out->rows;                                                                         \
        for (size_t p = 0; p < from->count; p++) {                                                           \
            const type *values = (const type *)from->picks[p].rows->columns[column] + from->picks[p].at;     \
            for (size_t i = 0; i < from->picks[p].count; i++) {                                              \
                ((type *)from->out->columns[column])[to++] = values[i];                                      \
            }                                                                                                \
        }                                                                                                    \
    }
// NOLINTEND(bugprone-macro-parentheses)
COPY_PICKS(uint64_t)
COPY_PICKS(uint32_t)
COPY_PICKS(uint8_t)

/* Column by column: most picks are a row or two, of some hundred bytes in twenty places. */
static void copy_picks(picking *from) {
    const rlmr_schema *schema = from->out->schema;
    for (size_t c = 0; c < schema->columns_count; c++) {
        switch (rlmr_type_bytes(schema->columns[c].type)) {
        case sizeof(uint64_t):
            copy_uint64_t(from, c);
            break;
        case sizeof(uint32_t):
            copy_uint32_t(from, c);
            break;
        default:
            copy_uint8_t(from, c);
            break;
        }
    }
    from->out->rows += from->rows;
    from->count = 0;
    from->rows = 0;
}

static rlmr_status give_out(rlmr_rows *out, rlmr_sink *sink, uint64_t *rows, rlmr_error *err) {
    rlmr_status status = sink->rows(sink->self, out, err);
    *rows += out->rows;
    out->rows = 0;
    return status;
}

static rlmr_status merge(cursor *cursors, rlmr_heap *heap, picking *to, rlmr_sink *sink, uint64_t *rows,
                         rlmr_error *err) {
    rlmr_rows *out = to->out;
    rlmr_status status = RLMR_OK;
    while (heap->count > 0 && status == RLMR_OK) {
        cursor *least = &cursors[heap->items[0]];
        size_t count = rows_at_once(cursors, heap, out->capacity - out->rows - to->rows);
        to->picks[to->count++] =
            (pick){.rows = least->rows, .at = (uint32_t)least->at, .count = (uint32_t)count};
        to->rows += count;
        least->at += count;
        bool used_up = least->at == least->rows->rows;
        if (used_up || out->rows + to->rows == out->capacity) {
            copy_picks(to);
        }
        if (out->rows == out->capacity) {
            status = give_out(out, sink, rows, err);
        }
        if (status == RLMR_OK && used_up) {
            status = refill(least, err);
        }
        if (status != RLMR_OK) {
            break; /* the run may stand behind its block: it must not be compared any more */
        }
        if (least->rows->rows == 0) {
            rlmr_heap_pop(heap);
        } else {
            rlmr_heap_sink(heap);
        }
    }
    return status == RLMR_OK && out->rows > 0 ? give_out(out, sink, rows, err) : status;
}

static rlmr_status open_cursors(cursor *cursors, rlmr_heap *heap, const rlmr_schema *schema,
                                rlmr_source *sources, int count, size_t block_rows, rlmr_error *err) {
    for (int run = 0; run < count; run++) {
        cursors[run].source = &sources[run];
        rlmr_status status = rlmr_rows_open(schema, block_rows, &cursors[run].rows, err);
        status = status == RLMR_OK ? refill(&cursors[run], err) : status;
        if (status != RLMR_OK) {
            return status;
        }
        if (cursors[run].rows->rows > 0) {
            rlmr_heap_push(heap, run);
        }
    }
    return RLMR_OK;
}

rlmr_status rlmr_merge_rows(const rlmr_schema *schema, rlmr_source *sources, int count, size_t block_rows,
                            rlmr_sink *sink, uint64_t *rows, rlmr_error *err) {
    *rows = 0;
    picking to = {.picks = malloc(RLMR_BLOCK_ROWS * sizeof *to.picks)};
    cursor *cursors = calloc((size_t)count, sizeof *cursors);
    int *items = calloc((size_t)count, sizeof *items);
    rlmr_status status = rlmr_rows_open(schema, RLMR_BLOCK_ROWS, &to.out, err);
    if (cursors == NULL || items == NULL || to.picks == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to merge the rows of %d processes", count);
    } else if (status == RLMR_OK) {
        rlmr_heap heap = {.items = items, .before = cursor_before, .context = cursors};
        status = open_cursors(cursors, &heap, schema, sources, count, block_rows, err);
        status = status == RLMR_OK ? merge(cursors, &heap, &to, sink, rows, err) : status;
    }
    for (int run = 0; cursors != NULL && run < count; run++) {
        rlmr_bytes_release(&cursors[run].block);
        rlmr_rows_close(cursors[run].rows);
    }
    rlmr_rows_close(to.out);
    free(to.picks);
    free(cursors);
    free(items);
    return status;
}
