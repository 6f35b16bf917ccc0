/* simd.h -- the primitives and their levels, for kernels and packing, for tests and benchmarks, and
 * for --version.
 *
 * A primitive is an inner loop; a level is a set of instructions (scalar, sse2, avx2, neon, ...)
 * with one variant of each primitive. A program that works at one level has its ml_simd: constant,
 * never freed, passed by pointer. Integers are equal at all levels, bit for bit; floats are within
 * the bound stated at each primitive. No primitive allocates, reads or writes past the elements its
 * arguments state, or asks for alignment beyond the element's.
 *
 * The cdef is this file after the C preprocessor, which is why it includes nothing but the list and
 * simd_images.h, more of the same. */
#ifndef ML_API_SIMD_H
#define ML_API_SIMD_H

enum { ML_FEW_OUTPUTS = 8 };

/* y = min(max(a w + bias, low), high): rows of a, with weights packed by pack_f32 of the same
 * level.
 *
 * A row of a is `pieces` stretches of k values, piece_stride elements apart, so that a window of an
 * image needs no copy; a plain matrix is one piece. Products are summed 128 at a time in ascending
 * order, and those sums in turn: errors stay below 8 eps of the sum of |a w|. A row's result
 * depends neither on the rows it is computed with nor on how it is cut in pieces; but where there
 * are at most ML_FEW_OUTPUTS outputs, a level may sum products with even and with odd numbers
 * apart. NaN passes on. */
typedef struct ml_matmul_f32_args {
    const float *a;
    int64_t rows;
    int64_t a_stride; /* elements from row to row */
    int64_t pieces; /* at least 1 */
    int64_t piece_stride; /* elements */
    int64_t k; /* elements of a piece; weights have pieces * k inputs */
    int64_t n; /* outputs, elements of a row of y */
    const float *packed;
    const float *bias; /* n, or NULL */
    float *y;
    int64_t y_stride; /* elements from row to row, at least n */
    float low;
    float high;
    /* y is part of so much that it comes from beyond the cache, and is fetched while sums are
     * made. */
    int32_t far;
} ml_matmul_f32_args;

/* Weights (n, pieces * k) of bytes, s8, u8 less 128 or unpacked s4 and s2, where matmul_s8 wants
 * them: in panels of 64 outputs, the last one of a multiple of 16, each [piece][group of 4 of
 * k][output][4] with zeros in excess. The last group of a piece is its last four bytes, zeros
 * standing for those that the group before has. One layout for all levels. */
typedef struct ml_pack_s8_args {
    /* Output i, input j: element first + i % period * output_step + i / period * period_step + j *
     * input_step. */
    const void *w;
    int64_t first;
    int32_t type; /* ML_S8, ML_U8, ML_S4, ML_S2 */
    int64_t output_step;
    int64_t period;
    int64_t period_step;
    int64_t input_step;
    int64_t n;
    int64_t pieces;
    int64_t k; /* of a piece */
    int8_t *packed; /* ml_packed_s8(n, pieces, k) bytes */
    int32_t *sums; /* of each output's packed weights: n */
} ml_pack_s8_args;

/* y = (a ^ flip) w + bias + factors columns: rows of bytes a, 0 to 255 when flipped, with weights
 * packed by pack_s8; sums wrap.
 *
 * A row of a is `pieces` stretches of k bytes, piece_stride apart. factors columns adds
 * factors[row] * columns[output] to a sum: what takes zero points out that rows have of their
 * own. */
typedef struct ml_matmul_s8_args {
    const uint8_t *a;
    int64_t rows;
    int64_t a_stride; /* bytes from row to row */
    int64_t pieces; /* at least 1 */
    int64_t piece_stride; /* bytes */
    int64_t k; /* bytes of a piece */
    int64_t n; /* outputs */
    int32_t flip; /* 128 makes x + 128 of s8; 0 */
    const int8_t *packed;
    const int32_t *bias; /* n, or NULL */
    const int32_t *factors; /* one per row, or NULL */
    const int32_t *columns; /* n, where there are factors */
    int32_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
} ml_matmul_s8_args;

/* y = clamp(ml_multiply_quantized(sum + bias, mantissa, shift) + zero, low, high), for rows of n
 * sums, bit for bit as fixed_point.h has it; sums wrap. Mantissas are 0 or above, shifts -31 to 31.
 * The low byte is written: the same bits for s8 and u8. */
typedef struct ml_requantize_args {
    const int32_t *sums;
    int64_t rows;
    int64_t sums_stride; /* elements from row to row, at least n */
    int64_t n;
    const int32_t *bias; /* n, or NULL */
    const int32_t *mantissas; /* n */
    const int32_t *shifts; /* n */
    int8_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
    int32_t zero;
    int32_t low;
    int32_t high;
    int32_t limit; /* sums, bias included, are below it on either side; 0: not known */
} ml_requantize_args;

/* product_s8 writes what requantize makes of the sums of matmul_s8, which are not kept: y and
 * y_stride of the one, and sums, rows, sums_stride, n and bias of the other are not looked at.
 * There are so many lines of the sums' rows, line_stride bytes apart; rows of factors and of
 * outputs go on from line to line. */

