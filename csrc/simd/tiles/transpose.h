/* transpose.h -- transposes matrices in vectors of 16 bytes, which every machine has: small ones in
 * registers, larger ones tile by tile. TILE(name, element, SIDE, LOW, HIGH) defines a tile of SIDE
 * rows; transpose_by(args, bytes of an element, SIDE, name) transposes a whole matrix. */
#include <stdbool.h>
#include <string.h>

#include "simd/simd.h"

#ifdef __clang__
#define INTERLEAVE(vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define INTERLEAVE(vector, a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif
#define LIST(...) __VA_ARGS__

/* Transposes SIDE rows of 16 bytes, the first `rows` of which are there, into the first `columns`
 * columns: interleaving the first half of the rows with the second, once per doubling, is a perfect
 * shuffle of the indices. */
#define TILE(name, type, SIDE, LOW, HIGH) \
    typedef type name##_vector __attribute__((vector_size(16))); \
    static inline void name(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t rows, \
                            int64_t columns) { \
        name##_vector a[SIDE] = {{0}}, b[SIDE]; \
        ML_UNROLL(16) for (int i = 0; i < SIDE; i++) \
            if (i < rows) memcpy(&a[i], from + i * from_step, 16); \
        ML_UNROLL(4) for (int half = 1; half < SIDE; half *= 2) {  \
            ML_UNROLL(8) for (int i = 0; i < SIDE / 2; i++) {                     \
                b[2 * i] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], LOW); \
                b[2 * i + 1] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], HIGH); \
            } \
            ML_UNROLL(16) for (int i = 0; i < SIDE; i++) a[i] = b[i]; \
        } \
        ML_UNROLL(16) for (int i = 0; i < SIDE; i++) \
            if (i < columns) memcpy(to + i * to_step, &a[i], 16); \
    }

typedef void tile_fn(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                     int64_t rows, int64_t columns);

/* Transposes sixteen tiles into a buffer, whose lines are then written whole. */
static inline void transpose_block(const ml_transpose_args *m, int64_t element, int64_t side,
                                   tile_fn *tile, int64_t row, int64_t column) {
    uint8_t lines[64 * 64];
    const uint8_t *from = m->x + row * m->x_step + column * element;
    uint8_t *to = m->y + column * m->y_step + row * element;
    for (int64_t r = 0; r < 4; r++)
        for (int64_t c = 0; c < 4; c++)
            tile(lines + c * side * 64 + r * 16, 64, from + r * side * m->x_step + c * 16,
                 m->x_step, side, side);
    for (int64_t c = 0; c < 4 * side; c++) memcpy(to + c * m->y_step, lines + c * 64, 64);
}

/* Transposes some rows, a multiple of `side`, and all columns from `column` on. Tiles go down the
 * rows first, so that lines of the cache are filled. The last column of tiles begins early enough
 * to be whole, and writes some elements again. */
static inline void transpose_rows(ml_transpose_args m, int64_t element, int64_t side, tile_fn *tile,
                                  int64_t row, int64_t rows, int64_t column) {
    m.y += row * element;
    m.x += row * m.x_step;
    int64_t end = m.columns - side;
    for (int64_t c = column; c <= end; c += side)
        for (int64_t r = 0; r < rows; r += side)
            tile(m.y + c * m.y_step + r * element, m.y_step, m.x + r * m.x_step + c * element,
                 m.x_step, side, side);
    if ((m.columns - column) % side == 0) return;
    for (int64_t r = 0; r < rows; r += side)
        tile(m.y + end * m.y_step + r * element, m.y_step, m.x + r * m.x_step + end * element,
             m.x_step, side, side);
}

/* True if the lines that a block of tiles writes fall into so few sets of a first-level cache (4096
 * bytes per way) that they would evict each other between two tiles. Tiles of bytes, which have
 * more to do meanwhile, wait for the second-level cache if a tile's own lines do not. */
static inline bool crowded(const ml_transpose_args *m, int64_t side) {
    int64_t apart = m->y_step & -m->y_step, sets = apart >= 4096 ? 1 : 4096 / apart;
    return (side < 16 ? 4 * side : side) > 6 * sets;
}

/* Transposes a matrix with a side shorter than a tile. Moves of 16 bytes reach beyond that side:
 * reads into the next row, writes into elements that are written next. At the end, where too little
 * follows, elements are copied one by one; so are all elements if there are gaps between rows. */
static inline void transpose_narrow(const ml_transpose_args *m, int64_t element, int64_t side,
                                    tile_fn *tile) {
    int64_t narrow = m->rows < m->columns ? m->rows : m->columns;
    bool few_rows = m->rows < m->columns,
         near = narrow * element == (few_rows ? m->y_step : m->x_step);
    int64_t length = few_rows ? m->columns : m->rows, done = 0;
    for (; near && done + side <= length; done += side) {
        if ((length - done - side + 1) * narrow * element < 16) break;
        if (few_rows)
            tile(m->y + done * m->y_step, m->y_step, m->x + done * element, m->x_step, m->rows,
                 side);
        else
            tile(m->y + done * element, m->y_step, m->x + done * m->x_step, m->x_step, side,
                 m->columns);
    }
    for (int64_t r = few_rows ? 0 : done; r < m->rows; r++)
        for (int64_t c = few_rows ? done : 0; c < m->columns; c++)
            memcpy(m->y + c * m->y_step + r * element, m->x + r * m->x_step + c * element,
                   (size_t)element);
}

__attribute__((always_inline)) static inline void
transpose_by(const ml_transpose_args *m, const int64_t element, const int64_t side, tile_fn *tile) {
    if (m->rows < side || m->columns < side) {
        transpose_narrow(m, element, side, tile);
        return;
    }
    bool by_lines = crowded(m, side);
    int64_t r = 0;
    for (; r + 4 * side <= m->rows; r += 4 * side) {
        int64_t c = 0;
        for (; by_lines && c + 4 * side <= m->columns; c += 4 * side)
            transpose_block(m, element, side, tile, r, c);
        transpose_rows(*m, element, side, tile, r, 4 * side, c);
    }
    for (; r < m->rows; r += side)
        transpose_rows(*m, element, side, tile, r + side <= m->rows ? r : m->rows - side, side, 0);
}
