/* pad.c -- PAD, PADV2: put a value around the input. The output is written from front to back: runs
 * of the input, values between them. MIRROR_PAD: the input, then its reflection around it. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/quantized.h"
#include "rules/values.h"
#include "rules/work.h"

/* is_part: of a node that is computed patch by patch; its rows and columns are padded by these in
 * place of the operand's. */
#define PAD_FIELDS(X, S) \
    X(S, i32, is_part, ML_IS(0))                                 \
    X(S, i32, pad_top, ML_IS(0)) X(S, i32, pad_bottom, ML_IS(0)) \
    X(S, i32, pad_left, ML_IS(0)) X(S, i32, pad_right, ML_IS(0))
ML_PARAMS(pad_params, PAD_FIELDS)

static void take_part(const pad_params *p, int64_t pairs[]) {
    pairs[2] = p->pad_top;
    pairs[3] = p->pad_bottom;
    pairs[4] = p->pad_left;
    pairs[5] = p->pad_right;
}

/* Reads the padded shape and, per dimension, the padding before it. */
static ml_status read_paddings(const ml_call *c, const pad_params *part, const void *value,
                               ml_shape *shape, int64_t before[]) {
    int64_t pairs[2 * ML_MAX_RANK];
    const bool read = ml_read_integers(ml_input(c, 1), value, 2 * shape->rank, pairs);
    if (part && part->is_part) take_part(part, pairs);
    for (int32_t d = 0; d < shape->rank; d++) {
        const int64_t b = read ? pairs[2 * d] : -1, a = read ? pairs[2 * d + 1] : -1;
        if (b < 0 || a < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d is padded by %lld and %lld, expected 0 or more", d,
                           (long long)b, (long long)a);
        if (b > INT32_MAX || a > INT32_MAX || shape->dims[d] + b + a > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d of size %d padded by %lld and %lld exceeds %d", d,
                           shape->dims[d], (long long)b, (long long)a, INT32_MAX);
        before[d] = b;
        shape->dims[d] += (int32_t)(b + a);
    }
    return ML_OK;
}

/* Builds the nest of the input within the output. */
static void build(ml_nest *nest, const ml_shape *from, const ml_shape *to, const int64_t before[],
                  int64_t element) {
    int64_t pitches[ML_MAX_RANK], pitch = element, start = 0;
    for (int32_t d = to->rank - 1; d >= 0; d--) {
        start += before[d] * pitch;
        pitches[d] = pitch;
        pitch *= to->dims[d];
    }
    ml_nest_begin(nest, ml_elements(from) > 0 ? element : 0); /* 0: all is padding */
    for (int32_t d = 0; d < to->rank && nest->run > 0; d++)
        ml_nest_add(nest, from->dims[d], pitches[d]);
    ml_nest_end(nest);
    nest->start = start;
}

static ml_status prepare_pad(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0), *fill = ml_input(c, 2);
    const ml_shape *paddings = &ml_in_tensor(c, 1)->shape;
    char text[96];
    if (paddings->rank != 2 || paddings->dims[0] != x->shape.rank || paddings->dims[1] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "paddings have the shape %s, expected (%d, 2)",
                       ml_shape_text(paddings, text), x->shape.rank);
    if (fill && ml_elements(&fill->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the padding value has the shape %s, expected one element",
                       ml_shape_text(&fill->shape, text));
    const void *value = ml_value(c, 1);
    if (!value && x->shape.rank > 0) return ml_open(wish, 0);
    ml_shape shape = x->shape;
    int64_t before[ML_MAX_RANK] = {0};
    ml_status status = read_paddings(c, c->params, value, &shape, before);
    if (status == ML_OK) status = ml_set_output(c, 0, &shape);
    if (status == ML_OK) build(c->blob, &x->shape, &shape, before, ml_type_bytes(x->type));
    return status;
}

