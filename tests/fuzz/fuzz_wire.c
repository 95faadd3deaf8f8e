/** Everything that decodes bytes of another process: shares of the DataMap, blocks of rows, blocks of texts, the codes
 *  that answer them, the map of the cluster, and the index of call stacks of a shared trace. The first byte of an input says which. */
#include "datamap.h"
#include "fuzz.h"
#include "rlmr/cluster_map.h"
#include "rlmr/memory_events.h"
#include "rlmr/reducer.h"
#include "stack_index.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shares of the DataMap ---- */

static void encode(const rlmr_datamap *map, rlmr_bytes *out) {
    for (size_t i = 0; i < map->count; i++) {
        FUZZ_REQUIRE(rlmr_datamap_encode(&map->captures[i], &map->pieces[i], out, NULL) == RLMR_OK);
    }
}

/* What can be taken back must come back the same when it travels again. */
static void fuzz_datamap(fuzz_bytes input) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_datamap map;
    rlmr_bytes part = {.data = (uint8_t *)(uintptr_t)input.data, .bytes = input.bytes};
    rlmr_status status = rlmr_datamap_decode(&part, &map, &err);
    FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE);
    FUZZ_REQUIRE(err.code == status && (status == RLMR_OK) == (err.message[0] == '\0'));
    if (status == RLMR_OK) {
        rlmr_bytes first = {0};
        rlmr_bytes second = {0};
        rlmr_datamap again;
        encode(&map, &first);
        FUZZ_REQUIRE(rlmr_datamap_decode(&first, &again, NULL) == RLMR_OK);
        FUZZ_REQUIRE(again.count == map.count);
        encode(&again, &second);
        FUZZ_REQUIRE(first.bytes == second.bytes);
        FUZZ_REQUIRE(first.bytes == 0 || memcmp(first.data, second.data, first.bytes) == 0);
        rlmr_datamap_release(&again);
        rlmr_bytes_release(&first);
        rlmr_bytes_release(&second);
    }
    rlmr_datamap_release(&map);
}

/* ---- Runs of blocks: the number of runs, then of each block its run, its form and its length ---- */

enum { RUNS_MAX = 4, BLOCKS_MAX = 64, BLOCK_ROWS = 8, TEXTS_MAX = 4096 };

typedef struct {
    rlmr_bytes blocks[BLOCKS_MAX];
    size_t count;
    size_t at; /* blocks given */
    bool ended;
    const rlmr_slice *texts; /* that were numbered, for the answers */
    const size_t *texts_count;
} run_of_blocks;

/* Bytes as they are, or as many as make `rows` rows with their number before them: chance would seldom meet that. */
static void make_block(rlmr_bytes *block, fuzz_bytes from, uint32_t rows, size_t row_bytes) {
    if (rows > 0) {
        FUZZ_REQUIRE(rlmr_bytes_append_u32(block, rows, NULL) == RLMR_OK);
        from.bytes = from.bytes < rows * row_bytes ? from.bytes : rows * row_bytes;
    }
    FUZZ_REQUIRE(rlmr_bytes_append(block, from.data, from.bytes, NULL) == RLMR_OK);
    while (rows > 0 && block->bytes < sizeof rows + rows * row_bytes) {
        FUZZ_REQUIRE(rlmr_bytes_append(block, "", 1, NULL) == RLMR_OK);
    }
}

/* @param row_bytes of a row, 0 if the blocks hold texts */
static int split(fuzz_bytes input, run_of_blocks runs[RUNS_MAX], size_t row_bytes) {
    int count = 1 + fuzz_take_u8(&input) % RUNS_MAX;
    while (input.bytes > 0) {
        run_of_blocks *run = &runs[fuzz_take_u8(&input) % count];
        uint32_t rows = row_bytes == 0 ? 0 : fuzz_take_u8(&input) % (BLOCK_ROWS + 2);
        fuzz_bytes from = fuzz_take(&input, fuzz_take_u16(&input));
        if (run->count < BLOCKS_MAX && (from.bytes > 0 || rows > 0)) {
            make_block(&run->blocks[run->count++], from, rows, row_bytes);
        }
    }
    return count;
}

