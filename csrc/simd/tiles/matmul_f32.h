/* matmul_f32.h -- matmul_f32 in register tiles, for vectors of any width.
 *
 * A tile is some rows times some panels, both constants where it is inlined, so that its sums stay
 * in registers. In each step of k the weights of the panels are loaded once, and multiplied by one
 * value of each row. Tiles of few rows have more panels, so that more sums are computed at once.
 *
 * The file that includes it defines TILES, the list of tiles, and may define
 *   FEW(p)                      computes all outputs if half a panel holds them
 *   NARROWS                     the numbers of rows for which there are tiles of a panel and a
 *                               half, if FMA_HALF(a, b, sum), the product of half a vector, may
 *                               take half as long as that of a whole one
 *   ADD_LANES(a, a_stride, w, panel_floats, count, rows, vectors, sums)
 *                               adds the products of several steps of k at a time, and returns the
 *                               number of steps done
 *   STEPS                       the steps of k that the loop unrolls, if its own instructions are
 *                               many beside those of a tile */
#include "simd/words.h"

enum {
    PANEL = PANEL_F32,
    ROWS = ROWS_F32,
    VECTORS = PANEL / LANES, /* vectors in a panel */
    MOST_ROWS = 2 * ROWS,
    MOST_PANELS = 8,
    MOST_SUMS = 32,
    /* Floats of weights by which all rows are multiplied before the next ones are read, so that
     * they stay in the cache. */
    NEAR_FLOATS = 64 * 1024
};

/* The beginning of a tile. */
typedef struct tile_place {
    int64_t row;
    int64_t panel;
    int64_t panel_floats;
} tile_place;

static inline int64_t panel_floats_of(const ml_matmul_f32_args *p) {
    return (p->packed_k ? p->packed_k : p->pieces * p->k) * PANEL;
}

#ifndef FMA_HALF
#define FMA_HALF(a, b, sum) FMA(a, b, sum)
#endif
#define INLINE __attribute__((always_inline)) static inline

/* sums += `count` steps of k. Rows are addressed in groups of four, so that few registers hold
 * addresses. The empty asm keeps the compiler from computing the addresses of all groups in
 * advance. */
INLINE void add_products(const float *a, int64_t a_stride, const float *w, int64_t panel_floats,
                         int64_t count, const int rows, const int vectors, const bool narrow,
                         VECTOR *sums) {
    const float *group[(MOST_ROWS + 3) / 4];
    int64_t j = 0;
#ifdef ADD_LANES
    j = ADD_LANES(a, a_stride, w, panel_floats, count, rows, vectors, sums);
#endif
    ML_UNROLL(8)
    for (int g = 0; g < (rows + 3) / 4; g++) {
        group[g] = a + 4 * g * a_stride;
        __asm__("" : "+r"(group[g]));
    }
#ifdef STEPS
    ML_UNROLL(STEPS)
#endif
    for (; j < count; j++) {
        VECTOR weights[MOST_PANELS];
        ML_UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const float *panel = w + v / VECTORS * panel_floats;
            weights[v] = LOAD(panel + j * PANEL + v % VECTORS * LANES);
        }
        ML_UNROLL(16)
        for (int r = 0; r < rows; r++) {
            VECTOR x = SPLAT(group[r / 4][r % 4 * a_stride + j]);
            ML_UNROLL(8)
            for (int v = 0; v < vectors; v++) {
                int i = r * vectors + v;
                sums[i] = narrow && v == vectors - 1 ? FMA_HALF(x, weights[v], sums[i])
                                                     : FMA(x, weights[v], sums[i]);
            }
        }
    }
}

/* Adds bias to the sums of a tile, clamps, and writes the columns that exist. */
INLINE void store_tile(const ml_matmul_f32_args *p, const tile_place *at, const VECTOR *total,
                       const int rows, const int vectors, const bool narrow) {
    VECTOR low = SPLAT(p->low), high = SPLAT(p->high);
    const int64_t begin = at->panel * PANEL;
    if (narrow) { /* row by row, in the order of memory; the same below */
        float *y = p->y + at->row * p->y_stride + begin;
        const int part = (int)(p->n - begin) - LANES;
        const VECTOR whole = p->bias ? LOAD(p->bias + begin) : SPLAT(0.0f),
                     last = p->bias ? LOAD_PART(p->bias + begin + LANES, part) : SPLAT(0.0f);
        ML_UNROLL(16)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            STORE(y, CLAMP(ADD(total[2 * r], whole), low, high));
            STORE_PART(y + LANES, CLAMP(ADD(total[2 * r + 1], last), low, high), part);
        }
        return;
    }
    if (p->n - begin >= vectors * LANES) {
        float *y = p->y + at->row * p->y_stride + begin;
        VECTOR bias[MOST_PANELS * VECTORS];
        ML_UNROLL(8)
        for (int v = 0; v < vectors; v++)
            bias[v] = p->bias ? LOAD(p->bias + begin + v * LANES) : SPLAT(0.0f);
        ML_UNROLL(16)
        for (int r = 0; r < rows; r++, y += p->y_stride) ML_UNROLL(8)
        for (int v = 0; v < vectors; v++)
            STORE(y + v * LANES, CLAMP(ADD(total[r * vectors + v], bias[v]), low, high));
        return;
    }
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        int64_t column = begin + v * LANES, left = p->n - column;
        if (left <= 0) return;
        const int part = left < LANES ? (int)left : LANES;
        const bool whole = part == LANES && !FREE_MASKS;
        float *y = p->y + at->row * p->y_stride + column;
        VECTOR bias = SPLAT(0.0f);
        if (p->bias) bias = whole ? LOAD(p->bias + column) : LOAD_PART(p->bias + column, part);
        ML_UNROLL(16)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            VECTOR value = CLAMP(ADD(total[r * vectors + v], bias), low, high);
            if (whole) STORE(y, value);
            else STORE_PART(y, value, part);
        }
    }
}

