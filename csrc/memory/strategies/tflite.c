/* tflite.c -- TFLite's greedy by size, placement quirks included, so that offsets equal LiteRT's.
 *
 * Order: tensors allocated at node 0 and never freed first, by number; then by bytes, largest
 * first, ties by first node. Placement: best fit. A tensor fits into a gap if it fits after the
 * aligned start, but gaps are compared by their unaligned width, and the search stops at the first
 * gap that fits exactly. Offsets are aligned, sizes are not rounded. */
#include <stdlib.h>
#include <string.h>

#include "memory/place.h"
#include "memory/strategies.h"

static bool forever(const ml_record *r) { return r->first == 0 && r->last == ML_FOREVER; }

static bool is_placed_before(const ml_record *a, const ml_record *b) {
    if (forever(a) != forever(b)) return forever(a);
    if (forever(a)) return a->tensor < b->tensor;
    if (a->size != b->size) return a->size > b->size;
    if (a->first != b->first) return a->first < b->first;
    return a->tensor < b->tensor;
}

static void sort_records(ml_record **order, int32_t count) {
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            ml_record *moving = order[i];
            int32_t at = i;
            for (; at >= gap && is_placed_before(moving, order[at - gap]); at -= gap)
                order[at] = order[at - gap];
            order[at] = moving;
        }
}

static void insert_placed(ml_record **placed, int32_t *count, ml_record *r) {
    int32_t at = *count;
    while (at > 0 && placed[at - 1]->offset > r->offset) at--;
    memmove(placed + at + 1, placed + at, (size_t)(*count - at) * sizeof *placed);
    placed[at] = r;
    ++*count;
}

static int64_t find_place(ml_record *const *placed, int32_t count, const ml_record *r,
                          int64_t alignment) {
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (int32_t i = 0; i < count; i++) {
        const ml_record *p = placed[i];
        if (p->last < r->first || p->first > r->last) continue;
        int64_t start = ml_round_up(end, alignment);
        if (start + r->size <= p->offset && p->offset - end < best_gap) {
            best = start;
            best_gap = p->offset - end;
            if (best_gap == r->size) break;
        }
        if (p->offset + p->size > end) end = p->offset + p->size;
    }
    return best >= 0 ? best : ml_round_up(end, alignment);
}

ml_strategy_status ml_strategy_tflite(ml_problem *problem) {
    ml_strategy_status status = ml_check_sizes(problem);
    if (status != ML_STRATEGY_OK) return status;
    size_t n = (size_t)problem->count + 1;
    ml_record **order = malloc(2 * n * sizeof *order), **placed = order + n;
    if (!order) return ML_STRATEGY_NO_MEMORY;
    int32_t waiting = 0, count = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        ml_record *r = &problem->records[i];
        if (r->size == 0) r->offset = r->offset == ML_UNPLACED ? 0 : r->offset;
        else if (r->offset == ML_UNPLACED) order[waiting++] = r;
        else insert_placed(placed, &count, r);
    }
    sort_records(order, waiting);
    for (int32_t i = 0; i < waiting; i++) {
        order[i]->offset = find_place(placed, count, order[i], problem->alignment);
        insert_placed(placed, &count, order[i]);
    }
    int64_t high = 0;
    for (int32_t i = 0; i < count; i++)
        if (placed[i]->offset + placed[i]->size > high) high = placed[i]->offset + placed[i]->size;
    free(order);
    problem->arena_bytes = ml_round_up(high, problem->alignment);
    problem->searched = 1;
    return ML_STRATEGY_OK;
}
