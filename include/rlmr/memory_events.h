/* layer: core */
/** Schema of `/memory_events`: every memory record of every rank with its call stack. */
#ifndef RLMR_MEMORY_EVENTS_H
#define RLMR_MEMORY_EVENTS_H

#include "rlmr/table.h"

/** start_time_ns of a record without any readable time; pandas reads it as NaT. */
#define RLMR_TIME_ABSENT INT64_MIN

#define RLMR_MEMORY_EVENTS(X)                                                                                \
    X(I64, start_time_ns, "ns", STORED,                                                                      \
      "time of the record since the epoch: allocation, or release of a release-only record; "                \
      "-9223372036854775808 if no time is readable")                                                         \
    X(TEXT, name, "", STORED, "operator")                                                                    \
    X(TEXT, role, "", STORED, "role of the profiled process")                                                \
    X(I32, rank_id, "1", STORED, "rank of the training job")                                                 \
    X(I32, capture, "1", STORED, "row of /captures")                                                         \
    X(TEXT, component, "", STORED, "PTA or GE")                                                              \
    X(TEXT, call_stack, "", STORED, "frames as recorded, innermost first; empty if none")                    \
    X(TEXT, call_stack_top, "", STORED, "first frame of call_stack")                                         \
    X(TEXT, call_stack_match, "", STORED, "how the stack was found: enclosing, backward, nearest, none")     \
    X(F64, size_kb, "KiB", STORED, "positive: allocation, negative: release; NaN if absent")                 \
    X(F64, start_time_ms, "ms", STORED, "start_time_ns / 1e6; NaN if no time is readable")                   \
    X(F64, duration_ms, "ms", STORED,                                                                        \
      "how long it was held; 0 if never released or not recorded, see is_released")                          \
    X(F64, active_duration_ms, "ms", STORED, "until the last stream was done with it; NaN if absent")        \
    X(U8, is_released, "1", STORED, "1 if the record has a release or a duration, else 0")                   \
    X(F64, total_allocated_mb, "MiB", STORED, "allocated in all at that moment; NaN if absent")              \
    X(F64, total_reserved_mb, "MiB", STORED, "reserved in all at that moment; NaN if absent")                \
    X(F64, total_active_mb, "MiB", STORED, "active in all at that moment; NaN if absent")                    \
    X(TEXT, device_type, "", STORED, "device, for example NPU:0")                                            \
    X(TEXT, stream, "", STORED, "stream pointer as written")                                                 \
    X(I64, file_row, "1", HIDDEN, "row number in the capture's file")

RLMR_TABLE_DECLARE(memory_events, RLMR_MEMORY_EVENTS)

#endif
