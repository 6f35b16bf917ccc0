"""pack_s8: every weight in its place for matmul_s8, zeros in the padding, and the sums of each output."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pack_s8


def paired(panel: NDArray) -> NDArray:
    """(pieces, groups, width, 4), two groups of an output together; an odd one comes last."""
    pieces, groups, width, _ = panel.shape
    pairs = panel[:, : groups // 2 * 2].reshape(pieces, groups // 2, 2, width, 4).swapaxes(2, 3)
    return np.concatenate([pairs.reshape(pieces, -1), panel[:, groups // 2 * 2 :].reshape(pieces, -1)], 1)


def expected(w: NDArray, pieces: int, level: str) -> NDArray:
    """The layout, weight by weight, of w (n, pieces * k)."""
    n, k = w.shape[0], w.shape[1] // pieces
    groups = -(-k // 4)
    panels = []
    for first in range(0, n, 64):
        width = min(64, -(-(n - first) // 16) * 16)
        panel = np.zeros((pieces, groups, width, 4), np.int8)
        for piece in range(pieces):
            for i in range(min(width, n - first)):
                row = w[first + i, piece * k : (piece + 1) * k]
                for j, value in enumerate(row):
                    ends = j // 4 == k // 4 and k >= 4  # the last four end with the piece
                    panel[piece, j // 4, i, j - k + 4 if ends else j % 4] = value
        panels.append((paired(panel) if SIMD[level].matmul_s8_pairs else panel).ravel())
    return np.concatenate([np.zeros(0, np.int8), *panels])


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 6, 7, 8, 33, 255, 256, 257, 601])
def test_layout(level: str, pieces: int, k: int) -> None:
    rng = np.random.default_rng(k)
    for n in [0, 1, 3, 15, 16, 17, 63, 64, 65, 130] if k < 100 else [1, 70]:
        w = rng.integers(-128, 128, (n, pieces * k)).astype(np.int8)
        for place in (at_end, at_start, lambda values: shifted(values, 1)):
            packed, sums = pack_s8(SIMD[level], place(w), pieces=pieces, place=place)
            np.testing.assert_array_equal(packed, expected(w, pieces, level), f"{n} outputs")
            np.testing.assert_array_equal(sums, w.sum(1, dtype=np.int32))


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("k", [1, 6, 300])
def test_types_and_order(level: str, k: int) -> None:
    """u8 minus 128, s4 unpacked from any element on, columns, and outputs in another order than in memory."""
    rng, simd, n = np.random.default_rng(k), SIMD[level], 21
    w = rng.integers(-128, 128, (n, k)).astype(np.int8)
    wanted, sums = pack_s8(simd, w)
    for given in (
        pack_s8(simd, (w.astype(np.int16) + 128).astype(np.uint8), kind="u8"),
        pack_s8(simd, np.ascontiguousarray(w.T), n=n, k=k, steps=(1, n + 1, 0, n)),
        pack_s8(
            simd,
            np.ascontiguousarray(w.reshape(7, 3, k).transpose(1, 0, 2)),
            n=n,
            k=k,
            steps=(7 * k, 3, k, 1),
        ),
    ):
        np.testing.assert_array_equal(given[0], wanted)
        np.testing.assert_array_equal(given[1], sums)
    w = rng.integers(-8, 8, (n, k)).astype(np.int8)
    nibbles = np.concatenate([[5], w.ravel(), [7]]).astype(np.uint8) & 15
    halves = nibbles[: len(nibbles) // 2 * 2].reshape(-1, 2)
    source = at_end((halves[:, 0] | halves[:, 1] << 4).astype(np.uint8))
    if len(nibbles) % 2:
        source = np.append(source, nibbles[-1])
    packed, sums = pack_s8(simd, source, kind="s4", n=n, k=k, first=1)
    wanted = pack_s8(simd, w)
    np.testing.assert_array_equal(packed, wanted[0])
    np.testing.assert_array_equal(sums, wanted[1])
