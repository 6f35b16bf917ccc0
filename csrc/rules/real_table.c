/* real_table.c -- functions of reals for quantized integers, by tables. */
#include "rules/real_table.h"

#include "math/lines_s16.h"
#include "rules/byte_lines.h"
#include "rules/elementwise.h"

static float cut(float x, float least, float most) {
    return x < least ? least : x < most ? x : most;
}

int64_t ml_derive_real_bytes(const ml_call *c, void *to, ml_real_function f, const void *p) {
    ml_byte_table *table = to;
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    const float inverse = 1.0f / out.scale;
    const float least = (float)ml_type_least(out.type), most = (float)ml_type_most(out.type);
    for (int32_t byte = 0; to && byte < 256; byte++) {
        const int32_t x = in.type == ML_S8 ? (int8_t)byte : byte;
        const float y = f(in.scale * (float)(x - in.zero_point), p);
        const float step = ml_round_half_away(y * inverse) + (float)out.zero_point;
        table->bytes[byte] = (uint8_t)(int32_t)cut(step, least, most);
    }
    if (to) ml_find_byte_lines(table, in.type, out.type, in.zero_point);
    return (int64_t)sizeof *table;
}

int64_t ml_derive_real_lines(const ml_call *c, void *to, ml_real_function f, const void *p) {
    ml_lines_s16 *lines = to;
    if (!to) return (int64_t)sizeof *lines;
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    const float low = in.scale * (float)(-32768 - in.zero_point),
                high = in.scale * (float)(32767 - in.zero_point);
    const float least = out.scale * (float)(-32768 - out.zero_point),
                most = out.scale * (float)(32767 - out.zero_point);
    const float width = (high - low) / 512.0f, steps = 65536.0f / (most - least);
    for (int32_t i = 0; i < 512; i++) {
        const float x = low + (float)i * width;
        const float here = ml_round_half_away(f(x, p) * steps);
        const float after = f(low + (float)(i + 1) * width, p) * steps;
        const float middle = ml_round_half_away(f(x + width / 2, p) * steps);
        const float bias =
            ml_round_half_away((ml_round_half_away((after + here) / 2) - middle) / 2);
        const float y = bias == bias ? here - bias : here; /* inf - inf would be NaN */
        lines->at[i] = (int16_t)cut(y, -32768.0f, 32767.0f);
    }
    lines->at[512] = (int16_t)cut(ml_round_half_away(f(high, p) * steps), -32768.0f, 32767.0f);
    return (int64_t)sizeof *lines;
}

static ml_status lines_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const int16_t *x = ml_in(c, 0);
    int16_t *y = ml_out(c, 0);
    const ml_lines_s16 *lines = c->derived;
    for (int64_t i = first; i < end; i++) y[i] = ml_line_s16(lines, x[i]);
    return ML_OK;
}

ml_status ml_eval_lines(const ml_call *c) {
    return ml_in_blocks(c, ((const ml_elementwise *)c->blob)->count, 1, lines_block, NULL);
}