static void release_runs(run_of_blocks *runs, int count) {
    for (int run = 0; run < count; run++) {
        for (size_t i = 0; i < runs[run].count; i++) {
            rlmr_bytes_release(&runs[run].blocks[i]);
        }
    }
}

/* After OK every answer is the codes of the texts of the block before. */
static void check_reply(const run_of_blocks *run, const rlmr_bytes *reply) {
    if (run->at == 0 || run->texts == NULL) {
        FUZZ_REQUIRE(reply->bytes == 0);
        return;
    }
    const rlmr_bytes block = run->blocks[run->at - 1];
    rlmr_reader sent = {.data = block.data, .bytes = block.bytes};
    rlmr_reader codes = {.data = reply->data, .bytes = reply->bytes};
    while (sent.at < sent.bytes) {
        rlmr_slice text;
        uint32_t code = 0;
        FUZZ_REQUIRE(rlmr_reader_slice(&sent, &text, NULL) == RLMR_OK);
        FUZZ_REQUIRE(rlmr_reader_u32(&codes, &code, NULL) == RLMR_OK);
        FUZZ_REQUIRE(code < *run->texts_count && rlmr_slice_equal(run->texts[code], text));
    }
    FUZZ_REQUIRE(codes.at == codes.bytes);
}

static rlmr_status next_block(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err) {
    run_of_blocks *run = self;
    FUZZ_REQUIRE(!run->ended && block->bytes == 0);
    check_reply(run, reply);
    run->ended = run->at == run->count;
    if (run->ended) {
        return RLMR_OK;
    }
    const rlmr_bytes *next = &run->blocks[run->at++];
    return rlmr_bytes_append(block, next->data, next->bytes, err);
}

static void make_sources(run_of_blocks *runs, int count, rlmr_source *sources) {
    for (int run = 0; run < count; run++) {
        sources[run] = (rlmr_source){.next = next_block, .self = &runs[run]};
    }
}

static void require_all_taken(const run_of_blocks *runs, int count) {
    for (int run = 0; run < count; run++) {
        FUZZ_REQUIRE(runs[run].ended);
    }
}

/* ---- Rows ---- */

typedef struct {
    uint64_t rows;
    bool partial; /* a call with fewer rows must be the last */
    bool sorted;
    rlmr_rows *last; /* the row before, if `any` */
    bool any;
} row_sink;

static void look_at_row(row_sink *sink, const rlmr_rows *rows, size_t at) {
    sink->sorted = sink->sorted && (!sink->any || rlmr_rows_compare(sink->last, 0, rows, at) <= 0);
    sink->last->rows = 0;
    rlmr_rows_copy(sink->last, rows, at, 1);
    sink->any = true;
    sink->rows++;
}

static rlmr_status take_rows(void *self, const rlmr_rows *rows, rlmr_error *err) {
    (void)err;
    row_sink *sink = self;
    FUZZ_REQUIRE(!sink->partial && rows->rows > 0 && rows->rows <= RLMR_BLOCK_ROWS);
    sink->partial = rows->rows < RLMR_BLOCK_ROWS;
    for (size_t at = 0; at < rows->rows; at++) {
        look_at_row(sink, rows, at);
    }
    return RLMR_OK;
}

/* Decode a run by itself. @return false if one of its blocks cannot be taken */
static bool scan_run(const rlmr_schema *schema, const run_of_blocks *run, row_sink *seen) {
    rlmr_rows *rows;
    FUZZ_REQUIRE(rlmr_rows_open(schema, BLOCK_ROWS, &rows, NULL) == RLMR_OK);
    bool good = true;
    seen->any = false;
    for (size_t i = 0; i < run->count && good; i++) {
        rlmr_status status = rlmr_rows_decode(rows, run->blocks[i].data, run->blocks[i].bytes, NULL);
        FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE);
        good = status == RLMR_OK && rows->rows > 0;
        for (size_t at = 0; at < rows->rows && good; at++) {
            look_at_row(seen, rows, at);
        }
    }
    rlmr_rows_close(rows);
    return good;
}

