#include "cluster_layout.h"

bool rlmr_layout_complete(rlmr_layout *layout) {
    int32_t *sizes[] = {&layout->tp, &layout->pp, &layout->dp, &layout->cp, &layout->ep};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (*sizes[i] < 0) {
            return false;
        }
        *sizes[i] = *sizes[i] == 0 ? 1 : *sizes[i];
    }
    int64_t ranks = 1;
    for (size_t i = 0; i < 4; i++) {
        ranks *= *sizes[i];
        if (ranks > layout->world) {
            return false; /* before the product exceeds 64 bits */
        }
    }
    return ranks == layout->world && layout->dp % layout->ep == 0;
}

rlmr_coordinates rlmr_layout_place(const rlmr_layout *layout, int32_t rank) {
    if (layout == NULL || rank < 0 || rank >= layout->world) {
        return (rlmr_coordinates){.dp = -1, .pp = -1, .tp = -1};
    }
    int32_t outer = rank / (layout->tp * layout->cp);
    return (rlmr_coordinates){.dp = outer % layout->dp, .pp = outer / layout->dp, .tp = rank % layout->tp};
}
