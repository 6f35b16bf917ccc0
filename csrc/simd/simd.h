/* simd.h -- the primitives, for their callers: function types, panel sizes, sizes of packed
 * weights. */
#ifndef ML_SIMD_H
#define ML_SIMD_H

#include <stdbool.h>

#include "api/minilite.h"
#include "api/simd.h"
#include "core/shape.h"
#include "math/loops.h"

/* A function of each primitive's type: ml_matmul_f32_fn, ... */
#define PRIMITIVE(name, returns, parameters) typedef returns ml_##name##_fn parameters;
#include "simd/primitives.def"
#undef PRIMITIVE

enum {
    ML_CHUNK_F32 = 128,     /* products summed at a time */
    ML_PANEL_DEPTHWISE = 16 /* channels in a panel of depthwise weights */
};

/* Bytes of a group of depthwise_s8, and of its weights. */
static inline int64_t ml_depthwise_element(int64_t group) { return group == 1 ? 2 : 4; }

/* The work of `n` channels from `channel` on, which begins a panel; weights have `element` bytes. Y
 * stays where it was. */
static inline ml_depthwise_args ml_depthwise_channels(const ml_depthwise_args *args,
                                                      int64_t element, int64_t channel, int64_t n) {
    ml_depthwise_args p = *args;
    p.packed = (const char *)p.packed + element * (channel / ML_PANEL_DEPTHWISE) * p.packed_panel;
    if (p.start) p.start = (const int32_t *)p.start + channel;
    p.first += channel;
    p.n = n;
    return p;
}

/* Floats of weights (n, k) packed for `simd`; the caller has checked that the product is small
 * enough. */
static inline int64_t ml_packed_f32(const ml_simd *simd, int64_t n, int64_t k) {
    return ml_round_up(n, simd->matmul_f32_panel) * k;
}

/* Outputs in a panel of packed bytes; the last panel has a multiple of ML_PART_S8. */
enum { ML_PANEL_S8 = 64, ML_PART_S8 = 16 };
/* Rows of matmul_s8's largest tile: blocks of rows should be multiples of it. */
enum { ML_ROWS_S8 = 14 };

/* The number of outputs in the panel that begins with output `first` of n. */
static inline int64_t ml_width_s8(int64_t n, int64_t first) {
    return ml_min_s64(ml_round_up(n - first, ML_PART_S8), ML_PANEL_S8);
}

/* Bytes of packed weights (n, pieces * k); if n is whole panels, also of the first n of more
 * outputs. */
static inline int64_t ml_packed_s8(int64_t n, int64_t pieces, int64_t k) {
    return ml_round_up(n, ML_PART_S8) * pieces * ml_round_up(k, 4);
}

/* Limits of requantize that allow faster code. Channels with a constant output have biases of 2^30,
 * so sums may go a little beyond that. Then a shift by 31 has room for rounding if mantissas are at
 * most ML_LIMIT_WIDE. */
enum { ML_LIMIT = 1 << 30, ML_LIMIT_WIDE = 5 << 28 };
static inline int32_t ml_most_mantissa(int32_t limit) {
    return limit <= ML_LIMIT ? INT32_MAX
                             : (int32_t)(((INT64_C(1) << 61) - (INT64_C(1) << 32)) / limit);
}

/* True if low, high and zero are those of s8 or u8. */
static inline bool ml_has_byte_ends(const ml_requantize_args *p) {
    return p->low >= -128 && p->zero >= -255 && p->zero <= 255 &&
           p->high <= (p->low < 0 ? 127 : 255);
}

/* True if sums are known to be so small that shifts and mantissas alone decide whether the faster
 * code serves them. */
static inline bool ml_may_be_small(const ml_requantize_args *p) {
    return p->limit > 0 && p->limit <= ML_LIMIT_WIDE && ml_has_byte_ends(p);
}

/* Bits by which add_s16 shifts its operands. */
enum { ML_LEFT_S16 = 15 };

/* True if matmul_s8 and product_s8 of two levels give the same bits for a small product with
 * incomplete rows, panels and groups. Takes microseconds. */
bool ml_simd_agrees(const ml_simd *one, const ml_simd *other);

/* The factor that softmax_s8 derives from the sum of a row. */
typedef struct ml_softmax_scale {
    int32_t reciprocal; /* in Q0.31 */
    int32_t shift;
} ml_softmax_scale;
ml_softmax_scale ml_softmax_scale_of(int64_t sum);

#endif
