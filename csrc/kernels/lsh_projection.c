/* lsh_projection.c -- LSH_PROJECTION: a hash with a bit per seed: the sign of the sum of the hashes
 * of elements. Similar inputs have many bits in common. The hash of an element is FarmHash's 64-bit
 * fingerprint of the seed's bytes and the element's. */
#include "rules/checks.h"
#include "rules/values.h"
#include "rules/work.h"

#define LSH_FIELDS(X, S) X(S, i32, dense, ML_BY_CHECK)
ML_PARAMS(lsh_params, LSH_FIELDS)

typedef struct lsh_blob {
    int64_t items;
    int64_t bytes; /* of an item */
    int32_t bits; /* of a hash function */
} lsh_blob;

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

typedef struct pair {
    uint64_t a;
    uint64_t b;
} pair;

static inline uint64_t u64_at(const uint8_t *s) {
    uint64_t value;
    memcpy(&value, s, sizeof value);
    return value;
}
static inline uint64_t u32_at(const uint8_t *s) {
    uint32_t value;
    memcpy(&value, s, sizeof value);
    return value;
}
static inline uint64_t turn(uint64_t x, int by) { return x >> by | x << (64 - by); }
static inline uint64_t fold(uint64_t x) { return x ^ x >> 47; }
static inline uint64_t mix(uint64_t u, uint64_t v, uint64_t by) {
    const uint64_t first = fold((u ^ v) * by);
    return fold((v ^ first) * by) * by;
}

/* For 4 to 16 bytes: no key is shorter than a seed. */
static uint64_t short_print(const uint8_t *s, uint64_t n) {
    const uint64_t by = K2 + 2 * n;
    if (n < 8) return mix(n + (u32_at(s) << 3), u32_at(s + n - 4), by);
    const uint64_t a = u64_at(s) + K2, b = u64_at(s + n - 8);
    return mix(turn(b, 37) * by + a, (turn(a, 25) + b) * by, by);
}

/* For 17 to 64 bytes. */
static uint64_t middle_print(const uint8_t *s, uint64_t n) {
    const uint64_t by = K2 + 2 * n, a = u64_at(s) * (n <= 32 ? K1 : K2), b = u64_at(s + 8);
    const uint64_t c = u64_at(s + n - 8) * by, d = u64_at(s + n - 16) * K2;
    const uint64_t y = turn(a + b, 43) + turn(c, 30) + d;
    const uint64_t z = mix(y, a + turn(b + K2, 18) + c, by);
    if (n <= 32) return z;
    const uint64_t e = u64_at(s + 16) * by, f = u64_at(s + 24);
    const uint64_t g = (y + u64_at(s + n - 32)) * by, h = (z + u64_at(s + n - 24)) * by;
    return mix(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, by);
}

static pair half_of(const uint8_t *s, uint64_t a, uint64_t b) {
    const uint64_t first = a + u64_at(s), last = u64_at(s + 24);
    const uint64_t sum = first + u64_at(s + 8) + u64_at(s + 16);
    return (pair){sum + last, turn(b + first + last, 21) + turn(sum, 44) + first};
}

typedef struct state {
    uint64_t x, y, z;
    pair v, w;
} state;

/* Adds 64 bytes; `nine` is the factor for the last ones. */
static void stir(state *t, const uint8_t *s, uint64_t by, uint64_t nine) {
    t->x = turn(t->x + t->y + t->v.a + u64_at(s + 8), 37) * by;
    t->y = turn(t->y + t->v.b + u64_at(s + 48), 42) * by;
    t->x ^= t->w.b * nine;
    t->y += t->v.a * nine + u64_at(s + 40);
    t->z = turn(t->z + t->w.a, 33) * by;
    t->v = half_of(s, t->v.b * by, t->x + t->w.a);
    t->w = half_of(s + 32, t->z + t->w.b, t->y + u64_at(s + 16));
    const uint64_t swap = t->z;
    t->z = t->x;
    t->x = swap;
}

static uint64_t fingerprint(const uint8_t *s, uint64_t n) {
    if (n <= 16) return short_print(s, n);
    if (n <= 64) return middle_print(s, n);
    const uint8_t *last = s + n - 64, *end = s + (n - 1) / 64 * 64;
    const uint64_t y = 81 * K1 + 113;
    state t = {81 * K2 + u64_at(s), y, fold(y * K2 + 113) * K2, {0, 0}, {0, 0}};
    for (; s < end; s += 64) stir(&t, s, K1, 1);
    const uint64_t by = K1 + ((t.z & 0xff) << 1);
    t.w.a += (n - 1) & 63;
    t.v.a += t.w.a;
    t.w.a += t.v.a;
    stir(&t, last, by, 9);
    return mix(mix(t.v.a, t.w.a, by) + fold(t.y) * K0 + t.z, mix(t.v.b, t.w.b, by) + t.x, by);
}

