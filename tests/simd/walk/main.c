/* main.c -- a program of the walk and the core's primitives alone, for a processor that is emulated. */
#include "walk.h"

int main(void) { return walk_levels(ml_simd_at); }
