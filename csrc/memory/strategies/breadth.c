/* breadth.c -- the nodes where records begin, and the bytes live at each. */
#include "memory/strategies/breadth.h"

#include <stdlib.h>

#include "memory/place.h"

typedef struct claim {
    int64_t size;
    int32_t node;
    int32_t reserved;
} claim;

static int by_node(const void *a, const void *b) {
    int32_t x = ((const claim *)a)->node, y = ((const claim *)b)->node;
    return x < y ? -1 : x > y;
}

int32_t ml_breadths(const ml_problem *problem, ml_breadth *breadths) {
    size_t room = (size_t)problem->count + 1, n = 0;
    claim *begin = malloc(2 * room * sizeof *begin), *end = begin + room;
    if (!begin) return -1;
    for (int32_t i = 0; i < problem->count; i++) {
        const ml_record *r = &problem->records[i];
        if (r->size <= 0) continue;
        int64_t size = ml_round_up(r->size, problem->alignment);
        begin[n] = (claim){size, r->first, 0};
        end[n++] = (claim){size, r->last, 0};
    }
    qsort(begin, n, sizeof *begin, by_node);
    qsort(end, n, sizeof *end, by_node);
    int32_t count = 0;
    int64_t live = 0;
    for (size_t came = 0, gone = 0; came < n;) {
        int32_t node = begin[came].node;
        while (came < n && begin[came].node == node) live += begin[came++].size;
        while (end[gone].node < node) live -= end[gone++].size;
        breadths[count++] = (ml_breadth){live, node, 0};
    }
    free(begin);
    return count;
}
