/* nest.c -- builds and walks the nest of copies: planes of runs, small matrices transposed in registers, gaps filled. */
#include "rules/nest.h"

/* Building ----------------------------------------------------------------------------------------------------------- */

void ml_nest_begin(ml_nest *nest, int64_t element) {
    *nest = (ml_nest){.run = element, .across = -1};
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
    while (nest->n > 0 && nest->steps[nest->n - 1] == nest->run) nest->run *= nest->counts[--nest->n];
    bool element = nest->run == 1 || nest->run == 2 || nest->run == 4 || nest->run == 8;
    if (nest->n < 2 || !element || nest->steps[nest->n - 1] == 0) return;
    for (int16_t d = 0; d < nest->n - 1; d++)
        if (nest->steps[d] == nest->run && (nest->across < 0 || nest->counts[d] > nest->counts[nest->across]))
            nest->across = d;
}

int64_t ml_nest_at(const ml_nest *nest, int64_t index) {
    int64_t offset = nest->start;
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

/* Transposes SIDE rows of 16 bytes: interleaving the first half of the rows with the second, once per doubling, is a perfect
 * shuffle of the indices. */
#define TILE(name, type, SIDE, LOW, HIGH)                                                                       \
    typedef type name##_vector __attribute__((vector_size(16)));                                                \
    static inline void name(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step) {             \
        name##_vector a[SIDE], b[SIDE];                                                                         \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) memcpy(&a[i], from + i * from_step, 16);        \
        _Pragma("GCC unroll 4") for (int half = 1; half < SIDE; half *= 2) {                                    \
            _Pragma("GCC unroll 8") for (int i = 0; i < SIDE / 2; i++) {                                        \
                b[2 * i] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], LOW);                               \
                b[2 * i + 1] = INTERLEAVE(name##_vector, a[i], a[i + SIDE / 2], HIGH);                          \
            }                                                                                                   \
            _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) a[i] = b[i];                                \
        }                                                                                                       \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) memcpy(to + i * to_step, &a[i], 16);            \
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

/* Columns and rows that fill no tile. */
static void transpose_rest(const matrix *m, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    ml_turns down = {rows, m->element, m->from_step}, along = {columns, m->to_step, m->element};
    uint8_t *to = m->to + column * m->to_step + row * m->element;
    const uint8_t *from = m->from + row * m->from_step + column * m->element;
    if (rows > columns) ml_copy_runs(to, from, m->element, along, down);
    else ml_copy_runs(to, from, m->element, down, along);
}

typedef void tile_fn(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step);

/* Tile by tile; those that fill one line of the cache on each side follow each other. */
static inline void transpose_tiles(const matrix *m, int64_t side, tile_fn *tile) {
    int64_t rows = m->rows - m->rows % side, columns = m->columns - m->columns % side;
    for (int64_t r = 0; r < rows; r += 4 * side) {
        int64_t r_end = r + 4 * side < rows ? r + 4 * side : rows;
        for (int64_t c = 0; c < columns; c += side)
            for (int64_t i = r; i < r_end; i += side)
                tile(m->to + c * m->to_step + i * m->element, m->to_step,
                     m->from + i * m->from_step + c * m->element, m->from_step);
    }
    transpose_rest(m, rows, m->rows - rows, 0, m->columns);
    transpose_rest(m, 0, rows, columns, m->columns - columns);
}

static void transpose(const matrix *m) {
    switch (m->element) {
    case 1: transpose_tiles(m, 16, tile_8); return;
    case 2: transpose_tiles(m, 8, tile_16); return;
    case 4: transpose_tiles(m, 4, tile_32); return;
    default: transpose_tiles(m, 2, tile_64);
    }
}

/* Walks ---------------------------------------------------------------------------------------------------------------- */

typedef struct gather_walk {
    const ml_nest *nest;
    int32_t plane; /* the dimension that makes a plane with the innermost one; -1: there is but one */
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

void ml_nest_gather(const ml_nest *nest, const void *from, void *to) {
    const uint8_t *x = (const uint8_t *)from + nest->start;
    if (nest->n == 0) {
        memcpy(to, x, (size_t)nest->run);
        return;
    }
    gather_walk w = {.nest = nest, .plane = nest->across >= 0 ? nest->across : nest->n - 2};
    int64_t pitch = nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        w.pitches[d] = pitch;
        pitch *= nest->counts[d];
    }
    gather_from(&w, 0, x, to);
}

typedef struct pad_walk {
    const ml_nest *nest;
    const uint8_t *from; /* what is copied next */
    uint8_t *to; /* what is written next */
    uint8_t fill[16];
    bool uniform; /* all its bytes are alike */
} pad_walk;

/* Fills up to `end`. The elements are equal, so that a last move may begin at any of them. */
static inline void fill_to(pad_walk *w, uint8_t *end) {
    int64_t bytes = end - w->to;
    if (bytes >= 16) {
        if (w->uniform && bytes > 256) memset(w->to, w->fill[0], (size_t)bytes);
        else
            for (int64_t i = 0; i < bytes - 16; i += 16) memcpy(w->to + i, w->fill, 16);
        memcpy(end - 16, w->fill, 16);
    } else if (bytes > 0) {
#define FILL(MOVE) MOVE(w->to, w->fill, bytes);
        ML_BY_RUN(bytes, FILL);
#undef FILL
    }
    w->to = end;
}

static void pad_from(pad_walk *w, int32_t d, uint8_t *at) {
    const ml_nest *nest = w->nest;
    if (d < nest->n - 1) {
        for (int64_t i = 0; i < nest->counts[d]; i++) pad_from(w, d + 1, at + i * nest->steps[d]);
        return;
    }
    int64_t count = nest->n ? nest->counts[d] : 1, step = nest->n ? nest->steps[d] : 0;
#define RUNS(MOVE)                                   \
    for (int64_t i = 0; i < count; i++, at += step) { \
        fill_to(w, at);                              \
        MOVE(at, w->from, nest->run);                \
        w->to += nest->run;                          \
        w->from += nest->run;                        \
    }
    ML_BY_RUN(nest->run, RUNS);
#undef RUNS
}

void ml_nest_pad(const ml_nest *nest, const void *from, void *to, int64_t bytes,
                 const uint8_t fill[16]) {
    pad_walk w = {.nest = nest, .from = from, .to = to};
    memcpy(w.fill, fill, 16);
    w.uniform = memcmp(fill, fill + 1, 15) == 0;
    if (nest->run > 0) pad_from(&w, 0, w.to + nest->start);
    fill_to(&w, (uint8_t *)to + bytes);
}
