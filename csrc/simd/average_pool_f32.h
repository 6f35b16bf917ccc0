/* average_pool_f32.h -- average_pool_f32 in vectors of any width. The file that includes it names
 * its FUNCTION and has included the vectors of its level. */
#define INITIAL(sign) SPLAT(0.0f)
#define MERGE(total, x, sign) ADD(total, x)
#define TOTAL(v, count) DIV(v, count)
#define SCALAR ml_average_pool_f32_scalar
#include "pool_f32.h"
