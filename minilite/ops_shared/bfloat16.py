"""bfloat16, the upper half of a float32, which numpy lacks: its arrays are uint16."""

from __future__ import annotations

import functools

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, Reference


def widened(x: Array) -> Array:
    """The float32 of the same values; also of ml_dtypes' arrays."""
    return np.asarray((x.view(np.uint16).astype(np.uint32) << 16).view(np.float32))


def narrowed(x: Array) -> Array:
    """Rounds to nearest, ties to even; a NaN keeps only its sign and the quiet bit."""
    bits = x.view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), bits >> 16 & 0x8000 | 0x7FC0, rounded).astype(np.uint16)


def through_f32(reference: Reference) -> Reference:
    """The reference, which computes bfloat16 in float32, and rounds results once, except truth values."""

    @functools.wraps(reference)
    def rounded(node: OpNode, *inputs: Array) -> Array | tuple[Array, ...]:
        first = node.input(0)
        if first is None or first.type != TensorType.BFLOAT16:
            return reference(node, *inputs)
        y = reference(node, *map(widened, inputs))
        assert isinstance(y, np.ndarray)
        return y if y.dtype == np.bool_ else narrowed(y)

    return rounded
