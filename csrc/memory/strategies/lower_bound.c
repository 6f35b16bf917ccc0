/* lower_bound.c -- the largest sum of rounded sizes live at once: no plan can be smaller. Shares no
 * code with strategies.
 *
 * Sorts starts and ends, and adds and subtracts sizes in that order: O(n log n). */
#include <stdlib.h>

#include "memory/problem.h"

typedef struct event {
    int64_t change; /* bytes that start (> 0) or end (< 0) */
    int64_t when; /* twice the node; plus one for records that end after it */
} event;

static int by_time(const void *a, const void *b) {
    int64_t x = ((const event *)a)->when, y = ((const event *)b)->when;
    return x < y ? -1 : x > y;
}

int64_t ml_memory_lower_bound(const ml_problem *problem) {
    event *events = malloc((2 * (size_t)problem->count + 1) * sizeof *events);
    if (!events) return -1;
    size_t count = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        const ml_record *r = &problem->records[i];
        int64_t rest = r->size % problem->alignment,
                size = rest ? r->size - rest + problem->alignment : r->size;
        if (size <= 0) continue;
        events[count++] = (event){size, 2 * (int64_t)r->first};
        events[count++] = (event){-size, 2 * (int64_t)r->last + 1};
    }
    qsort(events, count, sizeof *events, by_time);
    int64_t live = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        live += events[i].change;
        if (live > most) most = live;
    }
    free(events);
    return most;
}
