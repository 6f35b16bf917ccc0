"""What rows check of quantization: small functions that refuse a node."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Tensor
from minilite.ops_shared.operator import OpNode

QUANTIZED = frozenset({TensorType.INT8, TensorType.UINT8, TensorType.INT16})
"""The types whose integers stand for reals wherever an operator does not say otherwise."""


def scales_of(node: OpNode, tensor: Tensor) -> tuple[float, ...]:
    """The scales of a tensor, of which there is at least one, positive and finite as all are.

    Raises: UnsupportedOpError."""
    scales = tensor.quantization.scales
    if not scales:
        raise node.refuse(f"tensor '{tensor.name}' must have a scale")
    for scale in scales:
        if not 0.0 < scale < math.inf:
            raise node.refuse(f"tensor '{tensor.name}' must have a positive scale, it has {scale}")
    return scales


def tensor_scale(node: OpNode, tensor: Tensor) -> float:
    """The scale of a tensor that must have one for all of it, positive and finite.

    Raises: UnsupportedOpError."""
    scales = scales_of(node, tensor)
    if len(scales) != 1:
        raise node.refuse(f"tensor '{tensor.name}' must have one scale, it has {len(scales)}")
    return scales[0]


def check_zero_points(node: OpNode, tensor: Tensor) -> None:
    """Every zero point is a number that the tensor's type has. Raises: UnsupportedOpError."""
    info = np.iinfo(numpy_type(tensor.type))
    for zero_point in tensor.quantization.zero_points:
        if not info.min <= zero_point <= info.max:
            raise node.refuse(
                f"tensor '{tensor.name}' has the zero point {zero_point}, which is no {tensor.type.suffix}"
            )


def check_quantized(node: OpNode, *tensors: Tensor | None) -> None:
    """One scale, positive and finite, and a zero point of the type, for each that is there. Raises: UnsupportedOpError."""
    for tensor in tensors:
        if tensor is not None:
            tensor_scale(node, tensor)
            check_zero_points(node, tensor)


def quantized(node: OpNode) -> None:
    """A row's `check`: inputs and outputs of s8, u8 or s16 are quantized, as a whole. Raises: UnsupportedOpError."""
    check_quantized(node, *(t for t in (*node.inputs, *node.outputs) if t is not None and t.type in QUANTIZED))
