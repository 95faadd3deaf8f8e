#include "heap.h"

static void swap(rlmr_heap *heap, int a, int b) {
    int item = heap->items[a];
    heap->items[a] = heap->items[b];
    heap->items[b] = item;
}

static bool before(const rlmr_heap *heap, int a, int b) {
    return heap->before(heap->context, heap->items[a], heap->items[b]);
}

void rlmr_heap_push(rlmr_heap *heap, int item) {
    int at = heap->count++;
    heap->items[at] = item;
    while (at > 0 && before(heap, at, (at - 1) / 2)) {
        swap(heap, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

void rlmr_heap_sink(rlmr_heap *heap) {
    int at = 0;
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++) {
            least = before(heap, child, least) ? child : least;
        }
        if (least == at) {
            return;
        }
        swap(heap, at, least);
        at = least;
    }
}

void rlmr_heap_pop(rlmr_heap *heap) {
    heap->items[0] = heap->items[--heap->count];
    rlmr_heap_sink(heap);
}
