"""interleave_s8 at each level: lines of bytes become groups; missing lines, tails."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from guarded import at_end, at_start, shifted
from numpy.typing import NDArray
from primitives import SIMD, pointer

from minilite._core import ffi


def interleave(level: str, lines: list[NDArray | None], flip: int, pad: int, y: NDArray) -> NDArray:
    """The lines' bytes as groups, into y, (count, group)."""
    pointers = [pointer(line, "uint8_t *") for line in [*lines, None, None][:4]]
    fields = {"lines": pointers, "count": len(y), "flip": flip, "pad": pad, "y": pointer(y, "void *")}
    SIMD[level].interleave_s8(ffi.new("ml_interleave_s8_args *", fields))
    return y


@pytest.mark.parametrize("level", SIMD)
@pytest.mark.parametrize(("flip", "pad"), [(0, 0), (0, 255), (128, 3), (128, 200)])
def test_every_tail_with_and_without_lines(level: str, flip: int, pad: int) -> None:
    group = SIMD[level].depthwise_s8_group
    kind = np.uint8 if group == 4 else np.int16
    rng = np.random.default_rng(flip + pad)
    for count in [0, *range(1, 36), 63, 64, 65, 80, 127, 128, 200]:
        lines = list(rng.integers(0, 256, (group, count)).astype(np.uint8))
        for there in itertools.product([True, False], repeat=group):
            wanted = [line ^ flip if t else np.full(count, pad) for line, t in zip(lines, there, strict=True)]
            for place in (at_end, at_start, lambda values: shifted(values, 1)) if sum(there) > group - 2 else (at_end,):
                given = [place(line) if t else None for line, t in zip(lines, there, strict=True)]
                y = interleave(level, given, flip, pad, place(np.full((count, group), 77, kind)))
                np.testing.assert_array_equal(y, np.stack(wanted, 1).astype(kind))
