"""BUCKETIZE: how many of the sorted boundaries are at most x."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode


def boundaries(node: OpNode) -> Array:
    """The boundaries, which must be sorted. Raises: UnsupportedOpError."""
    found = np.array(node.options["boundaries"], np.float32)
    if not (found[:-1] <= found[1:]).all():
        raise node.refuse("boundaries are not sorted")
    return found


def reference_bucketize(node: OpNode, x: Array) -> Array:
    """Integers are rounded to float32 first, as C compares them."""
    wide = x if x.dtype.kind == "f" else x.astype(np.float32)
    return np.searchsorted(boundaries(node).astype(wide.dtype), wide, side="right").astype(np.int32)


OPERATORS = (
    Operator(
        "BUCKETIZE",
        range(1, 2),
        takes="x -> y",
        types=("f32|f64|s32|s64 -> s32",),
        params={"boundaries": boundaries},
        hangs_on="kind",
        reference=reference_bucketize,
        rule={"s32 s64": "compared as float32", "f32 f64": "exact; NaN is above all boundaries"},
    ),
)
