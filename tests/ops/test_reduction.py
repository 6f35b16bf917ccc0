"""MEAN against numpy and LiteRT (integers bit for bit; oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import EPS, check, run_minilite
from elementwise import FLOAT32, INT8, INT16, INT32, INT64, UINT8, Array, one_node, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization

KINDS = [FLOAT32, INT32, INT64, INT8, UINT8, INT16]
CASES: list[tuple[Any, Any]] = [
    ((100,), [0]),
    ((4, 5), [1]),
    ((4, 5), [0]),
    ((4, 5), [0, 1]),
    ((4, 5), [-1]),
    ((4, 5), []),
    ((4, 5), [0, 0, -2]),
    ((1, 1), [0]),
    ((3, 1, 4), [1]),
    ((1, 300, 3), [1]),
    ((2, 3, 4, 5), [1, 2]),
    ((2, 3, 4, 5), [2, 1]),
    ((2, 3, 4, 5), [0, 2]),
    ((2, 3, 4, 5), [1, 3]),
    ((2, 7, 7, 33), [1, 2]),
    ((2, 3, 4, 5, 2), [1, 3]),
    ((2, 2, 2, 2, 2), [-1, 0]),
]


def mean(x: Array, axes: Any, keep: bool, scales: tuple[Quantization, Quantization], constant: bool = True) -> bytes:
    inputs = [(x, scales[0]), (np.array(axes, np.int32), NOT_QUANTIZED)]
    kind = next(k for k in KINDS if values(np.random.default_rng(), k, ()).dtype == x.dtype)
    options = {"keep_dims": keep}
    return one_node(
        "MEAN", inputs, kind, scale=scales[1], options=options, constants=[1] if constant else [], version=2
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("constant", [True, False])
def test_axes(kind: TensorType, keep: bool, constant: bool) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in CASES:
        x = values(rng, kind, shape)
        if kind == INT64:
            x = x // 2**20
        ours = scaled(rng, kind, 1e-3, 0.3)
        for other in (ours, scaled(rng, kind, 1e-3, 0.3)):
            model = mean(x, axes, keep, (ours, other), constant)
            check(model, [x] if constant else [x, np.array(axes, np.int32)], tolerance=16 * EPS)


@pytest.mark.parametrize("kind", KINDS)
def test_no_elements(kind: TensorType) -> None:
    """The mean of nothing is NaN, or 0 for integers."""
    rng = np.random.default_rng(9)
    for shape, axes in (((0, 3), [0]), ((3, 0), [0]), ((0,), [0]), ((2, 0, 3), [1, 2])):
        x = values(rng, kind, shape)
        check(mean(x, axes, False, (scaled(rng, kind, 0.1, 0.1),) * 2), [x])


@pytest.mark.parametrize("kind", [FLOAT32, INT32])
def test_rank_0(kind: TensorType) -> None:
    x = values(np.random.default_rng(9), kind, ())
    check(mean(x, [], False, (NOT_QUANTIZED,) * 2), [x])


def test_resized() -> None:
    rng = np.random.default_rng(9)
    model = mean(np.zeros((1, 2, 2, 1), np.float32), [1, 2], True, (NOT_QUANTIZED,) * 2)
    for shape in ((1, 7, 7, 64), (3, 2, 9, 5)):
        check(model, [values(rng, FLOAT32, shape)], tolerance=16 * EPS)


def test_means_that_all_but_vanish() -> None:
    """The multiplier, 1e-6 over 8192 elements, needs a shift near the end of its range."""
    x = np.full((8192,), 100, np.int8)
    for zero_point in (3, -128):
        scales = (Quantization((1e-6,), (0,)), Quantization((1.0,), (zero_point,)))
        assert check(mean(x, [0], False, scales), [x])[0] == zero_point


def test_rank_8() -> None:
    x = values(np.random.default_rng(9), FLOAT32, (2, 3, 2, 3, 2, 3, 2, 3))
    check(mean(x, [0, 2, 4, 6], False, (NOT_QUANTIZED,) * 2), [x], tolerance=16 * EPS)


def test_refusals() -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"MEAN 'y'\): axis 2 is outside rank 2"):
        run_minilite(mean(x, [2], False, (NOT_QUANTIZED,) * 2), [x])
    wrong = one_node("MEAN", [(x, NOT_QUANTIZED), (np.array([0]), NOT_QUANTIZED)], FLOAT32, constants=[1])
    with pytest.raises(UnsupportedOpError, match="axes of type INT64 must be INT32"):
        run_minilite(wrong, [x])
