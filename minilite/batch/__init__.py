"""Runs many items in batches, checks that a batch gives the results of single runs, and rewrites models for it."""
