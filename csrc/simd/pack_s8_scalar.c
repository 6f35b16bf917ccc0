/* pack_s8_scalar.c -- byte by byte. */
#define FUNCTION ml_pack_s8_scalar
#include "pack_s8_panel.h"
