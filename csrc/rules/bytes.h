/* bytes.h -- what meets packed weights of bytes: rows of integers, or of floats quantized at run
 * time, as bytes of 0 to 255.
 *
 * s8 is x + 128, u8 as it is, floats are quantized to such bytes, and s16 is two planes of them:
 * 256 * high + low - 32768. What that adds to sums goes with the zero points, by the sums of the
 * weights. */
#ifndef ML_RULES_BYTES_H
#define ML_RULES_BYTES_H

#include "kernel.h"
#include "simd/simd.h"

/* Weights -------------------------------------------------------------------------------------- */

/* Packed weights of (n, k), whose rows of k are so many pieces, and the sum of each output's. */
typedef struct ml_weights_s8 {
    const int8_t *packed;
    const int32_t *sums;
    int64_t n;
    int64_t pieces;
    int64_t k; /* of a piece */
} ml_weights_s8;

/* They lie in so many bytes, packed by args whose packed and sums are left out. */
int64_t ml_weights_s8_bytes(int64_t n, int64_t pieces, int64_t k);
ml_weights_s8 ml_weights_s8_at(const void *place, int64_t n, int64_t pieces, int64_t k);
void ml_pack_s8(const ml_simd *simd, ml_pack_s8_args args, void *place);

/* One of them; inputs of all pieces are counted on. */
int8_t ml_weight_s8(const ml_weights_s8 *w, int64_t output, int64_t input);

/* y (count, n) = sums of (x - zeros[r]) * w: `x` has rows of k bytes, and `factors` are -zero of
 * each. */
void ml_multiply_bytes(const ml_simd *simd, const uint8_t *x, int64_t count,
                       const ml_weights_s8 *weights, const int32_t *factors, int32_t *y);

/* The same of s16, whose low bytes lie `plane` after the high ones, without zero points: exact
 * however long rows are; `planes` is room for 2 * count * n. */
void ml_multiply_words(const ml_simd *simd, const uint8_t *x, int64_t plane, int64_t count,
                       const ml_weights_s8 *weights, int32_t *planes, int64_t *y);
/* What it makes of the sums of both planes, for rows of so many bytes at most, and does with longer
 * ones. */
enum { ML_MOST_NARROW = (int)(INT32_MAX / (255 * 128)) };
static inline int64_t ml_join_planes(int32_t high, int32_t low, int32_t weights) {
    return high * INT64_C(256) + low - weights * INT64_C(32768);
}
int64_t ml_dot_words(const uint8_t *row, int64_t piece_stride, int64_t plane,
                     const ml_weights_s8 *weights, int64_t output);

/* Rows ----------------------------------------------------------------------------------------- */

static inline int64_t ml_planes(int32_t type) { return type == ML_S16 ? 2 : 1; }
/* `count` elements of s8, u8 or s16 as bytes; the low ones of s16 go `plane` bytes after the high
 * ones. */
void ml_to_bytes(int32_t type, const void *x, int64_t count, int64_t plane, uint8_t *to);
/* The same of `count` zero points, `zero` being the byte. */
static inline void ml_outside_bytes(int32_t type, int32_t zero, int64_t count, int64_t plane,
                                    uint8_t *to) {
    if (count <= 0) return;
    memset(to, type == ML_S16 ? 128 : zero, (size_t)count);
    if (type == ML_S16) memset(to + plane, 0, (size_t)count);
}
/* What flips the bytes of s8 to those. */
static inline int32_t ml_flip_of(int32_t type) { return type == ML_S8 ? 128 : 0; }
/* What such a zero point is among the bytes; s16 has none. */
static inline int32_t ml_byte_of_zero(int32_t type, int32_t zero) {
    return type == ML_S8 ? zero + 128 : type == ML_S16 ? 0 : zero;
}

/* A row of floats, quantized by itself: ml_steps_of's steps, 128 more; returns their scale, and
 * less the byte that 0 is. */
float ml_quantize_bytes(const ml_simd *simd, const float *x, int64_t k, bool asymmetric,
                        uint8_t *row, int32_t *factor);
/* `count` slices of k floats, each quantized by itself: bytes, by slice its scale, and less the
 * byte that 0 is. */
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
