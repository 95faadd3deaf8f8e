/** Communication of one capture: what its parts share. */
#ifndef RLMR_COMMUNICATION_H
#define RLMR_COMMUNICATION_H

#include "analyses.h"
#include "rlmr/cluster.h"

typedef struct {
    rlmr_job *job;
    rlmr_file_damage *damage; /* of the file that records come from */
    rlmr_symtab *seen;        /* keys of records, and of groups, as bytes */
    rlmr_bytes key;           /* scratch */
    rlmr_bytes uses;          /* of rlmr_group_use_row, by the order of first use */
    rlmr_symtab *groups;      /* id - 1 is the place in `uses` */
    uint32_t types[2];        /* ids of collective and p2p */
    uint32_t total_op;
    uint64_t first_time; /* first rows of this capture in the tables */
    uint64_t first_band;
    uint64_t first_link;
    int64_t record;      /* number of the record in the file */
    bool is_text;        /* the bands of an operator follow its time */
    int64_t operator_at; /* in a text: where the operator at hand begins */
    bool leaves_out;     /* it has come before, so its bands, or links, are left out with it */
} rlmr_communication;

/** Take one record of a file. rlmr_communication_sink functions; `self` is an rlmr_communication.
 *  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_communication_time_row(void *self, const rlmr_communication_time *time,
                                                        rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_communication_band_row(void *self, const rlmr_communication_band *band,
                                                        rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_communication_link_row(void *self, const rlmr_communication_link *link,
                                                        rlmr_error *err);

/** After all records: append the rows of Total Op Info for each group of each step. Sums are compensated, and taken in the order of
 *  the tables' keys, so that they depend neither on the form of the input nor on its order. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_communication_totals(rlmr_communication *self, rlmr_error *err);

/** After all links: `reduce-*` of one step, group and type is named reducescatter if every operator known in it is one.
 *  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_communication_rename(rlmr_communication *self, rlmr_error *err);

/** What a record is about: its step, with the capture's only step for a bare one; its type, operator and group as ids.
 *  @return OK, E_NOMEM, E_RANGE */
typedef struct {
    uint32_t step;
    uint32_t type;
    uint32_t op;
    uint32_t group;
} rlmr_communication_ids;
RLMR_MUST_CHECK rlmr_status rlmr_communication_name(rlmr_communication *self,
                                                    const rlmr_communication_key *key,
                                                    rlmr_communication_ids *ids, rlmr_error *err);

/** Note that the capture uses the group. @param src,dst local numbers of a link, or -1 @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_communication_use(rlmr_communication *self,
                                                   const rlmr_communication_ids *ids, int32_t src,
                                                   int32_t dst, rlmr_error *err);

/** Whether the same names, with these texts behind them, have come before; if so it is noted, and the record is to be left out.
 *  By ids: a bare step may be one that is also named, and names that are no UTF-8 may be the same once they are.
 *  @return OK, E_NOMEM, E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_communication_repeats(rlmr_communication *self,
                                                       const rlmr_communication_key *key,
                                                       const rlmr_communication_ids *ids,
                                                       const rlmr_slice *more, size_t count, bool *repeats,
                                                       rlmr_error *err);

/** A number; NaN if it is absent, or bad, which is counted and noted. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_communication_number(rlmr_communication *self,
                                                      const rlmr_communication_key *key, const char *name,
                                                      rlmr_slice text, double *value, rlmr_error *err);

/** Count a bad cell of a record, and note it. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_communication_bad(rlmr_communication *self,
                                                   const rlmr_communication_key *key, const char *name,
                                                   rlmr_slice text, const char *reason, rlmr_error *err);

#endif
