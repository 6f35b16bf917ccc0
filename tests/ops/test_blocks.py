"""DEPTH_TO_SPACE, SPACE_TO_DEPTH, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: C kernels, numpy references and LiteRT
agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, const, counting, quantized

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import Quantization

DEPTH, BATCH = "f32 s8 u8 s32 s64", "f32 f16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64"
BLOCKS = [2, 3], [[1, 0], [2, 1]]
EVERY_TYPE = {
    "DEPTH_TO_SPACE": Case([(2, 3, 4, 8)], {"block_size": 2}, litert=DEPTH, one_scale=True),
    "SPACE_TO_DEPTH": Case([(2, 4, 6, 3)], {"block_size": 2}, litert=DEPTH, one_scale=True),
    "SPACE_TO_BATCH_ND": Case([(2, 3, 6, 5), *BLOCKS], litert=BATCH, one_scale=True),
    "BATCH_TO_SPACE_ND": Case([(12, 3, 4, 5), *BLOCKS], litert=BATCH, one_scale=True),
}


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 5])
def test_depth(block: int, channels: int) -> None:
    deep = counting((2, 3, 2, channels * block**2))
    flat = OneNode("DEPTH_TO_SPACE", [deep], {"block_size": block}).check()
    assert flat.shape == (2, 3 * block, 2 * block, channels)
    back = OneNode("SPACE_TO_DEPTH", [flat], {"block_size": block}).check()
    np.testing.assert_array_equal(back, deep)


def test_depth_refused() -> None:
    x = counting((1, 4, 6, 6))
    OneNode("DEPTH_TO_SPACE", [x], {"block_size": 2}).refused(ShapeError, "depth 6 is not a multiple of 4")
    OneNode("SPACE_TO_DEPTH", [x], {"block_size": 4}).refused(
        ShapeError, "height 4 and width 6 are not multiples of block_size 4"
    )
    OneNode("SPACE_TO_DEPTH", [x[0]], {"block_size": 2}).refused(
        ShapeError, "input has the shape .4, 6, 6., expected 4 dimensions"
    )
    for op in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"):
        OneNode(op, [x], {"block_size": 0}).refused(
            ShapeError, "block_size is 0, expected 1 to 32767", by_litert=False
        )  # LiteRT divides by it


BATCHES = [
    # pixels, block, paddings
    ((1, 4, 4, 3), [2, 2], [[0, 0], [0, 0]]),
    ((2, 5, 7, 1), [3, 2], [[1, 0], [0, 1]]),
    ((1, 1, 1, 2), [2, 3], [[1, 2], [3, 2]]),
    ((3, 4, 2), [4], [[0, 0]]),
    ((2, 5, 1), [2], [[0, 1]]),
]


@pytest.mark.parametrize(("shape", "block", "pairs"), BATCHES)
def test_batches(shape: Any, block: Any, pairs: Any) -> None:
    x = counting(shape)
    for wrap in (const, lambda value: np.array(value, np.int32)):
        blocks = OneNode("SPACE_TO_BATCH_ND", [x, wrap(block), wrap(pairs)]).check()
        assert blocks.shape[0] == shape[0] * np.prod(block)
        back = OneNode("BATCH_TO_SPACE_ND", [blocks, wrap(block), wrap(pairs)]).check()
        np.testing.assert_array_equal(back, x)


def test_batches_refused() -> None:
    x = counting((2, 4, 5, 1))
    none = [[0, 0], [0, 0]]

    def refused(op: str, block: Any, pairs: Any, message: str, given: Any = x, by_litert: bool = True) -> None:
        OneNode(op, [given, const(block), const(pairs)]).refused(ShapeError, message, by_litert=by_litert)

    to, back = "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"
    refused(to, [2, 2], none, "dimension 2, padded to 5, is not a multiple of its block 2")
    refused(to, [2], none, "block has the shape .1., expected .2.")
    refused(to, [2, 1], [[0, 0]], "paddings have the shape .1, 2., expected .2, 2.")
    refused(to, [0, 1], none, "block 0 is 0, expected 1 or more", by_litert=False)
    refused(to, [1, 1], [[-1, 0], [0, 0]], "paddings of dimension 1 are -1 and 0", by_litert=False)
    refused(to, [1, 1], none, "expected 3 or 4 dimensions", counting((2, 3)))
    refused(back, [3, 1], none, "batch 2 is not a multiple of 3")
    refused(back, [2, 1], [[4, 5], [0, 0]], "dimension 1 of size 8 is cropped by 9", by_litert=False)
    refused(back, [1, 1], [[0, 0], [0, -1]], "crops of dimension 2 are 0 and -1")


def test_other_scales_refused() -> None:
    x = quantized(counting((1, 2, 2, 1), np.int8), 0.5, 1)
    node = OneNode(
        "SPACE_TO_BATCH_ND", [x, const([1, 1]), const([[0, 0]] * 2)], quantization=Quantization((0.5,), (2,))
    )
    node.refused(UnsupportedOpError, "of the input do not match", by_litert=False)
