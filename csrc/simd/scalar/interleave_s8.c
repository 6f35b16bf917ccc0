/* interleave_s8.c -- the plain meaning of interleave_s8: pairs of int16. */
#include "simd/variants.h"

void ml_interleave_s8_scalar(const ml_interleave_s8_args *p) {
    int16_t *y = p->y;
    for (int64_t i = 0; i < p->count; i++)
        for (int line = 0; line < 2; line++)
            *y++ = (int16_t)(p->lines[line] ? p->lines[line][i] ^ p->flip : p->pad);
}
