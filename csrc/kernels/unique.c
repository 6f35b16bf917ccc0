/* unique.c -- UNIQUE: the distinct numbers of a vector, in order of first appearance; and, for each
 * element, the index of its number among them. Floats that compare equal are one number, and so are
 * all NaN. The output's size depends on the values. */
#include "rules/work.h"

typedef struct unique_blob {
    int64_t count;
    int64_t slots; /* of the hash table, a power of two above count */
    int64_t table; /* in scratch: 1 + the index of the number in a slot; 0: empty */
    int64_t found; /* in scratch: where each number appeared first */
    int64_t which; /* in scratch: for each element */
} unique_blob;

static ml_status prepare_unique(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    unique_blob *b = c->blob;
    char text[96];
    if (x->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the input must be a vector, its shape is %s",
                       ml_shape_text(x, text));
    b->count = x->dims[0];
    for (b->slots = 16; b->slots < 2 * b->count;) b->slots *= 2;
    b->table = ml_reserve(wish, b->slots * (int64_t)sizeof(int32_t));
    b->found = ml_reserve(wish, b->count * (int64_t)sizeof(int32_t));
    b->which = ml_reserve(wish, b->count * (int64_t)sizeof(int32_t));
    ml_status status = ml_set_output(c, 1, x);
    return status == ML_OK ? ml_open(wish, 0) : status;
}

static inline uint64_t hash(uint64_t bits) {
    bits *= 0x9E3779B97F4A7C15u;
    return bits ^ bits >> 32;
}

/* Equal numbers have equal keys. */
static inline uint64_t key_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7FC00000u : x == 0.0f ? 0 : bits;
}
#define KEY(x) ((uint64_t)(x))

#define UNIQUE(suffix, type, KEY_OF)                                                              \
    static ml_status unique_##suffix(const ml_call *c) {                                          \
        const unique_blob *b = c->blob;                                                           \
        const type *x = ml_in(c, 0);                                                              \
        int32_t *table = ml_scratch(c, b->table), *found = ml_scratch(c, b->found);               \
        int32_t *which = ml_scratch(c, b->which), numbers = 0;                                    \
        memset(table, 0, (size_t)b->slots * sizeof *table);                                       \
        int64_t work = 0;                                                                         \
        ml_status status = ML_OK;                                                                 \
        for (int64_t i = 0; i < b->count && status == ML_OK; i++) {                               \
            const uint64_t key = KEY_OF(x[i]);                                                    \
            uint64_t at = hash(key) & (uint64_t)(b->slots - 1);                                   \
            while (table[at] && KEY_OF(x[found[table[at] - 1]]) != key)                           \
                at = (at + 1) & (uint64_t)(b->slots - 1);                                         \
            if (!table[at]) {                                                                     \
                found[numbers] = (int32_t)i;                                                      \
                table[at] = ++numbers;                                                            \
            }                                                                                     \
            which[i] = table[at] - 1;                                                             \
            status = ml_count_work(c, 1, &work);                                                  \
        }                                                                                         \
        if (status == ML_OK) status = give(c, numbers);                                           \
        if (status != ML_OK) return status;                                                       \
        type *y = ml_out(c, 0);                                                                   \
        x = ml_in(c, 0);                                                                          \
        found = ml_scratch(c, b->found); /* settling may have moved them */                       \
        for (int32_t i = 0; i < numbers && status == ML_OK; i++) {                                \
            y[i] = x[found[i]];                                                                   \
            status = ml_count_work(c, 1, &work);                                                  \
        }                                                                                         \
        return status;                                                                            \
    }

/* Sets the outputs' sizes and places, and writes the second output. */
static ml_status give(const ml_call *c, int32_t numbers) {
    const unique_blob *b = c->blob;
    ml_status status = ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {numbers}});
    if (status == ML_OK) status = ml_settle(c);
    if (status != ML_OK) return status;
    const int32_t *which = ml_scratch(c, b->which);
    void *to = ml_out(c, 1);
    bool wide = ml_out_tensor(c, 1)->type == ML_S64;
    for (int64_t i = 0; i < b->count; i++) {
        if (wide) ((int64_t *)to)[i] = which[i];
        else ((int32_t *)to)[i] = which[i];
    }
    return ML_OK;
}

UNIQUE(f32, float, key_f32)
UNIQUE(x1, uint8_t, KEY)
UNIQUE(x2, uint16_t, KEY)
UNIQUE(x4, uint32_t, KEY)
UNIQUE(x8, uint64_t, KEY)

ML_KERNELS(unique) = {
    {ML_OP(UNIQUE, 1, 1), .name = "unique", .takes = "x -> y indices",
     .flags = ML_KERNEL_SETS_SHAPES, .blob_bytes = sizeof(unique_blob), .prepare = prepare_unique,
     ML_TYPED({"f32 -> f32 s32|s64", NULL, NULL, unique_f32},
              {"T -> T s32|s64: s8 u8", NULL, NULL, unique_x1},
              {"s16 -> s16 s32|s64", NULL, NULL, unique_x2},
              {"s32 -> s32 s32|s64", NULL, NULL, unique_x4},
              {"s64 -> s64 s32|s64", NULL, NULL, unique_x8})},
    ML_KERNELS_END,
};
