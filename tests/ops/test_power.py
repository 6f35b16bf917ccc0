"""POW, ATAN2 (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.cases import Case
from support.compare import EPS, REFERENCE
from support.node import OneNode, values

from minilite.errors import KernelError, ShapeError


def power(rng: Any, inputs: Any, outputs: Any) -> tuple[OneNode, Any]:
    a = values(rng, inputs[0], (4, 1, 30))
    b = rng.integers(0, 9, (4, 3, 1)).astype(a.dtype)
    return OneNode("POW", [a, b]), {
        "tolerance": 0.1 if inputs[0] == "f32" else 0.0,
        "oracle": REFERENCE if inputs[0] == "f32" else None,
    }


def angle(rng: Any, inputs: Any, outputs: Any) -> Case:
    return Case([(7, 30), (7, 30)], tolerance=2.0**-9 if inputs[0] == "f16" else 2 * EPS)


EVERY_TYPE = {"POW": power, "ATAN2": angle}


def test_special_powers() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 2, 0.5], np.float32)
    OneNode("POW", [a[:, None].repeat(9, 1), a[None].repeat(9, 0)]).check(tolerance=EPS)
    OneNode("ATAN2", [a[:, None].repeat(9, 1), a[None].repeat(9, 0)]).check(tolerance=4 * EPS)


def test_squares_and_cubes() -> None:
    """One exponent for all: multiplied in double. (LiteRT gives the largest float for infinity where it broadcasts.)"""
    rng = np.random.default_rng(3)
    x = np.float32([*rng.normal(0, 10, 5000), np.nan, 0, -0.0, 1e-30, 1e-42, 1e12])
    for exponent in (2.0, 3.0, 2.5, -2.0):
        given = np.abs(x) if exponent == 2.5 else x
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            exact = given.astype(np.float64) ** exponent
            bound = np.nan_to_num(np.abs(exact) * 2 * EPS, posinf=0.0).clip(0, 3e38)
        node = OneNode("POW", [given, np.float32(exponent)])
        node.check(tolerance=bound, oracle=REFERENCE)
        if exponent in (2.0, 3.0):
            assert np.array_equal(node.run(), exact.astype(np.float32), equal_nan=True)  # rounded once


def test_integers() -> None:
    a, b = np.array([2, -3, 0, 7, 46340], np.int32), np.array([10, 3, 0, 0, 2], np.int32)
    assert OneNode("POW", [a, b]).check().tolist() == [1024, -27, 1, 1, 2147395600]
    OneNode("POW", [a, -b]).refused(KernelError, "exponent -10 of element 0 is below 0")


def test_broadcasts() -> None:
    rng = np.random.default_rng(2)
    for left, right in (((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((), (3,)), ((0,), (1,))):
        OneNode("POW", [np.abs(values(rng, "f32", left)), values(rng, "f32", right)]).check(tolerance=1e-2)
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    OneNode("POW", [a, b]).refused(ShapeError, r"shapes \(2, 3\) and \(2, 4\) do not broadcast")
