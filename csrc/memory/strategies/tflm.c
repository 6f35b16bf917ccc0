/* tflm.c -- TFLM's greedy planner: first fit, largest first, of equal sizes the one that came last.
 * O(n^2).
 *
 * TFLM rounds sizes up to its alignment of 16 and compares rounded sizes; here the problem's
 * alignment is used. */
#include <stdlib.h>
#include <string.h>

#include "memory/place.h"
#include "memory/strategies.h"

ml_strategy_status ml_strategy_tflm(ml_problem *problem) {
    ml_strategy_status status = ml_check_sizes(problem);
    if (status != ML_STRATEGY_OK) return status;
    size_t n = (size_t)problem->count + 1;
    ml_placed *room = malloc(n * sizeof *room);
    int32_t *order = malloc(n * sizeof *order);
    if (!room || !order) {
        free(room);
        free(order);
        return ML_STRATEGY_NO_MEMORY;
    }
    int32_t waiting = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        ml_record *r = &problem->records[i];
        if (r->offset != ML_UNPLACED) continue;
        r->offset = r->size > 0 ? ML_UNPLACED : 0;
        if (r->size <= 0) continue;
        int64_t size = ml_round_up(r->size, problem->alignment);
        int32_t at = waiting++;
        for (; at > 0 &&
               ml_round_up(problem->records[order[at - 1]].size, problem->alignment) <= size;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    ml_layout layout;
    ml_layout_start(&layout, room, problem);
    for (int32_t i = 0; i < waiting; i++) {
        ml_record *r = &problem->records[order[i]];
        r->offset = ml_layout_place(&layout, ml_round_up(r->size, problem->alignment), r->first,
                                    r->last, ML_FIRST_FIT);
    }
    problem->arena_bytes = ml_round_up(layout.height, problem->alignment);
    problem->searched = 1;
    free(room);
    free(order);
    return ML_STRATEGY_OK;
}
