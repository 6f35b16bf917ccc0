"""ABS, NEG, EXP, LOG, SQRT, RSQRT, SQUARE, SIN, COS, FLOOR, CEIL, ROUND, SIGN: functions of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.bfloat16 import through_f32
from minilite.ops_shared.fixed_point import (
    dequantize,
    inverse_sqrt,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rescale,
    scale_ratio,
)
from minilite.ops_shared.operator import Meaning, OpNode, reference
from minilite.ops_shared.real_table import by_real
from minilite.ops_shared.tensors import input_of

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "EXP": np.exp,
    "SQUARE": np.square,
    "SIN": np.sin,
    "COS": np.cos,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "ROUND": np.rint,
    "SIGN": np.sign,
}


@reference(
    "EXP",
    rounding={
        "f32": "within 2 ULP",
        "s8": "table: through float32, `half away(y / scale_y) + zp_y`",
        "s16": "512 lines over all of int16, computed in float32; zero points 0",
    },
)
@through_f32
def function(node: OpNode, x: Array) -> Array:
    """numpy's function of that name in float64, rounded once; ROUND takes ties to even; quantized: a table of reals."""
    function = _FUNCTIONS[node.op]
    if x.dtype.kind == "i" and node.op == "EXP":
        return by_real(node, x, function)
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    with np.errstate(all="ignore"):
        y = function(wide)
        return np.asarray((y.astype(np.float32) if x.dtype == np.float16 else y).astype(x.dtype))


@reference(
    "ABS",
    rounding={
        "s8 s16": "`abs(x - zp_x)`, double rounding by `scale_x / scale_y` (float32); s16 without scales wraps",
    },
)
def abs_values(node: OpNode, x: Array) -> Array:
    """y = |x|; the lowest integer stays. Quantized: |x - zero_point| rescaled."""
    q = input_of(node).quantization
    if x.dtype not in (np.int8, np.int16) or not q.scales:
        return np.abs(x)
    size = np.abs(x.astype(np.int32) - q.zero_point)
    return rescale(node, size + q.zero_point, scale_ratio(node))


@reference(
    "NEG",
    rounding={
        "s8 s16 s32 s64": "the integer's own, whatever the scales; wraps",
    },
)
@through_f32
def neg(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """y = -x, without regard to scales; integers wrap."""
    return np.negative(x)


@reference(
    "LOG",
    rounding={
        "f32": "within 2 ULP",
        "s8": "table: through float32, `half away(y / scale_y) + zp_y`; not positive: the lowest",
        "s16": "512 lines over all of int16, computed in float32; zero points 0",
    },
)
def log(node: OpNode, x: Array) -> Array:
    """y = log(x). Quantized: the lowest output where x is not positive."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(np.log(x.astype(np.float64)).astype(x.dtype))
    q = node.outputs[0].quantization
    lowest = np.float32(np.iinfo(x.dtype).min - q.zero_point) * np.float32(q.scale)
    return by_real(node, x, lambda real: np.where(real <= 0, lowest, np.log(real)))


def _check_positive(node: OpNode, x: Array) -> None:
    zero_point = input_of(node).quantization.zero_point
    if (x < zero_point).any():
        at = int(np.argmax(x.reshape(-1) < zero_point))
        raise ValueError(f"element {at} is {x.flat[at]}, below the zero point {zero_point}: it has no square root")


@reference(
    "SQRT",
    rounding={
        "f32": "one rounding",
        "s8 s16": "in float32, truncated; negative numbers are refused",
    },
)
def sqrt(node: OpNode, x: Array) -> Array:
    """y = sqrt(x). Quantized: in float32, truncated; negative numbers are refused."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.sqrt(x)
    _check_positive(node, x)
    q = node.outputs[0].quantization
    steps = np.trunc(np.sqrt(dequantize(x, input_of(node))) / np.float32(q.scale))
    return np.asarray(np.clip(steps + q.zero_point, *_limits(x)).astype(x.dtype))


def _limits(x: Array) -> tuple[int, int]:
    info = np.iinfo(x.dtype)
    return int(info.min), int(info.max)


@reference(
    "RSQRT",
    rounding={
        "f32": "within 2 ULP",
        "s8": (
            "1/sqrt and 1 in fixed point: five Newton steps, 20 fractional bits, double rounding; of 0 the "
            "highest output"
        ),
        "s16": "512 lines over all of int16, computed in float32; zero points 0; negative numbers are refused",
    },
)
def rsqrt(node: OpNode, x: Array) -> Array:
    """y = 1 / sqrt(x). Quantized: 0 gives the highest output, negative numbers are refused; 8 bits in fixed point."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(np.float32(1) / np.sqrt(x))
    _check_positive(node, x)
    x_scale, y_scale = (np.float32(t.quantization.scale) for t in (input_of(node), node.outputs[0]))
    if x.dtype == np.int16:
        highest = np.float32(32767) * y_scale
        return by_real(node, x, lambda real: np.where(real <= 0, highest, _rsqrt(real)))
    mantissa, shift = quantize_multiplier(1 / float(np.sqrt(x_scale) * y_scale))
    low, high = _limits(x)
    table = [high]
    for size in range(1, 256):
        root, right = inverse_sqrt(size)
        fine = multiply_by_quantized_multiplier(np.asarray(1), root, right + 20)
        y = int(multiply_by_quantized_multiplier(fine, mantissa, shift - 20)) + node.outputs[0].quantization.zero_point
        table.append(min(max(y, low), high))
    return np.asarray(table, x.dtype)[x.astype(np.int32) - input_of(node).quantization.zero_point]


def _rsqrt(real: Array) -> Array:
    """Computes in float32, as in the kernel."""
    return np.asarray(np.float32(1) / np.sqrt(real.astype(np.float32)))


square: Meaning = reference(
    "SQUARE",
    rounding={
        "": "one rounding",
    },
)(function)
sin: Meaning = reference(
    "SIN",
    "COS",
    rounding={
        "f32": "within 3 ULP up to 20000 in size, libm's beyond",
        "f16": "libm's of float32, rounded once",
    },
)(function)
floor: Meaning = reference(
    "FLOOR",
    rounding={
        "": "exact",
    },
)(function)
ceil: Meaning = reference(
    "CEIL",
    rounding={
        "": "exact (oracle: LiteRT's optimized kernel)",
    },
)(function)
round: Meaning = reference(
    "ROUND",
    rounding={
        "": "exact, ties to even (oracle: LiteRT's optimized kernel)",
    },
)(function)
sign: Meaning = reference(
    "SIGN",
    rounding={
        "": "exact; NaN stays",
    },
)(function)
