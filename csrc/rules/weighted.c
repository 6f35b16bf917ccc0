/* weighted.c -- multipliers, limits, sums of weights and folded bias of operators that multiply with weights. */
#include "rules/weighted.h"

#include "math/matmul.h"
#include "math/quantize_row.h"

/* A zero point of operand `i` that 16 bits hold, as far as widened inputs reach. */
static bool zero_point(const ml_call *c, int i, bool symmetric, int32_t *zero) {
    const ml_quantization *q = ml_input_quantization(c, i);
    int64_t found = 0;
    for (int32_t k = 0; q && k < q->n_zero_points && found == 0; k++) found = q->zero_points[k];
    *zero = (int32_t)found;
    if (symmetric && found != 0)
        ml_refuse_operand(c, i, "must have zero points of 0, one is %lld", (long long)found);
    else if (found < INT16_MIN || found > INT16_MAX)
        ml_refuse_operand(c, i, "has the zero point %lld, beyond 16 bits", (long long)found);
    else return true;
    return false;
}

static bool check_weights(const ml_call *c, const ml_weighted_rule *rule, int32_t outputs) {
    const ml_quantization *q = ml_input_quantization(c, 1);
    int32_t count = q ? q->n_scales : 0;
    if (count != 1 && (count != outputs || count == 0))
        ml_refuse_operand(c, 1, "has %d scales for %d outputs", count, outputs);
    else if (count > 1 && q->dimension != rule->axis)
        ml_refuse_operand(c, 1, "is quantized along dimension %d, it must be %d", q->dimension,
                          rule->axis);
    else if (q->block_size) ml_refuse_operand(c, 1, "is quantized in blocks of %d", q->block_size);
    else {
        for (int32_t i = 0; i < count; i++)
            if (!(q->scales[i] >= 0.0f && q->scales[i] <= __FLT_MAX__)) {
                ml_refuse_operand(c, 1, "must have scales >= 0, one is %g", (double)q->scales[i]);
                return false;
            }
        return true;
    }
    return false;
}

/* Hands out arrays behind an ml_weighted; counts alone where there is no memory yet. */
typedef struct room {
    char *base;
    int64_t used;
} room;

static void *take(room *r, int64_t count, int64_t bytes) {
    void *place = r->base ? r->base + r->used : NULL;
    r->used += ml_round_up(count * bytes, 16);
    return place;
}

static void make_multipliers(const ml_call *c, room *r, ml_weighted *w,
                             const ml_weighted_rule *rule, double scale_x, double scale_y) {
    const ml_quantization *q = ml_input_quantization(c, 1);
    int64_t n = w->outputs;
    int32_t *mantissas = NULL, *shifts = NULL;
    double *reals = NULL;
    float *scales = NULL;
    if (rule->multiplier == ML_MULTIPLIER_DOUBLE) w->reals = reals = take(r, n, sizeof *reals);
    else if (rule->multiplier == ML_MULTIPLIER_SCALE)
        w->scales = scales = take(r, n, sizeof *scales);
    else {
        w->mantissas = mantissas = take(r, n, sizeof *mantissas);
        w->shifts = shifts = take(r, n, sizeof *shifts);
    }
    for (int32_t i = 0; r->base && i < n; i++) {
        float scale = q->scales[q->n_scales > 1 ? i : 0];
        double product = rule->multiplier == ML_MULTIPLIER_SINGLE ? (double)((float)scale_x * scale)
                                                                  : scale_x * (double)scale;
        if (scales) scales[i] = scale;
        else if (reals) reals[i] = product / scale_y;
        else ml_quantize_multiplier(product / scale_y, &mantissas[i], &shifts[i]);
    }
}

/* The folded bias, where the file has what it is made of. */
static void make_bias(const ml_call *c, room *r, ml_weighted *w, const ml_weighted_rule *rule) {
    const ml_tensor *weights = ml_input(c, 1), *bias = ml_input(c, 2);
    const void *values = ml_value(c, 1), *bias_values = ml_value(c, 2);
    int64_t n = w->outputs, k = n > 0 ? ml_elements(&weights->shape) / n : 0;
    if (rule->axis != 0 || rule->symmetric || rule->multiplier == ML_MULTIPLIER_SCALE || !values ||
        (bias && (!bias_values || ml_elements(&bias->shape) != n)))
        return;
    int32_t *folded = take(r, n, sizeof *folded);
    w->bias = folded;
    if (!r->base) return;
    ml_sum_weights(weights->type, values, n, k, folded);
    ml_fold_bias(w, bias_values, folded, n, k, folded);
}

