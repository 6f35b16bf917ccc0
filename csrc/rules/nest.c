/* nest.c -- builds and walks the nest of copies: planes of runs, small matrices transposed in registers, gaps filled. */
#include "rules/nest.h"

#include "rules/pick.h"

/* Building ----------------------------------------------------------------------------------------------------------- */

void ml_pitches_of(const ml_shape *shape, int64_t element, int64_t pitches[ML_MAX_RANK]) {
    for (int32_t d = shape->rank - 1; d >= 0; element *= shape->dims[d--]) pitches[d] = element;
}

void ml_pitches(const ml_tensor *tensor, int64_t pitches[ML_MAX_RANK]) {
    ml_pitches_of(&tensor->shape, ml_unit(tensor), pitches);
}

void ml_nest_begin(ml_nest *nest, int64_t element) {
    nest->start = 0;
    nest->run = element;
    nest->n = 0;
    nest->across = -1;
}

void ml_nest_add(ml_nest *nest, int64_t count, int64_t step) {
    if (count == 1) return; /* whatever its step */
    int32_t last = nest->n - 1;
    if (last >= 0 && nest->steps[last] == count * step && nest->counts[last] * count <= INT32_MAX) {
        nest->counts[last] *= (int32_t)count;
        nest->steps[last] = step;
    } else {
        nest->counts[nest->n] = (int32_t)count;
        nest->steps[nest->n++] = step;
    }
}

void ml_nest_end(ml_nest *nest) {
    while (nest->n > 0 && nest->steps[nest->n - 1] == nest->run)
        nest->run *= nest->counts[--nest->n];
    bool element = nest->run == 1 || nest->run == 2 || nest->run == 4 || nest->run == 8;
    if (nest->n < 2 || !element || nest->steps[nest->n - 1] == 0) return;
    for (int16_t d = 0; d < nest->n - 1; d++)
        if (nest->steps[d] == nest->run &&
            (nest->across < 0 || nest->counts[d] > nest->counts[nest->across]))
            nest->across = d;
}

int64_t ml_nest_at(const ml_nest *nest, int64_t at) {
    int64_t offset = nest->start + at % nest->run, index = at / nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        offset += index % nest->counts[d] * nest->steps[d];
        index /= nest->counts[d];
    }
    return offset;
}

/* Planes of runs ------------------------------------------------------------------------------------------------------- */

void ml_copy_runs(void *to, const void *from, int64_t run, ml_turns outer, ml_turns inner) {
    uint8_t *y = to;
    const uint8_t *x = from;
#define PLANE(MOVE)                                                       \
    for (int64_t i = 0; i < outer.count; i++, y += outer.to, x += outer.from) \
        for (int64_t j = 0; j < inner.count; j++)                         \
            MOVE(y + j * inner.to, x + j * inner.from, run);
    if (run > 0) ML_BY_RUN(run, PLANE);
#undef PLANE
}

void ml_copy_indexed(void *to, const void *from, int64_t run, const int64_t *indices,
                     int64_t count) {
    uint8_t *y = to;
    const uint8_t *x = from;
#define INDEXED(MOVE) \
    for (int64_t i = 0; i < count; i++) MOVE(y + i * run, x + indices[i] * run, run);
    if (run > 0) ML_BY_RUN(run, INDEXED);
#undef INDEXED
}

/* Doubling up to what the first-level cache holds. */
void ml_repeat(void *to, int64_t run, int64_t count) {
    uint8_t *y = to;
    int64_t end = run * (count + 1), chunk = run;
    for (int64_t done = run; done < end; done += chunk) {
        if (done == 2 * chunk && chunk <= 8192) chunk = done;
        if (chunk > end - done) chunk = end - done;
        memcpy(y + done, y, (size_t)chunk);
    }
}

/* Matrices ------------------------------------------------------------------------------------------------------------- */

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

