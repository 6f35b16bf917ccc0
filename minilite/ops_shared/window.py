"""Windows that slide over (batch, height, width, channels): what convolution and pooling share when lowered, and in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import (
    ACTIVATION_LIMITS,
    activation_range,
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_s64,
    quantize_multipliers,
)
from minilite.ops_shared.operator import OpNode

QUANTIZED = {TensorType.INT8: "s8", TensorType.UINT8: "u8", TensorType.INT16: "s16"}


class Axis(NamedTuple):
    """One axis of a sliding window: as ml_window_axis in csrc/window.h."""

    size: int
    out: int
    taps: int
    stride: int
    dilation: int
    before: int

    @classmethod
    def of(cls, size: int, taps: int, stride: int, dilation: int, same: bool) -> Axis:
        """TFLite's rule: SAME gives ceil(size / stride) windows, half of the padding first; VALID only whole ones."""
        extent = (taps - 1) * dilation + 1
        if not same:
            return cls(size, max(0, (size + stride - extent) // stride), taps, stride, dilation, 0)
        out = -(-size // stride)
        return cls(size, out, taps, stride, dilation, max(0, (out - 1) * stride + extent - size) // 2)

    def seen(self, tap: int) -> slice:
        """What all windows see through one tap, of an input with its padding."""
        start = tap * self.dilation
        return slice(start, start + self.out * self.stride, self.stride)


def axes(node: OpNode, x: Array, height: int, width: int) -> tuple[Axis, Axis]:
    """The vertical and the horizontal axis of a node's windows over x."""
    options, same = node.options, node.options["padding"] == "SAME"
    return (
        Axis.of(x.shape[1], height, options["stride_h"], options.get("dilation_h_factor", 1), same),
        Axis.of(x.shape[2], width, options["stride_w"], options.get("dilation_w_factor", 1), same),
    )


def taps(x: Array, down: Axis, across: Axis, outside: float = 0.0) -> Iterator[tuple[int, int, Array]]:
    """(row, column, what all windows see through that tap): views on x, surrounded by `outside`."""
    after = [a.out * a.stride + (a.taps - 1) * a.dilation - a.before - a.size for a in (down, across)]
    padding = [(a.before, max(0, more)) for a, more in zip((down, across), after, strict=True)]
    padded = np.pad(x, [(0, 0), *padding, (0, 0)], constant_values=outside)
    for i in range(down.taps):
        for j in range(across.taps):
            yield i, j, padded[:, down.seen(i), across.seen(j)]


def window_params(node: OpNode, names: Mapping[str, str]) -> dict[str, Any]:
    """The integer parameters of a window by their names in C, from the options named; each must be positive."""
    params = {name: node.options.get(option, 1) for name, option in names.items()}
    for name, option in names.items():
        if not 0 < params[name] < 1 << 31:
            raise node.refuse(f"{option} must be positive, it is {params[name]}")
    padding = node.options["padding"]
    if padding not in ("SAME", "VALID"):
        raise node.refuse(f"padding must be SAME or VALID, it is {padding}")
    return {"same": int(padding == "SAME"), **params}


STRIDES = {
    "stride_h": "stride_h",
    "stride_w": "stride_w",
    "dilation_h": "dilation_h_factor",
    "dilation_w": "dilation_w_factor",
}


def activation(node: OpNode) -> str:
    """The node's fused activation, which must be a clamp."""
    name = node.options["fused_activation_function"]
    if name not in ACTIVATION_LIMITS:
        raise node.refuse(f"fused activation {name} is not supported, only {', '.join(ACTIVATION_LIMITS)} are")
    return str(name)


def clamp_params(node: OpNode) -> dict[str, Any]:
    """`minimum` and `maximum` of the node's output: reals, or integers of a quantized output."""
    output, name = node.outputs[0], activation(node)
    low, high = ACTIVATION_LIMITS[name] if output.type == TensorType.FLOAT32 else activation_range(output, name)
    return {"minimum": low, "maximum": high}


def clamp(node: OpNode, y: Array) -> Array:
    """Float values limited by the node's fused activation, as float32."""
    low, high = ACTIVATION_LIMITS[activation(node)]
    limited: Array = np.clip(y.astype(np.float32), np.float32(low), np.float32(high))
    return limited


# Types of input, weights and output -> by operator, the types its bias may have.
_OPS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
_BIASES: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {
    ("FLOAT32", "FLOAT32", "FLOAT32"): dict.fromkeys(_OPS, ("FLOAT32",)),
    ("INT8", "INT8", "INT8"): dict.fromkeys(_OPS, ("INT32",)),
    ("UINT8", "UINT8", "UINT8"): dict.fromkeys(_OPS, ("INT32",)),
    ("INT16", "INT8", "INT16"): {"CONV_2D": ("INT64", "INT32"), "DEPTHWISE_CONV_2D": ("INT64",)},
}


class Weighted(NamedTuple):
    """The tensors of a node that multiplies its input with weights, all checked."""

    x: Tensor
    weights: Tensor
    bias: Tensor | None
    y: Tensor

    @classmethod
    def of(cls, node: OpNode) -> Weighted:
        """Types: float32 throughout; int8 or uint8 throughout with an int32 bias; int16 with int8 weights in convolutions,
        and an int64 bias or, in CONV_2D, an int32 one."""
        x, weights, bias = node.input(0), node.input(1), node.input(2)
        if x is None or weights is None or not node.outputs:
            raise node.refuse("needs an input, weights and an output")
        y = node.outputs[0]
        if weights.sparsity is not None:
            raise node.refuse(f"weights '{weights.name}' are sparse, only dense ones are supported")
        kinds = tuple(t.type.name for t in (x, weights, y))
        if x.type == TensorType.FLOAT32 and weights.type != TensorType.FLOAT32:
            raise node.refuse(f"{weights.type.name} weights with FLOAT32 input (hybrid) are not supported yet")
        biases = _BIASES.get(kinds, {}).get(node.op)
        if biases is None:
            raise node.refuse(f"types of input, weights and output {', '.join(kinds)} are not supported")
        if bias is not None and bias.type.name not in biases:
            expected = " or ".join(biases)
            raise node.refuse(f"bias of type {bias.type.name} with {x.type.name} input, it must be {expected}")
        return cls(x, weights, bias, y)


def real_multipliers(node: OpNode, axis: int) -> Array:
    """What to multiply an integer node's sums with, one real for each output along `axis` of its weights."""
    x, weights, _, y = Weighted.of(node)
    scales, zeros = weights.quantization.scales, weights.quantization.zero_points
    count = weights.shape[axis] if axis < len(weights.shape) else 0
    if len(scales) not in (1, count):
        raise node.refuse(f"weights '{weights.name}' have {len(scales)} scales for {count} outputs")
    if len(scales) > 1 and weights.quantization.quantized_dimension != axis:
        found = weights.quantization.quantized_dimension
        raise node.refuse(f"weights '{weights.name}' are quantized along dimension {found}, it must be {axis}")
    if len(scales) > 1 and any(zeros):
        raise node.refuse(f"weights '{weights.name}' with a scale per output must have zero points of 0")
    scale = np.array(scales, np.float64)
    if not np.all((scale >= 0) & np.isfinite(scale)):
        raise node.refuse(f"weights '{weights.name}' must have scales >= 0, the least is {scale.min()}")
    real: Array = tensor_scale(node, x) * scale / tensor_scale(node, y)
    return real if len(real) == count else np.full(count, real[0])


def offset_params(node: OpNode) -> dict[str, Any]:
    """The zero points of input, weights and output by their names in C."""
    x, weights, _, y = Weighted.of(node)
    zero_points = {"input": x, "filter": weights, "output": y}
    return {f"{name}_offset": t.quantization.zero_point for name, t in zero_points.items()}


def integer_params(node: OpNode, axis: int) -> dict[str, Any]:
    """Multipliers and offsets of an integer convolution by their names in C."""
    x, weights, _, y = Weighted.of(node)
    symmetric = {TensorType.INT8: (weights,), TensorType.INT16: (x, weights, y)}
    for tensor in symmetric.get(x.type, ()):
        if any(tensor.quantization.zero_points):
            raise node.refuse(f"tensor '{tensor.name}' of type {tensor.type.name} must have zero points of 0")
    mantissas, shifts = quantize_multipliers(real_multipliers(node, axis))
    return {"mantissas": mantissas, "shifts": shifts, **offset_params(node)}


def finish(node: OpNode, sums: Array, bias: Array | None, axis: int) -> Array:
    """Sums (float64, exact for integers) to outputs: bias, requantization of integers, clamp.

    int8 and uint8 requantize by double rounding; int16 by a multiplier of 16 bits, unless its bias is int32."""
    kind = node.outputs[0].type
    if kind == TensorType.FLOAT32:
        return clamp(node, sums if bias is None else sums + bias)
    p = integer_params(node, axis)
    total = sums.astype(np.int64) + (0 if bias is None else bias.astype(np.int64))
    if kind == TensorType.INT16 and (bias is None or bias.dtype == np.int64):
        scaled = multiply_by_quantized_multiplier_s64(total, p["mantissas"], p["shifts"])
    else:
        scaled = multiply_by_quantized_multiplier(total.astype(np.int32), p["mantissas"], p["shifts"])
    limits = clamp_params(node)
    y = np.clip(scaled.astype(np.int64) + p["output_offset"], limits["minimum"], limits["maximum"])
    limited: Array = y.astype(numpy_type(kind))
    return limited


def centered(node: OpNode, x: Array, position: int) -> Array:
    """Input `position` as float64, less its zero point when quantized."""
    tensor = node.inputs[position]
    zero = tensor.quantization.zero_point if tensor is not None and x.dtype.kind in "iu" else 0
    return x.astype(np.float64) - zero
