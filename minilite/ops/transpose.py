"""TRANSPOSE: dimension d of the output is dimension perm[d] of the input."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.moving import WHOLE_BYTES
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference(node: OpNode, x: Array, perm: Array) -> Array:  # noqa: ARG001
    """numpy's transpose."""
    return np.ascontiguousarray(x.transpose(perm)) if x.ndim else x


TYPES = each("T s32 -> T", WHOLE_BYTES + " s4 u4")
OPERATORS = (Operator("TRANSPOSE", range(1, 10), takes="x perm -> y", types=TYPES, reference=reference),)
