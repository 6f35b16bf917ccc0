/* pack_f32_panel.h -- pack_f32 by transposing squares of 4 x 4; who includes it names its FUNCTION and PANEL, a multiple of 4. */
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <emmintrin.h>
#endif
#include <string.h>

#include "simd.h"

/* Four inputs of four outputs: `to` gets a row of PANEL for each input. */
static inline void transpose_square(const float *w, int64_t k, float *to) {
#if defined(__aarch64__)
    const float32x4_t a = vld1q_f32(w), b = vld1q_f32(w + k), c = vld1q_f32(w + 2 * k),
                      d = vld1q_f32(w + 3 * k);
    const float32x4_t ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d);
    const float32x4_t ac_high = vzip2q_f32(a, c), bd_high = vzip2q_f32(b, d);
    vst1q_f32(to, vzip1q_f32(ac, bd));
    vst1q_f32(to + PANEL, vzip2q_f32(ac, bd));
    vst1q_f32(to + 2 * PANEL, vzip1q_f32(ac_high, bd_high));
    vst1q_f32(to + 3 * PANEL, vzip2q_f32(ac_high, bd_high));
#else
    __m128 a = _mm_loadu_ps(w), b = _mm_loadu_ps(w + k), c = _mm_loadu_ps(w + 2 * k),
           d = _mm_loadu_ps(w + 3 * k);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + PANEL, b);
    _mm_storeu_ps(to + 2 * PANEL, c);
    _mm_storeu_ps(to + 3 * PANEL, d);
#endif
}

static void pack_columns(const float *w, int64_t k, int64_t first, int64_t end, float *to) {
    for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < k; j++) to[j * PANEL + i] = w[i * k + j];
}

void FUNCTION(const float *w, int64_t n, int64_t k, float *packed) {
    for (int64_t left = n; left > 0; left -= PANEL, w += PANEL * k, packed += PANEL * k) {
        int64_t width = left < PANEL ? left : PANEL, squares = width / 4 * 4, whole = k / 4 * 4;
        if (width < PANEL) memset(packed, 0, (size_t)(PANEL * k) * sizeof *packed);
        for (int64_t j = 0; j < whole; j += 4)
            for (int64_t i = 0; i < squares; i += 4)
                transpose_square(w + i * k + j, k, packed + j * PANEL + i);
        for (int64_t i = 0; i < squares; i++)
            for (int64_t j = whole; j < k; j++) packed[j * PANEL + i] = w[i * k + j];
        pack_columns(w, k, squares, width, packed);
    }
}
