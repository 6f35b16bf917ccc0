"""What rows check of quantization: small functions that refuse a node."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Tensor
from minilite.ops_shared.operator import OpNode

QUANTIZED = frozenset({TensorType.INT8, TensorType.UINT8, TensorType.INT16})
"""The types whose integers stand for reals wherever an operator does not say otherwise."""


def input_of(node: OpNode, position: int = 0) -> Tensor:
    """An input that the node's row says is there."""
    tensor = node.inputs[position]
    assert tensor is not None
    return tensor


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


def check_channels(node: OpNode, tensor: Tensor) -> None:
    """Positive, finite scales, one or one an index of a dimension, and zero points of the type. Raises:
    UnsupportedOpError."""
    q, count = tensor.quantization, len(scales_of(node, tensor))
    check_zero_points(node, tensor)
    if len(q.zero_points) not in (0, 1, count):
        raise node.refuse(f"tensor '{tensor.name}' has {count} scales and {len(q.zero_points)} zero points")
    if count > 1 and tensor.data is not None:
        axis, shape = q.quantized_dimension, tensor.shape
        if not 0 <= axis < len(shape) or shape[axis] != count:
            raise node.refuse(f"tensor '{tensor.name}' has {count} scales along dimension {axis} of shape {shape}")


def check_quantized(node: OpNode, *tensors: Tensor | None) -> None:
    """One scale, positive and finite, and a zero point of the type, for each that is there. Raises:
    UnsupportedOpError."""
    for tensor in tensors:
        if tensor is not None:
            tensor_scale(node, tensor)
            check_zero_points(node, tensor)


def quantized(node: OpNode) -> None:
    """A row's `check`: inputs and outputs of s8, u8 or s16 are quantized, as a whole. Raises: UnsupportedOpError."""
    check_quantized(node, *_tensors(node))


def quantized_or_bare(node: OpNode) -> None:
    """A row's `check`: as `quantized`, but all may lack a scale together, which TFLite takes as 0. Raises:
    UnsupportedOpError."""
    if any(tensor.quantization.scales for tensor in _tensors(node)):
        quantized(node)


def _tensors(node: OpNode) -> list[Tensor]:
    """Inputs and outputs of quantized types."""
    return [t for t in (*node.inputs, *node.outputs) if t is not None and t.type in QUANTIZED]


def check_output(node: OpNode, scale: float, zero_point: int) -> None:
    """Output 0 has this scale and zero point, which the operator's arithmetic builds in. Raises: UnsupportedOpError."""
    q = node.outputs[0].quantization
    if abs(q.scale - scale) > 1e-3 * scale or q.zero_point != zero_point:
        raise node.refuse(
            f"output scale {q.scale} and zero point {q.zero_point} must be 1/{1 / scale:g} and {zero_point}"
        )
