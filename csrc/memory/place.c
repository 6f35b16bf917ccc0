/* place.c -- places one record among those already placed. */
#include "memory/place.h"

#include <string.h>

static void insert(ml_layout *layout, int64_t offset, int64_t size, int32_t first, int32_t last) {
    int32_t at = layout->count;
    while (at > 0 && layout->placed[at - 1].offset > offset) at--;
    memmove(layout->placed + at + 1, layout->placed + at,
            (size_t)(layout->count - at) * sizeof *layout->placed);
    layout->placed[at] = (ml_placed){offset, offset + size, first, last};
    layout->count++;
    if (offset + size > layout->height) layout->height = offset + size;
}

void ml_layout_start(ml_layout *layout, ml_placed *room, const ml_problem *problem) {
    *layout = (ml_layout){room, 0, problem->alignment, 0};
    for (int32_t i = 0; i < problem->count; i++) {
        const ml_record *r = &problem->records[i];
        if (r->offset == ML_UNPLACED || r->size == 0) continue;
        int64_t from =
            r->offset - r->offset % problem->alignment; /* a fixed offset need not be aligned */
        insert(layout, from, ml_round_up(r->offset + r->size, problem->alignment) - from, r->first,
               r->last);
    }
}

int64_t ml_layout_place(ml_layout *layout, int64_t size, int32_t first, int32_t last, ml_fit fit) {
    int64_t end = 0, best = -1, slack = INT64_MAX;
    const ml_placed *stop = layout->placed + layout->count;
    for (const ml_placed *p = layout->placed; p < stop; p++) {
        if (p->last < first || p->first > last) continue;
        int64_t gap = p->offset - end;
        if (gap >= size && gap - size < slack && fit != ML_ON_TOP) {
            best = end;
            slack = gap - size;
            if (fit == ML_FIRST_FIT || slack == 0) break;
        }
        if (p->end > end) end = p->end;
    }
    int64_t offset = best >= 0 ? best : ml_round_up(end, layout->alignment);
    insert(layout, offset, size, first, last);
    return offset;
}

ml_strategy_status ml_check_sizes(const ml_problem *problem) {
    int64_t total = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        int64_t size = problem->records[i].size,
                fixed = problem->records[i].offset > 0 ? problem->records[i].offset : 0;
        if (size < 0 || size > INT64_MAX / 4 || fixed > INT64_MAX / 4) return ML_STRATEGY_OVERFLOW;
        total += ml_round_up(size, problem->alignment); /* at most INT64_MAX * 3 / 4 + 2^31 */
        if (total > INT64_MAX / 2 - fixed) return ML_STRATEGY_OVERFLOW;
    }
    return ML_STRATEGY_OK;
}

/* The order is total (ties are broken by number), so any sort gives the same result; shell sort
 * needs no memory. */
static bool comes_first(const ml_problem *p, const int64_t *key, int32_t a, int32_t b) {
    if (key[a] != key[b]) return key[a] > key[b];
    if (p->records[a].first != p->records[b].first)
        return p->records[a].first < p->records[b].first;
    return a < b;
}

int32_t ml_order_by(const ml_problem *problem, const int64_t *key, int32_t *order) {
    int32_t count = 0;
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset == ML_UNPLACED && problem->records[i].size > 0)
            order[count++] = i;
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            int32_t moving = order[i], at = i;
            for (; at >= gap && comes_first(problem, key, moving, order[at - gap]); at -= gap)
                order[at] = order[at - gap];
            order[at] = moving;
        }
    return count;
}