/* A table takes what can be decoded, and nothing else; the rows that it gives then are the same bytes. */
static void take_run(const rlmr_schema *schema, const run_of_blocks *run) {
    rlmr_rows *rows;
    FUZZ_REQUIRE(rlmr_rows_open(schema, RLMR_BLOCK_ROWS, &rows, NULL) == RLMR_OK);
    for (size_t i = 0; i < run->count; i++) {
        rlmr_table table;
        rlmr_row_places places = {.free_count = 0};
        rlmr_bytes again = {0};
        rlmr_table_init(&table, schema);
        rlmr_status status = rlmr_table_take(&table, &places, &run->blocks[i], NULL);
        FUZZ_REQUIRE(status == rlmr_rows_decode(rows, run->blocks[i].data, run->blocks[i].bytes, NULL));
        if (status == RLMR_OK) {
            FUZZ_REQUIRE(places.taken.bytes == rows->rows * sizeof(uint32_t));
            FUZZ_REQUIRE(rlmr_table_extend_order(&table, &places.taken, NULL) == RLMR_OK &&
                         table.rows == rows->rows);
            FUZZ_REQUIRE(rlmr_table_encode(&table, 0, rows->rows, &again, NULL) == RLMR_OK);
            FUZZ_REQUIRE(again.bytes == run->blocks[i].bytes &&
                         memcmp(again.data, run->blocks[i].data, again.bytes) == 0);
        }
        rlmr_bytes_release(&places.taken);
        rlmr_bytes_release(&again);
        rlmr_table_release(&table);
    }
    rlmr_rows_close(rows);
}

/* All rows of good runs come out, in order if the runs are; a bad block is met. */
static void fuzz_rows(const rlmr_schema *schema, fuzz_bytes input) {
    run_of_blocks runs[RUNS_MAX] = {0};
    rlmr_source sources[RUNS_MAX];
    row_sink in = {.sorted = true};
    row_sink out = {.sorted = true};
    int count = split(input, runs, rlmr_schema_row_bytes(schema));
    make_sources(runs, count, sources);
    FUZZ_REQUIRE(rlmr_rows_open(schema, 1, &in.last, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_rows_open(schema, 1, &out.last, NULL) == RLMR_OK);
    bool good = true;
    for (int run = 0; run < count; run++) {
        good = scan_run(schema, &runs[run], &in) && good;
        take_run(schema, &runs[run]);
    }
    uint64_t rows = 0;
    rlmr_sink sink = {.rows = take_rows, .self = &out};
    rlmr_status status = rlmr_merge_rows(schema, sources, count, BLOCK_ROWS, &sink, &rows, NULL);
    FUZZ_REQUIRE(status == (good ? RLMR_OK : RLMR_E_PARSE));
    FUZZ_REQUIRE(rows == out.rows);
    if (good) {
        FUZZ_REQUIRE(out.rows == in.rows);
        FUZZ_REQUIRE(out.sorted || !in.sorted);
        require_all_taken(runs, count);
    }
    rlmr_rows_close(in.last);
    rlmr_rows_close(out.last);
    release_runs(runs, count);
}

/* ---- Texts ---- */

typedef struct {
    rlmr_slice texts[TEXTS_MAX]; /* owned */
    size_t count;
} text_sink;

static rlmr_status take_texts(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err) {
    (void)err;
    text_sink *sink = self;
    FUZZ_REQUIRE(column == 7);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(sink->count == 0 || rlmr_slice_compare(sink->texts[sink->count - 1], texts[i]) < 0);
        FUZZ_REQUIRE(sink->count < TEXTS_MAX); /* more than BLOCKS_MAX blocks of this input could hold */
        char *copy = malloc(texts[i].bytes + 1);
        FUZZ_REQUIRE(copy != NULL);
        if (texts[i].bytes > 0) {
            memcpy(copy, texts[i].text, texts[i].bytes);
        }
        sink->texts[sink->count++] = (rlmr_slice){.text = copy, .bytes = texts[i].bytes};
    }
    return RLMR_OK;
}

