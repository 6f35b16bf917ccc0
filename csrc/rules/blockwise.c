/* blockwise.c -- reads the scales of constants that are quantized in blocks, and multiplies with
 * such weights. */
#include "rules/blockwise.h"

#include "math/float_math.h"
#include "math/nibble.h"

enum {
    FEW_OF_BLOCKS = 3, /* to make floats of weights for so few takes longer than the products */
    ROWS_OF_PANEL = 256 /* that share weights made floats */
};

ml_status ml_read_blocks(const ml_call *c, int i, int32_t *block, ml_array *scales) {
    const ml_core *core = c->env->core;
    const ml_tensor_row *row = core->tensor_row(c, c->inputs[i]);
    *block = 0;
    *scales = (ml_array){0};
    if (row->scales_tensor < 0) return ML_OK;
    const ml_tensor_row *from = core->tensor_row(c, row->scales_tensor);
    if ((from->type != ML_F16 && from->type != ML_F32) || !from->data)
        return ml_fail(c, ML_UNSUPPORTED,
                       "tensor '%s', the scales of '%s', must be a constant of f16 or f32",
                       core->tensor_name(c, row->scales_tensor), ml_input_name(c, i));
    if (row->zero_points_tensor >= 0 || row->quantization.block_size < 1)
        return ml_fail(
            c, ML_UNSUPPORTED,
            "tensor '%s' is quantized in blocks of %d with zero points, must have no zero points",
            ml_input_name(c, i), row->quantization.block_size);
    const int64_t count = from->bytes / (from->type == ML_F16 ? 2 : 4);
    float *values = ml_keep(c, count * (int64_t)sizeof *values);
    if (!values) return c->env->error->status;
    const uint16_t *halves = from->data;
    for (int64_t k = 0; k < count && from->type == ML_F16; k++)
        values[k] = ml_float_of_half(halves[k]);
    if (from->type == ML_F32 && count) memcpy(values, from->data, (size_t)count * sizeof *values);
    *scales = (ml_array){values, count * (int64_t)sizeof *values};
    *block = count ? row->quantization.block_size : 0;
    return ML_OK;
}

/* Packing ------------------------------------------------------------------------------------- */

/* Bits of a packed weight. */
static int32_t bits_of(const ml_block_weights *w) {
    return w->type != ML_S8 && w->block % 2 == 0 ? 4 : 8;
}

static int64_t bytes_of_panel(const ml_block_weights *w) {
    const int64_t each = (int64_t)sizeof(float) + (int64_t)w->block * bits_of(w) / 8;
    return w->k / w->block * each * ML_BLOCK_PANEL;
}

static int32_t weight_of(const ml_block_weights *w, const void *data, int64_t output, int64_t j) {
    const int64_t e = output * w->k + j;
    if (output >= w->n) return 0;
    if (w->type == ML_S8) return ((const int8_t *)data)[e];
    return w->type == ML_S4 ? ml_nibble(data, e) : ml_two_bits(data, e);
}

/* A block of a panel, from output `first` and input `from` on. */
static uint8_t *pack_block(const ml_block_weights *w, const void *data, int64_t first, int64_t from,
                           uint8_t *to) {
    const bool halves = bits_of(w) == 4;
    for (int64_t i = first; i < first + ML_BLOCK_PANEL; i++, to += sizeof(float)) {
        const float scale = i < w->n ? w->scales[(i * w->k + from) / w->block] : 0.0f;
        memcpy(to, &scale, sizeof scale);
    }
    for (int64_t j = from; j < from + w->block; j += halves ? 2 : 1)
        for (int64_t i = first; i < first + ML_BLOCK_PANEL; i++) {
            const int32_t low = weight_of(w, data, i, j);
            *to++ = (uint8_t)(halves ? (low & 15) | weight_of(w, data, i, j + 1) * 16 : low);
        }
    return to;
}