static ml_status prepare_lsh(const ml_call *c, ml_wish *wish) {
    const bool dense = ((const lsh_params *)c->params)->dense;
    const ml_shape *seeds = &ml_input(c, 0)->shape, *x = &ml_input(c, 1)->shape;
    const ml_tensor *weights = ml_input(c, 2);
    char one[96], other[96];
    if (seeds->rank != 2 || seeds->dims[1] > 32)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "seeds must be (functions, bits), 32 bits at most, their shape is %s",
                       ml_shape_text(seeds, one));
    if (x->rank < 1) return ml_fail(c, ML_SHAPE_ERROR, "the input is a scalar, expected a list");
    if (weights && (weights->shape.rank != 1 || weights->shape.dims[0] != x->dims[0]))
        return ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s do not match an input of %s",
                       ml_shape_text(&weights->shape, one), ml_shape_text(x, other));
    lsh_blob *b = c->blob;
    b->items = x->dims[0];
    b->bytes = ml_elements_of(x, 1, x->rank) * ml_type_bytes(ml_input(c, 1)->type);
    /* The hashes of elements without bytes are all equal, and so are the signs of their sums. */
    if (b->bytes == 0 && !weights && b->items > 1) b->items = 1;
    b->bits = seeds->dims[1];
    wish->worker_bytes = (int64_t)sizeof(float) + b->bytes;
    ml_shape y = {.rank = 0};
    const int64_t made = dense ? (int64_t)seeds->dims[0] * seeds->dims[1] : seeds->dims[0];
    const ml_status status = ml_append_dim(c, &y, made);
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

/* The bit: 1 if the weighted sum of the elements' hashes is above 0. */
static ml_status bit_of(const ml_call *c, float seed, uint8_t *key, int64_t *work, uint32_t *bit) {
    const lsh_blob *b = c->blob;
    const float *weights = ml_in_optional(c, 2);
    double score = 0.0;
    ml_status status = ML_OK;
    memcpy(key, &seed, sizeof seed);
    for (int64_t i = 0; i < b->items && status == ML_OK; i++) {
        uint8_t *item = key + sizeof seed;
        memcpy(item, (const uint8_t *)ml_in(c, 1) + i * b->bytes, (size_t)b->bytes);
        for (int64_t k = 0; k < b->bytes && ml_in_tensor(c, 1)->type == ML_B8; k++)
            item[k] = item[k] != 0; /* equal truth values have equal hashes */
        const double value = (double)(int64_t)fingerprint(key, sizeof seed + (uint64_t)b->bytes);
        score += weights ? (double)weights[i] * value : value;
        status = ml_count_work(c, 8 + b->bytes / 4, work);
    }
    *bit = score > 0.0;
    return status;
}

/* Computes whole functions: separate bits, or one number, whose upper bits are the number of the
 * function. */
static ml_status project(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const lsh_blob *b = c->blob;
    const bool dense = ((const lsh_params *)c->params)->dense;
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t f = first; f < end && status == ML_OK; f++) {
        uint32_t number = 0, bit = 0;
        for (int32_t j = 0; j < b->bits && status == ML_OK; j++) {
            const float seed = ((const float *)ml_in(c, 0))[f * b->bits + j];
            status = bit_of(c, seed, ml_worker_scratch(c, worker), &work, &bit);
            if (dense) ((int32_t *)ml_out(c, 0))[f * b->bits + j] = (int32_t)bit;
            number = number << 1 | bit;
        }
        if (!dense) ((uint32_t *)ml_out(c, 0))[f] = number + (uint32_t)((uint64_t)f << b->bits);
    }
    return status;
}

static ml_status lsh_projection(const ml_call *c) {
    const lsh_blob *b = c->blob;
    return ml_parallel(c, ml_in_tensor(c, 0)->shape.dims[0],
                       ml_items_of_block(b->bits * b->items * (8 + b->bytes / 4)), project, NULL);
}

static ml_status check_lsh(const ml_call *c, void *params) {
    enum { SPARSE = 1, DENSE = 2 }; /* LSHProjectionType of the schema */
    const int64_t type = ml_option_of(c, "type").integer;
    ((lsh_params *)params)->dense = type == DENSE;
    if (type == SPARSE || type == DENSE) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "option type must be SPARSE or DENSE, it is %s",
                   ml_option_word(c, "type"));
}

ML_KERNELS(lsh_projection) = {
    {ML_OP(LSH_PROJECTION, 1, 1), .name = "lsh_projection", .takes = "seeds x weights? -> y",
     .check = check_lsh, ML_PARAMS_OF(lsh_params), .blob_bytes = sizeof(lsh_blob),
     .prepare = prepare_lsh,
     ML_TYPED({"f32 T f32? -> s32: " ML_WHOLE_BYTES, NULL, NULL, lsh_projection})},
    ML_KERNELS_END,
};
