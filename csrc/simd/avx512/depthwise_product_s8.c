/* depthwise_product_s8.c -- tiles of depthwise_s8 whose sums become bytes in their
 * registers, where they are known to be small. */
#include "simd/words.h"
#include "simd/avx512/requantize_small.h"

/* The place that bytes are written to, and the constants by which sums become bytes. */
typedef struct tile_bytes {
    int64_t y_stride;
    const small_block *blocks; /* one per vector of LANES channels */
    ends ends;
    bool one_sided;
} tile_bytes;

__attribute__((always_inline)) static inline void write_tile(const tile_bytes *to, int64_t channel,
                                                             int8_t *y, const int pixels, int count,
                                                             const __m512i *sums) {
    const small_block b = to->blocks[channel / LANES];
    __m512i v[8];
    if (to->one_sided) ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) v[i] = scale_small(sums[i], &b, true);
    else ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) v[i] = scale_small(sums[i], &b, false);
    ML_UNROLL(2)
    for (int i = 0; i < pixels; i += MOST_VECTORS, y += MOST_VECTORS * to->y_stride) {
        const int rows = pixels - i < MOST_VECTORS ? pixels - i : MOST_VECTORS;
        __m512i four[MOST_VECTORS];
        ML_UNROLL(4)
        for (int row = 0; row < MOST_VECTORS; row++) four[row] = v[row < rows ? i + row : i];
        store_rows(y, to->y_stride, to_bytes(four, &to->ends), 1, rows, count);
    }
}

#define OUTPUT int8_t
#define Y_STEP(p, own) (((const tile_bytes *)(own))->y_stride)
#define BEGIN(v) ADD_S32(v, SPLAT_S32(INT32_MIN)) /* as scale_small expects */
#define FINISH_TILE(p, at, pixels, part, count, sums) \
    write_tile((at)->own, (at)->channel, (at)->y, pixels, (part) ? (count) : LANES, sums)
#include "simd/tiles/depthwise_s32.h"

#include "simd/tiles/depthwise_product_s8.h"

static void multiply_small(const ml_depthwise_args *args, const ml_requantize_args *bytes,
                           int64_t channel, int64_t n) {
    ml_requantize_args constants = *bytes;
    ml_depthwise_args p = ml_depthwise_channels(args, 4, channel, n);
    small_block blocks[BLOCK / LANES];
    tile_bytes to = {.y_stride = bytes->y_stride,
                     .blocks = blocks,
                     .ends = ends_of(bytes->zero, bytes->low, bytes->high),
                     .one_sided = is_one_sided(bytes)};
    constants.bias = NULL;
    constants.n = channel + n;
    for (int64_t i = 0; i < n; i += LANES)
        load_small(&constants, channel + i, to.one_sided, &blocks[i / LANES]);
    p.y = bytes->y + channel;
    run_tiles(&p, &to);
}

void ml_depthwise_product_s8_avx512(const ml_simd *simd, const ml_depthwise_args *p,
                                    const ml_requantize_args *bytes) {
    for (int64_t channel = 0, n; channel < p->n; channel += n) {
        n = p->n - channel < BLOCK ? p->n - channel : BLOCK;
        if (is_small(bytes, channel, n)) multiply_small(p, bytes, channel, n);
        else multiply_channels(simd, p, bytes, channel, n);
    }
}
