/* random.c -- RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL: random numbers of a sequence
 * chosen by two seeds, which continues from run to run, and starts again when variables are reset.
 * STABLEHLO_RNG_BIT_GENERATOR: random bits from a state that is an input and an output. */
#include "math/random.h"

#include <math.h>

#include "rules/values.h"
#include "rules/work.h"

#define RANDOM_FIELDS(X, S) X(S, i64, seed, ML_BY_CHECK) X(S, i64, seed2, ML_BY_CHECK)
ML_PARAMS(random_params, RANDOM_FIELDS)

/* The memory of the node: the number of blocks of four words drawn so far. */
typedef struct drawn {
    uint64_t blocks;
} drawn;

static void draw(const ml_call *c, uint64_t block, uint32_t bits[4]) {
    const random_params *p = c->params;
    const uint32_t key[2] = {(uint32_t)p->seed, (uint32_t)((uint64_t)p->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)p->seed2,
                                 (uint32_t)((uint64_t)p->seed2 >> 32)};
    ml_philox(key, counter, bits);
}

static ml_status prepare_random(const ml_call *c, ml_wish *wish) {
    const ml_shape *sizes = &ml_input(c, 0)->shape;
    char text[96];
    if (sizes->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the output's shape must be a vector, it is of shape %s",
                       ml_shape_text(sizes, text));
    const int32_t *value = ml_value(c, 0);
    if (!value && sizes->dims[0] > 0) return ml_open(wish, 0);
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    for (int32_t d = 0; d < sizes->dims[0] && status == ML_OK; d++) {
        if (value[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of the output's shape is %d", d,
                           value[d]);
        status = ml_append_dim(c, &y, value[d]);
    }
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

static void uniform(const uint32_t bits[4], float to[4]) {
    for (int i = 0; i < 4; i++) to[i] = ml_uniform_f32(bits[i]);
}

/* Pairs of normal numbers, by Box and Muller. */
static void normal(const uint32_t bits[4], float to[4]) {
    for (int i = 0; i < 4; i += 2) {
        const float u = ml_uniform_f32(bits[i]);
        const float angle = (float)(6.283185307179586476925 * (double)ml_uniform_f32(bits[i + 1]));
        const float radius = sqrtf(-2.0f * logf(u < 1e-7f ? 1e-7f : u));
        to[i] = sinf(angle) * radius;
        to[i + 1] = cosf(angle) * radius;
    }
}

typedef struct filling {
    void (*make)(const uint32_t bits[4], float to[4]);
    uint64_t block; /* the first */
} filling;

/* Fills in numbers, four at a time. */
static ml_status fill_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const filling *f = args;
    const int64_t count = ml_elements(&ml_out_tensor(c, 0)->shape);
    float *y = ml_out(c, 0), four[4];
    for (int64_t i = first; i < end; i++) {
        uint32_t bits[4];
        draw(c, f->block + (uint64_t)i, bits);
        f->make(bits, four);
        memcpy(y + 4 * i, four, (size_t)ml_min_s64(count - 4 * i, 4) * sizeof *y);
    }
    return ML_OK;
}

static ml_status fill(const ml_call *c, void (*make)(const uint32_t bits[4], float to[4])) {
    drawn *d = ml_memory(c);
    const int64_t fours = ml_ceil_div(ml_elements(&ml_out_tensor(c, 0)->shape), 4);
    filling f = {make, d->blocks};
    d->blocks += (uint64_t)fours;
    return ml_in_blocks(c, fours, 16, fill_some, &f);
}
static ml_status random_uniform(const ml_call *c) { return fill(c, uniform); }
static ml_status random_standard_normal(const ml_call *c) { return fill(c, normal); }

/* MULTINOMIAL ---------------------------------------------------------------------------------- */

typedef struct multinomial_blob {
    int64_t rows;
    int64_t classes;
    int64_t samples;
    int64_t sums; /* in scratch: of a row's odds, one after the other */
} multinomial_blob;

static ml_status prepare_multinomial(const ml_call *c, ml_wish *wish) {
    const ml_shape *logits = &ml_input(c, 0)->shape;
    multinomial_blob *b = c->blob;
    char text[96];
    if (logits->rank != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "logits must be (rows, classes), their shape is %s",
                       ml_shape_text(logits, text));
    if (ml_elements(&ml_input(c, 1)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the number of samples must be one number, it has %lld",
                       (long long)ml_elements(&ml_input(c, 1)->shape));
    b->rows = logits->dims[0];
    b->classes = logits->dims[1];
    b->sums = ml_reserve(wish, b->classes * (int64_t)sizeof(double));
    const int32_t *samples = ml_value(c, 1);
    if (!samples) return ml_open(wish, 0);
    if (*samples < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the number of samples is %d, expected 0 or more",
                       *samples);
    b->samples = *samples;
    return ml_set_output(c, 0, &(ml_shape){.rank = 2, .dims = {logits->dims[0], *samples}});
}

/* Running sums of exp(logit - the largest) over finite logits; returns the last sum. */
static double add_odds(const float *logits, int64_t n, double *sums) {
    float most = -__FLT_MAX__;
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(logits[i]) && logits[i] > most) most = logits[i];
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(logits[i])) sum += exp((double)logits[i] - (double)most);
        sums[i] = sum;
    }
    return sum;
}

