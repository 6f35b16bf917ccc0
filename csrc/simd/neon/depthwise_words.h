/* depthwise_words.h -- the vectors of tiles/depthwise.h for depthwise_s8 and depthwise_product_s8
 * at neon: int16 of eight channels, whose products SMLAL adds to two vectors of sums. */
#include "simd/neon/depthwise_sums.h"

#define VALUE int16x8_t
#define ELEMENT_BYTES 2

#define LOAD_VALUE(p) vld1q_s16((const int16_t *)(const void *)(p))
#define LOAD_VALUE_PART(p, count) words_part(p, count)
#ifdef __aarch64__
#define LOAD_NEXT(value, x, step) \
    __asm__("ld1 {%0.8h}, [%1], %2" : "=w"(value), "+r"(x) : "r"(step), "m"(*(const int16_t (*)[8])(const void *)(x)))
#endif
#define MULTIPLY_ADD(x, w, sum) multiply_add(x, w, sum)

/* Adds in the registers of the sums: the empty asm keeps the compiler from moving them. */
static inline eight_sums multiply_add(int16x8_t x, int16x8_t w, eight_sums sum) {
    sum.front = vmlal_s16(sum.front, vget_low_s16(x), vget_low_s16(w));
    sum.back = vmlal_high_s16(sum.back, x, w);
    __asm__ volatile("" : "+w"(sum.front), "+w"(sum.back));
    return sum;
}

static inline int16x8_t words_part(const void *p, int count) {
    int16_t words[8] = {0};
    memcpy(words, p, (size_t)count * sizeof *words);
    return vld1q_s16(words);
}
