/* layer: mapper */
/** The memory analysis of one capture by several processes, which share its bytes.
 *
 *  Each reads its part of operator_memory.csv and of trace_view.json, and keeps the rows of its records. Between the steps all tell
 *  each other what they have found: the names of the records, by which events are chosen; then the events that each needs to
 *  match its records. It works for files in which nothing is wrong. If anything is, all drop what they have and one process maps
 *  the capture alone, so that damage has one meaning. */
#ifndef RLMR_SHARE_H
#define RLMR_SHARE_H

#include "rlmr/mapper.h"

/** A part of a capture: bytes [from, to) of `of`, which are laid on each file that is shared, in proportion. */
typedef struct {
    int32_t index;         /**< 0 .. count - 1, in order of the bytes; the process with 0 has the capture */
    int32_t count;         /**< of parts, each of another process; 1 for a capture that is not shared */
    int32_t first_process; /**< that has part 0; the others follow it */
    int64_t from;
    int64_t to;
    int64_t of;
} rlmr_piece;

/** Bytes of the capture's files that can be shared; 0 if the capture is for one process: it is small, packed, in a database. */
int64_t rlmr_share_bytes(const rlmr_capture *capture, const rlmr_map_options *options);

/** @param capture,options,partial borrowed until close; rows reach the partial tables in rlmr_share_finish() only
 *  @param meter told of all bytes of the parts, may end the work; borrowed until close
 *  @param out owned by the caller, rlmr_share_close()  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_share_open(const rlmr_capture *capture, const rlmr_piece *piece,
                                            const rlmr_map_options *options, rlmr_partial *partial,
                                            const rlmr_meter *meter, rlmr_share **out, rlmr_error *err);
void rlmr_share_close(rlmr_share *share);

/** In this order: rlmr_share_work(), then tell all others, and hear each of them, once; in a step all tell before any hears. */
typedef enum {
    RLMR_SHARE_RECORDS,
    RLMR_SHARE_EVENTS,
    RLMR_SHARE_QUESTIONS, /**< no work; told are the sequence numbers of forward operators that are looked for */
    RLMR_SHARE_ANSWERS, /**< no work; told are the operators that another asked for */
    RLMR_SHARE_STACKS,
    RLMR_SHARE_STEPS
} rlmr_share_step;

/** @return OK, also if something is wrong with the files; E_NOMEM, E_RANGE, or what the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_share_work(rlmr_share *share, rlmr_share_step step, rlmr_error *err);

/** Append what another part must know of the step. @param to its index  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_share_tell(const rlmr_share *share, rlmr_share_step step, int to,
                                            rlmr_bytes *out, rlmr_error *err);

/** @param from index of another part  @param told borrowed for the call  @return OK, E_NOMEM, E_RANGE, E_PARSE */
RLMR_MUST_CHECK rlmr_status rlmr_share_hear(rlmr_share *share, rlmr_share_step step, int64_t from,
                                            rlmr_slice told, rlmr_error *err);

/** After all steps: whether the capture is mapped; else nothing of it is kept, and it is to be mapped by one process. The same on
 *  all that share it. */
bool rlmr_share_holds(const rlmr_share *share);

/** Read of the capture by this process for it; 0 if the share does not hold. */
int64_t rlmr_share_bytes_read(const rlmr_share *share);

/** Move this part's rows to the partial tables if the share holds. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_share_finish(rlmr_share *share, rlmr_error *err);

/** Put into the capture, the one of part 0, what all parts have counted; for a share that holds. */
void rlmr_share_report(const rlmr_share *share, rlmr_capture *capture);

#endif
