/* depthwise_product_s8.c -- tiles of groups of four bytes, and bytes as they lie, four lines of
 * which are put side by side in registers. */
#include "simd/neon/requantize_block.h"
#include "simd/neon_dot/depthwise_groups.h"
#include "simd/neon_dot/groups.h"
#include "simd/variants.h"

enum { TAP_LINES = 4 };
typedef int32_t weight;

/* sums += four taps of sixteen channels. For SDOT, 128 is subtracted from unsigned bytes; 128 times
 * their weights makes up for that. */
INLINE void add_tap(const uint8x16_t *lines, const weight *w, const bool is_signed,
                    int32x4_t *sums) {
    uint8x16_t groups[4];
    to_groups(lines, groups);
    ML_UNROLL(4)
    for (int i = 0; i < 4; i++) {
        const int8x16_t weights = vreinterpretq_s8_s32(vld1q_s32(w + 4 * i));
        const uint8x16_t x = is_signed ? groups[i] : veorq_u8(groups[i], vdupq_n_u8(128));
        sums[i] = vdotq_s32(sums[i], weights, vreinterpretq_s8_u8(x));
        if (!is_signed) ML_UNROLL(2)
        for (int half = 0; half < 2; half++) sums[i] = vdotq_s32(sums[i], weights, vdupq_n_s8(64));
        __asm__ volatile("" : "+w"(sums[i]));
    }
}

#include "simd/neon/depthwise_bytes.h"
#include "simd/neon/depthwise_product.h"

void ml_depthwise_product_s8_neon_dot(const ml_simd *simd, const ml_depthwise_args *p,
                                      const ml_requantize_args *bytes) {
    if (p->lines_are != ML_LINES_GROUPED) multiply_bytes(p, bytes);
    else if (!ml_has_byte_ends(bytes)) ml_depthwise_product_s8_scalar(simd, p, bytes);
    else multiply_tiles(p, bytes);
}
