"""LSH_PROJECTION: C kernel, numpy reference and LiteRT agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.node import Given, OneNode, values
from support.time_limit import ends_within
from support.weighted import same_for_any_number_of_threads

from minilite.errors import ShapeError, UnsupportedOpError
from minilite.ops.lsh_projection import fingerprint


def projection(seeds: Any, x: Any, weights: Any = None, how: str = "DENSE", kind: Any = None) -> OneNode:
    given = [np.asarray(seeds, np.float32), Given(x, kind=kind)]
    given += [] if weights is None else [np.asarray(weights, np.float32)]
    return OneNode("LSH_PROJECTION", given, {"type": how}, kind="s32")


def every(rng: Any, inputs: Any, outputs: Any) -> Any:
    weights = values(rng, "f32", 5) if len(inputs) > 2 else None
    node = projection(values(rng, "f32", (3, 4)), values(rng, inputs[1], (5, 3)), weights, kind=inputs[1])
    return node, {}


EVERY_TYPE = {"LSH_PROJECTION": every}


@pytest.mark.parametrize("how", ["DENSE", "SPARSE"])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("functions", [(1, 1), (4, 7), (3, 31)])
def test_projection(functions: Any, weighed: bool, how: str) -> None:
    rng = np.random.default_rng(sum(functions))
    for shape in ((1,), (9,), (4, 2, 3), (1, 100)):
        weights = values(rng, "f32", shape[0]) if weighed else None
        projection(values(rng, "f32", functions), values(rng, "f32", shape), weights, how).check()


@pytest.mark.parametrize("how", ["DENSE", "SPARSE"])
def test_elements_without_bytes(how: str) -> None:
    """A small file can state very many elements that have no bytes."""
    seeds = values(np.random.default_rng(1), "f32", (2, 30))
    for count in (1, 5):
        for weights in (None, np.linspace(-1, 2, count)):
            projection(seeds, np.zeros((count, 0), np.float32), weights, how).check()
    with ends_within(60):
        many = projection(seeds, np.zeros((2**31 - 1, 0), np.float32), how=how).check(oracle=None)
    assert np.array_equal(many, projection(seeds, np.zeros((1, 0), np.float32), how=how).check())


def test_every_length() -> None:
    """The hash has other steps for up to 8, 16, 32 and 64 bytes and for more; four bytes are the seed's."""
    rng = np.random.default_rng(1)
    for n in [*range(1, 70), 123, 124, 125, 188, 189, 500]:
        projection(values(rng, "f32", (2, 16)), values(rng, "s8", (1, n))).check()


def test_the_hash_is_farmhash() -> None:
    """FarmHash's hash of four zero bytes (a seed of 0 and nothing else), computed here in another way."""
    k2 = 0x9AE16A3B2F90404F
    by = k2 + 8
    a = (4 * by & (1 << 64) - 1) ^ (4 * by & (1 << 64) - 1) >> 47
    b = a * by & (1 << 64) - 1
    assert fingerprint(bytes(4)) == (b ^ b >> 47) * by & (1 << 64) - 1


def test_all_of_32_bits() -> None:
    rng = np.random.default_rng(1)
    seeds, x = values(rng, "f32", (3, 32)), values(rng, "f32", 6)
    y = projection(seeds, x, how="SPARSE").check(oracle=None)  # LiteRT shifts by as many bits as there are
    bits = projection(seeds, x).check().reshape(3, 32)
    assert [f"{n:032b}" for n in y.view(np.uint32)] == ["".join(map(str, row)) for row in bits]


def test_nothing() -> None:
    projection(np.zeros((0, 4)), np.ones(3, np.float32)).check()
    projection(np.zeros((2, 0)), np.ones(3, np.float32)).check()
    y = projection(np.ones((2, 3)), np.ones((0, 4), np.float32)).check(oracle=None)  # LiteRT divides by 0
    assert not y.any()
    projection(np.ones((2, 9)), np.ones((3, 0), np.float32)).check()


def test_threads() -> None:
    rng = np.random.default_rng(1)
    same_for_any_number_of_threads(projection(values(rng, "f32", (20, 8)), values(rng, "f32", (50, 30)), how="SPARSE"))


def test_refused() -> None:
    x = np.ones(3, np.float32)
    projection(np.ones(3), x).refused(ShapeError, r"seeds must be \(functions, bits\)")
    projection(np.ones((1, 33)), x).refused(ShapeError, r"32 bits at most, their shape is \(1, 33\)")
    projection(np.ones((1, 3)), np.float32(1)).refused(ShapeError, "the input is a scalar")
    projection(np.ones((1, 3)), x, np.ones(4)).refused(
        ShapeError, r"weights of shape \(4\) do not match an input of \(3\)"
    )
    projection(np.ones((1, 3)), x, how="UNKNOWN").refused(
        UnsupportedOpError, "type must be SPARSE or DENSE, it is UNKNOWN"
    )
