/* strategies.h -- declares every planning strategy: one file each, one signature. Their contract is
 * in problem.h. */
#ifndef ML_MEMORY_STRATEGIES_H
#define ML_MEMORY_STRATEGIES_H

#include "memory/problem.h"

/* No sharing: each record has a place of its own. O(n). */
ml_strategy_status ml_strategy_naive(ml_problem *problem);
/* TFLite's planner, quirks included: sizes are not rounded, gaps are measured from unaligned ends.
 * O(n^2). Source: TFLite simple_memory_arena.cc, arena_planner.cc
 * (CreateTensorAllocationVector). */
ml_strategy_status ml_strategy_tflite(ml_problem *problem);
/* Places the largest record first, into the best gap. O(n^2). Source: Pisarchyk & Lee, "Efficient
 * Memory Management for Deep Neural Net Inference" (2020), algorithm 3. */
ml_strategy_status ml_strategy_greedy_by_size(ml_problem *problem);
/* Takes nodes by the bytes live at them, the most first, and places their tensors, largest first,
 * into the best gap. O(n^2). Source: ibid., algorithm 2's order with algorithm 3's placement. */
ml_strategy_status ml_strategy_greedy_by_breadth(ml_problem *problem);
/* Places the longest-lived record that fits on the lowest stretch of the skyline over time. O(n^2).
 * Does not support fixed records. Source: Sekiyama et al., "Profile-guided memory optimization for
 * deep neural networks" (2018), after Burke's best fit. */
ml_strategy_status ml_strategy_strip_packing(ml_problem *problem);
/* TFLM's planner: largest first, of equal sizes the last first, into the lowest gap. O(n^2).
 * Source: TensorFlow Lite Micro greedy_memory_planner.cc. */
ml_strategy_status ml_strategy_tflm(ml_problem *problem);

/* Shared objects: whole objects are reused, not bytes of the arena (shared_objects.h). These do not
 * support fixed records; k is the number of objects.
 *
 * Takes a free object of exactly the same size, else a new one. O(k n). Source: TFLite GPU
 * equality_assignment.h. */
ml_strategy_status ml_strategy_equality(ml_problem *problem);
/* Takes the free object of the closest size, in the order of first nodes, and grows it if needed.
 * O(k n). Source: Lee et al., "On-Device Neural Net Inference with Mobile GPUs" (2019). */
ml_strategy_status ml_strategy_greedy_in_order(ml_problem *problem);
/* Largest record first, takes the smallest object that is free for its whole life. O(n^2). Source:
 * Pisarchyk & Lee, algorithm 2. */
ml_strategy_status ml_strategy_shared_greedy_by_size(ml_problem *problem);
/* The same in stages between positional maxima; in each stage, the record that leaves an object
 * idle for the shortest time comes first. O(k n^2). Source: ibid., "Greedy by Size Improved";
 * TFLite GPU greedy_by_size_assignment.cc. */
ml_strategy_status ml_strategy_shared_greedy_by_size_improved(ml_problem *problem);
/* Broadest node first, and in it the largest record first: takes the smallest object that holds it,
 * else the largest object, and grows it. O(n^2). Source: ibid., algorithm 1; TFLite GPU
 * greedy_by_breadth_assignment.cc. */
ml_strategy_status ml_strategy_shared_greedy_by_breadth(ml_problem *problem);
/* Assigns records to predecessors so that the fewest bytes are added, then exchanges tails of
 * objects. O(n^3). Source: Lee et al. (2019), TFLite GPU min_cost_flow_assignment.cc; the exchanges
 * are our own. */
ml_strategy_status ml_strategy_min_cost_flow(ml_problem *problem);

/* Tries {size, area} x {best fit, first fit} until the lower bound is met; then, if there are many
 * records, an exact search of at most 4 n search nodes, and at most 200 moves in the order. O(n^2)
 * per pass. */
ml_strategy_status ml_strategy_default(ml_problem *problem);
/* Finds the smallest arena and proves that it is, or decides whether problem->capacity is enough
 * (if not, ML_STRATEGY_OVER_CAPACITY). If max_nodes or max_seconds end the search, gives the best
 * plan found. Exponential at worst. Source: see exact.h. */
ml_strategy_status ml_strategy_exact(ml_problem *problem);

#endif
