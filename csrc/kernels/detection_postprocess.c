/* detection_postprocess.c -- TFLite_Detection_PostProcess: decodes boxes around anchors, and keeps
 * only the best of those that overlap (non-maximum suppression): per class, or by each box's best
 * classes.
 *
 * Outputs are boxes (top, left, bottom, right), their classes, their scores, and their number;
 * unused entries are 0. */
#include <math.h>

#include "math/float_math.h"
#include "rules/quantized.h"
#include "rules/values.h"
#include "rules/work.h"

#define DETECTION_FIELDS(X, S)                                                                    \
    X(S, i32, most, ML_COUNT("max_detections", 1, INT32_MAX))                       \
    X(S, i32, most_classes, ML_COUNT("max_classes_per_detection", 1, INT32_MAX))    \
    X(S, i32, most_of_class, ML_COUNT_OR("detections_per_class", 1, INT32_MAX, 100)) \
    X(S, i32, by_class, ML_FLAG_OR("use_regular_nms", 0))                           \
    X(S, i32, classes, ML_COUNT("num_classes", 1, INT32_MAX))                       \
    X(S, f32, score, ML_NUMBER("nms_score_threshold"))                              \
    X(S, f32, overlap, ML_NUMBER("nms_iou_threshold"))                              \
    X(S, f32, y_scale, ML_NUMBER("y_scale")) X(S, f32, x_scale, ML_NUMBER("x_scale")) \
    X(S, f32, h_scale, ML_NUMBER("h_scale")) X(S, f32, w_scale, ML_NUMBER("w_scale"))
ML_PARAMS(detection_params, DETECTION_FIELDS)

enum { TOP, LEFT, BOTTOM, RIGHT, AREA, SIDES };

typedef struct box {
    float top;
    float left;
    float bottom;
    float right;
} box;

/* A box that is kept: row `anchor`, class `label`. */
typedef struct detection {
    int32_t anchor;
    int32_t label;
    float score;
} detection;

typedef struct detection_blob {
    int32_t boxes;
    int32_t width; /* numbers per encoded box; the first four are its place */
    int32_t columns; /* of the scores: the background, then classes */
    /* Offsets in scratch: */
    int64_t corners;
    int64_t scores; /* of quantized ones */
    int64_t best; /* a box's largest score */
    int64_t order; /* boxes, best first */
    int64_t spare; /* room for sorting */
    int64_t dropped; /* a word per box */
    int64_t sorted; /* sides and areas of boxes, best first: a line of each */
    int64_t chosen;
    int64_t kept; /* detections, best first */
    int64_t merged;
} detection_blob;

static ml_status check_operands(const ml_call *c) {
    const ml_shape *boxes = &ml_input(c, 0)->shape, *scores = &ml_input(c, 1)->shape;
    const ml_shape *anchors = &ml_input(c, 2)->shape;
    const int32_t classes = ((const detection_params *)c->params)->classes;
    char text[96];
    if (boxes->rank != 3 || boxes->dims[0] != 1 || boxes->dims[2] < 4)
        return ml_fail(c, ML_SHAPE_ERROR, "boxes must be (1, count, 4 or more), their shape is %s",
                       ml_shape_text(boxes, text));
    if (scores->rank != 3 || scores->dims[0] != 1 || scores->dims[1] != boxes->dims[1] ||
        scores->dims[2] < classes || scores->dims[2] - 1 > classes)
        return ml_fail(c, ML_SHAPE_ERROR, "scores must be (1, %d, %d or %d), their shape is %s",
                       boxes->dims[1], classes, classes + 1, ml_shape_text(scores, text));
    if (anchors->rank != 2 || anchors->dims[0] != boxes->dims[1] || anchors->dims[1] != 4)
        return ml_fail(c, ML_SHAPE_ERROR, "anchors must be (%d, 4), their shape is %s",
                       boxes->dims[1], ml_shape_text(anchors, text));
    return ML_OK;
}

