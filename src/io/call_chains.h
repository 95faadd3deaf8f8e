/** Table PYTORCH_CALLCHAINS (id, stack, stackDepth): the call stacks that events name by a number. */
#ifndef RLMR_CALL_CHAINS_H
#define RLMR_CALL_CHAINS_H

#include "string_ids.h"

#include "rlmr/symtab.h"

/** Each distinct stack is held once; a chain takes 16 bytes. */
typedef struct {
    bool present;       /**< there is such a table */
    rlmr_symtab *texts; /**< the distinct stacks */
    rlmr_bytes chains;  /**< number and stack of each, ascending by number */
} rlmr_call_chains;

/** Read all chains: the frames of a number in order of stackDepth, joined with ";\r\n". Of a stack over a
 *  limit nothing is kept.
 *
 *  @param out rlmr_call_chains_close(), also after an error
 *  @return OK (also behind damage), E_NOMEM, or what a callback returned */
RLMR_MUST_CHECK rlmr_status rlmr_call_chains_open(rlmr_sqlite_file *file, rlmr_string_ids *strings,
                                                  rlmr_call_chains *out);
void rlmr_call_chains_close(rlmr_call_chains *chains);

/** @param stack out: valid until close  @return whether there is a chain with this number */
bool rlmr_call_chains_find(const rlmr_call_chains *chains, int64_t id, rlmr_slice *stack);

#endif