/* y = clamp(round(sum * real) + zero, low, high), ties away from zero, for rows of n sums; products
 * beyond 10^9 are that. The low byte is written. */
typedef struct ml_requantize_f64_args {
    const int32_t *sums;
    int64_t rows;
    int64_t sums_stride; /* elements from row to row, at least n */
    int64_t n;
    const double *reals; /* n */
    int8_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
    int32_t zero; /* of a byte or so, as low and high */
    int32_t low;
    int32_t high;
} ml_requantize_f64_args;

/* y = min(max(bias + sum * (scale * weight), low), high), or (sum * weight) * scale, for rows of n
 * sums, each row with a scale of its own, each output with a weight; no step is fused. NaN passes
 * on. */
typedef struct ml_scale_s32_args {
    const int32_t *sums;
    int64_t rows;
    int64_t sums_stride; /* elements from row to row, at least n */
    int64_t n;
    const float *scales; /* rows */
    const float *weights; /* n */
    const float *bias; /* n, or NULL */
    float *y;
    int64_t y_stride; /* elements from row to row, at least n */
    float low;
    float high;
    int32_t weights_first;
} ml_scale_s32_args;

/* y = 128 + round(min(max(zero + x * inverse, low), 127)), ties away from zero, no step fused:
 * floats as steps of a scale, to bytes. NaN is `low`, which is -128 or more. */
typedef struct ml_quantize_u8_args {
    const float *x;
    int64_t n;
    float zero;
    float inverse;
    float low;
    uint8_t *y;
} ml_quantize_u8_args;

/* widen_f16 makes float32 of floats of 16 bits, exact; narrow_f16 rounds to nearest, ties to even,
 * to infinity from 65520 on. Both are the same bits at all levels: a NaN becomes a quiet one, of
 * which narrow_f16 keeps the sign alone. */

/* y[i] = function(x[i]); y may be x. What `a` and `b` are stands after the function's name. Within
 * so many ULP of the exact result, subnormal ones included unless it says otherwise; 0: correctly
 * rounded. NaN passes on. */
typedef enum ml_map_f32_function {
    ML_MAP_CLAMP, /* min(max(x, a), b): 0 */
    ML_MAP_LEAKY, /* x, times a where it is not above 0: 0 */
    ML_MAP_ABS, /* 0 */
    ML_MAP_NEG, /* 0 */
    ML_MAP_SQUARE, /* 0 */
    ML_MAP_SQRT, /* 0 */
    ML_MAP_RSQRT, /* of the rounded root: 2 */
    ML_MAP_FLOOR, /* 0 */
    ML_MAP_CEIL, /* 0 */
    ML_MAP_ROUND, /* ties to even: 0 */
    ML_MAP_EXP, /* 2 */
    ML_MAP_LOG, /* 2 */
    ML_MAP_SIN, /* 3 up to 20000, beyond it libm's */
    ML_MAP_COS, /* 3 up to 20000, beyond it libm's */
    ML_MAP_LOGISTIC, /* 4 of normal results; 0 below them */
    ML_MAP_TANH, /* 6; 1 at most */
    ML_MAP_ELU, /* 2 */
    ML_MAP_HARD_SWISH, /* x min(max(x + 3, 0), 6), rounded, over 6: 0; 1 of subnormals */
    ML_MAP_GELU, /* 6 of x / 2 */
    ML_MAP_GELU_TANH, /* 6 of x / 2 */
    ML_MAP_COUNT
} ml_map_f32_function;
typedef struct ml_map_f32_args {
    const float *x;
    float *y;
    int64_t n;
    int32_t function;
    float a;
    float b;
} ml_map_f32_args;

/* y[i] = function(a[i], b[i]) for rows of n elements; where `kind` says so, a row's first element
 * of an input is meant for all of it. y may be an input whose rows lie as y's do. All are one
 * rounding for each operation; low and high, if they are not infinite, clamp what the first four
 * make. NaN passes on, but that MAX and MIN give their second operand where one is NaN. */
typedef enum ml_zip_f32_function {
    ML_ZIP_ADD,
    ML_ZIP_SUB,
    ML_ZIP_MUL,
    ML_ZIP_DIV,
    ML_ZIP_MAX,
    ML_ZIP_MIN,
    ML_ZIP_SQUARED_DIFFERENCE,
    ML_ZIP_PRELU, /* a, times b where it is below 0 */
    ML_ZIP_COUNT
} ml_zip_f32_function;
typedef enum ml_zip_kind { ML_ZIP_FULL, ML_ZIP_SCALAR_A, ML_ZIP_SCALAR_B } ml_zip_kind;
typedef struct ml_zip_f32_args {
    const float *a;
    const float *b;
    float *y;
    int64_t n;
    int64_t rows;
    int64_t a_row; /* elements from row to row; 0: one for all */
    int64_t b_row;
    int32_t function;
    int32_t kind;
    float low;
    float high;
} ml_zip_f32_args;

