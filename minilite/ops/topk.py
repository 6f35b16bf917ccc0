"""TOPK_V2: the k largest of each row of the last dimension."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_topk(node: OpNode, x: Array, k: Array) -> tuple[Array, Array]:
    """Largest first, of equals the first; and where they were."""
    count = int(k.ravel()[0])
    order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    chosen = order[..., :count]
    return np.take_along_axis(x, chosen, axis=-1), chosen.astype(numpy_type(node.outputs[1].type))


OPERATORS = (
    Operator(
        "TOPK_V2",
        range(1, 4),
        takes="x k -> values indices",
        types=each("T s32|s16 -> T s32|s16", "f32 u8 s8 s16 s32 s64"),
        reference=reference_topk,
    ),
)
