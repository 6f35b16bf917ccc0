/* nibbles.c -- products with weights that stay nibbles, a panel of outputs after the other. */
#include "rules/nibbles.h"

enum {
    FEW_OF_NIBBLES = 4,
    NIBBLE_GROUP = 8, /* inputs, as matmul_s4 takes them */
    LEAST_OF_NIBBLES = ML_PANEL_S4 / 2 /* outputs: fewer leave most of a panel empty */
};

bool ml_keeps_nibbles(const ml_call *c, int64_t k) {
    const ml_weighted *w = c->derived;
    const int32_t x = ml_input(c, 0)->type, n = ml_input(c, 1)->shape.dims[0];
    return c->env->simd->nibbles && n >= LEAST_OF_NIBBLES && ml_input(c, 1)->type == ML_S4 && w &&
           w->w_zero == 0 && k > 0 && k % NIBBLE_GROUP == 0 &&
           (x == ML_F32 || (x == ML_S8 && ml_output(c, 0)->type == ML_S8));
}

/* Packing -------------------------------------------------------------------------------------- */

static int64_t panels_bytes(int64_t n, int64_t k) { return ml_round_up(n, ML_PANEL_S4) / 2 * k; }

static const int32_t *sums_at(const void *packed, int64_t n, int64_t k) {
    return (const int32_t *)(const void *)((const char *)packed + panels_bytes(n, k));
}

/* Four nibbles as the low halves of four bytes. */
static uint32_t spread(uint32_t nibbles) {
    const uint32_t pairs = (nibbles | nibbles << 8) & 0x00FF00FF;
    return (pairs | pairs << 4) & 0x0F0F0F0F;
}

