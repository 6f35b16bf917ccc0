"""REAL, IMAG, COMPLEX_ABS: what a complex number is made of."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {"REAL": np.real, "IMAG": np.imag, "COMPLEX_ABS": np.abs}


def reference_complex(node: OpNode, x: Array) -> Array:
    """numpy's real, imag, abs."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_FUNCTIONS[node.op](x)).reshape(x.shape)


_unary = functools.partial(Operator, takes="x -> y", types=("c64 -> f32", "c128 -> f64"), reference=reference_complex)
OPERATORS = (
    _unary("REAL", range(1, 2)),
    _unary("IMAG", range(1, 2)),
    _unary("COMPLEX_ABS", range(1, 2), rule={"": "libm's hypot"}),
)
