/* layer: core */
/** Tables: a descriptor, rows held as one array a column, sorting, and the form in which rows travel.
 *
 *  A table is declared once, as an X-list in its own header (see memory_events.h), from which
 *  RLMR_TABLE_DECLARE() makes the row struct; its .c file makes the descriptor with RLMR_COLUMN(). HDF5,
 *  transport, sort and the schema page of the manual are loops over the descriptor.
 *
 *  An X-list has entries X(TYPE, name, unit, storage, description): TYPE is I64, I32, U8, F64 or TEXT;
 *  storage is STORED, or HIDDEN for a column that only serves the sort key and is not written.
 */
#ifndef RLMR_TABLE_H
#define RLMR_TABLE_H

#include "rlmr/symtab.h"

/** Rows of one block in memory, of one sink call, and of one chunk of the HDF5 file. A build for fuzzing has few, so that
 *  small inputs fill blocks. */
#ifndef RLMR_BLOCK_ROWS
#define RLMR_BLOCK_ROWS 65536
#endif

typedef enum { RLMR_TYPE_I64, RLMR_TYPE_I32, RLMR_TYPE_U8, RLMR_TYPE_F64, RLMR_TYPE_TEXT } rlmr_type;
typedef enum { RLMR_STORED, RLMR_HIDDEN } rlmr_storage;

typedef struct {
    const char *name;
    rlmr_type type;
    const char *unit;        /**< "ns", "us", "ms", "MiB", "KiB", "MB", "GB/s", "1", or "" for text */
    const char *description; /**< one line; names the sentinel of a value that can be missing */
    rlmr_storage storage;
    size_t
        offset; /**< of the value in the row struct; a text is a uint32_t id of the process's symtab there */
} rlmr_column;

/** What becomes of a column when rows are folded into one. FIRST: the value of the first row in key order; of a text the first
 *  that is not empty. SUM: compensated, in key order, NaN counts as absent. MAX: NaN counts as absent. */
typedef enum { RLMR_MERGE_FIRST, RLMR_MERGE_SUM, RLMR_MERGE_MAX } rlmr_merge;

/** An F64 column that is a quotient of two others once rows are folded; 0 if the denominator is 0. */
typedef struct {
    size_t column;
    size_t numerator;
    size_t denominator;
} rlmr_quotient;

typedef struct {
    const char *name;        /**< of the HDF5 group, without the slash */
    const char *description; /**< one line */
    const rlmr_column *columns;
    size_t columns_count;
    int index;         /**< column that is the dataframe's index, or -1: a generated `row` column, 0 .. n-1 */
    const size_t *key; /**< columns to sort by, most significant first; never F64; together unique */
    size_t key_count;
    size_t
        fold_count; /**< rows that are equal in so many leading columns of the key are folded into one; 0: none are */
    const rlmr_merge *merge; /**< one a column, if rows are folded; SUM and MAX are of F64 columns */
    const rlmr_quotient *quotients;
    size_t quotients_count;
} rlmr_schema;

typedef int64_t rlmr_row_I64;
typedef int32_t rlmr_row_I32;
typedef uint8_t rlmr_row_U8;
typedef double rlmr_row_F64;
typedef uint32_t rlmr_row_TEXT;

#define RLMR_ROW_FIELD(type, name, unit, storage, description) rlmr_row_##type name;

/** Row struct `rlmr_<table>_row` and the descriptor `rlmr_<table>_schema` of an X-list. */
#define RLMR_TABLE_DECLARE(table, LIST)                                                                      \
    typedef struct {                                                                                         \
        LIST(RLMR_ROW_FIELD)                                                                                 \
    } rlmr_##table##_row;                                                                                    \
    extern const rlmr_schema rlmr_##table##_schema;

/** For the .c file of a schema: the X-list expanded with RLMR_COLUMN_NUMBER is an enum of column numbers, for
 *  the key; expanded with RLMR_COLUMN, after defining RLMR_ROW as the row struct, it is the array of columns.
 */
#define RLMR_COLUMN_NUMBER(type, name, unit, storage, description) COLUMN_##name,
#define RLMR_COLUMN(type_, name_, unit_, storage_, description_)                                             \
    {.name = #name_,                                                                                         \
     .type = RLMR_TYPE_##type_,                                                                              \
     .unit = (unit_),                                                                                        \
     .description = (description_),                                                                          \
     .storage = RLMR_##storage_,                                                                             \
     .offset = offsetof(RLMR_ROW, name_)},

/** Bytes of one value of `type` in memory and on the wire: 8, 4 or 1; a text is its 4-byte id or code. */
size_t rlmr_type_bytes(rlmr_type type);

/** Rows of one table, at most RLMR_BLOCK_ROWS, one array a column. */
typedef struct {
    const rlmr_schema *schema;
    size_t rows;
    size_t capacity;
    void **columns; /**< columns_count arrays; a text column is an array of uint32_t */
} rlmr_rows;

/** @param capacity 1 .. RLMR_BLOCK_ROWS  @param out owned by the caller, rlmr_rows_close()  @return OK or
 *  E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_rows_open(const rlmr_schema *schema, size_t capacity, rlmr_rows **out,
                                           rlmr_error *err);
void rlmr_rows_close(rlmr_rows *rows);

/** Copy `count` rows of `from`, from row `at` on, behind the last row of `to`, which has the same schema and room for them. */
void rlmr_rows_copy(rlmr_rows *to, const rlmr_rows *from, size_t at, size_t count);

/** Value of column `k` of the schema's key in row `at`, as an integer of the same order. */
int64_t rlmr_rows_key(const rlmr_rows *rows, size_t at, size_t k);

