/* gates.c -- packs weights gate by gate, multiplies rows with them, activates. */
#include "rules/gates.h"

#include "math/float_math.h"
#include "rules/bytes.h"
#include "rules/matmul.h"

/* Weights -------------------------------------------------------------------------------------- */

bool ml_gates_of(const ml_call *c, int32_t first, int32_t n, ml_gates *g) {
    *g = (ml_gates){.n = n};
    for (int32_t i = 0; i < n; i++) {
        const ml_tensor *t = ml_input(c, first + i);
        if (!t || (t->shape.rank != 2 && (t->shape.rank != 1 || t->type != ML_F32))) return false;
        if (i == 0) {
            g->outputs = t->shape.dims[0];
            g->k = t->shape.dims[t->shape.rank - 1];
            g->type = t->type;
        }
        if (t->shape.dims[0] != g->outputs || t->shape.dims[t->shape.rank - 1] != g->k ||
            t->type != g->type)
            return false;
        g->weights[i] = first + i;
    }
    return true;
}

bool ml_gates_known(const ml_call *c, const ml_gates *g) {
    for (int32_t i = 0; i < g->n; i++)
        if (ml_input(c, g->weights[i])->storage != ML_STORAGE_CONSTANT) return false;
    return true;
}

/* Bytes of the packed weights of one gate. */
static int64_t gate_bytes(const ml_call *c, const ml_gates *g) {
    int64_t bytes = g->type == ML_F32
                        ? ml_packed_f32(c->env->simd, g->outputs, g->k) * (int64_t)sizeof(float)
                        : ml_weights_s8_bytes(g->outputs, 1, g->k);
    return ml_round_up(bytes, 64);
}

static void pack_diagonal(const ml_call *c, const ml_gates *g, const float *w, float *to) {
    int64_t panel = c->env->simd->matmul_f32_panel;
    memset(to, 0, (size_t)gate_bytes(c, g));
    for (int64_t i = 0; i < g->outputs; i++)
        to[i / panel * panel * g->k + i * panel + i % panel] = w[i];
}

static void pack_bytes(const ml_call *c, const ml_gates *g, const void *w, void *to) {
    const ml_pack_s8_args args = {.w = w,
                                  .type = ML_S8,
                                  .output_step = g->k,
                                  .period = (int64_t)g->outputs + 1,
                                  .input_step = 1,
                                  .n = g->outputs,
                                  .pieces = 1,
                                  .k = g->k};
    ml_pack_s8(c->env->simd, args, to);
}

int64_t ml_pack_gates(const ml_call *c, const ml_gates *g, void *to) {
    int64_t bytes = gate_bytes(c, g);
    char *place = to;
    for (int32_t i = 0; to && i < g->n; i++, place += bytes) {
        const void *w = ml_value(c, g->weights[i]);
        if (g->type != ML_F32) pack_bytes(c, g, w, place);
        else if (ml_input(c, g->weights[i])->shape.rank == 1)
            pack_diagonal(c, g, w, (float *)place);
        else c->env->simd->pack_f32(w, g->outputs, g->k, (float *)place);
    }
    return bytes * g->n;
}

/* Products ------------------------------------------------------------------------------------- */

typedef struct gate_args {
    const ml_gates *gates;
    const char *packed;
    const ml_gate_rows *rows;
    int64_t parts; /* of the rows of each gate */
    int64_t part; /* rows */
} gate_args;

/* The rows of a gate that are multiplied without looking whether the run goes on: all of them,
 * unless that takes some milliseconds; at least 1, because nodes with variables run for no rows,
 * too. */
static int64_t rows_at_once(const ml_gates *g, int64_t count) {
    enum { LONG = 16 * ML_MOST_PRODUCTS, WHOLE_TILES = 24 };
    const double fit = (double)LONG / ((double)g->k * (double)g->outputs + 1.0);
    if (fit >= (double)count) return ml_max_s64(count, 1);
    return fit < WHOLE_TILES ? (fit < 1.0 ? 1 : (int64_t)fit)
                             : (int64_t)fit / WHOLE_TILES * WHOLE_TILES;
}

