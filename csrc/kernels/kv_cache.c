/* kv_cache.c -- odml.update_kv_cache: writes the keys and values of some tokens to their positions
 * in a cache.
 *
 * Caches are (batches, places, ...), new values are (batches, tokens, ...), and each token has one
 * position. If an output shares the memory of its cache, only these positions are written. */
#include "rules/values.h"
#include "rules/work.h"

#define CACHE_FIELDS(X, S) X(S, i32, places, ML_COUNT("kv_cache_max", 0, INT32_MAX))
ML_PARAMS(cache_params, CACHE_FIELDS)

typedef struct cache_blob {
    int64_t batches;
    int64_t places;
    int64_t tokens;
    int64_t bytes[2]; /* of a place of each cache */
} cache_blob;

/* Inputs: 0 and 1 are the caches, 2 the positions, 3 and 4 the new values of each cache. */
static bool fits(const ml_call *c, int which, cache_blob *b) {
    const ml_tensor *cache = ml_input(c, which), *fresh = ml_input(c, 3 + which);
    const ml_shape *all = &cache->shape, *some = &fresh->shape, *positions = &ml_input(c, 2)->shape;
    if (all->rank < 2 || some->rank != all->rank || positions->rank != 1) return false;
    for (int32_t d = 0; d < all->rank; d++)
        if (d != 1 && all->dims[d] != some->dims[d]) return false;
    b->batches = all->dims[0];
    b->places = all->dims[1];
    b->tokens = some->dims[1];
    b->bytes[which] = ml_elements_of(all, 2, all->rank) * ml_type_bytes(cache->type);
    return b->tokens == positions->dims[0];
}

static ml_status find_sizes(const ml_call *c, cache_blob *b, ml_status status) {
    char texts[3][96];
    for (int which = 0; which < 2; which++)
        if (!fits(c, which, b))
            return ml_fail(
                c, status,
                "a cache of shape %s cannot take tokens of shape %s at positions of shape %s",
                ml_shape_text(&ml_input(c, which)->shape, texts[0]),
                ml_shape_text(&ml_input(c, 3 + which)->shape, texts[1]),
                ml_shape_text(&ml_input(c, 2)->shape, texts[2]));
    if (ml_input(c, 0)->shape.dims[1] == ml_input(c, 1)->shape.dims[1]) return ML_OK;
    return ml_fail(c, status, "the caches of k and v have %d and %d places: they must be equal",
                   ml_input(c, 0)->shape.dims[1], ml_input(c, 1)->shape.dims[1]);
}

static ml_status check_cache(const ml_call *c, void *params) {
    cache_blob sizes;
    const ml_status status = find_sizes(c, &sizes, ML_UNSUPPORTED);
    if (status != ML_OK || ((cache_params *)params)->places == sizes.places) return status;
    return ml_fail(c, ML_UNSUPPORTED, "the cache has %lld places, kv_cache_max is %d",
                   (long long)sizes.places, ((cache_params *)params)->places);
}

static ml_status prepare_cache(const ml_call *c, ml_wish *wish) {
    ml_status status = find_sizes(c, c->blob, ML_SHAPE_ERROR);
    for (int which = 0; which < 2 && status == ML_OK; which++)
        status = ml_set_output(c, which, &ml_input(c, which)->shape);
    return status;
}

static ml_status update_cache(const ml_call *c) {
    const cache_blob *b = c->blob;
    int64_t position, work = 0;
    for (int64_t t = 0; t < b->tokens; t++) { /* checks all, before anything is written */
        ml_read_index(ml_in_tensor(c, 2), ml_in(c, 2), t, &position);
        if (position < 0 || position >= b->places)
            return ml_fail(c, ML_KERNEL_ERROR, "position %lld of token %lld is outside 0 to %lld",
                           (long long)position, (long long)t, (long long)b->places - 1);
    }
    for (int which = 0; which < 2; which++) {
        char *cache = ml_out(c, which);
        const char *fresh = ml_in(c, 3 + which);
        const int64_t bytes = b->bytes[which];
        ml_status status = ML_OK;
        if (cache != ml_in(c, which))
            status = ml_copy_bytes(c, cache, ml_in(c, which), b->batches * b->places * bytes);
        for (int64_t i = 0; i < b->batches * b->tokens && status == ML_OK; i++) {
            ml_read_index(ml_in_tensor(c, 2), ml_in(c, 2), i % b->tokens, &position);
            memcpy(cache + (i / b->tokens * b->places + position) * bytes, fresh + i * bytes,
                   (size_t)bytes);
            status = ml_count_work(c, bytes, &work);
        }
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

ML_KERNELS(kv_cache) = {
    {ML_CUSTOM_OP("odml.update_kv_cache", 1, 1), .flags = ML_KERNEL_IN_PAIRS,
     .name = "update_kv_cache", .takes = "keys values positions k v -> keys values",
     .in_place = ML_INPUT(0), .check = check_cache, ML_PARAMS_OF(cache_params),
     .blob_bytes = sizeof(cache_blob), .prepare = prepare_cache,
     ML_TYPED({"T T s32|s64 T T -> T T: f32 f16 bf16", NULL, NULL, update_cache})},
    ML_KERNELS_END,
};
