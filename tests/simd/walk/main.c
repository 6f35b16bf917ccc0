/* main.c -- a program of the walk and the core's primitives alone, for a processor that is
 * emulated; or, with any argument, of what levels that has. */
#include <stdio.h>

#include "walk.h"

int main(int argc, char **argv) {
    if (argc == 1) return walk_levels(ml_simd_at);
    const ml_simd *simd;
    for (int32_t i = 0; (simd = ml_simd_at(i)); i++) printf("%s\n", simd->level);
    return 0;
}
