/* depthwise_product_s8.c -- depthwise_product_s8 by the level's depthwise_s8 and requantize. */
#include "simd/tiles/depthwise_product_s8.h"

#include "simd/variants.h"

void ml_depthwise_product_s8_scalar(const ml_simd *simd, const ml_depthwise_args *p,
                                    const ml_requantize_args *bytes) {
    for (int64_t channel = 0, n; channel < p->n; channel += n) {
        n = p->n - channel < NEAR_CHANNELS ? p->n - channel : NEAR_CHANNELS;
        multiply_channels(simd, p, bytes, channel, n);
    }
}
