/* topk.c -- TOPK_V2: the k largest elements of each row of the last dimension, largest first; of
 * equal ones, the first. */
#include "rules/values.h"
#include "rules/work.h"

typedef struct topk_blob {
    int64_t rows;
    int64_t size;
    int64_t k;
} topk_blob;

static ml_status prepare_topk(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    const ml_tensor *count = ml_input(c, 1);
    topk_blob *b = c->blob;
    if (x->rank < 1) return ml_fail(c, ML_SHAPE_ERROR, "the input is a scalar");
    if (ml_elements(&count->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "k must be one number, it has %lld",
                       (long long)ml_elements(&count->shape));
    const void *value = ml_value(c, 1);
    if (!value) return ml_open_all(wish);
    ml_read_index(count, value, 0, &b->k);
    b->size = x->dims[x->rank - 1];
    b->rows = ml_elements_of(x, 0, x->rank - 1);
    if (b->k < 0 || b->k > b->size)
        return ml_fail(c, ML_SHAPE_ERROR, "k is %lld, expected 0 to %lld", (long long)b->k,
                       (long long)b->size);
    if (ml_output(c, 1)->type == ML_S16 && b->size > INT16_MAX + 1)
        return ml_fail(c, ML_SHAPE_ERROR, "16-bit indices cannot count %lld elements",
                       (long long)b->size);
    ml_shape y = *x;
    y.dims[y.rank - 1] = (int32_t)b->k;
    ml_reserve(wish, b->k * (ml_input(c, 0)->type == ML_S64 ? 16 : 8)); /* a heap */
    ml_status status = ml_set_output(c, 0, &y);
    return status == ML_OK ? ml_set_output(c, 1, &y) : status;
}

static inline void put_index(const ml_call *c, int64_t at, int64_t found) {
    if (ml_out_tensor(c, 1)->type == ML_S16) ((int16_t *)ml_out(c, 1))[at] = (int16_t)found;
    else ((int32_t *)ml_out(c, 1))[at] = (int32_t)found;
}

/* A heap of the best elements so far, the worst on top. They are then removed, the worst first. The
 * later of two equal ones is worse. */
#define WORSE(a, b)                                                                      \
    ((a).value < (b).value || (!((b).value < (a).value) && (a).at > (b).at))
#define TOPK(suffix, type)                                                               \
    typedef struct found_##suffix {                                                      \
        type value;                                                                      \
        int32_t at;                                                                      \
    } found_##suffix;                                                                    \
    static void sift_##suffix(found_##suffix *heap, int64_t n, int64_t at) {             \
        const found_##suffix moved = heap[at];                                           \
        for (int64_t child; (child = 2 * at + 1) < n; at = child) {                      \
            if (child + 1 < n && WORSE(heap[child + 1], heap[child])) child++;           \
            if (!WORSE(heap[child], moved)) break;                                       \
            heap[at] = heap[child];                                                      \
        }                                                                                \
        heap[at] = moved;                                                                \
    }                                                                                    \
    static ml_status topk_##suffix(const ml_call *c) {                                   \
        const topk_blob *b = c->blob;                                                    \
        const type *x = ml_in(c, 0);                                                     \
        type *y = ml_out(c, 0);                                                          \
        found_##suffix *heap = c->scratch;                                               \
        int64_t done = 0, work = 0;                                                      \
        ml_status status = ML_OK;                                                        \
        for (int64_t r = 0; r < b->rows; r++, x += b->size, done += b->k) {              \
            for (int32_t i = 0; i < b->k; i++) heap[i] = (found_##suffix){x[i], i};      \
            for (int64_t i = b->k / 2; i-- > 0;) sift_##suffix(heap, b->k, i);           \
            for (int64_t i = b->k; i < b->size && status == ML_OK; i++) {                \
                const found_##suffix next = {x[i], (int32_t)i};                          \
                if (WORSE(heap[0], next)) {                                              \
                    heap[0] = next;                                                      \
                    sift_##suffix(heap, b->k, 0);                                        \
                }                                                                        \
                status = ml_count_work(c, 1, &work);                                     \
            }                                                                            \
            for (int64_t i = b->k - 1; i >= 0 && status == ML_OK; i--) {                 \
                y[done + i] = heap[0].value;                                             \
                put_index(c, done + i, heap[0].at);                                      \
                heap[0] = heap[i];                                                       \
                sift_##suffix(heap, i, 0);                                               \
                status = ml_count_work(c, 1, &work);                                     \
            }                                                                            \
            if (status != ML_OK) return status;                                          \
        }                                                                                \
        return ML_OK;                                                                    \
    }
TOPK(f32, float)
TOPK(u8, uint8_t)
TOPK(s8, int8_t)
TOPK(s16, int16_t)
TOPK(s32, int32_t)
TOPK(s64, int64_t)

#define ROW(kind) {#kind " s32|s16 -> " #kind " s32|s16", NULL, NULL, topk_##kind}
ML_KERNELS(topk) = {
    {ML_OP(TOPK_V2, 1, 3), .name = "topk_v2", .takes = "x k -> values indices",
     .blob_bytes = (int32_t)sizeof(topk_blob), .prepare = prepare_topk,
     ML_TYPED(ROW(f32), ROW(u8), ROW(s8), ROW(s16), ROW(s32), ROW(s64))},
    ML_KERNELS_END,
};
