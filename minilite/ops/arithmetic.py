"""ADD, SUB, MUL, SQUARED_DIFFERENCE: elementwise with numpy's broadcasting and a fused activation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared import fixed_point
from minilite.ops_shared.operator import Meaning, OpNode, reference
from minilite.ops_shared.options import ACTIVATION_LIMITS, activation
from minilite.ops_shared.tensors import input_of

_UFUNCS = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}
_BYTES = (TensorType.INT8, TensorType.UINT8)


def _tensors(node: OpNode) -> tuple[Tensor, Tensor, Tensor]:
    return input_of(node, 0), input_of(node, 1), node.outputs[0]


def _is_quantized(node: OpNode) -> bool:
    """True if the node is quantized: 8 bits always, 16 bits if there are scales."""
    y = node.outputs[0]
    return y.type in _BYTES or (y.type == TensorType.INT16 and bool(y.quantization.scales))


@reference(
    "ADD",
    rounding={
        "f32 f16": "one rounding, clamp; NaN passes clamps",
        "s32 s64": "wraps, clamp",
        "s8 u8": (
            "each operand `(x - zp) << 20`, double rounding by `scale / (2 max scale)` (float64 quotient): a "
            "table each; the sum, double rounding by `2 max scale / (2^20 scale_y)`; quantized clamp"
        ),
        "s16": (
            "the same with `<< 15`; if `pot_scale_int16`, all scales are powers of two and all zero points 0: "
            "one operand is shifted right (ties away from zero), the sum saturates; without scales plain "
            "integers, which wrap"
        ),
    },
)
def binary(node: OpNode, a: Array, b: Array) -> Array:
    """y = clamp(a op b); integers wrap, the clamp keeps NaN. Quantized types follow TFLite's reference kernels."""
    if _is_quantized(node):
        return (_quantized_mul if node.op == "MUL" else _quantized_add)(node, a, b)
    if a.dtype.kind == "c":  # numpy's own product may use more digits internally
        y = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
        y.real, y.imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
        return y
    with np.errstate(all="ignore"):
        return np.clip(_UFUNCS[node.op](a, b), *_limits(node, a.dtype))