int64_t ml_pack_block_weights(const ml_call *c, void *to, const ml_block_weights *w) {
    uint8_t *at = to;
    const int64_t panels = ml_ceil_div(w->n, ML_BLOCK_PANEL);
    for (int64_t panel = 0; to && panel < panels; panel++)
        for (int64_t j = 0; j < w->k; j += w->block)
            at = pack_block(w, ml_value(c, 1), panel * ML_BLOCK_PANEL, j, at);
    return panels * bytes_of_panel(w);
}

/* Products ------------------------------------------------------------------------------------ */

ml_status ml_prepare_block_weights(const ml_call *c, ml_wish *wish, ml_blocks *b) {
    if (b->k > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)b->k);
    b->block = (int32_t)ml_min_s64(b->rows, ROWS_OF_PANEL);
    if (b->rows > FEW_OF_BLOCKS)
        wish->worker_bytes = b->k * ML_BLOCK_PANEL * (int64_t)sizeof(float);
    return ML_OK;
}

typedef struct block_args {
    const ml_blocks *blocks;
    const ml_block_weights *weights;
    float low;
    float high;
} block_args;

/* A row's sums to its outputs. */
static void finish_row(const float *restrict sums, const float *bias, int64_t n,
                       const block_args *a, float *restrict y) {
    for (int64_t i = 0; i < n; i++) {
        float v = sums[i] + (bias ? bias[i] : 0.0f);
        v = v < a->low ? a->low : v;
        y[i] = v > a->high ? a->high : v;
    }
}

/* Rows of a block times panels, a panel an item; where rows are divided too, those of a panel
 * follow each other. */
static ml_status block_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const block_args *a = args;
    const ml_blocks *b = a->blocks;
    const ml_simd *simd = c->env->simd;
    const float *bias = ml_in_optional(c, 2);
    const int64_t parts = ml_ceil_div(b->rows, b->block);
    ml_blocks_f32_args panel = {.k = b->k, .block = a->weights->block, .bits = bits_of(a->weights)};
    for (int64_t i = first; i < end; i++) {
        const int64_t column = i / parts * ML_BLOCK_PANEL, row = i % parts * b->block;
        const int64_t n = ml_min_s64(ML_BLOCK_PANEL, b->n - column);
        const int64_t rows = ml_min_s64(b->block, b->rows - row);
        const float *x = (const float *)ml_in(c, 0) + row * b->k,
                    *own = bias ? bias + column : NULL;
        float *y = (float *)ml_out(c, 0) + row * b->n + column, sums[ML_BLOCK_PANEL];
        /* Few rows are multiplied by the weights as they are packed. */
        panel.panel = (const uint8_t *)c->packed + i / parts * bytes_of_panel(a->weights);
        panel.y = b->rows > FEW_OF_BLOCKS ? ml_worker_scratch(c, worker) : sums;
        for (int64_t r = 0; b->rows <= FEW_OF_BLOCKS && r < rows; r++) {
            panel.x = x + r * b->k;
            simd->dot_blocks_f32(&panel);
            finish_row(sums, own, n, a, y + r * b->n);
        }
        /* For more, the panel becomes floats first. */
        if (b->rows <= FEW_OF_BLOCKS) continue;
        simd->unpack_blocks_f32(&panel);
        simd->matmul_f32(&(ml_matmul_f32_args){.a = x,
                                               .rows = rows,
                                               .a_stride = b->k,
                                               .pieces = 1,
                                               .k = b->k,
                                               .n = n,
                                               .packed = panel.y,
                                               .bias = own,
                                               .y = y,
                                               .y_stride = b->n,
                                               .low = a->low,
                                               .high = a->high});
    }
    return ML_OK;
}

ml_status ml_multiply_block_weights(const ml_call *c, const ml_blocks *b, const ml_block_weights *w,
                                    float minimum, float maximum) {
    block_args args = {b, w, minimum, maximum};
    const int64_t parts = ml_ceil_div(b->rows, b->block),
                  items = ml_ceil_div(b->n, ML_BLOCK_PANEL) * parts;
    const int64_t cost = b->block * b->k * ML_BLOCK_PANEL;
    return ml_parallel(c, items, ml_work_grain(items, cost), block_body, &args);
}
