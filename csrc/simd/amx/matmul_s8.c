/* matmul_s8.c -- matmul_s8: 16 rows times 64 outputs in four tiles of sums, 64 inputs at a time.
 *
 * Packed weights are tiles as they are: 16 groups of a panel times 16 outputs. Rows are first
 * copied and flipped, a stretch of inputs at a time, with their pieces one after the other. So a
 * tile of rows never reads missing bytes, and the last groups have a tile of less height.
 *
 * No tile is live outside of a call, because other code on the thread may use tiles, too. */
#include <immintrin.h>
#include <string.h>

#include "simd/variants.h"
#include "simd/amx/tiles.h"

ml_matmul_s8_fn ml_matmul_s8_avx512;

enum {
    GROUP = 4,
    SIDE = 16, /* rows of a tile; its groups; its outputs */
    LINE = 64, /* bytes of a tile's row */
    NEAR = 1024 / GROUP, /* groups copied at a time */
    ROW = NEAR * GROUP + LINE /* bytes, not a power of two: rows fall in different sets */
};

#define INLINE __attribute__((always_inline)) static inline

/* Tells the compiler that a tile instruction reads memory at `p`. */
#define TILE_SEES(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Tiles 0 to 3 are sums. Bytes and weights have two each: for whole tiles and for the remaining
 * groups. Numbers become part of an instruction's name. */
#define BYTES 4
#define WEIGHTS 5
#define LAST_BYTES 6
#define LAST_WEIGHTS 7
enum { TILES = 8 };

/* The layout that LDTILECFG reads. */
typedef struct tile_config {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} tile_config;
_Static_assert(sizeof(tile_config) == LINE, "a configuration is 64 bytes");

/* Groups of some rows, from one group of a row on. */
typedef struct stretch {
    uint8_t bytes[SIDE][ROW];
    int64_t first;
    int64_t groups;
} stretch;

static void configure(int64_t rows, int64_t last) {
    tile_config config;
    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (int i = 0; i < TILES; i++) {
        const bool is_sums = i < BYTES, is_bytes = i == BYTES || i == LAST_BYTES;
        const int64_t groups = i < LAST_BYTES ? SIDE : last;
        if (groups == 0) continue;
        config.rows[i] = (uint8_t)(is_sums || is_bytes ? rows : groups);
        config.bytes[i] = (uint16_t)(is_bytes ? groups * GROUP : LINE);
    }
    TILE_SEES(&config);
    _tile_loadconfig(&config);
}

