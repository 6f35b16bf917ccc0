/* simd_images.h -- the arguments of primitives over images and bytes; simd.h says what holds for
 * all of them. */
#ifndef ML_API_SIMD_IMAGES_H
#define ML_API_SIMD_IMAGES_H

/* Windows of `height` lines by `width` taps over an image, each channel by itself: sums of n
 * channels of neighbouring pixels in `rows` rows of output, whose windows see the same taps.
 *
 * All elements have 4 bytes: floats, or in depthwise_s8 groups of small integers, one under the
 * other, as interleave_s8 of the same level makes them: 4 of u8, whose weights are s8, or 2 of s16.
 * Sums wrap. Weights lie in panels of ML_PANEL_DEPTHWISE channels, [panel][line][tap][channel],
 * with zeros in excess. A pixel's sum begins with `start` and goes on in the order of lines and
 * taps; of floats, 128 products at a time are summed, and those sums in turn. It does not depend on
 * the pixels it is computed with. */
typedef struct ml_depthwise_args {
    const void *const *lines; /* `height` of each row, one row after the other */
    int64_t rows;
    int64_t y_row; /* elements of y from row to row */
    int64_t first; /* element of a line that the first pixel's first tap is */
    int64_t height;
    int64_t width;
    int64_t tap_step; /* elements from tap to tap */
    int64_t pixel_step; /* from pixel to pixel */
    int64_t pixels;
    int64_t n;
    const void *packed; /* the weight of the first line and tap */
    int64_t packed_line; /* elements from line to line */
    int64_t packed_panel; /* from panel to panel */
    const void *start; /* n floats or int32, or NULL: 0 */
    void *y; /* pixels of n floats or int32, side by side */
    float low; /* floats are clamped; NaN passes on */
    float high;
} ml_depthwise_args;

/* depthwise_product_s8 writes what requantize makes of the sums of depthwise_s8, which are not
 * kept, as product_s8 does: y_row is bytes; rows and bias of what requantizes are not looked at
 * either. */

/* y[i] = the bytes i, each ^ flip, of some lines, one after the other: of ml_simd's
 * depthwise_s8_group lines, 4 as bytes or 2 as 16 bits. */
typedef struct ml_interleave_s8_args {
    const uint8_t *lines[4]; /* of `count` bytes; NULL: full of `pad` */
    int64_t count;
    int32_t flip; /* 0 or 128 */
    int32_t pad; /* 0 to 255, not flipped */
    void *y; /* count groups of 4 bytes */
} ml_interleave_s8_args;

/* y[i] = clamp((u - (u < negative)) >> shift, low, high), where u = a[i] a_factor + b[i] b_factor +
 * offset, which wraps: a sum of bytes in two scales. Bytes are s8 where is_signed, else u8, as low
 * and high are; a step of 0 takes the same byte again. `y` may be exactly a or b. */
typedef struct ml_add_s8_args {
    const uint8_t *a;
    const uint8_t *b;
    uint8_t *y;
    int64_t n;
    int32_t a_step; /* 0 or 1 */
    int32_t b_step;
    int32_t is_signed;
    int32_t a_factor;
    int32_t b_factor;
    int32_t offset;
    int32_t negative;
    int32_t shift; /* 0 to 31 */
    int32_t low;
    int32_t high;
} ml_add_s8_args;

/* y[i] = clamp(T(a[i]) + T(b[i]), or less it, times y's multiplier, + zero, low, high), where T is
 * (x - zero) << 15 times its own, as ml_multiply_quantized has it; sums wrap. Mantissas are 0 or
 * above, shifts -31 to 31; a step of 0 takes the same element again. `y` may be exactly a or b. */
typedef struct ml_add_s16_scale {
    int32_t zero;
    int32_t mantissa;
    int32_t shift;
} ml_add_s16_scale;
typedef struct ml_add_s16_args {
    const int16_t *a;
    const int16_t *b;
    int16_t *y;
    int64_t n;
    int32_t a_step; /* 0 or 1 */
    int32_t b_step;
    ml_add_s16_scale of_a;
    ml_add_s16_scale of_b;
    ml_add_s16_scale of_y;
    int32_t subtracts;
    int32_t low;
    int32_t high;
} ml_add_s16_args;

