/* depthwise_s8.c -- tiles of int16, eight channels at a time, whose sums are stored. */
#include "simd/neon/depthwise_words.h"
#include "simd/variants.h"

#define LANES 8
#define STORE(p, v) store_sums(p, v, LANES)
#define STORE_PART(p, v, count) store_sums(p, v, count)
#define FINISH(p, v) (v)

static inline void store_sums(int32_t *p, eight_sums v, int count) {
    int32_t sums[LANES];
    if (count == LANES) {
        vst1q_s32(p, v.front);
        vst1q_s32(p + 4, v.back);
        return;
    }
    vst1q_s32(sums, v.front);
    vst1q_s32(sums + 4, v.back);
    memcpy(p, sums, (size_t)count * sizeof *sums);
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_neon(const ml_depthwise_args *p) { run_tiles(p, NULL); }
