"""UNIQUE: C kernel, numpy reference and LiteRT agree; the count of numbers is known only in the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, Out

import minilite
from minilite.errors import ShapeError


def every_type(rng: Any, inputs: Any, outputs: Any) -> Case:
    """The option says the type of the second output."""
    return Case([[3, 1, 3, 2, 1, 7]], {"idx_out_type": {"s32": "INT32", "s64": "INT64"}[outputs[1]]})


EVERY_TYPE = {"UNIQUE": every_type}


def unique(x: Any, kind: str = "f32") -> OneNode:
    return OneNode("UNIQUE", [x], {"idx_out_type": "INT32"}, outs=[Out(kind), Out("s32")])


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("s8", np.int8), ("s64", np.int64)])
@pytest.mark.parametrize("size", [0, 1, 7, 16, 17, 3000])
def test_values(kind: str, dtype: Any, size: int) -> None:
    rng = np.random.default_rng(size)
    for most in (2, 100):
        node = unique(rng.integers(-most, most, size).astype(dtype), kind)
        node.check(**({} if size else {"oracle": None}))  # LiteRT gives no values of an output without elements


def test_equal_floats() -> None:
    """LiteRT takes NaN for the same as whatever it meets first."""
    nan = np.nan
    y = unique(np.array([0.0, nan, -0.0, 1, -nan, np.inf, 1], np.float32)).check(oracle=None)
    np.testing.assert_array_equal(y, [0, nan, 1, np.inf])
    unique(np.array([-0.0, 1, 0.0], np.float32)).check()


def test_runs_of_other_numbers() -> None:
    node = unique(np.zeros(200, np.float32))
    interpreter = minilite.Interpreter(model_content=node.model)
    interpreter.allocate_tensors()
    for count in (3, 200, 1, 50):
        x = (np.arange(200) % count).astype(np.float32)
        interpreter.set_tensor(0, x)
        interpreter.invoke()
        y, which = (interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details())
        np.testing.assert_array_equal(y, np.arange(count))
        np.testing.assert_array_equal(y[which], x)


def test_refused() -> None:
    unique(np.zeros((2, 3), np.float32)).refused(ShapeError, r"the input must be a vector, its shape is \(2, 3\)")
