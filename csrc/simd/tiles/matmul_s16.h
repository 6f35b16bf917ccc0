/* matmul_s16.h -- matmul_s16 in the words of a level with ADD_PAIRS: a tile is PAIR_ROWS rows times
 * a panel of outputs, whose sums stay in registers. A panel's weights stay near while all rows
 * pass. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { VECTORS = ML_PANEL_S16 / LANES };

INLINE VECTOR_S32 pair(const int16_t *a) {
    int32_t both;
    memcpy(&both, a, sizeof both);
    return SPLAT_S32(both);
}

INLINE void multiply_rows(const int16_t *a, int64_t k, const int16_t *w, int32_t *y, int64_t n,
                          const int rows) {
    VECTOR_S32 sums[PAIR_ROWS * VECTORS];
    ML_UNROLL(12)
    for (int i = 0; i < rows * VECTORS; i++) sums[i] = SPLAT_S32(0);
    for (int64_t j = 0; j < k; j += 2, w += 2 * ML_PANEL_S16) {
        VECTOR_S32 weights[VECTORS];
        ML_UNROLL(4)
        for (int v = 0; v < VECTORS; v++) weights[v] = LOAD_S32(w + 2 * LANES * v);
        ML_UNROLL(12)
        for (int r = 0; r < rows; r++) {
            const VECTOR_S32 x = pair(a + r * k + j);
            ML_UNROLL(4)
            for (int v = 0; v < VECTORS; v++)
                sums[r * VECTORS + v] = ADD_PAIRS(sums[r * VECTORS + v], x, weights[v]);
        }
    }
    ML_UNROLL(12)
    for (int r = 0; r < rows; r++) ML_UNROLL(4)
    for (int v = 0; v < VECTORS; v++) STORE_S32(y + r * n + v * LANES, sums[r * VECTORS + v]);
}

/* A function for each number of rows. */
#define MULTIPLY(rows)                                                                           \
    static void multiply_##rows(const int16_t *a, int64_t k, const int16_t *w, int32_t *y,       \
                                int64_t n) {                                                     \
        multiply_rows(a, k, w, y, n, rows);                                                      \
    }
PAIR_ROW_COUNTS(MULTIPLY)
#define NAME(rows) multiply_##rows,

static void multiply_all(const ml_matmul_s16_args *args) {
    static void (*const multiply[])(const int16_t *, int64_t, const int16_t *, int32_t *,
                                    int64_t) = {NULL, PAIR_ROW_COUNTS(NAME)};
    const ml_matmul_s16_args p = *args;
    const int64_t parts = ml_ceil_div(p.rows, PAIR_ROWS);
    for (int64_t i = 0; i < p.products; i++) {
        const int16_t *w = p.packed + i * p.k * p.n;
        for (int64_t o = 0; o < p.n; o += ML_PANEL_S16, w += p.k * ML_PANEL_S16)
            for (int64_t part = 0, row = 0; part < parts; part++) {
                const int64_t rows = ml_ceil_div(p.rows - row, parts - part);
                multiply[rows](p.a + i * p.a_step + row * p.k, p.k, w,
                               p.y + i * p.y_step + row * p.n + o, p.n);
                row += rows;
            }
    }
}
