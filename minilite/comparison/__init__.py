"""Compares two runs: of two models, runtimes or levels of instructions, or a recording and a new run."""
