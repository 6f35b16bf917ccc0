/* blend_plain.h -- blends each pixel from four, in plain C: BLEND(name, element, expression of the
 * four pixels and the weights of the lower and the right ones) defines a static function of
 * ml_blend_args. */
#include "simd/simd.h"

static inline float blend_real(float a, float b, float d, float e, float down, float across) {
    return a * (1.0f - down) * (1.0f - across) + b * down * (1.0f - across) +
           d * (1.0f - down) * across + e * down * across;
}

static inline float blend_rounded(float a, float b, float d, float e, float down, float across) {
    return blend_real(a, b, d, e, down, across) + 0.5f;
}

/* Sums of bytes stay below 2^31. Weights beyond 1024, possible for two equal columns, wrap in
 * between. */
static inline int32_t blend_fixed(int32_t a, int32_t b, int32_t d, int32_t e, int32_t down,
                                  int32_t across) {
    const uint32_t lower = (uint32_t)down, right = (uint32_t)across;
    const uint32_t upper = 1024 - lower, left = 1024 - right;
    const int32_t sum = (int32_t)(((uint32_t)a * upper + (uint32_t)b * lower) * left +
                                  ((uint32_t)d * upper + (uint32_t)e * lower) * right);
    return (sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20);
}

#define BLEND(name, element, member, OF)                                                     \
    static void name(const ml_blend_args *p) {                                               \
        element *y = p->y;                                                                   \
        for (int64_t i = 0; i < p->pixels; i++, y += p->n) {                                 \
            const ml_blend_tap a = p->taps[i];                                               \
            const element *nw = (const element *)p->upper + a.first * p->n;                  \
            const element *sw = (const element *)p->lower + a.first * p->n;                  \
            const element *ne = (const element *)p->upper + a.second * p->n;                 \
            const element *se = (const element *)p->lower + a.second * p->n;                 \
            for (int64_t k = 0; k < p->n; k++)                                               \
                y[k] = (element)OF(nw[k], sw[k], ne[k], se[k], p->down.member, a.part.member); \
        }                                                                                    \
    }
