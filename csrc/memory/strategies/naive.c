/* naive.c -- no sharing: each record lies after the one before. O(n). Other strategies are compared
 * with it. */
#include "memory/place.h"
#include "memory/strategies.h"

ml_strategy_status ml_strategy_naive(ml_problem *problem) {
    ml_strategy_status status = ml_check_sizes(problem);
    if (status != ML_STRATEGY_OK) return status;
    int64_t top = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        const ml_record *r = &problem->records[i];
        int64_t end =
            r->offset == ML_UNPLACED ? 0 : ml_round_up(r->offset + r->size, problem->alignment);
        if (end > top) top = end;
    }
    for (int32_t i = 0; i < problem->count; i++) {
        ml_record *r = &problem->records[i];
        if (r->offset != ML_UNPLACED) continue;
        r->offset = r->size > 0 ? top : 0;
        top += ml_round_up(r->size, problem->alignment);
    }
    problem->arena_bytes = top;
    problem->searched = 1;
    return ML_STRATEGY_OK;
}
