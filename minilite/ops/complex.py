"""REAL, IMAG, COMPLEX_ABS: the parts and the size of complex numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Meaning, OpNode, reference

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {"REAL": np.real, "IMAG": np.imag, "COMPLEX_ABS": np.abs}


@reference("REAL", "IMAG")
def complex_values(node: OpNode, x: Array) -> Array:
    """numpy's real, imag, abs."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_FUNCTIONS[node.op](x)).reshape(x.shape)


complex_abs: Meaning = reference(
    "COMPLEX_ABS",
    rounding={
        "": "libm's hypot",
    },
)(complex_values)