/* y[i] = clamp(ml_multiply_quantized((a[i] - a_zero) (b[i] - b_zero), mantissa, shift) + zero, low,
 * high), bit for bit as fixed_point.h has it; bytes as above; products and sums wrap. The mantissa
 * is 0 or above. Where `real` is not 0, it says that for all products of bytes nearest(product real
 * + (zero + nudge)), or less the nudge of products below 0, clamped, is the same: ties to even, the
 * sum rounded once. */
typedef struct ml_mul_s8_args {
    const uint8_t *a;
    const uint8_t *b;
    uint8_t *y;
    int64_t n;
    int32_t a_step; /* 0 or 1 */
    int32_t b_step;
    int32_t is_signed;
    int32_t a_zero;
    int32_t b_zero;
    int32_t mantissa;
    int32_t shift; /* -31 to 31 */
    int32_t zero;
    int32_t low;
    int32_t high;
    float real;
    float nudge;
} ml_mul_s8_args;

/* Windows of `height` lines by `width` neighbouring pixels, each of n channels by itself: the
 * largest, or the mean of all. Means of floats are sums in the order of lines and taps, or of
 * columns where windows are 3 wide, divided; those of integers are rounded, ties away from zero.
 * NaN never is the largest, and is a mean; limits leave it as it is. */
typedef struct ml_pool_args {
    const void *x; /* the first tap of the first pixel's window */
    int64_t height;
    int64_t width;
    int64_t line_step; /* elements from line to line */
    int64_t pixel_step; /* from one pixel's window to the next */
    int64_t pixels;
    int64_t n;
    void *y; /* pixels of n elements */
    int32_t is_signed; /* bytes are s8, else u8 */
    int32_t low; /* limits of integers */
    int32_t high;
    float minimum; /* of floats */
    float maximum;
} ml_pool_args;

/* Rows of n bytes, s8 or u8: y = exp(x - the row's most) over their sum, as TFLite has it in
 * integers, of 1 / 256 from the type's least number on. exps has exp(-i) in Q0.31 for differences
 * i, 0 where they are too far. `y` may be exactly x. */
typedef struct ml_softmax_s8_args {
    const uint8_t *x;
    uint8_t *y;
    int64_t rows;
    int64_t n;
    const int32_t *exps; /* 256 */
    int32_t is_signed;
} ml_softmax_s8_args;

/* quantize_s8: y = round(x / scale) + zero, ties away from zero, within the byte's limits; NaN
 * gives the least. dequantize_s8: x = scale * (y - zero). */
typedef struct ml_quantize_s8_args {
    float *x;
    uint8_t *y;
    int64_t n;
    float scale;
    int32_t zero;
    int32_t is_signed; /* y is s8, else u8 */
} ml_quantize_s8_args;

/* The same of int16. */
typedef struct ml_quantize_s16_args {
    const float *x;
    int16_t *y;
    int64_t n;
    float scale;
    int32_t zero;
} ml_quantize_s16_args;

/* transpose_x4: a matrix of elements of 4 bytes becomes its transpose, which does not overlap it;
 * nothing else is read or written. */
typedef struct ml_transpose_args {
    const uint8_t *x;
    uint8_t *y;
    int64_t x_step; /* bytes from row to row */
    int64_t y_step;
    int64_t rows; /* of x */
    int64_t columns;
} ml_transpose_args;

/* What the second of two has: of 1, or of 1024. */
typedef union ml_blend_part {
    float real;
    int32_t fixed;
} ml_blend_part;
typedef struct ml_blend_tap {
    int32_t first;
    int32_t second;
    ml_blend_part part;
} ml_blend_tap;

/* Pixels of n channels, each of two columns of two lines: f32 with real parts, u8 too, rounded half
 * up, s8 with fixed ones, rounded half away from zero. Sums of reals are in one order at all
 * levels. */
typedef struct ml_blend_args {
    const void *upper;
    const void *lower;
    ml_blend_part down; /* the lower line's */
    const ml_blend_tap *taps; /* columns, one per pixel */
    int64_t pixels;
    int64_t n;
    void *y;
} ml_blend_args;

/* sums[i] += element i of each row of n bytes; or, along rows, sums[row] += all elements of a row.
 * They wrap. */
typedef struct ml_sum_rows_s8_args {
    const uint8_t *x;
    int64_t rows;
    int64_t stride; /* bytes from row to row */
    int64_t n;
    int32_t *sums;
    int32_t is_signed; /* s8, else u8 */
    int32_t along;
} ml_sum_rows_s8_args;

#endif
