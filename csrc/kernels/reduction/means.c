/* means.c -- the multipliers of MEAN, and MEAN of bytes where a primitive applies them. */
#include <stdlib.h>

#include "kernels/reduction/reduction.h"

int64_t ml_derive_mean(const ml_call *c, void *to) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    if (to) *(ml_rescale *)to = ml_rescale_of(in, out, (double)in.scale / (double)out.scale);
    return (int64_t)sizeof(ml_rescale);
}

/* The multiplier divided by `count`, as QuantizedMeanOrSum derives it. It applies to sums, whose
 * zero point is count times the input's. */
static ml_rescale divided(const ml_rescale *p, int64_t count) {
    ml_rescale of_sum = *p;
    int32_t bits = 63 - __builtin_clzll((uint64_t)count);
    bits = bits > 32 ? 32 : bits;
    bits = bits > 31 + p->shift ? 31 + p->shift : bits;
    of_sum.mantissa = (int32_t)(((int64_t)p->mantissa << bits) / count);
    of_sum.shift = p->shift - bits;
    of_sum.input_zero_point = (int32_t)((uint32_t)p->input_zero_point * (uint32_t)count);
    return of_sum;
}

ml_rescale ml_mean_rescale(const ml_call *c) {
    return divided(c->derived, ((const ml_reduce *)c->blob)->count);
}

/* True only with multipliers in the range of requantize, so that nothing wraps. */
bool ml_can_requantize_mean(const ml_call *c) {
    const ml_reduce *r = c->blob;
    if (ml_in_tensor(c, 0)->type == ML_S16 || r->count == 0 || r->count > 1 << 20) return false;
    const ml_rescale p = ml_mean_rescale(c);
    return p.shift <= 0 && p.mantissa >= 0 && abs(p.input_zero_point) < 1 << 29;
}

enum { LANES = 16 };

/* Requantizes sums to bytes, all with the same multiplier. */
static ml_status write_means(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *unused) {
    const ml_rescale p = ml_mean_rescale(c);
    int32_t bias[LANES], mantissas[LANES], shifts[LANES];
    for (int i = 0; i < LANES; i++) {
        bias[i] = -p.input_zero_point;
        mantissas[i] = p.mantissa;
        shifts[i] = p.shift;
    }
    ml_requantize_args args = {.sums = (const int32_t *)c->scratch + first,
                               .rows = (end - first) / LANES,
                               .sums_stride = LANES,
                               .n = LANES,
                               .bias = bias,
                               .mantissas = mantissas,
                               .shifts = shifts,
                               .y = (int8_t *)ml_out(c, 0) + first,
                               .y_stride = LANES,
                               .zero = p.zero_point,
                               .low = p.least + p.zero_point,
                               .high = p.most + p.zero_point,
                               .limit = ML_LIMIT};
    c->env->simd->requantize(&args);
    args.sums += args.rows * LANES;
    args.y += args.rows * LANES;
    args.n = (end - first) % LANES;
    args.rows = 1;
    c->env->simd->requantize(&args);
    return ML_OK;
}

ml_status ml_requantized_mean(const ml_call *c) {
    const ml_reduce *r = c->blob;
    const bool is_signed = ml_in_tensor(c, 0)->type == ML_S8;
    const ml_status status = ml_sum_bytes(c, ml_in(c, 0), c->scratch, r, is_signed);
    return status == ML_OK ? ml_in_blocks(c, r->outputs, 1, write_means, NULL) : status;
}
