/* float_mode.h -- the rounding mode of a thread, and whether it flushes subnormal numbers; workers
 * copy both from their caller. */
#ifndef ML_THREADS_FLOAT_MODE_H
#define ML_THREADS_FLOAT_MODE_H

#include <stdint.h>

/* The mode bits of MXCSR, without its status bits; FPCR has only modes. */
static inline uint32_t ml_float_mode(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3Fu;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (uint32_t)mode;
#else
    return 0;
#endif
}

static inline void ml_set_float_mode(uint32_t mode) {
#if defined(__x86_64__)
    if (ml_float_mode() != mode) __builtin_ia32_ldmxcsr(mode);
#elif defined(__aarch64__)
    if (ml_float_mode() != mode) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
#else
#endif
}

#endif
