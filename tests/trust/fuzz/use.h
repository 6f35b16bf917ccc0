/* use.h -- what the harnesses do with the bytes of a model: read, lower, plan, run, resize, run. */
#ifndef ML_FUZZ_USE_H
#define ML_FUZZ_USE_H

#include <stddef.h>
#include <stdint.h>

/* Uses a model. Tensor i of subgraph 0 gets `offsets[i]` as its place in a memory plan of the file,
 * as far as there are offsets. */
void ml_fuzz_use(const uint8_t *data, size_t bytes, const int32_t *offsets, int32_t n_offsets);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
