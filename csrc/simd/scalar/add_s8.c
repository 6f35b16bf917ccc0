/* add_s8.c -- the plain meaning of add_s8. */
#include <stdbool.h>

#include "math/fixed_point.h"
#include "simd/variants.h"

#define INLINE __attribute__((always_inline)) static inline

/* Constant steps make a loop that the compiler turns into vector code. */
INLINE void add(const ml_add_s8_args *args, const bool a_steps, const bool b_steps) {
    const ml_add_s8_args p = *args; /* a copy, not read again after each store */
    const int32_t flip = p.is_signed ? 128 : 0;
    ML_IVDEP
    for (int64_t i = 0; i < p.n; i++) {
        /* (x ^ 128) - 128 is the signed byte. */
        const int32_t a = (p.a[a_steps ? i : 0] ^ flip) - flip;
        const int32_t b = (p.b[b_steps ? i : 0] ^ flip) - flip;
        const int32_t u = (int32_t)((uint32_t)a * (uint32_t)p.a_factor +
                                    (uint32_t)b * (uint32_t)p.b_factor + (uint32_t)p.offset);
        const int32_t v = (int32_t)((uint32_t)u - (u < p.negative)) >> p.shift;
        p.y[i] = (uint8_t)ml_clamp_s32(v, p.low, p.high);
    }
}

void ml_add_s8_scalar(const ml_add_s8_args *p) {
    if (p->a_step && p->b_step) add(p, true, true);
    else if (p->a_step) add(p, true, false);
    else add(p, false, p->b_step);
}
