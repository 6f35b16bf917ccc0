/* taken.c -- keeps the addresses taken in blocks of time, in a tree over blocks. */
#include "memory/strategies/taken.h"

#include <stdlib.h>
#include <string.h>

bool ml_taken_begin(ml_taken *b, int32_t count) {
    *b = (ml_taken){.leaves = 1};
    while (b->leaves < count) b->leaves *= 2;
    b->whole = calloc(4 * (size_t)b->leaves, sizeof *b->whole);
    b->any = b->whole ? b->whole + 2 * (size_t)b->leaves : NULL;
    return b->whole != NULL;
}

void ml_taken_free(ml_taken *b) {
    for (size_t k = 0; b->whole && k < 4 * (size_t)b->leaves; k++) free(b->whole[k].at);
    free(b->whole);
    *b = (ml_taken){0};
}

void ml_taken_clear(ml_taken *b) {
    for (size_t k = 0; b->whole && k < 4 * (size_t)b->leaves; k++) b->whole[k].count = 0;
    b->short_of_memory = false;
}

/* The first stretch that ends at `offset` or later. */
static int32_t first_from(const ml_stretches *s, int64_t offset) {
    int32_t low = 0, high = s->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s->at[middle].end < offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool make_room(ml_stretches *s) {
    if (s->count < s->room) return true;
    int32_t room = s->room ? 2 * s->room : 4;
    ml_stretch *grown = realloc(s->at, (size_t)room * sizeof *grown);
    if (!grown) return false;
    s->at = grown;
    s->room = room;
    return true;
}

/* Adds a stretch to a set, joined with those that it overlaps or touches. False without memory. */
static bool join(ml_stretches *s, ml_stretch taken) {
    int32_t at = first_from(s, taken.offset), next = at;
    for (; next < s->count && s->at[next].offset <= taken.end; next++) {
        taken.offset = ml_min_s64(taken.offset, s->at[next].offset);
        taken.end = ml_max_s64(taken.end, s->at[next].end);
    }
    if (next == at && !make_room(s)) return false;
    memmove(s->at + at + 1, s->at + next, (size_t)(s->count - next) * sizeof *s->at);
    s->at[at] = taken;
    s->count += at + 1 - next;
    return true;
}

static void add_to(ml_taken *b, ml_stretches *set, ml_stretch taken) {
    if (!join(set, taken)) b->short_of_memory = true;
}

static void add_whole(ml_taken *b, int32_t node, ml_stretch taken) {
    add_to(b, &b->whole[node], taken);
    add_to(b, &b->any[node], taken);
}

void ml_taken_add(ml_taken *b, ml_extent x, ml_stretch taken) {
    int32_t low = x.first + b->leaves, high = x.last + b->leaves;
    if (x.from > x.to) {
        for (; high > 0; low /= 2, high /= 2)
            for (int32_t node = low; node <= high; node++) add_to(b, &b->any[node], taken);
        return;
    }
    for (; high > 0; low /= 2, high /= 2) {
        add_to(b, &b->any[low], taken);
        if (low < high) add_to(b, &b->any[high], taken);
    }
    low = x.from + b->leaves;
    high = x.to + b->leaves + 1;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2) add_whole(b, low++, taken);
        if (high % 2) add_whole(b, --high, taken);
    }
}

static int32_t list(const ml_stretches *set, const ml_stretches **sets, int32_t count) {
    if (set->count > 0) sets[count++] = set;
    return count;
}

int32_t ml_taken_list(const ml_taken *b, ml_extent x, const ml_stretches **sets) {
    int32_t low = x.first + b->leaves, high = x.last + b->leaves, count = 0;
    if (x.from > x.to) {
        for (; high > 0; low /= 2, high /= 2)
            for (int32_t node = low; node <= high; node++)
                count = list(&b->whole[node], sets, count);
        return count;
    }
    for (; high > 0; low /= 2, high /= 2) {
        count = list(&b->whole[low], sets, count);
        if (low < high) count = list(&b->whole[high], sets, count);
    }
    low = x.from + b->leaves;
    high = x.to + b->leaves + 1;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2) count = list(&b->any[low++], sets, count);
        if (high % 2) count = list(&b->any[--high], sets, count);
    }
    return count;
}