/* Packs the eight weights of a group, of which two lie in a byte, and adds them to a sum. */
static uint32_t pack_group(const uint8_t *w, int32_t *sum) {
    const uint32_t all =
        (uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16 | (uint32_t)w[3] << 24;
    const uint32_t more = all ^ 0x88888888; /* each plus 8 */
    const uint32_t low = spread(more & 0xFFFF), high = spread(more >> 16);
    *sum += (int32_t)((low + high) * 0x01010101 >> 24) - 8 * NIBBLE_GROUP;
    return low | high << 4;
}

int64_t ml_pack_nibbles(const ml_call *c, void *to, int64_t n, int64_t k) {
    const uint8_t *w = ml_value(c, 1);
    const int64_t all = panels_bytes(n, k) + n * (int64_t)sizeof(int32_t);
    if (!to) return all;
    int32_t *sums = (int32_t *)(uintptr_t)sums_at(to, n, k);
    for (int64_t i = 0; i < ml_round_up(n, ML_PANEL_S4); i++) {
        uint8_t *at = (uint8_t *)to + i / ML_PANEL_S4 * ML_PANEL_S4 / 2 * k + i % ML_PANEL_S4 * 4;
        int32_t sum = 0;
        for (int64_t j = 0; j < k; j += NIBBLE_GROUP, at += 4 * ML_PANEL_S4) {
            const uint32_t four = i < n ? pack_group(w + (i * k + j) / 2, &sum) : 0x88888888;
            for (int b = 0; b < 4; b++) at[b] = (uint8_t)(four >> 8 * b);
        }
        if (i < n) sums[i] = sum;
    }
    return all;
}

/* Turns the weights of `n` outputs, at most ML_PANEL_S8, into bytes as pack_s8 lays them out. */
static void unpack_panels(const uint8_t *packed, int64_t n, int64_t k, int8_t *to) {
    const int64_t width = ml_width_s8(n, 0), line = 4 * width;
    for (int64_t first = 0; first < width; first += ML_PANEL_S4, packed += ML_PANEL_S4 / 2 * k) {
        const int64_t count = 4 * ml_min_s64(ML_PANEL_S4, width - first);
        const uint8_t *from = packed;
        int8_t *low = to + 4 * first;
        for (int64_t group = 0; group < k; group += NIBBLE_GROUP, from += 4 * ML_PANEL_S4) {
            int8_t *high = low + line;
            for (int64_t i = 0; i < count; i++) {
                low[i] = (int8_t)((from[i] & 15) - 8);
                high[i] = (int8_t)((from[i] >> 4) - 8);
            }
            low = high + line;
        }
    }
}

/* Products ------------------------------------------------------------------------------------- */

void ml_prepare_nibbles(const ml_call *c, ml_wish *wish, const ml_integers *p,
                        const ml_integer_rule *rule) {
    if (p->rows > FEW_OF_NIBBLES) wish->worker_bytes = ML_PANEL_S8 * p->k;
    if (ml_in_tensor(c, 0)->type == ML_F32) ml_reserve(wish, ml_quantized_bytes(c, p, rule));
    else ml_reserve(wish, p->rows * (int64_t)sizeof(int32_t));
}

typedef struct nibble_args {
    const ml_integers *product;
    const uint8_t *x;
    const int32_t *factors; /* of rows */
    const float *scales; /* of rows of floats */
    int32_t limit;
    float minimum;
    float maximum;
} nibble_args;

/* The sums of few rows become outputs. */
static void finish_few(const ml_call *c, const nibble_args *a, const ml_requantized *r) {
    const ml_weighted *w = c->derived;
    if (a->scales) {
        ml_scale_sums(c, r, a->scales, ML_SCALES_FIRST, a->minimum, a->maximum);
        return;
    }
    c->env->simd->requantize_f64(&(ml_requantize_f64_args){.sums = r->sums,
                                                           .rows = r->rows,
                                                           .sums_stride = r->n,
                                                           .n = r->n,
                                                           .reals = w->reals + r->first,
                                                           .y = r->y,
                                                           .y_stride = r->y_stride,
                                                           .zero = w->y_zero,
                                                           .low = w->low,
                                                           .high = w->high});
}

/* The outputs of a panel of ML_PANEL_S8, for all rows. */
static void multiply_panel(const ml_call *c, const nibble_args *a, int64_t column, int8_t *bytes) {
    const ml_integers *p = a->product;
    const ml_simd *simd = c->env->simd;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    const int32_t *bias = ml_in_optional(c, 2), *sums = sums_at(c->packed, p->n, p->k) + column;
    const uint8_t *packed = (const uint8_t *)c->packed + column / 2 * p->k;
    int32_t few[FEW_OF_NIBBLES * ML_PANEL_S8];
    ml_requantized r = {.bias = a->scales ? bias : NULL,
                        .sums = few,
                        .rows = p->rows,
                        .first = column,
                        .n = ml_min_s64(ML_PANEL_S8, p->n - column),
                        .y = (char *)ml_out(c, 0) + column * element,
                        .y_stride = p->n};
    ml_matmul_s8_args args = {.a = a->x,
                              .rows = p->rows,
                              .a_stride = p->k,
                              .pieces = 1,
                              .k = p->k,
                              .n = r.n,
                              .flip = ml_flip_of(a->scales ? ML_U8 : ML_S8),
                              .narrow = true,
                              .packed = (const int8_t *)packed,
                              .bias = bias && !a->scales ? bias + column : NULL,
                              .factors = a->factors,
                              .columns = sums,
                              .y = few,
                              .y_stride = r.n,
                              .sums = sums};
    if (p->rows <= FEW_OF_NIBBLES) {
        simd->matmul_s4(&args);
        finish_few(c, a, &r);
        return;
    }
    unpack_panels(packed, r.n, p->k, bytes);
    args.packed = bytes;
    if (a->scales) {
        const ml_scale_s32_args floats =
            ml_scaling_of(c, &r, a->scales, ML_SCALES_FIRST, a->minimum, a->maximum);
        simd->product_f32(simd, &args, &floats, 1, 0);
    } else {
        const ml_requantize_args to = ml_requantize_args_of(c, &r, a->limit);
        simd->product_s8(simd, &args, &to, 1, 0);
    }
}

static ml_status panels_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    for (int64_t i = first; i < end; i++)
        multiply_panel(c, args, i * ML_PANEL_S8, ml_worker_scratch(c, worker));
    return ML_OK;
}

ml_status ml_multiply_nibbles(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                              float minimum, float maximum) {
    const ml_weighted *w = c->derived;
    nibble_args args = {
        .product = p, .x = ml_in(c, 0), .limit = w->limit, .minimum = minimum, .maximum = maximum};
    if (ml_in_tensor(c, 0)->type == ML_F32) {
        const ml_slices slices = ml_quantized_floats(c, p, rule);
        args.x = slices.bytes;
        args.factors = slices.factors;
        args.scales = slices.scales;
    } else {
        int32_t *factors = c->scratch;
        const int32_t factor = -ml_byte_of_zero(ML_S8, w->x_zero);
        for (int64_t r = 0; r < p->rows; r++) factors[r] = factor;
        args.factors = factors;
    }
    const int64_t panels = ml_ceil_div(p->n, ML_PANEL_S8);
    const int64_t cost = p->rows * ml_row_cost(c->env->simd, p->k, ML_PANEL_S8);
    return ml_parallel(c, panels, ml_work_grain(panels, cost), panels_body, &args);
}
