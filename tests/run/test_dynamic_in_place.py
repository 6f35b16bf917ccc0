"""Dynamic tensors that share a place: computed in place while sizes agree, kept apart if they do not, followed when
they grow."""

from __future__ import annotations

import numpy as np
import pytest
from built import Array, ready, records_are_right

from minilite import Interpreter, ShapeError, StateError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

X = np.arange(1, 401, dtype=np.float32) / 100


def sum_of_prefixes() -> tuple[Interpreter, list[int]]:
    """-x[:p], x[:n], exp(-(x[:m] + x[:n])), one of n and m 1 or both alike; and x[:p], and from x[:m] on what may share
    its place."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, *ends = graph.input("x", (400,)), *(graph.input(name, (1,), TensorType.INT32) for name in "pnm")
    zero, step = (graph.constant(name, np.array([i], np.int32)) for i, name in enumerate(("zero", "step")))

    def prefix(name: str, end: int) -> int:
        return graph.node("STRIDED_SLICE", [x, zero, end, step], out=(name, (400,)))

    graph.output(
        graph.node("EXP", [x], out=("settled", (400,)))
    )  # so large that nothing is placed again for a little growth
    aside = prefix("aside", ends[0])
    minus = graph.node("NEG", [aside], out=("minus", (400,)))
    whole, part = prefix("whole", ends[1]), prefix("part", ends[2])
    total = graph.node("ADD", [part, whole], out=("total", (400,)))
    negative = graph.node("NEG", [total], out=("negative", (400,)))
    graph.output(minus, graph.node("EXP", [negative], out=("power", (400,))), whole)
    return ready(builder.build()), [aside, part, total, negative]


def run(interpreter: Interpreter, n: int, m: int, p: int = 1) -> None:
    given = X, *(np.array([end], np.int32) for end in (p, n, m))
    found, fresh = interpreter.run(*given), sum_of_prefixes()[0].run(*given)
    assert np.array_equal(found["whole"], X[:n])
    assert np.array_equal(found["minus"], -X[:p])
    assert np.allclose(found["power"], np.exp(-(X[:n] + X[:m])), rtol=1e-5)
    assert found["power"].tobytes() == fresh["power"].tobytes()


def places(interpreter: Interpreter, tensors: list[int]) -> list[int]:
    memory = interpreter.memory
    assert memory is not None
    return [memory.tensor(tensor).offset for tensor in tensors[1:]]


def test_in_place_tensors_share_memory_while_sizes_are_equal() -> None:
    interpreter, tensors = sum_of_prefixes()
    for n in (300, 300, 10, 200):
        run(interpreter, n, n)
        assert len(set(places(interpreter, tensors))) == 1
    assert interpreter.arena_bytes == 1600 + 64 + 3 * 1216


def test_in_place_output_moves_when_size_changes() -> None:
    interpreter, tensors = sum_of_prefixes()
    for n, m in [
        (100, 100),
        (100, 100),
        (100, 1),
        (100, 1),
        (100, 100),
        (1, 100),
        (300, 300),
        (300, 1),
        (400, 400),
        (400, 1),
    ]:
        run(interpreter, n, m)
        part, total, negative = places(interpreter, tensors)
        assert (part != total) == (m < n)
        assert total == negative


def test_in_place_tensors_follow_a_tensor_that_grows() -> None:
    interpreter, tensors = sum_of_prefixes()
    for n in (50, 50, 100, 200, 400):
        before = interpreter.counters["capacity_misses"]
        run(interpreter, n, n)
        assert len(set(places(interpreter, tensors))) == 1
        assert interpreter.counters["capacity_misses"] - before <= 5


def test_replanning_separates_in_place_tensors_of_unequal_sizes() -> None:
    interpreter, tensors = sum_of_prefixes()
    for n, m, p in [(100, 100, 1), (100, 100, 1), (100, 1, 400), (100, 1, 400)]:
        before = interpreter.counters["replans"]
        run(interpreter, n, m, p)
        part, total, _ = places(interpreter, tensors)
        assert (part != total) == (m < n)
    assert interpreter.counters["replans"] > before


def test_moved_in_place_output_has_its_own_record() -> None:
    """Tensors computed from it in place share its record; its old memory is the input's alone."""
    interpreter, (_, *together) = sum_of_prefixes()
    for n, m, lists in [(100, 100, 1), (100, 100, 1), (400, 1, 2), (400, 1, 2)]:
        run(interpreter, n, m)
        memory = interpreter.memory
        assert memory is not None
        assert len({record[0] for record in memory.records()} & set(together)) == lists
        records_are_right(interpreter)


