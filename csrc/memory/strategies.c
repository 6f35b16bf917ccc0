/* strategies.c -- the table of planning strategies by name. */
#include "memory/strategies.h"

#include <string.h>

static const ml_strategy ml_strategies[] = {
    {"default", ml_plan_default},
    {"naive", ml_plan_naive},
    {"tflite", ml_plan_tflite},
    {"greedy_by_size", ml_plan_greedy_by_size},
    {"greedy_by_breadth", ml_plan_greedy_by_breadth},
    {"exact", ml_plan_exact},
    {"strip_packing", ml_plan_strip_packing},
    {"tflm", ml_plan_tflm},
    {"equality", ml_plan_equality},
    {"greedy_in_order", ml_plan_greedy_in_order},
    {"shared_greedy_by_size", ml_plan_shared_greedy_by_size},
    {"shared_greedy_by_size_improved", ml_plan_shared_greedy_by_size_improved},
    {"shared_greedy_by_breadth", ml_plan_shared_greedy_by_breadth},
    {"min_cost_flow", ml_plan_min_cost_flow},
    {NULL, NULL},
};

const char *ml_memory_strategy_name(int32_t index) {
    int32_t count = (int32_t)(sizeof ml_strategies / sizeof ml_strategies[0]) - 1;
    return index >= 0 && index < count ? ml_strategies[index].name : NULL;
}

int32_t ml_strategy_named(const char *name) {
    for (int32_t i = 0; ml_strategies[i].name; i++)
        if (strcmp(ml_strategies[i].name, name) == 0) return i;
    return -1;
}

ml_plan_status ml_memory_plan(const char *strategy, ml_problem *problem) {
    for (const ml_strategy *s = ml_strategies; s->name; s++)
        if (strcmp(s->name, strategy) == 0) return s->plan(problem);
    return ML_PLAN_UNKNOWN_STRATEGY;
}
