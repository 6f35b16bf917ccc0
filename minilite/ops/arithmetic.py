"""ADD, MUL: elementwise with numpy's broadcasting and a fused activation."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from minilite.format.dtypes import TensorType, numpy_type
from minilite.format.model import Array, Tensor
from minilite.ops_shared.checks import tensor_scale
from minilite.ops_shared.fixed_point import (
    ACTIVATION_LIMITS,
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from minilite.ops_shared.operator import Kernel, Operator, OpNode

_UFUNCS = {"ADD": np.add, "MUL": np.multiply}
_PLAIN = {TensorType.FLOAT32: "f32", TensorType.INT32: "s32", TensorType.INT64: "s64"}
_QUANTIZED = (TensorType.INT8, TensorType.UINT8, TensorType.INT16)


def lower_binary(node: OpNode) -> Kernel:
    """float32, int32, int64; int8, uint8, int16 as quantized numbers."""
    kind = _common_type(node)
    if kind in _QUANTIZED:
        return _lower_add(node) if node.op == "ADD" else _lower_mul(node)
    suffix = _PLAIN.get(kind)
    if suffix is None:
        raise node.refuse(f"type {kind.name} is not supported")
    low, high = _limits(node, kind)
    name = node.op.lower()
    if suffix != "f32":
        return Kernel(f"{name}_{suffix}", minimum=low, maximum=high)
    clamp = "" if math.isinf(low) and math.isinf(high) else "clamp_"
    return Kernel(f"{name}_{clamp}f32", minimum=low, maximum=high)


def reference_binary(node: OpNode, a: Array, b: Array) -> Array:
    """y = clamp(a op b); integers wrap, NaN passes the clamp. Quantized types follow TFLite's reference kernels."""
    kind = node.outputs[0].type
    if kind in _QUANTIZED:
        return (_reference_add if node.op == "ADD" else _reference_mul)(node, a, b)
    low, high = _limits(node, kind)
    with np.errstate(all="ignore"):
        return np.asarray(np.clip(_UFUNCS[node.op](a, b), a.dtype.type(low), a.dtype.type(high)))


def _common_type(node: OpNode) -> TensorType:
    """The type of both inputs and the output, once the activation is known to be a clamp."""
    a, b = node.input(0), node.input(1)
    if a is None or b is None:
        raise node.refuse("takes two inputs")
    kinds = (a.type, b.type, node.outputs[0].type)
    if len(set(kinds)) != 1:
        raise node.refuse(f"types {', '.join(kind.name for kind in kinds)} of inputs and output differ")
    if _activation(node) not in ACTIVATION_LIMITS:
        raise node.refuse(f"fused activation {_activation(node)} is not supported")
    return kinds[0]


def _activation(node: OpNode) -> str:
    return str(node.options.get("fused_activation_function", "NONE"))


def _limits(node: OpNode, kind: TensorType) -> tuple[Any, Any]:
    """What the activation clamps to, as numbers of that type."""
    low, high = ACTIVATION_LIMITS[_activation(node)]
    if kind == TensorType.FLOAT32:
        return low, high
    info = np.iinfo(numpy_type(kind))
    return int(max(low, info.min)), info.max if high > info.max else int(high)


def _requantization(node: OpNode, multiplier: float) -> dict[str, Any]:
    """The kernel parameters that turn a sum or product into the output."""
    output = node.outputs[0]
    if multiplier >= 1.0 and node.op == "ADD":
        raise node.refuse(f"output scale is too small: the sum would be scaled by {multiplier}, which must be below 1")
    mantissa, shift = quantize_multiplier(multiplier)
    low, high = activation_range(output, _activation(node))
    zero_point = output.quantization.zero_point
    return {"mantissa": mantissa, "shift": shift, "zero_point": zero_point, "minimum": low, "maximum": high}


def _requantize(parameters: dict[str, Any], x: Array, kind: TensorType) -> Array:
    scaled = multiply_by_quantized_multiplier(x, parameters["mantissa"], parameters["shift"])
    y: Array = np.clip(scaled.astype(np.int64) + parameters["zero_point"], parameters["minimum"], parameters["maximum"])
    return y.astype(numpy_type(kind))


def _operands(node: OpNode) -> tuple[Tensor, Tensor]:
    a, b = node.inputs[:2]
    assert a is not None
    assert b is not None
    return a, b


def _add_scales(node: OpNode) -> tuple[int, float, list[float]]:
    """The left shift, twice the larger input scale, and the scales of both inputs."""
    scales = [tensor_scale(node, tensor) for tensor in _operands(node)]
    left = 15 if node.outputs[0].type == TensorType.INT16 else 20
    return left, 2 * max(scales), scales


