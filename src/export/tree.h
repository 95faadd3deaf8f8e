/** The form of both communication files: ranks of the group, step, operator, then one leaf a rank or link. */
#ifndef RLMR_EXPORT_TREE_H
#define RLMR_EXPORT_TREE_H

#include "job.h"
#include "rlmr/text_writer.h"

/** A row, and where it belongs. Texts are places in job->sorted, so that their order is that of numbers. */
typedef struct {
    uint32_t place; /**< of the group's ranks */
    uint32_t step;
    uint32_t group;
    uint32_t op;
    int32_t leaf[2]; /**< the rank and 0, or the ends of the link; no leaf if one is negative */
    uint32_t type;
    uint32_t band; /**< of a row of bandwidth its transport */
    double size;   /**< and its package size, -1 for none */
    size_t row;    /**< in its table */
    bool total;
    bool of_bandwidth;
} rlmr_export_item;

typedef struct {
    const rlmr_export_job *job;
    const rlmr_export_part *part;
    const rlmr_export_groups *groups;
    uint32_t total; /**< id of RLMR_TOTAL_OP */
    rlmr_export_item *items;
    size_t count;
    size_t capacity;
} rlmr_export_tree;

/** What the two files have of their own. */
typedef struct {
    void (*key)(const rlmr_export_item *item, rlmr_text *out);
    /** All items of a leaf, of which there is one at least: in order of of_bandwidth, transport, size, type, row. */
    void (*value)(const rlmr_export_tree *tree, const rlmr_export_item *items, size_t count, rlmr_text *out);
} rlmr_export_leaf;

void rlmr_export_tree_init(rlmr_export_tree *tree, const rlmr_export_job *job, const rlmr_export_part *part,
                           const rlmr_export_groups *groups);
void rlmr_export_tree_release(rlmr_export_tree *tree);

/** Add a row of the part: `item` has leaf, row and bandwidth already. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_export_tree_add(rlmr_export_tree *tree, rlmr_export_item item, uint32_t step,
                                                 uint32_t type, uint32_t group_name, uint32_t op_name,
                                                 rlmr_error *err);

/** Sort, and write the whole. @return OK, E_NOMEM, or the first error of `out` */
RLMR_MUST_CHECK rlmr_status rlmr_export_tree_write(rlmr_export_tree *tree, const rlmr_export_leaf *leaf,
                                                   rlmr_text *out, rlmr_error *err);

/** a / b rounded to four decimals, 0 if b is next to nothing. */
double rlmr_export_quotient(double a, double b);

/** The sum, where NaN is absent; NaN if both are. */
double rlmr_export_sum(double a, double b);

/** A key and its number, unless that is NaN, which is absent. */
void rlmr_export_number(rlmr_text *out, const char *key, double value);

#endif
