/* strategies.c -- the table of planning strategies by name. */
#include <string.h>

#include "problem.h"

#include <stdlib.h>

static int64_t up(int64_t x, int64_t a) { return (x + a - 1) / a * a; }

static int group(const ml_record *r) { return !(r->first == 0 && r->last == ML_FOREVER); }

static int by_size(const void *x, const void *y) {
    const ml_record *a = *(ml_record *const *)x, *b = *(ml_record *const *)y;
    if (group(a) != group(b)) return group(a) - group(b);
    if (!group(a)) return a->tensor < b->tensor ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->tensor < b->tensor ? -1 : 1;
}

static ml_plan_status stopgap(ml_problem *p) {
    size_t n = (size_t)p->count;
    ml_record **order = malloc(2 * (n + 1) * sizeof *order), **placed = order + n + 1;
    if (!order) return ML_PLAN_NO_MEMORY;
    size_t k = 0, m = 0;
    for (size_t i = 0; i < n; i++) {
        ml_record *r = &p->records[i];
        if (r->offset == ML_UNPLACED) { order[k++] = r; continue; }
        size_t j = m++;
        for (; j > 0 && placed[j - 1]->offset > r->offset; j--) placed[j] = placed[j - 1];
        placed[j] = r;
    }
    qsort(order, k, sizeof *order, by_size);
    p->arena_bytes = 0;
    for (size_t i = 0; i < k; i++) {
        ml_record *r = order[i];
        int64_t best = -1, slack = INT64_MAX, end = 0;
        if (r->size == 0) { r->offset = 0; continue; }
        for (size_t j = 0; j < m && slack > 0; j++) {
            if (placed[j]->last < r->first || placed[j]->first > r->last || placed[j]->size == 0) continue;
            int64_t start = up(end, p->alignment);
            if (start + r->size <= placed[j]->offset && placed[j]->offset - end < slack) { best = start; slack = placed[j]->offset - end; }
            if (placed[j]->offset + placed[j]->size > end) end = placed[j]->offset + placed[j]->size;
        }
        r->offset = best >= 0 ? best : up(end, p->alignment);
        size_t j = m++;
        for (; j > 0 && placed[j - 1]->offset > r->offset; j--) placed[j] = placed[j - 1];
        placed[j] = r;
    }
    for (size_t j = 0; j < m; j++) if (placed[j]->offset + placed[j]->size > p->arena_bytes) p->arena_bytes = placed[j]->offset + placed[j]->size;
    free(order);
    return ML_PLAN_OK;
}
static const ml_strategy ml_strategies[] = {
    {"default", stopgap}, {"tflite", stopgap}, {"greedy_by_size", stopgap},
    {NULL, NULL},
};

const char *ml_memory_strategy_name(int32_t index) {
    int32_t count = (int32_t)(sizeof ml_strategies / sizeof ml_strategies[0]) - 1;
    return index >= 0 && index < count ? ml_strategies[index].name : NULL;
}

ml_plan_status ml_memory_plan(const char *strategy, ml_problem *problem) {
    for (const ml_strategy *s = ml_strategies; s->name; s++)
        if (strcmp(s->name, strategy) == 0) return s->plan(problem);
    return ML_PLAN_UNKNOWN_STRATEGY;
}