/* The number of sums that are at most `value`. */
static int64_t class_of(const double *sums, int64_t n, double value) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (value < sums[middle]) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Each run uses its own part of the sequence, as long as TensorFlow's. */
static ml_status multinomial(const ml_call *c) {
    const multinomial_blob *b = c->blob;
    drawn *d = ml_memory(c);
    double *sums = ml_scratch(c, b->sums);
    const bool wide = ml_out_tensor(c, 0)->type == ML_S64;
    uint64_t block = d->blocks, used = 0;
    int64_t work = 0;
    ml_status status = ML_OK;
    uint32_t bits[4] = {0};
    d->blocks += (uint64_t)b->rows * (uint64_t)ml_round_up(b->samples, 4) * 2 * 256;
    for (int64_t row = 0; row < b->rows && status == ML_OK; row++) {
        const double all =
            add_odds((const float *)ml_in(c, 0) + row * b->classes, b->classes, sums);
        status = ml_count_work(c, b->classes, &work);
        for (int64_t i = 0; i < b->samples && status == ML_OK; i++, used++) {
            if (used % 2 == 0) draw(c, block++, bits);
            const uint32_t *pair = bits + used % 2 * 2;
            const int64_t found =
                class_of(sums, b->classes, ml_uniform_f64(pair[0], pair[1]) * all);
            if (wide) ((int64_t *)ml_out(c, 0))[row * b->samples + i] = found;
            else ((int32_t *)ml_out(c, 0))[row * b->samples + i] = (int32_t)found;
            status = ml_count_work(c, 4, &work);
        }
    }
    return status;
}

/* STABLEHLO_RNG_BIT_GENERATOR ------------------------------------------------------------------ */

#define BITS_FIELDS(X, S) X(S, i32, threefry, ML_BY_CHECK) X(S, array, shape, ML_BY_CHECK)
ML_PARAMS(bits_params, BITS_FIELDS)

static ml_status prepare_bits(const ml_call *c, ml_wish *wish) {
    const bits_params *p = c->params;
    const ml_shape *state = &ml_input(c, 0)->shape;
    char text[96];
    if (state->rank != 1 || state->dims[0] < 2 || state->dims[0] > (p->threefry ? 2 : 3))
        return ml_fail(c, ML_SHAPE_ERROR, "the state must be of shape %s, it is of %s",
                       p->threefry ? "(2)" : "(2) or (3)", ml_shape_text(state, text));
    ml_shape y = {.rank = 0};
    ml_status status = ml_set_output(c, 0, state);
    const int64_t rank = p->shape.bytes / (int64_t)sizeof(int32_t);
    for (int64_t d = 0; d < rank && status == ML_OK; d++)
        status = ml_append_dim(c, &y, ((const int32_t *)p->shape.data)[d]);
    return status == ML_OK ? ml_set_output(c, 1, &y) : status;
}