/* A matrix whose rows lie `step` bytes apart becomes one whose rows do so. */
typedef struct matrix {
    uint8_t *to;
    const uint8_t *from;
    int64_t to_step;
    int64_t from_step;
    int64_t rows; /* of `from` */
    int64_t columns;
    int64_t element; /* bytes */
} matrix;

typedef void tile_fn(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                     int64_t rows, int64_t columns);

/* Sixteen tiles by way of a buffer, whose lines are then written whole. */
static inline void transpose_block(const matrix *m, int64_t side, tile_fn *tile, int64_t row,
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
static inline void transpose_rows(matrix m, int64_t side, tile_fn *tile, int64_t row, int64_t rows,
                                  int64_t column) {
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
static bool crowded(const matrix *m, int64_t side) {
    int64_t apart = m->to_step & -m->to_step, sets = apart >= 4096 ? 1 : 4096 / apart;
    return 4 * side > 6 * sets;
}

/* A side shorter than a tile. Moves of 16 bytes reach beyond it: reads into the next row, writes into what is written next.
 * What lies at the end, where too little follows, is copied one by one, and so is all of it where rows leave gaps. */
static inline void transpose_narrow(const matrix *m, int64_t side, tile_fn *tile) {
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

static inline void transpose_by(const matrix *m, int64_t side, tile_fn *tile) {
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

static void transpose(const matrix *m) {
    switch (m->element) {
    case 1: transpose_by(m, 16, tile_8); return;
    case 2: transpose_by(m, 8, tile_16); return;
    case 4: transpose_by(m, 4, tile_32); return;
    default: transpose_by(m, 2, tile_64);
    }
}

/* Walks ---------------------------------------------------------------------------------------------------------------- */

typedef struct gather_walk {
    const ml_nest *nest;
    int32_t
        plane; /* the dimension that makes a plane with the innermost one; -1: there is but one */
    int64_t pitches[ML_MAX_RANK]; /* bytes from index to index on the packed side */
} gather_walk;

static void gather_plane(const gather_walk *w, const uint8_t *from, uint8_t *to) {
    const ml_nest *nest = w->nest;
    int32_t last = nest->n - 1, plane = w->plane;
    ml_turns inner = {nest->counts[last], w->pitches[last], nest->steps[last]}, outer = {1, 0, 0};
    if (plane >= 0) outer = (ml_turns){nest->counts[plane], w->pitches[plane], nest->steps[plane]};
    if (nest->across >= 0) {
        matrix m = {to, from, outer.to, inner.from, inner.count, outer.count, nest->run};
        transpose(&m);
    } else if (inner.from == 0) {
        for (int64_t i = 0; i < outer.count; i++) {
            memcpy(to + i * outer.to, from + i * outer.from, (size_t)nest->run);
            ml_repeat(to + i * outer.to, nest->run, inner.count - 1);
        }
    } else {
        ml_copy_runs(to, from, nest->run, outer, inner);
    }
}

static void gather_from(const gather_walk *w, int32_t d, const uint8_t *from, uint8_t *to) {
    if (d == w->plane) d++;
    if (d >= w->nest->n - 1) {
        gather_plane(w, from, to);
        return;
    }
    for (int64_t i = 0; i < w->nest->counts[d]; i++)
        gather_from(w, d + 1, from + i * w->nest->steps[d], to + i * w->pitches[d]);
}

static gather_walk walk_of(const ml_nest *nest, int32_t plane) {
    gather_walk w = {.nest = nest, .plane = plane};
    int64_t pitch = nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        w.pitches[d] = pitch;
        pitch *= nest->counts[d];
    }
    return w;
}

void ml_nest_gather(const ml_nest *nest, const void *from, void *to) {
    const uint8_t *x = (const uint8_t *)from + nest->start;
    if (nest->n == 0) {
        memcpy(to, x, (size_t)nest->run);
        return;
    }
    gather_walk w = walk_of(nest, nest->across >= 0 ? nest->across : nest->n - 2);
    gather_from(&w, 0, x, to);
}

static void scatter_from(const gather_walk *w, int32_t d, const uint8_t *from, uint8_t *to) {
    const ml_nest *nest = w->nest;
    if (d < nest->n - 2) {
        for (int64_t i = 0; i < nest->counts[d]; i++)
            scatter_from(w, d + 1, from + i * w->pitches[d], to + i * nest->steps[d]);
        return;
    }
    ml_turns turns[2] = {{1, 0, 0}, {1, 0, 0}};
    for (int32_t k = d; k < nest->n; k++)
        turns[k - nest->n + 2] = (ml_turns){nest->counts[k], nest->steps[k], w->pitches[k]};
    ml_copy_runs(to, from, nest->run, turns[0], turns[1]);
}

void ml_nest_scatter(const ml_nest *nest, const void *from, void *to) {
    const gather_walk w = walk_of(nest, -1);
    scatter_from(&w, 0, from, (uint8_t *)to + nest->start);
}

static ml_status pick(const ml_call *c, int64_t k, int64_t *index) {
    *index = ml_nest_at(c->blob, k);
    return ML_OK;
}

ml_status ml_nest_move(const ml_call *c) {
    if (ml_type_bytes(ml_out_tensor(c, 0)->type) == 0) return ml_pick_elements(c, pick);
    if (ml_out_tensor(c, 0)->bytes > 0) ml_nest_gather(c->blob, ml_in(c, 0), ml_out(c, 0));
    return ML_OK;
}

/* `bytes` of equal elements, so that the last move may begin at any of them. */
static void fill(uint8_t *to, int64_t bytes, const uint8_t equal[16]) {
    if (bytes <= 0) return;
    memcpy(to, equal, bytes < 16 ? (size_t)bytes : 16);
    if (bytes <= 16) return;
    ml_repeat(to, 16, bytes / 16 - 1);
    memcpy(to + bytes - 16, equal, 16);
}

typedef struct pad_walk {
    const ml_nest *nest;
    const uint8_t *from; /* what is copied next */
    uint8_t *to; /* what is written next */
    uint8_t equal[64];
} pad_walk;

/* The innermost dimension: its runs, then the gaps between them. */
static void pad_line(pad_walk *w, uint8_t *at) {
    int64_t count = w->nest->counts[w->nest->n - 1], step = w->nest->steps[w->nest->n - 1];
    int64_t run = w->nest->run, gap = step - run;
    fill(w->to, at - w->to, w->equal);
    ml_copy_runs(at, w->from, run, (ml_turns){1, 0, 0}, (ml_turns){count, step, run});
    if (gap <= 64)
        ml_copy_runs(at + run, w->equal, gap, (ml_turns){1, 0, 0}, (ml_turns){count - 1, step, 0});
    else
        for (int64_t i = 0; i < count - 1; i++) fill(at + i * step + run, gap, w->equal);
    w->from += count * run;
    w->to = at + (count - 1) * step + run;
}

static void pad_from(pad_walk *w, int32_t d, uint8_t *at) {
    if (d == w->nest->n - 1) {
        pad_line(w, at);
        return;
    }
    for (int64_t i = 0; i < w->nest->counts[d]; i++) pad_from(w, d + 1, at + i * w->nest->steps[d]);
}

void ml_nest_pad(const ml_nest *nest, const void *from, void *to, int64_t bytes,
                 const uint8_t equal[16]) {
    pad_walk w = {.nest = nest, .from = from, .to = to};
    if (nest->n > 0 && nest->run > 0) {
        for (int i = 0; i < 4; i++) memcpy(w.equal + 16 * i, equal, 16);
        pad_from(&w, 0, w.to + nest->start);
    } else if (nest->run > 0) {
        fill(w.to, nest->start, equal);
        memcpy(w.to + nest->start, from, (size_t)nest->run);
        w.to += nest->start + nest->run;
    }
    fill(w.to, (uint8_t *)to + bytes - w.to, equal);
}
