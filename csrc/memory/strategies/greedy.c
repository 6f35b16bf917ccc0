/* greedy.c -- the one-pass greedy strategies by size and by breadth, and the default one that tries several orders. */
#include <stdlib.h>
#include <string.h>

#include "memory/strategies/breadth.h"
#include "memory/place.h"
#include "memory/strategies.h"

enum { ORDER_MOVES = 200 };

/* Working memory of one problem, in one block. */
typedef struct bench {
    int64_t *size; /* rounded */
    int64_t *key;
    int64_t *offset;
    int64_t *best;
    ml_placed *room;
    ml_placed *fixed;
    int32_t *order;
    int32_t *trial;
    int32_t waiting;
    int32_t n_fixed;
    int64_t fixed_height;
} bench;

static bool set_up(bench *b, const ml_problem *p) {
    size_t n = (size_t)p->count + 1;
    char *block = malloc(n * (4 * sizeof(int64_t) + 2 * sizeof(ml_placed) + 2 * sizeof(int32_t)));
    if (!block) return false;
    b->size = (int64_t *)block;
    b->key = b->size + n;
    b->offset = b->key + n;
    b->best = b->offset + n;
    b->room = (ml_placed *)(b->best + n);
    b->fixed = b->room + n;
    b->order = (int32_t *)(b->fixed + n);
    b->trial = b->order + n;
    ml_layout layout;
    ml_layout_start(&layout, b->fixed, p);
    b->n_fixed = layout.count;
    b->fixed_height = layout.height;
    for (int32_t i = 0; i < p->count; i++) {
        b->size[i] = ml_round_up(p->records[i].size, p->alignment);
        b->best[i] = p->records[i].offset == ML_UNPLACED ? 0 : p->records[i].offset;
    }
    return true;
}

/* Places records in `order`; returns the height, or `limit` as soon as it is reached. */
static int64_t decode(bench *b, const ml_problem *p, const int32_t *order, ml_fit fit,
                      int64_t limit) {
    ml_layout layout = {b->room, b->n_fixed, p->alignment, b->fixed_height};
    memcpy(b->room, b->fixed, (size_t)b->n_fixed * sizeof *b->fixed);
    for (int32_t i = 0; i < b->waiting; i++) {
        int32_t k = order[i];
        b->offset[k] =
            ml_layout_place(&layout, b->size[k], p->records[k].first, p->records[k].last, fit);
        if (layout.height >= limit) return limit;
    }
    return layout.height;
}

static void keep(bench *b, const int32_t *order) {
    for (int32_t i = 0; i < b->waiting; i++) b->best[order[i]] = b->offset[order[i]];
}

static void finish(bench *b, ml_problem *p, int64_t height, int64_t searched) {
    for (int32_t i = 0; i < p->count; i++)
        if (p->records[i].offset == ML_UNPLACED) p->records[i].offset = b->best[i];
    p->arena_bytes = ml_round_up(height, p->alignment);
    p->searched = searched;
    free(b->size);
}

ml_plan_status ml_plan_greedy_by_size(ml_problem *p) {
    ml_plan_status status = ml_check_sizes(p);
    if (status != ML_PLAN_OK) return status;
    bench b;
    if (!set_up(&b, p)) return ML_PLAN_NO_MEMORY;
    b.waiting = ml_order_by(p, b.size, b.order);
    int64_t height = decode(&b, p, b.order, ML_BEST_FIT, INT64_MAX);
    keep(&b, b.order);
    finish(&b, p, height, 1);
    return ML_PLAN_OK;
}

/* The bytes live at a record's busiest node: records of broad nodes go first, the larger ones before the smaller. */
static bool key_by_breadth(bench *b, const ml_problem *p) {
    ml_breadth *nodes = malloc(((size_t)p->count + 1) * sizeof *nodes);
    int32_t n_nodes = nodes ? ml_breadths(p, nodes) : -1;
    for (int32_t i = 0; i < p->count && n_nodes >= 0; i++) {
        b->key[i] = 0;
        for (int32_t n = 0; n < n_nodes && nodes[n].node <= p->records[i].last; n++)
            if (nodes[n].node >= p->records[i].first && nodes[n].bytes > b->key[i])
                b->key[i] = nodes[n].bytes;
    }
    free(nodes);
    return n_nodes >= 0;
}

