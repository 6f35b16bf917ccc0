"""STABLEHLO_ADD, _MULTIPLY, _MAXIMUM, _MINIMUM, _AND, _SHIFT_LEFT: elementwise on equal shapes, whatever the scales."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each

_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "STABLEHLO_ADD": np.add,
    "STABLEHLO_MULTIPLY": np.multiply,
    "STABLEHLO_MAXIMUM": lambda a, b: np.where(a < b, b, a),
    "STABLEHLO_MINIMUM": lambda a, b: np.where(b < a, b, a),
    "STABLEHLO_AND": np.bitwise_and,
}


def reference_stablehlo(node: OpNode, a: Array, b: Array) -> Array:
    """numpy's function of that name; extrema are the first number where one is NaN."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[node.op](a, b)).astype(a.dtype)


def reference_shift_left(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a << b, 0 where b is not among the number's bits."""
    inside = (b >= 0) & (b < 8 * a.itemsize)
    return np.asarray(np.where(inside, a.astype(np.int64) << np.where(inside, b, 0), 0).astype(a.dtype))


_INTEGERS = "s8 u8 b8 s16 u16 s32 u32 s64 u64"
_binary = functools.partial(
    Operator,
    takes="a b -> y",
    types=each("T T -> T", "f32 f16 f64 " + _INTEGERS),
    reference=reference_stablehlo,
    in_place=(0, 1),
)
_SUMS = {"f32 f16 f64": "one rounding", _INTEGERS: "wraps, whatever the scales; truth values: or, and"}
_EXTREMA = {"": "exact; the first where one is NaN"}
OPERATORS = (
    _binary("STABLEHLO_ADD", range(1, 2), rule=_SUMS),
    _binary("STABLEHLO_MULTIPLY", range(1, 2), rule=_SUMS),
    _binary("STABLEHLO_MAXIMUM", range(1, 2), rule=_EXTREMA),
    _binary("STABLEHLO_MINIMUM", range(1, 2), rule=_EXTREMA),
    _binary("STABLEHLO_AND", range(1, 2), types=each("T T -> T", _INTEGERS)),
    _binary(
        "STABLEHLO_SHIFT_LEFT",
        range(1, 2),
        types=each("T T -> T", "s8 s16 s32"),
        reference=reference_shift_left,
        rule={"": "0 where the number of bits is none of the type's (oracle: LiteRT's optimized kernel)"},
    ),
)
