/* integers.c -- TRANSPOSE_CONV of integers, and of floats with integer weights: products of bytes
 * are added in 32 or 64 bits. */
#include "kernels/transpose_conv/transpose_conv.h"
#include "rules/values.h"
#include "rules/work.h"

SCATTER(scatter_u32, uint32_t)
SCATTER(scatter_u64, uint64_t)

int64_t ml_transpose_conv_pack_s8(const ml_call *c, void *to) {
    const transpose_conv_blob *b = c->blob;
    const int64_t n = ml_elements_of(&ml_input(c, 1)->shape, 0, 3);
    const ml_pack_s8_args args = {.w = ml_value(c, 1),
                                  .type = ml_input(c, 1)->type,
                                  .output_step = (int64_t)b->taps[0] * b->taps[1] * b->depth,
                                  .period = b->outputs,
                                  .period_step = b->depth,
                                  .input_step = 1,
                                  .n = n,
                                  .pieces = 1,
                                  .k = b->depth};
    if (to) ml_pack_s8(c->env->simd, args, to);
    return ml_weights_s8_bytes(n, 1, b->depth);
}

static ml_slices slices_of(const ml_call *c) {
    const transpose_conv_blob *b = c->blob;
    return ml_slices_at(ml_scratch(c, b->slices), b->batches, pixels_of_batch(b) * b->depth);
}

/* Multiplies pixels begin .. end - 1 of a block. */
static ml_status multiply(const ml_call *c, int64_t begin, int64_t end, int32_t worker,
                          void *args) {
    const scattering *of = args;
    const transpose_conv_blob *b = c->blob;
    const ml_weighted *w = c->derived;
    const ml_simd *simd = c->env->simd;
    const int32_t type = ml_in_tensor(c, 2)->type;
    const int64_t k = b->depth, n = b->outputs * b->taps[0] * b->taps[1];
    const int64_t first = of->first + begin, count = end - begin, plane = of->count * k;
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, n, 1, k);
    const ml_slices slices = slices_of(c);
    uint8_t *rows = (uint8_t *)ml_scratch(c, b->rows) + begin * k;
    int32_t *factors = (int32_t *)ml_scratch(c, b->factors) + begin;
    int32_t *products = (int32_t *)ml_scratch(c, b->products) + begin * n * (is_wide(c) ? 2 : 1);
    /* The pixels as bytes. */
    if (is_hybrid(c)) rows = slices.bytes + first * k;
    else
        ml_to_bytes(type, (const char *)ml_in(c, 2) + first * k * ml_type_bytes(type), count * k,
                    plane, rows);
    /* Products of int16 have 64 bits. */
    if (is_wide(c)) {
        ml_multiply_words(simd, rows, plane, count, &weights,
                          (int32_t *)ml_scratch(c, b->planes) + 2 * begin * n, (void *)products);
        return ML_OK;
    }
    for (int64_t i = 0; i < count; i++)
        factors[i] = is_hybrid(c) ? slices.factors[(first + i) / pixels_of_batch(b)]
                                  : -ml_byte_of_zero(type, w->x_zero);
    /* Products of bytes, less the zero points of the pixels; then less that of the weights. */
    ml_multiply_bytes(simd, rows, count, &weights, factors, products);
    for (int64_t i = 0; w->w_zero && i < count; i++) {
        uint32_t *product = (uint32_t *)products + i * n;
        uint32_t total = (uint32_t)(factors[i] * k);
        for (int64_t j = 0; j < k; j++) total += rows[i * k + j];
        for (int64_t j = 0; j < n; j++) product[j] -= total * (uint32_t)w->w_zero;
    }
    return ML_OK;
}

