"""Running models: lowering their nodes to kernels, memory, calls of arrays, copies."""
