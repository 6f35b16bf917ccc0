"""Operators that multiply their input (0) with weights (1) and add a bias (2): what their numpy references share.

What their kernels make of the quantization stands in csrc/rules/weighted.c, which refuses what cannot be; references may
take it to be whole.
"""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.fixed_point import (
    ACTIVATION_LIMITS,
    activation_range,
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_s64,
    quantize_multipliers,
)
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.options import activation


def dense(node: OpNode) -> None:
    """A row's `check`: the weights are dense. Raises: UnsupportedOpError."""
    weights = node.inputs[1]
    if weights is not None and weights.sparsity is not None:
        raise node.refuse(f"weights '{weights.name}' are sparse, only dense ones are supported")


def _tensor(node: OpNode, position: int) -> Tensor:
    tensor = node.inputs[position]
    assert tensor is not None
    return tensor


def weight_scales(node: OpNode, outputs: int) -> Array:
    """The scale of each output's weights, in float64."""
    scales = np.array(_tensor(node, 1).quantization.scales, np.float64)
    return scales if len(scales) == outputs else np.full(outputs, scales[0])


def real_multipliers(node: OpNode, outputs: int, *, single: bool = False) -> Array:
    """What to multiply the sums of an integer node's outputs with, in float64.

    `single` rounds the product of both scales to float32, as TFLite does for uint8 convolutions."""
    product = _tensor(node, 0).quantization.scale * weight_scales(node, outputs)
    if single:
        product = product.astype(np.float32).astype(np.float64)
    real: Array = product / node.outputs[0].quantization.scale
    return real


def centered(node: OpNode, x: Array, position: int) -> Array:
    """Input `position` as float64, less its zero point when quantized."""
    zero = _tensor(node, position).quantization.zero_point if x.dtype.kind in "iu" else 0
    return x.astype(np.float64) - zero


def clamp(node: OpNode, y: Array) -> Array:
    """Outputs limited by the node's fused activation, in the output's type: reals as float32, integers as quantized."""
    output = node.outputs[0]
    name = activation(node)
    low, high = ACTIVATION_LIMITS[name] if output.type == TensorType.FLOAT32 else activation_range(output, name)
    kind = np.dtype(numpy_type(output.type))
    limited: Array = (
        np.clip(y.astype(kind), kind.type(low), kind.type(high)) if kind.kind == "f" else np.clip(y, low, high)
    )
    return limited.astype(kind)


def add_bias(sums: Array, bias: Array | None) -> Array:
    """Integer sums (float64, exact) plus the bias, in int64."""
    total: Array = sums.astype(np.int64) + (0 if bias is None else bias.astype(np.int64))
    return total


def requantize(node: OpNode, sums: Array, bias: Array | None) -> Array:
    """Sums (float64, exact for integers; outputs last) to outputs: bias, requantization of integers, clamp.

    int8 and uint8 requantize by double rounding; int16 by a multiplier of 16 bits, unless its bias is int32."""
    output = node.outputs[0]
    if output.type == TensorType.FLOAT32:
        return clamp(node, sums if bias is None else sums + bias)
    reals = real_multipliers(node, sums.shape[-1], single=output.type == TensorType.UINT8)
    mantissas, shifts = quantize_multipliers(reals)
    total = add_bias(sums, bias)
    if output.type == TensorType.INT16 and (bias is None or bias.dtype == np.int64):
        scaled = multiply_by_quantized_multiplier_s64(total, mantissas, shifts)
    else:
        scaled = multiply_by_quantized_multiplier(total.astype(np.int32), mantissas, shifts)
    return clamp(node, scaled.astype(np.int64) + output.quantization.zero_point)
