"""matmul_f32 at each level: float64 within 8 eps of the sum of |a w|, tails, strides, pieces, limits, NaN, infinity."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, matmul_f32, pack_f32

from minilite._core import lib

EPS = float(np.finfo(np.float32).eps)
ROWS, OUTPUTS = 30, 67  # past two of the largest tiles, and no multiple of a vector
FEW = lib.ML_FEW_OUTPUTS
DEPTHS = [0, 1, 2, 3, 5, 8, 127, 128, 129, 300]
PLACES: list[Callable[[NDArray], NDArray]] = [at_end, at_start, lambda values: shifted(values, 1)]


def draw(k: int, low: float = -1.0) -> tuple[NDArray, NDArray, NDArray]:
    """Seeded (rows, weights, bias)."""
    rng = np.random.default_rng(k)
    shapes = [(ROWS, k), (OUTPUTS, k), (OUTPUTS,)]
    a, w, bias = (rng.uniform(low, 1, shape).astype(np.float32) for shape in shapes)
    return a, w, bias


def check(y: NDArray, a: NDArray, w: NDArray, bias: NDArray | None) -> None:
    b = np.zeros(len(w), np.float32) if bias is None else bias
    exact = a.astype(np.float64) @ w.T.astype(np.float64) + b
    bound = 8 * EPS * (np.abs(a).astype(np.float64) @ np.abs(w.T).astype(np.float64) + np.abs(b))
    assert (np.abs(y - exact) <= bound).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", DEPTHS)
def test_every_tail(level: str, k: int) -> None:
    """Each number of rows and outputs gives the bits that all of them give together; few outputs, those of
    ML_FEW_OUTPUTS."""
    simd = SIMD[level]
    a, w, bias = draw(k)
    whole = matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS, bias=bias)
    check(whole, a, w, bias)
    few = matmul_f32(simd, a, pack_f32(simd, w[:FEW]), FEW, bias=bias)
    check(few, a, w[:FEW], bias[:FEW])
    for n in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 66]:
        packed = pack_f32(simd, w[:n])
        for rows in range(ROWS + 1):
            y = matmul_f32(simd, a[:rows], packed, n, bias=bias)
            expected = few if n <= FEW else whole
            np.testing.assert_array_equal(y, expected[:rows, :n], f"{rows} rows, {n} outputs")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", [1, 7, 130])
def test_nothing_past_the_operands_is_touched(level: str, k: int) -> None:
    simd = SIMD[level]
    for rows, n in itertools.product([1, 2, 3, 5, 14, 19], [1, 5, 8, 13, 16, 31, 67]):
        a, w, bias = (values[:size] for values, size in zip(draw(k), (rows, n, n), strict=True))
        expected = matmul_f32(simd, a, pack_f32(simd, w), n, bias=bias)
        for place in PLACES:
            y = place(np.full((rows, n), np.nan, np.float32))
            matmul_f32(simd, place(a), place(pack_f32(simd, w)), n, bias=place(bias), y=y)
            np.testing.assert_array_equal(y, expected, f"{rows} rows, {n} outputs")


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 6, 16, 43])
def test_rows_may_lie_apart(level: str, n: int) -> None:
    """Strides of a and y, wider than their rows; what lies between is neither read nor written."""
    simd = SIMD[level]
    a, w, bias = draw(20)
    w, bias = w[:n], bias[:n]
    expected = matmul_f32(simd, a, pack_f32(simd, w), n, bias=bias)
    for gap in (1, 3, 64):
        wide_a = np.full((ROWS, 20 + gap), np.nan, np.float32)
        wide_a[:, :20] = a
        wide_y = np.full((ROWS, n + gap), 7, np.float32)
        matmul_f32(simd, wide_a[:, :20], pack_f32(simd, w), n, bias=bias, y=wide_y[:, :n])
        np.testing.assert_array_equal(wide_y[:, :n], expected)
        assert (wide_y[:, n:] == 7).all()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("height", "width", "depth"), [(1, 3, 3), (3, 3, 3), (3, 3, 50), (5, 2, 64), (2, 1, 129)])
def test_windows_need_no_copy(level: str, height: int, width: int, depth: int) -> None:
    """Pieces of overlapping rows give the bits of the same windows copied out."""
    simd = SIMD[level]
    rng = np.random.default_rng(depth)
    image = rng.uniform(-1, 1, (height + 1, ROWS + width, depth)).astype(np.float32)
    w = rng.uniform(-1, 1, (OUTPUTS, height * width * depth)).astype(np.float32)
    step, line = depth * 4, image.strides[0]
    windows = np.lib.stride_tricks.as_strided(image, (ROWS, height, width * depth), (step, line, 4), writeable=False)
    y = matmul_f32(simd, windows, pack_f32(simd, w), OUTPUTS)
    copied = np.ascontiguousarray(windows).reshape(ROWS, -1)
    np.testing.assert_array_equal(y, matmul_f32(simd, copied, pack_f32(simd, w), OUTPUTS))
    check(y, copied, w, None)


@pytest.mark.parametrize("level", SIMD)
def test_long_sums_of_one_sign_stay_exact(level: str) -> None:
    simd = SIMD[level]
    a, w, _ = draw(20_000, low=0.0)
    check(matmul_f32(simd, a[:7], pack_f32(simd, w[:19]), 19), a[:7], w[:19], None)


@pytest.mark.parametrize("level", SIMD)
def test_many_weights_take_several_passes(level: str) -> None:
    simd = SIMD[level]
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, (20, 1200)).astype(np.float32)
    w = rng.uniform(-1, 1, (409, 1200)).astype(np.float32)
    y = matmul_f32(simd, a, pack_f32(simd, w), 409)
    check(y, a, w, None)
    np.testing.assert_array_equal(matmul_f32(simd, a[9:10], pack_f32(simd, w[400:]), 9), y[9:10, 400:])


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("limits", [(0.0, np.inf), (0.0, 6.0), (-1.0, 1.0), (-np.inf, 0.5), (0.25, 0.25)])
def test_limits(level: str, limits: tuple[float, float]) -> None:
    simd = SIMD[level]
    a, w, bias = draw(9)
    free = matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS, bias=bias)
    y = matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS, bias=bias, low=limits[0], high=limits[1])
    np.testing.assert_array_equal(y, np.clip(free, *limits))


@pytest.mark.parametrize("level", SIMD)
def test_without_bias_it_is_zero(level: str) -> None:
    simd = SIMD[level]
    a, w, bias = draw(40)
    y = matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS)
    np.testing.assert_array_equal(y, matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS, bias=0 * bias))


@pytest.mark.parametrize("level", SIMD)
def test_infinities_and_nan_go_where_scalar_sends_them(level: str) -> None:
    a, w, bias = draw(200)
    a[3, 150], a[4, 0], a[5, 7], w[2, 199], w[9, 3], bias[11] = np.nan, np.inf, -np.inf, np.nan, np.inf, -np.inf
    w[20, 0], w[21, 7] = 0, 0
    with np.errstate(invalid="ignore"):
        for low, high in [(-np.inf, np.inf), (0.0, 6.0)]:
            expected, y = (
                matmul_f32(simd, a, pack_f32(simd, w), OUTPUTS, bias=bias, low=low, high=high)
                for simd in (SIMD["scalar"], SIMD[level])
            )
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    assert np.isnan(y[3]).all()
    assert np.isnan(y[:, 2]).all()
    assert np.isnan(y[4, 20])
    assert not np.isnan(y[0, 3:]).any()


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("n", [1, 6, 16, 43])
def test_some_inputs_of_packed_weights(level: str, n: int) -> None:
    """Rows may be multiplied by the weights of inputs from one on, where these lie among those of all."""
    simd = SIMD[level]
    a, w, _ = draw(300)
    packed = pack_f32(simd, w[:n])
    for first, end in ((0, 128), (128, 300), (256, 257)):
        expected = matmul_f32(simd, a[:, first:end], pack_f32(simd, w[:n, first:end].copy()), n)
        later = packed.reshape(-1)[first * simd.matmul_f32_panel :]
        y = matmul_f32(simd, a[:, first:end], later, n, packed_k=300)
        np.testing.assert_array_equal(y, expected)
