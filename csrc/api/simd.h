/* simd.h -- the primitives and their levels, as kernels, packing, tests, benchmarks and --version
 * use them.
 *
 * A primitive is an inner loop; a level is a set of instructions (scalar, sse2, avx2, neon, ...)
 * with one variant of each primitive. A program (the lowered model) works at one level, whose
 * ml_simd is constant, never freed, and passed by pointer. Integers are equal at all levels, bit
 * for bit; floats are within the bound stated at each primitive. No primitive allocates memory,
 * reads or writes past the elements that its arguments state, or needs more alignment than its
 * elements.
 *
 * cffi's cdef is this file after the C preprocessor. So it includes only the list of primitives and
 * simd_images.h. */
#ifndef ML_API_SIMD_H
#define ML_API_SIMD_H

enum { ML_FEW_OUTPUTS = 8, ML_LEAST_OUTPUTS = 4 };

/* y = min(max(a w + bias, low), high): rows of a, with weights packed by pack_f32 of the same
 * level.
 *
 * A row of a is `pieces` stretches of k values, piece_stride elements apart, so that a window of an
 * image needs no copy; a plain matrix is one piece. Products are summed 128 at a time in ascending
 * order, and those sums in turn: errors stay below 8 eps of the sum of |a w|. A row's result
 * depends neither on the rows it is computed with nor on how it is cut into pieces; but if there
 * are at most ML_FEW_OUTPUTS outputs, a level may sum products with even and odd indices
 * separately. NaN is passed on.
 *
 * few_f32: the same for 1 to ML_LEAST_OUTPUTS outputs, whose weights are not packed: `packed` is
 * (n, pieces * k). Products are summed in the lanes of vectors, and the lanes in the end; a row's
 * result depends neither on other rows nor on pieces. */
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
    /* y is part of an array larger than the cache; it is prefetched while sums are computed. */
    int32_t far;
    int64_t packed_k; /* inputs of the weights, if `packed` begins at a later one of them; else 0 */
} ml_matmul_f32_args;

/* Packs weights (n, pieces * k) for matmul_s8, as bytes: s8, u8 minus 128, or unpacked s4 and s2.
 * They lie in panels of 64 outputs (the last panel: a multiple of 16), each [piece][group of 4 of
 * k][output][4], padded with zeros. The last group of a piece consists of its last four bytes, with
 * zeros for those that the group before has already.
 *
 * The layout is the same at all levels but those with matmul_s8_pairs. There, unless `apart`, two
 * groups of a piece lie together, [piece][pair of groups][output][8]; the last group of an odd
 * number comes after them, [output][4]. */
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
    int64_t k; /* of one piece */
    int32_t apart; /* groups lie as at other levels, for products of single rows */
    int8_t *packed; /* ml_packed_s8(n, pieces, k) bytes */
    int32_t *sums; /* n sums, of each output's packed weights */
} ml_pack_s8_args;

/* y = (a ^ flip) w + bias + factors columns: rows of bytes a, 0 to 255 when flipped, with weights
 * packed by pack_s8; sums wrap.
 *
 * A row of a is `pieces` stretches of k bytes, piece_stride apart. "factors columns" adds
 * factors[row] * columns[output] to a sum, which subtracts zero points that differ by row. */
typedef struct ml_matmul_s8_args {
    const uint8_t *a;
    int64_t rows;
    int64_t a_stride; /* bytes from row to row */
    int64_t pieces; /* at least 1 */
    int64_t piece_stride; /* bytes */
    int64_t k; /* bytes of a piece */
    int64_t n; /* outputs */
    int32_t flip; /* 128 turns s8 into x + 128; 0 = none */
    int32_t narrow; /* no weight is -128; 0: one may be */
    int32_t apart; /* how its weights were packed */
    const int8_t *packed;
    const int32_t *bias; /* n, or NULL */
    const int32_t *factors; /* one per row, or NULL */
    const int32_t *columns; /* n, if there are factors */
    int32_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
    const int32_t *sums; /* n, of each output's packed weights; NULL: not known, which costs time */
} ml_matmul_s8_args;

