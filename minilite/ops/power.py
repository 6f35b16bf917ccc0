"""POW, ATAN2: functions of two numbers, with numpy's broadcasting."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.bfloat16 import through_f32
from minilite.ops_shared.operator import OpNode, reference


@reference(
    "POW",
    rounding={
        "f32": "libm's",
        "s32": "wraps; exponents below 0 are refused",
    },
)
def pow_values(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """y = a^b; integers wrap, and their exponents must not be negative."""
    if a.dtype.kind == "i" and (b < 0).any():
        at = int(np.argmax(b.reshape(-1) < 0))
        raise ValueError(f"exponent {b.flat[at]} of element {at} is below 0")
    with np.errstate(all="ignore"):
        wide = np.float64 if a.dtype.kind == "f" else a.dtype
        return np.asarray(np.power(a.astype(wide), b.astype(wide)).astype(a.dtype))


@reference(
    "ATAN2",
    rounding={
        "f32 f64": "libm's",
        "f16 bf16": "as f32, rounded once",
    },
)
@through_f32
def atan2(node: OpNode, a: Array, b: Array) -> Array:  # noqa: ARG001
    """The angle of the point (b, a). LiteRT accepts inputs of different shapes, but then reads past the end of the
    shorter one."""
    return np.asarray(np.arctan2(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype))