/* False for a patch that lies in the padding: no tensor would be its input. */
static bool window_of_pad(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    int64_t pairs[2 * ML_MAX_RANK];
    pad_params *p = params;
    if (!ml_read_integers(ml_input(c, 1), ml_value(c, 1), 2 * x->rank, pairs)) return false;
    int32_t *pads[2][2] = {{&p->pad_top, &p->pad_bottom}, {&p->pad_left, &p->pad_right}};
    for (int i = 0; i < 2; i++) {
        const int64_t first = out->side[i].first - pairs[2 * i + 2];
        const int64_t end = out->side[i].end - pairs[2 * i + 2], size = x->dims[i + 1];
        if (first >= size || end <= 0) return false;
        in[0].side[i] = (ml_side){(int32_t)ml_max_s64(first, 0), (int32_t)ml_min_s64(end, size)};
        *pads[i][0] = (int32_t)(in[0].side[i].first - first);
        *pads[i][1] = (int32_t)(end - in[0].side[i].end);
    }
    p->is_part = 1;
    return true;
}

/* Writes sixteen bytes of equal elements, copies of `value`. */
static void spread(uint8_t fill[16], const void *value, int64_t element) {
    memcpy(fill, value, (size_t)element);
    ml_repeat(fill, element, 16 / element - 1);
}

/* Without a value, quantized tensors are padded with the output's zero point: their 0. */
static int64_t derive_fill(const ml_call *c, void *to) {
    int32_t type = ml_in_tensor(c, 0)->type;
    bool integer = type == ML_S8 || type == ML_S16;
    bool quantized = type == ML_U8 || (integer && ml_input_affine(c, 0).scale != 0.0f);
    int64_t zero = quantized ? ml_output_affine(c, 0).zero_point : 0;
    if (to) spread(to, &zero, ml_type_bytes(type)); /* little-endian: the low bytes come first */
    return 16;
}

static ml_status pad(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0);
    const void *value = ml_in_optional(c, 2);
    uint8_t fill[16];
    if (value) spread(fill, value, ml_type_bytes(y->type));
    return ml_nest_pad(c, c->blob, ml_in(c, 0), ml_out(c, 0), y->bytes, value ? fill : c->derived);
}

/* MIRROR_PAD ----------------------------------------------------------------------------------- */

/* reflect: the edge is not repeated. The fields per side are for a patch: its size (0: this is the
 * whole), what lies before the image, the size of the whole image, and the first index that the
 * input has. */
#define MIRROR_FIELDS(X, S) \
    X(S, i32, reflect, ML_BY_CHECK)                               \
    X(S, i32, out_h, ML_IS(0)) X(S, i32, before_h, ML_IS(0))      \
    X(S, i32, size_h, ML_IS(0)) X(S, i32, from_h, ML_IS(0))       \
    X(S, i32, out_w, ML_IS(0)) X(S, i32, before_w, ML_IS(0))      \
    X(S, i32, size_w, ML_IS(0)) X(S, i32, from_w, ML_IS(0))
ML_PARAMS(mirror_params, MIRROR_FIELDS)

typedef struct mirror_blob {
    int32_t reflect;
    int32_t innermost; /* dimension that is padded; those after it are copied with it */
    int32_t before[ML_MAX_RANK]; /* of a patch also negative */
    int32_t size[ML_MAX_RANK]; /* of the whole input */
    int32_t from[ML_MAX_RANK]; /* the first index that the input has: 0, but for patches */
    int64_t unit; /* bytes of one of its indices */
} mirror_blob;

static void take_mirror_part(const mirror_params *p, ml_shape *y, mirror_blob *b) {
    if (p->out_h == 0) return;
    y->dims[1] = p->out_h;
    y->dims[2] = p->out_w;
    b->before[1] = p->before_h;
    b->before[2] = p->before_w;
    b->size[1] = p->size_h;
    b->size[2] = p->size_w;
    b->from[1] = p->from_h;
    b->from[2] = p->from_w;
}

/* Sets padding and sizes of dimension `d`, which is padded by at most as much as it has to
 * reflect. */
