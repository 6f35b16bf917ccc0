"""CAST: bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import check, compare, run_minilite
from support.node import Array, OneNode, dtype_of, kind_of, values

from minilite.errors import UnsupportedOpError
from minilite.format.builder import ModelBuilder

EDGES = [
    np.nan, np.inf, -np.inf, 0, -0.0, 0.5, -0.5, 127.5, 128, -128.5, -129, 255.9, 256, 32767.9, 32768, -32769, 65519.9,
    65520, 65535.9, 65536, 2147483520, 2147483648, -2147483648, 4294967040, 4294967296, 1e19, -1e19, 1e30, -1e30, 1e-8, 6e-8,
    3e-8, 2.9e-8, 6.1e-5, 1.00390625, 1.01171875, 3.3895e38,
]  # fmt: skip


class Chain:
    """A model that casts from each type to the next."""

    def __init__(self, x: Array, *kinds: str) -> None:
        builder = ModelBuilder()
        g = builder.subgraph()
        t = g.input("x", x.shape, kind_of(kinds[0]))
        for number, kind in enumerate(kinds[1:]):
            t = g.node("CAST", [t], out=(f"t{number}", x.shape, kind_of(kind)))
        g.output(t)
        self.model, self.arrays = builder.build(), [x]

    def check(self) -> Array:
        return check(self.model, self.arrays)[0]


def edged(rng: np.random.Generator, kind: str) -> Array:
    """Numbers at random, and those where something changes."""
    x, dtype = values(rng, kind, (500,)), dtype_of(kind)
    with np.errstate(all="ignore"):
        if dtype.kind in "fc":
            return np.concatenate([x * 100, x * 1e9, np.array(EDGES, dtype)]).astype(dtype)
    if dtype.kind in "iu":
        return np.concatenate([x, np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)])
    return x


def every_pair(rng: np.random.Generator, inputs: Any, outputs: Any) -> Any:
    """LiteRT gives no arrays of packed integers: they, and bfloat16, are between two casts."""
    before, after = (["f32"] if kinds[0] in ("bf16", "s4", "s2", "u4") else [] for kinds in (inputs, outputs))
    x = edged(rng, "f32" if before else inputs[0])
    return Chain(x, *before, *inputs, *outputs, *after), {}


EVERY_TYPE = {"CAST": every_pair}


@pytest.mark.parametrize(
    "kinds",
    [
        ("f32", "s32"),
        ("f32", "s8"),
        ("f32", "b8"),
        ("u8", "f32"),
        ("b8", "f32"),
        ("b8", "s64"),
        ("u32", "c64"),
        ("f64", "f16"),
    ],
)
def test_shapes(kinds: tuple[str, str]) -> None:
    x = edged(np.random.default_rng(8), kinds[0])
    for case in (x[:1].reshape(()), x[:0], x[:12].reshape(3, 1, 4), x[:64], x[:65]):
        Chain(case, *kinds).check()


@pytest.mark.parametrize("kind", ["s8", "u8", "b8"])
def test_bytes_to_floats(kind: str) -> None:
    """All bytes, of which bools may have any, in pieces and with what remains of the last one."""
    for n in (1, 7, 31, 255, 2047, 2048, 2049, 5000):
        x = np.arange(n).astype(np.uint8).view(dtype_of(kind))
        (y,) = run_minilite(Chain(x, kind, "f32").model, [x])
        np.testing.assert_array_equal(y, x.view(np.uint8) != 0 if kind == "b8" else x)


def test_floats_around_limits() -> None:
    """Floats next to each integer type's ends, and all exponents, saturate and truncate."""
    ends = np.float32([-(2.0**31), 2.0**31, -32768, 32768, 32767, -129, -128, 127, 128, 255, 256, -1, 0, 1])
    near = np.concatenate([np.nextafter(ends, np.float32(way)) for way in (-np.inf, np.inf)])
    powers = np.ldexp(np.float32([1.75, -1.75]), np.arange(-149, 128)[:, None]).ravel()
    x = np.concatenate([ends, near, powers, np.float32([np.nan, -np.nan, np.inf, -np.inf, -0.0])])
    for kind in ("s8", "u8", "s16", "s32"):
        limits = np.iinfo(dtype_of(kind))
        wanted = np.where(np.isnan(x), limits.max, np.clip(np.trunc(x.astype(np.float64)), limits.min, limits.max))
        (y,) = run_minilite(Chain(x, "f32", kind).model, [x])
        np.testing.assert_array_equal(y, wanted)


def test_all_halves_there_and_back() -> None:
    """Every binary16 to float32 and back is itself, but for NaN's payload."""
    x = np.arange(65536).astype(np.uint16).view(np.float16)
    Chain(x, "f16", "f32").check()
    Chain(x, "f16", "f32", "f16").check()


def test_bfloat() -> None:
    """All there are, as their bits; and what lies between two of them."""
    bits = np.arange(65536).astype(np.uint32)
    middles = np.concatenate([(bits << 16 | low) for low in (0, 0x7FFF, 0x8000, 0x8001)]).astype(np.uint32)
    Chain(middles.view(np.float32), "f32", "bf16", "f32").check()
    builder = ModelBuilder()
    g = builder.subgraph()
    g.output(g.node("CAST", [g.input("x", (3,))], out=("y", (3,), kind_of("bf16"))))
    (y,) = run_minilite(builder.build(), [np.float32([1, -2, 0.1])])
    np.testing.assert_array_equal(y.view(np.uint16), np.uint16([0x3F80, 0xC000, 0x3DCD]))


def test_in_place() -> None:
    for n in range(1, 140, 3):
        x = values(np.random.default_rng(n), "f32", (n,)) * 1000
        for kinds in (("s32", "f32", "s32"), ("u32", "f32", "u32")):
            model = Chain(x, "f32", *kinds).model
            compare(run_minilite(model, [x], reference=True), run_minilite(model, [x]), 0.0, "")


def test_refuses_what_litert_refuses() -> None:
    for kind in ("u64", "c128"):
        node = OneNode("CAST", [np.zeros(2, np.float32)], kind=kind)
        node.refused(UnsupportedOpError, f"types f32 -> {kind} of x -> y are not supported, f32|f16|bf16|f64")
