/* matrix.c -- small matrices transposed in registers, larger ones tile by tile. */
#include "rules/matrix.h"

#include "rules/nest.h"

#ifdef __clang__
#define INTERLEAVE(vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define INTERLEAVE(vector, a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif

/* Transposes SIDE rows of 16 bytes, the first `rows` of which are there, into the first `columns` columns: interleaving the
 * first half of the rows with the second, once per doubling, is a perfect shuffle of the indices. */
#define TILE(name, type, SIDE, LOW, HIGH)                                                                       \
    typedef type name##_vector __attribute__((vector_size(16)));                                                \
    static inline void name(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t rows, \
                            int64_t columns) {                                                                  \
        name##_vector a[SIDE] = {{0}}, b[SIDE];                                                                 \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++)                                                 \
            if (i < rows) memcpy(&a[i], from + i * from_step, 16);                                              \
        _Pragma("GCC unroll 4") for (int half = 1; half < SIDE; half *= 2) {                                    \
            _Pragma("GCC unroll 8") for (int i = 0; i < SIDE / 2; i++) {                                        \
                b[2 * i] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], LOW);                               \
                b[2 * i + 1] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], HIGH);                          \
            }                                                                                                   \
            _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) a[i] = b[i];                                \
        }                                                                                                       \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++)                                                 \
            if (i < columns) memcpy(to + i * to_step, &a[i], 16);                                               \
    }
#define LIST(...) __VA_ARGS__
TILE(tile_8, uint8_t, 16, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
     LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TILE(tile_16, uint16_t, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TILE(tile_32, uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TILE(tile_64, uint64_t, 2, LIST(0, 2), LIST(1, 3))

typedef void tile_fn(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                     int64_t rows, int64_t columns);

/* Sixteen tiles by way of a buffer, whose lines are then written whole. */
static inline void transpose_block(const ml_matrix *m, int64_t side, tile_fn *tile, int64_t row,
                                   int64_t column) {
    uint8_t lines[64 * 64];
    const uint8_t *from = m->from + row * m->from_step + column * m->element;
    uint8_t *to = m->to + column * m->to_step + row * m->element;
    for (int64_t r = 0; r < 4; r++)
        for (int64_t c = 0; c < 4; c++)
            tile(lines + c * side * 64 + r * 16, 64, from + r * side * m->from_step + c * 16,
                 m->from_step, side, side);
    for (int64_t c = 0; c < 4 * side; c++) memcpy(to + c * m->to_step, lines + c * 64, 64);
}

/* The tiles of some rows, a multiple of `side`, and all columns from `column` on: down the rows first, to fill lines of the
 * cache on the way. The last column of tiles begins early enough to be whole; what it repeats is the same. */
static inline void transpose_rows(ml_matrix m, int64_t side, tile_fn *tile, int64_t row,
                                  int64_t rows, int64_t column) {
    m.to += row * m.element;
    m.from += row * m.from_step;
    int64_t end = m.columns - side;
    for (int64_t c = column; c <= end; c += side)
        for (int64_t r = 0; r < rows; r += side)
            tile(m.to + c * m.to_step + r * m.element, m.to_step,
                 m.from + r * m.from_step + c * m.element, m.from_step, side, side);
    if ((m.columns - column) % side == 0) return;
    for (int64_t r = 0; r < rows; r += side)
        tile(m.to + end * m.to_step + r * m.element, m.to_step,
             m.from + r * m.from_step + end * m.element, m.from_step, side, side);
}

/* Whether the lines that a block of tiles writes come to lie in too few sets of a first-level cache (4096 bytes a way), so
 * that they would push each other out between two tiles. */
static bool crowded(const ml_matrix *m, int64_t side) {
    int64_t apart = m->to_step & -m->to_step, sets = apart >= 4096 ? 1 : 4096 / apart;
    return 4 * side > 6 * sets;
}

/* A side shorter than a tile. Moves of 16 bytes reach beyond it: reads into the next row, writes into what is written next.
 * What lies at the end, where too little follows, is copied one by one, and so is all of it where rows leave gaps. */
static inline void transpose_narrow(const ml_matrix *m, int64_t side, tile_fn *tile) {
    int64_t narrow = m->rows < m->columns ? m->rows : m->columns, element = m->element;
    bool few_rows = m->rows < m->columns,
         near = narrow * element == (few_rows ? m->to_step : m->from_step);
    int64_t length = few_rows ? m->columns : m->rows, done = 0;
    for (; near && done + side <= length; done += side) {
        if ((length - done - side + 1) * narrow * element < 16) break;
        if (few_rows)
            tile(m->to + done * m->to_step, m->to_step, m->from + done * element, m->from_step,
                 m->rows, side);
        else
            tile(m->to + done * element, m->to_step, m->from + done * m->from_step, m->from_step,
                 side, m->columns);
    }
    ml_turns along = {length - done, few_rows ? m->to_step : element,
                      few_rows ? element : m->from_step};
    ml_turns across = {narrow, few_rows ? element : m->to_step, few_rows ? m->from_step : element};
    ml_copy_runs(m->to + done * along.to, m->from + done * along.from, element, across, along);
}

static inline void transpose_by(const ml_matrix *m, int64_t side, tile_fn *tile) {
    if (m->rows < side || m->columns < side) {
        transpose_narrow(m, side, tile);
        return;
    }
    bool by_lines = crowded(m, side);
    int64_t r = 0;
    for (; r + 4 * side <= m->rows; r += 4 * side) {
        int64_t c = 0;
        for (; by_lines && c + 4 * side <= m->columns; c += 4 * side)
            transpose_block(m, side, tile, r, c);
        transpose_rows(*m, side, tile, r, 4 * side, c);
    }
    for (; r < m->rows; r += side)
        transpose_rows(*m, side, tile, r + side <= m->rows ? r : m->rows - side, side, 0);
}

void ml_transpose(const ml_matrix *m) {
    switch (m->element) {
    case 1: transpose_by(m, 16, tile_8); return;
    case 2: transpose_by(m, 8, tile_16); return;
    case 4: transpose_by(m, 4, tile_32); return;
    default: transpose_by(m, 2, tile_64);
    }
}
