/* pack_s8.c -- pack_s8, and then, unless for single rows, pairs of groups of four bytes are put
 * together, as SMMLA reads them. */
#include <arm_neon.h>
#include <string.h>

#include "simd/variants.h"

ml_pack_s8_fn ml_pack_s8_neon;

enum { GROUP = 4, WIDE = 16 };

/* Joins two groups of `count` bytes: four bytes of each in turn. */
static void join(int8_t *groups, int64_t count) {
    int8_t apart[2 * ML_PANEL_S8 * GROUP];
    memcpy(apart, groups, (size_t)(2 * count));
    for (int64_t i = 0; i < count; i += WIDE) {
        const int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(apart + i));
        const int32x4_t second = vreinterpretq_s32_s8(vld1q_s8(apart + count + i));
        vst1q_s8(groups + 2 * i, vreinterpretq_s8_s32(vzip1q_s32(first, second)));
        vst1q_s8(groups + 2 * i + WIDE, vreinterpretq_s8_s32(vzip2q_s32(first, second)));
    }
}

void ml_pack_s8_i8mm(const ml_pack_s8_args *p) {
    const int64_t groups = ml_ceil_div(p->k, GROUP);
    int8_t *packed = p->packed;
    ml_pack_s8_neon(p);
    if (p->apart) return;
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t count = GROUP * ml_width_s8(p->n, panel);
        for (int64_t piece = 0; piece < p->pieces; piece++, packed += groups * count)
            for (int64_t i = 0; i + 2 <= groups; i += 2) join(packed + i * count, count);
    }
}
