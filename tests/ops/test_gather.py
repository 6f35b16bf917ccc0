"""GATHER: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import REFERENCE
from support.node import OneNode, const, counting

from minilite.errors import KernelError, ShapeError


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    by_litert = inputs[0] in [
        "f32",
        "f16",
        "s32",
        "u8",
        "s64",
        "b8",
        "s16",
        "s8",
    ]  # it halves axes of s4, and refuses the others
    return Case([(2, 5, 3), [[4, 0], [1, 1]]], {"axis": -2}, oracle=REFERENCE if by_litert else None)


EVERY_TYPE = {"GATHER": every_type}
X = counting((2, 3, 4, 5))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -4])
@pytest.mark.parametrize(
    ("shape", "batch"), [((), 0), ((0,), 0), ((700,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 2), -1)]
)
def test_axes_and_batches(axis: int, shape: Any, batch: int) -> None:
    last, count = axis % 4, batch % max(len(shape), 1)
    indices = np.random.default_rng(last).integers(0, X.shape[axis], shape, np.int32)
    node = OneNode("GATHER", [X, indices], {"axis": axis, "batch_dims": batch})
    if count > last:
        return node.refused(ShapeError, f"batch_dims is {batch}, axis {last}, the rank of indices {len(shape)}")
    node.check()


def test_refused() -> None:
    for at, value in ((299, 3), (1, -1), (0, 2**31 - 1)):
        indices = np.zeros((3, 100), np.int32)
        indices.flat[at] = value
        node = OneNode("GATHER", [X, indices], {"axis": 1})
        node.refused(KernelError, f"index {at} is {value}, expected 0 to 2")
    OneNode("GATHER", [X, const([[0], [0], [0]])], {"axis": 1, "batch_dims": 1}).refused(
        ShapeError, "dimension 0 is 2 of"
    )
    OneNode("GATHER", [X, const([0])], {"axis": 4}).refused(ShapeError, "axis 4")
    OneNode("GATHER", [X, const(np.zeros((1,) * 6))], {"axis": 1}).refused(ShapeError, "more than 8", by_litert=False)
