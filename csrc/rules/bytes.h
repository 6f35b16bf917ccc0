/* bytes.h -- packed weights of bytes, and the rows that are multiplied with them: integers, or
 * floats quantized at run time, as bytes of 0 to 255.
 *
 * s8 becomes x + 128; u8 stays as it is; floats are quantized to such bytes; s16 becomes two planes
 * of bytes: 256 * high + low - 32768. These offsets add multiples of the sums of the weights, which
 * are subtracted together with the zero points. */
#ifndef ML_RULES_BYTES_H
#define ML_RULES_BYTES_H

#include "kernel.h"
#include "simd/simd.h"

/* Weights -------------------------------------------------------------------------------------- */

/* Packed weights (n, pieces * k), and for each output the sum of its weights. After the sums lies
 * `narrow`, and after that `apart`. */
typedef struct ml_weights_s8 {
    const int8_t *packed;
    const int32_t *sums;
    int64_t n;
    int64_t pieces;
    int64_t k; /* of a piece */
    int32_t narrow; /* no weight is -128, and the level is faster for that */
    int32_t apart; /* packed so, for a single row */
} ml_weights_s8;

/* The bytes that they take; and packing, by args without packed and sums. */
int64_t ml_weights_s8_bytes(int64_t n, int64_t pieces, int64_t k);
ml_weights_s8 ml_weights_s8_at(const void *place, int64_t n, int64_t pieces, int64_t k);
void ml_pack_s8(const ml_simd *simd, ml_pack_s8_args args, void *place);

/* One weight; inputs are numbered on from piece to piece. */
int8_t ml_weight_s8(const ml_simd *simd, const ml_weights_s8 *w, int64_t output, int64_t input);

/* y (count, n) = sums of (x - zeros[r]) * w. `x` has rows of k bytes; `factors` has -zero for each
 * row. */
void ml_multiply_bytes(const ml_simd *simd, const uint8_t *x, int64_t count,
                       const ml_weights_s8 *weights, const int32_t *factors, int32_t *y);

/* The same for s16, whose low bytes lie `plane` after the high ones, without zero points: exact for
 * rows of any length. `planes` is room for 2 * count * n. */
void ml_multiply_words(const ml_simd *simd, const uint8_t *x, int64_t plane, int64_t count,
                       const ml_weights_s8 *weights, int32_t *planes, int64_t *y);
/* Combines the sums of both planes, for rows of at most this many bytes; longer rows are summed in
 * parts. */
enum { ML_MOST_NARROW = (int)(INT32_MAX / (255 * 128)) };
static inline int64_t ml_join_planes(int32_t high, int32_t low, int32_t weights) {
    return high * INT64_C(256) + low - weights * INT64_C(32768);
}
int64_t ml_dot_words(const ml_simd *simd, const uint8_t *row, int64_t piece_stride, int64_t plane,
                     const ml_weights_s8 *weights, int64_t output);

/* Rows ----------------------------------------------------------------------------------------- */

static inline int64_t ml_planes(int32_t type) { return type == ML_S16 ? 2 : 1; }
/* Writes `count` elements of s8, u8 or s16 as bytes; low bytes of s16 go `plane` bytes after the
 * high ones. */
void ml_to_bytes(int32_t type, const void *x, int64_t count, int64_t plane, uint8_t *to);
/* The same for `count` zero points, whose byte is `zero`; none if there is no padding there. */
static inline void ml_outside_bytes(int32_t type, int32_t zero, int64_t count, int64_t plane,
                                    uint8_t *to) {
    if (count <= 0) return;
    memset(to, type == ML_S16 ? 128 : zero, (size_t)count);
    if (type == ML_S16) memset(to + plane, 0, (size_t)count);
}
/* The flip (^) that turns elements of the type into these bytes. */
static inline int32_t ml_flip_of(int32_t type) { return type == ML_S8 ? 128 : 0; }
/* The byte of a zero point; s16 has no zero points. */
static inline int32_t ml_byte_of_zero(int32_t type, int32_t zero) {
    return type == ML_S8 ? zero + 128 : type == ML_S16 ? 0 : zero;
}

/* Quantizes a row of floats by the steps of ml_steps_of, plus 128; returns the scale, and minus the
 * byte of 0. */
float ml_quantize_bytes(const ml_simd *simd, const float *x, int64_t k, bool asymmetric,
                        uint8_t *row, int32_t *factor);
/* `count` slices of k floats, each quantized by itself: their bytes; and by slice the scale, and
 * minus the byte of 0. */
typedef struct ml_slices {
    uint8_t *bytes;
    int32_t *factors;
    float *scales;
} ml_slices;
int64_t ml_slices_bytes(int64_t count, int64_t k);
ml_slices ml_slices_at(void *place, int64_t count, int64_t k);
ml_status ml_quantize_slices(const ml_call *c, const float *x, int64_t count, int64_t k,
                             bool asymmetric, const ml_slices *to);

#endif
