"""get_state and set_state: what a model keeps from run to run, as a value."""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import struct
from typing import Any

import numpy as np
import pytest
from built import accumulator, floats, ready, relu_chain, texts, variable

from minilite import ArenaError, Interpreter, KernelError
from minilite.engine import states
from minilite.errors import InputError, MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType


def averaging(size: int = 3) -> bytes:
    """An SVDF of rank 1, whose variable tensor holds the last frames."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 2))
    features = graph.constant("features", np.arange(2.0 * size, dtype=np.float32).reshape(size, 2))
    times = graph.constant("times", np.linspace(1, 2, 4 * size, dtype=np.float32).reshape(size, 4))
    memory = graph.variable("frames", (1, size * 4))
    options = {"rank": 1, "fused_activation_function": "NONE"}
    graph.output(graph.node("SVDF", [x, features, times, -1, memory], out=("y", (1, size)), options=options))
    return builder.build()


def step(interpreter: Interpreter, x: Any) -> Any:
    return next(iter(interpreter.run(x).values()))


def test_a_single_byte_is_kept() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    held = graph.variable("held", (1,), TensorType.INT8)
    graph.output(
        graph.node(
            "RESHAPE", [held, graph.constant("shape", np.array([1], np.int32))], out=("y", (1,), TensorType.INT8)
        )
    )
    interpreter = ready(builder.build())
    interpreter.set_tensor(held, np.array([7], np.int8))
    kept = interpreter.get_state()
    interpreter.set_tensor(held, np.array([3], np.int8))
    interpreter.set_state(kept)
    assert interpreter.get_tensor(held).tolist() == [7]


def table_of(*, filled: bool) -> bytes:
    """Returns a model that looks two numbers up in a table; unless each run fills the table, only a snapshot has pairs
    for it."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    wanted = graph.input("wanted", (2,), TensorType.INT64)
    options = {"table_id": 0, "key_dtype": "INT64", "value_dtype": "STRING"}
    table = graph.node("HASHTABLE", [], out=("table", (1,), TensorType.RESOURCE), options=options)
    if filled:
        pairs = graph.constant("keys", np.arange(3)), graph.constant("names", texts("a", "bc", ""))
        graph.node("HASHTABLE_IMPORT", [table, *pairs])
    missing = graph.constant("missing", texts("?"))
    graph.output(graph.node("HASHTABLE_FIND", [table, wanted, missing], out=("found", (2,), TensorType.STRING)))
    return builder.build()


def last_input() -> bytes:
    """Keeps its input, of any length, in a variable."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,), signature=(-1,))
    last = variable(graph, "last")
    graph.node("ASSIGN_VARIABLE", [last, x])
    graph.output(graph.node("READ_VARIABLE", [last], out=("y", (1,))))
    return builder.build()


def text_variable() -> bytes:
    """A variable tensor of strings, which users set."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    graph.variable("words", (2,), TensorType.STRING)
    graph.output(graph.node("RELU", [graph.input("x", (1,))], out=("y", (1,))))
    return builder.build()


MODELS = [(averaging, (1, 2)), (accumulator, (4,))]


