"""Time: lowering a Model's nodes to kernels, and running them in C."""
