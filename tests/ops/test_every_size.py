"""Operands that state a size, a place or a count, beside an input that was resized: values that do not fit are refused.

C kernels and numpy references agree on shapes and values, or both refuse; where LiteRT's reference kernels answer, they
give the same, and where they refuse, so does minilite, but for what this file names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import peer
from support.compare import compare, run_litert, run_minilite
from support.node import Given, OneNode, Out, const, dtype_of

from minilite._native.kernels import operator_rows

STATING = {
    "shape", "dense_shape", "size", "sizes", "begin", "end", "strides", "multiples", "paddings", "block", "crops", "perm",
    "axis", "axes", "depth", "count", "dilations",
}  # fmt: skip
"""Names of operands that state how large something is, or where it lies."""


class Beside(NamedTuple):
    """A node whose input of shape `x` has constants beside it; "x" among `operands` is the place of the input."""

    x: tuple[int, ...]
    operands: Sequence[Any]
    others: Sequence[tuple[int, ...]]
    """Shapes that the input is resized to."""
    options: Mapping[str, Any] = {}
    version: int = 1
    kind: str = "f32"
    given: str = "f32"
    """The type of the input."""
    outs: Sequence[Out] | None = None
    beyond: Sequence[tuple[int, ...]] = ()
    """Shapes that LiteRT's reference kernels refuse, or cannot run, and minilite takes, by its documentation."""


def floats(*shape: int) -> Given:
    return const(np.random.default_rng(1).normal(size=shape), np.float32)


WINDOW = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
VOLUME = {"padding": "SAME", **{f"stride_{d}": 2 for d in "dhw"}, **{f"dilation_{d}_factor": 1 for d in "dhw"}}
PAIR = [Out("f32"), Out("f32")]
CASES = {
    "RESHAPE": Beside((2, 6), ["x", const([3, 4])], [(4, 6), (3, 4), (12,), (1, 2, 6)]),
    "SLICE": Beside((4, 6), ["x", const([1, 2]), const([2, 3])], [(3, 5), (2, 6), (4, 4), (8, 8)]),
    "STRIDED_SLICE": Beside(
        (4, 6), ["x", const([1, 2]), const([3, 6]), const([1, 2])], [(3, 5), (1, 6), (8, 8), (2, 2)]
    ),
    "PAD": Beside((4, 6), ["x", const([[1, 2], [0, 3]])], [(3, 5), (0, 6), (4, 6, 1)]),
    "PADV2": Beside((4, 6), ["x", const([[1, 2], [0, 3]]), const(1, np.float32)], [(3, 5), (4, 6, 1)]),
    "MIRROR_PAD": Beside(
        (4, 6), ["x", const([[1, 2], [0, 3]])], [(3, 5), (2, 6), (3, 3), (4, 4)], {"mode": "REFLECT"}
    ),
    "TILE": Beside((4, 6), ["x", const([2, 1])], [(3, 5), (0, 6), (4, 6, 1)]),
    "BROADCAST_TO": Beside((1, 6), ["x", const([4, 6])], [(4, 6), (2, 6), (6,), (1, 3), (1, 1)], version=2),
    "RESIZE_BILINEAR": Beside((1, 4, 6, 2), ["x", const([8, 9])], [(2, 3, 5, 2), (1, 4, 6, 3)], version=3),
    "RESIZE_NEAREST_NEIGHBOR": Beside((1, 4, 6, 2), ["x", const([8, 9])], [(2, 3, 5, 2)], version=3),
    "SPLIT_V": Beside((6, 4), ["x", const([2, 4]), const(0)], [(7, 4), (5, 4), (6, 8)], {"num_splits": 2}, outs=PAIR),
    "SPLIT": Beside((6, 4), [const(0), "x"], [(7, 4), (8, 4), (1, 4)], {"num_splits": 2}, outs=PAIR),
    "SPACE_TO_BATCH_ND": Beside(
        (1, 4, 4, 1), ["x", const([2, 2]), const([[0, 0], [0, 0]])], [(1, 5, 4, 1), (1, 6, 2, 1), (2, 4, 4, 1)]
    ),
    "BATCH_TO_SPACE_ND": Beside(
        (4, 2, 2, 1), ["x", const([2, 2]), const([[1, 2], [0, 1]])], [(4, 1, 2, 1), (6, 2, 2, 1), (4, 3, 3, 1)]
    ),
    "SCATTER_ND": Beside((2, 3), [const([[0], [2]]), "x", const([4, 3])], [(3, 3), (1, 3), (2, 4)]),
    "TRANSPOSE": Beside((2, 3, 4), ["x", const([2, 0, 1])], [(5, 3, 4), (2, 3), (0, 3, 4)]),
    "TRANSPOSE_CONV": Beside(
        (1, 3, 3, 2), [const([1, 6, 6, 4]), floats(4, 2, 2, 2), "x"],
        [(1, 4, 3, 2), (1, 3, 5, 2), (2, 3, 3, 2), (1, 3, 3, 4)], WINDOW,
        beyond=[(1, 4, 3, 2), (1, 3, 5, 2), (2, 3, 3, 2)],
    ),
    "CONV_3D_TRANSPOSE": Beside(
        (1, 3, 3, 3, 2), [const([1, 6, 6, 6, 4]), floats(2, 2, 2, 4, 2), "x"],
        [(1, 4, 3, 3, 2), (1, 3, 3, 6, 2), (2, 3, 3, 3, 2), (1, 3, 3, 3, 4)], VOLUME,
        beyond=[(1, 4, 3, 3, 2), (1, 3, 3, 6, 2), (2, 3, 3, 3, 2)],
    ),
    "CUMSUM": Beside((2, 6), ["x", const(1)], [(3, 4), (6,)]),
    "EXPAND_DIMS": Beside((2, 6), ["x", const(1)], [(3, 4), (6,)]),
    "MEAN": Beside((2, 6), ["x", const([1])], [(3, 4), (6,), (2, 3, 4)]),
    "REVERSE_V2": Beside((2, 6), ["x", const([1])], [(3, 4), (6,)]),
    "ARG_MAX": Beside((2, 6), ["x", const(1)], [(3, 4), (6,), (2, 0)], {"output_type": "INT32"}, kind="s32"),
    "TOPK_V2": Beside((2, 6), ["x", const(3)], [(2, 2), (3, 8), (6,)], outs=[Out("f32"), Out("s32")]),
    "UNSORTED_SEGMENT_SUM": Beside((4, 3), ["x", const([0, 1, 0, 1]), const(2)], [(5, 3), (3, 3), (4, 5)]),
    "REDUCE_WINDOW": Beside(
        (4, 5), ["x", const(0, np.float32), *(const(sizes, np.int64) for sizes in ([2, 3], [1, 2], [1, 1]))],
        [(3, 3), (1, 5)], {"reduce_function": "ADD"},
    ),
    "FILL": Beside((), [const([2, 3]), "x"], [(2,)]),
    "DILATE": Beside((2, 3), ["x", const([2, 1]), const(0, np.float32)], [(3, 3), (1, 5), (6,)]),
    "ONE_HOT": Beside(
        (3,), ["x", const(4), const(1, np.float32), const(0, np.float32)], [(5,), (2, 3), (0,)], {"axis": -1}, kind="f32",
        given="s32",
    ),
    "EMBEDDING_LOOKUP_SPARSE": Beside(
        (5, 4), [const([1, 3, 0]), const([[0, 0], [0, 1], [1, 0]]), const([2, 2]), floats(3), "x"], [(6, 4), (4, 2), (3, 4)]
    ),
    "DYNAMIC_UPDATE_SLICE": Beside((4, 3), ["x", floats(2, 3), const([1, 0])], [(1, 3), (4, 2), (8, 8)]),
}  # fmt: skip
"""Operators with size operands beside an input that can be resized; one for each family of operators."""


