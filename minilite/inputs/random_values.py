"""Draws random values that any model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minilite.errors import InputError
from minilite.format.dtypes import TensorType, array_type
from minilite.format.values import integer_limits

if TYPE_CHECKING:
    from minilite.format.model import Array, Tensor


def random_values(tensor: Tensor, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws floats in [-1, 1), bytes over their range, other integers 0 or 1, strings of one letter. Raises:
    InputError."""
    if tensor.type == TensorType.STRING:
        return rng.choice(np.array(["a", "b", "c"], object), shape)
    dtype = array_type(tensor.type)
    if dtype.kind not in "fciub":
        message = f"input '{tensor.name}' is of type {dtype}: give it with --input"
        raise InputError(message)
    if dtype.kind in "fc":
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize == 1:
        return rng.integers(*integer_limits(tensor.type), shape, endpoint=True).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)