static void multiply_floats(const ml_call *c, const gate_args *a, int64_t gate, int64_t first,
                            int64_t count) {
    const ml_gates *g = a->gates;
    ml_matmul_f32_args product = {
        .a = (const float *)a->rows->x + first * a->rows->stride,
        .rows = count,
        .a_stride = a->rows->stride,
        .pieces = 1,
        .k = g->k,
        .n = g->outputs,
        .packed = (const float *)(const void *)(a->packed + gate * gate_bytes(c, g)),
        .y = (float *)a->rows->y + (gate * a->rows->count + first) * g->outputs,
        .y_stride = g->outputs,
        .low = -__builtin_inff(),
        .high = __builtin_inff(),
    };
    c->env->simd->matmul_f32(&product);
}

/* Converts sums of `count` rows of quantized floats to floats, in place. */
static void scale_sums(const float *scales, int64_t count, const ml_gates *g, float of_weights,
                       void *sums) {
    const int32_t *from = sums;
    float *y = sums;
    for (int64_t r = 0; r < count; r++, from += g->outputs, y += g->outputs) {
        float scale = scales[r] * of_weights;
        for (int64_t i = 0; i < g->outputs; i++) y[i] = (float)from[i] * scale;
    }
}

static void multiply_quantized(const ml_call *c, const gate_args *a, int64_t gate, int64_t first,
                               int64_t count) {
    const ml_gates *g = a->gates;
    const ml_gate_rows *rows = a->rows;
    int32_t *sums = (int32_t *)rows->y + (gate * rows->count + first) * g->outputs;
    const ml_weights_s8 weights =
        ml_weights_s8_at(a->packed + gate * gate_bytes(c, g), g->outputs, 1, g->k);
    ml_multiply_bytes(c->env->simd, rows->quantized + first * g->k, count, &weights,
                      rows->factors + first, sums);
    if (ml_in_tensor(c, 0)->type == ML_F32)
        scale_sums(rows->scales + first, count, g,
                   ml_input_quantization(c, g->weights[gate])->scales[0], sums);
}

static ml_status multiply_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const gate_args *a = args;
    for (int64_t i = first; i < end; i++) {
        const int64_t gate = i / a->parts, row = i % a->parts * a->part;
        const int64_t count = ml_min_s64(a->part, a->rows->count - row);
        if (a->gates->type == ML_F32) multiply_floats(c, a, gate, row, count);
        else multiply_quantized(c, a, gate, row, count);
    }
    return ML_OK;
}

ml_status ml_multiply_gates(const ml_call *c, const ml_gates *g, const void *packed,
                            const ml_gate_rows *rows) {
    const int64_t part = rows_at_once(g, rows->count), parts = (rows->count - 1) / part + 1;
    gate_args args = {g, packed, rows, parts, part};
    for (int64_t r = 0; g->type != ML_F32 && r < rows->count; r++) {
        uint8_t *row = rows->quantized + r * g->k;
        if (ml_in_tensor(c, 0)->type == ML_F32) {
            rows->scales[r] =
                ml_quantize_bytes(c->env->simd, (const float *)rows->x + r * rows->stride, g->k,
                                  rows->asymmetric, row, &rows->factors[r]);
        } else {
            ml_to_bytes(ML_S8, (const int8_t *)rows->x + r * rows->stride, g->k, 0, row);
            rows->factors[r] = -ml_byte_of_zero(ML_S8, rows->zero);
        }
    }
    const int64_t cost = part * g->k * g->outputs;
    return ml_parallel(c, g->n * parts, ml_work_grain(g->n * parts, cost), multiply_body, &args);
}

/* Activations ---------------------------------------------------------------------------------- */

void ml_logistic(float *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) v[i] = ml_logistic_f32(v[i]);
}

static void clamp(float *v, int64_t n, float low, float high) {
    for (int64_t i = 0; i < n; i++) {
        float x = v[i] < low ? low : v[i];
        v[i] = x > high ? high : x;
    }
}

void ml_activate(int32_t activation, float *v, int64_t n) {
    switch (activation) {
    case 1: clamp(v, n, 0.0f, __builtin_inff()); return;
    case 2: clamp(v, n, -1.0f, 1.0f); return;
    case 3: clamp(v, n, 0.0f, 6.0f); return;
    case 4:
        for (int64_t i = 0; i < n; i++) v[i] = ml_tanh_f32(v[i]);
        return;
    case 5:
        for (int64_t i = 0; i < n; i++) v[i] = __builtin_signbit(v[i]) ? 1.0f : 0.0f;
        return;
    default: return;
    }
}
