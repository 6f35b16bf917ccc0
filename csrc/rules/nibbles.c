/* nibbles.c -- a nest over 4-bit elements. */
#include "rules/nibbles.h"

#include "rules/packed.h"
#include "rules/work.h"

/* Elements of both sides from which as many lie together as `*count` says, cut to a block; `at`
 * counts the packed ones. */
static int64_t stretch(const ml_nest *nest, int64_t at, int64_t *count) {
    *count = ml_min_s64(nest->run - at % nest->run, ML_BLOCK_ELEMENTS);
    return ml_nest_at(nest, at);
}

static int64_t elements_of(const ml_nest *nest) {
    int64_t count = nest->run;
    for (int32_t d = 0; d < nest->n; d++) count *= nest->counts[d];
    return count;
}

ml_status ml_gather_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                            const uint8_t *from, uint8_t *to) {
    const int64_t all = elements_of(nest);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t at = 0, count; at < all && status == ML_OK; at += count) {
        const int64_t first = start + stretch(nest, at, &count);
        ml_append_nibbles(to, at, from, first, count);
        status = ml_count_work(c, count, &work);
    }
    return status;
}

ml_status ml_scatter_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                             const uint8_t *from, uint8_t *to) {
    const int64_t all = elements_of(nest);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t at = 0, count; at < all && status == ML_OK; at += count) {
        const int64_t first = start + stretch(nest, at, &count), end = first + count;
        const uint8_t behind = end & 1 ? to[end / 2] & 0xF0 : 0;
        if (first & 1) to[first / 2] &= 0x0F;
        ml_append_nibbles(to, first, from, at, count);
        if (end & 1) to[end / 2] = (uint8_t)((to[end / 2] & 0x0F) | behind);
        status = ml_count_work(c, count, &work);
    }
    return status;
}
