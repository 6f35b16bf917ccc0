/* join.c -- CONCATENATION: joins along a dimension, PACK: along a new one. For every outer
 * position, a run is copied from each input. */
#include <math.h>

#include "rules/byte_lines.h"
#include "rules/checks.h"
#include "rules/elementwise.h"
#include "rules/packed.h"
#include "rules/quantized.h"
#include "rules/values.h"
#include "rules/work.h"
#include "simd/simd.h"

/* axis may be negative. */
#define JOIN_FIELDS(X, S) X(S, i32, axis)
ML_PARAMS(join_params, JOIN_FIELDS)

typedef struct join_blob {
    int64_t outer; /* positions before the axis */
    int64_t inner; /* bytes of one index of the axis; of packed types elements */
    int64_t step; /* the same of an outer position of the output */
    int32_t axis; /* dimension of the inputs that is joined; -1: each input is one index */
} join_blob;

/* Sets the output's shape and the blob; the joined dimension is number `axis` of the output. */
static ml_status finish(const ml_call *c, const ml_shape *shape, int32_t axis, bool packed) {
    join_blob *blob = c->blob;
    int64_t element = ml_type_bytes(ml_output(c, 0)->type);
    ml_status status = ml_set_output(c, 0, shape);
    if (status != ML_OK) return status;
    blob->outer = ml_elements_of(shape, 0, axis);
    blob->inner = ml_elements_of(shape, axis + 1, shape->rank) * (element ? element : 1);
    blob->step = blob->inner * shape->dims[axis];
    blob->axis = packed ? -1 : axis;
    return ML_OK;
}

static ml_status prepare_pack(const ml_call *c, ml_wish *wish) {
    const join_params *params = c->params;
    const ml_shape *first = &ml_input(c, 0)->shape;
    if (first->rank == ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "inputs of rank %d would make an output of rank %d, at most %d is supported",
                       first->rank, first->rank + 1, ML_MAX_RANK);
    int32_t axis;
    ml_status status = ml_axis(c, params->axis, first->rank + 1, &axis);
    if (status != ML_OK) return status;
    for (int i = 1; i < c->n_inputs; i++) {
        char one[96], other[96];
        if (!ml_same_shape(first, &ml_input(c, i)->shape))
            return ml_fail(c, ML_SHAPE_ERROR, "input 0 has the shape %s, input %d %s",
                           ml_shape_text(first, one), i,
                           ml_shape_text(&ml_input(c, i)->shape, other));
    }
    ml_shape shape = {.rank = first->rank + 1};
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = d == axis ? c->n_inputs : first->dims[d < axis ? d : d - 1];
    return finish(c, &shape, axis, true);
}

/* Scalars join to a vector (LiteRT takes only constant ones). */
static ml_status prepare_concatenation(const ml_call *c, ml_wish *wish) {
    const join_params *params = c->params;
    const ml_shape *first = &ml_input(c, 0)->shape;
    bool scalars = first->rank == 0 && params->axis == 0;
    int32_t axis;
    ml_status status = ml_axis(c, params->axis, scalars ? 1 : first->rank, &axis);
    if (status != ML_OK) return status;
    ml_shape shape = *first;
    int64_t total = 0;
    /* Inputs may differ along the axis alone. */
    for (int i = 0; i < c->n_inputs; i++) {
        ml_shape other = ml_input(c, i)->shape;
        bool same = other.rank == first->rank;
        if (same && !scalars) {
            total += other.dims[axis];
            other.dims[axis] = first->dims[axis];
        }
        if (!same || !ml_same_shape(first, &other)) {
            char one[96], another[96];
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input 0 has the shape %s, input %d %s: they differ outside axis %d",
                           ml_shape_text(first, one), i,
                           ml_shape_text(&ml_input(c, i)->shape, another), axis);
        }
    }
    if (scalars) {
        shape.rank = 1;
        total = c->n_inputs;
    }
    if (total > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "dimension %d of the result would be %lld, at most %d fits", axis,
                       (long long)total, INT32_MAX);
    shape.dims[axis] = (int32_t)total;
    return finish(c, &shape, axis, scalars);
}

