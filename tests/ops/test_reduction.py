"""MEAN and the other reductions: integers bit for bit (oracle: BUILTIN_REF)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import BUILTIN, EPS, REFERENCE
from support.node import Array, Given, OneNode, const, dtype_of, quantized, scaled, values

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.format.quantization import NOT_QUANTIZED, Quantization

KINDS = ["f32", "s32", "s64", "s8", "u8", "s16"]
CASES: list[tuple[Any, Any]] = [
    ((100,), [0]),
    ((4, 5), [1]),
    ((4, 5), [0]),
    ((4, 5), [0, 1]),
    ((4, 5), [-1]),
    ((4, 5), []),
    ((4, 5), [0, 0, -2]),
    ((1, 1), [0]),
    ((3, 1, 4), [1]),
    ((1, 300, 3), [1]),
    ((2, 3, 4, 5), [1, 2]),
    ((2, 3, 4, 5), [2, 1]),
    ((2, 3, 4, 5), [0, 2]),
    ((2, 3, 4, 5), [1, 3]),
    ((2, 7, 7, 33), [1, 2]),
    ((2, 3, 4, 5, 2), [1, 3]),
    ((2, 2, 2, 2, 2), [-1, 0]),
]


def oracle_of(op: str, kind: str) -> Any:
    """LiteRT's reference SUM of quantized integers uses a multiplier that is not set: the optimized one is the
    oracle."""
    return BUILTIN if op == "SUM" and kind in ("s8", "u8", "s16") else REFERENCE


EVERY_TYPE: dict[str, Any] = {
    "MEAN": Case([(3, 17, 5), [1, 2]], version=2, tolerance=16 * EPS),
    "REDUCE_ANY": Case([(3, 2, 2), [1, 2]]),
    "REDUCE_ALL": Case([(3, 2, 2), [1, 2]]),
    "REDUCE_PROD": lambda rng, inputs, outputs: (
        product(rng, inputs[0], (3, 5, 2), [1, 2])
        if inputs[0] in ("s8", "s16")
        else reduction("REDUCE_PROD", rng, inputs[0], (3, 5, 2), [1, 2]),
        {"tolerance": 1.0},
    ),
    **{
        op: lambda rng, inputs, outputs, op=op: (
            reduction(op, rng, inputs[0], (3, 17, 5), [1, 2]),
            {"tolerance": 400 * EPS, "oracle": oracle_of(op, inputs[0])},
        )
        for op in ("SUM", "REDUCE_MAX", "REDUCE_MIN")
    },
}


def reduction(op: str, rng: np.random.Generator, kind: str, shape: Any, axes: Any, keep: bool = False) -> OneNode:
    """With one scale and zero point on both sides."""
    quantization = scaled(rng, kind)
    x = values(rng, kind, shape)
    return OneNode(
        op,
        [Given(x, quantization=quantization), const(axes)],
        {"keep_dims": keep},
        quantization=quantization,
        version=2,
    )


def mean(
    x: Any, axes: Any, keep: bool = False, scales: Any = (NOT_QUANTIZED, NOT_QUANTIZED), constant: bool = True
) -> OneNode:
    axes = Given(np.array(axes, np.int32), constant)
    given = x if isinstance(x, Given) else Given(x, quantization=scales[0])
    return OneNode("MEAN", [given, axes], {"keep_dims": keep}, quantization=scales[1], version=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("constant", [True, False])
def test_axes(kind: str, keep: bool, constant: bool) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in CASES:
        x = values(rng, kind, shape)
        if kind == "s64":
            x = x // 2**20
        ours = scaled(rng, kind, 1e-3, 0.3)
        for other in (ours, scaled(rng, kind, 1e-3, 0.3)):
            mean(x, axes, keep, (ours, other), constant).check(tolerance=16 * EPS)


@pytest.mark.parametrize("channels", [1, 3, 16, 17, 33, 64, 129, 200])
@pytest.mark.parametrize("kind", ["f32", "s8", "u8"])
def test_pixels_of_few_channels(kind: str, channels: int) -> None:
    """Short rows, many of which are summed together, and long rows, whose columns are summed in turn."""
    rng = np.random.default_rng(channels)
    for pixels in (7, 61, 83):
        x = values(rng, kind, (2, pixels, 60, channels))
        scale = scaled(rng, kind, 0.1, 0.3)
        mean(x, [1, 2], False, (scale, scale), True).check(tolerance=64 * EPS)
        y = OneNode(
            "REDUCE_MAX", [Given(x, quantization=scale), const([1, 2])], {}, quantization=scale, version=3
        ).check()
        np.testing.assert_array_equal(np.ravel(y), x.max(axis=(1, 2)).ravel())
        if kind != "f32":
            wide = Quantization((40.0 * pixels * scale.scales[0],), scale.zero_points)
            OneNode("SUM", [Given(x, quantization=scale), const([1, 2])], {}, quantization=wide, version=2).check(
                oracle=BUILTIN
            )


@pytest.mark.parametrize("kind", KINDS)
def test_no_elements(kind: str) -> None:
    """The mean of nothing is NaN, or 0 for integers."""
    rng = np.random.default_rng(9)
    for shape, axes in (((0, 3), [0]), ((3, 0), [0]), ((0,), [0]), ((2, 0, 3), [1, 2])):
        mean(values(rng, kind, shape), axes, False, (scaled(rng, kind, 0.1, 0.1),) * 2).check()


@pytest.mark.parametrize("kind", ["f32", "s32"])
def test_rank_0(kind: str) -> None:
    mean(values(np.random.default_rng(9), kind, ()), []).check()


@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_without_quantization(kind: str) -> None:
    """A scale that is missing counts as 0, and so does every mean."""
    x: Array = np.arange(12).reshape(3, 4).astype(dtype_of(kind))
    assert not mean(x, [1]).check().any()


def test_small_multiplier() -> None:
    """Dividing by the count takes no more bits from the multiplier than it has."""
    for zero_point in (3, -128):
        x = quantized(np.full((1, 8192), 100, np.int8), 1e-6, 0)
        np.testing.assert_array_equal(
            mean(x, [1], scales=(None, Quantization((1.0,), (zero_point,)))).check(), [zero_point]
        )


def test_resized() -> None:
    rng = np.random.default_rng(9)
    for shape in ((1, 7, 7, 64), (3, 2, 9, 5)):
        mean(Given(values(rng, "f32", shape), shape=(1, 2, 2, 1)), [1, 2], True).check(tolerance=16 * EPS)


def test_rank_8() -> None:
    x = values(np.random.default_rng(9), "f32", (2, 3, 2, 3, 2, 3, 2, 3))
    mean(x, [0, 2, 4, 6]).check(tolerance=16 * EPS)


def test_refusals() -> None:
    x = np.zeros((2, 3), np.float32)
    mean(x, [2]).refused(ShapeError, r"MEAN 'y'\): axis 2 is outside rank 2")
    wide = OneNode("MEAN", [x, const([0], np.int64)])
    wide.refused(UnsupportedOpError, "types f32 s64 -> f32 of x axes -> y are not supported, f32 s32 -> f32 are")
    OneNode("MEAN", [x]).refused(UnsupportedOpError, r"input 1 \(axes\) is absent")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"])
def test_others(op: str, kind: str) -> None:
    rng = np.random.default_rng(9)
    if op == "REDUCE_PROD" and kind in ("s8", "u8", "s16"):
        return
    for shape, axes in [*CASES, ((0, 3), [1]), ((0, 3), [0]), ((2, 0, 3), [1, 2])]:
        if op == "REDUCE_PROD" and kind == "f32":
            shape = tuple(min(s, 3) for s in shape)
        if 0 in shape and oracle_of(op, kind) is BUILTIN:
            continue  # LiteRT leaves the outputs as they are
        node = reduction(op, rng, kind, shape, axes, bool(rng.integers(2)))
        x = node.arrays[0].astype(np.float64)
        if op == "REDUCE_PROD":
            node.check(tolerance=np.inf if kind != "f32" else 40 * EPS * max(1.0, float(np.abs(x).max(initial=0)) ** 9))
        else:
            node.check(tolerance=16 * EPS * max(1.0, float(np.abs(x).sum())), oracle=oracle_of(op, kind))


def product(rng: Any, kind: str, shape: Any, axes: Any, keep: bool = False, constant: bool = True) -> OneNode:
    """With scales that keep products in the range."""
    top = 2.5 if kind == "s8" else 1.5
    scale = top / (128 if kind == "s8" else 32768)
    count = int(np.prod([shape[axis] for axis in {axis % len(shape) for axis in axes}]))
    out = max(scale, min(top**count / (100 if kind == "s8" else 20000), 1e30))
    zeros = [int(v) for v in rng.integers(-20, 20, 2)] if kind == "s8" else [0, 0]
    x = Given(values(rng, kind, shape), quantization=Quantization((float(np.float32(scale)),), (zeros[0],)))
    quantization = Quantization((float(np.float32(out)),), (zeros[1],))
    given = [x, Given(np.array(axes, np.int32), constant)]
    return OneNode("REDUCE_PROD", given, {"keep_dims": keep}, quantization=quantization, version=2)


@pytest.mark.parametrize("kind", ["s8", "s16"])
@pytest.mark.parametrize("constant", [True, False])
def test_products(kind: str, constant: bool) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in CASES:
        for keep in (False, True):
            product(rng, kind, shape, axes, keep, constant).check()


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_products_of_nothing_are_one(kind: str) -> None:
    """LiteRT leaves outputs as they are."""
    x = Given(np.zeros((3, 0), dtype_of(kind)), quantization=Quantization((0.5,), (0,)))
    node = OneNode(
        "REDUCE_PROD", [x, const([1])], {"keep_dims": False}, quantization=Quantization((0.125,), (0,)), version=2
    )
    np.testing.assert_array_equal(node.check(oracle=None), [8, 8, 8])


def test_products_without_scales_wrap() -> None:
    for kind in ("s8", "s16"):
        x = values(np.random.default_rng(1), kind, (4, 5))
        OneNode("REDUCE_PROD", [x, const([1])], {"keep_dims": False}, version=2).check()


def test_products_refused() -> None:
    x = Given(np.ones((2, 3), np.int16), quantization=Quantization((0.5,), (1,)))
    node = OneNode(
        "REDUCE_PROD", [x, const([1])], {"keep_dims": False}, quantization=Quantization((0.5,), (0,)), version=2
    )
    node.refused(UnsupportedOpError, "zero point 1, it must be 0")
    large_multiplier(20000.0).refused(
        ShapeError, "the scales give a multiplier of 25198.4 per element, must be less than 16384", by_litert=False
    )  # its shift is undefined


def large_multiplier(scale: float) -> OneNode:
    x = Given(np.array([[1, -2, 3], [127, 127, 127]], np.int8), quantization=Quantization((scale,), (0,)))
    return OneNode(
        "REDUCE_PROD", [x, const([1])], {"keep_dims": False}, quantization=Quantization((0.5,), (0,)), version=2
    )


@pytest.mark.parametrize("scale", [90.0, 110.0, 200.0, 12000.0])
def test_products_of_large_multipliers(scale: float) -> None:
    large_multiplier(scale).check()


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s32", "s64"])
@pytest.mark.parametrize("op", ["SUM", "REDUCE_MAX", "REDUCE_MIN"])
def test_rows_of_few_values(op: str, kind: str) -> None:
    rng = np.random.default_rng(9)
    for size in range(1, 41):
        reduction(op, rng, kind, (37, size), [1]).check(oracle=oracle_of(op, kind))


def test_sums_wrap() -> None:
    for shape, axes in [((300, 7), 0), ((7, 300), 1), ((70, 3), 1)]:
        x = np.random.default_rng(9).integers(2**30, 2**31 - 1, shape).astype(np.int32)
        y = OneNode("SUM", [x, const([axes])], {"keep_dims": False}).check()
        np.testing.assert_array_equal(y, x.sum(axes, dtype=np.int32))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_sum_of_other_scales(kind: str) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in CASES:
        x = Given(values(rng, kind, shape), quantization=scaled(rng, kind))
        OneNode("SUM", [x, const(axes)], {"keep_dims": False}, quantization=scaled(rng, kind), version=2).check(
            oracle=BUILTIN
        )


@pytest.mark.parametrize("op", ["REDUCE_ANY", "REDUCE_ALL"])
def test_logical(op: str) -> None:
    rng = np.random.default_rng(9)
    for shape, axes in [*CASES, ((0, 3), [0]), ((3, 0), [0])]:
        for share in (0.02, 0.98):
            OneNode(op, [rng.random(shape) < share, const(axes)], {"keep_dims": False}).check()


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_any_byte_but_0_is_true(axes: list[int]) -> None:
    x = np.array([[2, 255, 0, 0, 128], [4, 255, 7, 0, 0]], np.uint8)
    for op, of in (("REDUCE_ANY", np.any), ("REDUCE_ALL", np.all)):
        y = OneNode(op, [x.view(np.bool_), const(axes)], {"keep_dims": False}).run()
        np.testing.assert_array_equal(y.view(np.uint8), of(x != 0, axis=tuple(axes)))


def test_scales_that_differ() -> None:
    x = quantized(np.zeros((2, 3), np.int16), 0.5, 0)
    node = OneNode("REDUCE_MAX", [x, const([0])], {"keep_dims": False}, quantization=Quantization((1.0,), (0,)))
    node.refused(UnsupportedOpError, "do not match")
