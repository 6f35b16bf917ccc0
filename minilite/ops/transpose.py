"""TRANSPOSE: dimension d of the output is dimension perm[d] of the input."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("TRANSPOSE")
def transpose(node: OpNode, x: Array, perm: Array) -> Array:  # noqa: ARG001
    """numpy's transpose."""
    return np.ascontiguousarray(x.transpose(perm)) if x.ndim else x
