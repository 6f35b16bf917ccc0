/* add_s8.c -- add_s8 in the words of a level. */
#include "simd/words.h"

typedef struct constants {
    VECTOR_S32 a_factor, b_factor, offset, negative;
    BITS shift;
} constants;

static inline constants prepare(const ml_add_s8_args *p) {
    return (constants){SPLAT_S32(p->a_factor), SPLAT_S32(p->b_factor), SPLAT_S32(p->offset),
                       SPLAT_S32(p->negative), SPLAT_BITS(p->shift)};
}

__attribute__((always_inline)) static inline VECTOR_S32 add(const constants *k, VECTOR_S32 a,
                                                            VECTOR_S32 b) {
    const VECTOR_S32 sums = ADD_S32(MUL_S32(a, k->a_factor), MUL_S32(b, k->b_factor));
    const VECTOR_S32 u = ADD_S32(sums, k->offset);
    return SHIFT_RIGHT_BY(LESS_ONE(u, u, k->negative), k->shift);
}

#define ARGS ml_add_s8_args
#include "simd/portable/bytes.h"

void ML_VARIANT(add_s8)(const ml_add_s8_args *p) { run_any(p, add); }
