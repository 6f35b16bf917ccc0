/* store_tree.h -- records in an ordered multimap: a balanced binary tree by offset, a block of
 * memory a record.
 *
 * A treap: in order by offset, a heap by priorities drawn when a record comes in, so that its depth
 * is logarithmic. */
#ifndef LADDER_STORE_TREE_H
#define LADDER_STORE_TREE_H

#include "ladder.h"

typedef struct branch {
    struct branch *low, *high, *up;
    uint32_t priority;
    record value;
} branch;
typedef struct store {
    branch *root;
    uint32_t lot;
} store;
typedef branch *place_in_store;

static inline void store_start(store *s) { *s = (store){NULL, 2463534242u}; }
static inline record *store_at(place_in_store at) { return &at->value; }

static inline branch *lowest(branch *at) {
    while (at && at->low) at = at->low;
    return at;
}

static inline place_in_store store_first(const store *s) { return lowest(s->root); }

static inline place_in_store store_next(const store *s, place_in_store at) {
    (void)s;
    if (at->high) return lowest(at->high);
    while (at->up && at->up->high == at) at = at->up;
    return at->up;
}

/* Puts `at` in the place of the branch above it. */
static inline void rotate_up(store *s, branch *at) {
    branch *above = at->up, *inner = at == above->low ? at->high : at->low;
    if (at == above->low) {
        above->low = inner;
        at->high = above;
    } else {
        above->high = inner;
        at->low = above;
    }
    if (inner) inner->up = above;
    at->up = above->up;
    above->up = at;
    if (!at->up) s->root = at;
    else if (at->up->low == above) at->up->low = at;
    else at->up->high = at;
}

static inline void store_insert(store *s, const record *r) {
    branch *made = calloc(1, sizeof *made), **where = &s->root, *above = NULL;
    if (!made) abort();
    s->lot ^= s->lot << 13;
    s->lot ^= s->lot >> 17;
    s->lot ^= s->lot << 5;
    made->priority = s->lot;
    made->value = *r;
    while (*where) {
        above = *where;
        where = r->offset < above->value.offset ? &above->low : &above->high;
    }
    *where = made;
    made->up = above;
    while (made->up && made->up->priority < made->priority) rotate_up(s, made);
}

static inline void store_erase(store *s, place_in_store at) {
    while (at->low || at->high) {
        bool low = !at->high || (at->low && at->low->priority > at->high->priority);
        rotate_up(s, low ? at->low : at->high);
    }
    if (!at->up) s->root = NULL;
    else if (at->up->low == at) at->up->low = NULL;
    else at->up->high = NULL;
    free(at);
}

static inline void store_sift(store *s, int32_t node) {
    for (branch *at = store_first(s), *next; at; at = next) {
        next = store_next(s, at);
        if (at->value.marked || at->value.last < node) store_erase(s, at);
    }
}

static inline void store_end(store *s) {
    while (s->root) store_erase(s, lowest(s->root));
}

#endif
