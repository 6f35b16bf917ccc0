/* bytes.h -- a function of two bytes, computed in 32 bits, some vectors at a time. The file that
 * includes it defines ARGS, whose members a, b, y, n, steps and limits are like those of
 * ml_add_s8_args; the type `constants`; the function
 *
 * constants prepare(const ARGS *args);
 *
 * which derives the constants of a call from its arguments; and functions of two vectors that are
 * always inlined. It passes one of these to run_any(args, compute). */
#include "simd/words.h"

enum { WIDE = JOINED * LANES };

#define INLINE __attribute__((always_inline)) static inline

typedef VECTOR_S32 compute_fn(const constants *k, VECTOR_S32 a, VECTOR_S32 b);

/* An operand: bytes, or the one byte of all lanes. */
typedef struct operand {
    const uint8_t *x;
    VECTOR_S32 one;
} operand;

INLINE operand operand_of(const uint8_t *x, const bool steps, const bool is_signed) {
    return (operand){x, steps ? SPLAT_S32(0) : WIDEN_BYTE(x, is_signed)};
}
INLINE VECTOR_S32 load(operand o, int64_t at, const bool steps, const bool is_signed) {
    return steps ? WIDEN(o.x + at, is_signed) : o.one;
}
INLINE VECTOR_S32 load_part(operand o, int64_t at, int64_t count, const bool steps,
                            const bool is_signed) {
    return steps ? WIDEN_PART(o.x + at, count, is_signed) : o.one;
}

INLINE void run(const ARGS *args, compute_fn *compute, const bool a_steps, const bool b_steps,
                const bool is_signed) {
    const ARGS copy = *args, *p = &copy; /* a copy, not read again after each store */
    const constants constants_of = prepare(p), *k = &constants_of;
    const VECTOR_U8 least = SPLAT_U8(p->low), most = SPLAT_U8(p->high);
    const VECTOR_S32 low = SPLAT_S32(p->low), high = SPLAT_S32(p->high);
    const operand a = operand_of(p->a, a_steps, is_signed),
                  b = operand_of(p->b, b_steps, is_signed);
    int64_t at = 0;
    for (; at + WIDE <= p->n; at += WIDE) {
        VECTOR_S32 v[JOINED];
        ML_UNROLL(4)
        for (int i = 0; i < JOINED; i++)
            v[i] = compute(k, load(a, at + i * LANES, a_steps, is_signed),
                           load(b, at + i * LANES, b_steps, is_signed));
        STORE_U8(p->y + at, CLAMP_U8(JOIN(v, is_signed), least, most, is_signed));
    }
    for (; at + LANES <= p->n; at += LANES) {
        const VECTOR_S32 v =
            compute(k, load(a, at, a_steps, is_signed), load(b, at, b_steps, is_signed));
        NARROW(p->y + at, MAX_S32(low, MIN_S32(high, v)));
    }
    const int64_t left = p->n - at;
    if (!left) return;
    const VECTOR_S32 v = compute(k, load_part(a, at, left, a_steps, is_signed),
                                 load_part(b, at, left, b_steps, is_signed));
    NARROW_PART(p->y + at, MAX_S32(low, MIN_S32(high, v)), left);
}

/* One copy of the loop for each kind of operands. */
INLINE void run_kind(const ARGS *p, compute_fn *compute, const bool is_signed) {
    if (p->a_step && p->b_step) run(p, compute, true, true, is_signed);
    else if (p->a_step) run(p, compute, true, false, is_signed);
    else run(p, compute, false, p->b_step, is_signed);
}
INLINE void run_any(const ARGS *p, compute_fn *compute) {
    if (p->is_signed) run_kind(p, compute, true);
    else run_kind(p, compute, false);
}
