/* requantize.c -- requantizes as avx2/requantize.c does, sixteen columns at a time, tails by masks;
 * and, if sums are known to be small, up to 64 columns by requantize_small.h. */
#include "simd/variants.h"
#include "simd/avx512/requantize_small.h"

typedef struct column_block {
    __m512i bias, left, mantissas, odd_mantissas, right, below, half;
} column_block;

static inline column_block load_block(const ml_requantize_args *p, int64_t column,
                                      __mmask16 there) {
    const __m512i nothing = _mm512_setzero_si512(), ones = _mm512_set1_epi32(-1);
    __m512i shifts = _mm512_maskz_loadu_epi32(there, p->shifts + column);
    column_block b = {.left = _mm512_max_epi32(shifts, nothing),
                      .mantissas = _mm512_maskz_loadu_epi32(there, p->mantissas + column),
                      .right = _mm512_sub_epi32(nothing, _mm512_min_epi32(shifts, nothing))};
    b.bias = p->bias ? _mm512_maskz_loadu_epi32(there, p->bias + column) : nothing;
    b.odd_mantissas = _mm512_srli_epi64(b.mantissas, 32);
    b.below = _mm512_andnot_si512(_mm512_sllv_epi32(ones, b.right), ones);
    b.half = _mm512_srli_epi32(b.below, 1);
    return b;
}

/* Sixteen sums to sixteen bytes. */
static inline __m128i scale(__m512i v, const column_block *b, __m512i zero, __m512i low,
                            __m512i high) {
    const __m512i nudge = _mm512_set1_epi64(1 << 30), ones = _mm512_set1_epi32(-1);
    v = _mm512_sllv_epi32(_mm512_add_epi32(v, b->bias), b->left);
    __m512i even = _mm512_add_epi64(_mm512_mul_epi32(v, b->mantissas), nudge);
    __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), b->odd_mantissas), nudge);
    v = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
    __m512i rest = _mm512_add_epi32(_mm512_and_si512(v, b->below), _mm512_srai_epi32(v, 31));
    __mmask16 up = _mm512_cmpgt_epi32_mask(rest, b->half);
    v = _mm512_srav_epi32(v, b->right);
    v = _mm512_add_epi32(_mm512_mask_sub_epi32(v, up, v, ones), zero);
    return _mm512_cvtepi32_epi8(_mm512_min_epi32(high, _mm512_max_epi32(low, v)));
}

/* Requantizes one block of columns for any sums. */
static void any_sums(const ml_requantize_args *p, int64_t column, int64_t count) {
    const __m512i zero = _mm512_set1_epi32(p->zero);
    const __m512i low = _mm512_set1_epi32(p->low), high = _mm512_set1_epi32(p->high);
    const __mmask16 there = (__mmask16)((1u << count) - 1);
    const column_block block = load_block(p, column, there);
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
        __m512i v = _mm512_maskz_loadu_epi32(there, sums);
        __m128i bytes = scale(v, &block, zero, low, high);
        if (count == COLUMNS) _mm_storeu_si128((__m128i *)(void *)y, bytes);
        else _mm_mask_storeu_epi8(y, there, bytes);
    }
}

/* Small sums ----------------------------------------------------------------------------------- */

#define INLINE __attribute__((always_inline)) static inline

/* Scales `rows` rows of `vectors` blocks of columns, at most four vectors together. */
INLINE __m512i scale_rows(const int32_t *sums, int64_t stride, const small_block *blocks,
                          const int vectors, const int rows, const bool one_sided, const ends *e) {
    __m512i v[MOST_VECTORS];
    ML_UNROLL(4)
    for (int i = 0; i < vectors * rows; i++) {
        const small_block *b = &blocks[i % vectors];
        const int32_t *from = sums + i / vectors * stride + i % vectors * COLUMNS;
        const __m512i x = _mm512_maskz_loadu_epi32(b->there, from);
        v[i] = scale_small(_mm512_add_epi32(x, b->bias), b, one_sided);
    }
    ML_UNROLL(4)
    for (int i = vectors * rows; i < MOST_VECTORS; i++) v[i] = v[0];
    return to_bytes(v, e);
}

