/* strategies.c -- the table of planning strategies by name. */
#include "memory/strategies.h"

#include <string.h>

static const ml_strategy ml_strategies[] = {
    {"default", ml_strategy_default, .aligns = true},
    {"naive", ml_strategy_naive, false},
    {"tflite", ml_strategy_tflite, false},
    {"greedy_by_size", ml_strategy_greedy_by_size, false},
    {"greedy_by_breadth", ml_strategy_greedy_by_breadth, false},
    {"exact", ml_strategy_exact, false},
    {"strip_packing", ml_strategy_strip_packing, false},
    {"tflm", ml_strategy_tflm, false},
    {"equality", ml_strategy_equality, false},
    {"greedy_in_order", ml_strategy_greedy_in_order, false},
    {"shared_greedy_by_size", ml_strategy_shared_greedy_by_size, false},
    {"shared_greedy_by_size_improved", ml_strategy_shared_greedy_by_size_improved, false},
    {"shared_greedy_by_breadth", ml_strategy_shared_greedy_by_breadth, false},
    {"min_cost_flow", ml_strategy_min_cost_flow, false},
    {0},
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
        if (strcmp(s->name, strategy) == 0)
            return problem->alignments && !s->aligns ? ML_STRATEGY_UNSUPPORTED : s->plan(problem);
    return ML_STRATEGY_UNKNOWN;
}
