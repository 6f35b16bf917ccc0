/* svdf.c -- SVDF: a fully connected layer, factored into two. Its state (batch, filters * memory)
 * keeps the last `memory` activations of each filter, the newest last. They are multiplied by the
 * weights in time and summed, `rank` filters per unit. */
#include "rules/bytes.h"
#include "rules/matmul.h"
#include "rules/products.h"
#include "rules/work.h"

enum { X, FEATURES, TIMES, BIAS, STATE };

#define SVDF_FIELDS(X, S) X(S, i32, rank, ML_POSITIVE("rank")) X(S, i32, asymmetric, ML_OPTION("asymmetric_quantize_inputs")) ML_CLAMP_FIELDS(X, S)
ML_PARAMS(svdf_params, SVDF_FIELDS)

typedef struct svdf_blob {
    int64_t row_offset; /* in scratch: a row of x as bytes */
    int32_t batches;
    int32_t depth; /* of x */
    int32_t filters;
    int32_t memory;
} svdf_blob;

/* Derived from the quantization. Integer kernels scale twice: to the state and to the output.
 * Hybrid kernels scale by their weights' scales. */
typedef struct svdf_derived {
    int32_t x_zero;
    int32_t y_zero;
    int32_t state_zero;
    int32_t state_mantissa;
    int32_t state_shift;
    int32_t y_mantissa;
    int32_t y_shift;
    float feature_scale;
    float time_scale;
} svdf_derived;

static ml_status expect(const ml_call *c, const char *name, int i, int32_t rows, int64_t columns) {
    const ml_shape *shape = &ml_input(c, i)->shape;
    char text[96];
    if (shape->rank == 2 && shape->dims[0] == rows && shape->dims[1] == columns) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "%s must be (%d, %lld), its shape is %s", name, rows,
                   (long long)columns, ml_shape_text(shape, text));
}

static ml_status prepare_svdf(const ml_call *c, ml_wish *wish) {
    const svdf_params *params = c->params;
    svdf_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, X)->shape, *times = &ml_input(c, TIMES)->shape;
    const ml_tensor *bias = ml_input(c, BIAS);
    char text[96];
    if (x->rank != 2 || times->rank != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "%s must have 2 dimensions, its shape is %s",
                       x->rank != 2 ? "input" : "weights_time",
                       ml_shape_text(x->rank != 2 ? x : times, text));
    blob->batches = x->dims[0];
    blob->depth = x->dims[1];
    blob->filters = times->dims[0];
    blob->memory = times->dims[1];
    if (blob->memory <= 0 || blob->filters % params->rank != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "%d filters of %d do not split into units of rank %d",
                       blob->filters, blob->memory, params->rank);
    ml_shape y = {2, {blob->batches, blob->filters / params->rank}};
    /* The other operands must fit these. */
    ml_status status = expect(c, "weights_feature", FEATURES, blob->filters, blob->depth);
    if (status == ML_OK)
        status = expect(c, "state", STATE, blob->batches, (int64_t)blob->filters * blob->memory);
    if (status == ML_OK && bias && ml_elements(&bias->shape) != y.dims[1])
        status = ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d units",
                         (long long)ml_elements(&bias->shape), y.dims[1]);
    if (status != ML_OK) return status;
    ml_reserve(wish, (int64_t)blob->filters * (int64_t)sizeof(int32_t));
    if (ml_input(c, FEATURES)->type != ML_F32) blob->row_offset = ml_reserve(wish, blob->depth);
    return ml_set_output(c, 0, &y);
}

static int64_t pack_f32(const ml_call *c, void *to) { return ml_pack_weights_f32(c, to, 1); }

static int64_t pack_s8(const ml_call *c, void *to) {
    const svdf_blob *blob = c->blob;
    const ml_pack_s8_args args = {.w = ml_value(c, FEATURES),
                                  .type = ML_S8,
                                  .output_step = blob->depth,
                                  .period = (int64_t)blob->filters + 1,
                                  .input_step = 1,
                                  .n = blob->filters,
                                  .pieces = 1,
                                  .k = blob->depth};
    if (to) ml_pack_s8(c->env->simd, args, to);
    return ml_weights_s8_bytes(blob->filters, 1, blob->depth);
}

/* Moves a state of `elements` by one element, which drops each filter's oldest activation; the
 * newest are written next. */
#define SHIFT(state, elements) \
    if ((elements) > 1) memmove((state), (state) + 1, (size_t)((elements)-1) * sizeof *(state))

static int64_t state_elements(const svdf_blob *blob) {
    return (int64_t)blob->batches * blob->filters * blob->memory;
}

/* Filter f's newest activation of batch b. */
#define NEWEST(state, blob, b, f) (state)[(((b) * (blob)->filters + (f)) + 1) * (blob)->memory - 1]

