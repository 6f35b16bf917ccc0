/* main.c -- runs the walk in a program that has only the core's primitives, for an emulated
 * processor. With any argument it prints the levels that this processor has. */
#include <stdio.h>

#include "walk.h"

int main(int argc, char **argv) {
    if (argc == 1) return walk_levels(ml_simd_at);
    const ml_simd *simd;
    for (int32_t i = 0; (simd = ml_simd_at(i)); i++) printf("%s\n", simd->level);
    return 0;
}
