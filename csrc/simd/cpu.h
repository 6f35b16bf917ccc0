/* cpu.h -- the features of the processor whose registers the system saves for threads. */
#ifndef ML_CPU_H
#define ML_CPU_H

#include <stdbool.h>

/* The features that levels need. */
typedef struct ml_cpu {
    bool scalar; /* always */
    bool sse2;
    bool avx2;   /* with fma and f16c, and the system saves ymm registers */
    bool avx_vnni;
    bool avx512; /* f, bw, vl, dq, vnni, vbmi, and the system saves zmm registers */
    bool amx; /* tile and int8, besides avx512; the system can save tiles if it permits their use */
    bool neon;
    bool neon_dot; /* SDOT and UDOT */
    bool i8mm; /* SMMLA and USMMLA, besides neon_dot */
} ml_cpu;

/* Asks the processor. Takes some microseconds in a virtual machine. */
ml_cpu ml_cpu_probe(void);

#endif
