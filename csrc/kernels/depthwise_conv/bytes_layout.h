/* bytes_layout.h -- the parts in which bytes.c computes an image. */
#ifndef ML_KERNELS_DEPTHWISE_CONV_BYTES_LAYOUT_H
#define ML_KERNELS_DEPTHWISE_CONV_BYTES_LAYOUT_H

#include "kernels/depthwise_conv/depthwise_conv.h"

/* Where the parts of a worker's scratch lie, and what is in them. */
typedef struct depthwise_layout {
    depthwise_groups form;
    int64_t columns; /* of an interleaved line, with padding */
    int64_t chunk; /* pixels whose columns are interleaved at a time */
    bool alone; /* pixels are computed one by one, each from columns that are put together for it */
    /* Pixels of an image one pixel wide that are computed at a time; 0: it is none. */
    int64_t height;
    int64_t channels; /* of a hybrid whose sums are made together */
    int64_t pixels; /* computed together */
    int64_t sets; /* of lines, side by side, that are interleaved before any is computed */
    int64_t side; /* pixels that are taken for one */
    int64_t lines; /* interleaved ones, after the pointers to them */
    int64_t window; /* columns of a pixel that is alone */
    int64_t narrow; /* a line before its elements are repeated; an upright image's with padding */
    int64_t start; /* of a hybrid's sums */
    int64_t sums;
    int64_t scales; /* of a hybrid's pixels, all the same */
    int64_t bytes;
} depthwise_layout;
depthwise_layout ml_depthwise_lay_out(const ml_call *c);

/* Lines of an upright image from which a group begins, for so many pixels. */
static inline int64_t ml_depthwise_starts(const depthwise_groups *f, const ml_window_axis *y,
                                          int64_t pixels) {
    return (pixels - 1) * y->stride + (f->groups - 1) * f->group + 1;
}

#endif
