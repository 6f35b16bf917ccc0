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

/* The best order so far; it is tried with both fits. */
typedef struct attempt {
    int64_t height;
    int64_t searched;
    ml_fit fit;
} attempt;

static void try_order(bench *b, const ml_problem *p, attempt *a, int64_t bound) {
    for (int f = ML_BEST_FIT; f <= ML_FIRST_FIT && a->height > bound; f++, a->searched++) {
        int64_t tried = decode(b, p, b->trial, (ml_fit)f, a->height);
        if (tried >= a->height && a->searched > 0) continue;
        a->height = tried;
        a->fit = (ml_fit)f;
        keep(b, b->trial);
        memcpy(b->order, b->trial, (size_t)b->waiting * sizeof *b->order);
    }
}

/* The order that a similar problem was planned well with, if it names every record that waits. */
static bool take_hint(bench *b, const ml_problem *p) {
    int32_t waiting = 0;
    for (int32_t i = 0; i < p->hinted; i++) {
        const ml_record *r = &p->records[p->order[i]];
        if (r->offset == ML_UNPLACED && r->size > 0) b->trial[waiting++] = p->order[i];
    }
    return p->hinted > 0 && waiting == b->waiting;
}

/* A pass takes about count^2 / 1500 us: moves for about 200 us in all; for 0.2 us a record where an order was handed in, since
 * then this is one of many sizes, and improved if it comes back. */
static int64_t moves_for(const bench *b, bool hinted) {
    int64_t n = b->waiting;
    int64_t moves = n > 1 ? (hinted ? 300 / n : 300000 / (n * n)) : 0;
    return moves > ORDER_MOVES ? ORDER_MOVES : moves;
}

/* The order of this plan, records that take no place last. */
static void hand_back(const bench *b, ml_problem *p) {
    int32_t n = 0;
    memset(b->key, 0, (size_t)p->count * sizeof *b->key);
    for (int32_t i = 0; i < b->waiting; i++) {
        p->order[n++] = b->order[i];
        b->key[b->order[i]] = 1;
    }
    for (int32_t i = 0; i < p->count; i++)
        if (!b->key[i]) p->order[n++] = i;
}

ml_plan_status ml_plan_default(ml_problem *p) {
    ml_plan_status status = ml_check_sizes(p);
    if (status != ML_PLAN_OK) return status;
    bench b;
    if (!set_up(&b, p)) return ML_PLAN_NO_MEMORY;
    int64_t bound = ml_memory_lower_bound(p);
    if (b.fixed_height > bound) bound = b.fixed_height;
    attempt a = {INT64_MAX, 0, ML_BEST_FIT};
    b.waiting = ml_order_by(p, b.size, b.order);
    bool hinted = p->order && take_hint(&b, p);
    if (hinted) try_order(&b, p, &a, bound);
    for (int area = 0; area < 2 && a.height > bound; area++) {
        for (int32_t i = 0; i < p->count; i++) {
            int64_t life = (int64_t)p->records[i].last - p->records[i].first + 1;
            if (!area || __builtin_mul_overflow(b.size[i], life, &b.key[i]))
                b.key[i] = area ? INT64_MAX : b.size[i];
        }
        b.waiting = ml_order_by(p, b.key, b.trial);
        try_order(&b, p, &a, bound);
    }
    uint32_t seed = 1;
    int64_t moves = moves_for(&b, hinted);
    for (int64_t m = 0; m < moves && a.height > bound; m++, a.searched++) {
        propose(&b, &seed, m % 2 == 0);
        int64_t tried = decode(&b, p, b.trial, a.fit,
                               a.height + 1); /* a move that costs nothing is taken too */
        if (tried > a.height) continue;
        a.height = tried;
        keep(&b, b.trial);
        memcpy(b.order, b.trial, (size_t)b.waiting * sizeof *b.order);
    }
    p->lower_bound = bound;
    p->proved_optimal = a.height == bound;
    if (p->order) hand_back(&b, p);
    finish(&b, p, a.height == INT64_MAX ? b.fixed_height : a.height, a.searched);
    return ML_PLAN_OK;
}
