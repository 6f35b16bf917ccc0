/* landmarks.c -- Landmarks2TransformMatrix: the matrix from pixels of a crop, in which points are
 * rotated upright, to the image. TransformTensorBilinear: the crop. TransformLandmarks: maps points
 * of the crop back to the image. Custom operators of MediaPipe's models, in their second
 * version. */
#include <math.h>

#include "rules/values.h"
#include "rules/work.h"

enum { MATRIX = 16 };

/* Landmarks2TransformMatrix -------------------------------------------------------------------- */

#define CROP_FIELDS(X, S)                                                                     \
    X(S, i32, left, ML_COUNT("left_rotation_idx", 0, INT32_MAX))   \
    X(S, i32, right, ML_COUNT("right_rotation_idx", 0, INT32_MAX)) \
    X(S, i32, height, ML_COUNT("output_height", 1, INT32_MAX))     \
    X(S, i32, width, ML_COUNT("output_width", 1, INT32_MAX))       \
    X(S, f64, rotation, ML_NUMBER("target_rotation_radians"))      \
    X(S, f64, scale_x, ML_NUMBER("scale_x"))                       \
    X(S, f64, scale_y, ML_NUMBER("scale_y")) X(S, array, subset, ML_BY_CHECK)
ML_PARAMS(crop_params, CROP_FIELDS)

static ml_status prepare_matrix(const ml_call *c, ml_wish *wish) {
    const crop_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    const int32_t *subset = p->subset.data;
    int32_t most = p->left > p->right ? p->left : p->right;
    char text[96];
    if (x->rank != 3 || x->dims[0] != 1 || x->dims[2] != 3)
        return ml_fail(c, ML_SHAPE_ERROR, "landmarks must be (1, points, 3), their shape is %s",
                       ml_shape_text(x, text));
    for (int64_t i = 0; i < p->subset.bytes / (int64_t)sizeof *subset; i++)
        if (subset[i] > most) most = subset[i];
    if (most >= x->dims[1])
        return ml_fail(c, ML_SHAPE_ERROR, "the options name point %d, the input has %d points",
                       most, x->dims[1]);
    return ml_set_output(c, 0, &(ml_shape){.rank = 3, .dims = {1, 4, 4}});
}

static ml_status make_matrix(const ml_call *c) {
    const crop_params *p = c->params;
    const int32_t *subset = p->subset.data;
    const float *x = ml_in(c, 0), *left = x + 3 * (int64_t)p->left,
                *right = x + 3 * (int64_t)p->right;
    /* The angle by which the line from the left to the right point is turned. */
    const double turn =
        p->rotation - atan2((double)right[1] - (double)left[1], (double)right[0] - (double)left[0]);
    const double cosine = cos(turn), sine = sin(turn);
    /* The box around the points, turned upright. */
    double low[2] = {0, 0}, high[2] = {0, 0};
    for (int64_t i = 0; i < p->subset.bytes / (int64_t)sizeof *subset; i++) {
        const double px = (double)x[3 * (int64_t)subset[i]];
        const double py = (double)x[3 * (int64_t)subset[i] + 1];
        const double turned[2] = {cosine * px - sine * py, sine * px + cosine * py};
        for (int k = 0; k < 2; k++) {
            if (i == 0 || turned[k] < low[k]) low[k] = turned[k];
            if (i == 0 || turned[k] > high[k]) high[k] = turned[k];
        }
    }
    /* Its middle and sides, scaled and turned back. */
    const double middle[2] = {(low[0] + high[0]) / 2, (low[1] + high[1]) / 2};
    const double across = p->scale_x * (high[0] - low[0]) / p->width;
    const double down = p->scale_y * (high[1] - low[1]) / p->height;
    const double rows[2][2] = {{cosine * across, sine * down}, {-sine * across, cosine * down}};
    const double center[2] = {cosine * middle[0] + sine * middle[1],
                              cosine * middle[1] - sine * middle[0]};
    /* The matrix from pixels of the crop to those of the image. */
    float *y = ml_out(c, 0);
    for (int i = 0; i < MATRIX; i++) y[i] = i % 5 == 0 ? 1.0f : 0.0f;
    for (int k = 0; k < 2; k++) {
        y[4 * k] = (float)rows[k][0];
        y[4 * k + 1] = (float)rows[k][1];
        y[4 * k + 3] =
            (float)(center[k] - rows[k][0] * (p->width / 2.0) - rows[k][1] * (p->height / 2.0));
    }
    return ML_OK;
}

/* TransformTensorBilinear ---------------------------------------------------------------------- */

#define SIZE_FIELDS(X, S)                                      \
    X(S, i32, height, ML_COUNT("output_height", 1, INT32_MAX)) \
    X(S, i32, width, ML_COUNT("output_width", 1, INT32_MAX))
ML_PARAMS(size_params, SIZE_FIELDS)

static ml_status check_matrix(const ml_call *c) {
    const int64_t count = ml_elements(&ml_input(c, 1)->shape);
    if (count == MATRIX) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "the matrix must have %d numbers, it has %lld", MATRIX,
                   (long long)count);
}

static ml_status prepare_crop(const ml_call *c, ml_wish *wish) {
    const size_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 4 || x->dims[0] != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the image must be (1, height, width, channels), its shape is %s",
                       ml_shape_text(x, text));
    const ml_status status = check_matrix(c);
    if (status != ML_OK) return status;
    return ml_set_output(c, 0,
                         &(ml_shape){.rank = 4, .dims = {1, p->height, p->width, x->dims[3]}});
}

