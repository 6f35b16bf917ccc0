/* passes.c -- a pass over a problem: records are placed one by one, in some order. */
#include "memory/strategies/passes.h"

#include <stdlib.h>
#include <string.h>

static void free_passes(ml_passes *s) {
    ml_grid_free(s->grid);
    ml_moments_free(&s->moments);
    free(s->size);
}

static bool begin_few(ml_passes *s) {
    ml_layout layout;
    ml_layout_start(&layout, s->fixed, s->problem);
    s->n_fixed = layout.count;
    s->fixed_height = layout.height;
    const ml_hints *hints = s->problem->hints;
    if (hints && hints->conflicts && s->n_fixed == 0) s->conflicts = hints->conflicts;
    return true;
}

static bool begin_many(ml_passes *s) {
    const ml_problem *p = s->problem;
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        if (r->offset == ML_UNPLACED || r->size <= 0) continue;
        s->fixed_height =
            ml_max_s64(s->fixed_height, ml_round_up(r->offset + r->size, p->alignment));
        s->n_fixed++;
    }
    bool lists = p->hints && p->hints->conflicts && s->n_fixed == 0 && !p->alignments;
    if (lists) s->conflicts = p->hints->conflicts;
    if (!ml_moments_find(&s->moments, p)) return false;
    s->by_grid = !lists && s->moments.count > 0;
    return true;
}

bool ml_passes_begin(ml_passes *s, const ml_problem *p) {
    size_t n = (size_t)p->count + 1;
    char *block = malloc(n * (4 * sizeof(int64_t) + 2 * sizeof(ml_placed) + 2 * sizeof(int32_t)));
    if (!block) return false;
    *s = (ml_passes){.problem = p, .size = (int64_t *)(void *)block};
    s->key = s->size + n;
    s->offset = s->key + n;
    s->best = s->offset + n;
    s->room = (ml_placed *)(void *)(s->best + n);
    s->spans = (ml_stretch *)(void *)s->room;
    s->fixed = s->room + n;
    s->order = (int32_t *)(void *)(s->fixed + n);
    s->trial = s->order + n;
    for (int32_t i = 0; i < p->count; i++) {
        bool waits = p->records[i].offset == ML_UNPLACED;
        s->size[i] = ml_round_up(p->records[i].size, p->alignment);
        s->best[i] = waits ? 0 : p->records[i].offset;
        s->waiting += waits && p->records[i].size > 0;
    }
    bool made = ml_goes_by_grid(p) ? begin_many(s) : begin_few(s);
    if (!made) free_passes(s);
    return made;
}

bool ml_passes_busiest(ml_passes *s, int64_t *bytes) {
    if (!s->moments.at && !ml_moments_find(&s->moments, s->problem)) return false;
    return ml_moments_busiest(&s->moments, s->problem, bytes);
}

typedef struct ranked {
    int64_t key;
    int64_t size;
    int32_t first;
    int32_t record;
} ranked;

