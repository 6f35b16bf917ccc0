"""depthwise_narrow_s8 at each level: lines of s8 as they lie, the same bytes as scalar requantize of exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from depthwise import WINDOWS, Window, depthwise, pack, placed, taps
from guarded import at_end
from primitives import SIMD, requantize, requantize_args
from test_depthwise_product_s8 import multipliers


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("low", [-128, -3])
def test_windows(level: str, window: Window, low: int) -> None:
    """All tails, one panel and more; the ends of bytes; a clamp at the zero point; operands at the end of a page."""
    for n in (1, 5, 8, 16, 17, 40, 130):
        rng = np.random.default_rng(n)
        image = rng.choice(np.int8([-128, -127, 127, 5]), (window.height, window.columns, n))
        weights = rng.choice(np.int8([-127, 127, -1]), (window.height, window.width, n))
        start = rng.integers(-5000, 5000, n).astype(np.int32)
        mantissas, shifts = map(at_end, multipliers(n))
        y = np.full((window.pixels, n + 2), 77, np.int8)
        to = requantize_args(mantissas, shifts, y[:, :n], limit=1 << 30, zero=-3, low=low)

        def run(args: object, to: object = to) -> None:
            SIMD[level].depthwise_narrow_s8(args, to)

        lines = placed(image, window, at_end)
        depthwise(run, lines, window, at_end(pack(weights)), y[:, :n], at_end(start))
        sums = (taps(image, window).astype(np.int64) * weights).sum((1, 2)) + start
        wanted = requantize(SIMD["scalar"], sums.astype(np.int32), mantissas, shifts, zero=-3, low=low)
        np.testing.assert_array_equal(y[:, :n], wanted, f"{n} channels")
        assert (y[:, n:] == 77).all()
