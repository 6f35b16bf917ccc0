"""transpose_x4 at each level: squares, narrow matrices, strides that collide in a cache, nothing past the operands."""

from __future__ import annotations

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from primitives import SIMD, pointer

from minilite._core import ffi

SHAPES = [(1, 1), (2, 40), (40, 2), (3, 100), (100, 3), (4, 33), (33, 4), (5, 19), (16, 16), (17, 31), (64, 65), (512, 20), (20, 512)]  # fmt: skip


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gap", [0, 3])
def test_shapes_places_and_gaps(level: str, shape: tuple[int, int], gap: int) -> None:
    rows, columns = shape
    for place in (at_end, at_start, lambda values: shifted(values, 1)):
        values = np.arange(rows * (columns + gap), dtype=np.uint32)[: rows * (columns + gap) - gap]
        x, y = place(values), place(np.zeros(columns * (rows + gap) - gap, np.uint32))
        fields = {"x": pointer(x, "uint8_t *"), "y": pointer(y, "uint8_t *"), "rows": rows, "columns": columns}
        steps = {"x_step": 4 * (columns + gap), "y_step": 4 * (rows + gap)}
        SIMD[level].transpose_x4(ffi.new("ml_transpose_args *", {**fields, **steps}))
        whole = np.append(x, np.zeros(gap, np.uint32)).reshape(rows, columns + gap)[:, :columns]
        expected = np.zeros((columns, rows + gap), np.uint32)
        expected[:, :rows] = whole.T
        np.testing.assert_array_equal(y, expected.ravel()[: y.size])
