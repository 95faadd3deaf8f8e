/** A binary heap of small numbers that name the runs of a merge. */
#ifndef RLMR_HEAP_H
#define RLMR_HEAP_H

#include <stdbool.h>

/** True if run `a` comes before run `b`. Ties are broken by the run number, so merges are reproducible. */
typedef bool (*rlmr_before)(const void *context, int a, int b);

typedef struct {
    int *items; /**< room for every run, owned by the caller */
    int count;
    rlmr_before before;
    const void *context;
} rlmr_heap;

void rlmr_heap_push(rlmr_heap *heap, int item);

/** After the value of the least item, items[0], has grown. */
void rlmr_heap_sink(rlmr_heap *heap);

/** Remove the least item. */
void rlmr_heap_pop(rlmr_heap *heap);

#endif
