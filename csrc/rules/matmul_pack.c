/* matmul_pack.c -- packs weights of bytes: groups of outputs one after the other. */
#include "rules/matmul_s8.h"

int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p) {
    const int64_t k = ml_piece_of(p), bytes = ml_weights_s8_bytes(p->n, p->pieces, k);
    int64_t all;
    if (bytes < 0 || __builtin_mul_overflow(bytes, p->groups, &all)) {
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
                            .k = k,
                            .apart = p->rows == 1};
    for (int64_t g = 0; to && g < p->groups; g++, args.first += p->n * p->k)
        ml_pack_s8(c->env->simd, args, (char *)to + g * bytes);
    return all;
}
