/* depthwise_conv.h -- what the files of DEPTHWISE_CONV_2D share. */
#ifndef ML_KERNELS_DEPTHWISE_CONV_H
#define ML_KERNELS_DEPTHWISE_CONV_H

#include "rules/matmul.h"
#include "rules/window.h"

#define DEPTHWISE_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_GROUP(depthwise_params, DEPTHWISE_FIELDS)

typedef enum depthwise_form {
    DEPTHWISE_FLOATS,
    DEPTHWISE_BYTES,
    DEPTHWISE_HYBRID, /* floats times bytes */
    DEPTHWISE_WIDE,   /* int16 times bytes */
    DEPTHWISE_PIXEL /* bytes, of an output of one pixel that sees no padding */
} depthwise_form;

typedef struct depthwise_blob {
    ml_window window;
    int32_t outputs;
    int32_t multiplier;
    uint8_t form;  /* depthwise_form */
} depthwise_blob;

/* Index of the first value of input line `ky` of the window row `down` of batch `batch`. */
static inline int64_t ml_depthwise_line(const ml_window *w, int64_t batch, const ml_taps *down,
                                        int64_t ky) {
    return (batch * w->y.in + down->start + ky * w->y.dilation) * w->x.in * w->channels;
}

/* y = x, each element of 4 bytes `multiplier` times. */
void ml_depthwise_repeat(const void *x, int64_t count, int64_t multiplier, void *y);

/* Weights are packed in panels of ML_PANEL_DEPTHWISE channels: a panel's elements; bytes of all, or
 * negative if they are refused. */
int64_t ml_depthwise_panel(const depthwise_blob *blob, int64_t lines);
int64_t ml_depthwise_packed_bytes(const ml_call *c, int64_t lines);

/* How many pixels lie side by side in a panel; 1 where channels fill one. */
static inline int64_t ml_depthwise_side(int64_t n) {
    return n > 0 && n <= ML_PANEL_DEPTHWISE ? ML_PANEL_DEPTHWISE / n : 1;
}

/* Workers' scratch. */
int64_t ml_depthwise_floats_bytes(const depthwise_blob *blob);
int64_t ml_depthwise_bytes_bytes(const ml_call *c);
int64_t ml_depthwise_wide_bytes(const depthwise_blob *blob);
/* Scratch: a hybrid's slices, or what sums of bytes begin with. */
int64_t ml_depthwise_slices_bytes(const depthwise_blob *blob);

int64_t ml_depthwise_pack_floats(const ml_call *c, void *to);
int64_t ml_depthwise_pack_bytes(const ml_call *c, void *to);

/* How weights of bytes are packed. */
typedef struct depthwise_groups {
    int64_t group;  /* lines in one */
    int64_t groups; /* of a window */
    int64_t parts;  /* bytes whose sum is a weight */
    /* Lines of output that groups serve one after the other: weights are packed for each. */
    int64_t shifts;
} depthwise_groups;
depthwise_groups ml_depthwise_groups(const ml_call *c);

/* What sums begin with, the bias of integers included, for a zero point (as interleaved); returns
 * how far sums can go, 0: not known. */
int32_t ml_depthwise_start(const ml_call *c, const depthwise_groups *f, int32_t zero,
                           int32_t *start);

/* An output of one pixel: whether it is that, its scratch, its eval. */
bool ml_depthwise_is_pixel(const depthwise_blob *blob);
int64_t ml_depthwise_pixel_bytes(const ml_call *c);
ml_status ml_depthwise_pixel(const ml_call *c);

/* Evals; lines of output are items of work, `unit` of which are worth doing together. */
ml_status ml_depthwise_floats(const ml_call *c);
ml_status ml_depthwise_bytes(const ml_call *c);
ml_status ml_depthwise_wide(const ml_call *c);
ml_status ml_depthwise_hybrid(const ml_call *c);
ml_status ml_depthwise_run(const ml_call *c, int64_t unit, ml_body body, void *args);

#endif
