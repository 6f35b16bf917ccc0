/* listing.c -- keeps the records of a whole graph, and the lists of those live at the same time,
 * from one plan to the next.
 *
 * Sizes change, lifetimes stay: the lists are valid as long as the same tensors need memory. They
 * are made at once for the first records, because a kept planner will plan again; for other
 * records, when a second plan has the same ones. */
#include <stdlib.h>

#include "memory/planner.h"

typedef struct ending {
    int32_t last;
    int32_t record;
} ending;

static int by_last(const void *x, const void *y) {
    const ending *a = x, *b = y;
    if (a->last != b->last) return a->last < b->last ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static bool make_lists(ml_planner *p) {
    ml_listing *l = &p->listing;
    ending *ends = malloc(((size_t)l->count + 1) * sizeof *ends);
    if (!ends) return false;
    for (int32_t i = 0; i < l->count; i++) ends[i] = (ending){p->records[i].last, i};
    qsort(ends, (size_t)l->count, sizeof *ends, by_last);
    for (int32_t i = 0; i < l->count; i++) l->by_last[i] = ends[i].record;
    free(ends);
    ml_conflicts_find(&l->conflicts, p->records, l->count);
    return l->listed = true;
}

bool ml_planner_list(ml_planner *p, int32_t count) {
    ml_listing *l = &p->listing;
    bool same = count == l->count && count > 0;
    for (int32_t i = 0; i < count && same; i++) same = l->tensors[i] == p->records[i].tensor;
    if (same) return l->listed || make_lists(p);
    for (int32_t i = 0; i < p->count; i++) l->record_of[i] = -1;
    for (int32_t i = 0; i < count; i++) {
        l->tensors[i] = p->records[i].tensor;
        l->record_of[l->tensors[i]] = i;
    }
    bool first = !l->used;
    l->used = true;
    l->count = count;
    l->listed = false;
    ml_conflicts_free(&l->conflicts);
    return first && count > 0 && p->order->count > 0 && make_lists(p);
}

/* Records are in ascending order of their first node; at each one, records that ended before it are
 * subtracted. */
int64_t ml_planner_listed_bound(const ml_planner *p) {
    const ml_listing *l = &p->listing;
    int64_t live = 0, most = 0;
    for (int32_t i = 0; i < l->count; i++)
        l->sizes[i] = ml_round_up(p->records[i].size, p->alignment);
    for (int32_t i = 0, ended = 0; i < l->count; i++) {
        const ml_record *r = &p->records[i];
        for (; p->records[l->by_last[ended]].last < r->first; ended++)
            live -= l->sizes[l->by_last[ended]];
        live += l->sizes[i];
        if (live > most) most = live;
    }
    return most;
}