INLINE __mmask64 first_bytes(int64_t count) {
    return count >= LINE ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

INLINE void flip_bytes(const uint8_t *from, int64_t count, const __m512i flip, uint8_t *to) {
    for (int64_t i = 0; i < count; i += LINE) {
        const __mmask64 there = first_bytes(count - i);
        const __m512i x = _mm512_maskz_loadu_epi8(there, from + i);
        _mm512_mask_storeu_epi8(to + i, there, _mm512_xor_si512(x, flip));
    }
}

/* Copies a row's groups, in the order of the weights. */
static void copy_row(const ml_matmul_s8_args *p, const uint8_t *a, const stretch *s, uint8_t *to) {
    const int64_t of_piece = ml_ceil_div(p->k, GROUP);
    const __m512i flip = _mm512_set1_epi8((char)p->flip);
    int64_t piece = s->first / of_piece, group = s->first % of_piece;
    for (int64_t left = s->groups, count; left > 0; left -= count, piece++, group = 0) {
        const uint8_t *from = a + piece * p->piece_stride;
        const int64_t whole = p->k / GROUP - group;
        count = of_piece - group < left ? of_piece - group : left;
        const int64_t run = whole < count ? whole : count;
        flip_bytes(from + group * GROUP, run * GROUP, flip, to);
        if (run < count) flip_bytes(from + p->k - GROUP, GROUP, flip, to + run * GROUP);
        to += count * GROUP;
    }
}

/* Copies a stretch, unless the copy has it already: a stretch that holds whole rows serves all
 * panels. */
static void copy_rows(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t first,
                      int64_t groups, stretch *s) {
    if (s->first == first) return;
    s->first = first;
    s->groups = groups < NEAR ? groups : NEAR;
    for (int64_t r = 0; r < rows; r++) copy_row(p, p->a + (row + r) * p->a_stride, s, s->bytes[r]);
    TILE_SEES(s->bytes);
}

#define ADD_TILE(i, bytes, weights)                 \
    if (tiles > i) {                                \
        _tile_loadd(weights, w + i * LINE, step);     \
        _tile_dpbusd(i, bytes, weights);                \
    }
#define ADD_TILES(bytes, weights)                                                           \
    ADD_TILE(0, bytes, weights) ADD_TILE(1, bytes, weights) ADD_TILE(2, bytes, weights)     \
    ADD_TILE(3, bytes, weights)

INLINE void add_stretch(const stretch *s, const int8_t *w, int64_t step, const int tiles) {
    const uint8_t *from = s->bytes[0];
    int64_t left = s->groups;
    for (; left >= SIDE; left -= SIDE, from += LINE, w += SIDE * step) {
        _tile_loadd(BYTES, from, ROW);
        ADD_TILES(BYTES, WEIGHTS)
    }
    if (left == 0) return;
    _tile_loadd(LAST_BYTES, from, ROW);
    ADD_TILES(LAST_BYTES, LAST_WEIGHTS)
}

INLINE void sum_panel(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t groups,
                      const int8_t *w, stretch *s, const int tiles, int32_t *sums) {
    const int64_t step = tiles * LINE;
    _tile_zero(0);
    if (tiles > 1) _tile_zero(1);
    if (tiles > 2) _tile_zero(2);
    if (tiles > 3) _tile_zero(3);
    for (int64_t first = 0; first < groups; first += NEAR, w += NEAR * step) {
        copy_rows(p, row, rows, first, groups - first, s);
        add_stretch(s, w, step, tiles);
    }
    const int64_t bytes = ML_PANEL_S8 * (int64_t)sizeof *sums;
    _tile_stored(0, sums, bytes);
    if (tiles > 1) _tile_stored(1, sums + SIDE, bytes);
    if (tiles > 2) _tile_stored(2, sums + 2 * SIDE, bytes);
    if (tiles > 3) _tile_stored(3, sums + 3 * SIDE, bytes);
}

/* Adds the terms that do not depend on products, and writes the outputs that exist. */
static void store_panel(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t panel,
                        const int32_t *sums) {
    for (int64_t output = panel; output < p->n && output < panel + ML_PANEL_S8; output += SIDE) {
        const int64_t left = p->n - output;
        const __mmask16 there = (__mmask16)(left < SIDE ? (1 << left) - 1 : 0xFFFF);
        const __m512i zero = _mm512_setzero_si512();
        const __m512i bias = p->bias ? _mm512_maskz_loadu_epi32(there, p->bias + output) : zero;
        const __m512i columns =
            p->factors ? _mm512_maskz_loadu_epi32(there, p->columns + output) : zero;
        const int32_t *from = sums + output - panel;
        int32_t *y = p->y + row * p->y_stride + output;
        for (int64_t r = 0; r < rows; r++, from += ML_PANEL_S8, y += p->y_stride) {
            __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(from), bias);
            if (p->factors) {
                const __m512i factor = _mm512_set1_epi32(p->factors[row + r]);
                sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(factor, columns));
            }
            _mm512_mask_storeu_epi32(y, there, sum);
        }
    }
}

static void multiply_rows(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t groups,
                          stretch *s) {
    _Alignas(LINE) int32_t sums[SIDE * ML_PANEL_S8];
    s->first = -1;
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int8_t *w = p->packed + panel * groups * GROUP;
        switch (ml_width_s8(p->n, panel) / SIDE) {
        case 1: sum_panel(p, row, rows, groups, w, s, 1, sums); break;
        case 2: sum_panel(p, row, rows, groups, w, s, 2, sums); break;
        case 3: sum_panel(p, row, rows, groups, w, s, 3, sums); break;
        default: sum_panel(p, row, rows, groups, w, s, 4, sums);
        }
        store_panel(p, row, rows, panel, sums);
    }
}

/* Rows are divided evenly among as few tiles as possible, all of one height. The last tile ends
 * with the last row, and computes some results again. */
void ml_matmul_s8_amx(const ml_matmul_s8_args *p) {
    if (!takes_tiles(p)) {
        ml_matmul_s8_avx512(p);
        return;
    }
    const int64_t groups = p->pieces * ml_ceil_div(p->k, GROUP);
    const int64_t parts = ml_ceil_div(p->rows, SIDE), rows = ml_even_part(p->rows, SIDE);
    _Alignas(LINE) stretch s;
    configure(rows, groups % SIDE);
    for (int64_t i = 0; i < parts; i++) {
        const int64_t row = i * rows, most = p->rows - rows;
        multiply_rows(p, row < most ? row : most, rows, groups, &s);
    }
    _tile_release();
}
