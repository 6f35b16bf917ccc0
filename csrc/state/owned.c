/* owned.c -- objects in cells of the caller, which free what they hold. */
#include "api/minilite.h"

/* Empties the cell first: whoever looks at it meanwhile finds nothing that is being freed. */
#define ML_END(kind)                                                                               \
    void ml_##kind##_end(ml_##kind **cell) {                                                       \
        ml_##kind *held = *cell;                                                                   \
        *cell = NULL;                                                                              \
        if (held) ml_##kind##_free(held);                                                          \
    }

ML_END(file)
ML_END(lowering)
ML_END(graph)
ML_END(family)
ML_END(state)
ML_END(plan)
ML_END(store)
ML_END(cancel)
ML_END(interpreter)
ML_END(workspace)
ML_END(planner)
#undef ML_END
