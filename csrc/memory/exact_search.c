/* exact_search.c -- the depth-first search of the exact planner. */
#include "exact.h"

#include <string.h>
#include <time.h>

double ml_cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool out_of_budget(ml_exact *x) {
    if (++x->nodes > x->node_limit) return true;
    return x->stop_at > 0 && x->nodes % 4096 == 0 && ml_cpu_seconds() > x->stop_at;
}

/* Recomputes the lowest floor of a section's unplaced items. */
static void refresh_section(ml_exact *x, int32_t s) {
    int64_t least = INT64_MAX;
    for (int32_t k = x->member_start[s]; k < x->member_start[s + 1]; k++) {
        const ml_exact_item *item = &x->items[x->members[k]];
        if (item->offset < 0 && item->floor < least) least = item->floor;
    }
    x->section_floor[s] = least;
}

/* Takes the item out of its sections' sums and cuts; true if a cut became free. */
static bool leave_sections(ml_exact *x, const ml_exact_item *item) {
    bool split = false;
    for (int32_t s = item->start; s <= item->stop; s++) x->unplaced[s] -= item->size;
    for (int32_t s = item->start; s < item->stop; s++) split |= --x->crossing[s] == 0;
    return split;
}

static void rejoin_sections(ml_exact *x, const ml_exact_item *item) {
    for (int32_t s = item->start; s <= item->stop; s++) x->unplaced[s] += item->size;
    for (int32_t s = item->start; s < item->stop; s++) x->crossing[s]++;
}

/* Raises floors over the placed item. False when something no longer fits below the capacity; *hatless when nothing
 * unplaced overlaps it. [*low, *high] are the sections whose floors may have changed. */
static bool raise_floors(ml_exact *x, const ml_exact_item *placed, const int32_t *list, int32_t count, bool *hatless,
                         int32_t *low, int32_t *high) {
    int64_t top = placed->offset + placed->size;
    bool fits = true;
    *hatless = true;
    *low = placed->start;
    *high = placed->stop;
    for (int32_t i = 0; i < count; i++) {
        ml_exact_item *item = &x->items[list[i]];
        if (item->offset >= 0 || item->start > placed->stop || item->stop < placed->start) continue;
        *hatless = false;
        if (item->floor >= top) continue;
        x->undo[x->undo_used++] = list[i];
        x->undo[x->undo_used++] = item->floor;
        item->floor = top;
        if (item->start < *low) *low = item->start;
        if (item->stop > *high) *high = item->stop;
        if (top + item->size > x->capacity) fits = false;
    }
    return fits;
}

static void lower_floors(ml_exact *x, int64_t mark) {
    while (x->undo_used > mark) {
        x->undo_used -= 2;
        x->items[x->undo[x->undo_used]].floor = x->undo[x->undo_used + 1];
    }
}

/* Section inference over [from, to] for floors that changed in [low, high] and the offset reached. */
static bool sections_fit(ml_exact *x, int32_t from, int32_t to, int32_t low, int32_t high, int64_t reached) {
    for (int32_t s = low; s <= high; s++) refresh_section(x, s);
    for (int32_t s = from; s <= to; s++) {
        if (x->unplaced[s] == 0) continue;
        int64_t floor = x->section_floor[s] > reached ? x->section_floor[s] : reached;
        if (floor + x->unplaced[s] > x->capacity) return false;
    }
    return true;
}

static ml_verdict search(ml_exact *x, const int32_t *list, int32_t count, int64_t reached, int32_t rank);

/* Solves the rest, part by part where free cuts divide it. `list` is in section order of item starts. */
static ml_verdict search_parts(ml_exact *x, const int32_t *list, int32_t count, int64_t reached, int32_t rank, bool split) {
    int64_t mark = x->lists_used;
    int32_t *rest = x->lists + mark, n = 0;
    for (int32_t i = 0; i < count; i++)
        if (x->items[list[i]].offset < 0) rest[n++] = list[i];
    x->lists_used += n;
    ml_verdict verdict = ML_FITS;
    for (int32_t from = 0, to = 0; from < n && verdict == ML_FITS; from = to) {
        int32_t reach = x->items[rest[from]].stop;
        to = from + 1;
        while (to < n && (!split || x->items[rest[to]].start <= reach)) {
            if (x->items[rest[to]].stop > reach) reach = x->items[rest[to]].stop;
            to++;
        }
        verdict = search(x, rest + from, to - from, reached, rank);
    }
    x->lists_used = mark;
    return verdict;
}

