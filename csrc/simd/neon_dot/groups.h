/* groups.h -- four lines of sixteen bytes, side by side. */
#ifndef ML_SIMD_NEON_DOT_GROUPS_H
#define ML_SIMD_NEON_DOT_GROUPS_H

#include <arm_neon.h>

/* Puts bytes 4 i to 4 i + 3 of each line into groups[i]. */
__attribute__((always_inline)) static inline void to_groups(const uint8x16_t *lines,
                                                            uint8x16_t *groups) {
    const uint8x16_t even = vzip1q_u8(lines[0], lines[2]), odd = vzip1q_u8(lines[1], lines[3]);
    const uint8x16_t later = vzip2q_u8(lines[0], lines[2]), last = vzip2q_u8(lines[1], lines[3]);
    groups[0] = vzip1q_u8(even, odd);
    groups[1] = vzip2q_u8(even, odd);
    groups[2] = vzip1q_u8(later, last);
    groups[3] = vzip2q_u8(later, last);
}

#endif
