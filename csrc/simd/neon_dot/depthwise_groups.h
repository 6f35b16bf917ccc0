/* depthwise_groups.h -- the vectors of tiles/depthwise.h for depthwise_s8 and depthwise_product_s8
 * at neon_dot: groups of four bytes of eight channels, whose products SDOT adds up. */
#include "simd/neon/depthwise_sums.h"

#define VALUE eight_groups
#define ELEMENT_BYTES 4

typedef struct eight_groups {
    int8x16_t front, back;
} eight_groups;

#define LOAD_VALUE(p) groups_at(p)
#define LOAD_VALUE_PART(p, count) groups_part(p, count)
#define KEEP(value, x) __asm__("" : "+w"((value).front), "+w"((value).back), "+r"(x))
#define MULTIPLY_ADD(x, w, sum) multiply_add(x, w, sum)

static inline eight_groups groups_at(const void *p) {
    const int8_t *bytes = p;
    return (eight_groups){vld1q_s8(bytes), vld1q_s8(bytes + 16)};
}

static inline eight_groups groups_part(const void *p, int count) {
    int8_t bytes[32] = {0};
    memcpy(bytes, p, 4 * (size_t)count);
    return groups_at(bytes);
}

/* Adds in the registers of the sums: the empty asm keeps the compiler from moving them. */
static inline eight_sums multiply_add(eight_groups x, eight_groups w, eight_sums sum) {
    sum.front = vdotq_s32(sum.front, x.front, w.front);
    sum.back = vdotq_s32(sum.back, x.back, w.back);
    __asm__ volatile("" : "+w"(sum.front), "+w"(sum.back));
    return sum;
}
