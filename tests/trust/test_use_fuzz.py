"""Mutated models are loaded, allocated, run, and their tensors are looked at: at worst a MiniliteError, never a crash.

test_reader_fuzz.py ends with the reader; here what it lets through is used.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from built import floats, texts
from support.drawn import made
from support.drawn_all import DRAWN
from support.time_limit import ends_within
from trust.structure import restructured
from trust.test_reader_fuzz import SEEDS, mutants, seed
from trust.using import use

import minilite
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from support.node import Array

MOST_SECONDS = 120
"""The limit for a test, which counts as hanging beyond that."""


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    with ends_within(MOST_SECONDS):
        yield


REFERENCE = {"experimental_op_resolver_type": minilite.OpResolverType.BUILTIN_REF}


def use_mutants(model: bytes, arrays: Sequence[Array], name: str, count: int) -> bool:
    """Uses a model, `count` mutants by structure and as many by bytes. Returns whether the model itself ran.

    Only some mutants by structure run on numpy references, whose own memory is not bounded by `max_bytes`.
    """
    chance = random.Random(f"use {name}")
    ran = use(model, arrays, chance)
    for mutant in restructured(model, count, f"structure {name}"):
        use(mutant, arrays, chance, **(REFERENCE if chance.random() < 0.25 else {}))
    for mutant in mutants(model, count, f"bytes {name}"):
        use(mutant, arrays, chance)
    return ran


@pytest.mark.parametrize("op", DRAWN)
def test_one_node(op: str) -> None:
    nodes = [made(op, 1, number) for number in range(5)]
    ran = [use_mutants(node.model, node.arrays, f"{op} {number}", 4) for number, node in enumerate(nodes)]
    assert any(ran)


def strings() -> ModelBuilder:
    """Strings that are constants, inputs, intermediates, outputs."""
    b = ModelBuilder()
    g = b.subgraph()
    x, i = g.input("x", (4,), TensorType.STRING), g.input("i", (3,), TensorType.INT32)
    words = g.constant("words", ["one", "", "three"])
    g.output(g.node("GATHER", [words, i], out=("taken", (3,), TensorType.STRING)))
    square = g.node("RESHAPE", [x], out=("square", (2, 2), TensorType.STRING), options={"new_shape": (2, 2)})
    row = g.node("GATHER", [square, g.constant("first", np.int32([0]))], out=("row", (1, 2), TensorType.STRING))
    g.output(g.node("SHAPE", [row], out=("size", (2,), TensorType.INT32), options={"out_type": "INT32"}), square)
    return b


def loop() -> ModelBuilder:
    """A loop that counts to 5 and carries floats and strings, and a branch."""
    b = ModelBuilder()
    g = b.subgraph("main")
    carried = [("n", (), TensorType.INT32), ("x", (3,), TensorType.FLOAT32), ("s", (2,), TensorType.STRING)]
    given = [g.input(*each) for each in carried]
    outs = [(f"{name}_out", shape, kind) for name, shape, kind in carried]
    g.output(*g.node("WHILE", given, out=outs, options={"cond_subgraph_index": 1, "body_subgraph_index": 2}))
    h = b.subgraph("cond")
    n, *_ = (h.input(*each) for each in carried)
    h.output(h.node("LESS", [n, h.constant("five", np.int32(5))], out=("go", (), TensorType.BOOL)))
    h = b.subgraph("body")
    n, x, s = (h.input(*each) for each in carried)
    one = h.constant("one", np.int32(1))
    h.output(h.node("ADD", [n, one], out=("m", (), TensorType.INT32)))
    h.output(h.node("NEG", [x], out=("z", (3,))), s)
    return b


def mine(_: Any, x: Array, *__: Any) -> Array:
    return x


MODELS: dict[str, tuple[Callable[[], ModelBuilder], list[Array]]] = {
    "strings": (strings, [texts("a", "", "b", "cc"), np.array([2, 0, 1], np.int32)]),
    "loop": (loop, [np.array(0, np.int32), floats(1, 2, 3), texts("a", "")]),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model, arrays = MODELS[name]
    assert use_mutants(model().build(), arrays, name, 150)


@pytest.mark.parametrize("name", SEEDS)
def test_mutants_of_the_reader(name: str) -> None:
    """Its mutants that are models still."""
    chance = random.Random(f"reader {name}")
    for mutant in mutants(seed(name, external=False), 300, f"use {name}"):
        use(mutant, (), chance, custom_ops={"Mine": mine})
