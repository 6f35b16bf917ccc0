"""MEAN: over any set of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType
from minilite.format.model import Array
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_PLAIN = {TensorType.FLOAT32: "f32", TensorType.INT32: "s32", TensorType.INT64: "s64"}
_QUANTIZED = {TensorType.INT8: "s8", TensorType.UINT8: "u8", TensorType.INT16: "s16"}


def lower_mean(node: OpNode) -> Kernel:
    """float32, int32, int64; int8, uint8, int16 as quantized numbers."""
    source, axes, output = node.input(0), node.input(1), node.outputs[0]
    if source is None or axes is None:
        raise node.refuse("takes an input and the axes to reduce")
    if source.type != output.type:
        raise node.refuse(f"input type {source.type.name} differs from output type {output.type.name}")
    if axes.type != TensorType.INT32:
        raise node.refuse(f"axes of type {axes.type.name} must be INT32")
    keep_dims = _keep_dims(node)
    if source.type in _PLAIN:
        return Kernel(f"mean_{_PLAIN[source.type]}", keep_dims=keep_dims)
    if source.type not in _QUANTIZED:
        raise node.refuse(f"type {source.type.name} is not supported")
    return Kernel(f"mean_{_QUANTIZED[source.type]}", keep_dims=keep_dims, **_requantization(node))


def reference_mean(node: OpNode, x: Array, axes: Array) -> Array:
    """The sum over the axes by their count; of no elements NaN or 0. Integers divide towards 0, quantized ones as TFLite."""
    over = tuple({int(axis) % x.ndim for axis in axes.ravel()}) if x.ndim else ()
    keep = bool(_keep_dims(node))
    count = int(np.prod([x.shape[axis] for axis in over], dtype=np.int64))
    if x.dtype == np.float32:
        with np.errstate(all="ignore"):
            total = x.astype(np.float64).sum(axis=over, keepdims=keep)
            return np.asarray((total / np.float64(count)).astype(np.float32))
    total = np.asarray(x.astype(np.int64).sum(axis=over, keepdims=keep))
    if count == 0:
        return np.zeros(total.shape, x.dtype)
    if node.outputs[0].type in _PLAIN:
        return np.asarray((np.sign(total) * (np.abs(total) // count)).astype(x.dtype))
    p = _requantization(node)
    bits = min(count.bit_length() - 1, 32, 31 + p["shift"])
    mantissa, shift = (p["mantissa"] << bits) // count, p["shift"] - bits
    scaled = multiply_by_quantized_multiplier((total - p["input_zero_point"] * count).astype(np.int32), mantissa, shift)
    info = np.iinfo(x.dtype)
    return np.asarray(np.clip(scaled.astype(np.int64) + p["zero_point"], info.min, info.max).astype(x.dtype))


def _keep_dims(node: OpNode) -> int:
    return int(bool(node.options.get("keep_dims", False)))


def _requantization(node: OpNode) -> dict[str, Any]:
    source, output = node.inputs[0], node.outputs[0]
    assert source is not None
    mantissa, shift = quantize_multiplier(tensor_scale(node, source) / tensor_scale(node, output))
    return {
        "mantissa": mantissa,
        "shift": shift,
        "input_zero_point": source.quantization.zero_point,
        "zero_point": output.quantization.zero_point,
    }


OPERATORS = (Operator("MEAN", range(1, 4), lower=lower_mean, reference=reference_mean),)
