"""Weights laid out for the inner loops of csrc/matmul.c, once a model."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array

PANEL = 8
"""ML_PANEL of csrc/matmul.h."""


def pack_panels(weights: Array) -> Array:
    """float32 weights (groups, outputs, inputs) as panels of eight outputs, (groups, panels, inputs, 8), zeros in excess."""
    groups, outputs, inputs = weights.shape
    panels = -(-outputs // PANEL)
    padded = np.zeros((groups, panels * PANEL, inputs), np.float32)
    padded[:, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(groups, panels, PANEL, inputs).transpose(0, 1, 3, 2))


ROW = 16
"""Elements that rows of integer weights are a multiple of: ml_padded_row of csrc/matmul.h."""


def pad_rows(weights: Array) -> Array:
    """Integer weights (outputs, ...) as rows of whole vectors, zeros in excess; the same array when they already are."""
    rows = weights.reshape(weights.shape[0], -1) if weights.size else weights.reshape(0, 0)
    excess = -rows.shape[1] % ROW
    if not excess:
        return weights
    padded = np.zeros((rows.shape[0], rows.shape[1] + excess), weights.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded
