/* layer: reducer */
/** Partial tables in, final tables out. Sorted runs are merged block by block, so memory is one block a
 *  process.
 *
 *  A text column is reduced first: each process offers its distinct texts in bytewise order, the merge
 *  numbers them (the number is the text's code in the file) and answers with the codes. Codes have the order
 *  of the texts, so rows are then sorted and merged by integers alone. The merge is the k-way merge of Knuth,
 *  TAOCP 3, 5.4.1, with a binary heap.
 */
#ifndef RLMR_REDUCER_H
#define RLMR_REDUCER_H

#include "rlmr/stream.h"

/** The distinct texts of one text column of one process. */
typedef struct rlmr_dictionary rlmr_dictionary;

/** Collect them in O(rows + k log k) for k distinct texts.
 *
 *  @param table        borrowed until close
 *  @param column       a TEXT column of it, holding ids of `texts`
 *  @param block_bytes  a block that is pulled ends with the text that reaches this size, at least 1
 *  @param out          owned by the caller, rlmr_dictionary_close()  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_dictionary_open(const rlmr_table *table, size_t column,
                                                 const rlmr_symtab *texts, size_t block_bytes,
                                                 rlmr_dictionary **out, rlmr_error *err);
void rlmr_dictionary_close(rlmr_dictionary *dictionary);

/** The texts as a run for rlmr_merge_dictionaries(); valid until close. */
rlmr_source rlmr_dictionary_source(rlmr_dictionary *dictionary);

/** After the merge: replace the ids in `table`'s column by the codes received. */
void rlmr_dictionary_translate(const rlmr_dictionary *dictionary, rlmr_table *table);

/** Merge the runs of `count` dictionaries and give every distinct text to sink->categories() once, in order.
 *  @return OK, E_NOMEM, E_RANGE (2^31 - 1 texts), E_PARSE (a block is malformed or not in order), or the
 *  status of a source or the sink */
RLMR_MUST_CHECK rlmr_status rlmr_merge_dictionaries(rlmr_source *sources, int count, size_t column,
                                                    rlmr_sink *sink, rlmr_error *err);

/** Whether the empty text is among them. */
bool rlmr_dictionary_has_empty(const rlmr_dictionary *dictionary);

/** The rows of a sorted table as a run for rlmr_merge_rows(). */
typedef struct {
    const rlmr_table *table;
    size_t block_rows; /**< 1 .. RLMR_BLOCK_ROWS */
    uint64_t at;       /**< rows given so far */
} rlmr_row_run;

/** The run as a source; both structs stay with the caller. */
rlmr_source rlmr_row_run_source(rlmr_row_run *run);

/** Blocks that are kept until a consumer pulls them; all zero is a run without blocks. */
typedef struct {
    rlmr_bytes *blocks;
    size_t count;
    size_t capacity;
    size_t at; /**< blocks given so far */
} rlmr_block_run;

/** Append a block, whose memory is taken over: `block` is all zero then. @return OK; E_NOMEM, with the block as it was */
RLMR_MUST_CHECK rlmr_status rlmr_block_run_keep(rlmr_block_run *run, rlmr_bytes *block, rlmr_error *err);

/** The blocks as a source, which gives their memory away; the run stays with the caller. */
rlmr_source rlmr_block_run_source(rlmr_block_run *run);
void rlmr_block_run_release(rlmr_block_run *run);

/** Rows in a block of about `block_bytes`: 1 .. RLMR_BLOCK_ROWS. The same on all processes. */
size_t rlmr_block_rows(const rlmr_schema *schema, size_t block_bytes);

/** Merge the runs of `count` processes and give the rows to sink->rows(), RLMR_BLOCK_ROWS at a time.
 *
 *  @param block_rows  most rows in a block of the sources
 *  @param rows        out: rows given to the sink
 *  @return OK, E_NOMEM, E_PARSE, or the status of a source or of the sink */
RLMR_MUST_CHECK rlmr_status rlmr_merge_rows(const rlmr_schema *schema, rlmr_source *sources, int count,
                                            size_t block_rows, rlmr_sink *sink, uint64_t *rows,
                                            rlmr_error *err);

/** A sink that appends rows to a table of their schema. */
rlmr_sink rlmr_table_sink(rlmr_table *table);

/** Between the merge and the sink of a table whose schema has a fold_count: rows that are equal in so many leading columns of the
 *  key come as one row, with the quotients of the schema. Rows reach it in key order, so the result does not depend on how many
 *  runs and blocks they came in. */
typedef struct rlmr_fold rlmr_fold;

/** @param inner borrowed until close; its rows() is called from rows() and end() of the fold's own sink
 *  @param out   owned by the caller, rlmr_fold_close()  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_fold_open(const rlmr_schema *schema, rlmr_sink *inner, rlmr_fold **out,
                                           rlmr_error *err);
void rlmr_fold_close(rlmr_fold *fold);

/** The fold as a sink, for one table; valid until close. Of the categories only whether a column's first text is empty matters. */
rlmr_sink rlmr_fold_sink(rlmr_fold *fold);

#endif
