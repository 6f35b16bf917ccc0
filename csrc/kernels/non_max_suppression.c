/* non_max_suppression.c -- NON_MAX_SUPPRESSION_V4, _V5: keep only the best of boxes that overlap
 * too much; _V5 also lowers the scores of boxes that overlap somewhat, by a Gaussian of `sigma`.
 * Unused entries of outputs are 0. */
#include <math.h>

#include "math/float_math.h"
#include "rules/values.h"
#include "rules/work.h"

typedef struct nms_blob {
    int32_t boxes;
    int32_t most;
    int64_t heap; /* in scratch: the candidates */
} nms_blob;

typedef struct candidate {
    int32_t box;
    int32_t compared; /* number of selected boxes it was compared with */
    float score;
} candidate;

static const char *const names[] = {"boxes",       "scores",          "the number to select",
                                    "the overlap", "the least score", "sigma"};

static ml_status prepare_nms(const ml_call *c, ml_wish *wish) {
    const ml_shape *boxes = &ml_input(c, 0)->shape, *scores = &ml_input(c, 1)->shape;
    nms_blob *b = c->blob;
    char one[96];
    if (boxes->rank != 2 || boxes->dims[1] != 4)
        return ml_fail(c, ML_SHAPE_ERROR, "boxes must be (count, 4), their shape is %s",
                       ml_shape_text(boxes, one));
    if (scores->rank != 1 || scores->dims[0] != boxes->dims[0])
        return ml_fail(c, ML_SHAPE_ERROR, "scores have the shape %s, expected (%d,)",
                       ml_shape_text(scores, one), boxes->dims[0]);
    for (int i = 2; i < c->n_inputs; i++)
        if (ml_elements(&ml_input(c, i)->shape) != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "%s must be one number, it has %lld", names[i],
                           (long long)ml_elements(&ml_input(c, i)->shape));
    b->boxes = boxes->dims[0];
    b->heap = ml_reserve(wish, (int64_t)b->boxes * (int64_t)sizeof(candidate));
    ml_status status = ml_set_output(c, c->n_outputs - 1, &(ml_shape){.rank = 0});
    const int32_t *most = ml_value(c, 2);
    for (int i = 0; i < c->n_outputs - 1 && !most; i++) ml_open(wish, i);
    if (status != ML_OK || !most) return status;
    if (*most < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the number to select is %d, expected 0 or more", *most);
    b->most = *most;
    for (int i = 0; i < c->n_outputs - 1 && status == ML_OK; i++)
        status = ml_set_output(c, i, &(ml_shape){.rank = 1, .dims = {*most}});
    return status;
}

/* A side of a box from its lower to its upper end, the corners given in any order. The
 * first corner's value is used if the two cannot be compared (NaN), as in LiteRT. */
typedef struct side {
    float low, high;
} side;
static side side_of(const float *box, int d) {
    return (side){ml_min_f32(box[d], box[d + 2]), ml_max_f32(box[d], box[d + 2])};
}

/* Intersection divided by union of two boxes; NaN if areas are infinite. */
static float overlap(const float *a, const float *b) {
    float area_a = 1.0f, area_b = 1.0f, shared = 1.0f;
    for (int d = 0; d < 2; d++) {
        const side of_a = side_of(a, d), of_b = side_of(b, d);
        area_a *= of_a.high - of_a.low;
        area_b *= of_b.high - of_b.low;
        const float end = ml_min_f32(of_a.high, of_b.high);
        shared *= ml_max_f32(end - ml_max_f32(of_a.low, of_b.low), 0.0f);
    }
    if (area_a <= 0.0f || area_b <= 0.0f) return 0.0f;
    return shared / (area_a + area_b - shared);
}

/* The order of the heap, with the best candidate on top; of equal scores, the first box. */
static inline bool better(candidate a, candidate b) {
    return a.score > b.score || (a.score == b.score && a.box < b.box);
}
static void sift_down(candidate *heap, int32_t n, int32_t at) {
    for (int64_t child; (child = 2 * (int64_t)at + 1) < n; at = (int32_t)child) {
        if (child + 1 < n && better(heap[child + 1], heap[child])) child++;
        if (!better(heap[child], heap[at])) return;
        const candidate moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static int32_t fill_heap(const ml_call *c, candidate *heap, float least) {
    const float *scores = ml_in(c, 1);
    int32_t n = 0;
    for (int32_t i = 0; i < ((const nms_blob *)c->blob)->boxes; i++)
        if (scores[i] > least) heap[n++] = (candidate){i, 0, scores[i]};
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(heap, n, i);
    return n;
}

/* Lowers a candidate's score by the boxes selected since it was last compared; false if one of them
 * overlaps it too much. */
static bool stays(const ml_call *c, candidate *next, int32_t selected, float limit, float least,
                  float sigma) {
    const float *boxes = ml_in(c, 0);
    const int32_t *chosen = ml_out(c, 0);
    const float scale = sigma > 0.0f ? -0.5f / sigma : 0.0f;
    bool fits = true;
    for (int32_t j = selected - 1; j >= next->compared && fits; j--) {
        const float part = overlap(boxes + 4 * (int64_t)next->box, boxes + 4 * (int64_t)chosen[j]);
        if (part >= limit) fits = false;
        else if (sigma > 0.0f) next->score *= expf(scale * part * part);
        if (next->score <= least) break;
    }
    next->compared = selected;
    return fits;
}

/* A selected box becomes a candidate again, as in TFLite: it then overlaps itself, unless it has no
 * area. */
static ml_status nms(const ml_call *c) {
    const nms_blob *b = c->blob;
    const float limit = *(const float *)ml_in(c, 3), least = *(const float *)ml_in(c, 4);
    const float sigma = c->n_inputs > 5 ? *(const float *)ml_in(c, 5) : 0.0f;
    if (sigma < 0.0f)
        return ml_fail(c, ML_KERNEL_ERROR, "sigma is %g, expected 0 or more", (double)sigma);
    candidate *heap = ml_scratch(c, b->heap);
    int32_t *chosen = ml_out(c, 0), n = fill_heap(c, heap, least), selected = 0;
    float *scores = c->n_outputs > 2 ? ml_out(c, 1) : NULL;
    memset(chosen, 0, (size_t)b->most * sizeof *chosen);
    if (scores) memset(scores, 0, (size_t)b->most * sizeof *scores);
    const int32_t most = n < b->most ? n : b->most;
    int64_t work = 0;
    /* The best candidate is selected, weakened or dropped; then the heap has another best one. */
    while (selected < most && n > 0) {
        ml_status status = ml_count_work(c, 16 + selected - heap[0].compared, &work);
        if (status != ML_OK) return status;
        const float before = heap[0].score;
        const bool fits = stays(c, &heap[0], selected, limit, least, sigma);
        if (fits && heap[0].score == before) {
            chosen[selected] = heap[0].box;
            if (scores) scores[selected] = heap[0].score;
            selected++;
        }
        if (!fits || !(heap[0].score > least)) heap[0] = heap[--n]; /* NaN is not above least */
        sift_down(heap, n, 0);
    }
    *(int32_t *)ml_out(c, c->n_outputs - 1) = selected;
    return ML_OK;
}

#define NMS(operator, kernel_name, operands, types)                                             \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = (operands),                         \
     .blob_bytes = (int32_t)sizeof(nms_blob), .prepare = prepare_nms,                           \
     ML_TYPED({types, NULL, NULL, nms})}
ML_KERNELS(non_max_suppression) = {
    NMS(NON_MAX_SUPPRESSION_V4, "non_max_suppression_v4",
        "boxes scores most overlap least -> indices count", "f32 f32 s32 f32 f32 -> s32 s32"),
    NMS(NON_MAX_SUPPRESSION_V5, "non_max_suppression_v5",
        "boxes scores most overlap least sigma -> indices scores count",
        "f32 f32 s32 f32 f32 f32 -> s32 f32 s32"),
    ML_KERNELS_END,
};
