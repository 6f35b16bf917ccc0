/* average_pool_s8.c -- average_pool_s8 in the words of a level, summed in 32 bits.
 *
 * The mean is (sum +- count / 2) / count, truncated: exact in float as a product with a reciprocal
 * that is not below the true one, as long as count times 256 stays below 2^22. */
#include "math/float_math.h"
#include "simd/words.h"

#define CHANNELS VECTOR_S32
#define ELEMENT uint8_t
#define READ(p, sign) WIDEN(p, sign)
#define WRITE(p, v) NARROW(p, v)
#define INITIAL(sign) SPLAT_S32(0)
#define MERGE(total, x, sign) ADD_S32(total, x)
#define FINISH(k, v, sign) mean(k, v)

enum { MOST_TAPS = 8192 };

typedef struct constants {
    VECTOR half, reciprocal;
    VECTOR_S32 low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    const int64_t count = p->height * p->width;
    float reciprocal = 1.0f / (float)count;
    if ((double)reciprocal * (double)count < 1.0)
        reciprocal = ml_float_of_bits(ml_bits_of_float(reciprocal) + 1);
    return (constants){SPLAT((float)(count / 2)), SPLAT(reciprocal), SPLAT_S32(p->low),
                       SPLAT_S32(p->high)};
}

static inline VECTOR_S32 mean(const constants *k, VECTOR_S32 sum) {
    const VECTOR real = FLOATS(sum), half = XOR(k->half, SIGN(real));
    return MIN_S32(k->high, MAX_S32(k->low, TRUNCATED(MUL(ADD(real, half), k->reciprocal))));
}

#include "simd/tiles/pool.h"

static void means_s8(const ml_pool_args *p) { pool_whole(p, true); }
static void means_u8(const ml_pool_args *p) { pool_whole(p, false); }

void ML_VARIANT(average_pool_s8)(const ml_pool_args *p) {
    pixels_fn *const whole = p->is_signed ? means_s8 : means_u8;
    if (p->height * p->width > MOST_TAPS) ml_average_pool_s8_scalar(p);
    else NARROWER_OR(average_pool_s8, p, LANES, pool(p, whole, ml_average_pool_s8_scalar));
}
