/* pool_plain.h -- windows over neighbouring pixels in plain C.
 *
 * POOL(name, the element of images, the total's type, what it begins with, MERGE(total, x), FINISH(args, total)) defines a static
 * function of ml_pool_args. */
#include "math/fixed_point.h"
#include "math/float_math.h"
#include "simd.h"

enum { CHUNK = 32 };

#define POOL(name, element, total, initial, MERGE, FINISH)                                          \
    static void name##_chunk(const ml_pool_args *p, const element *x, element *y, int n) {          \
        total totals[CHUNK];                                                                        \
        for (int i = 0; i < n; i++) totals[i] = (initial);                                          \
        for (int64_t line = 0; line < p->height; line++)                                            \
            for (int64_t tap = 0; tap < p->width; tap++) {                                          \
                const element *from = x + line * p->line_step + tap * p->n;                         \
                for (int i = 0; i < n; i++) totals[i] = MERGE(totals[i], from[i]);                  \
            }                                                                                       \
        for (int i = 0; i < n; i++) y[i] = (element)FINISH(p, totals[i]);                           \
    }                                                                                               \
    static void name(const ml_pool_args *p) {                                                       \
        const element *x = p->x;                                                                    \
        element *y = p->y;                                                                          \
        for (int64_t pixel = 0; pixel < p->pixels; pixel++, x += p->pixel_step, y += p->n)          \
            for (int64_t channel = 0; channel < p->n; channel += CHUNK) {                           \
                const int64_t left = p->n - channel;                                                \
                name##_chunk(p, x + channel, y + channel, (int)(left < CHUNK ? left : CHUNK));      \
            }                                                                                       \
    }
