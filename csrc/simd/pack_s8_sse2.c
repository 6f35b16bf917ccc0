/* pack_s8_sse2.c -- squares of four groups of four outputs. */
#include "square.h"
#include "vector_s32_sse2.h"

#define ADD_GROUPS_BYTES 16
#define FUNCTION ml_pack_s8_sse2
#include "pack_s8_panel.h"