/* Requantizes `vectors` blocks of columns, `rows` rows at a time, at most four vectors together. */
INLINE void small_sums(const ml_requantize_args *p, int64_t column, const int vectors,
                       const int rows, const bool one_sided) {
    const ends e = ends_of(p->zero, p->low, p->high);
    const int64_t left = p->n - column, stride = p->sums_stride;
    const __mmask64 there = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    const bool close = /* rows are contiguous bytes */
        p->y_stride == vectors * COLUMNS && left == p->y_stride;
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    small_block blocks[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) load_small(p, column + v * COLUMNS, one_sided, &blocks[v]);
    int64_t row = 0;
    for (; rows > 1 && row + rows <= p->rows; row += rows, sums += rows * stride) {
        const __m512i bytes = scale_rows(sums, stride, blocks, vectors, rows, one_sided, &e);
        if (close) {
            _mm512_storeu_si512(y, bytes);
            y += 64;
            continue;
        }
        _mm512_mask_storeu_epi8(y, there, bytes);
        y += p->y_stride;
        if (vectors == 2) {
            _mm512_mask_storeu_epi8(y, there, _mm512_shuffle_i64x2(bytes, bytes, 0x0E));
        } else {
            _mm512_mask_storeu_epi8(y, there, _mm512_shuffle_i64x2(bytes, bytes, 1));
            _mm512_mask_storeu_epi8(y + p->y_stride, there, _mm512_shuffle_i64x2(bytes, bytes, 2));
            _mm512_mask_storeu_epi8(y + 2 * p->y_stride, there,
                                    _mm512_shuffle_i64x2(bytes, bytes, 3));
        }
        y += (rows - 1) * p->y_stride;
    }
    for (; row < p->rows; row++, sums += stride, y += p->y_stride)
        _mm512_mask_storeu_epi8(y, there,
                                scale_rows(sums, stride, blocks, vectors, 1, one_sided, &e));
}

typedef void block_fn(const ml_requantize_args *p, int64_t column);

#define SMALL(vectors, rows)                                                                  \
    static void small_##vectors(const ml_requantize_args *p, int64_t column) {                \
        if (is_one_sided(p)) small_sums(p, column, vectors, rows, true);                      \
        else small_sums(p, column, vectors, rows, false);                                     \
    }
SMALL(1, 4)
SMALL(2, 2)
SMALL(3, 1)
SMALL(4, 1)

static void any_columns(const ml_requantize_args *p) {
    static block_fn *const small[] = {small_1, small_2, small_3, small_4};
    for (int64_t column = 0, count; column < p->n; column += count) {
        count = p->n - column < MOST_VECTORS * COLUMNS ? p->n - column : MOST_VECTORS * COLUMNS;
        if (is_small(p, column, count)) {
            small[(count - 1) / COLUMNS](p, column);
            continue;
        }
        for (int64_t i = 0; i < count; i += COLUMNS)
            any_sums(p, column + i, count - i < COLUMNS ? count - i : COLUMNS);
    }
}

/* Adjacent rows of few columns are treated as one row, as many as fit a vector. */
static void few_columns(const ml_requantize_args *p) {
    const int64_t side = COLUMNS / p->n, n = side * p->n, wide = p->rows / side;
    int32_t bias[COLUMNS], mantissas[COLUMNS], shifts[COLUMNS];
    for (int64_t i = 0; i < n; i++) {
        bias[i] = p->bias ? p->bias[i % p->n] : 0;
        mantissas[i] = p->mantissas[i % p->n];
        shifts[i] = p->shifts[i % p->n];
    }
    ml_requantize_args rows = *p;
    rows.rows = wide;
    rows.n = rows.sums_stride = rows.y_stride = n;
    rows.bias = bias;
    rows.mantissas = mantissas;
    rows.shifts = shifts;
    any_columns(&rows);
    rows = *p;
    rows.rows -= wide * side;
    rows.sums += wide * n;
    rows.y += wide * n;
    any_columns(&rows);
}

void ml_requantize_avx512(const ml_requantize_args *p) {
    const bool close = p->sums_stride == p->n && p->y_stride == p->n;
    if (close && p->n > 0 && 2 * p->n <= COLUMNS && p->rows >= COLUMNS) few_columns(p);
    else any_columns(p);
}
