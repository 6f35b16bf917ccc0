/* strategies.h -- every planning strategy; one file each, one signature, the contract is problem.h's. */
#ifndef ML_MEMORY_STRATEGIES_H
#define ML_MEMORY_STRATEGIES_H

#include "problem.h"

/* One place each. O(n). */
ml_plan_status ml_plan_naive(ml_problem *problem);
/* TFLite's planner, quirks included: sizes are not rounded, gaps are measured from unaligned ends. O(n^2).
 * Source: TFLite simple_memory_arena.cc, arena_planner.cc (CreateTensorAllocationVector). */
ml_plan_status ml_plan_tflite(ml_problem *problem);
/* Largest first into the best gap. O(n^2). Source: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net
 * Inference" (2020), algorithm 3. */
ml_plan_status ml_plan_greedy_by_size(ml_problem *problem);
/* Nodes by the bytes live at them, their tensors largest first, into the best gap. O(n^2). Source: ibid., algorithm 2's
 * order with algorithm 3's placement. */
ml_plan_status ml_plan_greedy_by_breadth(ml_problem *problem);
/* {size, area} x {best fit, first fit} until the lower bound is met, then at most 200 moves in the order. O(n^2) a pass. */
ml_plan_status ml_plan_default(ml_problem *problem);
/* Proves the least arena, or decides whether problem->capacity is enough (ML_PLAN_OVER_CAPACITY when it is not); within
 * max_nodes and max_seconds, else the best found. Exponential at worst. Source: see exact.h. */
ml_plan_status ml_plan_exact(ml_problem *problem);

#endif