def node_of(op: str, shape: tuple[int, ...]) -> OneNode:
    case = CASES[op]
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 6, shape).astype(dtype_of(case.given))
    inputs = [x if isinstance(each, str) else each for each in case.operands]
    return OneNode(op, inputs, case.options, kind=case.kind, outs=case.outs, version=case.version)


def answer(run: Any, model: bytes, array: Any, **how: Any) -> Any:
    """The outputs, or None if the size is refused."""
    try:
        return run(model, [array], **how)
    except (RuntimeError, ValueError):
        return None


@pytest.mark.parametrize(("op", "shape"), [(op, shape) for op, case in CASES.items() for shape in case.others])
def test_a_resized_input_is_followed_or_refused(op: str, shape: tuple[int, ...]) -> None:
    stored, (array,) = node_of(op, CASES[op].x), node_of(op, shape).arrays
    ours = answer(run_minilite, stored.model, array)
    reference = answer(run_minilite, stored.model, array, reference=True)
    assert (ours is None) == (reference is None)
    if ours is not None:
        compare(reference, ours, 1e-4, "C kernel against numpy reference")
    if peer.HERE and shape not in CASES[op].beyond:
        theirs = answer(run_litert, stored.model, array)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            compare(theirs, ours, 1e-4, "C kernel against LiteRT")


def test_families_with_such_operands_have_a_case() -> None:
    """Operators of a family share the code that reads the operand, so one case per family is enough. Operators without
    another operand have no input to resize."""
    rows = operator_rows()
    families = {row.family for row in rows if row.op in CASES}
    for row in rows:
        operands = {name.rstrip("?.") for name in row.takes.split("->")[0].split()}
        assert row.family in families or not operands & STATING or operands <= STATING, row.op
