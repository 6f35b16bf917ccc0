/* depthwise_conv.h -- types and functions that the files of DEPTHWISE_CONV_2D share. */
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
    DEPTHWISE_PIXEL /* bytes; the output is one pixel that sees no padding */
} depthwise_form;

typedef struct depthwise_blob {
    ml_window window;
    int32_t outputs;
    int32_t multiplier;
    uint8_t form;  /* depthwise_form */
} depthwise_blob;

/* The index of the first element of the input line that line `ky` of a window reads; `down` has the
 * taps of the window's lines. */
static inline int64_t ml_depthwise_line(const ml_window *w, int64_t batch, const ml_taps *down,
                                        int64_t ky) {
    return (batch * w->y.in + down->start + ky * w->y.dilation) * w->x.in * w->channels;
}

/* y = x, each element of 4 bytes, of 2 or of 1, `multiplier` times. */
void ml_depthwise_repeat(const void *x, int64_t count, int64_t element, int64_t multiplier,
                         void *y);

/* Weights are packed in panels of ML_PANEL_DEPTHWISE channels, `lines` lines each. The number of
 * elements of a panel; and of bytes of all panels, of elements of so many bytes, or a negative
 * number after an error. */
int64_t ml_depthwise_panel(const depthwise_blob *blob, int64_t lines);
int64_t ml_depthwise_packed_bytes(const ml_call *c, int64_t lines, int64_t element);

/* The number of pixels of n channels that lie side by side in a panel; 1 if n channels fill it. */
static inline int64_t ml_depthwise_side(int64_t n) {
    return n > 0 && n <= ML_PANEL_DEPTHWISE ? ML_PANEL_DEPTHWISE / n : 1;
}

/* The bytes of a worker's scratch. */
int64_t ml_depthwise_floats_bytes(const depthwise_blob *blob);
int64_t ml_depthwise_bytes_bytes(const ml_call *c);
int64_t ml_depthwise_wide_bytes(const depthwise_blob *blob);
/* The bytes of a hybrid's scratch: its quantized batches. */
int64_t ml_depthwise_slices_bytes(const depthwise_blob *blob);

int64_t ml_depthwise_pack_floats(const ml_call *c, void *to);
int64_t ml_depthwise_pack_bytes(const ml_call *c, void *to);

/* The form in which weights of bytes are packed. */
typedef struct depthwise_groups {
    int64_t group;  /* lines in a group */
    /* Bytes of an element of a group and of its weights; 1: lines are s8 as they lie, of a node for
     * depthwise_narrow_s8. */
    int64_t element;
    int64_t groups; /* groups in a window */
    int64_t parts; /* bytes whose sum is a weight */
    /* Neighbouring output lines computed from the same groups; weights are packed for each. */
    int64_t shifts;
} depthwise_groups;
depthwise_groups ml_depthwise_groups(const ml_call *c);
/* A number for all that ml_depthwise_pack_bytes reads besides the weights: ml_wish.layout. */
int32_t ml_depthwise_layout(const ml_call *c);
/* True if bytes are taken as they lie: the node is one for depthwise_narrow_s8. */
static inline bool ml_depthwise_is_narrow(const ml_call *c) {
    return ((const ml_weighted *)c->derived)->narrow != 0;
}

/* Sets the start of each output's sum: minus the zero point of the interleaved bytes times the sum
 * of its weights, plus the bias of integers. Returns a limit of absolute sums; 0: unknown. */
int32_t ml_depthwise_start(const ml_call *c, const depthwise_groups *f, int32_t zero,
                           int32_t *start);

/* For an output of one pixel (pixel.c): whether the node is such a one, the bytes of its scratch,
 * and its eval. */
bool ml_depthwise_is_pixel(const depthwise_blob *blob);
int64_t ml_depthwise_pixel_bytes(const ml_call *c);
ml_status ml_depthwise_pixel(const ml_call *c);

/* Evals. ml_depthwise_run divides the output's lines among workers, in multiples of `unit`. */
ml_status ml_depthwise_floats(const ml_call *c);
ml_status ml_depthwise_bytes(const ml_call *c);
ml_status ml_depthwise_wide(const ml_call *c);
ml_status ml_depthwise_hybrid(const ml_call *c);
ml_status ml_depthwise_run(const ml_call *c, int64_t unit, ml_body body, void *args);

#endif
