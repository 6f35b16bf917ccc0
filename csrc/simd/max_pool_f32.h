/* max_pool_f32.h -- max_pool_f32 in vectors of any width. The file that includes it names its
 * FUNCTION and has included the vectors of its level. Of NaN and a number the total stays. */
#define INITIAL(sign) SPLAT(-__FLT_MAX__)
#define MERGE(total, x, sign) MAX(x, total)
#define TOTAL(v, count) (v)
#define SCALAR ml_max_pool_f32_scalar
#include "pool_f32.h"
