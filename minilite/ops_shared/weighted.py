"""Helpers for references of operators that multiply input 0 with weights (input 1) and add a bias (input 2).

csrc/rules/weighted.c does the same for kernels, and refuses quantization that is not valid; so references need not
check it.
"""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.fixed_point import (
    activation_range,
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_s64,
    quantize_multipliers,
    round_half_away,
)
from minilite.ops_shared.operator import OpNode
from minilite.ops_shared.options import ACTIVATION_LIMITS, activation


def _tensor(node: OpNode, position: int) -> Tensor:
    tensor = node.inputs[position]
    assert tensor is not None
    return tensor


def scales_differ(node: OpNode) -> bool:
    """True if the weights have several scales that are not all equal."""
    return len(set(_tensor(node, 1).quantization.scales)) > 1


def weight_scales(node: OpNode, outputs: int) -> Array:
    """The scale of each output's weights, in float64."""
    weights = _tensor(node, 1)
    scales = np.array(weights.quantization.scales, np.float64)
    if len(scales) not in (1, outputs):
        message = f"tensor {weights.index} ('{weights.name}') has {len(scales)} scales for {outputs} outputs"
        raise ValueError(message)
    return np.broadcast_to(scales, outputs)


def real_multipliers(node: OpNode, outputs: int, *, single: bool = False) -> Array:
    """The factors for the sums of an integer node's outputs, in float64.

    With `single`, the product of both scales is rounded to float32, as in TFLite's uint8 convolutions."""
    product = _tensor(node, 0).quantization.scale * weight_scales(node, outputs)
    if single:
        product = product.astype(np.float32).astype(np.float64)
    real: Array = product / node.outputs[0].quantization.scale
    return real


def centered(node: OpNode, x: Array, position: int) -> Array:
    """Input `position` as float64, minus its zero point if quantized."""
    zero = _tensor(node, position).quantization.zero_point if x.dtype.kind in "iu" else 0
    return x.astype(np.float64) - zero


def clamp(node: OpNode, y: Array) -> Array:
    """Outputs clamped by the node's fused activation, in the output's type: float32, or quantized integers."""
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


def quantize_rows(x: Array, *, asymmetric: bool) -> tuple[Array, Array, Array]:
    """Each row of float32 as integers in float64, its scale (float32) and its zero point: TFLite's
    SymmetricQuantizeFloats, or AsymmetricQuantizeFloats. A row of zeros has scale 1."""
    least = np.minimum(x.min(axis=1, initial=0.0), 0.0)[:, np.newaxis]
    most = np.maximum(x.max(axis=1, initial=0.0), 0.0)[:, np.newaxis]
    flat = least == most
    zero: Array
    scale: Array
    if asymmetric:
        low, real = -128.0, np.where(flat, 1.0, (most - least).astype(np.float64) / 255.0)
        from_least, from_most = -128.0 - least / real, 127.0 - most / real
        nearer = 128.0 + np.abs(least / real) < 127.0 + np.abs(most / real)
        zero = round_half_away(np.clip(np.where(nearer, from_least, from_most), -128.0, 127.0))
        scale = real.astype(np.float32)
        zero, inverse = np.where(flat, 0.0, zero), np.float32(1) / scale
    else:
        low, span = -127.0, np.where(flat, np.float32(127), np.maximum(-least, most))
        scale, inverse = span / np.float32(127), np.float32(127) / span
        zero = np.zeros(scale.shape)
    steps = zero + round_half_away(x * inverse)
    return np.clip(steps, low, 127.0), scale.astype(np.float32), zero


def is_hybrid(node: OpNode) -> bool:
    """True if the input is float and weights are integers."""
    return _tensor(node, 0).type == TensorType.FLOAT32 != _tensor(node, 1).type


def as_s8(weights: Array) -> Array:
    """Integer weights for a float input; for these, u8 means s8."""
    return weights.view(np.int8) if weights.dtype == np.uint8 else weights


def convolved(node: OpNode, x: Array, weights: Array, *, asymmetric: bool) -> tuple[Array, Array, Array | None]:
    """Image and filter in the form that is multiplied and summed, in float64: integers minus their zero points.

    For a float image and integer weights, each batch of the image is quantized, and the third value has their scales;
    else it is None."""
    if not is_hybrid(node):
        return centered(node, x, 0), centered(node, weights, 1), None
    weights = as_s8(weights).astype(np.float64)
    steps, scale, zero = quantize_rows(x.reshape(len(x), -1), asymmetric=asymmetric)
    return (steps - zero).reshape(x.shape), weights, scale.reshape(-1, *(1,) * (x.ndim - 1))


def finish(node: OpNode, sums: Array, scale: Array | None, bias: Array | None, *, weights_first: bool = False) -> Array:
    """Sums (outputs last) to outputs; those of quantized inputs are bias + sums * (scale * scale_w), in float32.

    `weights_first` makes it bias + (sums * scale_w) * scale."""
    if scale is None:
        return requantize(node, sums, bias)
    of_weights, reals = weight_scales(node, sums.shape[-1]).astype(np.float32), sums.astype(np.float32)
    product: Array = reals * of_weights * scale if weights_first else reals * (scale * of_weights)
    return clamp(node, product if bias is None else bias + product)


def hybrid_product(node: OpNode, x: Array, weights: Array, bias: Array | None) -> Array:
    """Rows of float32 times integer weights, as float32: bias + (x_q - zero) @ w * (scale_x * scale_w), each row
    quantized by itself."""
    rows, scale, zero = quantize_rows(x, asymmetric=bool(node.options["asymmetric_quantize_inputs"]))
    sums = ((rows - zero) @ as_s8(weights).astype(np.float64).T).astype(np.float32)
    scales = scale * weight_scales(node, len(weights)).astype(np.float32)
    product: Array = sums * scales
    return product if bias is None else bias + product
