/* matmul_few.c -- few rows of bytes times packed weights: at once and on the caller, for what there
 * is to arrange about blocks, parts and workers takes longer than the products. */
#include "rules/matmul_s8.h"

enum { FEW_ROWS = 4 };

/* Of one group, less than is worth two blocks, and weights without a zero point, so that no row
 * needs its sum. */
bool ml_is_few(const ml_call *c, const ml_integers *p) {
    const ml_weighted *w = c->derived;
    return p->rows <= FEW_ROWS && p->rows <= p->block && p->groups == 1 && p->batches == 1 &&
           ml_input(c, 0)->type != ML_S16 && w && w->w_zero == 0 && p->k < ML_LEAST_PRODUCTS &&
           p->n < ML_LEAST_PRODUCTS && p->k * p->n < ML_LEAST_PRODUCTS;
}

/* Behind what floats are quantized to. */
static int64_t copy_at(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    return ml_input(c, 0)->type == ML_F32 ? ml_quantized_bytes(c, p, rule) : 0;
}

int64_t ml_few_bytes(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    return copy_at(c, p, rule) + ml_round_up(p->copy_bytes, 64) +
           (ml_is_fused(c, rule) ? 0 : p->rows * p->n * (int64_t)sizeof(int32_t));
}

ml_status ml_multiply_few(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const ml_weighted *w = c->derived;
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (type != ML_F32) ml_fetch_weights(c, p);
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, p->n, p->pieces, ml_piece_of(p));
    const int32_t *bias = ml_in_optional(c, 2);
    char *copy = ml_scratch(c, copy_at(c, p, rule));
    int32_t *sums = (int32_t *)(void *)(copy + ml_round_up(p->copy_bytes, 64));
    int32_t factors[FEW_ROWS];
    float scales[FEW_ROWS];
    const ml_own own = {scales};
    ml_requantized r = {
        .sums = sums, .rows = p->rows, .n = p->n, .y = ml_out(c, 0), .y_stride = p->n};
    if (type == ML_F32) {
        const ml_slices slices = ml_quantized_floats(c, p, rule);
        for (int64_t i = 0; i < p->rows; i++) {
            factors[i] = slices.factors[rule->by_row ? i : 0];
            scales[i] = slices.scales[rule->by_row ? i : 0];
        }
        r.bias = bias, bias = NULL;
    } else {
        for (int64_t i = 0; i < FEW_ROWS; i++) factors[i] = -ml_byte_of_zero(type, w->x_zero);
    }
    ml_byte_rows rows;
    rule->fill(c, 0, p->rows, 0, (uint8_t *)copy, &rows);
    ml_matmul_s8_args args = {.n = p->n,
                              .packed = weights.packed,
                              .bias = bias,
                              .factors = factors,
                              .columns = weights.sums,
                              .y = sums,
                              .y_stride = p->n};
    if (ml_is_fused(c, rule)) {
        const int32_t limit = w->limit ? w->limit : ml_limit_of(bias, p->n, p->k);
        const ml_requantize_args bytes = ml_requantize_args_of(c, &r, limit);
        ml_multiply_to_bytes(c, &rows, &weights, p->rows, &args, &bytes);
        return ML_OK;
    }
    ml_multiply_rows(c, &rows, &weights, &(ml_row_range){0, p->rows, 0}, &args);
    rule->finish(c, &r, &own);
    return ML_OK;
}