/* y[i] = clamp(function(a[i], b[i]), low, high) of int32, n of them; sums, differences and products
 * wrap, and of a number shifted by a count below 0 or above 31 nothing is left; `kind` as
 * zip_f32's. y may be exactly a or b. */
typedef enum ml_zip_s32_function {
    ML_ZIP_S32_ADD,
    ML_ZIP_S32_SUB,
    ML_ZIP_S32_MUL,
    ML_ZIP_S32_MAX,
    ML_ZIP_S32_MIN,
    ML_ZIP_S32_SHIFT_LEFT,
    ML_ZIP_S32_COUNT
} ml_zip_s32_function;
typedef struct ml_zip_s32_args {
    const uint32_t *a;
    const uint32_t *b;
    uint32_t *y;
    int64_t n;
    int32_t function;
    int32_t kind;
    int32_t low;
    int32_t high;
} ml_zip_s32_args;

/* y[i] = 1 where a[i] stands so to b[i], else 0; `kind` as zip_f32's. NaN is not less than, and not
 * equal to anything. */
typedef enum ml_compare_f32_function {
    ML_COMPARE_LESS,
    ML_COMPARE_LESS_EQUAL,
    ML_COMPARE_EQUAL,
    ML_COMPARE_NOT_EQUAL,
    ML_COMPARE_COUNT
} ml_compare_f32_function;
typedef struct ml_compare_f32_args {
    const float *a;
    const float *b;
    uint8_t *y;
    int64_t n;
    int32_t function;
    int32_t kind;
} ml_compare_f32_args;

/* Takes the numbers of each row into a result of its own, or all rows into n results side by side.
 * SUM, SQUARES: added up in as many lanes as a level has, within n / 8 eps of the sum of sizes, or
 * one after the other where they lie side by side; MAX, MIN: exact, NaN is passed over. */
typedef enum ml_fold_f32_function {
    ML_FOLD_SUM,
    ML_FOLD_SQUARES,
    ML_FOLD_MAX,
    ML_FOLD_MIN,
    ML_FOLD_COUNT
} ml_fold_f32_function;
typedef struct ml_fold_f32_args {
    const float *x;
    float *y; /* what there is already, then that and the numbers: one per row, or n if across */
    int64_t n; /* of a row */
    int64_t rows;
    int64_t stride; /* elements from row to row */
    int32_t function;
    int32_t across;
} ml_fold_f32_args;

/* The same of bytes: the largest of x ^ flip, flipped back, the bytes taken as unsigned: so flips
 * of 0 and 128 give the largest u8 and s8, those of 255 and 127 the smallest. */
typedef struct ml_fold_u8_args {
    const uint8_t *x;
    uint8_t *y; /* what there is already, then that and the bytes: one per row, or n if across */
    int64_t n; /* of a row */
    int64_t rows;
    int64_t stride; /* bytes from row to row */
    int32_t across;
    uint8_t flip;
} ml_fold_u8_args;

/* y = exp((x - the largest) beta) over their sum, or x - the largest - the logarithm of that sum
 * (beta is 1 then), of a row of n >= 1; y may be x. Exps within 2 ULP, sums in lanes, one product
 * with the sum's inverse. With a NaN all are NaN. */
typedef struct ml_softmax_f32_args {
    const float *x;
    float *y;
    int64_t n;
    float beta;
    int32_t logs;
} ml_softmax_f32_args;

/* A few rows of x times a matrix w that is read where it lies: for matrices that are used once, to
 * pack them would take longer than the products.
 *
 * dot_rows_f32: w has n rows of k values, y[i][j] is the sum of x[i] w[j], element by element.
 * mix_rows_f32: w has k rows of n values, y[i] is the sum of the rows x[i][j] w[j].
 *
 * At most 128 numbers are summed in one go, and those sums in turn: errors stay below 8 eps of the
 * sum of |x w|. A row's result does not depend on the rows it is computed with. y overlaps neither
 * x nor w. */
typedef struct ml_rows_f32_args {
    const float *x;
    int64_t rows;
    int64_t x_stride; /* elements from row to row, as all strides here */
    const float *w;
    int64_t w_stride;
    int64_t k; /* at least 0 */
    int64_t n;
    float *y;
    int64_t y_stride;
} ml_rows_f32_args;

#include "api/simd_images.h"

/* Weights are packed in panels of matmul_f32_panel outputs, [panel][k][matmul_f32_panel], with
 * zeros in excess. So many rows as matmul_f32_rows share a load of weights: blocks of rows should
 * be multiples of it. */
typedef struct ml_simd {
    const char *level;
    int32_t matmul_f32_panel;
    int32_t matmul_f32_rows;
    int32_t depthwise_s8_group; /* lines in a group of interleave_s8 */
#define PRIMITIVE(name, returns, parameters) returns(*name) parameters;
#include "simd/primitives.def"
#undef PRIMITIVE
} ml_simd;

/* The levels that this machine has in this build, ascending; NULL past the last. */
const ml_simd *ml_simd_at(int32_t i);
/* The level named by `mask`, or, when that is NULL or empty, the best there is. */
ml_status ml_simd_choose(const char *mask, const ml_simd **simd, ml_error *error);

#endif
