/* transpose_x4.h -- transpose_x4 in square tiles of vectors, in the words of avx2 and above. */
#include "simd/tiles/transpose.h"
#include "simd/words.h"

TILE(tile_32, uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))

#define INLINE __attribute__((always_inline)) static inline

enum {
    LINE = 16,
    FEW = 4
}; /* elements of a line of the cache; the most columns, or rows, that are looked up */

/* Transposes LANES rows and columns: four columns at a time, so that a vector has every fourth row
 * of them. */
INLINE void square(const ml_transpose_args *m, int64_t row, int64_t column) {
    const uint8_t *x = m->x + row * m->x_step + column * 4;
    uint8_t *y = m->y + column * m->y_step + row * 4;
    ML_UNROLL(4)
    for (int i = 0; i < LANES; i += 4, x += 16, y += 4 * m->y_step) {
        const VECTOR a = FOURS(x, 4 * m->x_step), b = FOURS(x + m->x_step, 4 * m->x_step);
        const VECTOR c = FOURS(x + 2 * m->x_step, 4 * m->x_step);
        const VECTOR d = FOURS(x + 3 * m->x_step, 4 * m->x_step);
        const VECTOR p = UNPACK_LOW(a, b), q = UNPACK_HIGH(a, b);
        const VECTOR r = UNPACK_LOW(c, d), s = UNPACK_HIGH(c, d);
        STORE((float *)(void *)y, SHUFFLE(p, r, 0x44));
        STORE((float *)(void *)(y + m->y_step), SHUFFLE(p, r, 0xEE));
        STORE((float *)(void *)(y + 2 * m->y_step), SHUFFLE(q, s, 0x44));
        STORE((float *)(void *)(y + 3 * m->y_step), SHUFFLE(q, s, 0xEE));
    }
}

/* Transposes as many rows at a time as a line of the cache has elements, so that lines of y are
 * written whole, one after the other. The last squares begin early enough to be whole, and write
 * some elements again. */
static void by_squares(const ml_transpose_args *m) {
    for (int64_t row = 0; row < m->rows; row += LINE) {
        const int64_t end = row + LINE < m->rows ? row + LINE : m->rows;
        for (int64_t column = 0; column < m->columns; column += LANES) {
            const int64_t last = m->columns - LANES, c = column < last ? column : last;
            for (int64_t r = row; r < end; r += LANES)
                square(m, r < m->rows - LANES ? r : m->rows - LANES, c);
        }
    }
}

/* Lane i of vector k is element index[k][i] of vector from[k][i]. */
typedef struct places {
    VECTOR_S32 index[FEW], from[FEW];
} places;

INLINE VECTOR looked_up(const places *p, int k, const VECTOR *x, const int count) {
    VECTOR y = SPLAT(0.0f);
    ML_UNROLL(4)
    for (int i = 0; i < count; i++)
        y = LOOKUP_OR(y, EQUAL_S32(p->from[k], SPLAT_S32(i)), x[i], p->index[k]);
    return y;
}

static places places_of(const int count, const bool columns) {
    places p;
    for (int k = 0; k < count; k++) {
        int32_t index[LANES], from[LANES];
        for (int i = 0; i < LANES; i++) {
            const int at = columns ? i * count + k : k * LANES + i;
            index[i] = columns ? at % LANES : at / count;
            from[i] = columns ? at / LANES : at % count;
        }
        p.index[k] = LOAD_S32(index);
        p.from[k] = LOAD_S32(from);
    }
    return p;
}

/* Transposes `count` contiguous columns, or rows, whose elements are looked up in `count` vectors.
 * Returns how many elements of each are done. */
INLINE int64_t by_lookup(const ml_transpose_args *m, const int count, const bool columns) {
    const places p = places_of(count, columns);
    const int64_t length = columns ? m->rows : m->columns;
    int64_t at = 0;
    for (; at + LANES <= length; at += LANES) {
        VECTOR v[FEW];
        ML_UNROLL(4)
        for (int k = 0; k < count; k++)
            v[k] = LOAD((const float *)(const void *)(columns ? m->x + (at * count + k * LANES) * 4
                                                              : m->x + k * m->x_step + at * 4));
        ML_UNROLL(4)
        for (int k = 0; k < count; k++)
            STORE((float *)(void *)(columns ? m->y + k * m->y_step + at * 4
                                            : m->y + (at * count + k * LANES) * 4),
                  looked_up(&p, k, v, count));
    }
    return at;
}

INLINE void transpose(const ml_transpose_args *args) {
    ml_transpose_args m = *args; /* a copy, not read again after each store */
    int64_t done = 0;
    if (m.columns * 4 == m.x_step && m.columns == 2) done = by_lookup(&m, 2, true);
    else if (m.columns * 4 == m.x_step && m.columns == 3) done = by_lookup(&m, 3, true);
    else if (m.columns * 4 == m.x_step && m.columns == 4) done = by_lookup(&m, 4, true);
    m.x += done * m.x_step, m.y += done * 4, m.rows -= done;
    done = 0;
    if (m.rows * 4 == m.y_step && m.rows == 2) done = by_lookup(&m, 2, false);
    else if (m.rows * 4 == m.y_step && m.rows == 3) done = by_lookup(&m, 3, false);
    else if (m.rows * 4 == m.y_step && m.rows == 4) done = by_lookup(&m, 4, false);
    m.x += done * 4, m.y += done * m.y_step, m.columns -= done;
    const bool squares = m.rows >= LANES && m.columns >= LANES && !crowded(&m, 4);
    if (squares) by_squares(&m);
    else transpose_by(&m, 4, 4, tile_32);
}
