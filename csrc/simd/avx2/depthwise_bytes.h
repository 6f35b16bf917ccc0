/* depthwise_bytes.h -- depthwise_product_s8 of bytes as they lie, at avx2: two taps are interleaved
 * in registers. For few pixels, whose lines are not worth interleaving in memory. */
#include "simd/avx2/requantize_block.h"

enum { MOST_BESIDE = 4 /* vectors of eight channels */ };

/* The arguments and constants that all channels have in common. */
typedef struct bytes_call {
    const ml_depthwise_args *p;
    const ml_requantize_args *to;
    block_rule rule;
    ends ends;
} bytes_call;

/* Reads `count` bytes, up to eight. It may read bytes before the first one, if there are any. */
INLINE __m128i some_bytes(const uint8_t *x, int64_t count, const bool part, bool has_before) {
    uint64_t bytes = 0;
    if (!part) return _mm_loadl_epi64((const __m128i *)(const void *)x);
    if (has_before) {
        memcpy(&bytes, x + count - COLUMNS, COLUMNS);
        bytes >>= 8 * (COLUMNS - count);
    } else {
        memcpy(&bytes, x, (size_t)count);
    }
    return _mm_cvtsi64_si128((int64_t)bytes);
}

/* Adds in the register of the sum; compilers would add in another register and move the sum back.
 * */
INLINE __m256i add_pairs_of(__m128i pairs, const char *w, const bool is_signed, __m256i sum) {
    __m256i x = is_signed ? _mm256_cvtepi8_epi16(pairs) : _mm256_cvtepu8_epi16(pairs);
    __asm__("vpmaddwd %2, %1, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sum), "+x"(x)
            : "m"(*(const int16_t (*)[2 * COLUMNS])(const void *)w));
    return sum;
}

/* sums += one tap of two lines, of `vectors` times eight channels, or of the last `count`. */
INLINE void add_bytes(const bytes_call *c, const uint8_t *a, const uint8_t *b, const char *w,
                      const int vectors, const bool part, int64_t count, const bool is_signed,
                      __m256i *sums) {
    const bool has_before = c->p->n >= COLUMNS;
    if (vectors == 1) {
        const __m128i x = some_bytes(a, count, part, has_before);
        const __m128i y = some_bytes(b, count, part, has_before);
        sums[0] = add_pairs_of(_mm_unpacklo_epi8(x, y), w, is_signed, sums[0]);
        return;
    }
    ML_UNROLL(2)
    for (int v = 0; v < vectors; v += 2, w += 4 * c->p->packed_panel) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + v * COLUMNS));
        const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + v * COLUMNS));
        sums[v] = add_pairs_of(_mm_unpacklo_epi8(x, y), w, is_signed, sums[v]);
        sums[v + 1] =
            add_pairs_of(_mm_unpackhi_epi8(x, y), w + 4 * COLUMNS, is_signed, sums[v + 1]);
    }
}

/* Computes the channels of one pixel from `channel` on. */
INLINE void pixel_tile(const bytes_call *c, const void *const *lines, int64_t first, int8_t *y,
                       int64_t channel, const int vectors, const bool part, const bool is_signed) {
    const ml_depthwise_args *p = c->p;
    const int64_t left = p->n - channel, at = first + channel, step = 4 * p->packed_line;
    const char *w = (const char *)p->packed + 4 * (channel / ML_PANEL_DEPTHWISE * p->packed_panel +
                                                   channel % ML_PANEL_DEPTHWISE);
    __m256i sums[MOST_BESIDE];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++)
        sums[v] = p->start
                      ? some_columns((const int32_t *)p->start + channel + v * COLUMNS, left, !part)
                      : _mm256_setzero_si256();
    for (int64_t tap = p->height; tap > 0; tap--, lines += 2, w += step) {
        const uint8_t *a = (const uint8_t *)lines[0] + at, *b = (const uint8_t *)lines[1] + at;
        add_bytes(c, a, b, w, vectors, part, left, is_signed, sums);
    }
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const int64_t column = channel + v * COLUMNS;
        sums[v] =
            scale_alone(&c->rule, &c->ends, some_columns(c->to->mantissas + column, left, !part),
                        some_columns(c->to->shifts + column, left, !part), sums[v]);
    }
    const __m256i bytes = to_bytes(sums, vectors, &c->ends);
    if (vectors == MOST_BESIDE) _mm256_storeu_si256((__m256i *)(void *)(y + channel), bytes);
    else if (vectors == 2)
        _mm_storeu_si128((__m128i *)(void *)(y + channel), _mm256_castsi256_si128(bytes));
    else put(y + channel, _mm256_castsi256_si128(bytes), left);
}

INLINE void pixel_channels(const bytes_call *c, const void *const *lines, int64_t first, int8_t *y,
                           const bool is_signed) {
    const int64_t n = c->p->n;
    int64_t channel = 0;
    for (; channel + MOST_BESIDE * COLUMNS <= n; channel += MOST_BESIDE * COLUMNS)
        pixel_tile(c, lines, first, y, channel, MOST_BESIDE, false, is_signed);
    if (channel + 2 * COLUMNS <= n) {
        pixel_tile(c, lines, first, y, channel, 2, false, is_signed);
        channel += 2 * COLUMNS;
    }
    if (channel + COLUMNS <= n) {
        pixel_tile(c, lines, first, y, channel, 1, false, is_signed);
        channel += COLUMNS;
    }
    if (channel < n) pixel_tile(c, lines, first, y, channel, 1, true, is_signed);
}

static void signed_pixel(const bytes_call *c, const void *const *lines, int64_t first, int8_t *y) {
    pixel_channels(c, lines, first, y, true);
}
static void unsigned_pixel(const bytes_call *c, const void *const *lines, int64_t first,
                           int8_t *y) {
    pixel_channels(c, lines, first, y, false);
}

static void multiply_bytes(const ml_depthwise_args *p, const ml_requantize_args *to) {
    ml_requantize_args constants = *to;
    constants.n = p->n;
    const bytes_call c = {.p = p,
                          .to = to,
                          .rule = rule_of(&constants, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                          .ends = ends_of(to)};
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t i = 0; i < p->pixels; i++) {
            const void *const *lines = p->lines + 2 * row * p->height;
            const int64_t first = p->first + i * p->pixel_step;
            int8_t *y = to->y + row * p->y_row + i * to->y_stride;
            if (p->lines_are == ML_LINES_S8) signed_pixel(&c, lines, first, y);
            else unsigned_pixel(&c, lines, first, y);
        }
}
