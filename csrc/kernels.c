/* kernels.c -- the table of kernels by name, gathered from the families. */
#include "engine.h"

#define X(family) extern const ml_kernel ml_kernels_##family[];
#include "families.def"
#undef X

#define X(family) ml_kernels_##family,
static const ml_kernel *const families[] = {
#include "families.def"
};
#undef X

const ml_kernel *ml_kernel_at(int32_t number) {
    for (size_t f = 0; f < sizeof families / sizeof families[0] && number >= 0; f++)
        for (const ml_kernel *k = families[f]; k->info.name; k++)
            if (number-- == 0) return k;
    return NULL;
}

int32_t ml_kernel_find(const char *name) {
    int32_t number = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const ml_kernel *k = families[f]; k->info.name; k++, number++)
            if (strcmp(k->info.name, name) == 0) return number;
    return -1;
}

const ml_kernel_info *ml_kernel_get_info(int32_t number) {
    const ml_kernel *kernel = ml_kernel_at(number);
    return kernel ? &kernel->info : NULL;
}