/* matmul_s4: the same for one to four rows of one piece, whose k is a multiple of 8, with weights
 * of 4 bits that stay nibbles: a weight is stored as it is plus 8. They lie in panels of
 * ML_PANEL_S4 outputs, [group of 8 of k][output][4]; the low half of byte i has input i of the
 * group, the high half input i + 4. Missing outputs are 8s. `sums` is not NULL. */
enum { ML_PANEL_S4 = 32 };

/* y = clamp(ml_multiply_quantized(sum + bias, mantissa, shift) + zero, low, high), for rows of n
 * sums, bit for bit as in fixed_point.h; sums wrap. Mantissas are 0 or above, shifts -31 to 31. The
 * low byte is written; its bits are the same for s8 and u8. product_s8 takes reals in the place of
 * mantissas and shifts too, and then scales as requantize_f64 does. */
typedef struct ml_requantize_args {
    const int32_t *sums;
    int64_t rows;
    int64_t sums_stride; /* elements from row to row, at least n */
    int64_t n;
    const int32_t *bias; /* n, or NULL */
    const int32_t *mantissas; /* n */
    const int32_t *shifts; /* n */
    const double *reals; /* n, or NULL; product_s8 alone takes them */
    int8_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
    int32_t zero;
    int32_t low;
    int32_t high;
    int32_t limit; /* |sum + bias| is below it; 0: unknown */
} ml_requantize_args;

/* product_s8 is matmul_s8 followed by requantize or requantize_f64, without storing the sums. It
 * ignores y and y_stride of the matmul, and sums, rows, sums_stride, n and bias of the
 * requantization. It computes `lines` lines of `rows` rows each, line_stride bytes apart; rows of
 * factors and of outputs are numbered on from line to line. */

/* y = clamp(round(sum * real) + zero, low, high), ties away from zero, for rows of n sums; products
 * are clamped to 10^9 in size. The low byte is written. */
typedef struct ml_requantize_f64_args {
    const int32_t *sums;
    int64_t rows;
    int64_t sums_stride; /* elements from row to row, at least n */
    int64_t n;
    const double *reals; /* n */
    int8_t *y;
    int64_t y_stride; /* elements from row to row, at least n */
    int32_t zero; /* in the range of low and high, about a byte */
    int32_t low;
    int32_t high;
} ml_requantize_f64_args;

/* y = min(max(bias + sum * (scale * weight), low), high), or (sum * weight) * scale, for rows of n
 * sums, with a scale per row and a weight per output; no step is fused. NaN is passed on. */
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

/* product_f32 is matmul_s8 followed by scale_s32, bit for bit, without storing the sums. It ignores
 * y and y_stride of the matmul, and sums, rows, sums_stride and n of the scaling. Lines are as in
 * product_s8; rows of scales are numbered on too. */

/* y = 128 + min(max(zero + round(x * inverse), low), 127), ties away from zero, no step fused:
 * quantizes floats to bytes. NaN becomes `low`, which is -128 or more. */
typedef struct ml_quantize_u8_args {
    const float *x;
    int64_t n;
    float inverse;
    int32_t zero;
    int32_t low;
    uint8_t *y;
} ml_quantize_u8_args;

/* widen_f16 turns 16-bit floats into float32, exactly; narrow_f16 rounds to nearest, ties to even,
 * and to infinity from 65520 on. Both give the same bits at all levels: a NaN becomes quiet, and
 * narrow_f16 keeps only its sign. */

/* y[i] = function(x[i]); y may be x. The comment of each function says how it uses `a` and `b`, and
 * its largest error in ULP, for subnormal results too unless it says otherwise; 0: correctly
 * rounded. NaN is passed on. */
