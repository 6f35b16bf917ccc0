/* fold_f32.c -- fold_f32 in the words of a level. */
#include "simd/words.h"

enum {
    SIDE = 8, /* vectors that are processed together */
    SOME = 16, /* rows that are folded into columns together */
};

#define PLUS(sum, x) ADD(x, sum)
#define PLUS_SQUARE(sum, x) FMA(x, x, sum)
#define MOST(most, x) MAX(x, most)
#define LEAST(least, x) MIN(x, least)

/* One result per row: lanes of eight vectors, which are then combined; RESULT joins the initial
 * value, `was`, and that, `v`. */
#define EACH_ROW(STEP, JOIN, ALL, RESULT)                                                 \
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {                               \
        VECTOR sums[SIDE];                                                                \
        int64_t i = 0;                                                                    \
        for (int k = 0; k < SIDE; k++) sums[k] = first;                                   \
        for (; i + SIDE * LANES <= n; i += SIDE * LANES) {                                \
            ML_UNROLL(8)                                                                  \
            for (int k = 0; k < SIDE; k++) sums[k] = STEP(sums[k], LOAD(x + i + k * LANES)); \
        }                                                                                 \
        for (; i + LANES <= n; i += LANES) sums[0] = STEP(sums[0], LOAD(x + i));          \
        if (i < n) sums[1] = STEP(sums[1], LOAD_PART_OR(x + i, n - i, first));            \
        const float v = ALL(JOIN(JOIN(JOIN(sums[0], sums[1]), JOIN(sums[2], sums[3])),    \
                                 JOIN(JOIN(sums[4], sums[5]), JOIN(sums[6], sums[7]))));  \
        const float was = p->y[r];                                                        \
        p->y[r] = (RESULT);                                                               \
    }                                                                                     \
    return;

/* Folds across rows. For a few vectors of columns, results stay in registers while all rows are
 * read. */
#define HELD(STEP, COUNT)                                                                  \
    if (n == (COUNT) * LANES) {                                                            \
        VECTOR sums[COUNT];                                                                \
        for (int k = 0; k < (COUNT); k++) sums[k] = LOAD(p->y + k * LANES);                \
        for (int64_t r = 0; r < p->rows; r++, x += p->stride)                              \
            ML_UNROLL(8) for (int k = 0; k < (COUNT); k++) sums[k] =                       \
                STEP(sums[k], LOAD(x + k * LANES));                                        \
        for (int k = 0; k < (COUNT); k++) STORE(p->y + k * LANES, sums[k]);                \
        return;                                                                            \
    }
/* Some rows at a time are folded into the results of a few vectors of columns, or of a part of one,
 * which stay in registers meanwhile. */
#define STRIP(STEP, COUNT, PART)                                                           \
    {                                                                                      \
        const float *at = x + r * p->stride + i;                                           \
        VECTOR sums[COUNT];                                                                \
        ML_UNROLL(8) for (int k = 0; k < (COUNT); k++) sums[k] =                           \
            PART ? LOAD_PART(p->y + i, PART) : LOAD(p->y + i + k * LANES);                 \
        for (int64_t row = r; row < end; row++, at += p->stride)                           \
            ML_UNROLL(8) for (int k = 0; k < (COUNT); k++) sums[k] =                       \
                STEP(sums[k], PART ? LOAD_PART(at, PART) : LOAD(at + k * LANES));          \
        ML_UNROLL(8) for (int k = 0; k < (COUNT); k++) {                                   \
            if (PART) STORE_PART(p->y + i, sums[k], PART);                                 \
            else STORE(p->y + i + k * LANES, sums[k]);                                     \
        }                                                                                  \
    }
#define COLUMNS(STEP)                                                                      \
    for (int64_t r = 0, end; r < p->rows; r = end) {                                       \
        int64_t i = 0;                                                                     \
        end = p->rows - r < SOME ? p->rows : r + SOME;                                     \
        for (; i + SIDE * LANES <= n; i += SIDE * LANES) STRIP(STEP, SIDE, 0)              \
        for (; i + LANES <= n; i += LANES) STRIP(STEP, 1, 0)                               \
        const int64_t part = n - i;                                                        \
        if (part > 0) STRIP(STEP, 1, part)                                                 \
    }                                                                                      \
    return;
#define FOLD(number, STEP, JOIN, ALL, RESULT)  \
    case number:                               \
        if (p->across) {                       \
            HELD(STEP, SIDE)                   \
            HELD(STEP, SIDE / 2)               \
            COLUMNS(STEP)                      \
        }                                      \
        EACH_ROW(STEP, JOIN, ALL, RESULT)

void ML_VARIANT(fold_f32)(const ml_fold_f32_args *p) {
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