/* Floats: the sum in time of one unit; its weights are floats or scaled bytes. */
static float sum_in_time(const svdf_blob *blob, const float *state, const void *times, float scale,
                         int64_t filter) {
    float sum = 0.0f;
    const float *f32 = (const float *)times + filter * blob->memory;
    const int8_t *s8 = (const int8_t *)times + filter * blob->memory;
    if (scale > 0.0f)
        for (int64_t i = 0; i < blob->memory; i++) sum += state[i] * ((float)s8[i] * scale);
    else
        for (int64_t i = 0; i < blob->memory; i++) sum += state[i] * f32[i];
    return sum;
}

static ml_status finish_floats(const ml_call *c, float time_scale) {
    const svdf_params *params = c->params;
    const svdf_blob *blob = c->blob;
    const float *state = ml_variable(c, STATE), *bias = ml_in_optional(c, BIAS);
    float *y = ml_out(c, 0);
    int64_t units = blob->filters / params->rank, work = 0;
    ml_status status = ML_OK;
    for (int64_t b = 0; b < blob->batches; b++)
        for (int64_t u = 0; u < units && status == ML_OK; u++) {
            float sum = bias ? bias[u] : 0.0f, of_rank = 0.0f;
            for (int64_t f = u * params->rank; f < (u + 1) * params->rank; f++)
                of_rank += sum_in_time(blob, state + (b * blob->filters + f) * blob->memory,
                                       ml_in(c, TIMES), time_scale, f);
            sum += of_rank;
            sum = sum < params->minimum ? params->minimum : sum;
            y[b * units + u] = sum > params->maximum ? params->maximum : sum;
            status = ml_count_work(c, (int64_t)params->rank * blob->memory, &work);
        }
    return status;
}

static ml_status svdf_f32(const ml_call *c) {
    const svdf_blob *blob = c->blob;
    float *state = ml_variable(c, STATE), *products = c->scratch;
    int64_t work = 0;
    ml_status status = ML_OK;
    SHIFT(state, state_elements(blob));
    for (int64_t b = 0; b < blob->batches && status == ML_OK; b++) {
        status = ml_count_work(c, blob->depth * blob->filters / 8, &work);
        ml_matmul_f32_args product = {
            .a = (const float *)ml_in(c, X) + b * blob->depth,
            .rows = 1,
            .pieces = 1,
            .packed = c->packed,
            .k = blob->depth,
            .n = blob->filters,
            .y = products,
            .y_stride = blob->filters,
            .low = -__builtin_inff(),
            .high = __builtin_inff(),
        };
        ml_multiply_f32(c->env->simd, &product);
        for (int64_t f = 0; f < blob->filters; f++) NEWEST(state, blob, b, f) = products[f];
    }
    return status == ML_OK ? finish_floats(c, 0.0f) : status;
}

static ml_status svdf_hybrid(const ml_call *c) {
    const svdf_blob *blob = c->blob;
    const svdf_derived *derived = c->derived;
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, blob->filters, 1, blob->depth);
    float *state = ml_variable(c, STATE);
    int32_t *sums = c->scratch, factor;
    uint8_t *row = ml_scratch(c, blob->row_offset);
    int64_t work = 0;
    ml_status status = ML_OK;
    SHIFT(state, state_elements(blob));
    for (int64_t b = 0; b < blob->batches && status == ML_OK; b++) {
        status = ml_count_work(c, blob->depth * blob->filters / 8, &work);
        float scale = ml_quantize_bytes(c->env->simd, (const float *)ml_in(c, X) + b * blob->depth,
                                        blob->depth, ((const svdf_params *)c->params)->asymmetric,
                                        row, &factor);
        ml_multiply_bytes(c->env->simd, row, 1, &weights, &factor, sums);
        for (int64_t f = 0; f < blob->filters; f++)
            NEWEST(state, blob, b, f) = (float)sums[f] * (scale * derived->feature_scale);
    }
    return status == ML_OK ? finish_floats(c, derived->time_scale) : status;
}

/* Integers: int32 sums, which wrap. TFLite clamps only to int8, whatever the activation. The
 * state's zero point (only bytes have one) is added after the clamp and may wrap (TFLM's
 * svdf_common.cc). */
