/* matmul.h -- multiplies rows of floats, a block at a time, with packed weights (input 1) and adds
 * a bias (input 2), for convolutions and fully connected layers; and requantizes sums of integers,
 * which matmul_s8.h computes. */
#ifndef ML_RULES_MATMUL_H
#define ML_RULES_MATMUL_H

#include "rules/weighted.h"
#include "rules/work.h"
#include "simd/simd.h"

/* True if weights (n, k) of floats stay as they are, for few_f32, because their outputs would fill
 * a small part of a panel; else they are packed for matmul_f32. */
static inline bool ml_are_few(int64_t n, int64_t k) {
    const int64_t least_inputs = 16;
    return n <= ML_LEAST_OUTPUTS && k >= least_inputs;
}
/* Floats of these weights. */
static inline int64_t ml_weights_f32(const ml_simd *simd, int64_t n, int64_t k) {
    return ml_are_few(n, k) ? n * k : ml_packed_f32(simd, n, k);
}
/* Packs them, from n rows of k floats, or from k rows of n. */
void ml_pack_rows_f32(const ml_simd *simd, const float *from, int64_t n, int64_t k, float *to);
void ml_pack_columns_f32(const ml_simd *simd, const float *from, int64_t n, int64_t k, float *to);
/* Packs float weights (outputs, ...), each of `groups` groups by itself. */
int64_t ml_pack_weights_f32(const ml_call *c, void *to, int32_t groups);
/* Multiplies by them. */
static inline void ml_multiply_f32(const ml_simd *simd, const ml_matmul_f32_args *args) {
    if (ml_are_few(args->n, args->pieces * args->k)) simd->few_f32(args);
    else simd->matmul_f32(args);
}

/* The sizes of the product, as part of a blob. */
typedef struct ml_blocks {
    int64_t rows;
    int64_t k; /* values in a row */
    int32_t n; /* outputs of a group */
    int32_t groups; /* each has rows of its own, and writes n of a row's n * groups outputs */
    int32_t block; /* rows at a time */
} ml_blocks;

/* Rows first .. first + count - 1 of one group; their memory belongs to a worker. */
typedef struct ml_block {
    int64_t first;
    int64_t count;
    int32_t group;
    float *rows; /* rows of k values */
} ml_block;

/* True if output 0 is larger than the cache, so that written parts are not in it. */
static inline bool ml_is_far(const ml_call *c) { return ml_out_tensor(c, 0)->bytes > 512 << 10; }

typedef void ml_block_fn(const ml_call *c, const ml_block *b);

/* `n` rounded up to full vectors, which take as long, unless lanes are inputs. */
static inline int64_t ml_outputs_paid(const ml_simd *simd, int64_t n, int64_t k) {
    if (ml_are_few(n, k)) return n;
    return n <= ML_FEW_OUTPUTS ? ML_FEW_OUTPUTS : ml_round_up(n, simd->matmul_f32_panel);
}

/* Prepare: sets the size of a block, and scratch. ML_SHAPE_ERROR if a row is too long. */
ml_status ml_prepare_floats(const ml_call *c, ml_wish *wish, ml_blocks *b, bool filled);
/* Eval: `rows` has all rows; or it is NULL, and `fill` writes those of a block. */
ml_status ml_multiply_floats(const ml_call *c, const ml_blocks *b, const float *rows,
                             ml_block_fn *fill, float minimum, float maximum);

/* Sums of a block to be turned into outputs by `finish`: n outputs from number `first` on, in
 * `rows` rows, which are y_stride elements apart in y. bias (for all outputs) may be NULL. */
typedef struct ml_requantized {
    const void *bias; /* int32; int64 for int64 sums; float for floats */
    const void *sums; /* rows of n int32, or int64 */
    int64_t rows;
    int64_t first;
    int64_t n;
    void *y;
    int64_t y_stride;
} ml_requantized;
/* To s16; and to s8 or u8 (the low byte is the same), with a limit of sums as in requantize. */
void ml_requantize_s16(const ml_call *c, const ml_requantized *r);
ml_requantize_args ml_requantize_args_of(const ml_call *c, const ml_requantized *r, int32_t limit);
void ml_requantize_bytes(const ml_call *c, const ml_requantized *r, int32_t limit);
/* To floats within [minimum, maximum], with a scale per row: sum * (scale * weights' scale), or, as
 * in CONV_2D with a scale per output, (sum * weights' scale) * scale. */
typedef enum { ML_SCALES_FIRST, ML_WEIGHTS_FIRST } ml_scaling_order;
ml_scale_s32_args ml_scaling_of(const ml_call *c, const ml_requantized *r, const float *scales,
                                ml_scaling_order order, float minimum, float maximum);
void ml_scale_sums(const ml_call *c, const ml_requantized *r, const float *scales,
                   ml_scaling_order order, float minimum, float maximum);
/* From int64 sums to s16, by the 16-bit multiplier. */
void ml_requantize_wide(const ml_call *c, const ml_requantized *r);

#endif
