"""The steps of Winograd's convolutions, called with numpy arrays; and the matrices that they are held to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from primitives import Place, pointer

from minilite._core import ffi

PANEL = 16
"""Outputs of a panel of matmul_s16."""

ONE = np.ones((1, 1), np.int64)
TILES = [(2, 2), (4, 4), (1, 4), (4, 1)]
"""The heights and widths of tiles; patches have two pixels more along a side, but where a tile has 1."""

B = {
    1: ONE,
    2: np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]]),
    4: np.array(
        [
            [4, 0, -5, 0, 1, 0],
            [0, -4, -4, 1, 1, 0],
            [0, 4, -4, -1, 1, 0],
            [0, -2, -1, 2, 1, 0],
            [0, 2, -1, -2, 1, 0],
            [0, 4, 0, -5, 0, 1],
        ]
    ),
}
"""The transposed matrix of patches, by the side of a tile."""
G = {
    1: ONE,
    2: np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]),
    4: np.array([[6, 0, 0], [-2, -2, -2], [-2, 2, -2], [1, 2, 4], [1, -2, 4], [0, 0, 6]]),
}
"""The matrix of filters, scaled so that it is whole."""
A = {
    1: ONE,
    2: np.array([[1, 1, 1, 0], [0, 1, -1, 1]]),
    4: np.array([[1, 2, 2, 1, 1, 0], [0, 2, -2, 2, -2, 0], [0, 2, 2, 4, 4, 0], [0, 2, -2, 8, -8, 4]]),
}
"""The transposed matrix of products, which makes up for the scales of G."""
SCALE = {1: 1, 2: 2, 4: 24}
"""The transforms along a side of a tile leave so many times a sum."""

ROOT = 2**0.5
B_F32 = np.array(
    [
        [1, 0, -2.5, 0, 1, 0],
        [0, -ROOT, -2, 1 / ROOT, 1, 0],
        [0, ROOT, -2, -1 / ROOT, 1, 0],
        [0, -1 / ROOT, -0.5, ROOT, 1, 0],
        [0, 1 / ROOT, -0.5, -ROOT, 1, 0],
        [0, 1, 0, -2.5, 0, 1],
    ]
)
"""The transposed matrix of patches of floats, whose points are 0, 1 / ROOT, -1 / ROOT, ROOT, -ROOT and infinity."""
A_F32 = np.array([[*(point**power for point in (1 / ROOT, -1 / ROOT, ROOT, -ROOT)), power == 3] for power in range(4)])
A_F32 = np.column_stack([[1, 0, 0, 0], A_F32])
"""The transposed matrix of products of floats."""
G_F32 = np.array(
    [
        [1, 0, 0],
        *([-2 / 3, -2 / 3 * point, -1 / 3] for point in (1 / ROOT, -1 / ROOT)),
        *([1 / 6, point / 6, 1 / 3] for point in (ROOT, -ROOT)),
        [0, 0, 1],
    ]
)
"""The matrix of filters of floats."""


def lines_of(tile: tuple[int, int], tiles: int) -> tuple[int, int]:
    """The height and width of the lines that tiles side by side see."""
    high, wide = (len(B[side]) for side in tile)
    return high, (tiles - 1) * tile[1] + wide


def patches_in(
    simd: Any, x: NDArray, tile: tuple[int, int], tiles: int, place: Place = np.asarray, apart: int = 5
) -> NDArray:
    """winograd_in of lines (*lines_of(tile, tiles), channels): (positions, tiles, channels)."""
    channels, positions = x.shape[2], len(B[tile[0]]) * len(B[tile[1]])
    row = tiles * channels + apart
    v = place(np.full(positions * row - apart, 999, np.int16))
    args = {"x": pointer(x, "int8_t *"), "x_line": x.strides[0], "channels": channels, "tiles": tiles,
            "tile_h": tile[0], "tile_w": tile[1], "v": pointer(v, "int16_t *"), "v_position": row}  # fmt: skip
    simd.winograd_in(ffi.new("ml_winograd_in_args *", args))
    whole = np.concatenate([v, np.full(apart, 999, np.int16)]).reshape(positions, row)
    assert (whole[:, row - apart :] == 999).all()
    return whole[:, : row - apart].reshape(positions, tiles, channels)


def weights_in(simd: Any, w: NDArray, zero: int, tile: tuple[int, int], place: Place = np.asarray) -> NDArray:
    """winograd_weights of bytes (height, width, 16, 2): (positions, 16, 2)."""
    positions, row, apart = len(B[tile[0]]) * len(B[tile[1]]), 2 * PANEL, 7
    step = row + apart
    v = place(np.full(positions * step - apart, 999, np.int16))
    args = {"w": pointer(w, "int8_t *"), "zero": zero, "tile_h": tile[0], "tile_w": tile[1],
            "v": pointer(v, "int16_t *"), "v_position": step}  # fmt: skip
    simd.winograd_weights(ffi.new("ml_winograd_weights_args *", args))
    whole = np.concatenate([v, np.full(apart, 999, np.int16)]).reshape(positions, step)
    assert (whole[:, row:] == 999).all()
    return whole[:, :row].reshape(positions, PANEL, 2)


def packed_pairs(w: NDArray) -> NDArray:
    """Weights (products, k, n) in panels: (products, n / 16, k / 2, 16, 2)."""
    products, k, n = w.shape
    return np.ascontiguousarray(w.reshape(products, k // 2, 2, n // PANEL, PANEL).transpose(0, 3, 1, 4, 2), np.int16)


def matmul_s16(simd: Any, a: NDArray, packed: NDArray, place: Place = np.asarray, apart: int = 3) -> NDArray:
    """The products of rows (products, rows, k), whose products may lie apart, with packed weights."""
    products, rows, k = a.shape
    n = packed.shape[1] * PANEL
    step = rows * n + apart
    y = place(np.full(products * step - apart, 999, np.int32))
    args = {"a": pointer(a, "int16_t *"), "a_step": a.strides[0] // 2, "rows": rows, "k": k, "n": n, "y_step": step,
            "packed": pointer(packed, "int16_t *"), "y": pointer(y, "int32_t *"), "products": products}  # fmt: skip
    simd.matmul_s16(ffi.new("ml_matmul_s16_args *", args))
    whole = np.concatenate([y, np.full(apart, 999, np.int32)]).reshape(products, step)
    assert (whole[:, step - apart :] == 999).all()
    return whole[:, : step - apart].reshape(products, rows, n)


def sums_out(simd: Any, m: NDArray, start: NDArray, tile: tuple[int, int], place: Place = np.asarray) -> NDArray:
    """winograd_out of products (positions, tiles, n), whose positions may lie apart: (height, width * tiles, n)."""
    _, tiles, n = m.shape
    y = place(np.full((tile[0], tile[1] * tiles, n), 999, np.int32))
    args = {"m": pointer(m, "int32_t *"), "m_position": m.strides[0] // 4, "tiles": tiles, "n": n,
            "tile_h": tile[0], "tile_w": tile[1], "start": pointer(start, "int32_t *"), "y": pointer(y, "int32_t *"), "y_line": y.strides[0] // 4}  # fmt: skip
    simd.winograd_out(ffi.new("ml_winograd_out_args *", args))
    return y


def filters(w: NDArray, tile: tuple[int, int]) -> NDArray:
    """G w G^T of weights (n, height, width, channels), (positions, channels, n)."""
    made = np.einsum("ai,nijc,bj->abcn", G[tile[0]], w.astype(np.int64), G[tile[1]])
    assert np.abs(made).max() < 2**15
    return made.reshape(-1, *made.shape[2:])


def convolved(simd: Any, x: NDArray, w: NDArray, start: NDArray, tile: tuple[int, int], tiles: int) -> NDArray:
    """All steps: the sums of lines (*lines_of(tile, tiles), channels) with filters (n, height, width, channels)."""
    v = np.ascontiguousarray(patches_in(simd, x, tile, tiles))
    m = matmul_s16(simd, v, packed_pairs(filters(w, tile)))
    return sums_out(simd, np.ascontiguousarray(m), start, tile)


def patches_in_f32(simd: Any, x: NDArray, tiles: int, place: Place = np.asarray, apart: int = 5) -> NDArray:
    """winograd_in_f32 of lines (6, 4 * tiles + 2, channels): (36, tiles, channels)."""
    channels, positions = x.shape[2], 36
    row = tiles * channels + apart
    v = place(np.full(positions * row - apart, 999, np.float32))
    args = {"x": pointer(x, "float *"), "x_line": x.strides[0] // 4, "channels": channels, "tiles": tiles,
            "v": pointer(v, "float *"), "v_position": row}  # fmt: skip
    simd.winograd_in_f32(ffi.new("ml_winograd_in_f32_args *", args))
    whole = np.concatenate([v, np.full(apart, 999, np.float32)]).reshape(positions, row)
    assert (whole[:, row - apart :] == 999).all()
    return whole[:, : row - apart].reshape(positions, tiles, channels)


def sums_out_f32(
    simd: Any, m: NDArray, y: NDArray, bias: NDArray | None = None, low: float = -np.inf, high: float = np.inf
) -> NDArray:
    """winograd_out_f32 of products (36, tiles, n), whose positions may lie apart, into lines y (lines, pixels, n)."""
    args = {"m": pointer(m, "float *"), "m_position": m.strides[0] // 4, "n": m.shape[2], "lines": y.shape[0],
            "pixels": y.shape[1], "bias": pointer(bias, "float *"), "y": pointer(y, "float *"),
            "y_line": y.strides[0] // 4, "low": low, "high": high}  # fmt: skip
    simd.winograd_out_f32(ffi.new("ml_winograd_out_f32_args *", args))
    return y
