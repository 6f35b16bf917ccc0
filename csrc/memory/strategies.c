/* strategies.c -- the table of planning strategies by name. */
#include <string.h>

#include "problem.h"

static ml_plan_status ml_plan_naive(ml_problem *problem) {
    int64_t top = 0;
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset >= 0 && problem->records[i].offset + problem->records[i].size > top) top = problem->records[i].offset + problem->records[i].size;
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset < 0) { top = (top + problem->alignment - 1) / problem->alignment * problem->alignment; problem->records[i].offset = top; top += problem->records[i].size; }
    problem->arena_bytes = top;
    return ML_PLAN_OK;
}
static const ml_strategy ml_strategies[] = {
    {"default", ml_plan_naive}, {"tflite", ml_plan_naive}, {"greedy_by_size", ml_plan_naive},
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
