"""Differences of two arrays: errors, cosine, steps; NaN, strings, quantized numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from built import texts

from minilite.comparison.measure import Bin, difference, steps_text
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import Quantization
from minilite.ops_shared.bfloat16 import narrowed


def tensor(kind: TensorType = TensorType.FLOAT32, scale: float = 0.0, zero_point: int = 0) -> Tensor:
    quantization = Quantization((scale,), (zero_point,)) if scale else Quantization()
    return Tensor(0, "t", kind, (), quantization=quantization)


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def test_errors_of_floats() -> None:
    found = difference((tensor(), tensor()), (floats(3, 4, 0), floats(3, 4.5, 0)))
    assert (found.elements, found.differing, found.at, found.values) == (3, 1, (1,), (4.0, 4.5))
    assert found.largest == 0.5
    assert found.mean == pytest.approx(0.5 / 3)
    assert found.relative == pytest.approx(0.1)
    assert found.cosine == pytest.approx((9 + 18) / (5 * math.hypot(3, 4.5)))
    assert found.magnitude == 4.5
    assert not found.is_exact
    assert found.steps == ()


def test_differences_of_nan_and_infinity() -> None:
    nan, inf = float("nan"), float("inf")
    same = floats(nan, inf, -inf, 1)
    assert difference((tensor(), tensor()), (same, same.copy())).differing == 0
    for other in (floats(0, inf, -inf, 1), floats(nan, inf, inf, 1), floats(nan, 3, -inf, 1)):
        found = difference((tensor(), tensor()), (same, other))
        assert (found.differing, found.largest, found.relative) == (1, inf, inf)
        assert math.isnan(found.cosine)


def test_quantized_numbers_are_compared_as_real_ones() -> None:
    small = tensor(TensorType.INT8, 0.5, -3)
    found = difference((tensor(), small), (floats(1.0, 2.0), np.array([-1, 2], np.int8)))
    assert (found.differing, found.largest, found.values) == (1, 0.5, (2.0, 2.5))
    assert found.steps == ()  # of other types
    wide = tensor(TensorType.UINT8, 0.25)
    found = difference((small, wide), (np.array([-3, 1], np.int8), np.array([0, 8], np.uint8)))
    assert found.differing == 0


def test_steps_of_integers_of_one_scale() -> None:
    kind = tensor(TensorType.INT8, 0.5)
    a = np.zeros(9, np.int8)
    b = np.array([0, 0, 1, -1, -1, 4, 5, 8, -127], np.int8)
    found = difference((kind, kind), (a, b))
    expected = (Bin(-128, -65, 1), Bin(-1, -1, 2), Bin(0, 0, 2), Bin(1, 1, 1), Bin(4, 4, 1), Bin(5, 8, 2))
    assert found.steps == expected
    assert sum(b.elements for b in found.steps) == found.elements
    assert steps_text(found.steps[1:3]) == "-1: 2, 0: 2"
    assert found.largest == 63.5
    other = tensor(TensorType.INT8, np.nextafter(np.float32(0.5), np.float32(1)).item())
    assert difference((kind, other), (b, b)).differing == 7  # all that are not 0


def test_indices_booleans_and_strings_are_exact() -> None:
    index, truth = tensor(TensorType.INT32), tensor(TensorType.BOOL)
    assert difference((index, index), (np.int32([3, 4]), np.int32([3, 5]))).is_exact
    found = difference((truth, truth), (np.array([True]), np.array([False])))
    assert (found.is_exact, found.differing, found.steps) == (True, 1, ())
    letters = tensor(TensorType.STRING)
    found = difference((letters, letters), (texts("a", "b"), texts("a", "c")))
    assert (found.is_exact, found.differing, found.largest, found.values) == (True, 1, math.inf, ("b", "c"))
    assert difference((letters, letters), (texts("a"), texts("a"))).differing == 0


def test_other_kinds_of_numbers() -> None:
    halves = tensor(TensorType.BFLOAT16)
    found = difference((halves, halves), (narrowed(floats(1, 2)), narrowed(floats(1, 2.5))))
    assert (found.largest, found.is_exact, found.steps) == (0.5, False, ())
    complex_ = tensor(TensorType.COMPLEX64)
    found = difference((complex_, complex_), (np.complex64([1 + 1j]), np.complex64([1 + 2j])))
    assert (found.largest, found.differing) == (1.0, 1)
    assert found.cosine == pytest.approx(3 / math.sqrt(10))
    empty = np.zeros((0, 3), np.float32)
    assert difference((tensor(), tensor()), (empty, empty)).elements == 0