static ml_status prepare_detection(const ml_call *c, ml_wish *wish) {
    const detection_params *p = c->params;
    const ml_shape *scores = &ml_input(c, 1)->shape;
    detection_blob *b = c->blob;
    ml_status status = check_operands(c);
    if (status != ML_OK) return status;
    /* Boxes, classes and scores of the detections, and their number. */
    const int64_t n = scores->dims[1], all = (int64_t)p->most * p->most_classes;
    if (all > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "%d detections of %d classes each are too many", p->most,
                       p->most_classes);
    const int32_t rows = (int32_t)all;
    const ml_shape shapes[] = {{.rank = 3, .dims = {1, rows, 4}},
                               {.rank = 2, .dims = {1, rows}},
                               {.rank = 2, .dims = {1, rows}},
                               {.rank = 1, .dims = {1}}};
    for (int i = 0; i < 4 && status == ML_OK; i++) status = ml_set_output(c, i, &shapes[i]);
    b->boxes = (int32_t)n;
    b->width = ml_input(c, 0)->shape.dims[2];
    b->columns = scores->dims[2];
    /* Scratch. */
    const int64_t word = (int64_t)sizeof(int32_t);
    const int64_t room = p->by_class ? p->most * (int64_t)sizeof(detection) : 0;
    b->corners = ml_reserve(wish, n * (int64_t)sizeof(box));
    b->scores = ml_reserve(wish, ml_input(c, 1)->type == ML_U8 ? ml_elements(scores) * word : 0);
    b->best = ml_reserve(wish, n * word);
    b->order = ml_reserve(wish, n * word);
    b->spare = ml_reserve(wish, n * word);
    b->dropped = ml_reserve(wish, n * word);
    b->sorted = ml_reserve(wish, SIDES * n * word);
    b->chosen = ml_reserve(wish, n * word);
    b->kept = ml_reserve(wish, room);
    b->merged = ml_reserve(wish, room);
    return status;
}

/* Reads four numbers of an input, from number `at` on. */
static void read_four(const ml_call *c, int input, int64_t at, ml_affine q, float to[4]) {
    for (int i = 0; i < 4; i++)
        to[i] = q.type == ML_U8
                    ? (float)(((const uint8_t *)ml_in(c, input))[at + i] - q.zero_point) * q.scale
                    : ((const float *)ml_in(c, input))[at + i];
}

/* Converts each box from centre and size, relative to its anchor, to corners, in double. */
static ml_status decode(const ml_call *c, int64_t first, int64_t end) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    const ml_affine boxes = ml_input_affine(c, 0), anchors = ml_input_affine(c, 2);
    box *corners = ml_scratch(c, b->corners);
    for (int64_t i = first; i < end; i++) {
        float code[4], anchor[4];
        read_four(c, 0, i * b->width, boxes, code);
        read_four(c, 2, i * 4, anchors, anchor);
        const double high = (double)anchor[2], wide = (double)anchor[3];
        const float y = (float)((double)code[0] / (double)p->y_scale * high + (double)anchor[0]);
        const float x = (float)((double)code[1] / (double)p->x_scale * wide + (double)anchor[1]);
        const float h = (float)(0.5 * exp((double)code[2] / (double)p->h_scale) * high);
        const float w = (float)(0.5 * exp((double)code[3] / (double)p->w_scale) * wide);
        corners[i] = (box){y - h, x - w, y + h, x + w};
        if (corners[i].top > corners[i].bottom || corners[i].left > corners[i].right)
            return ml_fail(
                c, ML_KERNEL_ERROR,
                "box %d has its corners in the wrong order: its anchor has height %g, width %g",
                (int)i, high, wide);
    }
    return ML_OK;
}

/* Writes boxes in a given order, as lines of `n` sides and areas. */
static void lay_out(const box *corners, const int32_t *order, int32_t n, float *lines) {
    for (int32_t i = 0; i < n; i++) {
        const box b = corners[order[i]];
        const float sides[SIDES] = {b.top, b.left, b.bottom, b.right,
                                    (b.bottom - b.top) * (b.right - b.left)};
        for (int32_t k = 0; k < SIDES; k++) lines[(int64_t)k * n + i] = sides[k];
    }
}

/* Marks those boxes of first .. n - 1 that overlap box `one` too much, by intersection divided by
 * union. */
static void drop(const float *restrict lines, int64_t n, int64_t one, float most,
                 int32_t *restrict dropped) {
    const float *tops = lines, *lefts = lines + LEFT * n, *bottoms = lines + BOTTOM * n;
    const float *rights = lines + RIGHT * n, *areas = lines + AREA * n;
    const float top = tops[one], left = lefts[one], bottom = bottoms[one], right = rights[one];
    const float area = areas[one];
    for (int64_t k = one + 1; k < n; k++) {
        const float high = ml_min_f32(bottom, bottoms[k]) - ml_max_f32(top, tops[k]);
        const float wide = ml_min_f32(right, rights[k]) - ml_max_f32(left, lefts[k]);
        const float shared = ml_max_f32(high, 0.0f) * ml_max_f32(wide, 0.0f);
        const float part = shared / (area + areas[k] - shared);
        const int32_t none = (area <= 0.0f) | (areas[k] <= 0.0f);
        dropped[k] |= (none & (0.0f > most)) | (~none & (part > most));
    }
}

