/* zip_f32.c -- zip_f32 in the words of a level. */
#include "simd/words.h"

/* Each vector is read before it is written, so that y may be an input of as many elements. U and V
 * are vectors of the inputs. */
#define ROW(OPERATION, FIRST_OF, SECOND_OF, PART_FIRST, PART_SECOND)  \
    for (int64_t r = 0; r < p->rows; r++) {                           \
        const float *a = p->a + r * p->a_row, *b = p->b + r * p->b_row; \
        float *y = p->y + r * n;                                      \
        const VECTOR a0 = SPLAT(*a), b0 = SPLAT(*b);                  \
        int64_t i = 0;                                                \
        (void)a0, (void)b0;                                           \
        for (; i + LANES <= n; i += LANES) {                          \
            const VECTOR u = FIRST_OF, v = SECOND_OF;                 \
            STORE(y + i, OPERATION);                                  \
        }                                                             \
        if (i < n) {                                                  \
            const VECTOR u = PART_FIRST, v = PART_SECOND;             \
            STORE_PART(y + i, OPERATION, n - i);                      \
        }                                                             \
    }
#define ROWS(OPERATION)                                                                 \
    if (p->kind == ML_ZIP_FULL) {                                                       \
        ROW(OPERATION, LOAD(a + i), LOAD(b + i), LOAD_PART(a + i, n - i), LOAD_PART(b + i, n - i)) \
    } else if (p->kind == ML_ZIP_SCALAR_A) {                                            \
        ROW(OPERATION, a0, LOAD(b + i), a0, LOAD_PART(b + i, n - i))                    \
    } else {                                                                            \
        ROW(OPERATION, LOAD(a + i), b0, LOAD_PART(a + i, n - i), b0)                    \
    }
#define ZIP(number, OPERATION) \
    case number: ROWS(OPERATION) return;
/* Where nothing is clamped, infinities stay. */
#define CLAMPED(number, OPERATION)                                  \
    case number:                                                    \
        if (clamps) { ROWS(MIN(high, MAX(low, OPERATION))) return; } \
        ROWS(OPERATION)                                             \
        return;

void ML_VARIANT(zip_f32)(const ml_zip_f32_args *p) {
    const VECTOR low = SPLAT(p->low), high = SPLAT(p->high);
    const int clamps = p->low > -__builtin_inff() || p->high < __builtin_inff();
    const int64_t n = p->n;
    switch (p->function) {
        CLAMPED(ML_ZIP_ADD, ADD(u, v))
        CLAMPED(ML_ZIP_SUB, SUB(u, v))
        CLAMPED(ML_ZIP_MUL, MUL(u, v))
        CLAMPED(ML_ZIP_DIV, DIV(u, v))
        ZIP(ML_ZIP_MAX, MAX(u, v))
        ZIP(ML_ZIP_MIN, MIN(u, v))
        ZIP(ML_ZIP_SQUARED_DIFFERENCE, MUL(SUB(u, v), SUB(u, v)))
        ZIP(ML_ZIP_PRELU, PICK(LESS(u, SPLAT(0.0f)), MUL(u, v), u))
    default: return;
    }
}
