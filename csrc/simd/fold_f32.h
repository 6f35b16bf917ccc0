/* fold_f32.h -- fold_f32 in vectors of any width. The file that includes it names its FUNCTION and has included the vectors of its
 * level. */
#include "simd.h"

enum { SIDE = 8 }; /* vectors, or rows, that are gone through together */

#define PLUS(sum, x) ADD(x, sum)
#define PLUS_SQUARE(sum, x) FMA(x, x, sum)
#define MOST(most, x) MAX(x, most)
#define LEAST(least, x) MIN(x, least)

/* A result a row: lanes of eight vectors, then those put together; RESULT of what there is, `was`, and that, `v`. */
#define EACH_ROW(STEP, JOIN, ALL, RESULT)                                                  \
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {                                \
        VECTOR sums[SIDE];                                                                 \
        int64_t i = 0;                                                                     \
        for (int k = 0; k < SIDE; k++) sums[k] = first;                                    \
        for (; i + SIDE * LANES <= n; i += SIDE * LANES)                                   \
            _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) sums[k] =               \
                STEP(sums[k], LOAD(x + i + k * LANES));                                    \
        for (; i + LANES <= n; i += LANES) sums[0] = STEP(sums[0], LOAD(x + i));           \
        if (i < n) sums[1] = STEP(sums[1], LOAD_PART_OR(x + i, n - i, first));             \
        const float v = ALL(JOIN(JOIN(JOIN(sums[0], sums[1]), JOIN(sums[2], sums[3])),              \
                                 JOIN(JOIN(sums[4], sums[5]), JOIN(sums[6], sums[7]))));         \
        const float was = p->y[r];                                                         \
        p->y[r] = (RESULT);                                                                \
    }                                                                                      \
    return;

/* Rows one upon the other: eight vectors of columns stay in registers while all rows go by; of the columns that are left a few rows
 * at a time, one after the other in each. */
#define WIDE(STEP)                                                                         \
    for (; left + SIDE * LANES <= n; left += SIDE * LANES) {                               \
        VECTOR sums[SIDE];                                                                 \
        const float *at = x + left;                                                        \
        for (int k = 0; k < SIDE; k++) sums[k] = LOAD(p->y + left + k * LANES);            \
        for (int64_t row = 0; row < p->rows; row++, at += p->stride)                       \
            _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) sums[k] =               \
                STEP(sums[k], LOAD(at + k * LANES));                                       \
        for (int k = 0; k < SIDE; k++) STORE(p->y + left + k * LANES, sums[k]);            \
    }
#define SOME_ROWS(STEP, COUNT)                                                             \
    for (int64_t i = left; i < n; i += LANES) {                                            \
        const int whole = n - i >= LANES;                                                  \
        VECTOR sum = whole ? LOAD(p->y + i) : LOAD_PART(p->y + i, n - i);                  \
        _Pragma("GCC unroll 8") for (int k = 0; k < (COUNT); k++) {                        \
            const float *at = x + k * p->stride + i;                                       \
            sum = STEP(sum, whole ? LOAD(at) : LOAD_PART(at, n - i));                      \
        }                                                                                  \
        if (whole) STORE(p->y + i, sum);                                                   \
        else STORE_PART(p->y + i, sum, n - i);                                             \
    }
#define COLUMNS(STEP)                                                                      \
    {                                                                                      \
        int64_t r = 0, left = 0;                                                           \
        WIDE(STEP)                                                                         \
        if (left == n) return;                                                             \
        for (; r + SIDE <= p->rows; r += SIDE, x += SIDE * p->stride) SOME_ROWS(STEP, SIDE) \
        for (; r < p->rows; r++, x += p->stride) SOME_ROWS(STEP, 1)                        \
        return;                                                                            \
    }
#define FOLD(number, STEP, JOIN, ALL, RESULT)  \
    case number:                               \
        if (p->across) COLUMNS(STEP)           \
        EACH_ROW(STEP, JOIN, ALL, RESULT)

void FUNCTION(const ml_fold_f32_args *p) {
    const float *x = p->x;
    const int64_t n = p->n;
    const float start = p->function == ML_FOLD_MAX   ? -__builtin_inff()
                        : p->function == ML_FOLD_MIN ? __builtin_inff()
                                                     : 0.0f;
    const VECTOR first = SPLAT(start);
    switch (p->function) {
        FOLD(ML_FOLD_SUM, PLUS, PLUS, SUM_OF, was + v)
        FOLD(ML_FOLD_SQUARES, PLUS_SQUARE, PLUS, SUM_OF, was + v)
        FOLD(ML_FOLD_MAX, MOST, MOST, MAX_OF, v > was ? v : was)
        FOLD(ML_FOLD_MIN, LEAST, LEAST, MIN_OF, v < was ? v : was)
    default: return;
    }
}
