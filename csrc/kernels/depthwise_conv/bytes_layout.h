/* bytes_layout.h -- the parts in which bytes.c computes an image. */
#ifndef ML_KERNELS_DEPTHWISE_CONV_BYTES_LAYOUT_H
#define ML_KERNELS_DEPTHWISE_CONV_BYTES_LAYOUT_H

#include "kernels/depthwise_conv/depthwise_conv.h"

/* The sizes of a worker's piece of work, and from `lines` on offsets in its scratch. */
typedef struct depthwise_layout {
    depthwise_groups form;
    int64_t columns; /* of an interleaved line, with padding */
    int64_t across; /* elements from column to column, at least the outputs */
    int64_t chunk; /* pixels whose columns are interleaved at a time */
    bool alone; /* pixels are computed one by one, each from a copy of the columns that it sees */
    /* Pixels computed at a time of an image one pixel wide; 0: it is computed like other images. */
    int64_t height;
    int64_t channels; /* of a hybrid, computed together */
    int64_t pixels; /* computed together */
    int64_t sets; /* sets of lines that are interleaved, side by side, before any is computed */
    int64_t held; /* groups that the sets have; sets of single lines share theirs */
    int64_t side; /* neighbouring pixels that are treated as one */
    int64_t lines; /* interleaved lines; the pointers to them lie before */
    int64_t window; /* if `alone`: the columns that one pixel sees */
    int64_t narrow; /* a line before its elements are repeated; or an upright image with padding */
    int64_t start; /* the starts of a hybrid's sums */
    int64_t sums;
    int64_t scales; /* the scale of each of a hybrid's pixels, all equal */
    int64_t bytes;
} depthwise_layout;
depthwise_layout ml_depthwise_lay_out(const ml_call *c);

/* The number of lines of an upright image at which a group begins, for `pixels` pixels. */
static inline int64_t ml_depthwise_starts(const depthwise_groups *f, const ml_window_axis *y,
                                          int64_t pixels) {
    return (pixels - 1) * y->stride + (f->groups - 1) * f->group + 1;
}

#endif
