/* layer: core */
/** Interned text: every distinct byte string is stored once and named by a dense id.
 *
 *  Ids are private to one process; they are translated to the codes of a job-wide dictionary before a table
 *  leaves it.
 */
#ifndef RLMR_SYMTAB_H
#define RLMR_SYMTAB_H

#include "rlmr/bytes.h"

typedef struct rlmr_symtab rlmr_symtab;

/** A new table that holds only the empty text, id 0. @param out owned by the caller, rlmr_symtab_close()
 *  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_symtab_open(rlmr_symtab **out, rlmr_error *err);
void rlmr_symtab_close(rlmr_symtab *tab);

/** Give `text` a dense id; equal byte strings get equal ids.
 *
 *  @param text  borrowed for the call and copied; empty yields id 0
 *  @param id    out: 0 .. rlmr_symtab_count() - 1, stable until rlmr_symtab_close()
 *  @return OK; E_NOMEM or E_RANGE (2^31 - 1 texts), both leaving `tab` unchanged */
RLMR_MUST_CHECK rlmr_status rlmr_symtab_intern(rlmr_symtab *tab, rlmr_slice text, uint32_t *id,
                                               rlmr_error *err);

/** As rlmr_symtab_intern() on the clean text (utf8.h): with each byte that is not part of valid UTF-8, and each NUL, replaced
 *  by U+FFFD (one for each maximal part of a character, as Unicode 3.9 recommends), since that is all a text
 *  column may hold.
 *
 *  @param replaced  out, may be NULL: true if anything was replaced, untouched otherwise */
RLMR_MUST_CHECK rlmr_status rlmr_symtab_intern_utf8(rlmr_symtab *tab, rlmr_slice text, uint32_t *id,
                                                    bool *replaced, rlmr_error *err);

/** Look `text` up without adding it. @return true and `*id` if it is there */
bool rlmr_symtab_find(const rlmr_symtab *tab, rlmr_slice text, uint32_t *id);

/** The text of an id; valid until rlmr_symtab_close(). */
rlmr_slice rlmr_symtab_text(const rlmr_symtab *tab, uint32_t id);

/** Number of distinct texts, the empty one included. */
uint32_t rlmr_symtab_count(const rlmr_symtab *tab);

#endif