/** Order of two rows by the schema's key: negative, 0 or positive. Text compares by id, so after translation
 *  to codes of a sorted dictionary it is bytewise order. */
int rlmr_rows_compare(const rlmr_rows *a, size_t at_a, const rlmr_rows *b, size_t at_b);

/** Replace the content of `rows` by what rlmr_table_encode() wrote.
 *  @return OK; E_PARSE if the bytes are not a whole block of this schema or hold more rows than `rows` has
 *  room for */
RLMR_MUST_CHECK rlmr_status rlmr_rows_decode(rlmr_rows *rows, const uint8_t *data, size_t bytes,
                                             rlmr_error *err);

/** All rows that this process has of one table. */
typedef struct {
    const rlmr_schema *schema;
    uint64_t rows; /**< in the order, or in the blocks if there is none */
    rlmr_rows **blocks;
    size_t blocks_count;
    size_t blocks_capacity;
    uint32_t *order; /**< row by row its place in the blocks; NULL: rows are as they were appended */
} rlmr_table;

void rlmr_table_init(rlmr_table *table, const rlmr_schema *schema);
void rlmr_table_release(rlmr_table *table);

/** Append one row to a table without an order. @param row a pointer to the schema's row struct  @return OK or E_NOMEM, which leaves the
 *  table as it was */
RLMR_MUST_CHECK rlmr_status rlmr_table_append(rlmr_table *table, const void *row, rlmr_error *err);

/** Append rows of the same schema to a table without an order. @return OK or E_NOMEM, with the rows appended so far */
RLMR_MUST_CHECK rlmr_status rlmr_table_append_rows(rlmr_table *table, const rlmr_rows *rows, rlmr_error *err);

/** Append the rows of `from` to `to`; `from` has none then. If `to` had none, it takes the memory over and no row is copied. Two tables of
 *  the same schema, without an order and with no block dropped. @return OK or E_NOMEM, with the rows appended so far */
RLMR_MUST_CHECK rlmr_status rlmr_table_move(rlmr_table *to, rlmr_table *from, rlmr_error *err);

/** Room for the order of a table's rows. @param out owned by the caller, free()  @return OK, E_NOMEM, E_RANGE (2^32 rows) */
RLMR_MUST_CHECK rlmr_status rlmr_table_new_order(const rlmr_table *table, uint32_t **out, rlmr_error *err);

/** Say which of the rows in the blocks are the table's, and in which order.
 *
 *  @param order row by row its place, owned by the table then; NULL: as appended  @param rows in it */
void rlmr_table_set_order(rlmr_table *table, uint32_t *order, uint64_t rows);

/** Rows at further places come behind all others. @param places uint32_t of each  @return OK, E_NOMEM, E_RANGE (2^32 rows) */
RLMR_MUST_CHECK rlmr_status rlmr_table_extend_order(rlmr_table *table, const rlmr_bytes *places,
                                                    rlmr_error *err);

/** Place of a row in the blocks: block place / RLMR_BLOCK_ROWS, and in it row place % RLMR_BLOCK_ROWS. */
uint64_t rlmr_table_place(const rlmr_table *table, uint64_t row);

/** Where rows are put that come to a table: first to places whose rows are no longer needed. */
typedef struct {
    const uint32_t *free; /**< borrowed */
    size_t free_count;
    rlmr_bytes taken; /**< uint32_t of each row put, in the order in which they came; owned */
} rlmr_row_places;

/** Put the rows of a block that rlmr_table_encode() has made into places, which are in the table's order once the caller has set it.
 *  @return OK, E_NOMEM, E_RANGE (2^32 rows); E_PARSE as of rlmr_rows_decode() */
RLMR_MUST_CHECK rlmr_status rlmr_table_take(rlmr_table *table, rlmr_row_places *places,
                                            const rlmr_bytes *block, rlmr_error *err);

/** Free the memory of places block * RLMR_BLOCK_ROWS on, of one block: they must not be used any more, and the table is neither
 *  appended to nor sorted. */
void rlmr_table_drop(rlmr_table *table, size_t block);

/** Pointer to one value, of the type in the schema; valid until rlmr_table_release() or rlmr_table_sort(). */
void *rlmr_table_value(const rlmr_table *table, uint64_t row, size_t column);

/** Replace each id of a text column by map[id]; `map` has an entry for every id that occurs. */
void rlmr_table_translate(rlmr_table *table, size_t column, const uint32_t *map);

/** Give the rows the order of the schema's key, those of equal keys as they were before, in O(n log n). Values stay at their place: whoever
 *  reads rows one after the other gathers them. Takes 9 bytes a row meanwhile, and 4 bytes of order if the rows were in another one.
 *  @return OK, E_NOMEM, E_RANGE (2^32 rows) */
RLMR_MUST_CHECK rlmr_status rlmr_table_sort(rlmr_table *table, rlmr_error *err);

/** Copy the values of one column in rows first .. first + count - 1 to an array. */
void rlmr_table_copy(const rlmr_table *table, uint64_t first, size_t count, size_t column, void *to);

/** Append rows first .. first + count - 1 to `out` as one block: a 32-bit row count, then each column.
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_table_encode(const rlmr_table *table, uint64_t first, size_t count,
                                              rlmr_bytes *out, rlmr_error *err);

/** Once, before there is any table: have malloc keep what is freed for what comes next. If its pages went back to the kernel, to be cleared
 *  and mapped again, that would take longer than sorting. */
void rlmr_tables_keep_memory(void);

/** Bytes that one row of `schema` takes on the wire. */
size_t rlmr_schema_row_bytes(const rlmr_schema *schema);

/** Place of a column by name, or columns_count if there is none. */
size_t rlmr_schema_column(const rlmr_schema *schema, const char *name);

#endif