@pytest.mark.parametrize(("model", "shape"), MODELS)
def test_branches_of_a_stream_equal_replays(model: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    interpreter, other = ready(model()), ready(model())
    known: list[tuple[list[Any], Any]] = [([], interpreter.get_state())]
    for number in range(200):
        before, state = known[rng.integers(len(known))]
        one = (interpreter, other)[number % 2]
        one.set_state(state)
        frames = [*before, rng.normal(size=shape).astype(np.float32)]
        found = step(one, frames[-1])
        fresh = ready(model())
        replayed = [step(fresh, frame) for frame in frames]
        assert np.array_equal(found, replayed[-1])
        known.append((frames, one.get_state()))
    assert len({state == known[0][1] for _, state in known}) == 2


@pytest.mark.parametrize(("model", "shape"), MODELS)
def test_snapshot_is_a_value(model: Any, shape: tuple[int, ...]) -> None:
    interpreter = ready(model())
    empty = interpreter.get_state()
    step(interpreter, np.ones(shape, np.float32))
    state = interpreter.get_state()
    assert state != empty
    assert pickle.loads(pickle.dumps(state)) == state
    new = Interpreter(model())
    new.set_state(state)
    assert new.get_state() == state
    assert state.nbytes >= 16
    interpreter.set_state(empty)
    assert interpreter.get_state() == empty


def test_snapshot_of_another_model_is_refused() -> None:
    interpreter = ready(averaging())
    step(interpreter, np.ones((1, 2), np.float32))
    before = interpreter.get_state()
    for other, message in (
        (
            averaging(5),
            r"subgraph 0 has the variable 'frames' \(FLOAT32 of shape \(1, 12\)\), the snapshot has 'frames'",
        ),
        (relu_chain(), "subgraph 0 has 1 variables, the snapshot has 0"),
        (accumulator(), "of another model"),
    ):
        with pytest.raises(InputError, match=message):
            interpreter.set_state(ready(other).get_state())
    with pytest.raises(InputError, match="the state is of type int, must be a ModelState, as get_state"):
        interpreter.set_state(1)  # type: ignore[arg-type]
    assert interpreter.get_state() == before


def test_resources_of_another_model_are_refused() -> None:
    interpreter, other = ready(accumulator()), ready(relu_chain())
    step(interpreter, floats(1, 2, 3, 4))
    with pytest.raises(InputError, match="this one has the resources"):
        other.set_state(interpreter.get_state())


def test_table_is_part_of_a_snapshot() -> None:
    filled, bare = ready(table_of(filled=True)), ready(table_of(filled=False))
    wanted = np.array([1, 7])
    with pytest.raises(KernelError, match="used before pairs are imported"):
        step(bare, wanted)
    empty = bare.get_state()
    assert step(filled, wanted).tolist() == [b"bc", b"?"]
    state = pickle.loads(pickle.dumps(filled.get_state()))
    bare.set_state(state)
    assert step(bare, wanted).tolist() == [b"bc", b"?"]
    assert bare.get_state() == state
    assert repr(state).endswith("variables [], 1 resources>")
    bare.set_state(empty)
    with pytest.raises(KernelError, match="used before pairs are imported"):
        step(bare, wanted)


def test_snapshots_of_variables_of_changing_length() -> None:
    interpreter, other = ready(last_input()), ready(last_input())
    states = []
    for length in (1, 3000, 0, 70, 1 << 16):
        values = np.arange(length, dtype=np.float32)
        step(interpreter, values)
        states.append((values, interpreter.get_state()))
    for values, state in [states[0], *states[::-1], *states]:
        other.set_state(state)
        assert other.get_state() == state
        assert state.nbytes == values.nbytes


def test_restoring_a_snapshot_without_memory_changes_nothing() -> None:
    interpreter = ready(last_input())
    step(interpreter, np.zeros(1 << 16, np.float32))
    small = Interpreter(last_input(), max_bytes=1 << 16)
    small.allocate_tensors()
    step(small, floats(5))
    before = small.get_state()
    with pytest.raises(ArenaError, match="a value beside the arena"):
        small.set_state(interpreter.get_state())
    assert small.get_state() == before


def test_strings_are_part_of_a_snapshot() -> None:
    interpreter, other = ready(text_variable()), ready(text_variable())
    empty = interpreter.get_state()
    words = next(t["index"] for t in interpreter.get_tensor_details() if t["name"] == "words")
    interpreter.set_tensor(words, texts("first", "second one"))
    state = pickle.loads(pickle.dumps(interpreter.get_state()))
    other.set_state(state)
    assert other.get_tensor(words).tolist() == [b"first", b"second one"]
    other.set_state(empty)
    assert other.get_tensor(words).tolist() == [b"", b""]


@pytest.mark.parametrize("model", [averaging(), accumulator(), table_of(filled=True), text_variable()])
def test_damaged_snapshot_is_refused_or_harmless(model: bytes) -> None:
    """Snapshots are cut at each byte, and have two thousand wrong bytes: each is refused, or is another state of the
    model."""
    interpreter = ready(model)
    inputs = interpreter.get_input_details()[0]
    x = np.ones(inputs["shape"], inputs["dtype"])
    step(interpreter, x)
    state = interpreter.get_state()
    remade, (*layout, data) = state.__reduce__()
    rng = np.random.default_rng(1)
    whole = 0
    for length in range(len(data)):
        with contextlib.suppress(InputError):
            attempt(interpreter, remade(*layout, data[:length]))
            whole += 1
    assert whole <= 3  # where a row ends: the state of later rows is reset
    for _ in range(2000):
        wrong = bytearray(data)
        wrong[rng.integers(len(data))] = rng.integers(256)
        with contextlib.suppress(MiniliteError):
            attempt(interpreter, remade(*layout, bytes(wrong)))
            step(interpreter, x)
    interpreter.set_state(state)
    assert interpreter.get_state() == state


def mutant(rng: np.random.Generator, data: bytes) -> bytes:
    """The bytes of a snapshot with other numbers in the heads of rows, other bytes, and rows cut, moved and doubled."""
    wrong = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        way, row = rng.integers(6), 64 * int(rng.integers(len(data) // 64))
        if way < 2:
            struct.pack_into("<q", wrong, row, int(rng.choice(SIZES)))
        elif way < 4:
            struct.pack_into("<i", wrong, row + 8 + 4 * int(rng.integers(13)), int(rng.choice(NUMBERS)))
        elif way == 4:
            wrong[rng.integers(len(wrong))] = rng.integers(256)
        else:
            start, end = sorted(64 * rng.integers(len(data) // 64 + 1, size=2))
            wrong[row:row] = data[start:end]
    return bytes(wrong[: rng.integers(len(wrong))] if rng.integers(8) == 0 else wrong)


SIZES = (-1, 0, 1, 63, 64, 65, 1 << 31, 1 << 40, -(1 << 62), (1 << 63) - 1, -(1 << 63))
NUMBERS = (-2, -1, 0, 1, 2, 3, 4, 5, 8, 9, 255, (1 << 31) - 1, -(1 << 31))


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_snapshot_is_checked_before_anything_looks_at_it(count: int) -> None:
    """An unpickled state can be printed, counted, compared, pickled and restored; a damaged one is an InputError."""
    rng, whole, refused = np.random.default_rng(5), 0, 0
    for model in (averaging(), accumulator(), table_of(filled=True), text_variable()):
        interpreter = ready(model)
        inputs = interpreter.get_input_details()[0]
        step(interpreter, np.ones(inputs["shape"], inputs["dtype"]))
        good = interpreter.get_state()
        remade, (*layout, data) = good.__reduce__()
        line = states.as_bytes(good).partition(b"\n")[0]
        for _ in range(count // 4):
            wrong = mutant(rng, data)
            try:
                state = remade(*layout, wrong)
            except InputError as error:
                refused += 1
                with pytest.raises(InputError, match=re.escape(str(error))):
                    states.from_bytes(line + b"\n" + wrong)
                continue
            whole += 1
            assert repr(state).startswith(f"<ModelState: {state.nbytes} bytes")
            assert 0 <= state.nbytes <= len(wrong)
            assert bool(state) in (False, True)
            assert pickle.loads(pickle.dumps(state)) == state == states.from_bytes(states.as_bytes(state))
            with contextlib.suppress(MiniliteError):
                attempt(interpreter, state)
        interpreter.set_state(good)
        assert interpreter.get_state() == good
    assert refused > count // 2
    assert whole > count // 50


@pytest.mark.parametrize(
    ("graphs", "names", "data"),
    [
        (graphs, (), b"")
        for graphs in (
            1, None, "01", [1], [[0]], [[0, 1]], [[0, [1]]], [[-1, []]], [[0.0, []]], [[True, []]], [["0", []]],
            [[0, []], [0, []]], [[1, []], [0, []]], [[0, [["v", "F", ["2"]]]]], [[0, [["v", "F", [-1]]]]],
            [[0, [["v", "F", [float("inf")]]]]], [[0, [[1, "F", []]]]], [[0, [["v", None, []]]]],
        )
    ]
    + [((), names, b"") for names in (1, None, [1], [["a"]])]
    + [((), (), data) for data in (None, 1, "a", [1])],
)  # fmt: skip
def test_a_snapshot_says_of_what_it_is(graphs: Any, names: Any, data: Any) -> None:
    remade, (*_, form, _) = ready(averaging()).get_state().__reduce__()
    with pytest.raises(InputError, match="the snapshot is damaged: it does not list its"):
        remade(graphs, names, form, data)
    if data == b"":
        with pytest.raises(InputError, match="the snapshot is damaged: it does not list its"):
            states.from_bytes(json.dumps([graphs, names, form]).encode() + b"\n")


def attempt(interpreter: Interpreter, state: Any) -> None:
    """Restores a snapshot that may be damaged. If it is refused, nothing has changed."""
    before = interpreter.get_state()
    try:
        interpreter.set_state(state)
    except InputError:
        assert interpreter.get_state() == before
        raise


def test_snapshot_of_another_version_is_refused() -> None:
    remade, (graphs, names, _, data) = ready(averaging()).get_state().__reduce__()
    with pytest.raises(InputError, match="has the form '0 big' of another version or machine"):
        remade(graphs, names, "0 big", data)
