/* simd_images.h -- the arguments of primitives that compute on images and bytes; simd.h states what
 * holds for all primitives. */
#ifndef ML_API_SIMD_IMAGES_H
#define ML_API_SIMD_IMAGES_H

/* Depthwise windows of `height` lines by `width` taps over an image: sums per channel, for n
 * channels of neighbouring pixels in `rows` rows of output, whose windows use the same taps.
 *
 * All elements have 4 bytes: floats, or in depthwise_s8 groups of small integers from lines one
 * below the other, as interleave_s8 of the same level makes them: 4 of u8, or of s8 where ml_simd's
 * depthwise_s8_less is 128, with s8 weights, or 2 of s16; or 2 bytes, a single s16. Sums wrap.
 * Weights lie in panels of ML_PANEL_DEPTHWISE channels, [panel][line][tap][channel], padded with
 * zeros. A pixel's sum starts with `start` and goes on in the order of lines and taps; products of
 * floats are summed 128 at a time, and then those sums. It
 * does not depend on the pixels it is computed with. */
typedef enum ml_lines { ML_LINES_GROUPED, ML_LINES_U8, ML_LINES_S8 } ml_lines;
typedef struct ml_depthwise_args {
    const void *const *lines; /* `height` lines for each row, one row after the other */
    int64_t rows;
    int64_t y_row; /* elements of y from row to row */
    int64_t first; /* element of a line at the first pixel's first tap */
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
    float low; /* floats are clamped; NaN is passed on */
    float high;
    int32_t lines_are; /* an ml_lines: see depthwise_product_s8 */
} ml_depthwise_args;

/* depthwise_product_s8 is depthwise_s8 followed by requantize, without storing the sums, like
 * product_s8: y_row is in bytes; rows and bias of the requantization are ignored, too.
 *
 * Where ml_simd has depthwise_s8_bytes, it also takes bytes as they lie, u8 or s8: width is 1, and
 * each of the weights' lines has depthwise_s8_group lines of bytes, which may be taps.
 * Steps are in bytes; zero is then within -255 and 255. That saves interleave_s8 where pixels are
 * few.
 *
 * depthwise_narrow_s8 is the same for elements of one byte: lines of s8 as they lie, and weights of
 * s8, none of which is -128; zero, low and high are those of s8. */

/* y[i] = byte i of each line, ^ flip, side by side: for ml_simd's depthwise_s8_group lines, either
 * 4 bytes, or 1 or 2 values of 16 bits. */
typedef struct ml_interleave_s8_args {
    const uint8_t *lines[4]; /* `count` bytes each; NULL: a line of `pad` */
    int64_t count;
    int32_t flip; /* 0 or 128 */
    int32_t pad; /* 0 to 255, or -128 to 127 of s8; not flipped */
    void *y; /* count groups */
} ml_interleave_s8_args;

/* y[i] = clamp((u - (u < negative)) >> shift, low, high), where u = a[i] a_factor + b[i] b_factor +
 * offset, which wraps: a sum of bytes in two scales. Bytes, low and high are s8 if is_signed, else
 * u8; with a step of 0 the same byte is used for all. `y` may be exactly a or b. */
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

/* y[i] = clamp((T(a[i]) + or - T(b[i])) times y's multiplier + zero, low, high), where T(x) is (x -
 * zero) << 15 times the multiplier of a or b, by ml_multiply_quantized; sums wrap. Mantissas are 0
 * or above, shifts -31 to 31; with a step of 0 the same element is used for all. `y` may be exactly
 * a or b. */
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
 * high), bit for bit as in fixed_point.h; bytes as above; products and sums wrap. The mantissa is 0
 * or above. If `real` is not 0, then for all products of bytes nearest(product real + (zero +
 * nudge)), with -nudge if the product is below 0, clamped, gives the same: ties to even, the sum
 * rounded once. */
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

/* Windows of `height` lines by `width` neighbouring pixels: the maximum or the mean per channel,
 * for n channels. A mean of floats is a sum in the order of lines and taps (of columns, if windows
 * are 3 x 3 and one or two pixels apart), divided; means of integers are rounded, ties away from
 * zero. A maximum ignores NaN; a mean with a NaN is NaN, which the limits do not change. */
typedef struct ml_pool_args {
    const void *x; /* the first tap of the first pixel's window */
    int64_t height;
    int64_t width;
    int64_t line_step; /* elements from line to line */
    int64_t pixel_step; /* from one pixel's window to the next */
    int64_t pixels;
    int64_t n;
    void *y; /* pixels of n elements */
    int64_t x_after; /* elements after the last window that may be read, too */
    int64_t y_after; /* elements after the last pixel that may be overwritten by anything */
    int32_t is_signed; /* bytes are s8, else u8 */
    int32_t low; /* limits of integers */
    int32_t high;
    float minimum; /* limits of floats */
    float maximum;
} ml_pool_args;

/* Rows of n bytes, s8 or u8: y = exp(x - the row's maximum) over their sum, by TFLite's integer
 * arithmetic, in steps of 1 / 256 from the least number of the type. exps[i] is exp(-i) in Q0.31
 * for a difference i, 0 if the difference is too large. `y` may be exactly x. */
typedef struct ml_softmax_s8_args {
    const uint8_t *x;
    uint8_t *y;
    int64_t rows;
    int64_t n;
    const int32_t *exps; /* 256 */
    int32_t is_signed;
} ml_softmax_s8_args;

/* quantize_s8: y = round(x / scale) + zero, ties away from zero, clamped to the byte's range; NaN
 * gives the least value. dequantize_s8: x = scale * (y - zero). */
typedef struct ml_quantize_s8_args {
    float *x;
    uint8_t *y;
    int64_t n;
    float scale;
    int32_t zero;
    int32_t is_signed; /* y is s8, else u8 */
} ml_quantize_s8_args;

/* The same for int16. */
typedef struct ml_quantize_s16_args {
    const float *x;
    int16_t *y;
    int64_t n;
    float scale;
    int32_t zero;
} ml_quantize_s16_args;

/* transpose_x4 transposes a matrix of 4-byte elements; x and y do not overlap, and nothing outside
 * them is read or written. */
typedef struct ml_transpose_args {
    const uint8_t *x;
    uint8_t *y;
    int64_t x_step; /* bytes from row to row */
    int64_t y_step;
    int64_t rows; /* of x */
    int64_t columns;
} ml_transpose_args;

/* The weight of the second of two pixels: a fraction of 1, or of 1024. */
typedef union ml_blend_part {
    float real;
    int32_t fixed;
} ml_blend_part;
typedef struct ml_blend_tap {
    int32_t first;
    int32_t second;
    ml_blend_part part;
} ml_blend_tap;

/* Bilinear resizing: each pixel of n channels is blended from two columns of two lines. f32 and u8
 * have real weights, s8 fixed-point ones; u8 is rounded half up, s8 half away from zero. Sums of
 * reals have the same order at all levels. With room for 2 * columns * n floats, blend_u8 weighs
 * the columns of both lines once, which pays where pixels share columns. */
typedef struct ml_blend_args {
    const void *upper;
    const void *lower;
    ml_blend_part down; /* weight of the lower line */
    const ml_blend_tap *taps; /* columns, one per pixel */
    int64_t pixels;
    int64_t n;
    void *y;
    int64_t columns; /* of a line */
    int64_t x_after; /* elements after each line that may be read, too */
    int64_t y_after; /* elements after the last pixel that may be overwritten by anything */
    float *room; /* or NULL */
} ml_blend_args;

/* sums[i] += element i of each row of n bytes; or, along rows, sums[row] += all elements of a row.
 * Sums wrap. */
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
