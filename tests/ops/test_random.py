"""RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL, STABLEHLO_RNG_BIT_GENERATOR: C kernels and LiteRT agree run by
run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import EPS, check
from support.node import Array, Given, OneNode, Out, const
from support.peer import interpreter as litert

import minilite
from minilite.errors import ShapeError
from minilite.ops.random import philox

SEEDS = {"seed": 1234567890123, "seed2": -42}


def runs(node: OneNode, count: int = 3) -> list[tuple[Array, Array]]:
    """Output 0 of ours and theirs, run by run."""
    both = minilite.Interpreter(model_content=node.model), litert.Interpreter(model_content=node.model)
    found = []
    for interpreter in both:
        interpreter.allocate_tensors()
    for _ in range(count):
        outputs = []
        for interpreter in both:
            for detail, array in zip(interpreter.get_input_details(), node.arrays, strict=True):
                interpreter.set_tensor(detail["index"], array)
            interpreter.invoke()
            outputs.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
        found.append((outputs[0], outputs[1]))
    return found


@pytest.mark.parametrize("op", ["RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3), (7, 2), (3, 1, 5)])
def test_floats(op: str, constant: bool, shape: Any) -> None:
    if op == "RANDOM_STANDARD_NORMAL" and np.prod(shape) % 2:
        shape = (*shape, 2)  # LiteRT writes beyond arrays of an odd number of elements
    given = Given(np.array(shape, np.int32), constant)
    if not constant and not np.prod(shape):
        return  # LiteRT gives no values of outputs that became empty
    first = None
    for ours, theirs in runs(OneNode(op, [given], SEEDS, kind="f32")):
        np.testing.assert_allclose(ours, theirs, atol=8 * EPS, rtol=8 * EPS)
        assert ours.shape == shape
        if first is not None and ours.size:
            assert (ours != first).any()
        first = ours if first is None else first


def test_an_odd_number() -> None:
    node = OneNode("RANDOM_STANDARD_NORMAL", [const([5])], SEEDS, kind="f32")
    more = OneNode("RANDOM_STANDARD_NORMAL", [const([6])], SEEDS, kind="f32")
    np.testing.assert_array_equal(node.run(), more.run()[:5])


def test_numbers_are_philox() -> None:
    y = OneNode("RANDOM_UNIFORM", [const([8])], SEEDS, kind="f32").run()
    key, second = (SEEDS["seed"] & 0xFFFFFFFF, 0), SEEDS["seed2"] & 0xFFFFFFFF
    words = [word for block in (0, 1) for word in philox(key, [block, 0, second, 0xFFFFFFFF])]
    np.testing.assert_array_equal(y, [np.float32((word & 0x7FFFFF) / (1 << 23)) for word in words])


@pytest.mark.parametrize("op", ["RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"])
def test_how_they_are_spread(op: str) -> None:
    y = OneNode(op, [const([200, 1000])], SEEDS, kind="f32").run().astype(np.float64)
    mean, spread = (0.5, 1 / np.sqrt(12)) if op == "RANDOM_UNIFORM" else (0, 1)
    assert abs(y.mean() - mean) < 0.01
    assert abs(y.std() - spread) < 0.01


def test_without_seeds() -> None:
    """Models that are loaded apart draw apart."""
    node = OneNode("RANDOM_UNIFORM", [const([20])], {"seed": 0, "seed2": 0}, kind="f32")
    assert (node.run() != node.run()).any()


def multinomial(logits: Any, samples: int, kind: str, constant: bool) -> OneNode:
    given = [Given(np.asarray(logits, np.float32), constant), Given(np.array(samples, np.int32), constant)]
    return OneNode("MULTINOMIAL", given, SEEDS, outs=[Out(kind)])


@pytest.mark.parametrize("kind", ["s32", "s64"])
@pytest.mark.parametrize("constant", [True, False])
def test_multinomial(kind: str, constant: bool) -> None:
    rng = np.random.default_rng(1)
    for rows, classes, samples in ((1, 5, 10), (3, 4, 7), (2, 100, 33), (4, 1, 3)):
        for ours, theirs in runs(multinomial(rng.normal(size=(rows, classes)), samples, kind, constant)):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_odds() -> None:
    logits = np.array([[0, np.log(3), -np.inf, np.nan, np.log(4)]], np.float32)
    node = multinomial(logits, 8000, "s32", constant=False)
    for ours, theirs in runs(node):
        np.testing.assert_array_equal(ours, theirs)
        share = np.bincount(ours[0], minlength=5) / 8000
        np.testing.assert_allclose(share, [1 / 8, 3 / 8, 0, 0, 4 / 8], atol=0.03)


def test_refused() -> None:
    for constant in (True, False):
        given = Given(np.array([2, -1], np.int32), constant)
        node = OneNode("RANDOM_UNIFORM", [given], SEEDS, kind="f32")
        node.refused(ShapeError, "dimension 1 of the output's shape is -1", by_litert=False)
        node = multinomial([[1, 2]], -1, "s32", constant)
        node.refused(ShapeError, "the number of samples is -1, expected 0 or more", by_litert=False)
    OneNode("RANDOM_UNIFORM", [const([[2]])], SEEDS, kind="f32").refused(ShapeError, "must be a vector")
    multinomial([1, 2], 3, "s32", constant=True).refused(ShapeError, "logits must be", by_litert=False)


def bits(state: Any, shape: Any, kind: str, algorithm: str) -> OneNode:
    outs = [Out("u64", shape=(len(state),)), Out(kind, shape=shape)]
    return OneNode("STABLEHLO_RNG_BIT_GENERATOR", [np.array(state, np.uint64)], {"algorithm": algorithm}, outs=outs)


def every_bits(rng: Any, inputs: Any, outputs: Any) -> Any:
    return bits([1, 2], (3, 5), outputs[1], "PHILOX"), {}


EVERY_TYPE = {"STABLEHLO_RNG_BIT_GENERATOR": every_bits}


@pytest.mark.parametrize("algorithm", ["DEFAULT", "PHILOX", "THREEFRY"])
@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_bits(algorithm: str, kind: str) -> None:
    for state in ([7, 11], [2**64 - 1, 2**64 - 1], [3, 2**32 - 2], [2**40, 5, 2**63]):
        for shape in ((0,), (1,), (3,), (2, 5), (16, 3)):
            if len(state) == 2 or algorithm != "THREEFRY":
                node = bits(state, shape, kind, algorithm)
                check(node.model, node.arrays)


def test_bits_refused() -> None:
    bits([1, 2, 3], (3,), "s32", "THREEFRY").refused(ShapeError, r"the state must be of shape \(2\), it is of \(3\)")
    bits([1], (3,), "s32", "PHILOX").refused(ShapeError, r"the state must be of shape \(2\) or \(3\), it is of \(1\)")
