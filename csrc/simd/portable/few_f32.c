/* few_f32.c -- few_f32 in the words of a level.
 *
 * Sums run along a row in the lanes of vectors, because lanes that are outputs would mostly be
 * empty. Lane i sums the products of inputs i, i + LANES and so on, counted over all pieces: where
 * a piece ends within a vector, the next one's first inputs fill its last lanes. A tile is as many
 * rows as have their sums in registers. */
#include "simd/words.h"

enum { CHUNK = 128 /* vectors that are summed in one go */, MOST_ROWS = 8, MOST_SUMS = 12 };

#define INLINE __attribute__((always_inline)) static inline

/* A place in a row: inputs of pieces that lie before it, and the next one of the row's first. */
typedef struct place {
    const float *a;
    int64_t left; /* inputs of the piece from there on */
    int64_t input;
} place;

static void advance(const ml_matmul_f32_args *p, place *at, int64_t count) {
    at->input += count;
    for (; count >= at->left && at->input < p->pieces * p->k; at->left = p->k) {
        count -= at->left;
        at->a += at->left - p->k + p->piece_stride;
    }
    at->a += count;
    at->left -= count;
}

/* Copies the vector of inputs from a place on, if they lie in several pieces or are the last ones,
 * of each row, and the weights they meet. */
__attribute__((noinline)) static void copy_across(const ml_matmul_f32_args *p, place at,
                                                  int64_t rows, float *x, float *w) {
    const int64_t inputs = p->pieces * p->k, left = inputs - at.input, part = at.left;
    const float *of = p->packed + at.input;
    for (int64_t o = 0; o < p->n; o++, of += inputs)
        STORE(w + o * LANES, left < LANES ? LOAD_PART(of, left) : LOAD(of));
    if (part == left) {
        for (int64_t r = 0; r < rows; r++)
            STORE(x + r * LANES, LOAD_PART(at.a + r * p->a_stride, part));
    } else if (left >= LANES && part + p->k >= LANES) {
        const float *next = at.a + p->piece_stride - p->k;
        for (int64_t r = 0; r < rows; r++, at.a += p->a_stride, next += p->a_stride)
            STORE(x + r * LANES, LOAD_PART_OR(at.a, part, LOAD_REST(next, part)));
    } else {
        memset(x, 0, (size_t)(rows * LANES) * sizeof *x);
        for (int64_t i = 0; i < LANES && i < left; i++, advance(p, &at, 1))
            for (int64_t r = 0; r < rows; r++) x[r * LANES + i] = at.a[r * p->a_stride];
    }
}

/* sums += whole vectors of a piece. What there is less of, rows or outputs, stays in registers. */
INLINE void add_vectors(const float *a, int64_t a_stride, const float *w, int64_t inputs,
                        int64_t vectors, const int rows, const int n, VECTOR *sums) {
    for (int64_t i = 0; i < vectors; i++, a += LANES, w += LANES) {
        VECTOR kept[4];
        ML_UNROLL(4)
        for (int j = 0; j < (rows < n ? rows : n); j++)
            kept[j] = rows < n ? LOAD(a + j * a_stride) : LOAD(w + j * inputs);
        ML_UNROLL(8)
        for (int j = 0; j < (rows < n ? n : rows); j++) {
            const VECTOR one = rows < n ? LOAD(w + j * inputs) : LOAD(a + j * a_stride);
            ML_UNROLL(4)
            for (int l = 0; l < (rows < n ? rows : n); l++) {
                const int at = rows < n ? l * n + j : j * n + l;
                sums[at] = FMA(one, kept[l], sums[at]);
            }
        }
    }
}

/* sums += the inputs from a place on, up to `end`. */
INLINE void add_inputs(const ml_matmul_f32_args *p, place *at, int64_t end, const int rows,
                       const int n, VECTOR *sums) {
    const int64_t inputs = p->pieces * p->k;
    while (at->input < end) {
        const int64_t rest = end - at->input, whole = (at->left < rest ? at->left : rest) / LANES;
        add_vectors(at->a, p->a_stride, p->packed + at->input, inputs, whole, rows, n, sums);
        advance(p, at, whole * LANES);
        if (at->input >= end || at->left >= LANES) continue;
        float x[MOST_ROWS * LANES], w[ML_LEAST_OUTPUTS * LANES];
        copy_across(p, *at, rows, x, w);
        add_vectors(x, LANES, w, LANES, 1, rows, n, sums);
        advance(p, at, inputs - at->input < LANES ? inputs - at->input : LANES);
    }
}

INLINE void tile(const ml_matmul_f32_args *p, int64_t row, const int rows, const int n) {
    VECTOR sums[MOST_SUMS], total[MOST_SUMS];
    const int64_t inputs = p->pieces * p->k;
    place at = {p->a + row * p->a_stride, p->k, 0};
    ML_UNROLL(12)
    for (int i = 0; i < rows * n; i++) total[i] = SPLAT(0.0f);
    while (at.input < inputs) {
        const int64_t end = at.input + CHUNK * LANES < inputs ? at.input + CHUNK * LANES : inputs;
        ML_UNROLL(12)
        for (int i = 0; i < rows * n; i++) sums[i] = SPLAT(0.0f);
        add_inputs(p, &at, end, rows, n, sums);
        ML_UNROLL(12)
        for (int i = 0; i < rows * n; i++) total[i] = ADD(total[i], sums[i]);
    }
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < n; o++) {
            float y = SUM_OF(total[r * n + o]) + (p->bias ? p->bias[o] : 0.0f);
            y = y < p->low ? p->low : y;
            p->y[(row + r) * p->y_stride + o] = y > p->high ? p->high : y;
        }
}

#define IN_TILES(n, most)                                            \
    static void outputs_##n(const ml_matmul_f32_args *p) {           \
        int64_t row = 0;                                             \
        for (; row + (most) <= p->rows; row += (most)) tile(p, row, most, n); \
        for (; row < p->rows; row++) tile(p, row, 1, n);             \
    }
IN_TILES(1, 8)
IN_TILES(2, 6)
IN_TILES(3, 4)
IN_TILES(4, 3)

void ML_VARIANT(few_f32)(const ml_matmul_f32_args *p) {
    if (p->n == 1) outputs_1(p);
    else if (p->n == 2) outputs_2(p);
    else if (p->n == 3) outputs_3(p);
    else if (p->n == 4) outputs_4(p);
}