static ml_status mirror_dimension(const ml_call *c, int32_t d, int64_t before, int64_t behind) {
    mirror_blob *blob = c->blob;
    const mirror_params *p = c->params;
    const int32_t size = ml_input(c, 0)->shape.dims[d];
    const int64_t most = ml_max_s64(size - blob->reflect, 0);
    if (p->out_h == 0 && (before > most || behind > most))
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "dimension %d of size %d is padded by %lld and %lld, at most %lld is reflected", d,
            size, (long long)before, (long long)behind, (long long)most);
    blob->before[d] = (int32_t)before;
    blob->size[d] = size;
    if (before + behind > 0) blob->innermost = d;
    return ML_OK;
}

static ml_status prepare_mirror_pad(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *paddings = &ml_in_tensor(c, 1)->shape;
    mirror_blob *blob = c->blob;
    char text[96];
    if (paddings->rank != 2 || paddings->dims[0] != x->shape.rank || paddings->dims[1] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "paddings have the shape %s, expected (%d, 2)",
                       ml_shape_text(paddings, text), x->shape.rank);
    const void *value = ml_value(c, 1);
    if (!value && x->shape.rank > 0) return ml_open(wish, 0);
    ml_shape shape = x->shape;
    int64_t before[ML_MAX_RANK] = {0};
    ml_status status = read_paddings(c, NULL, value, &shape, before);
    if (status != ML_OK) return status;
    blob->reflect = ((const mirror_params *)c->params)->reflect;
    for (int32_t d = 0; d < shape.rank && status == ML_OK; d++)
        status = mirror_dimension(c, d, before[d], shape.dims[d] - x->shape.dims[d] - before[d]);
    if (status != ML_OK) return status;
    take_mirror_part(c->params, &shape, blob);
    status = ml_set_output(c, 0, &shape);
    blob->unit = ml_elements_of(&shape, blob->innermost + 1, shape.rank) * ml_type_bytes(x->type);
    return status;
}

/* The index that is reflected to `at`, which may be before the first or after the last. */
static int64_t mirrored(int64_t at, int64_t size, int32_t reflect) {
    if (at < 0) return reflect - 1 - at;
    return at < size ? at : 2 * size - 1 - reflect - at;
}

/* The line of the input for line `line` of the output; lines run along the innermost padded
 * dimension. */
static const uint8_t *mirrored_line(const ml_call *c, int64_t line) {
    const mirror_blob *b = c->blob;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *y = &ml_out_tensor(c, 0)->shape;
    int64_t from = 0, pitch = b->unit * x->dims[b->innermost];
    for (int32_t d = b->innermost - 1; d >= 0; line /= y->dims[d--]) {
        const int64_t at = line % y->dims[d] - b->before[d];
        from += (mirrored(at, b->size[d], b->reflect) - b->from[d]) * pitch;
        pitch *= x->dims[d];
    }
    return (const uint8_t *)ml_in(c, 0) + from;
}

/* Writes indices first .. end - 1 of the innermost padded dimension, line by line. */
static ml_status mirror_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const mirror_blob *b = c->blob;
    const int64_t size = b->size[b->innermost], from = b->from[b->innermost], unit = b->unit;
    const int64_t have = from + ml_in_tensor(c, 0)->shape.dims[b->innermost];
    const int64_t across = ml_out_tensor(c, 0)->shape.dims[b->innermost];
    uint8_t *y = (uint8_t *)ml_out(c, 0) + first * unit;
    for (int64_t i = first, stop; i < end; i = stop) {
        const uint8_t *line = mirrored_line(c, i / across);
        const int64_t before = b->before[b->innermost], begin = i - i % across;
        stop = ml_min_s64(end, begin + across);
        for (int64_t k = i - begin - before, n; k < stop - begin - before; k += n) {
            const bool inside = k >= from && k < have;
            n = inside ? ml_min_s64(stop - begin - before, have) - k : 1;
            memcpy(y, line + (mirrored(k, size, b->reflect) - from) * unit, (size_t)(n * unit));
            y += n * unit;
        }
    }
    return ML_OK;
}

