"""Mutated models are loaded, allocated, run, and their tensors are looked at: at worst a MiniliteError, never a crash.

test_reader_fuzz.py ends with the reader; here what it lets through is used.
"""

from __future__ import annotations

import contextlib
import math
import random
import signal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from built import floats, texts
from support.drawn import ODD, made
from support.drawn_all import DRAWN
from test_reader_fuzz import SEEDS, mutants, seed

import minilite
from minilite.errors import MiniliteError
from minilite.format._model_tree import model_tree
from minilite.format._writer import write_tree
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, array_type
from minilite.format.reader import read_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from support.node import Array

    Tree = dict[str, Any]

MOST_BYTES, MOST_ITERATIONS, MOST_SECONDS = 1 << 18, 20, 120
"""Limits for a mutant's tensors and loops, so that none is slow; and for a test, which counts as hanging beyond
that."""
SIZES = (0, 1, 2, 3, 7, 1 << 20, 2**31 - 1)
DENSE = {"format": "DENSE", "dense_size": 2, "array_segments_type": "NONE", "array_indices_type": "NONE"}


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Turns a loop without an end into a failure: runs let signals through."""

    def stop(*_: object) -> None:
        message = f"took more than {MOST_SECONDS} s"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# Mutants by structure -------------------------------------------------------------------------------------------------


def make_sparse(tree: Tree, chance: random.Random) -> None:
    tensor = chance.choice(tree["subgraphs"][0]["tensors"])
    rank = len(tensor["shape"] or ()) or 1
    layout = [{**DENSE, "dense_size": chance.choice((0, 1, 2, 3))} for _ in range(rank)]
    tensor["sparsity"] = {"traversal_order": tuple(range(rank)), "block_map": (), "dim_metadata": layout}


def change_type(tree: Tree, chance: random.Random) -> None:
    chance.choice(tree["subgraphs"][0]["tensors"])["type"] = chance.choice(list(TensorType)).name


def change_shape(tree: Tree, chance: random.Random) -> None:
    tensor = chance.choice(tree["subgraphs"][0]["tensors"])
    shape = list(tensor["shape"] or ())
    if shape and chance.random() < 0.7:
        shape[chance.randrange(len(shape))] = chance.choice(SIZES)
    else:
        shape = [chance.choice(SIZES[:5]) for _ in range(chance.randrange(5))]
    tensor["shape"] = tuple(shape)


def change_operand(tree: Tree, chance: random.Random) -> None:
    graph = tree["subgraphs"][0]
    node = chance.choice(graph["operators"])
    key = chance.choice(("inputs", "inputs", "outputs"))
    operands = list(node[key] or ())
    if operands:
        operands[chance.randrange(len(operands))] = chance.randrange(-1, len(graph["tensors"]))
        node[key] = tuple(operands)


def make_variable(tree: Tree, chance: random.Random) -> None:
    tensor = chance.choice(tree["subgraphs"][0]["tensors"])
    tensor["is_variable"] = not tensor["is_variable"]


def drop_quantization(tree: Tree, chance: random.Random) -> None:
    chance.choice(tree["subgraphs"][0]["tensors"])["quantization"] = None


EDITS = (make_sparse, make_sparse, change_type, change_shape, change_operand, make_variable, drop_quantization)


def restructured(model: bytes, count: int, random_seed: str) -> Iterator[bytes]:
    """`count` mutants, the same ones every time; those that cannot be written as a file are left out."""
    chance = random.Random(random_seed)
    for _ in range(count):
        tree = model_tree(read_model(model))
        for _ in range(chance.choice((1, 1, 2, 3))):
            chance.choice(EDITS)(tree, chance)
        with contextlib.suppress(MiniliteError, ValueError):
            yield write_tree(tree)


# Using them -----------------------------------------------------------------------------------------------------------


def drawn_value(kind: TensorType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Values for an input, some of floats odd."""
    if kind == TensorType.STRING:
        value = np.empty(shape, object)
        value.reshape(-1)[:] = [bytes(rng.bytes(int(rng.integers(9)))) for _ in range(value.size)]
        return value
    dtype = array_type(kind)
    numbers = rng.integers(-3, 9, shape) if dtype.kind == "i" else rng.integers(0, 9, shape)
    if dtype.kind == "f":
        numbers = np.where(rng.random(shape) < 0.2, rng.choice(ODD, shape), numbers * 0.5)
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(dtype)


def look(value: Array) -> None:
    """Touches every byte, and every object."""
    if value.dtype.hasobject:
        assert all(type(element) is bytes for element in value.ravel().tolist())
        assert repr(value)
    else:
        assert len(value.tobytes()) == value.nbytes


def look_at_all(interpreter: minilite.Interpreter) -> None:
    for tensor in interpreter.model.subgraphs[0].tensors:
        for read in (interpreter.get_tensor, lambda index: interpreter.tensor(index)()):
            with contextlib.suppress(MiniliteError):
                look(read(tensor.index))


def fill(interpreter: minilite.Interpreter, arrays: Sequence[Array], rng: np.random.Generator) -> None:
    """Sets inputs to these arrays, or drawn ones where they do not fit or are missing."""
    graph = interpreter.model.subgraphs[0]
    for position, index in enumerate(graph.inputs):
        shape = tuple(interpreter.get_input_details()[position]["shape"].tolist())
        with contextlib.suppress(MiniliteError):
            if position < len(arrays):
                interpreter.set_tensor(index, arrays[position])
                continue
        if math.prod(max(size, 1) for size in shape) <= MOST_BYTES:  # numpy refuses larger empty ones, too
            with contextlib.suppress(MiniliteError):
                interpreter.set_tensor(index, drawn_value(graph.tensors[index].type, shape, rng))


def use(model: bytes, arrays: Sequence[Array], chance: random.Random, **options: Any) -> bool:
    """Fills, runs and reads a model twice, in another size the second time. Returns whether it ran at all."""
    rng, ran = np.random.default_rng(chance.randrange(1 << 30)), False
    try:
        interpreter = minilite.Interpreter(
            model_content=model,
            max_bytes=MOST_BYTES,
            max_iterations=MOST_ITERATIONS,
            experimental_preserve_all_tensors=chance.random() < 0.3,
            **options,
        )
        look_at_all(interpreter)
        interpreter.allocate_tensors()
    except MiniliteError:
        return False
    for turn in range(2):
        with contextlib.suppress(MiniliteError):
            look_at_all(interpreter)
            fill(interpreter, arrays if turn == 0 else (), rng)
            interpreter.invoke()
            ran = True
        look_at_all(interpreter)
        inputs = interpreter.model.subgraphs[0].inputs
        if turn == 0 and inputs:
            shape = [chance.choice(SIZES[:5]) for _ in range(chance.randrange(4))]
            with contextlib.suppress(MiniliteError):
                interpreter.resize_tensor_input(chance.choice(inputs), shape)
                interpreter.allocate_tensors()
    return ran


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
