/* strategies.c -- the table of planning strategies by name. */
#include <string.h>

#include "problem.h"

static const ml_strategy ml_strategies[] = {
    {NULL, NULL},
};

const char *ml_memory_strategy_name(int32_t index) {
    int32_t count = (int32_t)(sizeof ml_strategies / sizeof ml_strategies[0]) - 1;
    return index >= 0 && index < count ? ml_strategies[index].name : NULL;
}

ml_plan_status ml_memory_plan(const char *strategy, ml_problem *problem) {
    for (const ml_strategy *s = ml_strategies; s->name; s++)
        if (strcmp(s->name, strategy) == 0) return s->plan(problem);
    return ML_PLAN_UNKNOWN_STRATEGY;
}
