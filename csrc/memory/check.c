/* check.c -- looks for records of a plan that overlap. Shares no code with strategies.
 *
 * Goes through the records from the bottom up, and keeps the highest end so far over time: a record
 * that begins below it overlaps the one that ends there. Time is a tree over the nodes where
 * records begin, in order. */
#include <stdlib.h>

#include "core/shape.h"

typedef struct placed_at {
    int64_t key; /* an offset, or a node */
    int64_t record;
} placed_at;

typedef struct tops {
    const int64_t *offset;
    const int64_t *bytes;
    placed_at *starts; /* nodes where records begin, without repeats */
    size_t n_starts;
    size_t leaves; /* a power of two */
    /* For each node of the tree, -1 = none: the record that ends highest of those live throughout
     * it, and of those live in any part of it. */
    int64_t *throughout;
    int64_t *any;
} tops;

static int by_key(const void *x, const void *y) {
    const placed_at *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static uint64_t end_of(const tops *t, int64_t record) {
    return record < 0 ? 0 : (uint64_t)t->offset[record] + (uint64_t)t->bytes[record];
}

static int64_t higher(const tops *t, int64_t a, int64_t b) {
    return end_of(t, a) < end_of(t, b) ? b : a;
}

/* The number of starts at or before `node`. */
static size_t starts_until(const tops *t, int64_t node) {
    size_t low = 0, high = t->n_starts;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->starts[middle].key <= node) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The record that ends highest of those that are live at any start from `low` to `high`. */
static int64_t highest_of(const tops *t, size_t low, size_t high) {
    int64_t found = -1;
    size_t first = low + t->leaves, last = high + t->leaves;
    for (size_t a = first, b = last + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) found = higher(t, found, t->any[a++]);
        if (b % 2) found = higher(t, found, t->any[--b]);
    }
    for (; last > 0; first /= 2, last /= 2) {
        found = higher(t, found, t->throughout[first]);
        found = higher(t, found, t->throughout[last]);
    }
    return found;
}

static void add_throughout(tops *t, size_t node, int64_t record) {
    t->throughout[node] = higher(t, t->throughout[node], record);
    t->any[node] = higher(t, t->any[node], record);
}

static void add_record(tops *t, size_t low, size_t high, int64_t record) {
    size_t first = low + t->leaves, last = high + t->leaves;
    for (size_t a = first, b = last + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) add_throughout(t, a++, record);
        if (b % 2) add_throughout(t, --b, record);
    }
    for (; last > 0; first /= 2, last /= 2) {
        t->any[first] = higher(t, t->any[first], record);
        t->any[last] = higher(t, t->any[last], record);
    }
}

static bool make_tree(tops *t, int64_t count, const int64_t *first) {
    for (int64_t i = 0; i < count; i++) t->starts[i] = (placed_at){first[i], i};
    qsort(t->starts, (size_t)count, sizeof *t->starts, by_key);
    for (int64_t i = 0; i < count; i++)
        if (t->n_starts == 0 || t->starts[t->n_starts - 1].key < t->starts[i].key)
            t->starts[t->n_starts++] = t->starts[i];
    t->leaves = 1;
    while (t->leaves < t->n_starts) t->leaves *= 2;
    t->throughout = malloc(4 * t->leaves * sizeof *t->throughout);
    if (!t->throughout) return false;
    t->any = t->throughout + 2 * t->leaves;
    for (size_t k = 0; k < 4 * t->leaves; k++) t->throughout[k] = -1;
    return true;
}

int64_t ml_memory_overlap(int64_t count, const int64_t *offset, const int64_t *bytes,
                          const int64_t *first, const int64_t *last, int64_t *other) {
    placed_at *upwards = malloc(((size_t)count + 1) * sizeof *upwards);
    tops t = {.offset = offset, .bytes = bytes};
    t.starts = malloc(((size_t)count + 1) * sizeof *t.starts);
    int64_t found = upwards && t.starts && make_tree(&t, count, first) ? -1 : -2;
    for (int64_t i = 0; found == -1 && i < count; i++) upwards[i] = (placed_at){offset[i], i};
    if (found == -1) qsort(upwards, (size_t)count, sizeof *upwards, by_key);
    for (int64_t k = 0; found == -1 && k < count; k++) {
        int64_t i = upwards[k].record;
        if (bytes[i] <= 0) continue;
        size_t low = starts_until(&t, first[i]) - 1, high = starts_until(&t, last[i]) - 1;
        int64_t highest = highest_of(&t, low, high);
        if (end_of(&t, highest) > (uint64_t)offset[i]) {
            found = i;
            *other = highest;
        }
        add_record(&t, low, high, i);
    }
    free(t.throughout);
    free(t.starts);
    free(upwards);
    return found;
}
