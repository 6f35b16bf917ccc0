"""QUANTIZE and DEQUANTIZE: between real numbers and integers, and between integers of different scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
)
from minilite.ops_shared.operator import Constants, Kernel, Operator, OpNode

_SUFFIX = {
    TensorType.INT8: "s8",
    TensorType.UINT8: "u8",
    TensorType.INT16: "s16",
    TensorType.INT32: "s32",
    TensorType.FLOAT16: "f16",
}
_BYTES = (TensorType.INT8, TensorType.UINT8)
_QUANTIZED = (TensorType.INT8, TensorType.UINT8, TensorType.INT16)
_REQUANTIZED = {
    TensorType.INT8: (TensorType.INT8, TensorType.UINT8, TensorType.INT16),
    TensorType.UINT8: (TensorType.INT8, TensorType.UINT8, TensorType.INT16),
    TensorType.INT16: (TensorType.INT8, TensorType.INT16, TensorType.INT32),
    TensorType.INT32: (TensorType.INT8, TensorType.INT16),
}
"""What LiteRT requantizes to what."""


def lower_quantize(node: OpNode) -> Kernel:
    """float32 to int8, uint8, int16; requantization between the pairs LiteRT knows."""
    source, output = _source(node), node.outputs[0]
    scale, zero_point = tensor_scale(node, output), output.quantization.zero_point
    if source.type == TensorType.FLOAT32:
        if output.type not in _QUANTIZED:
            raise node.refuse(f"float32 cannot be quantized to {output.type.name}")
        return Kernel(f"quantize_f32_{_SUFFIX[output.type]}", scale=scale, zero_point=zero_point)
    if output.type not in _REQUANTIZED.get(source.type, ()):
        raise node.refuse(f"{source.type.name} cannot be requantized to {output.type.name}")
    if source.type in _BYTES and output.type in _BYTES:
        by_byte = np.arange(256, dtype=np.uint8).view(numpy_type(source.type))
        return Kernel("lookup_8", table=reference_quantize(node, by_byte))
    return Kernel(f"requantize_{_SUFFIX[source.type]}_{_SUFFIX[output.type]}", **_requantization(node))


def reference_quantize(node: OpNode, x: Array) -> Array:
    """y = round(x / scale) + zero_point, ties away from zero, saturating, NaN to the lowest; integers: double rounding."""
    output = node.outputs[0]
    kind = numpy_type(output.type)
    info, zero_point = np.iinfo(kind), output.quantization.zero_point
    if x.dtype == np.float32:
        with np.errstate(all="ignore"):
            steps = round_half_away(x / np.float32(output.quantization.scale)).astype(np.float64)
        steps = np.where(np.isnan(steps), -np.inf, steps)
    else:
        p = _requantization(node)
        shifted = (x.astype(np.int64) - p["input_zero_point"]).astype(np.int32)
        steps = multiply_by_quantized_multiplier(shifted, p["mantissa"], p["shift"]).astype(np.int64)
    y: Array = np.clip(steps + zero_point, info.min, info.max)
    return y.astype(kind)


def lower_dequantize(node: OpNode) -> Kernel | Constants:
    """int8, uint8, int16 (per tensor or per channel) and float16 to float32; constants are folded."""
    source = _source(node)
    if node.outputs[0].type != TensorType.FLOAT32:
        raise node.refuse(f"output type {node.outputs[0].type.name} must be FLOAT32")
    if source.type != TensorType.FLOAT16:
        if source.type not in _QUANTIZED:
            raise node.refuse(f"type {source.type.name} is not supported")
        if not source.quantization.scales:
            raise node.refuse(f"tensor '{source.name}' must have a scale")
    if source.data is not None:
        return Constants((reference_dequantize(node, source.data),))
    if source.type == TensorType.FLOAT16:
        return Kernel("dequantize_f16")
    scales, zero_points, axis = _channels(source)
    return Kernel(f"dequantize_{_SUFFIX[source.type]}", scales=scales, zero_points=zero_points, axis=axis)


def reference_dequantize(node: OpNode, x: Array) -> Array:
    """y = scale * (x - zero_point) in float32."""
    if x.dtype == np.float16:
        return x.astype(np.float32)
    scales, zero_points, axis = _channels(_source(node))
    if len(scales) > 1:
        along = [1] * x.ndim
        along[axis] = -1
        scales, zero_points = scales.reshape(along), zero_points.reshape(along)
    return np.asarray(scales * (x.astype(np.int32) - zero_points).astype(np.float32)).reshape(x.shape)


def _source(node: OpNode) -> Tensor:
    source = node.input(0)
    if source is None:
        raise node.refuse("takes one input")
    return source


def _requantization(node: OpNode) -> dict[str, Any]:
    source, output = _source(node), node.outputs[0]
    mantissa, shift = quantize_multiplier(tensor_scale(node, source) / tensor_scale(node, output))
    return {
        "mantissa": mantissa,
        "shift": shift,
        "input_zero_point": source.quantization.zero_point,
        "zero_point": output.quantization.zero_point,
    }


def _channels(source: Tensor) -> tuple[Array, Array, int]:
    """Scales, zero points (as many) and the dimension they run along."""
    q = source.quantization
    zero_points = q.zero_points or (0,)
    if len(zero_points) == 1:
        zero_points *= len(q.scales)
    return np.array(q.scales, np.float32), np.array(zero_points, np.int32), q.quantized_dimension


OPERATORS = (
    Operator("QUANTIZE", range(1, 7), lower=lower_quantize, reference=reference_quantize, in_place=(0,)),
    Operator("DEQUANTIZE", range(1, 10), lower=lower_dequantize, reference=reference_dequantize, in_place=(0,)),
)