/* The range of a side that its part `out` reflects: the image turns at its ends. */
static ml_side reflected(const mirror_blob *b, int32_t d, ml_side out) {
    const int64_t size = b->size[d], first = out.first - (int64_t)b->before[d];
    const int64_t last = out.end - (int64_t)1 - b->before[d];
    int64_t low = mirrored(first, size, b->reflect), high = low;
    const int64_t others[] = {last, first <= 0 && last >= 0 ? 0 : first,
                              first < size && last >= size - 1 ? size - 1 : last};
    for (int i = 0; i < 3; i++) {
        const int64_t at = mirrored(others[i], size, b->reflect);
        low = ml_min_s64(low, at);
        high = ml_max_s64(high, at);
    }
    return (ml_side){(int32_t)low, (int32_t)high + 1};
}

static bool window_of_mirror_pad(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                 void *params) {
    const mirror_blob *b = c->blob;
    mirror_params *p = params;
    const ml_side down = reflected(b, 1, out->side[0]), across = reflected(b, 2, out->side[1]);
    in[0] = (ml_rectangle){{down, across}};
    p->out_h = out->side[0].end - out->side[0].first;
    p->before_h = b->before[1] - out->side[0].first;
    p->size_h = b->size[1];
    p->from_h = down.first;
    p->out_w = out->side[1].end - out->side[1].first;
    p->before_w = b->before[2] - out->side[1].first;
    p->size_w = b->size[2];
    p->from_w = across.first;
    return true;
}

static ml_status mirror_pad(const ml_call *c) {
    const mirror_blob *b = c->blob;
    const ml_tensor *x = ml_in_tensor(c, 0), *y = ml_out_tensor(c, 0);
    if (x->shape.rank > 0) return ml_in_blocks(c, y->bytes / b->unit, b->unit, mirror_some, NULL);
    memcpy(ml_out(c, 0), ml_in(c, 0), (size_t)ml_type_bytes(x->type));
    return ML_OK;
}

/* The value must have the quantization of the output; without a value, quantized tensors are padded
 * with its zero point. */
static ml_status check_pad(const ml_call *c, void *params) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    const bool is_quantized = type == ML_U8 || ((type == ML_S8 || type == ML_S16) &&
                                                ml_input_quantization(c, 0)->n_scales > 0);
    if (!is_quantized) return ML_OK;
    if (ml_input_tensor(c, 2) >= 0)
        return ml_check_same_scale(c, c->inputs[2], "the padding value");
    return ml_output_quantization(c, 0)->n_zero_points == 1
               ? ml_check_zero_points(c, ml_output_tensor(c, 0))
               : ML_OK;
}
/* Input and output must have the same scale and zero point. */
static ml_status check_mirror_pad(const ml_call *c, void *params) {
    ((mirror_params *)params)->reflect = ml_option_of(c, "mode").integer == 0;
    return ml_check_same_scale(c, c->inputs[0], "the input");
}

#define PAD(operator, kernel_name)                                                              \
    {ML_OP(operator, 1, 6), .name = (kernel_name), .flags = ML_KERNEL_PADS,                     \
     .takes = "x paddings value? -> y", .check = check_pad, ML_PARAMS_OF(pad_params),           \
     .blob_bytes = sizeof(ml_nest), .prepare = prepare_pad, .window = window_of_pad,            \
     ML_TYPED({"T s8|s16|s32|s64 T? -> T: f32 f16 bf16 s8 u8 b8 s16 s32 s64", derive_fill, NULL, pad})}
ML_KERNELS(pad) = {
    PAD(PAD, "pad"),
    PAD(PADV2, "padv2"),
    {ML_OP(MIRROR_PAD, 1, 3), .name = "mirror_pad", .takes = "x paddings -> y",
     .check = check_mirror_pad, ML_PARAMS_OF(mirror_params), .blob_bytes = sizeof(mirror_blob),
     .prepare = prepare_mirror_pad, .window = window_of_mirror_pad,
     ML_TYPED({"T s32|s64 -> T: " ML_WHOLE_BYTES, NULL, NULL, mirror_pad})},
    ML_KERNELS_END,
};