/* The items that may come next, lowest floor first, ties by rank. */
static int32_t gather(ml_exact *x, const int32_t *list, int32_t count, int64_t reached, int32_t rank, int32_t *choices) {
    int64_t roof = INT64_MAX; /* an item that ends below another's floor would have to come first */
    for (int32_t i = 0; i < count; i++) {
        const ml_exact_item *item = &x->items[list[i]];
        if (item->floor + item->size < roof) roof = item->floor + item->size;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        const ml_exact_item *item = &x->items[list[i]];
        if (item->floor >= roof || item->floor < reached || (item->floor == reached && item->rank < rank)) continue;
        int32_t at = n++;
        for (; at > 0; at--) {
            const ml_exact_item *other = &x->items[choices[at - 1]];
            if (other->floor < item->floor || (other->floor == item->floor && other->rank < item->rank)) break;
            choices[at] = choices[at - 1];
        }
        choices[at] = list[i];
    }
    return n;
}

static ml_verdict search(ml_exact *x, const int32_t *list, int32_t count, int64_t reached, int32_t rank) {
    if (count == 0) return ML_FITS;
    int64_t lists_mark = x->lists_used, undo_mark = x->undo_used;
    int32_t *choices = x->lists + lists_mark, from = INT32_MAX, to = 0;
    int32_t n = gather(x, list, count, reached, rank, choices);
    x->lists_used += n;
    for (int32_t i = 0; i < count; i++) {
        if (x->items[list[i]].start < from) from = x->items[list[i]].start;
        if (x->items[list[i]].stop > to) to = x->items[list[i]].stop;
    }
    ml_verdict verdict = ML_DOES_NOT_FIT;
    for (int32_t i = 0; i < n && verdict == ML_DOES_NOT_FIT; i++) {
        if (out_of_budget(x)) {
            verdict = ML_OUT_OF_BUDGET;
            break;
        }
        ml_exact_item *item = &x->items[choices[i]];
        int32_t low, high;
        bool hatless;
        item->offset = item->floor;
        bool split = leave_sections(x, item);
        bool fits = raise_floors(x, item, list, count, &hatless, &low, &high);
        fits = sections_fit(x, from, to, low, high, item->offset) && fits;
        if (fits) verdict = search_parts(x, list, count, item->offset, item->rank, split);
        if (verdict == ML_FITS) break;
        item->offset = -1;
        rejoin_sections(x, item);
        lower_floors(x, undo_mark);
        for (int32_t s = low; s <= high; s++) refresh_section(x, s);
        if (hatless) break;
    }
    x->lists_used = lists_mark;
    return verdict;
}

ml_verdict ml_exact_search(ml_exact *x) {
    x->lists_used = x->undo_used = 0;
    memset(x->unplaced, 0, (size_t)x->n_sections * sizeof *x->unplaced);
    memset(x->crossing, 0, (size_t)x->n_sections * sizeof *x->crossing);
    int32_t *list = x->lists;
    for (int32_t i = 0; i < x->count; i++) {
        x->items[i].offset = -1;
        x->items[i].floor = 0;
        if (x->items[i].size > x->capacity) return ML_DOES_NOT_FIT;
        rejoin_sections(x, &x->items[i]);
        int32_t at = i;
        for (; at > 0 && x->items[list[at - 1]].start > x->items[i].start; at--) list[at] = list[at - 1];
        list[at] = i;
    }
    x->lists_used = x->count;
    if (x->n_sections > 0 && !sections_fit(x, 0, x->n_sections - 1, 0, x->n_sections - 1, 0)) return ML_DOES_NOT_FIT;
    return search_parts(x, list, x->count, 0, -1, true);
}
