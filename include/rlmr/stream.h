/* layer: core */
/** What flows between the layers: input being read, sorted blocks, finished tables. */
#ifndef RLMR_STREAM_H
#define RLMR_STREAM_H

#include "rlmr/table.h"

/** A sorted run that is pulled block by block: local, or of another process.
 *
 *  next() puts the next block into `block` (cleared first); no bytes mean the end, after which it is not
 *  called again. `reply` is the consumer's answer to the block before, empty if there is none to give. An
 *  error ends the run too. */
typedef struct {
    rlmr_status (*next)(void *self, const rlmr_bytes *reply, rlmr_bytes *block, rlmr_error *err);
    void *self;
} rlmr_source;

/** Is told of every piece of input that was read, and may end the reading by a status other than OK. */
typedef struct {
    rlmr_status (*advance)(void *self, size_t bytes, rlmr_error *err);
    void *self;
} rlmr_meter;

/** Is told of damage behind which reading goes on.
 *
 *  offset: the byte where it was met, -1 if that is not known; lost: whether an event or row is lost with it; reason:
 *  one clause without a path, borrowed for the call. A status other than OK ends the reading. */
typedef struct {
    rlmr_status (*met)(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err);
    void *self;
} rlmr_damage;

/** One column in one chunk of a table's rows, packed for the file (chunk.h). */
typedef struct {
    size_t
        column; /**< of the schema; columns_count: the number of the row, of a table without an index of its own */
    size_t rows;       /**< RLMR_BLOCK_ROWS in all chunks but the last */
    uint32_t greatest; /**< of a text column: the greatest code */
    rlmr_slice bytes;
} rlmr_chunk;

/** The bytes [from, to) of a file, which several processes read in parts. */
typedef struct {
    const char *path;
    int64_t from;
    int64_t to; /**< INT64_MAX for the file's end */
} rlmr_file_range;

/** Where finished tables go: a collector, or the HDF5 file. Calls for one table, in this order: begin(), categories() until every text
 *  column is complete, rows() or chunk() until all are there, end(). A sink takes rows or chunks; the other is NULL.
 *
 *  categories(): further texts of text column `column`; over all calls ascending bytewise, distinct, and code
 *  k is the k-th text. rows(): the next rows in key order, RLMR_BLOCK_ROWS of them in every call but the last;
 *  text columns hold codes. chunk(): of each stored column its chunks in order. After an error no further call is made for the table. */
typedef struct {
    rlmr_status (*begin)(void *self, const rlmr_schema *schema, rlmr_error *err);
    rlmr_status (*categories)(void *self, size_t column, const rlmr_slice *texts, size_t count,
                              rlmr_error *err);
    rlmr_status (*rows)(void *self, const rlmr_rows *rows, rlmr_error *err);
    rlmr_status (*chunk)(void *self, const rlmr_chunk *chunk, rlmr_error *err);
    rlmr_status (*end)(void *self, rlmr_error *err);
    void *self;
} rlmr_sink;

#endif
