"""Requested shapes: what counts as a request, what is withdrawn, what a failure leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import count_since, floats, ready, relu_chain
from support.system import needs_reserved, needs_system

from minilite import MiniliteError, ShapeError
from minilite._native.planner import Arena
from minilite.format.builder import ModelBuilder

NOT_SHAPES = [
    b"\x02\x02",
    {2: 2},
    {2, 3},
    "22",
    (np.float32(2.5),),
    (2.5,),
    ((2,),),
    None,
    4,
    (-1,),
    (2**31,),
    (1,) * 9,
]


@pytest.mark.parametrize("wrong", NOT_SHAPES, ids=repr)
def test_refused_shapes_change_nothing(wrong: Any) -> None:
    """Refusals before the tensor was first resized, and after that, when C takes its short way."""
    interpreter = ready(relu_chain())
    for shape in ((4,), (2,)):
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
        with pytest.raises((MiniliteError, TypeError)):
            interpreter.resize_tensor_input(0, wrong)
        assert tuple(interpreter.get_input_details()[0]["shape"]) == shape
        interpreter.invoke()  # nothing has to be allocated


@pytest.mark.parametrize(
    "shape", [[3], (3,), np.array([3]), np.array([3], np.int64), (np.int32(3),), np.array([3.0]), (True,)]
)
def test_whole_numbers_of_any_type_make_a_shape(shape: Any) -> None:
    interpreter = ready(relu_chain())
    interpreter.resize_tensor_input(0, shape)
    interpreter.allocate_tensors()
    assert tuple(interpreter.get_input_details()[0]["shape"]) == tuple(int(d) for d in shape)


def test_a_refusal_takes_back_all_requests() -> None:
    """The inputs must have one shape; one of them was never resized before."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    a, b = (graph.input(name, (4,), signature=(-1,)) for name in "ab")
    graph.output(graph.node("ADD", [a, b], out=("sum", (4,))))
    interpreter = ready(builder.build())
    interpreter.resize_tensor_input(a, (5,))
    with pytest.raises(ShapeError):
        interpreter.allocate_tensors()
    assert [tuple(d["shape"]) for d in interpreter.get_input_details()] == [(4,), (4,)]
    for tensor in (a, b):
        interpreter.resize_tensor_input(tensor, (7,))
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(b, (3,))
    assert [tuple(d["shape"]) for d in interpreter.get_input_details()] == [(7,), (3,)]
    with pytest.raises(ShapeError):
        interpreter.allocate_tensors()
    assert [tuple(d["shape"]) for d in interpreter.get_input_details()] == [(7,), (7,)]
    assert interpreter.run(np.ones(7, np.float32), np.ones(7, np.float32))["sum"].tolist() == [2] * 7


def test_the_files_shape_has_one_spelling() -> None:
    interpreter = ready(relu_chain())
    (shape,) = {tuple(d["shape"]) for d in interpreter.get_input_details()}
    assert count_since(interpreter, lambda: go(interpreter, (9,)))["plans"] == 1
    assert count_since(interpreter, lambda: go(interpreter, shape))["plans"] == 0
    assert interpreter.plan_for({0: shape}).arena_bytes == interpreter.arena_bytes


def go(interpreter: Any, shape: tuple[int, ...]) -> None:
    interpreter.resize_tensor_input(0, shape)
    interpreter.allocate_tensors()


@needs_reserved
@needs_system
def test_a_small_arena_keeps_its_bytes_when_it_outgrows_its_block() -> None:
    arena, bases = Arena(), []
    for size in (100, 32 << 10, 40 << 10, 512 << 10, 1 << 20, 2 << 20, 3 << 20, 8 << 20):
        arena.commit(size, 100)
        if not bases:
            arena.buffer(0, 4)[:] = b"kept"
        bases.append(arena.base)
        assert bytes(arena.buffer(0, 6)) == b"kept\0\0"
        arena.buffer(100, size - 100)[:] = b"x" * (size - 100)
    assert [base == before for base, before in zip(bases[1:], bases, strict=False)] == [1, 0, 1, 1, 1, 1, 1]


@needs_reserved
@needs_system
def test_an_arena_that_begins_large_never_moves() -> None:
    arena = Arena()
    arena.commit(40 << 10, 0)
    base = arena.base
    arena.commit(8 << 20, 0)
    assert arena.base == base


def test_inputs_keep_their_values_when_a_run_outgrows_the_first_block() -> None:
    """A dynamic tensor of 80 KB in an arena of a few bytes."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, shape = graph.input("x", (2,)), graph.input("shape", (1,), 2)
    filled = graph.node("TILE", [x, shape], out=("tiled", (2,)))
    graph.output(graph.node("ADD", [filled, filled], out=("sum", (2,))))
    interpreter = ready(builder.build())
    for count in (1, 10_000, 1):
        found = interpreter.run(floats(1, 2), np.array([count], np.int32))["sum"]
        assert found.tolist() == [2, 4] * count
    assert interpreter.get_tensor(x).tolist() == [1, 2]