int64_t ml_derive_weighted(const ml_call *c, void *to, const ml_weighted_rule *rule, float minimum,
                           float maximum) {
    const ml_tensor *weights = ml_input(c, 1);
    ml_weighted made = {0}, *w = &made;
    room r = {to, 0};
    take(&r, 1, sizeof *w);
    if (!ml_input(c, 0) || !weights) return r.used; /* prepare refuses */
    w->outputs = rule->axis < weights->shape.rank ? weights->shape.dims[rule->axis] : 0;
    double scale_x = 1.0, scale_y = 1.0;
    if (!check_weights(c, rule, w->outputs) ||
        !zero_point(c, 1,
                    rule->symmetric || rule->symmetric_weights ||
                        ml_input_quantization(c, 1)->n_scales > 1,
                    &w->w_zero))
        return -1;
    if (weights->type == ML_U8) w->w_zero -= 128;
    if (rule->multiplier != ML_MULTIPLIER_SCALE) {
        const int y = c->n_inputs;
        scale_x = ml_one_scale(c, 0);
        if (!(scale_x > 0.0) || !zero_point(c, 0, rule->symmetric, &w->x_zero)) return -1;
        scale_y = ml_one_scale(c, y);
        if (!(scale_y > 0.0) || !zero_point(c, y, rule->symmetric, &w->y_zero)) return -1;
        ml_quantized_clamp(minimum, maximum, ml_output_affine(c, 0), &w->low, &w->high);
    }
    make_multipliers(c, &r, w, rule, scale_x, scale_y);
    make_bias(c, &r, w, rule);
    if (to) memcpy(to, w, sizeof *w);
    return r.used;
}

enum {
    RUN = 1 << 16
}; /* elements whose sum 32 bits hold: twice as many go into a vector as of 64 bits */

static int32_t sum_of(int32_t type, const void *weights, int64_t from, int64_t end) {
    const int8_t *s8 = weights;
    const uint8_t *u8 = weights;
    int32_t sum = 0;
    if (type == ML_S4)
        for (int64_t j = from; j < end; j++) sum += ml_nibble(u8, j);
    else if (type == ML_U8)
        for (int64_t j = from; j < end; j++) sum += u8[j] - 128;
    else
        for (int64_t j = from; j < end; j++) sum += s8[j];
    return sum;
}

void ml_sum_weights(int32_t type, const void *weights, int64_t n, int64_t k, int32_t *sums) {
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = 0, end = (i + 1) * k;
        for (int64_t from = i * k; from < end; from += RUN)
            sum += sum_of(type, weights, from, end - from > RUN ? from + RUN : end);
        sums[i] = (int32_t)sum;
    }
}

void ml_fold_bias(const ml_weighted *w, const int32_t *bias, const int32_t *sums, int64_t n,
                  int64_t k, int32_t *to) {
    const uint32_t all = (uint32_t)k * (uint32_t)w->w_zero;
    for (int64_t i = 0; i < n; i++)
        to[i] = (int32_t)((bias ? (uint32_t)bias[i] : 0) -
                          (uint32_t)w->x_zero * ((uint32_t)sums[i] - all));
}

static int64_t values_bytes(const ml_tensor *x) {
    return ml_round_up(ml_elements(&x->shape) * (int64_t)sizeof(int16_t), 64);
}

void ml_reserve_quantized_input(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    ml_reserve(wish, values_bytes(x) + x->shape.dims[0] * (int64_t)sizeof(float));
}

ml_quantized_input ml_quantized_input_of(const ml_call *c) {
    return (ml_quantized_input){c->scratch, ml_scratch(c, values_bytes(ml_in_tensor(c, 0)))};
}

void ml_quantize_input(const ml_call *c, bool asymmetric) {
    const ml_tensor *x = ml_in_tensor(c, 0);
    ml_quantized_input to = ml_quantized_input_of(c);
    int64_t batches = x->shape.dims[0], each = batches ? ml_elements(&x->shape) / batches : 0;
    for (int64_t b = 0; b < batches; b++)
        to.scales[b] = ml_quantize_row((const float *)ml_in(c, 0) + b * each, each, asymmetric,
                                       to.values + b * each);
}

ml_status ml_check_weighted(const ml_call *c, const ml_weighted *w, int32_t outputs) {
    const ml_tensor *bias = ml_input(c, 2);
    if (bias && ml_elements(&bias->shape) != outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), outputs);
    if (w && w->outputs != outputs)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "weights of %d outputs, made for a file's of %d, cannot be requantized",
                       outputs, w->outputs);
    return ML_OK;
}
