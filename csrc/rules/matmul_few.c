/* matmul_few.c -- few rows of bytes times packed weights: at once and on the caller, for what there is to arrange about blocks, parts
 * and workers takes longer than the products. */
#include "rules/matmul_s8.h"

enum { FEW_ROWS = 4 };

/* Of one group, less than is worth two blocks, and weights without a zero point, so that all rows have the same factor. */
bool ml_is_few(const ml_call *c, const ml_integers *p) {
    const ml_weighted *w = c->derived;
    const int32_t type = ml_input(c, 0)->type;
    return p->rows <= FEW_ROWS && p->rows <= p->block && p->groups == 1 && p->batches == 1 &&
           (type == ML_S8 || type == ML_U8) && w && w->w_zero == 0 && p->k < ML_LEAST_PRODUCTS &&
           p->n < ML_LEAST_PRODUCTS && p->k * p->n < ML_LEAST_PRODUCTS;
}

int64_t ml_few_bytes(const ml_integers *p) {
    return ml_round_up(p->copy_bytes, 64) + p->rows * p->n * (int64_t)sizeof(int32_t);
}

ml_status ml_multiply_few(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const ml_weighted *w = c->derived;
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, p->n, p->pieces, ml_piece_of(p));
    const int32_t *bias = ml_in_optional(c, 2);
    const int32_t factor = -ml_byte_of_zero(ml_in_tensor(c, 0)->type, w->x_zero);
    const int32_t factors[FEW_ROWS] = {factor, factor, factor, factor};
    int32_t *sums = ml_scratch(c, ml_round_up(p->copy_bytes, 64));
    ml_own own = {NULL, w->limit};
    ml_byte_rows rows;
    rule->fill(c, 0, p->rows, 0, c->scratch, &rows);
    const ml_matmul_s8_args args = {.n = p->n,
                                    .packed = weights.packed,
                                    .bias = bias,
                                    .factors = factors,
                                    .columns = weights.sums,
                                    .y = sums,
                                    .y_stride = p->n};
    ml_multiply_rows(c, &rows, &weights, (ml_row_range){0, p->rows, 0}, args);
    if (rule->limits && !own.limit) own.limit = ml_limit_of(bias, p->n, p->k);
    const ml_requantized r = {
        .sums = sums, .rows = p->rows, .n = p->n, .y = ml_out(c, 0), .y_stride = p->n};
    rule->finish(c, &r, &own);
    return ML_OK;
}
