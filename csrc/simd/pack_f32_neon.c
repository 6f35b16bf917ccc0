/* pack_f32_neon.c -- panels of 8 columns. */
#define FUNCTION ml_pack_f32_neon
#define PANEL ML_PANEL_F32_NEON
#include "pack_f32_panel.h"
