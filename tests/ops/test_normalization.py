"""L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import EPS
from support.node import Given, OneNode, scaled, values

from minilite.errors import UnsupportedOpError
from minilite.format.quantization import Quantization

UNIT = {"s8": Quantization((1 / 128,), (0,)), "u8": Quantization((1 / 128,), (128,))}
RESPONSE = {"radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
EVERY_TYPE: dict[str, Any] = {
    "L2_NORMALIZATION": Case([(2, 3, 4, 17)], quantization=UNIT, tolerance=8 * EPS),
    "LOCAL_RESPONSE_NORMALIZATION": Case([(2, 3, 4, 7)], RESPONSE, tolerance=64 * EPS),
}


@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
def test_rows(kind: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1,), (5,), (3, 4), (2, 3, 70), (1, 1, 1, 1024), (2, 2, 3, 1)):
        for divisor in (1, 30):
            x = values(rng, kind, shape)
            x = (x // divisor).astype(x.dtype) if kind != "f32" else x / np.float32(divisor)
            node = OneNode(
                "L2_NORMALIZATION",
                [Given(x, quantization=scaled(rng, kind))],
                quantization=UNIT.get(kind, scaled(rng, kind)),
            )
            node.check(tolerance=64 * EPS)


def test_zeros() -> None:
    assert not OneNode("L2_NORMALIZATION", [np.zeros((2, 3), np.float32)]).check().any()


def test_other_scales_are_refused() -> None:
    x = Given(np.zeros((2, 3), np.int8), quantization=Quantization((0.1,), (0,)))
    node = OneNode("L2_NORMALIZATION", [x], quantization=Quantization((0.1,), (0,)))
    node.refused(UnsupportedOpError, "must be 1/128 and 0")


def test_response() -> None:
    rng = np.random.default_rng(5)
    for radius in (1, 3, 20):
        x = values(rng, "f32", (1, 2, 3, 9))
        for beta in (0.5, 1.0, 0.75):
            OneNode("LOCAL_RESPONSE_NORMALIZATION", [x], {**RESPONSE, "radius": radius, "beta": beta}).check(
                tolerance=64 * EPS
            )
