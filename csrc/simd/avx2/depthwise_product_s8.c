/* depthwise_product_s8.c -- tiles of depthwise_s8 whose sums become bytes in their registers. */
#include "simd/avx2/depthwise_bytes.h"
#include "simd/avx2/requantize_block.h"
#include "simd/variants.h"

/* The place that bytes are written to, and the constants by which sums become bytes. */
typedef struct tile_bytes {
    const byte_block *blocks; /* one per vector of COLUMNS channels */
    ends ends;
    int64_t y_stride;
} tile_bytes;

INLINE void write_tile(const tile_bytes *to, int64_t channel, int8_t *y, const int pixels,
                       int64_t count, __m256i *sums) {
    scale_sums(sums, pixels, &to->blocks[(uint64_t)channel / COLUMNS], &to->ends);
    ML_UNROLL(2)
    for (int i = 0; i < pixels; i += TOGETHER, y += TOGETHER * to->y_stride) {
        const int some = pixels - i < TOGETHER ? pixels - i : TOGETHER;
        put_rows(y, to->y_stride, to_bytes(&sums[i], some, &to->ends), some, count);
    }
}

#define OUTPUT int8_t
#define Y_STEP(p, own) (((const tile_bytes *)(own))->y_stride)
#define BEGIN(v) ADD_S32(v, SPLAT_S32(INT32_MIN))
#define FINISH_TILE(p, at, pixels, part, count, sums) \
    write_tile((at)->own, (at)->channel, (at)->y, pixels, (part) ? (count) : COLUMNS, sums)
#include "simd/tiles/depthwise_s32.h"

void ml_depthwise_product_s8_avx2(const ml_simd *simd, const ml_depthwise_args *args,
                                  const ml_requantize_args *bytes) {
    const __m256i in_turn = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    byte_block blocks[BLOCK / COLUMNS];
    tile_bytes to = {.blocks = blocks, .ends = ends_of(bytes), .y_stride = bytes->y_stride};
    ml_requantize_args constants = *bytes;
    constants.n = args->n;
    const block_rule rule = rule_of(&constants, in_turn);
    if (args->lines_are != ML_LINES_GROUPED) {
        multiply_bytes(args, bytes);
        return;
    }
    if (!ml_has_byte_ends(bytes)) {
        ml_depthwise_product_s8_scalar(simd, args, bytes);
        return;
    }
    for (int64_t channel = 0, n; channel < args->n; channel += n) {
        n = args->n - channel < BLOCK ? args->n - channel : BLOCK;
        ml_depthwise_args p = ml_depthwise_channels(args, 4, channel, n);
        load_blocks(&rule, channel, n, blocks);
        p.y = bytes->y + channel;
        run_tiles(&p, &to);
    }
}
