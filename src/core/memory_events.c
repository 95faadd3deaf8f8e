#include "rlmr/memory_events.h"

#define RLMR_ROW rlmr_memory_events_row

enum { RLMR_MEMORY_EVENTS(RLMR_COLUMN_NUMBER) COLUMNS };

static const rlmr_column columns[] = {RLMR_MEMORY_EVENTS(RLMR_COLUMN)};

static const size_t key[] = {COLUMN_start_time_ns, COLUMN_role, COLUMN_rank_id, COLUMN_capture,
                             COLUMN_file_row};

const rlmr_schema rlmr_memory_events_schema = {
    .name = "memory_events",
    .description = "every memory record of every rank with the call stack that holds it",
    .columns = columns,
    .columns_count = COLUMNS,
    .index = COLUMN_start_time_ns,
    .key = key,
    .key_count = sizeof key / sizeof key[0],
};
