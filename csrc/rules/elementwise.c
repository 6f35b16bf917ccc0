/* elementwise.c -- operators of one input whose output has the same shape. */
#include "rules/elementwise.h"

#include "rules/byte_lines.h"

ml_status ml_prepare_elementwise(const ml_call *c, ml_wish *wish) {
    ml_elementwise *blob = c->blob;
    blob->count = ml_elements(&ml_in_tensor(c, 0)->shape);
    return ml_set_output(c, 0, &ml_in_tensor(c, 0)->shape);
}

bool ml_cut_elementwise(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    for (int i = 0; i < c->n_inputs; i++) in[i] = *out;
    return true;
}

bool ml_cut_pixels(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    for (int i = 0; i < c->n_inputs; i++)
        if (ml_in_tensor(c, i)->shape.rank != 4) return false;
    return ml_cut_elementwise(c, out, in, params);
}

static ml_status lookup_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const uint8_t *x = ml_in(c, 0);
    uint8_t *y = ml_out(c, 0);
    ml_look_up(c->env->simd, c->derived, x + first, end - first, y + first);
    return ML_OK;
}

ml_status ml_lookup(const ml_call *c) {
    return ml_in_blocks(c, ((const ml_elementwise *)c->blob)->count, 1, lookup_block, NULL);
}

int64_t ml_derive_lookup(const ml_call *c, void *to, int32_t (*one)(int32_t x, const void *p),
                         const void *p) {
    ml_byte_table *table = to;
    const ml_affine in = ml_input_affine(c, 0);
    if (!to) return (int64_t)sizeof *table;
    for (int32_t byte = 0; byte < 256; byte++)
        table->bytes[byte] = (uint8_t)one(in.type == ML_S8 ? (int8_t)byte : byte, p);
    ml_find_byte_lines(table, in.type, ml_output(c, 0)->type, in.zero_point);
    return (int64_t)sizeof *table;
}