/* Along the channels: each pixel of the output needs that pixel of each input. */
static bool window_of_concatenation(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                    void *params) {
    const join_blob *blob = c->blob;
    return blob->axis == 3 && ml_cut_pixels(c, out, in, params);
}

static int64_t run_of(const ml_call *c, const join_blob *blob, int i) {
    return blob->axis < 0 ? blob->inner : blob->inner * ml_in_tensor(c, i)->shape.dims[blob->axis];
}

static ml_status join(const ml_call *c) {
    const join_blob *blob = c->blob;
    uint8_t *y = ml_out(c, 0);
    const int64_t bytes = ml_out_tensor(c, 0)->bytes;
    ml_status status = ML_OK;
    const bool whole = blob->outer == 1 && bytes <= ML_BLOCK_BYTES;
    for (int i = 0; i < c->n_inputs && whole; i++) {
        const int64_t run = ml_in_tensor(c, i)->bytes;
        ml_copy_some(y, ml_in(c, i), run);
        y += run;
    }
    for (int i = 0; i < c->n_inputs && !whole && status == ML_OK; i++) {
        int64_t run = run_of(c, blob, i);
        status = ml_move_runs(c, y, ml_in(c, i), run, (ml_turns){1, 0, 0},
                              (ml_turns){blob->outer, blob->step, run});
        y += run;
    }
    return status;
}

/* Packed elements are appended one after the other. */
static ml_status join_nibbles(const ml_call *c) {
    const join_blob *blob = c->blob;
    int64_t at = 0, work = 0;
    ml_status status = ML_OK;
    for (int64_t k = 0; k < blob->outer; k++) {
        for (int i = 0; i < c->n_inputs; i++) {
            int64_t run = run_of(c, blob, i), n;
            for (int64_t j = 0; j < run && status == ML_OK; j += n, at += n) {
                n = ml_min_s64(run - j, ML_BLOCK_ELEMENTS);
                ml_append_nibbles(ml_out(c, 0), at, ml_in(c, i), k * run + j, n);
                status = ml_count_work(c, n, &work);
            }
            if (status != ML_OK) return status;
        }
    }
    return ML_OK;
}

/* Tables that convert uint8 inputs with other scales to the output's scale. */
typedef struct join_tables {
    bool apart; /* some inputs have other scales; else there are no tables */
    ml_byte_table tables[]; /* one per input */
} join_tables;

/* Fills in the output's byte for each byte of an input, in LiteRT's float arithmetic; halves are
 * rounded away from zero. */
static void fill_table(ml_affine x, ml_affine y, ml_byte_table *t) {
    bool same = x.scale == y.scale && x.zero_point == y.zero_point;
    float scale = x.scale * (1.0f / y.scale), bias = (float)-x.zero_point * scale;
    for (int32_t v = 0; v < 256; v++) {
        double real = (double)((float)v * scale + bias);
        double rounded = trunc(real + copysign(0.5, real)) + y.zero_point;
        t->bytes[v] = (uint8_t)(same ? v : !(rounded > 0.0) ? 0 : rounded > 255.0 ? 255 : rounded);
    }
    ml_find_byte_lines(t, ML_U8, ML_U8, x.zero_point);
}

static int64_t derive_tables(const ml_call *c, void *to) {
    ml_affine y = ml_output_affine(c, 0);
    join_tables *t = to;
    bool apart = false;
    for (int i = 0; i < c->n_inputs; i++) {
        ml_affine x = ml_input_affine(c, i);
        apart |= x.scale != y.scale || x.zero_point != y.zero_point;
    }
    if (t) t->apart = apart;
    for (int i = 0; t && apart && i < c->n_inputs; i++)
        fill_table(ml_input_affine(c, i), y, &t->tables[i]);
    return (int64_t)sizeof *t + (apart ? (int64_t)sizeof *t->tables * c->n_inputs : 0);
}

typedef struct join_operand {
    const uint8_t *x;
    uint8_t *y; /* where its first run goes */
    const ml_byte_table *table;
    int64_t run;
} join_operand;

/* Converts elements of one input. */
static ml_status look_up(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const join_operand *o = args;
    const int64_t step = ((const join_blob *)c->blob)->step;
    for (int64_t at = first, n; at < end; at += n) {
        const int64_t k = at / o->run, j = at % o->run;
        n = ml_min_s64(o->run - j, end - at);
        ml_look_up(c->env->simd, o->table, o->x + at, n, o->y + k * step + j);
    }
    return ML_OK;
}

