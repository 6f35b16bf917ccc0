"""STABLEHLO_ADD, _MULTIPLY, _MAXIMUM, _MINIMUM, _AND, _SHIFT_LEFT: elementwise on equal shapes, without regard to
scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Meaning, OpNode, reference

_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "STABLEHLO_ADD": np.add,
    "STABLEHLO_MULTIPLY": np.multiply,
    "STABLEHLO_MAXIMUM": lambda a, b: np.where(a < b, b, a),
    "STABLEHLO_MINIMUM": lambda a, b: np.where(b < a, b, a),
    "STABLEHLO_AND": np.bitwise_and,
}


@reference(
    "STABLEHLO_ADD",
    "STABLEHLO_MULTIPLY",
    rounding={
        "f32 f16 f64": "one rounding",
        "s8 u8 b8 s16 u16 s32 u32 s64 u64": "wraps, whatever the scales; truth values: or, and",
    },
)
def stablehlo(node: OpNode, a: Array, b: Array) -> Array:
    """numpy's function of that name; extrema give the first number if either is NaN."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[node.op](a, b)).astype(a.dtype)


@reference(
    "STABLEHLO_SHIFT_LEFT",
    rounding={
        "": "0 where the number of bits is negative or not below the type's (oracle: LiteRT's optimized kernel)",
    },
)
def shift_left(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a << b; 0 if b is negative or not below the number of bits."""
    inside = (b >= 0) & (b < 8 * a.itemsize)
    return np.asarray(np.where(inside, a.astype(np.int64) << np.where(inside, b, 0), 0).astype(a.dtype))


stablehlo_maximum: Meaning = reference(
    "STABLEHLO_MAXIMUM",
    "STABLEHLO_MINIMUM",
    rounding={
        "": "exact; the first where one is NaN",
    },
)(stablehlo)
stablehlo_and: Meaning = reference("STABLEHLO_AND")(stablehlo)