typedef enum ml_map_f32_function {
    ML_MAP_CLAMP, /* min(max(x, a), b): 0 */
    ML_MAP_LEAKY, /* x if x > 0, else a x: 0 */
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

/* y[i] = function(a[i], b[i]) for rows of n elements; `kind` says whether an input has only one
 * element per row, used for the whole row. y may be an input whose rows lie as those of y do. Each
 * operation rounds once; low and high, unless infinite, clamp the results of the first four
 * functions. NaN is passed on, except that MAX and MIN give their second operand if either is
 * NaN. */
typedef enum ml_zip_f32_function {
    ML_ZIP_ADD,
    ML_ZIP_SUB,
    ML_ZIP_MUL,
    ML_ZIP_DIV,
    ML_ZIP_MAX,
    ML_ZIP_MIN,
    ML_ZIP_SQUARED_DIFFERENCE,
    ML_ZIP_PRELU, /* a b if a < 0, else a */
    ML_ZIP_COUNT
} ml_zip_f32_function;
typedef enum ml_zip_kind { ML_ZIP_FULL, ML_ZIP_SCALAR_A, ML_ZIP_SCALAR_B } ml_zip_kind;
typedef struct ml_zip_f32_args {
    const float *a;
    const float *b;
    float *y;
    int64_t n;
    int64_t rows;
    int64_t a_row; /* elements from row to row; 0: the same row for all */
    int64_t b_row;
    int32_t function;
    int32_t kind;
    float low;
    float high;
} ml_zip_f32_args;

/* y[i] = clamp(function(a[i], b[i]), low, high) of int32, n of them; sums, differences and products
 * wrap, and a shift by less than 0 or more than 31 bits shifts all bits out; `kind` as in zip_f32.
 * y may be exactly a or b. */
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

/* y[i] = 1 if the comparison of a[i] with b[i] holds, else 0; `kind` as in zip_f32. NaN is neither
 * less than nor equal to anything. */
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

/* Reduces each row to one result; or, if `across`, all rows to n results, element by element. SUM,
 * SQUARES: a row is added up in as many lanes as the level has, within n / 8 eps of the sum of
 * absolute values; across, rows are added one after the other. MAX, MIN: exact; NaN is skipped. */
typedef enum ml_fold_f32_function {
    ML_FOLD_SUM,
    ML_FOLD_SQUARES,
    ML_FOLD_MAX,
    ML_FOLD_MIN,
    ML_FOLD_COUNT
} ml_fold_f32_function;
typedef struct ml_fold_f32_args {
    const float *x;
    float *y; /* in: values to start with; out: results. One per row, or n if across */
    int64_t n; /* elements of a row */
    int64_t rows;
    int64_t stride; /* elements from row to row */
    int32_t function;
    int32_t across;
} ml_fold_f32_args;

/* The same for bytes: the largest of x ^ flip as unsigned bytes, flipped back. So a flip of 0 gives
 * the largest u8, 128 the largest s8, 255 the smallest u8, and 127 the smallest s8. */
typedef struct ml_fold_u8_args {
    const uint8_t *x;
    uint8_t *y; /* in: values to start with; out: results. One per row, or n if across */
    int64_t n; /* elements of a row */
    int64_t rows;
    int64_t stride; /* bytes from row to row */
    int32_t across;
    uint8_t flip;
} ml_fold_u8_args;

/* y[i] = table[x[i]], of 256 entries; y may be exactly x. `lines` is NULL, or says how the same
 * bytes are computed, which at some levels takes less time: with a byte as s8, x ^ flip_x, a line's
 * value is (x * factor >> 8) + term, saturated to int16; y is the larger value of both lines (the
 * smaller one, the only one), shifted right, within [low, high], ^ flip_y. */
typedef struct ml_byte_lines {
    int32_t count; /* 1 or 2; 0 if the table is no such lines */
    int32_t smaller;
    int32_t shift;
    int16_t factors[2];
    int16_t terms[2];
    int8_t low;
    int8_t high;
    uint8_t flip_x;
    uint8_t flip_y;
} ml_byte_lines;

/* y = exp((x - the largest) beta) over their sum, or x - the largest - the logarithm of that sum
 * (beta is 1 then), of a row of n >= 1; y may be x. The exponential of v is within 4 ULP and |v| /
 * 32 more, sums are made in lanes, and results are products with the inverse of the sum. If any x
 * is NaN, all y are NaN. */
typedef struct ml_softmax_f32_args {
    const float *x;
    float *y;
    int64_t n;
    float beta;
    int32_t logs;
} ml_softmax_f32_args;

/* A few rows of x times a matrix w that is not packed: for matrices that are used only once,
 * packing would take longer than the products.
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

/* A panel of weights in few bits, whose k inputs are cut in blocks with a scale per output.
 *
 * dot_blocks_f32: y[i] is the sum of x[j] w[i][j], ML_BLOCK_PANEL of them; those of a block are
 * summed before its scale is applied, at most 128 in one go: errors stay below 8 eps of the sum of
 * |x w|. unpack_blocks_f32: y are the weights times their scales, in panels as pack_f32 makes
 * them. */
enum { ML_BLOCK_PANEL = 32 };
typedef struct ml_blocks_f32_args {
    /* Block after block: a float for each output, its scale, and then each output's weight of each
     * input, [k][ML_BLOCK_PANEL] of s8. Of 4 bits a byte has the weights of two inputs, the first
     * in its low half; blocks are even. */
    const uint8_t *panel;
    int64_t k; /* whole blocks */
    int64_t block; /* inputs of one */
    int32_t bits; /* 8 or 4 */
    const float *x; /* k, or NULL for unpack_blocks_f32 */
    float *y;
} ml_blocks_f32_args;

/* A convolution of stride 1 by Winograd's F(4 x 4, 3 x 3), F(2 x 2, 3 x 3),
 * F(1 x 4, 1 x 3) and F(4 x 1, 3 x 1), in integers: a side of a tile of 1, 2 or 4 outputs sees 1, 4
 * or 6 pixels, and the tile takes a product for each of these positions, input channel and output.
 * Weights are transformed once; then each run takes three steps. All arrays have a part for each
 * position of a tile, `..._position` elements apart.
 *
 * Scaled so that all is whole: G is 24 G of Winograd, its rows for +-1 and infinity halved and
 * quartered, for sides of 4, and 2 G for sides of 2; A makes up for it. Sums wrap: where the size
 * of a sum of products is below 2^25 (4 x 4), 2^29 (2 x 2) or 2^28 (1 x 4, 4 x 1), it comes out
 * exactly. */
enum { ML_PANEL_S16 = 16, ML_PAIRS_S16 = 2 * ML_PANEL_S16 };

/* G (w - zero) G^T of the weights of a panel's outputs and two channels: [tap][output][2] become
 * rows of as many, which matmul_s16 takes. */
typedef struct ml_winograd_weights_args {
    const int8_t *w; /* lines of ML_PAIRS_S16 bytes: 9 for sides of 2 and 4, 3 where one is 1 */
    int32_t zero; /* -255 to 255 */
    int32_t tile_h; /* 2 x 2, 4 x 4, 1 x 4 or 4 x 1 */
    int32_t tile_w;
    int16_t *v;
    int64_t v_position;
} ml_winograd_weights_args;

typedef struct ml_winograd_in_args {
    const int8_t *x; /* the first patch; the next one is a tile's width on */
    int64_t x_line; /* bytes from line to line */
    int64_t channels; /* at least 1; the bytes of a pixel */
    int64_t tiles;
    int32_t tile_h; /* 2 x 2, 4 x 4, 1 x 4 or 4 x 1 */
    int32_t tile_w;
    int16_t
        *v; /* each position's rows of channels, a row for each tile: at most 100 times a byte */
    int64_t v_position;
} ml_winograd_in_args;

/* y = a w for each of `products` products of int16, whose operands are a_step, packed_step = k n
 * and y_step elements apart; sums wrap. Weights lie in panels of ML_PANEL_S16 outputs, each [pair
 * of k][output][2]. */
typedef struct ml_matmul_s16_args {
    const int16_t *a;
    int64_t a_step;
    int64_t rows; /* of k elements, one after the other */
    int64_t k; /* even */
    int64_t n; /* a multiple of ML_PANEL_S16 */
    const int16_t *packed;
    int32_t *y; /* rows of n elements, one after the other */
    int64_t y_step;
    int64_t products;
} ml_matmul_s16_args;

typedef struct ml_winograd_out_args {
    const int32_t *m; /* each position's rows of n products, a row for each tile */
    int64_t m_position;
    int64_t tiles;
    int64_t n; /* a multiple of ML_PANEL_S16 */
    int32_t tile_h;
    int32_t tile_w;
    const int32_t *start; /* n, added to the sums */
    int32_t *y; /* sums: tile_h lines of tile_w * tiles pixels of n */
    int64_t y_line; /* elements from line to line */
} ml_winograd_out_args;

/* The first and the last step for floats, F(4 x 4, 3 x 3) with the points 0, 1 / sqrt 2, -1 / sqrt
 * 2, sqrt 2, -sqrt 2 and infinity; between them, matmul_f32 multiplies at each of the 36 positions.
 * On the data of the tests an output comes out within 8 eps of |bias| and a sum over channels: the
 * largest |x| of the tile's patch times the sum of |w|. That is measured, not proven, and data made
 * to break it does: docs/primitives.md. A tile's results depend on nothing but its patch. */
enum { ML_WINOGRAD_TILE = 4, ML_WINOGRAD_PATCH = 6 }; /* sides in pixels */
typedef struct ml_winograd_in_f32_args {
    const float *x; /* the first patch; the next one is a tile's side on */
    int64_t x_line; /* elements from line to line */
    int64_t channels; /* at least 1; the elements of a pixel */
    int64_t tiles;
    float *v; /* each position's rows of channels, a row for each tile */
    int64_t v_position; /* elements from position to position */
} ml_winograd_in_f32_args;

/* y = min(max(A^T m A + bias, low), high). NaN is passed on. */
typedef struct ml_winograd_out_f32_args {
    const float *m; /* each position's rows of n products, a row for each tile */
    int64_t m_position;
    int64_t n; /* outputs, at least 1; the elements of a pixel of y */
    int64_t lines; /* of y, 1 to 4 */
    int64_t pixels; /* of a line of y; the last tile may have less than 4 */
    const float *bias; /* n, or NULL */
    float *y;
    int64_t y_line; /* elements from line to line */
    float low;
    float high;
} ml_winograd_out_f32_args;

#include "api/simd_images.h"

/* Weights are packed in panels of matmul_f32_panel outputs, [panel][k][matmul_f32_panel], padded
 * with zeros. matmul_f32_rows rows share each load of weights, so blocks of rows should be
 * multiples of it. */
typedef struct ml_simd {
    const char *level;
    int32_t matmul_f32_panel;
    int32_t matmul_f32_rows;
    int32_t matmul_s8_flipped; /* copies of s8 are best made as x + 128, with flip 0 */
    int32_t matmul_s8_pairs; /* pack_s8 puts pairs of groups together */
    int32_t nibbles; /* matmul_s4 is faster than matmul_s8 */
    int32_t matmul_s8_narrow; /* it is faster for weights of which none is -128 */
    int32_t matmul_s8_quarters; /* of the time of a product of floats that one of bytes takes */
    int32_t depthwise_f32_held; /* columns 2 KiB apart to read at a time; 0: any number */
    int32_t depthwise_s8_group; /* lines in a group of interleave_s8 */
    int32_t depthwise_s8_bytes; /* depthwise_product_s8 takes lines of bytes too */
    int32_t depthwise_s8_less; /* 0; or 128, and bytes of groups are s8: u8 less 128 */
    int32_t depthwise_s8_narrow; /* depthwise_narrow_s8 is faster than depthwise_product_s8 */
    int32_t winograd; /* products of matmul_s8 in the time of one of matmul_s16; 0: never use it */
    int32_t winograd_moved; /* and in that of moving a channel or an output through a position */
#define PRIMITIVE(name, returns, parameters) returns(*name) parameters;
#include "simd/primitives.def"
#undef PRIMITIVE
} ml_simd;

/* The levels of this build that this machine can run, ascending; NULL after the last. */
const ml_simd *ml_simd_at(int32_t i);
/* The level named by `mask`; the highest one if that is NULL or empty. */
ml_status ml_simd_choose(const char *mask, const ml_simd **simd, ml_error *error);

#endif
