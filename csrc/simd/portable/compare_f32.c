/* compare_f32.c -- compare_f32 in the words of a level. */
#include "simd/words.h"

/* U and V are vectors of the inputs, or of their first element. */
#define ROW(COMPARE, U, V, PART_U, PART_V)                                     \
    for (; i + LANES <= n; i += LANES) STORE_ONES(y + i, COMPARE(U, V));       \
    if (i < n) STORE_ONES_PART(y + i, COMPARE(PART_U, PART_V), n - i);
#define ROW_OF(number, COMPARE) \
    case number: \
        if (p->kind == ML_ZIP_FULL) { \
            ROW(COMPARE, LOAD(a + i), LOAD(b + i), LOAD_PART(a + i, n - i), LOAD_PART(b + i, n - i)) \
        } else if (p->kind == ML_ZIP_SCALAR_A) { \
            ROW(COMPARE, a0, LOAD(b + i), a0, LOAD_PART(b + i, n - i)) \
        } else { \
            ROW(COMPARE, LOAD(a + i), b0, LOAD_PART(a + i, n - i), b0) \
        } \
        return;

void ML_VARIANT(compare_f32)(const ml_compare_f32_args *p) {
    const float *a = p->a, *b = p->b;
    uint8_t *y = p->y;
    const int64_t n = p->n;
    int64_t i = 0;
    if (n <= 0) return;
    const VECTOR a0 = SPLAT(*a), b0 = SPLAT(*b);
    switch (p->function) {
        ROW_OF(ML_COMPARE_LESS, LESS)
        ROW_OF(ML_COMPARE_LESS_EQUAL, LESS_EQUAL)
        ROW_OF(ML_COMPARE_EQUAL, EQUAL)
        ROW_OF(ML_COMPARE_NOT_EQUAL, NOT_EQUAL)
    default: return;
    }
}
