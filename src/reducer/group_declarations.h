/** The groups that metadata declares, found by the hash that names them. */
#ifndef RLMR_GROUP_DECLARATIONS_H
#define RLMR_GROUP_DECLARATIONS_H

#include "rlmr/cluster.h"

/** The name that HCCL gives a group, as a number: two polynomials of the characters of its id. */
uint64_t rlmr_group_hash(rlmr_slice group_id);

/** What the first rank says that declares an id. Texts are ids of the facts' symtab. */
typedef struct {
    uint32_t role;
    uint32_t group_id;
    uint32_t pg_name;
    uint32_t global_ranks;
    uint64_t hash;
    uint64_t row; /**< in the table of declared groups; rises with the text of the id */
} rlmr_declaration;

/** All zero is empty. */
typedef struct {
    rlmr_bytes items; /**< rlmr_declaration, in order of role, hash, row */
} rlmr_declarations;

/** @param declared rows in key order  @param out rlmr_declarations_release() in any case  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_declarations_collect(const rlmr_table *declared, const rlmr_symtab *texts,
                                                      rlmr_declarations *out, rlmr_error *err);
void rlmr_declarations_release(rlmr_declarations *declarations);

/** The declarations of a role whose hash, as text, is `name`, in order of their ids.
 *  @param count out: how many  @return the first of them, NULL if there is none */
const rlmr_declaration *rlmr_declarations_find(const rlmr_declarations *declarations, uint32_t role,
                                               rlmr_slice name, size_t *count);

#endif
