"""MATRIX_DIAG, MATRIX_SET_DIAG: vectors as the diagonals of matrices."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("MATRIX_DIAG")
def diag(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """Zeros off the diagonal."""
    return np.where(np.eye(x.shape[-1], dtype=np.bool_), x[..., None], np.zeros((), x.dtype))


@reference("MATRIX_SET_DIAG")
def set_diag(node: OpNode, x: Array, diagonal: Array) -> Array:  # noqa: ARG001
    """The input off the diagonal; as many of the second input's values as there are places, whatever its shape."""
    y, at = x.copy(), np.arange(min(x.shape[-2:]))
    places = y[..., at, at].shape
    y[..., at, at] = diagonal.reshape(-1)[: np.prod(places, dtype=np.int64)].reshape(places)
    return y