/* Words 0 and 1 of the state are the key, 2 and 3 the counter; if words 4 and 5 are missing, the
 * key is used for them. */
static ml_status random_bits(const ml_call *c) {
    const bool threefry = ((const bits_params *)c->params)->threefry;
    const int64_t words = ml_out_tensor(c, 1)->bytes / (int64_t)sizeof(uint32_t);
    const int64_t size = threefry ? 2 : 4;
    const int32_t state_words = 2 * ml_in_tensor(c, 0)->shape.dims[0];
    uint32_t state[6], counter[4], bits[4], *y = ml_out(c, 1);
    memcpy(state, ml_in(c, 0), (size_t)state_words * sizeof *state);
    for (int i = 0; i < 4; i++)
        counter[i] = state[i < 2 ? 2 + i : state_words == 6 ? 2 + i : i - 2];
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < words && status == ML_OK; i += size) {
        if (threefry) ml_threefry(state, counter, bits);
        else ml_philox(state, counter, bits);
        memcpy(y + i, bits, (size_t)(words - i < size ? words - i : size) * sizeof *y);
        if (++counter[0] == 0) counter[1]++;
        status = ml_count_work(c, 4, &work);
    }
    memcpy(state + 2, counter, 2 * sizeof *state);
    memcpy(ml_out(c, 0), state, (size_t)state_words * sizeof *state);
    return status;
}

/* TFLite uses 32 bits of the seeds; if both are 0, the sequence differs each time the model is
 * lowered. */
static ml_status check_seeds(const ml_call *c, void *params) {
    random_params *p = params;
    p->seed = (int32_t)ml_option_of(c, "seed").integer;
    p->seed2 = (int32_t)ml_option_of(c, "seed2").integer;
    if (p->seed || p->seed2) return ML_OK;
    p->seed = c->env->core->fresh_seed(c);
    p->seed2 = c->env->core->fresh_seed(c);
    return ML_OK;
}
static ml_status check_bits(const ml_call *c, void *params) {
    bits_params *p = params;
    const ml_shape *shape = &ml_output(c, 1)->shape;
    const int64_t bytes = shape->rank * (int64_t)sizeof *shape->dims;
    p->threefry = strcmp(ml_option_word(c, "algorithm"), "THREEFRY") == 0;
    int32_t *dims = ml_keep(c, bytes);
    if (!dims) return c->env->error->status;
    if (bytes) memcpy(dims, shape->dims, (size_t)bytes);
    p->shape = (ml_array){dims, bytes};
    return ML_OK;
}

#define DRAWS(operator, kernel_name, eval)                                                       \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = "shape -> y",                        \
     .flags = ML_KERNEL_NO_REFERENCE, .check = check_seeds, ML_PARAMS_OF(random_params),         \
     .memory_bytes = (int32_t)sizeof(drawn), .prepare = prepare_random,                          \
     ML_TYPED({"s32 -> f32", NULL, NULL, eval})}
ML_KERNELS(random) = {
    DRAWS(RANDOM_UNIFORM, "random_uniform", random_uniform),
    DRAWS(RANDOM_STANDARD_NORMAL, "random_standard_normal", random_standard_normal),
    {ML_OP(MULTINOMIAL, 1, 1), .name = "multinomial", .takes = "logits samples -> y",
     .flags = ML_KERNEL_NO_REFERENCE, .check = check_seeds, ML_PARAMS_OF(random_params),
     .blob_bytes = sizeof(multinomial_blob), .memory_bytes = sizeof(drawn),
     .prepare = prepare_multinomial, ML_TYPED({"f32 s32 -> s32|s64", NULL, NULL, multinomial})},
    {ML_OP(STABLEHLO_RNG_BIT_GENERATOR, 1, 1), .name = "stablehlo_rng_bit_generator",
     .takes = "state -> state bits", .check = check_bits, ML_PARAMS_OF(bits_params),
     .prepare = prepare_bits, ML_TYPED({"u64 -> u64 s32|u32|s64|u64", NULL, NULL, random_bits})},
    ML_KERNELS_END,
};
