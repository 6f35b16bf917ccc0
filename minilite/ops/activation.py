"""RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LOGISTIC: elementwise activations."""

from __future__ import annotations

import functools
import math
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
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_LIMITS = {
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
_BYTES = (TensorType.INT8, TensorType.UINT8)


def lower_relu(node: OpNode) -> Kernel:
    """float32; int8, uint8, int16 as quantized numbers."""
    source = _source(node)
    if source.type == TensorType.FLOAT32:
        minimum, maximum = _LIMITS[node.op]
        return Kernel("relu_f32", minimum=minimum, maximum=maximum)
    if source.type in _BYTES:
        return Kernel("lookup_8", table=reference_relu(node, _all_bytes(source)))
    if source.type != TensorType.INT16:
        raise node.refuse(f"type {source.type.name} is not supported")
    return Kernel("relu_s16", **_relu_parameters(node))


def reference_relu(node: OpNode, x: Array) -> Array:
    """y = min(max(x, minimum), maximum); quantized types requantize (double rounding) and clamp in the output's scale."""
    if x.dtype == np.float32:
        minimum, maximum = _LIMITS[node.op]
        return np.asarray(np.clip(x, np.float32(minimum), np.float32(maximum)))
    p = _relu_parameters(node)
    scaled = multiply_by_quantized_multiplier(x.astype(np.int32) - p["input_zero_point"], p["mantissa"], p["shift"])
    y: Array = np.clip(scaled.astype(np.int64) + p["zero_point"], p["minimum"], p["maximum"])
    return y.astype(x.dtype)


def lower_logistic(node: OpNode) -> Kernel:
    """float32; int8, uint8 as quantized numbers."""
    source, output = _source(node), node.outputs[0].quantization
    if source.type == TensorType.FLOAT32:
        return Kernel("logistic_f32")
    if source.type not in _BYTES:
        raise node.refuse(f"type {source.type.name} is not supported")
    tensor_scale(node, source)
    if output.scale != 1 / 256:
        raise node.refuse(f"output scale {output.scale} must be 1/256")
    return Kernel("lookup_8", table=reference_logistic(node, _all_bytes(source)))


def reference_logistic(node: OpNode, x: Array) -> Array:
    """y = 1 / (1 + exp(-x)); 8 bits: through float32, as TFLite's table."""
    with np.errstate(over="ignore"):
        if x.dtype == np.float32:
            return np.asarray((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32))
        q = _source(node).quantization
        real = np.float32(q.scale) * (x.astype(np.int32) - q.zero_point).astype(np.float32)
        y = np.float32(1) / (np.float32(1) + np.exp(-real.astype(np.float64)).astype(np.float32))
    output = node.outputs[0].quantization
    steps = round_half_away(y * (np.float32(1) / np.float32(output.scale))) + np.float32(output.zero_point)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(steps, info.min, info.max).astype(x.dtype))


def _source(node: OpNode) -> Tensor:
    """The input, of the output's type."""
    source = node.input(0)
    if source is None:
        raise node.refuse("takes one input")
    if source.type != node.outputs[0].type:
        raise node.refuse(f"input type {source.type.name} differs from output type {node.outputs[0].type.name}")
    return source


def _all_bytes(tensor: Tensor) -> Array:
    """Every value of an 8-bit type, in the order of the bytes that stand for them."""
    return np.arange(256, dtype=np.uint8).view(numpy_type(tensor.type))


def _relu_parameters(node: OpNode) -> dict[str, Any]:
    source, output = _source(node), node.outputs[0]
    scale = np.float32(tensor_scale(node, output))
    mantissa, shift = quantize_multiplier(float(np.float32(tensor_scale(node, source)) / scale))
    info, zero_point = np.iinfo(numpy_type(output.type)), output.quantization.zero_point
    low, high = (float(round_half_away(np.asarray(np.float32(v) / scale))) + zero_point for v in _LIMITS[node.op])
    return {
        "mantissa": mantissa,
        "shift": shift,
        "input_zero_point": source.quantization.zero_point,
        "zero_point": zero_point,
        "minimum": int(max(low, info.min)),
        "maximum": int(min(high, info.max)),
    }


_relu = functools.partial(Operator, lower=lower_relu, reference=reference_relu, in_place=(0,))
OPERATORS = (
    _relu("RELU", range(1, 4)),
    _relu("RELU6", range(1, 4)),
    _relu("RELU_N1_TO_1", range(1, 2)),
    _relu("RELU_0_TO_1", range(1, 2)),
    Operator("LOGISTIC", range(1, 4), lower=lower_logistic, reference=reference_logistic, in_place=(0,)),
)
