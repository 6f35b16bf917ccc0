/* sum_rows_s8.c -- across rows, vectors of columns in words of 16 bits, and the rest as in
 * portable/sum_rows_s8.c; along rows by vpsadbw, which sums eight unsigned bytes: signed bytes are
 * flipped, and 128 per byte is subtracted. */
#include "simd/portable/sum_rows.h"

enum {
    WIDE = 32,
    HALF = 16,
    WORD = 8,
    SOME = 128, /* rows of bytes whose sums fit into 16 bits */
};

/* Adds the bytes at even places of x to words, or those at odd ones, as `ones` has it; in the
 * register of the sum, like ADD_PAIRS. */
INLINE __m256i add_every_second(__m256i sum, __m256i x, __m256i ones, const bool is_signed) {
    const __m256i plus = is_signed ? ones : x, with_sign = is_signed ? x : ones;
    __m256i words;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+x"(sum), "=&x"(words)
            : "x"(plus), "x"(with_sign));
    return sum;
}

/* Adds the first eight words of `from` to sums. */
INLINE void add_words(int32_t *sums, __m128i from) {
    STORE_S32(sums, ADD_S32(LOAD_S32(sums), _mm256_cvtepi16_epi32(from)));
}

/* Adds up `vectors` (a constant) vectors of columns of at most SOME rows. */
INLINE void add_some(const ml_sum_rows_s8_args *p, int64_t row, int64_t column, const int vectors,
                     const bool is_signed) {
    const __m256i of_even = _mm256_set1_epi16(0x0001), of_odd = _mm256_set1_epi16(0x0100);
    const int64_t end = row + SOME < p->rows ? row + SOME : p->rows;
    const uint8_t *x = p->x + row * p->stride + column;
    __m256i even[MOST_VECTORS], odd[MOST_VECTORS];
    for (int v = 0; v < vectors; v++) even[v] = odd[v] = _mm256_setzero_si256();
    for (; row < end; row++, x += p->stride) ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const __m256i bytes = LOAD_S32(x + v * WIDE);
        even[v] = add_every_second(even[v], bytes, of_even, is_signed);
        odd[v] = add_every_second(odd[v], bytes, of_odd, is_signed);
    }
    for (int v = 0; v < vectors; v++) {
        const __m256i low = _mm256_unpacklo_epi16(even[v], odd[v]);
        const __m256i high = _mm256_unpackhi_epi16(even[v], odd[v]);
        int32_t *sums = p->sums + column + v * WIDE;
        add_words(sums, _mm256_castsi256_si128(low));
        add_words(sums + LANES, _mm256_castsi256_si128(high));
        add_words(sums + 2 * LANES, _mm256_extracti128_si256(low, 1));
        add_words(sums + 3 * LANES, _mm256_extracti128_si256(high, 1));
    }
}

INLINE void add_vectors(const ml_sum_rows_s8_args *args, const bool is_signed) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    const int64_t whole = p.n - p.n % WIDE;
    for (int64_t row = 0; row < p.rows; row += SOME) {
        int64_t column = 0;
        for (; column + MOST_VECTORS * WIDE <= whole; column += MOST_VECTORS * WIDE)
            add_some(&p, row, column, MOST_VECTORS, is_signed);
        for (; column < whole; column += WIDE) add_some(&p, row, column, 1, is_signed);
    }
    ml_sum_rows_s8_args rest = p;
    rest.x += whole;
    rest.sums += whole;
    rest.n -= whole;
    add_across(&rest, is_signed);
}

/* Reads the last n % 8 bytes of a row, with zeros after them; reads nothing before the row. */
INLINE uint64_t load_rest(const uint8_t *x, int64_t n) {
    const int64_t rest = n % WORD;
    uint64_t bytes = 0;
    uint32_t low, high;
    if (n >= WORD) {
        memcpy(&bytes, x + n - WORD, sizeof bytes);
        return bytes >> 8 * (WORD - rest);
    }
    if (rest < 4) {
        for (int64_t i = 0; i < rest; i++) bytes |= (uint64_t)x[i] << 8 * i;
        return bytes;
    }
    memcpy(&low, x, sizeof low);
    memcpy(&high, x + n - 4, sizeof high);
    return low | (uint64_t)high << 8 * (n - 4);
}

/* Sums a row; `flip` is 128 in each byte if bytes are signed, else 0. */
INLINE uint32_t sum_row(const uint8_t *x, int64_t n, __m256i flip) {
    const __m256i nothing = _mm256_setzero_si256();
    const __m128i flip_half = _mm256_castsi256_si128(flip), none = _mm_setzero_si128();
    __m256i sums = nothing;
    int64_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        sums = _mm256_add_epi64(sums,
                                _mm256_sad_epu8(_mm256_xor_si256(flip, LOAD_S32(x + i)), nothing));
    __m128i sum = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    if (i + HALF <= n) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_xor_si128(flip_half, bytes), none));
        i += HALF;
    }
    if (i + WORD <= n) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(x + i));
        const __m128i flipped = _mm_xor_si128(_mm_move_epi64(flip_half), bytes);
        sum = _mm_add_epi64(sum, _mm_sad_epu8(flipped, none));
    }
    if (n % WORD) {
        const uint64_t flips = (uint64_t)_mm_cvtsi128_si64(flip_half);
        const uint64_t rest = load_rest(x, n) ^ flips >> 8 * (WORD - n % WORD);
        sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_cvtsi64_si128((int64_t)rest), none));
    }
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
}

static void add_along(const ml_sum_rows_s8_args *args) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    const __m256i flip = _mm256_set1_epi8((char)(p.is_signed ? 128 : 0));
    const uint32_t less = p.is_signed ? 128 * (uint32_t)p.n : 0;
    for (int64_t r = 0; r < p.rows; r++)
        p.sums[r] = (int32_t)((uint32_t)p.sums[r] + sum_row(p.x + r * p.stride, p.n, flip) - less);
}

void ml_sum_rows_s8_avx2(const ml_sum_rows_s8_args *p) {
    if (p->along) add_along(p);
    else p->is_signed ? add_vectors(p, true) : add_vectors(p, false);
}
