/* prelu.c -- PRELU: y = x where x >= 0, else x * alpha; alpha, constant or computed, broadcasts to
 * x. */
#include "rules/broadcast.h"
#include "rules/quantized.h"

static ml_status prepare_prelu(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *alpha = &ml_input(c, 1)->shape;
    ml_shape out;
    const ml_status status = ml_broadcast_shape(c, x, alpha, &out);
    if (status != ML_OK) return status;
    if (!ml_same_shape(x, &out)) {
        char text[96], other[96];
        return ml_fail(c, ML_SHAPE_ERROR, "alpha's shape %s does not broadcast to the input's %s",
                       ml_shape_text(alpha, other), ml_shape_text(x, text));
    }
    return ml_broadcast_prepare(c, c->blob);
}

ML_BINARY_F32(prelu_f32, ML_ZIP_PRELU, ML_NO_CONTEXT, -__builtin_inff(), __builtin_inff(),
              u < 0.0f ? u * v : u)

/* Quantized: one multiplier for x, one for x * alpha. */
typedef struct prelu_rule {
    ml_rescale above, below;
    int32_t alpha_zero_point;
} prelu_rule;
static int64_t derive_prelu(const ml_call *c, void *to) {
    prelu_rule *p = to;
    if (!p) return (int64_t)sizeof *p;
    const ml_affine x = ml_input_affine(c, 0), alpha = ml_input_affine(c, 1),
                    y = ml_output_affine(c, 0);
    p->above = ml_rescale_of(x, y, (double)(x.scale / y.scale));
    p->below = ml_rescale_of((ml_affine){0}, y, (double)(x.scale * alpha.scale / y.scale));
    p->alpha_zero_point = alpha.zero_point;
    return (int64_t)sizeof *p;
}
static inline int32_t prelu_one(int32_t x, int32_t alpha, const prelu_rule *p) {
    const int32_t centered = x - p->above.input_zero_point;
    if (centered >= 0) return ml_rescale_one(x, &p->above);
    return ml_rescale_one(centered * (alpha - p->alpha_zero_point), &p->below);
}
ML_BINARY(prelu_s8, int8_t, int8_t, ML_DERIVED_AS(prelu_rule), (int8_t)prelu_one(u, v, &p))
ML_BINARY(prelu_u8, uint8_t, uint8_t, ML_DERIVED_AS(prelu_rule), (uint8_t)prelu_one(u, v, &p))
ML_BINARY_OF(prelu_s16, int16_t, int8_t, int16_t, ML_DERIVED_AS(prelu_rule),
             (int16_t)prelu_one(u, v, &p))

ML_KERNELS(prelu) = {
    {ML_OP(PRELU, 1, 1), .name = "prelu", .takes = "x alpha -> y", .in_place = ML_INPUT(0),
     .quantization = ML_TAKES_QUANTIZED, .blob_bytes = (int32_t)sizeof(ml_broadcast),
     .prepare = prepare_prelu, .prepare_reads = ml_reads_nothing, .window = ml_cut_broadcast,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, prelu_f32},
              {"s8 s8 -> s8", derive_prelu, NULL, prelu_s8},
              {"u8 u8 -> u8", derive_prelu, NULL, prelu_u8},
              {"s16 s8 -> s16", derive_prelu, NULL, prelu_s16})},
    ML_KERNELS_END,
};