/* Texts of good runs are numbered in their order, and every run is told the number of each. */
static void fuzz_texts(fuzz_bytes input) {
    run_of_blocks runs[RUNS_MAX] = {0};
    rlmr_source sources[RUNS_MAX];
    text_sink out = {0};
    int count = split(fuzz_take(&input, TEXTS_MAX * sizeof(uint64_t)), runs, 0);
    make_sources(runs, count, sources);
    for (int run = 0; run < count; run++) {
        runs[run].texts = out.texts;
        runs[run].texts_count = &out.count;
    }
    rlmr_sink sink = {.categories = take_texts, .self = &out};
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_status status = rlmr_merge_dictionaries(sources, count, 7, &sink, &err);
    FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE);
    FUZZ_REQUIRE(err.code == status);
    if (status == RLMR_OK) {
        require_all_taken(runs, count);
    }
    for (size_t i = 0; i < out.count; i++) {
        free((char *)(uintptr_t)out.texts[i].text);
    }
    release_runs(runs, count);
}

/* ---- Codes ---- */

static void fill(rlmr_table *table, rlmr_symtab *texts, size_t rows) {
    rlmr_table_init(table, &rlmr_memory_events_schema);
    for (size_t row = 0; row < rows; row++) {
        rlmr_memory_events_row values = {.file_row = (int64_t)row};
        char name[2] = {(char)('z' - row), '\0'};
        FUZZ_REQUIRE(rlmr_symtab_intern(texts, rlmr_slice_of(name), &values.name, NULL) == RLMR_OK);
        FUZZ_REQUIRE(rlmr_table_append(table, &values, NULL) == RLMR_OK);
    }
}

/* The codes that come back for the texts that were sent: too few are an error, and each lands in its row. */
static void fuzz_codes(fuzz_bytes input) {
    rlmr_symtab *texts;
    rlmr_table table;
    rlmr_dictionary *dictionary;
    size_t rows = 1 + fuzz_take_u8(&input) % 16;
    size_t column = rlmr_schema_column(&rlmr_memory_events_schema, "name");
    FUZZ_REQUIRE(rlmr_symtab_open(&texts, NULL) == RLMR_OK);
    fill(&table, texts, rows);
    FUZZ_REQUIRE(rlmr_dictionary_open(&table, column, texts, SIZE_MAX, &dictionary, NULL) == RLMR_OK);
    rlmr_source source = rlmr_dictionary_source(dictionary);
    rlmr_bytes reply = {0};
    rlmr_bytes block = {0};
    FUZZ_REQUIRE(source.next(source.self, &reply, &block, NULL) == RLMR_OK);
    FUZZ_REQUIRE(block.bytes == rows * (sizeof(uint64_t) + 1));
    rlmr_bytes_clear(&block);
    FUZZ_REQUIRE(rlmr_bytes_append(&reply, input.data, input.bytes, NULL) == RLMR_OK);
    rlmr_status status = source.next(source.self, &reply, &block, NULL);
    FUZZ_REQUIRE(status == (input.bytes >= rows * sizeof(uint32_t) ? RLMR_OK : RLMR_E_PARSE));
    FUZZ_REQUIRE(block.bytes == 0);
    if (status == RLMR_OK) {
        rlmr_dictionary_translate(dictionary, &table);
        for (size_t row = 0; row < rows; row++) {
            uint32_t code;
            memcpy(&code, input.data + (rows - 1 - row) * sizeof code, sizeof code);
            FUZZ_REQUIRE(*(uint32_t *)rlmr_table_value(&table, row, column) == code);
        }
    }
    rlmr_bytes_release(&reply);
    rlmr_bytes_release(&block);
    rlmr_dictionary_close(dictionary);
    rlmr_table_release(&table);
    rlmr_symtab_close(texts);
}

/* ---- The map of the cluster ---- */

