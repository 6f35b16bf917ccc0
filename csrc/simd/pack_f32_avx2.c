/* pack_f32_avx2.c -- panels of 16 columns, for avx2 and avx512. */
#define FUNCTION ml_pack_f32_avx2
#define PANEL ML_PANEL_F32_AVX2
#include "pack_f32_panel.h"
