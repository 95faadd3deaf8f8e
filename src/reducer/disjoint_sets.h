/** Disjoint sets of the numbers 0 .. n - 1: an array that holds each number's parent, a root being its own. Tarjan and van
 *  Leeuwen, Worst-case analysis of set union algorithms, JACM 31 (1984): path halving, and the lesser root becomes the parent. */
#ifndef RLMR_DISJOINT_SETS_H
#define RLMR_DISJOINT_SETS_H

#include <stdint.h>

/** The root of the set that `item` is in, in O(log n) over many calls. */
static inline uint32_t rlmr_disjoint_find(uint32_t *parents, uint32_t item) {
    while (parents[item] != item) {
        parents[item] = parents[parents[item]];
        item = parents[item];
    }
    return item;
}

static inline void rlmr_disjoint_unite(uint32_t *parents, uint32_t a, uint32_t b) {
    uint32_t root_a = rlmr_disjoint_find(parents, a);
    uint32_t root_b = rlmr_disjoint_find(parents, b);
    parents[root_a > root_b ? root_a : root_b] = root_a > root_b ? root_b : root_a;
}

#endif
