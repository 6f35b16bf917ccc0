/* depthwise_conv.h -- what the files of DEPTHWISE_CONV_2D share. */
#ifndef ML_KERNELS_DEPTHWISE_CONV_H
#define ML_KERNELS_DEPTHWISE_CONV_H

#include "rules/matmul.h"
#include "rules/window.h"

#define DEPTHWISE_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_GROUP(depthwise_params, DEPTHWISE_FIELDS)

typedef enum depthwise_form {
    DEPTHWISE_FLOATS,
    DEPTHWISE_BYTES, /* integers of at most 9 bits less their zero point: summed as floats */
    DEPTHWISE_WIDE   /* int16 */
} depthwise_form;

typedef struct depthwise_blob {
    ml_window window;
    int32_t outputs;
    int32_t multiplier;
    uint8_t form; /* depthwise_form */
    uint8_t direct; /* the input's lines are the lines to sum */
} depthwise_blob;

/* A worker's scratch: the lines of one window row as floats, unless direct; for integers a pixel's sums in floats or 32 bits,
 * and those of a line of output in 32 bits, or of a pixel in 64. */
typedef struct depthwise_layout {
    int64_t piece;
    int64_t sums;
    int64_t bytes;
} depthwise_layout;
depthwise_layout ml_depthwise_layout(const depthwise_blob *blob);

/* The window of one pixel: lines `line_step` floats apart, taps in them `tap_step` apart, from `x` (line 0, tap 0). The
 * filter's lines are `filter_step` apart, its taps `outputs`. Taps outside the input are left out. */
typedef struct depthwise_source {
    const float *x;
    const float *filter;
    int64_t line_step;
    int64_t tap_step;
    int64_t filter_step;
    int64_t outputs;
    ml_taps down;
    ml_taps across;
} depthwise_source;

/* A source for all pixels of output line `line`, counted over all batches. */
depthwise_source ml_depthwise_source(const depthwise_blob *blob, int64_t line, const float *filter);
/* Points `s` at the window of output pixel (line, ox), whose lines begin at `lines`. */
static inline void ml_depthwise_aim(depthwise_source *s, const depthwise_blob *blob,
                                    const float *lines, int64_t ox) {
    s->across = ml_window_taps(&blob->window.x, ox);
    s->x = lines + s->across.start * s->outputs;
}
/* Index of the first value of input line `ky` of the window row `down` of batch `batch`. */
static inline int64_t ml_depthwise_line(const ml_window *w, int64_t batch, const ml_taps *down,
                                        int64_t ky) {
    return (batch * w->y.in + down->start + ky * w->y.dilation) * w->x.in * w->channels;
}

/* Evals; lines of output are items of work. */
ml_status ml_depthwise_floats(const ml_call *c);
ml_status ml_depthwise_bytes(const ml_call *c);
ml_status ml_depthwise_wide(const ml_call *c);
ml_status ml_depthwise_hybrid(const ml_call *c);
ml_status ml_depthwise_run(const ml_call *c, ml_body body);

#endif
