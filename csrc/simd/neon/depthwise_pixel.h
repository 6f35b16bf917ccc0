/* depthwise_pixel.h -- a depthwise pixel of bytes as they lie, sixteen channels or more at a time:
 * reads its bytes, begins its sums, and turns them into bytes. */
#include "simd/neon/requantize_block.h"

enum {
    SIXTEEN = ML_PANEL_DEPTHWISE, /* channels of a vector of bytes, and of a panel */
    MOST_SIXTEENS = 2
};

/* Reads `count` bytes, fewer than sixteen, and fills up with zeros. It may read bytes before the
 * first one, if there are any. */
static uint8x16_t some_bytes(const uint8_t *x, int64_t count, bool has_before) {
    static const uint8_t in_turn[SIXTEEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t bytes[SIXTEEN] = {0};
    if (has_before)
        return vqtbl1q_u8(vld1q_u8(x + count - SIXTEEN),
                          vaddq_u8(vld1q_u8(in_turn), vdupq_n_u8((uint8_t)(SIXTEEN - count))));
    if (count == SIXTEEN / 2) return vcombine_u8(vld1_u8(x), vdup_n_u8(0));
    for (int64_t i = 0; i < count; i++) bytes[i] = x[i];
    return vld1q_u8(bytes);
}

INLINE uint8x16_t bytes_at(const uint8_t *x, int64_t left, bool has_before) {
    return left >= SIXTEEN ? vld1q_u8(x) : some_bytes(x, left, has_before);
}

INLINE void begin_channels(const ml_depthwise_args *p, int64_t channel, int64_t left,
                           const int sixteens, int32x4_t *sums) {
    const int32_t *start = p->start;
    ML_UNROLL(8)
    for (int i = 0; i < sixteens * TOGETHER; i++)
        sums[i] =
            start ? load_columns(start + channel + i * QUAD, left - i * QUAD, 0) : vdupq_n_s32(0);
}

INLINE void end_channels(const ml_requantize_args *to, const ends *e, int8_t *y, int64_t channel,
                         int64_t left, const int sixteens, int32x4_t *sums) {
    ML_UNROLL(2)
    for (int i = 0; i < sixteens; i++, channel += SIXTEEN, left -= SIXTEEN) {
        int32x4_t *v = sums + i * TOGETHER;
        scale_columns(to, channel, left, e->one_sided, v);
        put(y + channel, to_bytes(v[0], v[1], v[2], v[3], e), left);
    }
}