def _add_terms(node: OpNode, *inputs: Array) -> list[Array]:
    """Each input in the common scale, twice the larger one's: (x - zero_point) << left, times scale / common scale."""
    left, common, scales = _add_scales(node)
    terms = []
    for x, tensor, scale in zip(inputs, _operands(node), scales, strict=True):
        shifted = ((x.astype(np.int64) - tensor.quantization.zero_point) << left).astype(np.int32)
        terms.append(multiply_by_quantized_multiplier(shifted, *quantize_multiplier(scale / common)))
    return terms


def _add_requantization(node: OpNode) -> dict[str, Any]:
    left, common, _ = _add_scales(node)
    return _requantization(node, common / ((1 << left) * tensor_scale(node, node.outputs[0])))


def _power_of_two_shifts(node: OpNode) -> tuple[int, int] | None:
    """How far int16 ADD shifts its inputs right when all scales are powers of two and all zero points 0; else None."""
    tensors = (*_operands(node), node.outputs[0])
    if not node.options.get("pot_scale_int16", True) or any(t.quantization.zero_point for t in tensors):
        return None
    parts = [math.frexp(tensor_scale(node, t)) for t in tensors]
    if any(fraction != 0.5 for fraction, _ in parts):
        return None
    a, b, y = (exponent for _, exponent in parts)
    if max(a - y, b - y) > 0 or (a != y and b != y):
        raise node.refuse("power-of-two scales: no input scale may exceed the output's, and one must equal it")
    return y - a, y - b


def _lower_add(node: OpNode) -> Kernel:
    a, b = _operands(node)
    if a.type != TensorType.INT16:
        by_byte = np.arange(256, dtype=np.uint8).view(numpy_type(a.type))
        a_table, b_table = _add_terms(node, by_byte, by_byte)
        return Kernel("add_q8", a_table=a_table, b_table=b_table, **_add_requantization(node))
    shifts = _power_of_two_shifts(node)
    if shifts is not None:
        low, high = activation_range(node.outputs[0], _activation(node))
        return Kernel("add_pot_s16", minimum=low, maximum=high, a_shift=shifts[0], b_shift=shifts[1])
    _, common, (a_scale, b_scale) = _add_scales(node)
    (a_mantissa, a_shift), (b_mantissa, b_shift) = (quantize_multiplier(s / common) for s in (a_scale, b_scale))
    zero_points: dict[str, Any] = {"a_zero_point": a.quantization.zero_point, "b_zero_point": b.quantization.zero_point}
    inputs: dict[str, Any] = {
        "a_mantissa": a_mantissa,
        "a_shift": a_shift,
        "b_mantissa": b_mantissa,
        "b_shift": b_shift,
    }
    return Kernel("add_s16", **_add_requantization(node), **zero_points, **inputs)


def _reference_add(node: OpNode, a: Array, b: Array) -> Array:
    """TFLite's AddElementwise: both terms in a common scale, summed, requantized with double rounding."""
    kind = node.outputs[0].type
    shifts = _power_of_two_shifts(node) if kind == TensorType.INT16 else None
    if shifts is not None:
        sums = rounding_divide_by_pot(a, shifts[0]) + rounding_divide_by_pot(b, shifts[1])
        clamped: Array = np.clip(sums, *activation_range(node.outputs[0], _activation(node)))
        return clamped.astype(np.int16)
    x, y = _add_terms(node, a, b)
    return _requantize(_add_requantization(node), x + y, kind)


def _mul_requantization(node: OpNode) -> dict[str, Any]:
    """TFLite multiplies the scales in float32."""
    x, y, z = (np.float32(tensor_scale(node, tensor)) for tensor in (*_operands(node), node.outputs[0]))
    return _requantization(node, float(x * y / z))


def _lower_mul(node: OpNode) -> Kernel:
    a, b = _operands(node)
    flip = 128 if a.type == TensorType.INT8 else 0
    name = "mul_s16" if a.type == TensorType.INT16 else "mul_q8"
    zero_points: dict[str, Any] = {
        "a_zero_point": a.quantization.zero_point + flip,
        "b_zero_point": b.quantization.zero_point + flip,
    }
    return Kernel(name, flip=flip, **zero_points, **_mul_requantization(node))


def _reference_mul(node: OpNode, a: Array, b: Array) -> Array:
    """TFLite's MulElementwise: the product less zero points, requantized with double rounding."""
    zero_points = [tensor.quantization.zero_point for tensor in _operands(node)]
    product = (a.astype(np.int64) - zero_points[0]) * (b.astype(np.int64) - zero_points[1])
    return _requantize(_mul_requantization(node), product.astype(np.int32), node.outputs[0].type)


_binary = functools.partial(
    Operator, lower=lower_binary, reference=reference_binary, in_place=(0, 1), output_follows=1, tflite_shares=True
)
OPERATORS = (_binary("ADD", range(1, 7)), _binary("MUL", range(1, 9)))
