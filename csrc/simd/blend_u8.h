/* blend_u8.h -- blend_u8 in vectors of any width, in floats. The file that includes it names its
 * FUNCTION and has included its level's vectors of int32. */
#include "blend_real.h"

#define CHANNELS VECTOR
#define ELEMENT uint8_t
#define READ(p) FLOATS(WIDEN(p, false))
#define READ_PART(p, count) FLOATS(WIDEN_PART(p, count, false))
#define WRITE(p, v) NARROW(p, TRUNCATED(v))
#define WRITE_PART(p, v, count) NARROW_PART(p, TRUNCATED(v), count)
#define BLEND(k, nw, sw, ne, se) ADD(blend_real(k, nw, sw, ne, se), SPLAT(0.5f))

#include "blend_tile.h"

void FUNCTION(const ml_blend_args *p) {
    if (p->n < LANES && !MASKED_S32) ml_blend_u8_scalar(p);
    else blend_pixels(p);
}
