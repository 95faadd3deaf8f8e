/* Rows given to a sink of chunks. */
#ifndef RLMR_TEST_PACK_ROWS_H
#define RLMR_TEST_PACK_ROWS_H

#include "rlmr/stream.h"

/* Rows `first` and following of a table, one chunk of them or less. */
rlmr_status pack_rows(const rlmr_sink *sink, const rlmr_rows *rows, size_t first, rlmr_error *err);

#endif
