"""SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: reduce rows by segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.errors import KernelError
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference

_FUNCTIONS: dict[str, Any] = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


def _start(kind: str, dtype: np.dtype[Any]) -> Any:
    """The initial value of a segment; segments without rows keep it."""
    info: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return {"SUM": 0, "PROD": 1, "MAX": info.min, "MIN": info.max}[kind]


@reference(
    "SEGMENT_SUM", "UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"
)
def segment(node: OpNode, x: Array, ids: Array, count: Array | None = None) -> Array:
    """Negative segment numbers are skipped; integers wrap."""
    kind = node.op.rpartition("_")[2]
    segments = int(count.ravel()[0]) if count is not None else int(ids[-1]) + 1 if ids.size else 0
    flat = ids.ravel()
    if flat.size and flat.max() >= segments:
        message = f"segment number {int(flat.argmax())} is {flat.max()}, expected less than {segments}"
        raise KernelError(message)
    rows = x.reshape(flat.size, *x.shape[ids.ndim :])
    y = np.full((segments, *x.shape[ids.ndim :]), _start(kind, x.dtype), x.dtype)
    _FUNCTIONS[kind].at(y, flat[flat >= 0], rows[flat >= 0])
    return y
