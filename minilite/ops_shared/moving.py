"""What operators that only move elements take: types, and quantization that moving leaves alone."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array, Tensor
from minilite.ops_shared.operator import OpNode

WHOLE_BYTES = "f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64 c128"
"""The types whose elements are whole bytes, as rows spell them."""


def scale_and_zero_point(tensor: Tensor) -> tuple[np.float32, int]:
    """A tensor's single scale and zero point, zeros when there is none."""
    return np.float32(tensor.quantization.scale), tensor.quantization.zero_point


def check_same_scale(node: OpNode, tensor: Tensor, name: str) -> None:
    """Scale and zero point are those of output 0. Raises: UnsupportedOpError."""
    one, other = scale_and_zero_point(tensor), scale_and_zero_point(node.outputs[0])
    if one != other:
        message = (
            f"scale and zero point ({one[0]}, {one[1]}) of {name} do not match ({other[0]}, {other[1]}) of the output"
        )
        raise node.refuse(message)


def checked_indices(indices: Array, bounds: int | tuple[int, ...]) -> Array:
    """The indices, each at least 0 and below its bound: one for all, or one for each index of a row. Raises:
    IndexError."""
    outside = (indices < 0) | (indices >= np.array(bounds))
    if outside.any():
        message = f"index {indices[outside][0]} is outside the dimensions {bounds}"
        raise IndexError(message)
    return indices
