/* matmul.c -- blocks of rows times packed weights. */
#include "rules/matmul.h"

static int64_t min_s64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Weights ---------------------------------------------------------------------------------------------------------- */

static int64_t too_large(const ml_call *c) {
    char text[96];
    ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
            ml_shape_text(&ml_input(c, 1)->shape, text));
    return -1;
}

int64_t ml_pack_weights_f32(const ml_call *c, void *to, int32_t groups) {
    const ml_shape *shape = &ml_input(c, 1)->shape;
    int64_t n = shape->dims[0] / groups, k = n > 0 ? ml_elements(shape) / shape->dims[0] : 0, bytes;
    int64_t floats = ml_panels_count(n) * ML_PANEL * k;
    if (__builtin_mul_overflow(ml_panels_count(n) * ML_PANEL * (int64_t)sizeof(float) * groups, k,
                               &bytes))
        return too_large(c);
    for (int32_t g = 0; to && g < groups; g++)
        ml_pack_panels_f32((const float *)ml_value(c, 1) + g * n * k, n, k,
                           (float *)to + g * floats);
    return bytes;
}

int64_t ml_pack_weights_s8(const ml_call *c, void *to) {
    const ml_tensor *weights = ml_input(c, 1);
    int64_t n = weights->shape.dims[0], k = n > 0 ? ml_elements(&weights->shape) / n : 0, bytes;
    if (__builtin_mul_overflow(ml_padded_row(k), n, &bytes)) return too_large(c);
    if (to) ml_pad_rows(weights->type, ml_value(c, 1), n, k, to);
    return bytes;
}

/* Integers --------------------------------------------------------------------------------------------------------- */

/* Where a block's parts lie in scratch. */
typedef struct layout {
    int64_t rows; /* behind `extra` */
    int64_t sums;
    int64_t own;
    int64_t bytes;
} layout;

/* Whether what a rule wants beside sums was derived, or is nothing but the bias itself. */
static bool has_extra(const ml_weighted *w, ml_extra extra) {
    return extra == ML_EXTRA_NONE ||
           (extra == ML_EXTRA_SUMS ? w->sums != NULL : w->bias || !w->x_zero);
}

static layout lay_out(const ml_call *c, const ml_blocks *b, const ml_integer_rule *rule) {
    int64_t n = b->n, row = ml_padded_row(b->k) * (int64_t)sizeof(int16_t);
    layout l = {0};
    if (!has_extra(c->derived, rule->extra))
        l.rows = ml_round_up(2 * n * b->groups * (int64_t)sizeof(int32_t), 64);
    l.sums = l.rows + ml_round_up(b->block * row, 64);
    l.own = l.sums + ml_round_up(b->block * n * (rule->wide ? 8 : 4), 64);
    l.bytes = l.own + (int64_t)b->block * b->own_bytes;
    return l;
}

ml_status ml_prepare_integers(const ml_call *c, ml_wish *wish, ml_blocks *b,
                              const ml_integer_rule *rule) {
    if (b->k > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)b->k);
    b->block = (int32_t)ml_block_rows(b->rows, ml_padded_row(b->k) * (int64_t)sizeof(int16_t) +
                                                   b->n * (int64_t)(rule->wide ? 8 : 4));
    if (c->derived) ml_reserve(wish, lay_out(c, b, rule).bytes);
    return ML_OK;
}

/* What the rule wants beside sums: derived, or made in scratch where weights or bias are computed. */
static const int32_t *find_extra(const ml_call *c, const ml_blocks *b, ml_extra extra) {
    const ml_weighted *w = c->derived;
    const int32_t *sums = w->sums, *bias = ml_in_optional(c, 2);
    if (extra == ML_EXTRA_NONE) return NULL;
    if (has_extra(w, extra)) return extra == ML_EXTRA_SUMS ? sums : w->bias ? w->bias : bias;
    int64_t n = (int64_t)b->n * b->groups;
    int32_t *made = c->scratch, *folded = made + n;
    if (!sums) ml_sum_weights(ml_in_tensor(c, 1)->type, ml_in(c, 1), n, b->k, made);
    if (extra == ML_EXTRA_SUMS) return made;
    ml_fold_bias(w, bias, sums ? sums : made, n, b->k, folded);
    return folded;
}

/* sums[r][i] -= zero * (sum of row r). */
static void subtract_weight_zero(const int16_t *rows, int64_t count, int64_t k, int32_t zero,
                                 int64_t n, int32_t *sums) {
    for (int64_t r = 0; r < count; r++) {
        int64_t total = 0;
        for (int64_t j = 0; j < k; j++) total += rows[r * k + j];
        uint32_t sum = (uint32_t)total * (uint32_t)zero;
        for (int64_t i = 0; i < n; i++)
            sums[r * n + i] = (int32_t)((uint32_t)sums[r * n + i] - sum);
    }
}

typedef struct integer_args {
    const ml_blocks *blocks;
    const ml_integer_rule *rule;
    ml_block block; /* without its place */
} integer_args;

