/* cpu.c -- finds out the features of the processor by CPUID, and which registers the system saves
 * when it switches threads by XGETBV; on Arm it asks the system. */
#include "cpu.h"
#include "os/os.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdint.h>

/* Bits of XCR0. */
enum { SAVES_YMM = 0x06, SAVES_ZMM = 0xE6, SAVES_TILES = 0x60000 };
/* Bits of edx in leaf 7 that have no names in cpuid.h of older compilers. */
enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };

static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

ml_cpu ml_cpu_probe(void) {
    ml_cpu cpu = {.scalar = true, .sse2 = true};
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return cpu;
    bool fma = (c & bit_FMA) && (c & bit_F16C) && (c & bit_AVX);
    uint32_t saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return cpu;
    const uint32_t all = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    const uint32_t bytes = bit_AVX512VNNI | bit_AVX512VBMI;
    cpu.avx2 = fma && (b & bit_AVX2) && (saved & SAVES_YMM) == SAVES_YMM;
    cpu.avx512 =
        cpu.avx2 && (b & all) == all && (c & bytes) == bytes && (saved & SAVES_ZMM) == SAVES_ZMM;
    cpu.amx =
        cpu.avx512 && (d & AMX_TILE) && (d & AMX_INT8) && (saved & SAVES_TILES) == SAVES_TILES;
    /* leaf 7 has subleaves; bit 4 of eax in the first is AVX-VNNI */
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) cpu.avx_vnni = cpu.avx2 && (a & 1 << 4);
    return cpu;
}

#elif defined(__aarch64__)

ml_cpu ml_cpu_probe(void) {
    const bool dot = ml_os_has(ML_OS_DOT_PRODUCTS);
    return (ml_cpu){
        .scalar = true, .neon = true, .neon_dot = dot, .i8mm = dot && ml_os_has(ML_OS_INT8_MATRIX)};
}

#elif defined(__arm__)

ml_cpu ml_cpu_probe(void) { return (ml_cpu){.scalar = true, .neon = ml_os_has(ML_OS_NEON)}; }

#else

ml_cpu ml_cpu_probe(void) { return (ml_cpu){.scalar = true}; }

#endif