static int by_rank(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

bool ml_passes_order(ml_passes *s, const int64_t *key, int32_t *order) {
    ranked *ranks = malloc(((size_t)s->waiting + 1) * sizeof *ranks);
    if (!ranks) return false;
    int32_t n = 0;
    for (int32_t i = 0; i < s->problem->count; i++) {
        const ml_record *r = &s->problem->records[i];
        if (r->offset != ML_UNPLACED || r->size <= 0) continue;
        ranks[n++] = (ranked){key[i], s->size[i], r->first, i};
    }
    qsort(ranks, (size_t)n, sizeof *ranks, by_rank);
    for (int32_t i = 0; i < n; i++) order[i] = ranks[i].record;
    free(ranks);
    return true;
}

/* The costs of sorting a neighbour by its offset and of a step of the heap, in looks at a
 * neighbour. */
enum { SORTED_LOOK = 8, RISING_LOOKS = 12, FEW = 64 };

static int64_t place_by_lists(ml_passes *s, const int32_t *order, ml_fit fit, int64_t limit) {
    int64_t height = 0, look = fit == ML_ON_TOP ? 1 : SORTED_LOOK;
    memset(s->offset, 0xff, (size_t)s->problem->count * sizeof *s->offset);
    for (int32_t i = 0; i < s->waiting; i++) {
        int32_t k = order[i];
        int64_t at = ml_conflicts_place(s->conflicts, k, s->size, s->offset, s->spans, fit);
        s->looks += look * (s->conflicts->start[k + 1] - s->conflicts->start[k]);
        s->offset[k] = at;
        if (at + s->size[k] > height) height = at + s->size[k];
        if (height >= limit) return limit;
    }
    return height;
}

static int64_t place_by_grid(ml_passes *s, const int32_t *order, ml_fit fit, int64_t limit) {
    const ml_problem *p = s->problem;
    int64_t height = s->fixed_height;
    if (!s->grid) s->grid = ml_grid_new(p, &s->moments);
    s->short_of_memory = !s->grid;
    if (s->short_of_memory) return limit;
    ml_grid_clear(s->grid);
    for (int32_t i = 0; i < s->waiting; i++) {
        int32_t k = order[i], alignment = p->alignments ? p->alignments[k] : p->alignment;
        s->offset[k] = ml_grid_place(s->grid, k, s->size[k], alignment, fit, &s->looks);
        if (s->offset[k] < 0) s->short_of_memory = true;
        height = ml_max_s64(height, s->offset[k] + s->size[k]);
        if (height >= limit || s->short_of_memory) return limit;
    }
    return height;
}

int64_t ml_passes_place(ml_passes *s, const int32_t *order, ml_fit fit, int64_t limit) {
    if (s->conflicts) return place_by_lists(s, order, fit, limit);
    if (s->by_grid) return place_by_grid(s, order, fit, limit);
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

/* Moves the top of a heap, ordered by offset, then by rank, down to where it belongs. */
static void sink(ml_stretch *heap, int32_t count) {
    ml_stretch moving = heap[0];
    int32_t at = 0;
    for (int32_t k = 1; k < count; k = 2 * at + 1) {
        if (k + 1 < count &&
            (heap[k + 1].offset < heap[k].offset ||
             (heap[k + 1].offset == heap[k].offset && heap[k + 1].end < heap[k].end)))
            k++;
        if (moving.offset < heap[k].offset ||
            (moving.offset == heap[k].offset && moving.end < heap[k].end))
            break;
        heap[at] = heap[k];
        at = k;
    }
    heap[at] = moving;
}

/* Brings the record that can lie lowest to the top. The heap has the offset at which each could lie
 * when it was last looked at; placing others may have raised it since. */
static void settle_heap(ml_passes *s, const int32_t *order, ml_stretch *heap, int32_t count) {
    for (int64_t at; (at = s->key[order[heap[0].end]]) > heap[0].offset; s->looks += RISING_LOOKS) {
        heap[0].offset = at;
        sink(heap, count);
    }
}

/* The same for few records, most of which are raised at every step: looks at all of them. */
static void settle_few(ml_passes *s, const int32_t *order, ml_stretch *all, int32_t count) {
    int32_t best = 0;
    for (int32_t i = 0; i < count; i++) {
        all[i].offset = s->key[order[all[i].end]];
        if (all[i].offset < all[best].offset ||
            (all[i].offset == all[best].offset && all[i].end < all[best].end))
            best = i;
    }
    ml_stretch lowest = all[best];
    all[best] = all[0];
    all[0] = lowest;
    s->looks += count;
}

int64_t ml_passes_rise(ml_passes *s, const int32_t *order, int64_t limit) {
    const ml_conflicts *c = s->conflicts;
    ml_stretch *waiting = s->spans;
    int64_t *lowest = s->key, height = 0;
    bool few = s->waiting <= FEW;
    memset(s->offset, 0xff, (size_t)s->problem->count * sizeof *s->offset);
    memset(lowest, 0, (size_t)s->problem->count * sizeof *lowest);
    for (int32_t i = 0; i < s->waiting; i++) waiting[i] = (ml_stretch){0, i};
    for (int32_t count = s->waiting; count > 0;) {
        if (few) settle_few(s, order, waiting, count);
        else settle_heap(s, order, waiting, count);
        int32_t k = order[waiting[0].end];
        int64_t end = lowest[k] + s->size[k];
        s->offset[k] = lowest[k];
        if (end > height) height = end;
        if (height >= limit) return limit;
        s->looks += c->start[k + 1] - c->start[k] + (few ? 0 : RISING_LOOKS);
        for (int32_t i = c->start[k]; i < c->start[k + 1]; i++)
            if (lowest[c->others[i]] < end) lowest[c->others[i]] = end;
        waiting[0] = waiting[--count];
        if (!few && count > 0) sink(waiting, count);
    }
    return height;
}

void ml_passes_keep(ml_passes *s, const int32_t *order) {
    for (int32_t i = 0; i < s->waiting; i++) s->best[order[i]] = s->offset[order[i]];
}

ml_strategy_status ml_passes_end(ml_passes *s, ml_problem *p, int64_t height, int64_t searched) {
    for (int32_t i = 0; i < p->count && !s->short_of_memory; i++)
        if (p->records[i].offset == ML_UNPLACED) p->records[i].offset = s->best[i];
    p->arena_bytes = ml_round_up(height, p->alignment);
    p->searched = searched;
    free_passes(s);
    return s->short_of_memory ? ML_STRATEGY_NO_MEMORY : ML_STRATEGY_OK;
}