/* Sorts `n` boxes by descending scores, equal ones by number. They are given in order of their
 * numbers, and merging keeps that. */
static int32_t *sorted(int32_t *order, int32_t *spare, int32_t n, const float *scores,
                       int64_t step) {
    for (int32_t run = 1; run<n; run = run> n / 2 ? n : 2 * run) {
        for (int32_t first = 0; first<n; first += run> n / 2 ? n : 2 * run) {
            const int32_t middle = n - first > run ? first + run : n;
            const int32_t end = n - middle > run ? middle + run : n;
            int32_t i = first, k = middle;
            for (int32_t to = first; to < end; to++) {
                const bool second =
                    i >= middle || (k < end && scores[order[k] * step] > scores[order[i] * step]);
                spare[to] = second ? order[k++] : order[i++];
            }
        }
        int32_t *swap = order;
        order = spare;
        spare = swap;
    }
    return order;
}

/* Chooses, best first, boxes with a high enough score that no better chosen one overlaps too much;
 * at most `most`. `chosen` gets their numbers. */
static ml_status suppress(const ml_call *c, const float *scores, int64_t step, int32_t most,
                          int32_t *chosen_count) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    const box *corners = ml_scratch(c, b->corners);
    int32_t *order = ml_scratch(c, b->order), *chosen = ml_scratch(c, b->chosen);
    int32_t *dropped = ml_scratch(c, b->dropped);
    float *lines = ml_scratch(c, b->sorted);
    int32_t n = 0, count = 0;
    int64_t work = 0;
    ml_status status = ml_poll(c);
    for (int32_t i = 0; i < b->boxes; i++)
        if (scores[i * step] >= p->score) order[n++] = i;
    order = sorted(order, ml_scratch(c, b->spare), n, scores, step);
    memset(dropped, 0, (size_t)n * sizeof *dropped);
    lay_out(corners, order, n, lines);
    for (int32_t i = 0; i < n && count < most && status == ML_OK; i++) {
        if (dropped[i]) continue;
        status = ml_count_work(c, n - i, &work);
        chosen[count++] = order[i];
        drop(lines, n, i, p->overlap, dropped);
    }
    *chosen_count = count;
    return status;
}

/* The class after class `last` in order of descending scores, equal ones by number; -1 if there is
 * none. last < 0: the first. */
static int32_t next_class(const float *scores, int32_t classes, int32_t last) {
    int32_t found = last < 0 ? 0 : -1;
    for (int32_t k = last < 0; k < classes; k++) {
        const bool left =
            last < 0 || scores[k] < scores[last] || (scores[k] == scores[last] && k > last);
        if (left && (found < 0 || scores[k] > scores[found])) found = k;
    }
    return found;
}

/* A box's scores; quantized ones as reals, which are computed if `fresh`. */
static const float *scores_of(const ml_call *c, int64_t i, bool fresh) {
    const detection_blob *b = c->blob;
    const ml_affine q = ml_input_affine(c, 1);
    if (q.type != ML_U8) return (const float *)ml_in(c, 1) + i * b->columns;
    float *row = (float *)ml_scratch(c, b->scores) + i * b->columns;
    const uint8_t *steps = (const uint8_t *)ml_in(c, 1) + i * b->columns;
    for (int32_t k = 0; fresh && k < b->columns; k++)
        row[k] = q.scale * (float)(steps[k] - q.zero_point);
    return row;
}

/* The largest score of a box in any class but the background. */
static float best_score(const ml_call *c, int64_t i) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    const ml_affine q = ml_input_affine(c, 1);
    const int64_t at = i * b->columns + b->columns - p->classes;
    if (q.type != ML_U8) {
        const float *row = (const float *)ml_in(c, 1) + at;
        return row[next_class(row, p->classes, -1)];
    }
    const uint8_t *steps = (const uint8_t *)ml_in(c, 1) + at;
    uint8_t most = steps[0];
    for (int32_t k = 1; k < p->classes; k++) most = steps[k] > most ? steps[k] : most;
    return q.scale * (float)(most - q.zero_point);
}

