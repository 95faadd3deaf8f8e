#include "heap.h"
#include "rlmr/reducer.h"

#include <stdlib.h>
#include <string.h>

struct rlmr_dictionary {
    const rlmr_symtab *texts;
    size_t column;
    size_t block_bytes;
    uint32_t *ids;     /* of the distinct texts, in bytewise order of the texts */
    uint32_t count;    /* of ids */
    uint32_t sent;     /* texts given so far */
    uint32_t numbered; /* texts whose code has come back */
    uint32_t *codes;   /* by id */
};

static int compare_texts(const void *left, const void *right, void *context) {
    const rlmr_dictionary *dictionary = context;
    return rlmr_slice_compare(rlmr_symtab_text(dictionary->texts, *(const uint32_t *)left),
                              rlmr_symtab_text(dictionary->texts, *(const uint32_t *)right));
}

/* codes[] serves as the set of ids seen until the real codes arrive. */
static void collect(rlmr_dictionary *dictionary, const rlmr_table *table) {
    for (size_t b = 0; b < table->blocks_count; b++) {
        const uint32_t *ids = table->blocks[b]->columns[dictionary->column];
        for (size_t i = 0; i < table->blocks[b]->rows; i++) {
            if (dictionary->codes[ids[i]] == 0) {
                dictionary->codes[ids[i]] = 1;
                dictionary->ids[dictionary->count++] = ids[i];
            }
        }
    }
}

rlmr_status rlmr_dictionary_open(const rlmr_table *table, size_t column, const rlmr_symtab *texts,
                                 size_t block_bytes, rlmr_dictionary **out, rlmr_error *err) {
    uint32_t known = rlmr_symtab_count(texts);
    rlmr_dictionary *dictionary = calloc(1, sizeof *dictionary);
    *out = dictionary;
    if (dictionary != NULL) {
        dictionary->ids = calloc(known, sizeof *dictionary->ids);
        dictionary->codes = calloc(known, sizeof *dictionary->codes);
    }
    if (dictionary == NULL || dictionary->ids == NULL || dictionary->codes == NULL) {
        rlmr_dictionary_close(dictionary);
        *out = NULL;
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the texts of %s",
                              table->schema->columns[column].name);
    }
    dictionary->texts = texts;
    dictionary->column = column;
    dictionary->block_bytes = block_bytes;
    collect(dictionary, table);
    qsort_r(dictionary->ids, dictionary->count, sizeof *dictionary->ids, compare_texts, dictionary);
    return RLMR_OK;
}

void rlmr_dictionary_close(rlmr_dictionary *dictionary) {
    if (dictionary != NULL) {
        free(dictionary->ids);
        free(dictionary->codes);
        free(dictionary);
    }
}

static rlmr_status accept_codes(rlmr_dictionary *dictionary, const rlmr_bytes *reply, rlmr_error *err) {
    rlmr_reader reader = {.data = reply->data, .bytes = reply->bytes};
    for (; dictionary->numbered < dictionary->sent; dictionary->numbered++) {
        rlmr_status status =
            rlmr_reader_u32(&reader, &dictionary->codes[dictionary->ids[dictionary->numbered]], err);
        if (status != RLMR_OK) {
            return status;
        }
    }
    return RLMR_OK;
}

static rlmr_status next_texts(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    rlmr_dictionary *dictionary = self;
    rlmr_status status = accept_codes(dictionary, reply, err);
    while (status == RLMR_OK && dictionary->sent < dictionary->count &&
           block->bytes < dictionary->block_bytes) {
        status = rlmr_bytes_append_slice(
            block, rlmr_symtab_text(dictionary->texts, dictionary->ids[dictionary->sent]), err);
        dictionary->sent++;
    }
    return status;
}

rlmr_source rlmr_dictionary_source(rlmr_dictionary *dictionary) {
    return (rlmr_source){.next = next_texts, .self = dictionary};
}

void rlmr_dictionary_translate(const rlmr_dictionary *dictionary, rlmr_table *table) {
    rlmr_table_translate(table, dictionary->column, dictionary->codes);
}

bool rlmr_dictionary_has_empty(const rlmr_dictionary *dictionary) {
    return dictionary->count > 0 && rlmr_symtab_text(dictionary->texts, dictionary->ids[0]).bytes == 0;
}

