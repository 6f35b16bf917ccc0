/* run_core.h -- the core's functions for calls of kernels in a run. */
#ifndef ML_RUN_RUN_CORE_H
#define ML_RUN_RUN_CORE_H

#include "kernel.h"

extern const ml_core ml_run_core;

#endif
