/* pack_s8_neon.c -- squares of four groups of four outputs. */
#include "square.h"
#include "vector_s32_neon.h"

#define ADD_GROUPS_BYTES 16
#define FUNCTION ml_pack_s8_neon
#include "pack_s8_panel.h"