static ml_status concatenation_u8(const ml_call *c) {
    const join_blob *blob = c->blob;
    const join_tables *t = c->derived;
    ml_status status = ML_OK;
    if (!t->apart) return join(c);
    join_operand o = {.y = ml_out(c, 0)};
    for (int i = 0; i < c->n_inputs && status == ML_OK; i++, o.y += o.run) {
        o.x = ml_in(c, i);
        o.table = &t->tables[i];
        o.run = run_of(c, blob, i);
        status = ml_in_blocks(c, blob->outer * o.run, 1, look_up, &o);
    }
    return status;
}

/* All tensors have the output's scale and zero point. */
static ml_status check_pack(const ml_call *c, void *params) {
    const int64_t count = ml_option_of(c, "values_count").integer;
    ml_status status = ML_OK;
    if (count != c->n_inputs)
        return ml_fail(c, ML_UNSUPPORTED, "values_count is %lld, the node has %d inputs",
                       (long long)count, c->n_inputs);
    for (int i = 0; i < c->n_inputs && status == ML_OK; i++) {
        char name[24];
        snprintf(name, sizeof name, "input %d", i);
        status = ml_check_same_scale(c, c->inputs[i], name);
    }
    return status;
}
/* Only uint8 inputs may have other scales than the output; they are requantized. */
static ml_status check_joined(const ml_call *c, int i) {
    const int32_t x = c->inputs[i], y = ml_output_tensor(c, 0), type = ml_output(c, 0)->type;
    const int64_t zero_x = ml_zero_point_of(c, x), zero_y = ml_zero_point_of(c, y);
    const double scale_x = ml_scale_of(c, x), scale_y = ml_scale_of(c, y);
    char name[24];
    snprintf(name, sizeof name, "input %d", i);
    if (type == ML_S8) return ml_check_same_scale(c, x, name);
    if (type == ML_S16 && (zero_x || zero_y))
        return ml_fail(c, ML_UNSUPPORTED, "zero point %lld of an int16 tensor, expected 0",
                       (long long)(zero_x ? zero_x : zero_y));
    if (type != ML_U8 || (scale_x == scale_y && zero_x == zero_y)) return ML_OK;
    const bool by_channel =
        ml_input_quantization(c, i)->n_scales > 1 || ml_output_quantization(c, 0)->n_scales > 1;
    if (!by_channel && scale_y > 0 && isfinite(scale_x)) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "%s has scale %g, which cannot be converted to the output's, %g", name, scale_x,
                   scale_y);
}
static ml_status check_concatenation(const ml_call *c, void *params) {
    ml_status status = ML_OK;
    if (ml_option_of(c, "fused_activation_function").integer != 0)
        return ml_fail(c, ML_UNSUPPORTED, "fused activation %s is not supported, only NONE is",
                       ml_option_word(c, "fused_activation_function"));
    for (int i = 0; i < c->n_inputs && status == ML_OK; i++) status = check_joined(c, i);
    return status;
}

ML_KERNELS(join) = {
    {ML_OP(PACK, 1, 5), .name = "pack", .takes = "x... -> y", .check = check_pack,
     ML_PARAMS_OF(join_params), .blob_bytes = sizeof(join_blob), .prepare = prepare_pack,
     .prepare_reads = ml_reads_nothing,
     ML_TYPED({"T... -> T: f32 s8 u8 s16 s32 u32 s64", NULL, NULL, join})},
    {ML_OP(CONCATENATION, 1, 7), .name = "concatenation", .takes = "x... -> y",
     .check = check_concatenation, ML_PARAMS_OF(join_params), .blob_bytes = sizeof(join_blob),
     .prepare = prepare_concatenation, .prepare_reads = ml_reads_nothing,
     .window = window_of_concatenation,
     ML_TYPED({"u8... -> u8", derive_tables, NULL, concatenation_u8},
              {"s4... -> s4", NULL, NULL, join_nibbles},
              {"T... -> T: f32 f16 bf16 s8 b8 s16 s32 u32 s64", NULL, NULL, join})},
    ML_KERNELS_END,
};
