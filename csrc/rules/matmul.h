/* matmul.h -- rows of floats, a block at a time, times packed weights (input 1) plus bias (input
 * 2), what convolutions and fully connected layers come down to; and what becomes of the sums of
 * integers, which matmul_s8.h multiplies. */
#ifndef ML_RULES_MATMUL_H
#define ML_RULES_MATMUL_H

#include "rules/weighted.h"
#include "rules/work.h"
#include "simd/simd.h"

/* The pack of float weights (outputs, ...): in panels, each of `groups` groups by itself. */
int64_t ml_pack_weights_f32(const ml_call *c, void *to, int32_t groups);
/* The same panels of k rows of n floats each: weights that have their outputs innermost. */
void ml_pack_columns_f32(const ml_simd *simd, const float *from, int64_t n, int64_t k, float *to);

/* In a blob: the product's sizes. */
typedef struct ml_blocks {
    int64_t rows;
    int64_t k; /* values of a row */
    int32_t n; /* outputs of a group */
    int32_t groups; /* each has rows of its own, and writes n of a row's n * groups outputs */
    int32_t block; /* rows at a time */
} ml_blocks;

/* Rows first .. first + count - 1 of one group; its memory is a worker's. */
typedef struct ml_block {
    int64_t first;
    int64_t count;
    int32_t group;
    float *rows; /* of k each */
} ml_block;

/* Whether output 0 is so large that what is written of it is not near. */
static inline bool ml_is_far(const ml_call *c) { return ml_out_tensor(c, 0)->bytes > 512 << 10; }

typedef void ml_block_fn(const ml_call *c, const ml_block *b);

/* How many outputs take as long as `n`: those that fill vectors. */
static inline int64_t ml_outputs_paid(const ml_simd *simd, int64_t n) {
    return n <= ML_FEW_OUTPUTS ? ML_FEW_OUTPUTS : ml_round_up(n, simd->matmul_f32_panel);
}

/* Prepare: the block's size and scratch. ML_SHAPE_ERROR when a row is too long. */
ml_status ml_prepare_floats(const ml_call *c, ml_wish *wish, ml_blocks *b, bool filled);
/* Eval: `fill` writes a block's rows, NULL where they are the input itself. */
ml_status ml_multiply_floats(const ml_call *c, const ml_blocks *b, ml_block_fn *fill, float minimum,
                             float maximum);

/* What multipliers make of the sums of a block, for `finish`: n outputs from `first` on of `rows`
 * rows, y_stride elements apart in y; bias (of all outputs) may be NULL. */
typedef struct ml_requantized {
    const void *bias; /* int32, of int64 sums int64, of floats float */
    const void *sums; /* rows of n int32, or int64 */
    int64_t rows;
    int64_t first;
    int64_t n;
    void *y;
    int64_t y_stride;
} ml_requantized;
/* To s16, and to s8 or u8 (the low byte is the same), of sums below such a limit as requantize has
 * it. */
void ml_requantize_s16(const ml_call *c, const ml_requantized *r);
ml_requantize_args ml_requantize_args_of(const ml_call *c, const ml_requantized *r, int32_t limit);
void ml_requantize_bytes(const ml_call *c, const ml_requantized *r, int32_t limit);
/* To floats within [minimum, maximum], each row with a scale of its own: sum * (scale * weights'
 * scale), or as CONV_2D with a scale an output has it, (sum * weights' scale) * scale. */
typedef enum { ML_SCALES_FIRST, ML_WEIGHTS_FIRST } ml_scaling_order;
void ml_scale_sums(const ml_call *c, const ml_requantized *r, const float *scales,
                   ml_scaling_order order, float minimum, float maximum);
/* Of int64 sums to s16, by the 16-bit multiplier. */
void ml_requantize_wide(const ml_call *c, const ml_requantized *r);

#endif
