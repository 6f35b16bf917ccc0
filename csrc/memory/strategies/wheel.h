/* wheel.h -- orders for very many records, after the squeaky wheel: what does not fit below the
 * lower bound goes to the front, and all are placed again. */
#ifndef ML_MEMORY_WHEEL_H
#define ML_MEMORY_WHEEL_H

#include "memory/strategies/passes.h"

typedef struct ml_wheel {
    int64_t bound;
    int64_t height; /* in and out: of the best plan */
    int64_t work; /* looks, in all, after which no pass begins */
    double end; /* CPU seconds after which no pass begins; 0 = never */
} ml_wheel;

/* Places all records repeatedly, at least once, until the plan meets the bound. The best plan, if
 * it is better than `height`, is kept in the passes, its order too. Returns the number of passes.
 * Source: D. Joslin, D. Clements, "Squeaky wheel optimization" (1999). */
int64_t ml_wheel_turn(ml_wheel *wheel, ml_passes *passes);

#endif
