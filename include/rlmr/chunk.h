/* layer: io */
/** Packing: the values of one column in one chunk of a table, as HDF5's filters shuffle and deflate read them. Any process can pack;
 *  the one that writes the file only passes the bytes on. */
#ifndef RLMR_CHUNK_H
#define RLMR_CHUNK_H

#include "rlmr/stream.h"

/** What packing needs beside its result, for any number of chunks. */
typedef struct rlmr_packer rlmr_packer;

/** @param out owned by the caller, rlmr_packer_close()  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_packer_open(rlmr_packer **out, rlmr_error *err);
void rlmr_packer_close(rlmr_packer *packer);

/** Shuffle by bytes and deflate `rows` values, filled up to RLMR_BLOCK_ROWS with zeros.
 *
 *  @param values       of the table's type in memory, which is the one in the file
 *  @param rows         1 .. RLMR_BLOCK_ROWS
 *  @param value_bytes  1, 4 or 8
 *  @return the packed bytes, a zlib stream; valid until the next call or close */
rlmr_slice rlmr_pack(rlmr_packer *packer, const void *values, size_t rows, size_t value_bytes);

#endif
