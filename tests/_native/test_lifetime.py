"""The last reference to an interpreter frees everything at once, without the cyclic collector."""

from __future__ import annotations

import gc
import pathlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from built import accumulator, custom_chain, floats, loop, ready, relu_chain, run, signed

import minilite
from minilite._core import ffi
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder

DESCRIPTORS = pathlib.Path("/proc/self/fd")


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def parts(interpreter: minilite.Interpreter) -> dict[str, weakref.ref[Any]]:
    """Weak references to what an interpreter is made of."""
    session = engine_of(interpreter).session()
    program = session.program
    found = {
        "interpreter": interpreter,
        "session": session,
        "state": session.state,
        "program": program,
        "graph": program.graph(0),
    }
    return {name: weakref.ref(part) for name, part in found.items() if part is not None}


def left(references: dict[str, weakref.ref[Any]]) -> list[str]:
    return [name for name, reference in references.items() if reference() is not None]


def plain() -> minilite.Interpreter:
    interpreter = ready(relu_chain())
    run(interpreter, floats(-1, 2, 3, 4))
    return interpreter


def resized() -> minilite.Interpreter:
    interpreter = plain()
    for size in (3, 5, 3):
        interpreter.run(np.zeros(size, np.float32))
    return interpreter


def viewed() -> minilite.Interpreter:
    interpreter = plain()
    view = interpreter.tensor(0)()
    assert view.size
    return interpreter


def bound() -> minilite.Interpreter:
    interpreter = plain()
    interpreter.bind_tensor("x", floats(1, 2, 3, 4))
    interpreter.allocate_tensors()
    interpreter.invoke()
    return interpreter


def refused() -> minilite.Interpreter:
    interpreter = plain()
    for call in (
        lambda: interpreter.set_tensor(0, None),
        lambda: interpreter.run({"nope": 1}),
        lambda: interpreter.resize_tensor_input(0, (2**31 - 1,) * 4) or interpreter.allocate_tensors(),  # type: ignore[func-returns-value]
    ):
        with pytest.raises((minilite.MiniliteError, MemoryError)):
            call()
    return interpreter


def failing() -> minilite.Interpreter:
    """A custom operator raised."""

    def operator(node: Any, x: Any) -> Any:
        raise KeyError(node.op)

    interpreter = ready(custom_chain("Foo"), custom_ops={"Foo": operator})
    for _ in range(2):
        try:
            interpreter.invoke()
        except KeyError:
            pass
        else:
            pytest.fail("nothing was raised")
    return interpreter


def signatures() -> minilite.Interpreter:
    interpreter = ready(signed())
    interpreter.get_signature_runner("sum")(p=floats(1, 2), q=floats(3, 4))
    return interpreter


def streaming() -> minilite.Interpreter:
    interpreter = ready(accumulator())
    run(interpreter, floats(1, 2, 3, 4))
    return interpreter


@pytest.mark.parametrize("make", [plain, resized, viewed, bound, refused, failing, signatures, streaming])
def test_all_goes_with_the_interpreter(make: Callable[[], minilite.Interpreter]) -> None:
    interpreter = make()
    references = parts(interpreter)
    assert set(left(references)) == set(references)
    del interpreter
    assert left(references) == []


def test_a_view_keeps_what_it_needs_and_no_longer() -> None:
    interpreter = plain()
    references = parts(interpreter)
    view = interpreter.tensor(3)()
    del interpreter
    assert view.tolist() == [0, 2, 3, 4]
    assert "state" in left(references)
    del view
    assert left(references) == []


def test_a_clone_shares_and_lets_go() -> None:
    interpreter = plain()
    references = parts(interpreter)
    other = interpreter.clone()
    del interpreter
    assert set(left(references)) == {"program"} | (set(left(references)) & {"graph"})
    assert other.run(floats(-1, 1))["y2"].tolist() == [0, 1]
    del other
    assert left(references) == []


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="needs /proc")
def test_mapped_files_are_closed_at_once(tmp_path: pathlib.Path) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    weights = graph.constant("weights", np.zeros(5000, np.float32))
    graph.output(graph.node("ADD", [graph.input("x", (1,)), weights], out=("y", (5000,))))
    path = tmp_path / "model.tflite"
    path.write_bytes(builder.build())
    before = len(list(DESCRIPTORS.iterdir()))
    for _ in range(20):
        interpreter = minilite.Interpreter(path)
        interpreter.run(floats(1))
    del interpreter
    assert len(list(DESCRIPTORS.iterdir())) == before


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="needs /proc")
def test_files_of_refused_models_are_closed_at_once(tmp_path: pathlib.Path) -> None:
    for name, data in (("custom", custom_chain("Unknown")), ("short", relu_chain()[:200]), ("text", b"no model" * 9)):
        (tmp_path / name).write_bytes(data)
    before = len(list(DESCRIPTORS.iterdir()))
    for path in tmp_path.iterdir():
        try:
            minilite.Interpreter(path).allocate_tensors()
        except minilite.MiniliteError:
            pass
        else:
            pytest.fail("nothing was raised")
    assert len(list(DESCRIPTORS.iterdir())) == before


def test_loops_are_freed_too() -> None:
    from built import COUNTER, below, integer, next_count

    interpreter = ready(loop([COUNTER], below(3), lambda graph, carries: [next_count(graph, carries[0])]))
    run(interpreter, integer(0))
    references = parts(interpreter)
    del interpreter
    assert left(references) == []


def test_views_keep_their_memory_whatever_a_collector_finalizes_first() -> None:
    """A cycle of garbage may finalize the state before its views."""
    interpreter = plain()
    view = interpreter.tensor(3)()
    ffi.release(engine_of(interpreter).session().state._cell)
    assert view.tolist() == [0, 2, 3, 4]
    del view
