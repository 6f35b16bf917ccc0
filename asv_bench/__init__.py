"""Benchmarks and the history of their figures; see README.md in this folder."""
