/* strip_packing.c -- best fit by time, like packing a strip: places the longest-lived record that
 * fits between the walls of the lowest stretch of the skyline. O(n^2). Does not support fixed
 * records.
 *
 * The skyline is a list of lines over time, each with the height up to which memory is filled. The
 * lowest line (leftmost of equal ones) takes, of the records whose whole lifetime lies within it,
 * the longest-lived, then the largest. If there is none, nothing will ever lie directly on the
 * line: it is raised to the height of its lower neighbour and merged with it. */
#include <stdlib.h>
#include <string.h>

#include "memory/place.h"
#include "memory/strategies.h"

typedef struct line {
    int64_t height;
    int32_t first; /* nodes, both inclusive */
    int32_t last;
} line;

typedef struct skyline {
    line *lines;
    int32_t count;
} skyline;

static int32_t lowest(const skyline *s) {
    int32_t low = 0;
    for (int32_t i = 1; i < s->count; i++)
        if (s->lines[i].height < s->lines[low].height) low = i;
    return low;
}

static void remove_line(skyline *s, int32_t at) {
    memmove(s->lines + at, s->lines + at + 1, (size_t)(s->count - at - 1) * sizeof *s->lines);
    s->count--;
}

static void insert_line(skyline *s, int32_t at, line added) {
    memmove(s->lines + at + 1, s->lines + at, (size_t)(s->count - at) * sizeof *s->lines);
    s->lines[at] = added;
    s->count++;
}

/* Merges line `at` with a neighbour of the same height. */
static void merge(skyline *s, int32_t at) {
    if (at + 1 < s->count && s->lines[at + 1].height == s->lines[at].height) {
        s->lines[at].last = s->lines[at + 1].last;
        remove_line(s, at + 1);
    }
    if (at > 0 && s->lines[at - 1].height == s->lines[at].height) {
        s->lines[at - 1].last = s->lines[at].last;
        remove_line(s, at);
    }
}

static void lift(skyline *s, int32_t at) {
    int64_t left = at > 0 ? s->lines[at - 1].height : INT64_MAX;
    int64_t right = at + 1 < s->count ? s->lines[at + 1].height : INT64_MAX;
    s->lines[at].height = left < right ? left : right;
    merge(s, at);
}

/* Puts a record on line `at`; the rest of the line, on either side, keeps its height. */
static void put(skyline *s, int32_t at, const ml_record *r, int64_t size) {
    line under = s->lines[at];
    s->lines[at] = (line){under.height + size, r->first, r->last};
    if (under.last > r->last) insert_line(s, at + 1, (line){under.height, r->last + 1, under.last});
    if (under.first < r->first)
        insert_line(s, at++, (line){under.height, under.first, r->first - 1});
    merge(s, at);
}

/* The position in `order` (longest-lived first) of the first record that fits, `waiting` if none
 * does. */
static int32_t first_inside(const ml_problem *p, const int32_t *order, int32_t waiting,
                            const line *l) {
    int32_t i = 0;
    while (i < waiting &&
           (p->records[order[i]].first < l->first || p->records[order[i]].last > l->last))
        i++;
    return i;
}

/* Sorts records longest-lived first, then largest, then by number. */
static int32_t order_by_life(const ml_problem *p, int64_t *key, int32_t *order, int32_t *by_size) {
    for (int32_t i = 0; i < p->count; i++) key[i] = p->records[i].size;
    int32_t waiting = ml_order_by(p, key, by_size);
    for (int32_t i = 0; i < waiting; i++) { /* a stable sort by lifetime, on top of the order by
                                              * size */
        const ml_record *r = &p->records[by_size[i]];
        int64_t life = (int64_t)r->last - r->first;
        int32_t at = i;
        for (; at > 0 && key[at - 1] < life; at--) {
            key[at] = key[at - 1];
            order[at] = order[at - 1];
        }
        key[at] = life;
        order[at] = by_size[i];
    }
    return waiting;
}

static int64_t pack(ml_problem *p, skyline *s, int32_t *order, int32_t waiting) {
    int64_t height = 0;
    while (waiting > 0) {
        int32_t at = lowest(s), i = first_inside(p, order, waiting, &s->lines[at]);
        if (i == waiting) {
            lift(s, at);
            continue;
        }
        ml_record *r = &p->records[order[i]];
        int64_t size = ml_round_up(r->size, p->alignment);
        r->offset = s->lines[at].height;
        if (r->offset + size > height) height = r->offset + size;
        put(s, at, r, size);
        memmove(order + i, order + i + 1, (size_t)(--waiting - i) * sizeof *order);
    }
    return height;
}

ml_strategy_status ml_strategy_strip_packing(ml_problem *problem) {
    ml_strategy_status status = ml_check_sizes(problem);
    if (status != ML_STRATEGY_OK) return status;
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset != ML_UNPLACED) return ML_STRATEGY_UNSUPPORTED;
    size_t n = (size_t)problem->count + 1;
    char *block = malloc(n * (sizeof(int64_t) + 2 * sizeof(line) + 2 * sizeof(int32_t)));
    if (!block) return ML_STRATEGY_NO_MEMORY;
    int64_t *key = (int64_t *)block;
    skyline s = {(line *)(key + n), 1};
    int32_t *order = (int32_t *)(s.lines + 2 * n);
    s.lines[0] = (line){0, 0, ML_FOREVER};
    int32_t waiting = order_by_life(problem, key, order, order + n);
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].size == 0) problem->records[i].offset = 0;
    problem->arena_bytes = pack(problem, &s, order, waiting);
    problem->searched = 1;
    free(block);
    return ML_STRATEGY_OK;
}
