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
} gate_args;

static void multiply_floats(const ml_call *c, const gate_args *a, int64_t gate) {
    const ml_gates *g = a->gates;
    ml_matmul_f32_args product = {
        .a = a->rows->x,
        .rows = a->rows->count,
        .a_stride = a->rows->stride,
        .pieces = 1,
        .k = g->k,
        .n = g->outputs,
        .packed = (const float *)(const void *)(a->packed + gate * gate_bytes(c, g)),
        .y = (float *)a->rows->y + gate * a->rows->count * g->outputs,
        .y_stride = g->outputs,
        .low = -__builtin_inff(),
        .high = __builtin_inff(),
    };
    c->env->simd->matmul_f32(&product);
}

/* Converts sums of quantized floats to floats, in place. */
static void scale_sums(const ml_gate_rows *rows, const ml_gates *g, float of_weights, void *sums) {
    const int32_t *from = sums;
    float *y = sums;
    for (int64_t r = 0; r < rows->count; r++, from += g->outputs, y += g->outputs) {
        float scale = rows->scales[r] * of_weights;
        for (int64_t i = 0; i < g->outputs; i++) y[i] = (float)from[i] * scale;
    }
}

static ml_status multiply_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const gate_args *a = args;
    const ml_gates *g = a->gates;
    for (int64_t gate = first; gate < end; gate++) {
        if (g->type == ML_F32) {
            multiply_floats(c, a, gate);
            continue;
        }
        int32_t *sums = (int32_t *)a->rows->y + gate * a->rows->count * g->outputs;
        const ml_weights_s8 weights =
            ml_weights_s8_at(a->packed + gate * gate_bytes(c, g), g->outputs, 1, g->k);
        ml_multiply_bytes(c->env->simd, a->rows->quantized, a->rows->count, &weights,
                          a->rows->factors, sums);
        if (ml_in_tensor(c, 0)->type == ML_F32)
            scale_sums(a->rows, g, ml_input_quantization(c, g->weights[gate])->scales[0], sums);
    }
    return ML_OK;
}

ml_status ml_multiply_gates(const ml_call *c, const ml_gates *g, const void *packed,
                            const ml_gate_rows *rows) {
    gate_args args = {g, packed, rows};
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
    int64_t cost = rows->count * g->k * g->outputs;
    return ml_parallel(c, g->n, ml_work_grain(g->n, cost), multiply_body, &args);
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
