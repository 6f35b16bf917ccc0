/* strategies.h -- every planning strategy; one file each, one signature, the contract is
 * problem.h's. */
#ifndef ML_MEMORY_STRATEGIES_H
#define ML_MEMORY_STRATEGIES_H

#include "memory/problem.h"

/* One place each. O(n). */
ml_strategy_status ml_strategy_naive(ml_problem *problem);
/* TFLite's planner, quirks included: sizes are not rounded, gaps are measured from unaligned ends.
 * O(n^2). Source: TFLite simple_memory_arena.cc, arena_planner.cc
 * (CreateTensorAllocationVector). */
ml_strategy_status ml_strategy_tflite(ml_problem *problem);
/* Largest first into the best gap. O(n^2). Source: Pisarchyk & Lee, "Efficient Memory Management
 * for Deep Neural Net Inference" (2020), algorithm 3. */
ml_strategy_status ml_strategy_greedy_by_size(ml_problem *problem);
/* Nodes by the bytes live at them, their tensors largest first, into the best gap. O(n^2). Source:
 * ibid., algorithm 2's order with algorithm 3's placement. */
ml_strategy_status ml_strategy_greedy_by_breadth(ml_problem *problem);
/* Along the lowest stretch of the skyline over time, the longest-lived record that fits. O(n^2). No
 * fixed records. Source: Sekiyama et al., "Profile-guided memory optimization for deep neural
 * networks" (2018), after Burke's best fit. */
ml_strategy_status ml_strategy_strip_packing(ml_problem *problem);
/* TFLM's planner: largest first, of equal sizes the last first, into the lowest gap. O(n^2).
 * Source: TensorFlow Lite Micro greedy_memory_planner.cc. */
ml_strategy_status ml_strategy_tflm(ml_problem *problem);

/* Shared objects: whole objects are reused, not bytes of the arena (shared_objects.h). No fixed
 * records; k objects.
 *
 * A free object of the very size, else a new one. O(k n). Source: TFLite GPU
 * equality_assignment.h. */
ml_strategy_status ml_strategy_equality(ml_problem *problem);
/* In order of first nodes, the free object of the closest size, which grows to fit. O(k n). Source:
 * Lee et al., "On-Device Neural Net Inference with Mobile GPUs" (2019). */
ml_strategy_status ml_strategy_greedy_in_order(ml_problem *problem);
/* Largest first, the smallest object that is free for its whole life. O(n^2). Source: Pisarchyk &
 * Lee, algorithm 2. */
ml_strategy_status ml_strategy_shared_greedy_by_size(ml_problem *problem);
/* The same in stages between positional maxima, in each the record with the shortest idle time to
 * an object first. O(k n^2). Source: ibid., "Greedy by Size Improved"; TFLite GPU
 * greedy_by_size_assignment.cc. */
ml_strategy_status ml_strategy_shared_greedy_by_size_improved(ml_problem *problem);
/* Broadest node first, in it the largest record first, the smallest object that holds it, else the
 * largest, grown. O(n^2). Source: ibid., algorithm 1; TFLite GPU
 * greedy_by_breadth_assignment.cc. */
ml_strategy_status ml_strategy_shared_greedy_by_breadth(ml_problem *problem);
/* The assignment of records to predecessors that adds the fewest bytes, then exchanges of tails.
 * O(n^3). Source: Lee et al. (2019), TFLite GPU min_cost_flow_assignment.cc; the exchanges are our
 * own. */
ml_strategy_status ml_strategy_min_cost_flow(ml_problem *problem);

/* {size, area} x {best fit, first fit} until the lower bound is met; then, with many records, an
 * exact search of at most 4 n search nodes, and at most 200 moves in the order. O(n^2) a pass. */
ml_strategy_status ml_strategy_default(ml_problem *problem);
/* Proves the least arena, or decides whether problem->capacity is enough (ML_STRATEGY_OVER_CAPACITY
 * when it is not); within max_nodes and max_seconds, else the best found. Exponential at worst.
 * Source: see exact.h. */
ml_strategy_status ml_strategy_exact(ml_problem *problem);

#endif
