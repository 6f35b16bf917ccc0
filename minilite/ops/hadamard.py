"""aeq.hadamard_rotation: multiplies blocks of the last dimension by the Hadamard matrix of their size."""

from __future__ import annotations

import numpy as np

from minilite.errors import ShapeError
from minilite.format.flexbuffer import scalars
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "aeq.hadamard_rotation",
    rounding={
        "": (
            "sums and differences of numbers 1, 2, 4 ... apart, in this order, and one factor; the signs in "
            "the options are not used"
        ),
    },
    options=scalars,
)
def hadamard(node: OpNode, x: Array) -> Array:
    """Computes sums and differences of numbers at distances 1, 2, 4 ..., and multiplies by one factor."""
    size = int(node.options["hadamard_size"])
    if x.ndim not in (2, 3):
        message = f"the input must have 2 or 3 dimensions, its shape is {x.shape}"
        raise ShapeError(message)
    if x.shape[-1] % size:
        message = f"the last dimension is {x.shape[-1]}, must be a multiple of {size}"
        raise ShapeError(message)
    y = x
    for apart in (1 << step for step in range(size.bit_length() - 1)):
        low, high = np.moveaxis(y.reshape(*x.shape[:-1], x.shape[-1] // (2 * apart), 2, apart), -2, 0)
        y = np.stack([low + high, low - high], axis=-2)
    return np.asarray(y.reshape(x.shape) * np.float32(1 / np.sqrt(size)))
