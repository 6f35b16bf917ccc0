/* store_vector.h -- records in one array, sorted by offset. */
#ifndef LADDER_STORE_VECTOR_H
#define LADDER_STORE_VECTOR_H

#include "ladder.h"

typedef struct store {
    record *records;
    int32_t count;
    int32_t room;
} store;
typedef record *place_in_store;

static inline void store_start(store *s) { memset(s, 0, sizeof *s); }
static inline void store_end(store *s) { free(s->records); }
static inline place_in_store store_first(const store *s) { return s->count ? s->records : NULL; }
static inline record *store_at(place_in_store at) { return at; }
static inline place_in_store store_next(const store *s, place_in_store at) {
    return ++at < s->records + s->count ? at : NULL;
}

static inline void store_insert(store *s, const record *r) {
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 16;
        s->records = realloc(s->records, (size_t)s->room * sizeof *s->records);
        if (!s->records) abort();
    }
    int32_t low = 0, high = s->count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (s->records[middle].offset <= r->offset) low = middle + 1;
        else high = middle;
    }
    memmove(s->records + low + 1, s->records + low, (size_t)(s->count - low) * sizeof *s->records);
    s->records[low] = *r;
    s->count++;
}

static inline void store_erase(store *s, place_in_store at) {
    int32_t index = (int32_t)(at - s->records);
    s->count--;
    memmove(at, at + 1, (size_t)(s->count - index) * sizeof *s->records);
}

/* Keeps the records that are not marked and last until `node` or longer. */
static inline void store_sift(store *s, int32_t node) {
    int32_t kept = 0;
    for (int32_t i = 0; i < s->count; i++)
        if (!s->records[i].marked && s->records[i].last >= node) s->records[kept++] = s->records[i];
    s->count = kept;
}

#endif
