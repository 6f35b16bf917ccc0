"""Tables of bytes that are lines: every byte, at every level, becomes what scalar looks up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.node import Given, OneNode, Out

import minilite
from minilite._native.kernels import level_names
from minilite.format.quantization import Quantization

DTYPES: dict[str, Any] = {"s8": np.int8, "u8": np.uint8}
FUNCTIONS: dict[str, tuple[str, dict[str, float], list[str]]] = {
    "another scale": ("QUANTIZE", {}, ["s8 s8", "u8 u8", "s8 u8", "u8 s8"]),
    "a limit": ("RELU", {}, ["s8 s8", "u8 u8"]),
    "two limits": ("RELU6", {}, ["s8 s8", "u8 u8"]),
    "a bend upwards": ("LEAKY_RELU", {"alpha": 0.1}, ["s8 s8", "u8 u8"]),
    "a bend downwards": ("LEAKY_RELU", {"alpha": 3.0}, ["s8 s8", "u8 u8"]),
    "a corner": ("ABS", {}, ["s8 s8"]),
    "no line": ("HARD_SWISH", {}, ["s8 s8", "u8 u8"]),
}


def node_of(name: str, kinds: str, rng: np.random.Generator, ratio: float) -> OneNode:
    """A node whose input has `ratio` times the scale of its output, and every byte, in vectors and in what is left."""
    op, options, _ = FUNCTIONS[name]
    source, target = kinds.split()
    x = np.arange(256 + 77).astype(np.uint8).view(DTYPES[source])
    zeros = [int(rng.integers(-128, 128)) + (128 if kind == "u8" else 0) for kind in (source, target)]
    given = Given(x, quantization=Quantization((0.1 * ratio,), (zeros[0],)))
    outs = [Out(target, Quantization((0.1,), (zeros[1],)), x.shape)]
    return OneNode(op, [given], options, outs=outs, version=1 if op == "HARD_SWISH" else 2)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("level", level_names()[1:])
def test_every_byte_at_every_level(name: str, level: str) -> None:
    rng = np.random.default_rng(len(name))
    for kinds in FUNCTIONS[name][2]:
        for ratio in [1.0, 0.5, 2.0, *map(float, rng.uniform(0.05, 6, 40))]:
            node = node_of(name, kinds, rng, ratio)
            expected, found = (
                next(iter(minilite.Interpreter(model_content=node.model, level=at).run(*node.arrays).values()))
                for at in ("scalar", level)
            )
            np.testing.assert_array_equal(found, expected, f"{kinds}, ratio {ratio}")
