/* pack_f32.c -- pack_f32 by transposing squares of 4 x 4. */
#include <string.h>

#include "simd/tiles/square.h"
#include "simd/words.h"

enum { PANEL = PANEL_F32 };

static void pack_columns(const float *w, int64_t k, int64_t first, int64_t end, float *to) {
    for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < k; j++) to[j * PANEL + i] = w[i * k + j];
}

void ML_VARIANT(pack_f32)(const float *w, int64_t n, int64_t k, float *packed) {
    for (int64_t left = n; left > 0; left -= PANEL, w += PANEL * k, packed += PANEL * k) {
        int64_t width = left < PANEL ? left : PANEL, squares = width / 4 * 4, whole = k / 4 * 4;
        if (width < PANEL) memset(packed, 0, (size_t)(PANEL * k) * sizeof *packed);
        for (int64_t j = 0; j < whole; j += 4)
            for (int64_t i = 0; i < squares; i += 4)
                transpose_square(w + i * k + j, k, packed + j * PANEL + i, PANEL);
        for (int64_t i = 0; i < squares; i++)
            for (int64_t j = whole; j < k; j++) packed[j * PANEL + i] = w[i * k + j];
        pack_columns(w, k, squares, width, packed);
    }
}
