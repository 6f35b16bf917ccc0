/* zip_s32.c -- zip_s32 in plain C, which the compiler vectorizes for a level: shifts by counts that
 * differ, products and extremes of 32 bits are single instructions from avx2 on. */
#include "simd/variants.h"

/* ivdep only states that each element is read before it is written. */
#define ROW(EXPRESSION, FIRST_OF, SECOND_OF)                           \
    ML_IVDEP for (int64_t i = 0; i < n; i++) {                         \
        const uint32_t u = (FIRST_OF), v = (SECOND_OF);                \
        const int32_t made = (int32_t)(EXPRESSION);                    \
        const int32_t above = made < low ? low : made;                 \
        y[i] = (uint32_t)(above > high ? high : above);                \
    }
#define ZIP(number, EXPRESSION)                                        \
    case number:                                                       \
        if (kind == ML_ZIP_FULL) ROW(EXPRESSION, a[i], b[i])           \
        else if (kind == ML_ZIP_SCALAR_A) ROW(EXPRESSION, first, b[i]) \
        else ROW(EXPRESSION, a[i], second)                             \
        return;

void ML_VARIANT(zip_s32)(const ml_zip_s32_args *p) {
    const uint32_t *a = p->a, *b = p->b;
    uint32_t *y = p->y;
    const int64_t n = p->n;
    const int32_t kind = p->kind, low = p->low, high = p->high;
    if (n <= 0) return;
    const uint32_t first = *a, second = *b;
    switch (p->function) {
        ZIP(ML_ZIP_S32_ADD, u + v)
        ZIP(ML_ZIP_S32_SUB, u - v)
        ZIP(ML_ZIP_S32_MUL, u * v)
        ZIP(ML_ZIP_S32_MAX, (int32_t)u > (int32_t)v ? u : v)
        ZIP(ML_ZIP_S32_MIN, (int32_t)u < (int32_t)v ? u : v)
        ZIP(ML_ZIP_S32_SHIFT_LEFT, v < 32 ? u << (v & 31) : 0)
    default: return;
    }
}
