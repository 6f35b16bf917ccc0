"""DEPTH_TO_SPACE, SPACE_TO_DEPTH: convert between blocks of pixels and channels. SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND:
and batches."""

from __future__ import annotations

import math

import numpy as np

from minilite.format.dtypes import TensorType as T
from minilite.format.model import Array
from minilite.ops_shared.operator import OpNode, reference


@reference("DEPTH_TO_SPACE")
def depth_to_space(node: OpNode, x: Array) -> Array:
    """Channels (row in the block, column in it, the rest) become pixels."""
    block = node.options["block_size"]
    n, height, width, depth = x.shape
    parts = x.reshape(n, height, width, block, block, depth // block**2).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(n, height * block, width * block, depth // block**2)


@reference("SPACE_TO_DEPTH")
def space_to_depth(node: OpNode, x: Array) -> Array:
    """The reverse: pixels become channels."""
    block = node.options["block_size"]
    n, height, width, depth = x.shape
    parts = x.reshape(n, height // block, block, width // block, block, depth).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(n, height // block, width // block, depth * block**2)


@reference(
    "SPACE_TO_BATCH_ND",
    rounding={
        "s8 u8 s16": "padded by the output's zero point",
    },
)
def space_to_batch(node: OpNode, x: Array, block: Array, paddings: Array) -> Array:
    """Pads; then each position in a block becomes a batch. Batches of one position are adjacent."""
    zero = node.outputs[0].quantization.zero_point if node.outputs[0].type in (T.INT8, T.UINT8, T.INT16) else 0
    m = len(block)
    padded = np.pad(x, [(0, 0), *paddings.tolist(), *[(0, 0)] * (x.ndim - 1 - m)], constant_values=zero)
    sides = [part for dim, by in zip(padded.shape[1:], block.tolist(), strict=False) for part in (dim // by, by)]
    parts = padded.reshape(x.shape[0], *sides, *padded.shape[1 + m :])
    inside, outside = [2 + 2 * i for i in range(m)], [1 + 2 * i for i in range(m)]
    moved = parts.transpose(*inside, 0, *outside, *range(1 + 2 * m, parts.ndim))
    return moved.reshape(x.shape[0] * math.prod(block.tolist()), *sides[::2], *padded.shape[1 + m :])


@reference("BATCH_TO_SPACE_ND")
def batch_to_space(node: OpNode, x: Array, block: Array, crops: Array) -> Array:  # noqa: ARG001
    """The reverse, then crops."""
    m, by = len(block), block.tolist()
    batch = x.shape[0] // math.prod(by)
    parts = x.reshape(*by, batch, *x.shape[1:])
    pairs = [axis for i in range(m) for axis in (m + 1 + i, i)]
    moved = parts.transpose(m, *pairs, *range(2 * m + 1, parts.ndim))
    whole = moved.reshape(batch, *[d * b for d, b in zip(x.shape[1:], by, strict=False)], *x.shape[1 + m :])
    keys = [slice(first, dim - last) for (first, last), dim in zip(crops.tolist(), whole.shape[1:], strict=False)]
    return np.ascontiguousarray(whole[(slice(None), *keys)])