def _limits(node: OpNode, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The limits of the activation, as numbers of that type."""
    low, high = ACTIVATION_LIMITS[activation(node)]
    if dtype.kind == "f":
        return dtype.type(low), dtype.type(high)
    info = np.iinfo(dtype)
    return dtype.type(max(low, info.min)), dtype.type(min(high, info.max))


def _requantize(node: OpNode, x: Array, multiplier: float) -> Array:
    """Converts sums or products to the output, with double rounding and the activation's clamp."""
    y = node.outputs[0]
    scaled = fixed_point.multiply_by_quantized_multiplier(x, *fixed_point.quantize_multiplier(multiplier)).astype(
        np.int64
    )
    return np.clip(scaled + y.quantization.zero_point, *fixed_point.activation_range(y, activation(node))).astype(
        numpy_type(y.type)
    )


def _common_scale(node: OpNode) -> tuple[float, float]:
    """Twice the larger input scale, and the multiplier for sums in that scale, shifted left by 20 bits (int16: 15)."""
    a, b, y = _tensors(node)
    common = 2 * max(a.quantization.scale, b.quantization.scale)
    return common, common / ((1 << (15 if y.type == TensorType.INT16 else 20)) * y.quantization.scale)


def _power_of_two_shifts(node: OpNode) -> tuple[int, int] | None:
    """Returns the right shift of int16 ADD's inputs if all scales are powers of two and all zero points 0; else None.

    Raises: UnsupportedOpError."""
    tensors = _tensors(node)
    if tensors[2].type != TensorType.INT16 or not node.options["pot_scale_int16"]:
        return None
    parts = [math.frexp(t.quantization.scale) for t in tensors]
    if any(t.quantization.zero_point for t in tensors) or any(fraction != 0.5 for fraction, _ in parts):
        return None
    a, b, y = (exponent for _, exponent in parts)
    if max(a - y, b - y) > 0 or (a != y and b != y):
        raise node.refuse("power-of-two scales: no input scale may exceed the output's, and one must equal it")
    return y - a, y - b


def _quantized_add(node: OpNode, *inputs: Array) -> Array:
    """TFLite's AddElementwise and SubElementwise: both terms in a common scale, requantized with double rounding."""
    shifts = _power_of_two_shifts(node)
    if shifts is not None:
        a, b = (fixed_point.rounding_divide_by_pot(x, shift) for x, shift in zip(inputs, shifts, strict=True))
        return np.clip(_UFUNCS[node.op](a, b), *fixed_point.activation_range(node.outputs[0], activation(node))).astype(
            np.int16
        )
    common, multiplier = _common_scale(node)
    left = 15 if inputs[0].dtype == np.int16 else 20
    return _requantize(node, _UFUNCS[node.op](*_terms(node, inputs, common, left)), multiplier)


def _terms(node: OpNode, inputs: Sequence[Array], common: float, left: int) -> list[Array]:
    """Both inputs minus their zero points, shifted left, in a common scale."""
    terms = []
    for position, x in enumerate(inputs):
        q = input_of(node, position).quantization
        shifted = ((x.astype(np.int64) - q.zero_point) << left).astype(np.int32)
        terms.append(
            fixed_point.multiply_by_quantized_multiplier(shifted, *fixed_point.quantize_multiplier(q.scale / common))
        )
    return terms


def _quantized_mul(node: OpNode, a: Array, b: Array) -> Array:
    """TFLite's MulElementwise: the product of inputs minus zero points, requantized; scales are multiplied in
    float32."""
    zero_a, zero_b, _ = (tensor.quantization.zero_point for tensor in _tensors(node))
    x, y, z = (np.float32(tensor.quantization.scale) for tensor in _tensors(node))
    product = (a.astype(np.int64) - zero_a) * (b.astype(np.int64) - zero_b)
    return _requantize(node, product.astype(np.int32), float(x * y / z))


def _squares_multiplier(node: OpNode) -> tuple[float, float]:
    """The common scale of both terms, and the multiplier for their squared difference."""
    common, _ = _common_scale(node)
    return common, common * common / ((1 << 14) * node.outputs[0].quantization.scale)


@reference(
    "SQUARED_DIFFERENCE",
    rounding={
        "f32": "two roundings",
        "s32": "wraps",
        "s8": "each operand as in ADD with `<< 7`; the square, double rounding by `(2 max scale)^2 / (2^14 scale_y)`",
    },
)
def squared_difference(node: OpNode, a: Array, b: Array) -> Array:
    """y = (a - b)^2; int32 wraps. Quantized: both terms in a common scale with 7 bits more, requantized."""
    if a.dtype != np.int8:
        with np.errstate(all="ignore"):
            return np.asarray(np.square(a - b))
    common, multiplier = _squares_multiplier(node)
    x, y = _terms(node, (a, b), common, 7)
    output = node.outputs[0]
    scaled = fixed_point.multiply_by_quantized_multiplier(
        np.square(x - y), *fixed_point.quantize_multiplier(multiplier)
    ).astype(np.int64)
    return np.clip(scaled + output.quantization.zero_point, -128, 127).astype(np.int8)


sub: Meaning = reference(
    "SUB",
    rounding={
        "f32": "one rounding, clamp; NaN passes clamps",
        "s32 s64": "wraps, clamp",
        "s8 u8 s16": "as ADD; s16 is always quantized",
    },
)(binary)
mul: Meaning = reference(
    "MUL",
    rounding={
        "f32 f16": "one rounding, clamp; NaN passes clamps",
        "s32 u32 s64": "wraps, clamp",
        "c64": "`re re - im im`, `re im + im re`; no clamp",
        "s8 u8 s16": (
            "`(a - zp_a) * (b - zp_b)`, double rounding by `scale_a * scale_b / scale_y` (float32), quantized "
            "clamp; s16 without scales plain integers, which wrap"
        ),
    },
)(binary)
