"""RFFT2D: the discrete Fourier transform of the last two dimensions of reals."""

from __future__ import annotations

import numpy as np

from minilite.errors import ShapeError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "RFFT2D",
    rounding={
        "": "in float64, rounded once",
    },
)
def rfft2d(node: OpNode, x: Array, lengths: Array) -> Array:  # noqa: ARG001
    """numpy's, in float64."""
    for i, length in enumerate(lengths.tolist()):
        if length < 1 or length & length - 1:
            message = f"length {i} is {length}, must be a power of two"
            raise ShapeError(message)
    height, width = lengths.tolist()
    if x.size == 0:
        return np.zeros((*x.shape[:-2], height, width // 2 + 1), np.complex64)
    return np.asarray(np.fft.rfft2(x.astype(np.float64), s=(height, width)).astype(np.complex64))
