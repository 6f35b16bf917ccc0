/* work.h -- cuts a node's work into blocks: long enough to be worth handing to a thread, short
 * enough that a run, which is cancelled between blocks, stops at once. Work of less than a block
 * stays on the caller's thread. */
#ifndef ML_RULES_WORK_H
#define ML_RULES_WORK_H

#include "rules/runs.h"

enum {
    ML_BLOCK_ELEMENTS = 1 << 15, /* of any function of each element */
    ML_BLOCK_BYTES = 1 << 16, /* of a copy */
    /* Multiplications of floats. A block of the least number takes 1 to 2 us, ten times the cost of
     * sharing it; one of the larger number takes 10. */
    ML_LEAST_PRODUCTS = 1 << 17,
    ML_MOST_PRODUCTS = 1 << 20,
    ML_ENOUGH_BLOCKS = 16, /* more blocks are not worth having fewer products in each */
    ML_FINE_GRAIN = 32 /* items per block: with more, an uneven rest does not matter */
};

/* The number of items of `elements` elements each that make a block; at least one. Items that only
 * begin the results of an empty input have no elements. */
static inline int64_t ml_items_of_block(int64_t elements) {
    return elements < ML_BLOCK_ELEMENTS ? ML_BLOCK_ELEMENTS / (elements > 0 ? elements : 1) : 1;
}

/* A number of items per block, at most `grain` (>= 1), so that a few blocks have equal sizes and
 * two threads get the same number. If the grain is a multiple of 64 (a cache line) or of 2, so is
 * the result. */
static inline int64_t ml_even_grain(int64_t items, int64_t grain) {
    /* Upward without a sum, because items may be as many as an int64 counts; below, too. */
    int64_t blocks = items > grain ? (items - 1) / grain + 1 : 1;
    if (blocks == 1 || blocks > ML_ENOUGH_BLOCKS) return grain;
    blocks += blocks & 1;
    const int64_t unit = grain % 64 == 0 ? 64 : grain % 2 == 0 ? 2 : 1;
    return ml_min_s64(grain, ml_round_up(ml_ceil_div(items, blocks), unit));
}

/* Runs `body` over items of `elements` elements each; if they make no more than one block, directly
 * on the caller's thread. Nodes that refuse values may have no items. */
static inline ml_status ml_in_blocks(const ml_call *c, int64_t items, int64_t elements,
                                     ml_body body, void *args) {
    const int64_t grain = ml_items_of_block(elements);
    if (items <= grain) return items > 0 ? body(c, 0, items, 0, args) : ML_OK;
    return ml_parallel(c, items, ml_even_grain(items, grain), body, args);
}

/* The number of items that the busier of two threads gets. */
static inline int64_t ml_items_of_busier(int64_t items, int64_t grain) {
    return ml_min_s64(items, ml_ceil_div(items, 2 * grain) * grain);
}

/* The number of items that make a block, if each of `items` costs as much as `cost` multiplications
 * of floats: blocks of equal size, as many as a few threads can share evenly. All items, if they
 * are not worth two blocks; at least 1, also for prepare of an empty output. */
static inline int64_t ml_work_grain(int64_t items, int64_t cost) {
    const double all = (double)items * (double)cost;
    const double least = ML_LEAST_PRODUCTS, most = ML_MOST_PRODUCTS;
    if (all < 1.5 * least) return items > 0 ? items : 1;
    double block = all / (double)ML_ENOUGH_BLOCKS;
    if (block < least) block = least;
    if (block > most) block = most;
    if (all / block >= (double)items) return 1;
    int64_t blocks = (int64_t)(all / block);
    blocks = blocks < 4 ? 2 : blocks / 4 * 4;
    const int64_t grain = items / blocks + (items % blocks > 0);
    if (grain > ML_FINE_GRAIN || blocks > 4 * ML_ENOUGH_BLOCKS) return grain;
    int64_t best = grain;
    for (int64_t less = grain - 1; 2 * less >= grain; less--)
        if (ml_items_of_busier(items, less) < ml_items_of_busier(items, best)) best = less;
    return best;
}

/* For loops that cannot be cut into blocks: adds `more` to `*work`, and each time that reaches a
 * block, checks whether the run was stopped. */
static inline ml_status ml_count_work(const ml_call *c, int64_t more, int64_t *work) {
    if ((*work += more) < ML_BLOCK_ELEMENTS) return ML_OK;
    *work = 0;
    return ml_poll(c);
}

/* Copies and fills in blocks: memcpy; and `bytes` bytes, a multiple of `element`, as copies of one
 * element (of 1, 2, 4, 8 or 16 bytes). */
ml_status ml_copy_bytes(const ml_call *c, void *to, const void *from, int64_t bytes);
ml_status ml_fill_bytes(const ml_call *c, void *to, int64_t bytes, const void *one,
                        int64_t element);
/* Does the same as ml_copy_runs and ml_repeat, in blocks. */
ml_status ml_move_runs(const ml_call *c, void *to, const void *from, int64_t run, ml_turns outer,
                       ml_turns inner);
ml_status ml_repeat_run(const ml_call *c, void *to, int64_t run, int64_t count);

#endif
