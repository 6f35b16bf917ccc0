/* wheel.c -- tries orders of very many records, each placed by first fit.
 *
 * Records of broad nodes go first, the larger ones before the smaller: in STEPS steps of breadth,
 * because within a step the size matters more. Then by size alone. After each pass, the records
 * that lie above the bound go to the front. */
#include "memory/strategies/wheel.h"

#include <stdlib.h>
#include <string.h>

#include "memory/strategies/exact.h"

enum {
    STEPS = 64,
    TURNS = 4, /* of each order */
    POOR = 256, /* a plan that is more than a POORth above the bound */
    WORK_FOR_POOR = 2 /* times the budget */
};

static bool is_done(const ml_wheel *w, const ml_passes *s, int64_t passes) {
    bool poor = w->height > w->bound + w->bound / POOR;
    if (s->short_of_memory || w->height <= w->bound) return true;
    if (passes == 0) return false;
    if (w->end > 0) return ml_cpu_seconds() >= w->end;
    return s->looks >= w->work * (poor ? WORK_FOR_POOR : 1);
}

static void place_in_order(ml_wheel *w, ml_passes *s) {
    int64_t height = ml_passes_place(s, s->trial, ML_FIRST_FIT, INT64_MAX);
    if (height >= w->height) return;
    w->height = height;
    ml_passes_keep(s, s->trial);
    memcpy(s->order, s->trial, (size_t)s->waiting * sizeof *s->order);
}

/* Moves what the last pass placed above the bound to the front. */
static void turn(const ml_wheel *w, ml_passes *s, int32_t *rest) {
    int32_t above = 0, below = 0;
    for (int32_t i = 0; i < s->waiting; i++) {
        int32_t k = s->trial[i];
        if (s->offset[k] + s->size[k] > w->bound) s->trial[above++] = k;
        else rest[below++] = k;
    }
    memcpy(s->trial + above, rest, (size_t)below * sizeof *rest);
}

/* The order by breadth and size, then that by size. */
static bool make_order(const ml_wheel *w, ml_passes *s, bool by_breadth) {
    memset(s->key, 0, (size_t)s->problem->count * sizeof *s->key);
    if (by_breadth && !ml_passes_busiest(s, s->key)) return false;
    for (int32_t i = 0; i < s->problem->count; i++) s->key[i] /= w->bound / STEPS + 1;
    return ml_passes_order(s, s->key, s->trial);
}

int64_t ml_wheel_turn(ml_wheel *w, ml_passes *s) {
    int64_t passes = 0;
    int32_t *rest = malloc(((size_t)s->waiting + 1) * sizeof *rest);
    for (int by_breadth = 1; by_breadth >= 0 && rest && !is_done(w, s, passes); by_breadth--) {
        if (!make_order(w, s, by_breadth)) break;
        for (int t = 0; t <= TURNS && !is_done(w, s, passes); t++, passes++) {
            if (t > 0) turn(w, s, rest);
            place_in_order(w, s);
        }
    }
    while (w->end > 0 && passes > 0 && !is_done(w, s, passes)) {
        turn(w, s, rest);
        place_in_order(w, s);
        passes++;
    }
    if (passes == 0 && w->height > w->bound) s->short_of_memory = true;
    free(rest);
    return passes;
}
