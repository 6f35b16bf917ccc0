/* conv.h -- what the files of CONV_2D share. */
#ifndef ML_KERNELS_CONV_H
#define ML_KERNELS_CONV_H

#include "rules/matmul.h"
#include "rules/window.h"

#define CONV_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_GROUP(conv_params, CONV_FIELDS)

/* Where the rows to multiply are. */
typedef enum conv_source {
    CONV_GATHERED, /* windows are copied into rows */
    CONV_DIRECT, /* the input's pixels are the rows */
    CONV_LINES /* rows are a few stretches of lines: the input's, or copies with padding */
} conv_source;

typedef struct conv_blob {
    ml_window window;
    ml_blocks blocks;
    int32_t depth; /* channels of a group */
    uint8_t source; /* conv_source */
    uint8_t padded; /* CONV_LINES: windows reach beyond the input */
    int16_t lines; /* CONV_LINES: output lines at a time */
} conv_blob;

_Static_assert(sizeof(conv_blob) <= 110, "plan and residence have 300 bytes a node in all");

/* Floats: whether rows are stretches of lines, so that their windows need no copy; sets source, padded and lines. */
bool ml_conv_prepare_lines(conv_blob *blob, ml_wish *wish);
ml_status ml_conv_multiply_lines(const ml_call *c);

#endif