/* Prefetches the memory that a tile will write while its sums are computed, because stores to so
 * many lines at once would wait. */
INLINE void fetch_outputs(const ml_matmul_f32_args *p, const tile_place *at, const int rows,
                          const int vectors) {
    const float *y = p->y + at->row * p->y_stride + at->panel * PANEL;
    ML_UNROLL(16)
    for (int r = 0; r < rows; r++, y += p->y_stride) ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) __builtin_prefetch(y + v * LANES, 1, 3);
}

/* Computes a tile: ML_CHUNK_F32 products are summed at a time, and then those sums. Their totals
 * lie in memory, to leave the registers to the sums; most tiles have too few products to need
 * totals. */
INLINE void tile(const ml_matmul_f32_args *p, const tile_place *at, const int rows,
                 const int vectors, const bool narrow) {
    const int count = rows * vectors;
    VECTOR total[MOST_SUMS], sums[MOST_SUMS];
    const float *w = p->packed + at->panel * at->panel_floats;
    int64_t room = ML_CHUNK_F32;
    int chunks = 0;
    __asm__("" : "=m"(total));
    if (p->far) fetch_outputs(p, at, rows, vectors);
    ML_UNROLL(32)
    for (int i = 0; i < count; i++) sums[i] = SPLAT(0.0f);
    for (int64_t piece = 0; piece < p->pieces; piece++) {
        const float *a = p->a + at->row * p->a_stride + piece * p->piece_stride;
        for (int64_t left = p->k; left > 0;) {
            int64_t steps = left < room ? left : room;
            add_products(a, p->a_stride, w, at->panel_floats, steps, rows, vectors, narrow, sums);
            a += steps;
            w += steps * PANEL;
            left -= steps;
            room -= steps;
            if (room > 0) continue;
            room = ML_CHUNK_F32;
            ML_UNROLL(32)
            for (int i = 0; i < count; i++) {
                total[i] = chunks ? ADD(total[i], sums[i]) : sums[i];
                sums[i] = SPLAT(0.0f);
            }
            __asm__("" : "+m"(total));
            chunks++;
        }
    }
    ML_UNROLL(32)
    for (int i = 0; chunks && i < count; i++) sums[i] = ADD(total[i], sums[i]);
    store_tile(p, at, sums, rows, vectors, narrow);
}

#define DEFINE(rows, panels)                                                                \
    static void tile_##rows##x##panels(const ml_matmul_f32_args *p, const tile_place *at) { \
        tile(p, at, rows, (panels) * VECTORS, false);                                       \
    }
TILES(DEFINE)

typedef void tile_fn(const ml_matmul_f32_args *p, const tile_place *at);

#define ENTRY(rows, panels) [rows][panels] = tile_##rows##x##panels,
static tile_fn *const tiles[ROWS + 1][MOST_PANELS + 1] = {TILES(ENTRY)};

#ifdef NARROWS
#define DEFINE_NARROW(rows) \
    static void narrow_##rows(const ml_matmul_f32_args *p, const tile_place *at) { tile(p, at, rows, 2 * VECTORS, true); }
#define NARROW_ENTRY(rows) [rows] = narrow_##rows,
NARROWS(DEFINE_NARROW)
static tile_fn *const narrow_tiles[ROWS + 1] = {NARROWS(NARROW_ENTRY)};

/* True if panels first .. end - 1 are the last ones: one or two whole ones, and at most half of
 * another. */
static inline bool ends_narrow(const ml_matmul_f32_args *p, int64_t first, int64_t end) {
    const int64_t left = p->n - first * PANEL;
    return end * PANEL >= p->n && left > PANEL && left <= 2 * PANEL + PANEL / 2 &&
           (left - 1) % PANEL < PANEL / 2;
}
#endif

