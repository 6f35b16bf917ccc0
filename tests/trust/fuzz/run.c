/* run.c -- fuzzes lowering, planning and running: the input is a model. */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    ml_fuzz_use(data, bytes, NULL, 0);
    return 0;
}
