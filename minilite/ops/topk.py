"""TOPK_V2: the k largest of each row of the last dimension."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import numpy_type
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("TOPK_V2")
def topk(node: OpNode, x: Array, k: Array) -> tuple[Array, Array]:
    """The values, largest first, of equal ones the first; and their positions."""
    count = int(k.ravel()[0])
    order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    chosen = order[..., :count]
    return np.take_along_axis(x, chosen, axis=-1), chosen.astype(numpy_type(node.outputs[1].type))
