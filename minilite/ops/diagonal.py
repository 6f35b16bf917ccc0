"""MATRIX_DIAG, MATRIX_SET_DIAG: vectors as the diagonals of matrices."""

from __future__ import annotations

import numpy as np

from minilite.format.model import Array
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each


def reference_diag(node: OpNode, x: Array) -> Array:  # noqa: ARG001
    """Zeros beside the diagonal."""
    return np.where(np.eye(x.shape[-1], dtype=np.bool_), x[..., None], np.zeros((), x.dtype))


def reference_set_diag(node: OpNode, x: Array, diagonal: Array) -> Array:  # noqa: ARG001
    """The input beside the diagonal."""
    y, at = x.copy(), np.arange(diagonal.shape[-1])
    y[..., at, at] = diagonal
    return y


_TYPES = "f32 s8 u8 s16 s32 u32 s64"
OPERATORS = (
    Operator(
        "MATRIX_DIAG",
        range(1, 2),
        takes="x -> y",
        types=each("T -> T", _TYPES),
        reference=reference_diag,
        output_follows=0,
    ),
    Operator(
        "MATRIX_SET_DIAG",
        range(1, 2),
        takes="x diagonal -> y",
        types=each("T T -> T", _TYPES),
        reference=reference_set_diag,
        in_place=(0,),
        output_follows=0,
    ),
)