@pytest.mark.parametrize("m", [100, 1])
def test_overwritten_tensors_cannot_be_read(m: int) -> None:
    interpreter, tensors = sum_of_prefixes()
    for size in (100, 100, m):
        run(interpreter, 100, size)
    with pytest.raises(StateError, match="overwritten"):
        interpreter.get_tensor(tensors[2])


def test_tensor_overwritten_by_a_moved_output_cannot_be_read() -> None:
    interpreter, tensors = sum_of_prefixes()
    for n, m, p in [(100, 100, 1), (100, 100, 1), (100, 1, 300)]:
        run(interpreter, n, m, p)
    memory = interpreter.memory
    assert memory is not None
    assert memory.tensor(tensors[0]).offset == memory.tensor(tensors[2]).offset
    with pytest.raises(StateError, match="overwritten"):
        interpreter.get_tensor(tensors[0])


def chain(rng: np.random.Generator) -> tuple[bytes, int]:
    """Nodes that may overwrite what they read, after x[:n] and x[:m]; and how many outputs there are."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, n, m = graph.input("x", (64,)), *(graph.input(name, (1,), TensorType.INT32) for name in "nm")
    zero, step, any_size = (graph.constant(f"c{i}", np.array([i], np.int32)) for i in (0, 1, -1))
    live = [graph.node("STRIDED_SLICE", [x, zero, end, step], out=(f"to{end}", (64,))) for end in (n, m)]
    for k in range(int(rng.integers(4, 20))):
        a = live[-1] if rng.random() < 0.6 else live[int(rng.integers(len(live)))]
        out, kind = (f"t{k}", (64,)), rng.integers(6)
        if kind < 2:
            y = graph.node(("RELU", "NEG")[kind], [a], out=out)
        elif kind == 2:
            y = graph.node("RESHAPE", [a, any_size], out=out, options={"new_shape": (-1,)})
        elif kind == 3:
            y = graph.node("STRIDED_SLICE", [a, zero, n, step], out=out)
        else:
            y = graph.node(("ADD", "MUL")[kind - 4], [a, live[int(rng.integers(len(live)))]], out=out)
        live.append(y)
        if len(live) > 4:
            live.pop(int(rng.integers(len(live) - 1)))
    graph.output(*live)
    return builder.build(), len(live)


def results(interpreter: Interpreter, x: Array, n: int, m: int) -> list[bytes] | str:
    """Or the error: of two shapes that do not go together."""
    try:
        found = interpreter.run(x, np.array([n], np.int32), np.array([m], np.int32))
    except ShapeError as error:
        return str(error)
    return [value.tobytes() for value in found.values()]


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_give_what_a_fresh_interpreter_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    content, outputs = chain(rng)
    interpreter = ready(content)
    for _ in range(12):
        x = rng.normal(size=int(rng.choice([20, 150, 600]))).astype(np.float32)
        n = int(rng.integers(1, len(x))) if rng.random() < 0.8 else 0
        m = int(rng.choice([1, n, 0, 2]))
        found = results(interpreter, x, n, m)
        assert isinstance(found, str) or len(found) == outputs
        assert found == results(ready(content), x, n, m)
        records_are_right(interpreter)
