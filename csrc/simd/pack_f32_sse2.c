/* pack_f32_sse2.c -- panels of 8 columns. */
#define FUNCTION ml_pack_f32_sse2
#define PANEL ML_PANEL_F32_SSE2
#include "pack_f32_panel.h"