static ml_status finish_integers(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                 void *args) {
    const transpose_conv_blob *b = c->blob;
    const int64_t n = b->outputs, at = first * n;
    const int32_t type = ml_out_tensor(c, 0)->type;
    reordered_call as;
    const ml_requantized r = {.bias = ml_in_optional(c, 3),
                              .sums =
                                  (const char *)ml_scratch(c, b->sums) + at * (is_wide(c) ? 8 : 4),
                              .rows = end - first,
                              .n = n,
                              .y = (char *)ml_out(c, 0) + at * ml_type_bytes(type),
                              .y_stride = n};
    if (is_wide(c) && r.bias && ml_in_tensor(c, 3)->type == ML_S32) {
        const int64_t *wide = r.sums;
        int32_t *sums = (int32_t *)ml_scratch(c, b->sums) + at * 2;
        for (int64_t i = 0; i < (end - first) * n; i++) sums[i] = (int32_t)wide[i];
        ml_requantize_s16(weighted(c, &as), &r);
    } else if (is_wide(c)) {
        ml_requantize_wide(weighted(c, &as), &r);
    } else {
        const int64_t k = b->depth * b->taps[0] * b->taps[1];
        ml_requantize_bytes(weighted(c, &as), &r, ml_limit_of(r.bias, n, k));
    }
    return ML_OK;
}

/* bias + (sum * scale of weights) * scale of its batch. */
static ml_status finish_hybrid(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const transpose_conv_blob *b = c->blob;
    const transpose_conv_params *p = c->params;
    const int64_t n = b->outputs, batch = (int64_t)b->out[0] * b->out[1];
    const float *scales = slices_of(c).scales,
                *of_weights = ((const ml_weighted *)c->derived)->scales;
    const float *bias = ml_in_optional(c, 3);
    const int32_t *sums = (const int32_t *)ml_scratch(c, b->sums) + first * n;
    float *y = (float *)ml_out(c, 0) + first * n;
    for (int64_t i = first; i < end; i++, y += n, sums += n)
        for (int64_t o = 0; o < n; o++) {
            float v = (float)sums[o] * of_weights[o] * scales[i / batch] + (bias ? bias[o] : 0.0f);
            v = v < p->minimum ? p->minimum : v;
            y[o] = v > p->maximum ? p->maximum : v;
        }
    return ML_OK;
}

ml_status ml_transpose_conv_integers(const ml_call *c) {
    const transpose_conv_blob *b = c->blob;
    const int64_t pixels = b->batches * b->in[0] * b->in[1];
    const int64_t all = b->batches * b->out[0] * b->out[1];
    const int64_t nothing = 0, sum = is_wide(c) ? 8 : 4;
    const int64_t cost = (b->depth / 4 + 8) * b->outputs * b->taps[0] * b->taps[1];
    scattering of = {.products = ml_scratch(c, b->products), .y = ml_scratch(c, b->sums)};
    ml_status status = ml_fill_bytes(c, of.y, all * b->outputs * sum, &nothing, sum);
    for (; of.first < pixels && status == ML_OK; of.first += of.count) {
        of.count = ml_min_s64(b->block, pixels - of.first);
        status = ml_parallel(c, of.count, ml_work_grain(of.count, cost), multiply, &of);
        if (status == ML_OK)
            status = ml_transpose_conv_scatter(c, is_wide(c) ? scatter_u64 : scatter_u32, of);
        if (status == ML_OK && of.first + of.count < pixels) status = ml_poll(c);
    }
    const ml_body finish = is_hybrid(c) ? finish_hybrid : finish_integers;
    return status == ML_OK ? ml_in_blocks(c, all, b->outputs, finish, NULL) : status;
}

ml_status ml_transpose_conv_hybrid(const ml_call *c) {
    const transpose_conv_blob *b = c->blob;
    const ml_slices slices = slices_of(c);
    ml_status status = ml_quantize_slices(c, ml_in(c, 2), b->batches, pixels_of_batch(b) * b->depth,
                                          true, &slices);
    return status == ML_OK ? ml_transpose_conv_integers(c) : status;
}

#define DERIVE(type, ...)                                                               \
    int64_t ml_transpose_conv_derive_##type(const ml_call *c, void *to) {               \
        static const ml_weighted_rule rule = {__VA_ARGS__};                             \
        const transpose_conv_params *p = c->params;                                     \
        reordered_call as;                                                              \
        return ml_derive_weighted(weighted(c, &as), to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)