/* A link and a step, whose numbers and texts are of the input. */
static void apply(const rlmr_cluster_map *map, fuzz_bytes input) {
    rlmr_symtab *texts;
    rlmr_table links;
    rlmr_table steps;
    FUZZ_REQUIRE(rlmr_symtab_open(&texts, NULL) == RLMR_OK);
    rlmr_table_init(&links, &rlmr_cluster_communication_matrix_schema);
    rlmr_table_init(&steps, &rlmr_cluster_step_trace_time_schema);
    rlmr_cluster_communication_matrix_row link = {.src_local = fuzz_take_u8(&input) - 1,
                                                  .dst_local = fuzz_take_u8(&input) - 1};
    rlmr_cluster_step_trace_time_row step = {.rank_id = link.src_local};
    fuzz_bytes role = fuzz_take(&input, 1);
    FUZZ_REQUIRE(rlmr_symtab_intern(texts, (rlmr_slice){(const char *)role.data, role.bytes}, &link.role,
                                    NULL) == RLMR_OK);
    step.role = link.role;
    FUZZ_REQUIRE(rlmr_table_append(&links, &link, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_table_append(&steps, &step, NULL) == RLMR_OK);
    rlmr_cluster_map_links(map, &links, texts);
    FUZZ_REQUIRE(rlmr_cluster_map_steps(map, &steps, texts, NULL) == RLMR_OK);
    FUZZ_REQUIRE(steps.rows == 1 || steps.rows == 2);
    rlmr_table_release(&links);
    rlmr_table_release(&steps);
    rlmr_symtab_close(texts);
}

/* What is taken is written again as the same bytes. */
static void fuzz_cluster_map(fuzz_bytes input) {
    rlmr_cluster_map *map;
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_bytes wire = {.data = (uint8_t *)(uintptr_t)input.data, .bytes = input.bytes};
    rlmr_status status = rlmr_cluster_map_decode(&wire, &map, &err);
    FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE);
    FUZZ_REQUIRE(err.code == status && (map != NULL) == (status == RLMR_OK));
    if (status == RLMR_OK) {
        rlmr_bytes again = {0};
        FUZZ_REQUIRE(rlmr_cluster_map_encode(map, &again, NULL) == RLMR_OK);
        FUZZ_REQUIRE(again.bytes == input.bytes && memcmp(again.data, input.data, again.bytes) == 0);
        rlmr_bytes_release(&again);
        apply(map, input);
    }
    rlmr_cluster_map_close(map);
}

/* ---- The index of call stacks ---- */

static void fuzz_index(fuzz_bytes input) {
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_symtab *names;
    rlmr_symtab *texts;
    rlmr_stack_index *index;
    rlmr_record records[] = {{.time_ns = 1}, {.time_ns = INT64_MAX}, {.time_ns = 1000}};
    FUZZ_REQUIRE(rlmr_symtab_open(&names, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_symtab_open(&texts, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_symtab_intern(names, RLMR_SLICE("add"), &records[0].name, NULL) == RLMR_OK);
    FUZZ_REQUIRE(rlmr_symtab_intern(names, RLMR_SLICE("mul"), &records[1].name, NULL) == RLMR_OK);
    records[2].name = records[0].name;
    FUZZ_REQUIRE(rlmr_stack_index_open(names, texts, &(rlmr_map_options){0}, &index, NULL) == RLMR_OK);
    rlmr_slice told = {.text = (const char *)input.data, .bytes = input.bytes};
    rlmr_status status = rlmr_stack_index_take(index, told, &err);
    FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE || status == RLMR_E_LIMIT);
    FUZZ_REQUIRE(err.code == status && (status == RLMR_OK) == (err.message[0] == '\0'));
    if (status == RLMR_OK) { /* a stack may be written with escapes that are none */
        status = rlmr_stack_index_match(index, records, sizeof records / sizeof records[0], NULL);
        FUZZ_REQUIRE(status == RLMR_OK || status == RLMR_E_PARSE || status == RLMR_E_LIMIT);
    }
    rlmr_stack_index_close(index);
    rlmr_symtab_close(texts);
    rlmr_symtab_close(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes input = {.data = data, .bytes = size};
    switch (fuzz_take_u8(&input) % 7) {
    case 0:
        fuzz_datamap(input);
        break;
    case 1:
        fuzz_rows(&rlmr_captures_schema, input);
        break;
    case 2:
        fuzz_rows(&rlmr_memory_events_schema, input);
        break;
    case 3:
        fuzz_texts(input);
        break;
    case 4:
        fuzz_codes(input);
        break;
    case 5:
        fuzz_cluster_map(input);
        break;
    default:
        fuzz_index(input);
    }
    return 0;
}
