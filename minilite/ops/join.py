"""CONCATENATION: joins along a dimension. PACK: along a new one."""

from __future__ import annotations

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.model import Array, Tensor
from minilite.ops_shared.moving import scale_and_zero_point
from minilite.ops_shared.operator import OpNode, reference


def _tensors(node: OpNode) -> list[Tensor]:
    return [tensor for tensor in node.inputs if tensor is not None]


@reference("PACK")
def pack(node: OpNode, *inputs: Array) -> Array:
    """numpy's stack."""
    return np.stack(inputs, axis=node.options["axis"])


def _table(x: Tensor, y: Tensor) -> Array:
    """The output's byte for each byte of input x, in LiteRT's float32 arithmetic; halves are rounded away from zero."""
    bytes_ = np.arange(256, dtype=np.uint8)
    if scale_and_zero_point(x) == scale_and_zero_point(y):
        return bytes_
    (scale_in, zero_in), (scale_out, zero_out) = scale_and_zero_point(x), scale_and_zero_point(y)
    scale = scale_in * (np.float32(1) / scale_out)
    real = bytes_.astype(np.float32) * scale + np.float32(-zero_in) * scale
    rounded = np.trunc(real.astype(np.float64) + np.copysign(0.5, real)) + zero_out
    table: Array = np.clip(rounded, 0, 255).astype(np.uint8)
    return table


@reference(
    "CONCATENATION",
    rounding={
        "u8": "inputs of other scales: round half away in float32, by a table of bytes",
    },
)
def concatenation(node: OpNode, *inputs: Array) -> Array:
    """numpy's concatenate; scalars join to a vector."""
    if node.outputs[0].type == T.UINT8:
        inputs = tuple(_table(t, node.outputs[0])[x] for t, x in zip(_tensors(node), inputs, strict=True))
    return np.concatenate([np.atleast_1d(x) for x in inputs], axis=node.options["axis"])
