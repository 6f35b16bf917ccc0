"""BUCKETIZE: how many of the sorted boundaries are at most x."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("BUCKETIZE", rounding={"s32 s64": "compared as float32", "f32 f64": "exact; NaN is above all boundaries"})
def bucketize(node: OpNode, x: Array) -> Array:
    wide = x if x.dtype.kind == "f" else x.astype(np.float32)
    boundaries = np.array(node.options["boundaries"], np.float32).astype(wide.dtype)
    return np.searchsorted(boundaries, wide, side="right").astype(np.int32)
