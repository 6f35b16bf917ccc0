/* weighted.c -- multipliers and limits of operators that multiply with weights. */
#include "rules/weighted.h"

/* The zero point of operand `i`. For bytes it must be in their range, because padding consists of
 * it. */
static bool zero_point(const ml_call *c, int i, bool symmetric, int32_t *zero) {
    const ml_quantization *q = ml_input_quantization(c, i);
    int64_t found = 0;
    for (int32_t k = 0; q && k < q->n_zero_points && found == 0; k++) found = q->zero_points[k];
    *zero = (int32_t)found;
    if (symmetric && found != 0)
        ml_refuse_operand(c, i, "must have zero points of 0, one is %lld", (long long)found);
    else if (i == 0 && ml_input(c, 0)->type != ML_S16 &&
             (found < ml_type_least(ml_input(c, 0)->type) ||
              found > ml_type_most(ml_input(c, 0)->type)))
        ml_refuse_operand(c, i, "has the zero point %lld, beyond its 8 bits", (long long)found);
    else if (found < INT16_MIN || found > INT16_MAX)
        ml_refuse_operand(c, i, "has the zero point %lld, beyond 16 bits", (long long)found);
    else return true;
    return false;
}

int32_t ml_weights_type(const ml_call *c) {
    const int32_t type = ml_input(c, 1)->type;
    return type == ML_U8 && ml_input(c, 0)->type == ML_F32 ? ML_S8 : type;
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

/* Hands out arrays after an ml_weighted; without memory it only counts. */
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
        w->scales_differ |= scale != q->scales[0];
        double product = rule->multiplier == ML_MULTIPLIER_SINGLE ? (double)((float)scale_x * scale)
                                                                  : scale_x * (double)scale;
        if (scales) scales[i] = scale;
        else if (reals) reals[i] = product / scale_y;
        else ml_quantize_multiplier(product / scale_y, &mantissas[i], &shifts[i]);
    }
}

int32_t ml_limit_of(const int32_t *start, int64_t n, int64_t k) {
    int32_t least = 0, most = 0;
    for (int64_t i = 0; start && i < n; i++) {
        least = start[i] < least ? start[i] : least;
        most = start[i] > most ? start[i] : most;
    }
    const int64_t limit = 1 + k * 255 * 255 + (most > -(int64_t)least ? most : -(int64_t)least);
    return limit <= ML_LIMIT_WIDE ? (int32_t)limit : 0;
}

/* The limit of sums, if weights are constant, and the bias is constant or absent. */
static int32_t limit_of(const ml_call *c, const ml_weighted_rule *rule, int64_t outputs) {
    const int64_t elements = ml_elements(&ml_input(c, 1)->shape);
    const void *bias = ml_value(c, 2);
    if (rule->sums == 0 || outputs <= 0 || elements <= 0 || !ml_value(c, 1) ||
        elements / outputs > INT32_MAX)
        return 0; /* prepare refuses the weights' rank */
    if (ml_input(c, 2) &&
        (!bias || ml_input(c, 2)->type != ML_S32 || ml_elements(&ml_input(c, 2)->shape) != outputs))
        return 0;
    return ml_limit_of(bias, outputs, rule->sums * (elements / outputs));
}

int64_t ml_derive_weighted(const ml_call *c, void *to, const ml_weighted_rule *rule, float minimum,
                           float maximum) {
    const ml_tensor *weights = ml_input(c, 1);
    ml_weighted made = {0}, *w = &made;
    room r = {to, 0};
    take(&r, 1, sizeof *w);
    if (!ml_input(c, 0) || !weights) return r.used; /* prepare refuses */
    w->outputs = rule->axis < weights->shape.rank ? weights->shape.dims[rule->axis] : 0;
    /* The zero points and scales of weights, input and output; a refusal has set the error. */
    double scale_x = 1.0, scale_y = 1.0;
    if (!check_weights(c, rule, w->outputs) ||
        !zero_point(c, 1,
                    rule->symmetric || rule->symmetric_weights ||
                        ml_input_quantization(c, 1)->n_scales > 1,
                    &w->w_zero))
        return -1;
    if (ml_weights_type(c) == ML_U8) w->w_zero -= 128;
    if (rule->multiplier != ML_MULTIPLIER_SCALE) {
        const int y = c->n_inputs;
        scale_x = ml_one_scale(c, 0);
        if (!(scale_x > 0.0) || !zero_point(c, 0, rule->symmetric, &w->x_zero)) return -1;
        scale_y = ml_one_scale(c, y);
        if (!(scale_y > 0.0) || !zero_point(c, y, rule->symmetric, &w->y_zero)) return -1;
        if (to) w->limit = limit_of(c, rule, w->outputs);
        ml_quantized_clamp(minimum, maximum, ml_output_affine(c, 0), &w->low, &w->high);
    }
    /* One multiplier per output. */
    make_multipliers(c, &r, w, rule, scale_x, scale_y);
    if (to) memcpy(to, w, sizeof *w);
    return r.used;
}

int64_t ml_reads_weighted(const ml_call *c) {
    const ml_weighted *w = c->derived;
    return w ? 1 + (((int64_t)w->w_zero * 8) | w->winograd) : 0;
}

ml_status ml_check_weighted(const ml_call *c, const ml_weighted *w, int32_t outputs) {
    const ml_tensor *bias = ml_input(c, 2);
    const bool vector = bias && bias->shape.rank == 1 && bias->shape.dims[0] == outputs;
    if (bias && !vector && ml_elements(&bias->shape) != outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), outputs);
    if (w && w->outputs != outputs)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the weights have %d outputs, their quantization in the file is for %d",
                       outputs, w->outputs);
    return ML_OK;
}