/* One run in the merge: the block it is at, the text it is at, and the codes to answer with. */
typedef struct {
    rlmr_source *source;
    rlmr_bytes block;
    rlmr_bytes reply;
    rlmr_reader reader;
    rlmr_slice text;
} cursor;

static bool cursor_before(const void *context, int a, int b) {
    const cursor *cursors = context;
    int order = rlmr_slice_compare(cursors[a].text, cursors[b].text);
    return order < 0 || (order == 0 && a < b);
}

/* Move to the next text. @param more out: false at the end of the run */
static rlmr_status advance(cursor *at, bool *more, rlmr_error *err) {
    if (at->reader.at == at->reader.bytes) {
        rlmr_bytes_clear(&at->block);
        rlmr_status status = at->source->next(at->source->self, &at->reply, &at->block, err);
        if (status != RLMR_OK) {
            return status;
        }
        rlmr_bytes_clear(&at->reply);
        at->reader = (rlmr_reader){.data = at->block.data, .bytes = at->block.bytes};
    }
    *more = at->reader.bytes > 0;
    return *more ? rlmr_reader_slice(&at->reader, &at->text, err) : RLMR_OK;
}

typedef struct {
    rlmr_bytes last; /* the text numbered last */
    uint32_t count;  /* texts numbered */
    size_t column;
    rlmr_sink *sink;
} numbering;

/* The code of `text`, which is not before the one numbered last. */
static rlmr_status number_text(numbering *numbers, rlmr_slice text, rlmr_error *err) {
    rlmr_slice last = {(const char *)numbers->last.data, numbers->last.bytes};
    int order = numbers->count == 0 ? 1 : rlmr_slice_compare(text, last);
    if (order == 0) {
        return RLMR_OK;
    }
    if (order < 0) {
        return rlmr_error_set(err, RLMR_E_PARSE, "texts of another process are not in order");
    }
    if (numbers->count == INT32_MAX) {
        return rlmr_error_set(err, RLMR_E_RANGE, "more than %d distinct texts in one column", INT32_MAX);
    }
    rlmr_bytes_clear(&numbers->last);
    rlmr_status status = rlmr_bytes_append(&numbers->last, text.text, text.bytes, err);
    if (status == RLMR_OK) {
        numbers->count++;
        status = numbers->sink->categories(numbers->sink->self, numbers->column, &text, 1, err);
    }
    return status;
}

static rlmr_status merge(cursor *cursors, rlmr_heap *heap, int count, numbering *numbers, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    bool more = false;
    for (int run = 0; run < count && status == RLMR_OK; run++) {
        status = advance(&cursors[run], &more, err);
        if (status == RLMR_OK && more) {
            rlmr_heap_push(heap, run);
        }
    }
    while (heap->count > 0 && status == RLMR_OK) {
        cursor *least = &cursors[heap->items[0]];
        status = number_text(numbers, least->text, err);
        status = status == RLMR_OK ? rlmr_bytes_append_u32(&least->reply, numbers->count - 1, err) : status;
        status = status == RLMR_OK ? advance(least, &more, err) : status;
        if (status == RLMR_OK && more) {
            rlmr_heap_sink(heap);
        } else if (status == RLMR_OK) {
            rlmr_heap_pop(heap);
        }
    }
    return status;
}

rlmr_status rlmr_merge_dictionaries(rlmr_source *sources, int count, size_t column, rlmr_sink *sink,
                                    rlmr_error *err) {
    cursor *cursors = calloc((size_t)count, sizeof *cursors);
    int *items = calloc((size_t)count, sizeof *items);
    rlmr_status status = RLMR_OK;
    if (cursors == NULL || items == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to merge the texts of %d processes", count);
        goto done;
    }
    for (int run = 0; run < count; run++) {
        cursors[run].source = &sources[run];
    }
    rlmr_heap heap = {.items = items, .before = cursor_before, .context = cursors};
    numbering numbers = {.column = column, .sink = sink};
    status = merge(cursors, &heap, count, &numbers, err);
    for (int run = 0; run < count; run++) {
        rlmr_bytes_release(&cursors[run].block);
        rlmr_bytes_release(&cursors[run].reply);
    }
    rlmr_bytes_release(&numbers.last);
done:
    free(cursors);
    free(items);
    return status;
}
