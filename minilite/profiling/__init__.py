"""Measures the nodes of a model in runs: times, work, rates, traces."""
