/* depthwise_product.h -- tiles of depthwise_s8 whose sums become bytes in registers: of the vectors
 * that the file which includes it has. */
#include "simd/neon/requantize_block.h"

enum { CHANNELS = 8 /* channels of a vector */, MOST_CHANNELS = 128 };

/* The constants that scale the sums of a vector. */
typedef struct channel_block {
    scale_block scales[2];
    bool is_plain; /* true if scale_plain can scale by them */
} channel_block;

/* The place that bytes are written to, and the constants by which sums become bytes. */
typedef struct tile_bytes {
    const channel_block *blocks;
    ends ends;
    int64_t y_stride;
} tile_bytes;

/* Scales sums that scale_plain cannot scale. Never inlined, so that the code for others keeps its
 * registers. */
__attribute__((noinline)) static void scale_others(const channel_block *b, int pixels,
                                                   eight_sums *v) {
    for (int i = 0; i < pixels; i++) {
        v[i].front = scale_any(v[i].front, &b->scales[0]);
        v[i].back = scale_any(v[i].back, &b->scales[1]);
    }
}

INLINE void scale_pixels(const channel_block *b, const int pixels, const bool one_sided,
                         eight_sums *v) {
    const scale_block front = b->scales[0], back = b->scales[1];
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) {
        v[i].front = scale_plain(v[i].front, &front, one_sided);
        v[i].back = scale_plain(v[i].back, &back, one_sided);
    }
}

/* Writes eight bytes of two pixels or of one, or the first `count` of them. */
INLINE void put_pixels(int8_t *y, int64_t stride, uint8x16_t bytes, const int pixels,
                       const bool part, int64_t count) {
    if (part) {
        put_part(y, bytes, count);
        if (pixels > 1) put_part(y + stride, vextq_u8(bytes, bytes, CHANNELS), count);
        return;
    }
    vst1_u8((uint8_t *)y, vget_low_u8(bytes));
    if (pixels > 1) STORE_HIGH_U8((uint8_t *)(y + stride), bytes);
}

INLINE void write_tile(const tile_bytes *to, int64_t channel, int8_t *y, const int pixels,
                       const bool part, int64_t count, const eight_sums *sums) {
    const channel_block *b = &to->blocks[(uint64_t)channel / CHANNELS];
    const int64_t stride = to->y_stride;
    const ends e = to->ends; /* a copy, not read again after each store */
    eight_sums v[8];
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) v[i] = sums[i];
    if (__builtin_expect(!b->is_plain, 0)) {
        eight_sums stored[8];
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++) stored[i] = v[i];
        scale_others(b, pixels, stored);
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++) v[i] = stored[i];
    } else if (e.one_sided) {
        scale_pixels(b, pixels, true, v);
    } else {
        scale_pixels(b, pixels, false, v);
    }
    ML_UNROLL(4)
    for (int i = 0; i < pixels; i += 2, y += 2 * stride) {
        const eight_sums *next = &v[i + 1 < pixels ? i + 1 : i];
        put_pixels(y, stride, to_bytes(v[i].front, v[i].back, next->front, next->back, &e),
                   pixels - i, part, count);
    }
}

#define OUTPUT int8_t
#define Y_STEP(p, own) (((const tile_bytes *)(own))->y_stride)
#define BEGIN(v) (v)
#define FINISH_TILE(p, at, pixels, part, count, sums) \
    write_tile((at)->own, (at)->channel, (at)->y, pixels, part, count, sums)
#define LANES CHANNELS
#include "simd/tiles/depthwise.h"
#undef LANES

static void load_blocks(const ml_requantize_args *bytes, int64_t channel, int64_t n,
                        channel_block *b) {
    const bool one_sided = bytes->low >= bytes->zero;
    for (int64_t i = 0; i < n; i += CHANNELS, b++) {
        b->is_plain = true;
        ML_UNROLL(2)
        for (int half = 0; half < 2; half++) {
            const int64_t at = i + 4 * half;
            b->scales[half].mantissas = load_columns(bytes->mantissas + channel + at, n - at, 0);
            b->scales[half].shifts = load_columns(bytes->shifts + channel + at, n - at, -1);
            b->is_plain &= are_plain(b->scales[half].shifts, one_sided);
        }
    }
}

static void multiply_tiles(const ml_depthwise_args *args, const ml_requantize_args *bytes) {
    channel_block blocks[MOST_CHANNELS / CHANNELS];
    tile_bytes to = {.blocks = blocks, .ends = ends_of(bytes), .y_stride = bytes->y_stride};
    for (int64_t channel = 0, n; channel < args->n; channel += n) {
        n = args->n - channel < MOST_CHANNELS ? args->n - channel : MOST_CHANNELS;
        ml_depthwise_args p = ml_depthwise_channels(args, ELEMENT_BYTES, channel, n);
        load_blocks(bytes, channel, n, blocks);
        p.y = bytes->y + channel;
        run_tiles(&p, &to);
    }
}