/* The source of the centre of a pixel, in pixels from the centre of the first, in float32. */
static inline float place_of(const float *row, int64_t x, int64_t y) {
    const float offset =
        (float)((double)row[3] + ((double)row[0] * 0.5 + (double)row[1] * 0.5 - 0.5));
    return (row[0] * (float)x + row[1] * (float)y) + offset;
}

/* Computes lines of pixels; zeros if the source lies outside the centres of the image's pixels. */
static ml_status crop_lines(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const ml_shape *in = &ml_in_tensor(c, 0)->shape, *out = &ml_out_tensor(c, 0)->shape;
    const int64_t depth = in->dims[3], down = in->dims[2] * depth;
    const float *matrix = ml_in(c, 1);
    for (int64_t line = first; line < end; line++) {
        float *to = (float *)ml_out(c, 0) + line * out->dims[2] * depth;
        for (int64_t i = 0; i < out->dims[2]; i++, to += depth) {
            const float x = place_of(matrix, i, line), y = place_of(matrix + 4, i, line);
            if (!(x >= 0.0f && x <= (float)(in->dims[2] - 1) && y >= 0.0f &&
                  y <= (float)(in->dims[1] - 1))) {
                memset(to, 0, (size_t)depth * sizeof *to);
                continue;
            }
            const int64_t ix = (int64_t)x, iy = (int64_t)y;
            const double right = (double)(x - (float)ix), below = (double)(y - (float)iy);
            const int64_t over = ix + 1 < in->dims[2] ? depth : 0,
                          under = iy + 1 < in->dims[1] ? down : 0;
            const float *at = (const float *)ml_in(c, 0) + iy * down + ix * depth;
            for (int64_t k = 0; k < depth; k++) {
                const double upper = (1.0 - right) * (double)at[k] + right * (double)at[over + k];
                const double lower =
                    (1.0 - right) * (double)at[under + k] + right * (double)at[under + over + k];
                to[k] = (float)((1.0 - below) * upper + below * lower);
            }
        }
    }
    return ML_OK;
}

static ml_status crop(const ml_call *c) {
    const ml_shape *y = &ml_out_tensor(c, 0)->shape;
    return ml_in_blocks(c, y->dims[1], (int64_t)y->dims[2] * (4 + y->dims[3]), crop_lines, NULL);
}

/* TransformLandmarks --------------------------------------------------------------------------- */

static ml_status prepare_points(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 3 || x->dims[0] != 1 || (x->dims[2] != 2 && x->dims[2] != 3))
        return ml_fail(c, ML_SHAPE_ERROR,
                       "landmarks must be (1, points, 2 or 3), their shape is %s",
                       ml_shape_text(x, text));
    const ml_status status = check_matrix(c);
    return status == ML_OK ? ml_set_output(c, 0, x) : status;
}

static ml_status points(const ml_call *c) {
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    const float *matrix = ml_in(c, 1), *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int32_t i = 0; i < shape->dims[1] && status == ML_OK; i++) {
        const float px = x[0], py = x[1];
        for (int k = 0; k < 2; k++)
            y[k] = (matrix[4 * k] * px + matrix[4 * k + 1] * py) + matrix[4 * k + 3];
        if (shape->dims[2] == 3) y[2] = x[2];
        x += shape->dims[2];
        y += shape->dims[2];
        status = ml_count_work(c, 3, &work);
    }
    return status;
}

/* Reads the numbers of the points that the crop contains. */
static ml_status read_subset(const ml_call *c, ml_array *subset) {
    const char *name = "subset_idxs";
    const int64_t count = ml_option_of(c, name).count;
    const bool is_vector = ml_option_of(c, name).kind == 'v' && count > 0;
    int32_t *numbers = ml_keep(c, is_vector ? count * (int64_t)sizeof *numbers : 0);
    if (!numbers) return c->env->error->status;
    for (int64_t i = 0; is_vector && i < count; i++) {
        const ml_node_option o = c->env->core->option_element(c, name, i);
        if (o.kind != 'i' || o.integer < 0 || o.integer > INT32_MAX)
            return ml_fail(c, ML_UNSUPPORTED,
                           "option %s: element %lld is not the number of a point", name,
                           (long long)i);
        numbers[i] = (int32_t)o.integer;
    }
    if (!is_vector)
        return ml_fail(c, ML_UNSUPPORTED, "option %s must be a vector of numbers of points", name);
    *subset = (ml_array){numbers, count * (int64_t)sizeof *numbers};
    return ML_OK;
}
static ml_status check_crop(const ml_call *c, void *params) {
    crop_params *p = params;
    if (!(p->scale_x > 0) || !(p->scale_y > 0))
        return ml_fail(c, ML_UNSUPPORTED, "option %s is %g, must be above 0",
                       p->scale_x > 0 ? "scale_y" : "scale_x",
                       p->scale_x > 0 ? p->scale_y : p->scale_x);
    return read_subset(c, &p->subset);
}

ML_KERNELS(landmarks) = {
    {ML_CUSTOM_OP("Landmarks2TransformMatrix", 2, 2), .name = "landmarks_to_transform_matrix",
     .takes = "landmarks -> matrix", .check = check_crop, ML_PARAMS_OF(crop_params),
     .prepare = prepare_matrix, ML_TYPED({"f32 -> f32", NULL, NULL, make_matrix})},
    {ML_CUSTOM_OP("TransformTensorBilinear", 2, 2), .name = "transform_tensor_bilinear",
     .takes = "x matrix -> y", ML_PARAMS_OF(size_params), .prepare = prepare_crop,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, crop})},
    {ML_CUSTOM_OP("TransformLandmarks", 2, 2), .name = "transform_landmarks",
     .takes = "landmarks matrix -> y", .prepare = prepare_points,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, points})},
    ML_KERNELS_END,
};
