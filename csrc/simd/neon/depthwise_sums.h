/* depthwise_sums.h -- the sums of tiles/depthwise.h at neon and the levels above it: two vectors of
 * int32, for eight channels. */
#include "simd/neon/intrinsics.h"
#include <stdbool.h>
#include <string.h>

#define SUM eight_sums
#define ELEMENT int32_t
#define REGISTER "w"
#define MASKS false

/* Not int32x4x2_t, for which the compiler needs adjacent registers. */
typedef struct eight_sums {
    int32x4_t front, back;
} eight_sums;

#define ZERO_SUM() ((eight_sums){vdupq_n_s32(0), vdupq_n_s32(0)})
#define LOAD_SUM(p) ((eight_sums){vld1q_s32(p), vld1q_s32((p) + 4)})
#define LOAD_SUM_PART(p, count) sums_part(p, count)
#define ADD_SUMS(a, b) \
    ((eight_sums){vaddq_s32((a).front, (b).front), vaddq_s32((a).back, (b).back)})

static inline eight_sums sums_part(const int32_t *p, int count) {
    int32_t sums[8] = {0};
    memcpy(sums, p, (size_t)count * sizeof *sums);
    return LOAD_SUM(sums);
}

/* Stores the first `count` of eight sums. */
static inline void store_sums(int32_t *p, eight_sums v, int count) {
    int32_t sums[8];
    if (count == 8) {
        vst1q_s32(p, v.front);
        vst1q_s32(p + 4, v.back);
        return;
    }
    vst1q_s32(sums, v.front);
    vst1q_s32(sums + 4, v.back);
    memcpy(p, sums, (size_t)count * sizeof *sums);
}