#define SVDF_INTEGERS(name, type, lowest, highest, zero) \
    static ml_status finish_##name(const ml_call *c) { \
        const svdf_params *params = c->params; \
        const svdf_blob *blob = c->blob; \
        const svdf_derived *derived = c->derived; \
        const type *state = ml_variable(c, STATE), *times = ml_in(c, TIMES); \
        const int32_t *bias = ml_in_optional(c, BIAS); \
        int8_t *y = ml_out(c, 0); \
        int64_t units = blob->filters / params->rank, terms = (int64_t)params->rank * blob->memory; \
        int64_t work = 0; \
        ml_status status = ML_OK; \
        for (int64_t b = 0; b < blob->batches; b++) \
            for (int64_t u = 0; u < units && status == ML_OK; u++) { \
                const type *s = state + (b * units + u) * terms, *w = times + u * terms; \
                int64_t sum = bias ? bias[u] : 0; \
                for (int64_t i = 0; i < terms; i++) sum += (s[i] - (zero)) * w[i]; \
                y[b * units + u] = output_of(derived, (int32_t)sum); \
                status = ml_count_work(c, terms, &work); \
            } \
        return status; \
    } \
    static ml_status svdf_##name(const ml_call *c) { \
        const svdf_blob *blob = c->blob; \
        const svdf_derived *derived = c->derived; \
        type *state = ml_variable(c, STATE); \
        int32_t *sums = c->scratch; \
        int64_t work = 0; \
        ml_status status = ML_OK; \
        SHIFT(state, state_elements(blob)); \
        for (int64_t b = 0; b < blob->batches && status == ML_OK; b++) { \
            status = ml_count_work(c, blob->depth * blob->filters / 8, &work); \
            sums_of_features(c, b, sums); \
            for (int64_t f = 0; f < blob->filters; f++) { \
                int32_t scaled = ml_multiply_quantized(sums[f], derived->state_mantissa, \
                                                       derived->state_shift); \
                NEWEST(state, blob, b, f) = \
                    (type)(ml_clamp_s32(scaled, lowest, highest) + (zero)); \
            } \
        } \
        return status == ML_OK ? finish_##name(c) : status; \
    }

static int8_t output_of(const svdf_derived *derived, int32_t sum) {
    int32_t scaled = ml_multiply_quantized(sum, derived->y_mantissa, derived->y_shift);
    return (int8_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)derived->y_zero), INT8_MIN,
                                INT8_MAX);
}

static void sums_of_features(const ml_call *c, int64_t batch, int32_t *sums) {
    const svdf_blob *blob = c->blob;
    const svdf_derived *derived = c->derived;
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, blob->filters, 1, blob->depth);
    const int8_t *x = (const int8_t *)ml_in(c, X) + batch * blob->depth;
    const int32_t factor = -ml_byte_of_zero(ML_S8, derived->x_zero);
    uint8_t *row = ml_scratch(c, blob->row_offset);
    ml_to_bytes(ML_S8, x, blob->depth, 0, row);
    ml_multiply_bytes(c->env->simd, row, 1, &weights, &factor, sums);
}

SVDF_INTEGERS(s8, int8_t, INT8_MIN, INT8_MAX, derived->state_zero)
SVDF_INTEGERS(s16, int16_t, INT16_MIN, INT16_MAX, 0)

static int64_t derive_hybrid(const ml_call *c, void *to) {
    svdf_derived made = {.feature_scale = ml_one_scale(c, FEATURES),
                         .time_scale = ml_one_scale(c, TIMES)};
    if (!(made.feature_scale > 0.0f && made.time_scale > 0.0f)) return -1;
    if (to) memcpy(to, &made, sizeof made);
    return sizeof made;
}

static int64_t derive_integers(const ml_call *c, void *to) {
    double x = ml_one_scale(c, X), features = ml_one_scale(c, FEATURES),
           times = ml_one_scale(c, TIMES), state = ml_one_scale(c, STATE),
           y = ml_one_scale(c, c->n_inputs);
    if (!(x > 0.0 && features > 0.0 && times > 0.0 && state > 0.0 && y > 0.0)) return -1;
    svdf_derived made = {.x_zero = ml_input_affine(c, X).zero_point,
                         .y_zero = ml_output_affine(c, 0).zero_point,
                         .state_zero = ml_input_affine(c, STATE).zero_point};
    ml_quantize_multiplier(x * features / state, &made.state_mantissa, &made.state_shift);
    ml_quantize_multiplier(state * times / y, &made.y_mantissa, &made.y_shift);
    if (to) memcpy(to, &made, sizeof made);
    return sizeof made;
}

static const ml_typed svdf[] = {
    {"f32 f32 f32 f32? f32 -> f32", NULL, pack_f32, svdf_f32},
    {"f32 s8 s8 f32? f32 -> f32", derive_hybrid, pack_s8, svdf_hybrid},
    {"f32 u8 u8 f32? f32 -> f32", derive_hybrid, pack_s8, svdf_hybrid},
    {"s8 s8 s16 s32? s16 -> s8", derive_integers, pack_s8, svdf_s16},
    {"s8 s8 s8 s32? s8 -> s8", derive_integers, pack_s8, svdf_s8},
    {NULL, NULL, NULL, NULL},
};

/* Each row of x is multiplied by the filters of features, its state by those of time. */
static int64_t count_svdf(const ml_operand_shapes *of) {
    return ml_times(ml_extent(of, X, 0, 0),
                    ml_plus(ml_extent_of_all(of, FEATURES), ml_extent_of_all(of, TIMES)));
}

ML_KERNELS(svdf) = {
    {ML_OP(SVDF, 1, 4), .name = "svdf", .takes = "x weights_feature weights_time bias? state -> y",
     .flags = ML_KERNEL_HAS_EFFECTS, .writes = ML_INPUT(4), ML_PARAMS_OF(svdf_params),
     .blob_bytes = sizeof(svdf_blob), .packs = FEATURES, .multiply_adds = count_svdf,
     .prepare = prepare_svdf, .typed = svdf},
    ML_KERNELS_END,
};