/* Decodes boxes and computes their scores. */
static ml_status read_boxes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    float *best = ml_scratch(c, b->best);
    for (int64_t i = first; i < end; i++)
        if (p->by_class) scores_of(c, i, true);
        else best[i] = best_score(c, i);
    return decode(c, first, end);
}

static void give(const ml_call *c, int64_t row, detection found) {
    const detection_blob *b = c->blob;
    const box *corners = ml_scratch(c, b->corners);
    memcpy((float *)ml_out(c, 0) + 4 * row, &corners[found.anchor], sizeof(box));
    ((float *)ml_out(c, 1))[row] = (float)found.label;
    ((float *)ml_out(c, 2))[row] = found.score;
}

/* Detects boxes by the scores of their best classes. */
static ml_status detect_by_box(const ml_call *c) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    const int32_t background = b->columns - p->classes;
    const int32_t labels = p->most_classes < p->classes ? p->most_classes : p->classes;
    const int32_t *chosen = ml_scratch(c, b->chosen);
    int32_t count = 0;
    ml_status status = suppress(c, ml_scratch(c, b->best), 1, p->most, &count);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < count; i++) {
        const float *row = scores_of(c, chosen[i], true) + background;
        for (int32_t k = 0, label = -1; k < labels; k++) {
            label = next_class(row, p->classes, label);
            if (label < 0) break;
            give(c, (int64_t)i * p->most_classes + k, (detection){chosen[i], label, row[label]});
        }
    }
    *(float *)ml_out(c, 3) = (float)count;
    return ML_OK;
}

/* Detects per class; then takes the best of all. */
static ml_status detect_by_class(const ml_call *c) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    const int32_t background = b->columns - p->classes;
    const int32_t most = p->most_of_class < p->most ? p->most_of_class : p->most;
    const int32_t *chosen = ml_scratch(c, b->chosen);
    detection *kept = ml_scratch(c, b->kept), *merged = ml_scratch(c, b->merged);
    int32_t count = 0;
    for (int32_t label = 0; label < p->classes; label++) {
        const float *column = scores_of(c, 0, false) + background + label;
        int32_t i = 0, k = 0, to = 0, more = 0;
        ml_status status = suppress(c, column, b->columns, most, &more);
        if (status != ML_OK) return status;
        for (; (i < count || k < more) && to < p->most; to++) {
            const float score = k < more ? column[(int64_t)chosen[k] * b->columns] : 0.0f;
            if (i >= count || (k < more && score > kept[i].score))
                merged[to] = (detection){chosen[k++], label, score};
            else merged[to] = kept[i++];
        }
        detection *swap = kept;
        kept = merged;
        merged = swap;
        count = to;
    }
    for (int32_t i = 0; i < count; i++) give(c, i, kept[i]);
    *(float *)ml_out(c, 3) = (float)count;
    return ML_OK;
}

/* The cost of a box in elements (work.h): two exponentials in double, and reading. */
enum { DECODING = 64 };

static ml_status detect(const ml_call *c) {
    const detection_params *p = c->params;
    const detection_blob *b = c->blob;
    for (int i = 0; i < 3; i++) memset(ml_out(c, i), 0, (size_t)ml_out_tensor(c, i)->bytes);
    ml_status status = ml_in_blocks(c, b->boxes, DECODING + b->columns, read_boxes, NULL);
    if (status != ML_OK) return status;
    return p->by_class ? detect_by_class(c) : detect_by_box(c);
}

static ml_status check_detection(const ml_call *c, void *params) {
    const detection_params *p = params;
    if (p->overlap > 0.0f && p->overlap <= 1.0f) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "option nms_iou_threshold is %g, must be above 0 and at most 1",
                   (double)p->overlap);
}

ML_KERNELS(detection_postprocess) = {
    {ML_CUSTOM_OP("TFLite_Detection_PostProcess", 1, 1), .name = "detection_postprocess",
     .takes = "boxes scores anchors -> boxes classes scores count",
     .quantization = ML_TAKES_QUANTIZED, .check = check_detection, ML_PARAMS_OF(detection_params),
     .blob_bytes = sizeof(detection_blob), .prepare = prepare_detection,
     ML_TYPED({"f32 f32|u8 f32 -> f32 f32 f32 f32", NULL, NULL, detect},
              {"u8 f32|u8 u8 -> f32 f32 f32 f32", NULL, NULL, detect})},
    ML_KERNELS_END,
};
