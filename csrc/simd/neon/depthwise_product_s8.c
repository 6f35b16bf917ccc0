/* depthwise_product_s8.c -- tiles of int16, and bytes as they lie, widened. */
#include "simd/neon/depthwise_words.h"
#include "simd/neon/requantize_block.h"
#include "simd/variants.h"

enum { TAP_LINES = 1 };
typedef int16_t weight;

/* sums += a tap of sixteen channels. */
INLINE void add_tap(const uint8x16_t *lines, const weight *w, const bool is_signed,
                    int32x4_t *sums) {
    const uint8x16_t x = lines[0];
    const int16x8_t low = vld1q_s16(w), high = vld1q_s16(w + 8);
    const int8x16_t s = vreinterpretq_s8_u8(x);
    const int16x8_t front =
        is_signed ? vmovl_s8(vget_low_s8(s)) : vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x)));
    const int16x8_t back = is_signed ? vmovl_high_s8(s) : vreinterpretq_s16_u16(vmovl_high_u8(x));
    sums[0] = vmlal_s16(sums[0], vget_low_s16(front), vget_low_s16(low));
    sums[1] = vmlal_high_s16(sums[1], front, low);
    sums[2] = vmlal_s16(sums[2], vget_low_s16(back), vget_low_s16(high));
    sums[3] = vmlal_high_s16(sums[3], back, high);
    /* Adds in the registers of the sums: the empty asm keeps the compiler from moving them. */
    __asm__ volatile("" : "+w"(sums[0]), "+w"(sums[1]), "+w"(sums[2]), "+w"(sums[3]));
}

#include "simd/neon/depthwise_bytes.h"
#include "simd/neon/depthwise_product.h"

void ml_depthwise_product_s8_neon(const ml_simd *simd, const ml_depthwise_args *p,
                                  const ml_requantize_args *bytes) {
    if (p->lines_are != ML_LINES_GROUPED) multiply_bytes(p, bytes);
    else if (!ml_has_byte_ends(bytes)) ml_depthwise_product_s8_scalar(simd, p, bytes);
    else multiply_tiles(p, bytes);
}
