"""WHERE: C kernel, numpy reference and LiteRT (BUILTIN_REF) agree; what LiteRT refuses is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.cases import Case
from support.compare import REFERENCE
from support.node import Given, OneNode, counting

import minilite
from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType

EVERY_TYPE = {"WHERE": Case([(2, 5)])}
TYPES = [np.dtype(t) for t in (bool, np.float32, np.int64, np.int32, np.int8, np.uint8, np.uint32)]


def where(condition: Any, kind: TensorType = TensorType.INT64) -> OneNode:
    return OneNode("WHERE", [condition], kind=kind)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 1, 5), (2, 3, 1, 2), (1, 2, 1, 2, 1, 2, 1, 2)])
def test_shapes(shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    for density in (0.3, 1.0):
        condition = (counting(shape, dtype) * (rng.random(shape) < density)).astype(dtype)
        condition.flat[-1] = 1  # LiteRT's Python cannot read an output of no rows
        np.testing.assert_array_equal(where(condition).check(), np.argwhere(condition))
        where(Given(condition, constant=True)).check()


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6)))
def test_random(condition: Any) -> None:
    found = where(condition).check(oracle=REFERENCE if condition.any() else None)
    np.testing.assert_array_equal(found, np.argwhere(condition))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(63,), (64,), (65,), (200,), (3, 130), (2, 2, 70)])
def test_pieces_of_64_that_are_all_true_or_not(shape: Any, dtype: Any) -> None:
    """Lines are read in pieces; one that is all true is written in another way."""
    condition = np.ones(shape, dtype)
    for _ in range(3):
        np.testing.assert_array_equal(where(condition).check(), np.argwhere(condition))
        flat = condition.reshape(-1, shape[-1])
        flat[0, 64:] = 0
        flat[-1, ::3] = 0
        condition = np.roll(condition, 1)


def test_nan_infinity_and_subnormals_are_true() -> None:
    values = np.array([0.0, -0.0, np.nan, np.inf, 1e-45, -1], np.float32)
    assert where(values).check().ravel().tolist() == [2, 3, 4, 5]
    assert where(np.array([2**32, 0, -(2**63)], np.int64)).check().ravel().tolist() == [0, 2]


def test_refused() -> None:
    where(np.float32(1)).refused(ShapeError, "the condition has rank 0, expected 1 or more")
    where(counting((3,)), TensorType.INT32).refused(
        UnsupportedOpError, "types f32 -> s32 of condition -> y are not supported, f32 -> s64 are", by_litert=False
    )  # LiteRT changes the output's type
    for dtype in (np.int16, np.float64, np.uint64):
        where(counting((3,), dtype)).refused(UnsupportedOpError, "are not supported")


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=5))
def test_counts_that_change_from_run_to_run(rows: list[list[bool]]) -> None:
    interpreter = minilite.Interpreter(model_content=where(np.zeros((2, 3), bool)).model)
    interpreter.allocate_tensors()
    y = interpreter.get_output_details()[0]["index"]
    for row in rows:
        condition = np.array(row).reshape(2, 3)
        interpreter.set_tensor(0, condition)
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(y), np.argwhere(condition).reshape(-1, 2))