/* Finds the tile for panels from `first` on. *width is the most panels it may have; it is set to
 * the number it has. */
static inline tile_fn *next_tile(const ml_matmul_f32_args *p, int rows, int64_t first, int64_t end,
                                 int *width) {
    while (*width > end - first || !tiles[rows][*width]) *width /= 2;
#ifdef NARROWS
    if (narrow_tiles[rows] && ends_narrow(p, first, end)) {
        *width = end - first == 2 ? 2 : 1;
        if (*width == 2) return narrow_tiles[rows];
    }
#endif
    return tiles[rows][*width];
}

/* Multiplies all rows by panels first .. end - 1. The rows are divided evenly among as few tiles as
 * possible. */
static void meet(const ml_matmul_f32_args *p, int64_t first, int64_t end, int64_t panel_floats) {
    int most = MOST_PANELS;
    while (most > end - first) most /= 2;
    for (int64_t row = 0, rows; row < p->rows; row += rows) {
        rows = ml_even_part(p->rows - row, ROWS);
        int width = most;
        for (int64_t panel = first; panel < end; panel += width) {
            const tile_place at = {row, panel, panel_floats};
            next_tile(p, (int)rows, panel, end, &width)(p, &at);
        }
    }
}

#ifdef FEW
static void only_half(const ml_matmul_f32_args *p) { FEW(p); }
#else
/* Tiles for outputs that the first half of a panel holds: half as wide, and up to twice as high;
 * and for those of a panel and a half. */
#define HALVES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define WIDES(X) X(1) X(2) X(3) X(4)
#define DEFINE_HALF(rows) \
    static void half_##rows(const ml_matmul_f32_args *p, const tile_place *at) { tile(p, at, rows, VECTORS / 2, false); }
#define DEFINE_WIDE(rows) \
    static void wide_##rows(const ml_matmul_f32_args *p, const tile_place *at) { tile(p, at, rows, VECTORS + VECTORS / 2, false); }
#define HALF_ENTRY(rows) [rows] = half_##rows,
#define WIDE_ENTRY(rows) [rows] = wide_##rows,
HALVES(DEFINE_HALF)
WIDES(DEFINE_WIDE)
static tile_fn *const halves[] = {HALVES(HALF_ENTRY)}, *const wides[] = {WIDES(WIDE_ENTRY)};
enum { WIDE_ROWS = sizeof wides / sizeof *wides - 1 };
_Static_assert(VECTORS == 2 && MOST_ROWS <= 12, "two vectors of a row are one of two rows");

/* The rows are divided evenly among as few tiles as possible. */
static void in_tiles(const ml_matmul_f32_args *p, tile_fn *const *by_rows, int most) {
    for (int64_t row = 0, rows; row < p->rows; row += rows) {
        rows = ml_even_part(p->rows - row, most);
        const tile_place at = {row, 0, panel_floats_of(p)};
        by_rows[rows](p, &at);
    }
}

static void only_half(const ml_matmul_f32_args *p) { in_tiles(p, halves, MOST_ROWS); }

/* Returns the arguments for the outputs from a panel on. */
INLINE ml_matmul_f32_args from_panel(const ml_matmul_f32_args *p, int64_t panel,
                                     int64_t panel_floats) {
    ml_matmul_f32_args rest = *p;
    rest.packed += panel * panel_floats;
    rest.y += panel * PANEL;
    rest.n -= panel * PANEL;
    if (p->bias) rest.bias += panel * PANEL;
    return rest;
}
#endif

/* If half a panel holds the last outputs, they are computed with those of the panel before, because
 * a whole panel would compute as many outputs again that nobody reads. FEW sums in another order,
 * so it is used only if it computes all outputs. */
INLINE void multiply(const ml_matmul_f32_args *p) {
    const int64_t panel_floats = panel_floats_of(p);
    if (p->n > 0 &&
        p->n <= PANEL / 2) { /* not a copy, which would wait until the arguments are written */
        only_half(p);
        return;
    }
    int64_t panels = ml_ceil_div(p->n, PANEL);
#ifndef FEW
    const bool is_wide = p->n % PANEL > 0 && p->n % PANEL <= PANEL / 2;
    if (is_wide) panels -= 2;
#endif
    int64_t near = panels;
    if (panels > MOST_PANELS && panel_floats > 0)
        near = NEAR_FLOATS / panel_floats / MOST_PANELS * MOST_PANELS;
    if (near < MOST_PANELS) near = MOST_PANELS;
    for (int64_t first = 0; first < panels; first += near)
        meet(p, first, panels - first < near ? panels : first + near, panel_floats);
#ifndef FEW
    if (is_wide) {
        const ml_matmul_f32_args last = from_panel(p, panels, panel_floats);
        in_tiles(&last, wides, WIDE_ROWS);
    }
#endif
}
