"""WHERE with one input: the coordinates of the elements that are not 0."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("WHERE")
def where(node: OpNode, condition: Array) -> Array:  # noqa: ARG001
    """numpy's argwhere: NaN is not 0, -0.0 is."""
    return np.argwhere(condition).astype(np.int64)
