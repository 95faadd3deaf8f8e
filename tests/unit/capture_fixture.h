/** A capture in a directory of its own, and what is mapped from it. */
#ifndef RLMR_CAPTURE_FIXTURE_H
#define RLMR_CAPTURE_FIXTURE_H

#include "rlmr/mapper.h"

typedef struct {
    char *directory;
    rlmr_map_options options;
    rlmr_capture capture; /* number 4, rank 17, role actor */
    rlmr_partial partial;
    rlmr_meter meter;
    size_t metered; /* bytes */
    size_t metered_max;
    rlmr_status status;
    rlmr_error err;
} capture_fixture;

/** @param analysis chosen; more may be, in options */
void capture_fixture_open(capture_fixture *made, rlmr_analysis analysis);
void capture_fixture_close(capture_fixture *made);

/** Write a file of the capture. */
void capture_fixture_put(capture_fixture *made, rlmr_file_kind kind, const char *name, rlmr_slice content);

/** Map it: sets status and err. */
void capture_fixture_map(capture_fixture *made);

/** Compare the rows of a table with a line for each: the columns asked for, names and values separated by one blank. */
void capture_fixture_check_rows(const capture_fixture *made, int table, const char *columns,
                                const char *expected);

#endif
