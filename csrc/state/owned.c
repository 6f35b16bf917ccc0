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
ML_END(planner)
#undef ML_END

int32_t ml_store_put(ml_store **cell) { return (*cell = ml_store_new()) != NULL; }

int32_t ml_cancel_put(ml_cancel **cell) { return (*cell = ml_cancel_new()) != NULL; }

int32_t ml_interpreter_put(ml_interpreter **cell, int32_t resources, int32_t subgraphs,
                           int64_t max_bytes, int64_t max_iterations) {
    *cell = ml_interpreter_new(resources, subgraphs, max_bytes, max_iterations);
    return *cell != NULL;
}

int32_t ml_planner_put(ml_planner **cell, const ml_planner_graph *graph, const char *strategy,
                       int32_t options, int32_t alignment) {
    *cell = ml_planner_new(graph, strategy, options, alignment);
    return *cell != NULL;
}
