/** What is wrong with one input file of a capture: the first error is described in the capture's message, all are
 *  counted, and each goes to the log. */
#ifndef RLMR_MAPPER_DAMAGE_H
#define RLMR_MAPPER_DAMAGE_H

#include "rlmr/mapper.h"

typedef struct {
    rlmr_capture *capture;
    rlmr_file_kind kind;
    const rlmr_damage_log *log; /* NULL for none */
    bool events;                /* what is lost of it are events */
    uint64_t errors;
    char last[256]; /* the last error, if it is not the first */
} rlmr_file_damage;

/** The file's name as messages have it, for example "trace_view.json". */
const char *rlmr_file_damage_name(const rlmr_file_damage *damage);

/** An error at a byte of the file, -1 if that is not known; the capture becomes partial. The text says where it is.
 *  @return OK or E_NOMEM */
RLMR_PRINTF(4, 5)
RLMR_MUST_CHECK rlmr_status rlmr_file_damage_met(rlmr_file_damage *damage, int64_t offset, rlmr_error *err,
                                                 const char *format, ...);

/** After the file: note how many errors there were, if it is not one. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_file_damage_end(const rlmr_file_damage *damage, rlmr_error *err);

#endif
