/* matmul_pack.c -- the pack of weights of bytes: groups of outputs one behind the other, and what makes sums of rows. */
#include "rules/matmul_s8.h"

/* Whether weights have a zero point, or are packed as if they had: sums of rows are wanted. */
static bool is_centered(const ml_call *c) {
    const ml_quantization *q = ml_input_quantization(c, 1);
    if (ml_weights_type(c) == ML_U8) return false;
    for (int32_t i = 0; q && i < q->n_zero_points; i++)
        if (q->zero_points[i] != 0) return false;
    return true;
}

/* Behind the groups' weights stand ones, one output of them, which make sums of rows. */
static int64_t ones_bytes(const ml_call *c, const ml_integers *p, int64_t k) {
    return is_centered(c) ? 0 : ml_weights_s8_bytes(1, p->pieces, k);
}

static void pack_ones(const ml_call *c, const ml_integers *p, int64_t k, void *to) {
    static const int8_t one = 1;
    const ml_pack_s8_args ones = {
        .w = &one, .type = ML_S8, .period = 2, .n = 1, .pieces = p->pieces, .k = k};
    ml_pack_s8(c->env->simd, ones, to);
}

int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p) {
    const int64_t k = ml_piece_of(p), bytes = ml_weights_s8_bytes(p->n, p->pieces, k);
    const int64_t behind = ones_bytes(c, p, k);
    int64_t all;
    if (bytes < 0 || __builtin_mul_overflow(bytes, p->groups, &all) || all > INT64_MAX - behind) {
        char text[96];
        ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
                ml_shape_text(&ml_input(c, 1)->shape, text));
        return -1;
    }
    ml_pack_s8_args args = {.w = ml_value(c, 1),
                            .type = ml_weights_type(c),
                            .output_step = p->k,
                            .period = p->n + 1,
                            .input_step = 1,
                            .n = p->n,
                            .pieces = p->pieces,
                            .k = k};
    for (int64_t g = 0; to && g < p->groups; g++, args.first += p->n * p->k)
        ml_pack_s8(c->env->simd, args, (char *)to + g * bytes);
    if (to && behind) pack_ones(c, p, k, (char *)to + all);
    return all + behind;
}
