/* store_list.h -- records in a doubly linked list, sorted by offset; each has its own block of
 * memory. */
#ifndef LADDER_STORE_LIST_H
#define LADDER_STORE_LIST_H

#include "ladder.h"

typedef struct link {
    struct link *next, *previous;
    record value;
} link;
typedef struct store {
    link *head;
} store;
typedef link *place_in_store;

static inline void store_start(store *s) { s->head = NULL; }
static inline place_in_store store_first(const store *s) { return s->head; }
static inline record *store_at(place_in_store at) { return &at->value; }
static inline place_in_store store_next(const store *s, place_in_store at) {
    (void)s;
    return at->next;
}

static inline void store_insert(store *s, const record *r) {
    link *made = malloc(sizeof *made), *previous = NULL, *next = s->head;
    if (!made) abort();
    while (next && next->value.offset <= r->offset) {
        previous = next;
        next = next->next;
    }
    *made = (link){next, previous, *r};
    if (previous) previous->next = made;
    else s->head = made;
    if (next) next->previous = made;
}

static inline void store_erase(store *s, place_in_store at) {
    if (at->previous) at->previous->next = at->next;
    else s->head = at->next;
    if (at->next) at->next->previous = at->previous;
    free(at);
}

static inline void store_sift(store *s, int32_t node) {
    for (link *at = s->head, *next; at; at = next) {
        next = at->next;
        if (at->value.marked || at->value.last < node) store_erase(s, at);
    }
}

static inline void store_end(store *s) {
    while (s->head) store_erase(s, s->head);
}

#endif
