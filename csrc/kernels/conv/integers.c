/* integers.c -- convolutions of integers, and of floats quantized at run time, with integer
 * weights. */
#include "kernels/conv/conv.h"

enum {
    COPY_BYTES = 64 << 10,
    LEAST_LINE = 6,
    LEAST_LINES = 4,
    LEAST_ROWS = 2 * ML_ROWS_S8,
    NEAR_WEIGHTS = 48 << 10
};

static const ml_integer_rule *integer_rule(const ml_call *c);

/* True if lines are copied. Bytes that need no padding are read in place. */
static bool copies_lines(const ml_call *c, const conv_blob *blob) {
    return blob->padded || ml_in_tensor(c, 0)->type == ML_S16;
}

/* Size in bytes of the copies for `lines` output lines. */
static int64_t line_bytes(const ml_call *c, const conv_blob *blob, int64_t lines) {
    if (!copies_lines(c, blob)) return 0;
    return ml_conv_lines_seen(&blob->window, lines) * ml_conv_line_elements(&blob->window) *
           ml_planes(ml_in_tensor(c, 0)->type);
}

static ml_integers product_of(const ml_call *c) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int32_t type = ml_in_tensor(c, 0)->type;
    ml_integers p = ml_integers_of(&blob->blocks, type);
    if (blob->source != CONV_DIRECT || type == ML_F32) p.batches = w->batches;
    if (blob->source == CONV_GATHERED) {
        p.is_copied = true;
        p.copy_bytes = p.block * p.k * ml_planes(type);
    }
    if (blob->source == CONV_LINES) {
        p.pieces = w->y.size;
        p.width = w->x.out;
        p.copy_bytes = line_bytes(c, blob, p.block / w->x.out);
    }
    return p;
}

/* Rows ----------------------------------------------------------------------------------------- */

static conv_input input_of(const ml_call *c, int64_t first) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (type != ML_F32) {
        const int32_t zero = ((const ml_weighted *)c->derived)->x_zero;
        return (conv_input){ml_in(c, 0), type == ML_S16 ? ML_S16 : ML_U8, zero & 255,
                            ml_flip_of(type)};
    }
    const ml_integers p = product_of(c);
    const ml_slices slices = ml_quantized_floats(c, &p, integer_rule(c));
    return (conv_input){slices.bytes, ML_U8, -slices.factors[first / (p.rows / p.batches)], 0};
}

static void fill_direct(const ml_call *c, int64_t first, int64_t count, uint8_t *copy,
                        ml_byte_rows *rows) {
    const int64_t k = ((const conv_blob *)c->blob)->blocks.k;
    const conv_input s = input_of(c, first);
    const char *x = (const char *)s.x + first * k * ml_type_bytes(s.type);
    *rows = (ml_byte_rows){copy, .a_stride = k, .width = count, .plane = count * k};
    rows->flip = s.flip;
    rows->is_copy = s.type == ML_S16;
    if (rows->is_copy) ml_to_bytes(s.type, x, count * k, rows->plane, copy);
    else rows->a = (const uint8_t *)x;
}

static void put_bytes(const conv_copy *copy, const void *from, int64_t count, void *to) {
    if (from) ml_to_bytes(copy->type, from, count, copy->plane, to);
    else ml_outside_bytes(copy->type, copy->zero, count, copy->plane, to);
}

static void fill_lines(const ml_call *c, int64_t first, int64_t count, int32_t group, uint8_t *copy,
                       ml_byte_rows *rows) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const conv_input s = input_of(c, first);
    const int64_t line = first / w->x.out % w->y.out, batch = first / w->x.out / w->y.out;
    const int64_t lines = count / w->x.out;
    int64_t step = (int64_t)w->x.in * w->channels;
    /* Lines of the input, in place. */
    *rows = (ml_byte_rows){
        .a = (const uint8_t *)s.x + (batch * w->y.in + line * w->y.stride) * step,
        .a_stride = (int64_t)w->x.stride * w->channels,
        .width = w->x.out,
        .flip = s.flip,
    };
    /* Or copies of them with padding, as bytes. */
    if (copies_lines(c, blob)) {
        step = ml_conv_line_elements(w);
        rows->plane = ml_conv_lines_seen(w, lines) * step;
        conv_copy how = {put_bytes, (int32_t)ml_type_bytes(s.type), 1, s.type, s.zero, rows->plane};
        if (s.flip && c->env->simd->matmul_s8_flipped) { /* flipped while it is copied */
            how.type = ML_S8;
            how.zero ^= s.flip;
            rows->flip = 0;
        }
        if (group == 0) ml_conv_copy_lines(w, &how, s.x, batch, line, lines, copy);
        rows->a = copy;
        rows->is_copy = true;
    }
    /* The part of the depth that the group reads. */
    rows->a += group * blob->depth;
    rows->piece_stride = w->y.dilation * step;
    rows->line_stride = w->y.stride * step;
}

static void fill(const ml_call *c, int64_t first, int64_t count, int32_t group, uint8_t *copy,
                 ml_byte_rows *rows) {
    const conv_blob *blob = c->blob;
    if (blob->source == CONV_DIRECT) {
        fill_direct(c, first, count, copy, rows);
        return;
    }
    if (blob->source == CONV_LINES) {
        fill_lines(c, first, count, group, copy, rows);
        return;
    }
    const conv_input s = input_of(c, first);
    const int64_t k = blob->blocks.k, plane = count * k;
    ml_window_gather_bytes(&blob->window, s.type, s.x, (int64_t)group * blob->depth, blob->depth,
                           first, count, s.zero, plane, copy);
    *rows = (ml_byte_rows){copy,           .a_stride = k,  .width = count,
                           .plane = plane, .flip = s.flip, .is_copy = true};
}

