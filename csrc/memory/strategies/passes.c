/* passes.c -- a pass over a problem: records are placed one by one, in some order. */
#include "memory/strategies/passes.h"

#include <stdlib.h>
#include <string.h>

bool ml_passes_begin(ml_passes *s, const ml_problem *p) {
    size_t n = (size_t)p->count + 1;
    char *block = malloc(n * (4 * sizeof(int64_t) + 2 * sizeof(ml_placed) + 2 * sizeof(int32_t)));
    if (!block) return false;
    *s = (ml_passes){.problem = p, .size = (int64_t *)(void *)block};
    s->key = s->size + n;
    s->offset = s->key + n;
    s->best = s->offset + n;
    s->room = (ml_placed *)(void *)(s->best + n);
    s->fixed = s->room + n;
    s->order = (int32_t *)(void *)(s->fixed + n);
    s->trial = s->order + n;
    ml_layout layout;
    ml_layout_start(&layout, s->fixed, p);
    s->n_fixed = layout.count;
    s->fixed_height = layout.height;
    for (int32_t i = 0; i < p->count; i++) {
        bool waits = p->records[i].offset == ML_UNPLACED;
        s->size[i] = ml_round_up(p->records[i].size, p->alignment);
        s->best[i] = waits ? 0 : p->records[i].offset;
        s->waiting += waits && p->records[i].size > 0;
    }
    if (p->hints && p->hints->conflicts && s->n_fixed == 0) s->conflicts = p->hints->conflicts;
    return true;
}

static int64_t place_by_lists(ml_passes *s, const int32_t *order, ml_fit fit, int64_t limit) {
    int64_t height = 0;
    memset(s->offset, 0xff, (size_t)s->problem->count * sizeof *s->offset);
    for (int32_t i = 0; i < s->waiting; i++) {
        int32_t k = order[i];
        int64_t at = ml_conflicts_place(s->conflicts, k, s->size, s->offset, s->room, fit);
        s->looks += 2 * (s->conflicts->start[k + 1] - s->conflicts->start[k]);
        s->offset[k] = at;
        if (at + s->size[k] > height) height = at + s->size[k];
        if (height >= limit) return limit;
    }
    return height;
}

int64_t ml_passes_place(ml_passes *s, const int32_t *order, ml_fit fit, int64_t limit) {
    if (s->conflicts) return place_by_lists(s, order, fit, limit);
    ml_layout layout = {s->room, s->n_fixed, s->problem->alignment, s->fixed_height};
    memcpy(s->room, s->fixed, (size_t)s->n_fixed * sizeof *s->fixed);
    for (int32_t i = 0; i < s->waiting; i++) {
        int32_t k = order[i];
        const ml_record *r = &s->problem->records[k];
        s->looks += layout.count;
        s->offset[k] = ml_layout_place(&layout, s->size[k], r->first, r->last, fit);
        if (layout.height >= limit) return limit;
    }
    return layout.height;
}

void ml_passes_keep(ml_passes *s, const int32_t *order) {
    for (int32_t i = 0; i < s->waiting; i++) s->best[order[i]] = s->offset[order[i]];
}

void ml_passes_end(ml_passes *s, ml_problem *p, int64_t height, int64_t searched) {
    for (int32_t i = 0; i < p->count; i++)
        if (p->records[i].offset == ML_UNPLACED) p->records[i].offset = s->best[i];
    p->arena_bytes = ml_round_up(height, p->alignment);
    p->searched = searched;
    free(s->size);
}
