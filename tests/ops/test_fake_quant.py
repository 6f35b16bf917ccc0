"""FAKE_QUANT: C kernel, numpy reference and LiteRT agree bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.node import OneNode, values

from minilite.errors import UnsupportedOpError

EVERY_TYPE = {"FAKE_QUANT": Case([(6, 30)], {"min": -1.0, "max": 2.0, "num_bits": 8})}


def fake_quant(x: Any, low: float, high: float, bits: int = 8, narrow: bool = False) -> OneNode:
    options = {"min": low, "max": high, "num_bits": bits, "narrow_range": narrow}
    return OneNode("FAKE_QUANT", [np.asarray(x, np.float32)], options)


@pytest.mark.parametrize("bits", [2, 8, 16])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 6.0), (-6.3, 0.0), (-0.37, 2.91), (-1e-3, 1e4)])
def test_ranges(bits: int, low: float, high: float) -> None:
    x = values(np.random.default_rng(2), "f32", (4, 300), max(abs(low), high))
    fake_quant(x, low, high, bits).check()
    fake_quant([np.nan, np.inf, -np.inf, 0.0, -0.0, low, high], low, high, bits).check()
    fake_quant(np.zeros((0, 3)), low, high, bits).check()


def test_refused() -> None:
    x = np.zeros(3)
    fake_quant(x, -1, 1, narrow=True).refused(UnsupportedOpError, "narrow_range is not supported")
    fake_quant(x, 1, 2).refused(UnsupportedOpError, "the range 1 to 2 must contain 0", by_litert=False)
    fake_quant(x, -1, 1, bits=0).refused(UnsupportedOpError, "num_bits is 0", by_litert=False)