static ml_status integer_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const integer_args *a = args;
    const ml_blocks *blocks = a->blocks;
    const ml_weighted *w = c->derived;
    const int8_t *weights = c->packed;
    int64_t k = ml_padded_row(blocks->k), n = blocks->n;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        ml_block b = a->block;
        b.first = i * blocks->block;
        b.count = min_s64(blocks->block, blocks->rows - b.first);
        for (b.group = 0; b.group < blocks->groups; b.group++) {
            a->rule->fill(c, &b);
            ml_matmul_s16s8(b.rows, b.count, weights + b.group * n * k, k, n, b.sums,
                            a->rule->wide);
            if (w->w_zero && !a->rule->wide)
                subtract_weight_zero(b.rows, b.count, k, w->w_zero, n, b.sums);
            a->rule->finish(c, &b);
        }
    }
    return ML_OK;
}

ml_status ml_multiply_integers(const ml_call *c, const ml_blocks *b, const ml_integer_rule *rule) {
    layout l = lay_out(c, b, rule);
    integer_args args = {.blocks = b, .rule = rule};
    args.block.extra = find_extra(c, b, rule->extra);
    args.block.rows = ml_scratch(c, l.rows);
    args.block.sums = ml_scratch(c, l.sums);
    args.block.own = ml_scratch(c, l.own);
    return ml_parallel(c, b->block ? (b->rows + b->block - 1) / b->block : 0, 1, integer_body,
                       &args);
}

/* Sums to outputs -------------------------------------------------------------------------------------------------- */

void ml_requantize_row(const ml_weighted *w, const int32_t *bias, const int32_t *sums,
                       int64_t first, int64_t n, int32_t type, void *y) {
    if (type != ML_S16) {
        ml_requantizer to = {bias, w->mantissas, w->shifts, w->y_zero, w->low, w->high};
        ml_requantize(&to, sums, first, n, y);
        return;
    }
    int16_t *to = y;
    for (int64_t i = 0; i < n; i++) {
        int64_t o = first + i;
        int32_t sum = (int32_t)((uint32_t)sums[i] + (bias ? (uint32_t)bias[o] : 0));
        int32_t scaled = ml_multiply_quantized(sum, w->mantissas[o], w->shifts[o]);
        to[i] = (int16_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)w->y_zero), w->low,
                                      w->high);
    }
}

void ml_requantize_row_s64(const ml_weighted *w, const int64_t *bias, const int64_t *sums,
                           int64_t first, int64_t n, int16_t *y) {
    for (int64_t i = 0; i < n; i++) {
        int64_t o = first + i;
        int64_t sum = (int64_t)((uint64_t)sums[i] + (bias ? (uint64_t)bias[o] : 0));
        int32_t scaled = ml_multiply_quantized_s64(sum, w->mantissas[o], w->shifts[o]);
        y[i] = (int16_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)w->y_zero), w->low,
                                     w->high);
    }
}

/* Floats ----------------------------------------------------------------------------------------------------------- */

ml_status ml_prepare_floats(const ml_call *c, ml_wish *wish, ml_blocks *b, bool filled) {
    if (b->k > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)b->k);
    int64_t row_bytes = b->k * (int64_t)sizeof(float);
    b->block = (int32_t)ml_block_rows(b->rows, row_bytes);
    if (filled) ml_reserve(wish, b->block * row_bytes);
    return ML_OK;
}

typedef struct float_args {
    const ml_blocks *blocks;
    ml_block_fn *fill;
    float low;
    float high;
} float_args;

static ml_status float_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const float_args *a = args;
    const ml_blocks *blocks = a->blocks;
    const float *x = ml_in(c, 0), *bias = ml_in_optional(c, 2), *panels = c->packed;
    float *y = ml_out(c, 0);
    int64_t k = blocks->k, n = blocks->n, stride = n * blocks->groups;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        ml_block b = {.first = i * blocks->block, .rows = c->scratch};
        b.count = min_s64(blocks->block, blocks->rows - b.first);
        for (b.group = 0; b.group < blocks->groups; b.group++) {
            if (a->fill) a->fill(c, &b);
            ml_matmul_f32_args product = {
                .a = a->fill ? b.rows : x + b.first * k,
                .rows = b.count,
                .panels = panels + b.group * ml_panels_count(n) * ML_PANEL * k,
                .k = k,
                .n = n,
                .bias = bias ? bias + b.group * n : NULL,
                .y = y + b.first * stride + b.group * n,
                .y_stride = stride,
                .low = a->low,
                .high = a->high,
            };
            ml_matmul_f32(&product);
        }
    }
    return ML_OK;
}

ml_status ml_multiply_floats(const ml_call *c, const ml_blocks *b, ml_block_fn *fill, float minimum,
                             float maximum) {
    float_args args = {b, fill, minimum, maximum};
    return ml_parallel(c, b->block ? (b->rows + b->block - 1) / b->block : 0, 1, float_body, &args);
}
