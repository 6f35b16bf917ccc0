/* strategies.c -- the table of planning strategies by name. */
#include "memory/strategies.h"

#include <string.h>

static const ml_strategy ml_strategies[] = {
    {"default", ml_strategy_default},
    {"naive", ml_strategy_naive},
    {"tflite", ml_strategy_tflite},
    {"greedy_by_size", ml_strategy_greedy_by_size},
    {"greedy_by_breadth", ml_strategy_greedy_by_breadth},
    {"exact", ml_strategy_exact},
    {"strip_packing", ml_strategy_strip_packing},
    {"tflm", ml_strategy_tflm},
    {"equality", ml_strategy_equality},
    {"greedy_in_order", ml_strategy_greedy_in_order},
    {"shared_greedy_by_size", ml_strategy_shared_greedy_by_size},
    {"shared_greedy_by_size_improved", ml_strategy_shared_greedy_by_size_improved},
    {"shared_greedy_by_breadth", ml_strategy_shared_greedy_by_breadth},
    {"min_cost_flow", ml_strategy_min_cost_flow},
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

ml_strategy_status ml_memory_plan(const char *strategy, ml_problem *problem) {
    for (const ml_strategy *s = ml_strategies; s->name; s++)
        if (strcmp(s->name, strategy) == 0) return s->plan(problem);
    return ML_STRATEGY_UNKNOWN;
}