/* Outputs -------------------------------------------------------------------------------------- */

static ml_scale_s32_args scaling(const ml_call *c, const ml_requantized *r, const float *scales) {
    const conv_params *p = c->params;
    const bool differ = ((const ml_weighted *)c->derived)->scales_differ;
    return ml_scaling_of(c, r, scales, differ ? ML_WEIGHTS_FIRST : ML_SCALES_FIRST, p->minimum,
                         p->maximum);
}

/* The rule for these types. Sums of int16 have 64 bits, unless the bias has 32, as in TFLite. */
static const ml_integer_rule *integer_rule(const ml_call *c) {
    static const ml_integer_rule narrow = {fill, ml_requantize_s16, .requantizes = true},
                                 wide = {fill, ml_requantize_wide, .wide = true},
                                 hybrid = {fill, .scaling = scaling};
    const ml_tensor *bias = ml_input(c, 2);
    if (ml_in_tensor(c, 0)->type == ML_F32) return &hybrid;
    return ml_in_tensor(c, 0)->type == ML_S16 && !(bias && bias->type == ML_S32) ? &wide : &narrow;
}

/* The node ------------------------------------------------------------------------------------- */

/* Makes blocks of whole lines, whose copies stay in the cache. Prepare sees outputs without lines,
 * too, where nothing may be divided by 0. */
static void choose_lines(const ml_call *c, conv_blob *blob) {
    const ml_window *w = &blob->window;
    ml_blocks *b = &blob->blocks;
    const int64_t cost = w->x.out * ml_row_cost(c->env->simd, b->k, b->n) * b->groups;
    const int64_t bytes = ml_conv_line_elements(w) * ml_planes(ml_in_tensor(c, 0)->type);
    const int64_t fit = COPY_BYTES / bytes - ml_conv_lines_seen(w, 1);
    const int64_t most = ml_max_s64(1 + (fit < 0 ? 0 : fit) / w->y.stride, LEAST_LINES);
    int64_t lines = ml_work_grain((int64_t)w->batches * w->y.out, cost);
    lines = ml_max_s64(lines, 1 + (LEAST_ROWS - 1) / w->x.out);
    lines = ml_min_s64(ml_min_s64(lines, most), ml_max_s64(w->y.out, 1));
    const int64_t blocks = ml_max_s64(w->y.out / lines, 1);
    lines = ml_min_s64(ml_ceil_div(w->y.out, blocks), most);
    if (lines * w->x.out > INT32_MAX) return;
    blob->source = CONV_LINES;
    b->block = (int32_t)(lines * w->x.out);
}

/* Room for winograd.c in scratch, after the bytes of quantized floats. */
static int64_t quantized_bytes(const ml_call *c, const ml_integers *product) {
    return ml_round_up(ml_quantized_bytes(c, product, integer_rule(c)), 64);
}
static int64_t start_bytes(const conv_blob *blob) {
    return ml_round_up(blob->blocks.n, ML_PANEL_S16) * (int64_t)sizeof(int32_t);
}

ml_status ml_conv_prepare_integers(const ml_call *c, ml_wish *wish) {
    conv_blob *blob = c->blob;
    if (ml_conv_prepare_winograd(c, blob, wish)) {
        const ml_integers product = product_of(c);
        const bool floats = ml_in_tensor(c, 0)->type == ML_F32;
        if (floats) ml_reserve(wish, quantized_bytes(c, &product));
        ml_reserve(wish, (floats ? blob->window.batches : 1) * start_bytes(blob));
        return ML_OK;
    }
    /* If there are many weights, windows of short lines are gathered into longer blocks: else each
     * line would read the weights again. */
    const int32_t least = blob->blocks.k * blob->blocks.n > NEAR_WEIGHTS ? LEAST_LINE : 2;
    if (blob->source == CONV_GATHERED && ml_conv_has_lines(blob, least)) choose_lines(c, blob);
    const bool in_pieces = blob->source == CONV_LINES && blob->window.y.size > 1;
    wish->layout = in_pieces ? -blob->blocks.groups : blob->blocks.groups;
    ml_integers product = product_of(c);
    ml_status status = ml_prepare_integers(c, wish, &product, integer_rule(c));
    blob->blocks.block = (int32_t)product.block;
    return status;
}

int64_t ml_conv_pack_s8(const ml_call *c, void *to) {
    if (((const conv_blob *)c->blob)->source == CONV_WINOGRAD) return ml_conv_pack_winograd(c, to);
    const ml_integers product = product_of(c);
    return ml_pack_weights_s8(c, to, &product);
}

static ml_status multiply_tiles(const ml_call *c, const ml_integers *product) {
    static const conv_rule rule = {input_of, scaling};
    const bool floats = ml_in_tensor(c, 0)->type == ML_F32;
    char *start = c->scratch;
    if (floats) start += quantized_bytes(c, product);
    return ml_conv_winograd(c, &rule, (int32_t *)(void *)start,
                            floats ? ml_quantized_floats(c, product, integer_rule(c)).scales
                                   : NULL);
}

ml_status ml_conv_integers(const ml_call *c) {
    const ml_integers product = product_of(c);
    if (((const conv_blob *)c->blob)->source == CONV_WINOGRAD) return multiply_tiles(c, &product);
    return ml_multiply_integers(c, &product, integer_rule(c));
}

ml_status ml_conv_hybrid(const ml_call *c) {
    const ml_integers product = product_of(c);
    const bool asymmetric = ((const ml_weighted *)c->derived)->scales_differ;
    ml_status status = ml_quantize_floats(c, &product, integer_rule(c), asymmetric);
    return status == ML_OK ? ml_conv_integers(c) : status;
}
