/* conv.h -- types and functions that the files of CONV_2D share. */
#ifndef ML_KERNELS_CONV_H
#define ML_KERNELS_CONV_H

#include "rules/matmul_s8.h"
#include "rules/window.h"

#define CONV_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_GROUP(conv_params, CONV_FIELDS)

/* Where the rows to multiply are. */
typedef enum conv_source {
    CONV_GATHERED, /* windows are copied into rows */
    CONV_COPIED, /* floats: the same, all windows before any is multiplied */
    CONV_DIRECT, /* the input's pixels are the rows */
    CONV_LINES, /* a row is a few stretches of lines: the input's, or copies with padding */
    CONV_WINOGRAD /* there are no rows, but tiles */
} conv_source;

typedef struct conv_blob {
    ml_window window;
    ml_blocks blocks;
    int32_t depth; /* channels of a group */
    uint8_t source; /* conv_source */
    uint8_t padded; /* CONV_LINES: windows reach beyond the input */
    int16_t lines; /* CONV_LINES, floats: output lines computed at a time */
    /* CONV_WINOGRAD: outputs along a tile's side where the window has three pixels, and tiles of a
     * block; floats: tile_columns of them, in whatever lines they are. */
    int32_t side;
    int32_t tile_rows;
    int32_t tile_columns;
} conv_blob;

/* The number of input lines that the windows of `lines` output lines see; and the number of
 * elements of such a line. Both include padding. */
int64_t ml_conv_lines_seen(const ml_window *w, int64_t lines);
int64_t ml_conv_line_elements(const ml_window *w);
/* True if each line of a window is contiguous in the input, and output lines have at least `least`
 * pixels; sets `padded`. */
bool ml_conv_has_lines(conv_blob *blob, int32_t least);

/* Copies and converts elements. Where `from` is NULL, `put` writes padding. */
typedef struct conv_copy {
    void (*put)(const struct conv_copy *copy, const void *from, int64_t count, void *to);
    int32_t from_bytes;
    int32_t to_bytes;
    int32_t type;
    int32_t zero;
    int64_t plane;
} conv_copy;
/* Copies the input lines that `lines` output lines of a batch see, from output line `first` on,
 * with padding around them. */
void ml_conv_copy_lines(const ml_window *w, const conv_copy *copy, const void *x, int64_t batch,
                        int64_t first, int64_t lines, void *to);

/* Floats: whether rows are stretches of lines, so that windows are not copied into rows. Sets
 * source, lines, the size of a block, and scratch. */
bool ml_conv_prepare_lines(const ml_call *c, conv_blob *blob, ml_wish *wish);
ml_status ml_conv_multiply_lines(const ml_call *c);

/* Floats: whether the node is computed by tiles. Sets source, tiles, layout, workers' scratch. */
bool ml_conv_prepare_winograd_floats(const ml_call *c, conv_blob *blob, ml_wish *wish);
int64_t ml_conv_pack_winograd_floats(const ml_call *c, void *to);
ml_status ml_conv_winograd_floats(const ml_call *c);

/* The input as integers: s16, or bytes to be flipped. */
typedef struct conv_input {
    const void *x;
    int32_t type;
    int32_t zero; /* as a byte */
    int32_t flip;
} conv_input;

/* The part of integers.c that winograd.c needs: the input of the batch of an output pixel; and the
 * constants that turn sums of floats which were quantized into floats. */
typedef struct conv_rule {
    conv_input (*input)(const ml_call *c, int64_t first);
    ml_scale_s32_args (*scaling)(const ml_call *c, const ml_requantized *r, const float *scales);
} conv_rule;

/* The larger form of the row: Winograd's tiles, where they compute the node exactly. */
bool ml_conv_larger(const ml_call *c, ml_larger_form *form);
const char *ml_conv_way(const void *blob);
/* Prepare, bytes: whether the node is computed by tiles. Sets source, tiles, layout, workers'
 * scratch. */
bool ml_conv_prepare_winograd(const ml_call *c, conv_blob *blob, ml_wish *wish);
int64_t ml_conv_pack_winograd(const ml_call *c, void *to);
/* Eval: `start` is room for an int32 per output, whole panels, and per batch if there are scales of
 * batches. */
ml_status ml_conv_winograd(const ml_call *c, const conv_rule *rule, int32_t *start,
                           const float *scales);

ml_status ml_conv_prepare_integers(const ml_call *c, ml_wish *wish);
int64_t ml_conv_pack_s8(const ml_call *c, void *to);
ml_status ml_conv_integers(const ml_call *c);
ml_status ml_conv_hybrid(const ml_call *c);

#endif
