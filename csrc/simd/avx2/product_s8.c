/* product_s8.c -- tiles of pairs, or of one row, whose sums become bytes in registers. */
#define ORDER _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7)
#define OF_ROWS(bytes) of_rows(bytes)
#include <immintrin.h>

/* Puts the bytes of joined sums in the order of outputs, four bytes at a time. */
static inline __m256i of_rows(__m256i bytes) {
    return _mm256_shuffle_epi8(bytes, _mm256_set_epi64x(0x0F0E0B0A0D0C0908, 0x0706030205040100,
                                                        0x0F0E0B0A0D0C0908, 0x0706030205040100));
}

#include "simd/avx2/product_blocks.h"
#include "simd/avx2/row_bytes.h"
#include "simd/avx2/pairs.h"
#include "simd/variants.h"

/* Loads the starts of four outputs, each into the first of its output's two sums. */
INLINE __m256i start_of(const bytes_place *to, int64_t output, int half) {
    const __m128i *start = (const __m128i *)&to->blocks[(uint64_t)output / COLUMNS].start;
    return _mm256_cvtepu32_epi64(start[half]);
}

INLINE void write_tile(const bytes_place *to, int64_t row, int64_t output, const int rows,
                       const int joined, __m256i *sums) {
    if (rows > 1) {
        write_rows(to, row, output, rows, sums);
        return;
    }
    for (int i = 0; i < joined && output + i * COLUMNS < to->n; i++)
        write_rows(to, row, output + i * COLUMNS, 1, &sums[i]);
}

/* Holds 3 x 3 windows of 512 channels, in rows that do not lie powers of two apart. */
#define NEAR 4640
#define BEGIN(own, at, v) start_of(own, (at)->output + (v) / 2 * COLUMNS, (v) % 2)
#define FINISH_TILE(own, at, rows, joined, sums) \
    write_tile(own, (at)->row, (at)->output, rows, joined, sums)
#include "simd/tiles/matmul_s8_wide.h"

static void multiply_tiles(const ml_matmul_s8_args *part, const bytes_place *to, int64_t lines,
                           int64_t line_stride) {
    multiply(part, to, lines, line_stride);
}

void ml_product_s8_avx2(const ml_simd *simd, const ml_matmul_s8_args *p,
                        const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    const int64_t groups = row_groups(p);
    if (lines * p->rows == 1 && groups * GROUP <= ROW_BYTES && ml_has_byte_ends(bytes))
        multiply_row_to_bytes(p, bytes, groups);
    else if (groups * GROUP <= NEAR && ml_has_byte_ends(bytes))
        multiply_blocks(p, bytes, lines, line_stride, multiply_tiles);
    else ml_product_s8_scalar(simd, p, bytes, lines, line_stride);
}
