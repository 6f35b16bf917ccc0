"""Helpers for operators that only move elements: their scale, and checked indices."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array, Tensor


def scale_and_zero_point(tensor: Tensor) -> tuple[np.float32, int]:
    """A tensor's single scale and zero point; zeros if there is none."""
    return np.float32(tensor.quantization.scale), tensor.quantization.zero_point


def checked_indices(indices: Array, bounds: int | tuple[int, ...]) -> Array:
    """The indices, each checked to be at least 0 and below its bound; one bound for all, or one per index of a row.
    Raises: IndexError."""
    outside = (indices < 0) | (indices >= np.array(bounds))
    if outside.any():
        message = f"index {indices[outside][0]} is outside the dimensions {bounds}"
        raise IndexError(message)
    return indices.astype(np.intp, copy=False)  # numpy's take refuses int64 on 32-bit machines