ml_plan_status ml_plan_greedy_by_breadth(ml_problem *p) {
    ml_plan_status status = ml_check_sizes(p);
    if (status != ML_PLAN_OK) return status;
    bench b;
    if (!set_up(&b, p)) return ML_PLAN_NO_MEMORY;
    b.waiting = ml_order_by(p, b.size, b.trial);
    if (!key_by_breadth(&b, p)) {
        free(b.size);
        return ML_PLAN_NO_MEMORY;
    }
    /* Stable by breadth over the order by size. */
    for (int32_t i = 0; i < b.waiting; i++) {
        int32_t moving = b.trial[i], at = i;
        for (; at > 0 && b.key[b.order[at - 1]] < b.key[moving]; at--)
            b.order[at] = b.order[at - 1];
        b.order[at] = moving;
    }
    int64_t height = decode(&b, p, b.order, ML_BEST_FIT, INT64_MAX);
    keep(&b, b.order);
    finish(&b, p, height, 1);
    return ML_PLAN_OK;
}

static int32_t draw(uint32_t *seed, int32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (int32_t)((uint64_t)(*seed >> 8) * (uint64_t)below >> 24);
}

/* A change of the order that may bring the peak down: the record that ends highest, or (every other time) any record, goes
 * before an earlier one. Deterministic: the generator starts from the same seed for every problem. */
static void propose(bench *b, uint32_t *seed, bool peak) {
    int32_t at = 1 + draw(seed, b->waiting - 1);
    int64_t top = -1;
    for (int32_t i = 1; peak && i < b->waiting; i++) {
        int64_t end = b->best[b->order[i]] + b->size[b->order[i]];
        if (end <= top) continue;
        top = end;
        at = i;
    }
    int32_t to = draw(seed, at), moved = b->order[at];
    memcpy(b->trial, b->order, (size_t)b->waiting * sizeof *b->order);
    memmove(b->trial + to + 1, b->trial + to, (size_t)(at - to) * sizeof *b->trial);
    b->trial[to] = moved;
}

ml_plan_status ml_plan_default(ml_problem *p) {
    ml_plan_status status = ml_check_sizes(p);
    if (status != ML_PLAN_OK) return status;
    bench b;
    if (!set_up(&b, p)) return ML_PLAN_NO_MEMORY;
    int64_t bound = ml_memory_lower_bound(p), height = INT64_MAX, searched = 0;
    if (b.fixed_height > bound) bound = b.fixed_height;
    ml_fit fit = ML_BEST_FIT;
    for (int area = 0; area < 2 && height > bound; area++) {
        for (int32_t i = 0; i < p->count; i++) {
            int64_t life = (int64_t)p->records[i].last - p->records[i].first + 1;
            if (!area || __builtin_mul_overflow(b.size[i], life, &b.key[i]))
                b.key[i] = area ? INT64_MAX : b.size[i];
        }
        b.waiting = ml_order_by(p, b.key, b.trial);
        for (int f = ML_BEST_FIT; f <= ML_FIRST_FIT && height > bound; f++, searched++) {
            int64_t tried = decode(&b, p, b.trial, (ml_fit)f, height);
            if (tried >= height && searched > 0) continue;
            height = tried;
            fit = (ml_fit)f;
            keep(&b, b.trial);
            memcpy(b.order, b.trial, (size_t)b.waiting * sizeof *b.order);
        }
    }
    uint32_t seed = 1;
    /* A pass takes about count^2 / 1500 us: moves for about 200 us in all. A move that costs nothing is taken too. */
    int64_t moves = b.waiting > 1 ? 300000 / ((int64_t)b.waiting * b.waiting) : 0;
    if (moves > ORDER_MOVES) moves = ORDER_MOVES;
    for (int64_t m = 0; m < moves && height > bound; m++, searched++) {
        propose(&b, &seed, m % 2 == 0);
        int64_t tried = decode(&b, p, b.trial, fit, height + 1);
        if (tried > height) continue;
        height = tried;
        keep(&b, b.trial);
        memcpy(b.order, b.trial, (size_t)b.waiting * sizeof *b.order);
    }
    p->lower_bound = bound;
    p->proved_optimal = height == bound;
    finish(&b, p, height == INT64_MAX ? b.fixed_height : height, searched);
    return ML_PLAN_OK;
}
