/* pool_plain.h -- windows over neighbouring pixels in plain C.
 *
 * POOL(name, element type, type of the total, its first value, MERGE(total, x), FINISH(args,
 * total)) defines a static function of ml_pool_args. Windows of 3 x 3 whose neighbours share
 * columns are merged column by column, all others line by line, as in tiles/pool.h, because sums of
 * floats depend on the order. */
#include <stdbool.h>

#include "math/fixed_point.h"
#include "math/float_math.h"
#include "simd/simd.h"

enum { CHUNK = 32 };

#define POOL(name, element, total, initial, MERGE, FINISH) \
    static void name##_chunk(const ml_pool_args *p, const element *x, element *y, int n) { \
        const bool by_columns = p->width == 3 && p->height == 3 && \
                                (p->pixel_step == p->n || p->pixel_step == 2 * p->n); \
        const int64_t outer = by_columns ? 3 : p->height, inner = by_columns ? p->height : p->width; \
        total totals[CHUNK], part[CHUNK]; \
        for (int i = 0; i < n; i++) totals[i] = (initial); \
        for (int64_t o = 0; o < outer; o++) { \
            total *to = by_columns ? part : totals; \
            for (int i = 0; i < n && by_columns; i++) part[i] = (initial); \
            for (int64_t k = 0; k < inner; k++) { \
                const int64_t line = by_columns ? k : o, tap = by_columns ? o : k; \
                const element *from = x + line * p->line_step + tap * p->n; \
                for (int i = 0; i < n; i++) to[i] = MERGE(to[i], from[i]); \
            } \
            for (int i = 0; i < n && by_columns; i++) totals[i] = MERGE(totals[i], part[i]); \
        } \
        for (int i = 0; i < n; i++) y[i] = (element)FINISH(p, totals[i]); \
    } \
    static void name(const ml_pool_args *p) { \
        const element *x = p->x; \
        element *y = p->y; \
        for (int64_t pixel = 0; pixel < p->pixels; pixel++, x += p->pixel_step, y += p->n) \
            for (int64_t channel = 0; channel < p->n; channel += CHUNK) { \
                const int64_t left = p->n - channel; \
                name##_chunk(p, x + channel, y + channel, (int)(left < CHUNK ? left : CHUNK)); \
            } \
    }
