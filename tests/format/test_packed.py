"""Elements of 4 and 2 bits: set and read as values, packed everywhere else, as LiteRT has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import COUNTER, Array, agree, below, graph_with, litert, loop, next_count, ready, resized, run, variable

import minilite
from minilite import InputError, KernelError
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType, element_bits, public_type
from minilite.format.packed import pack

S4, U4, S2 = TensorType.INT4, TensorType.UINT4, TensorType.INT2
PACKED = [S4, U4, S2]
LIMITS = {S4: (-8, 7), U4: (0, 15), S2: (-2, 1)}
BITS = {S4: 4, U4: 4, S2: 2}
kinds = pytest.mark.parametrize("kind", PACKED, ids=lambda kind: kind.suffix)


def some(kind: TensorType, shape: Any, seed: int = 0) -> Array:
    """Values over the whole range of the type."""
    least, most = LIMITS[kind]
    return np.random.default_rng(seed).integers(least, most + 1, shape).astype(np.uint8 if kind == U4 else np.int8)


def flattened(kind: TensorType, shape: tuple[int, ...]) -> bytes:
    """x -> RESHAPE -> RESHAPE -> y, and x itself."""

    def build(g: Any) -> list[int]:
        x = g.input("x", shape, kind, signature=(-1, *shape[1:]))
        y = g.node("RESHAPE", [x], out=("a", None, kind), options={"new_shape": [-1, 1]})
        return [g.node("RESHAPE", [y], out=("y", None, kind), options={"new_shape": [-1]}), x]

    return graph_with(build)


def whole_bytes(count: int, kind: TensorType) -> int:
    return (count * BITS[kind] + 7) // 8


# Set and read ---------------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (64,), (3, 3, 3)])
def test_values_go_in_and_out(kind: TensorType, shape: tuple[int, ...]) -> None:
    """LiteRT cannot set 2 bits."""
    x, model = some(kind, shape), flattened(kind, shape)
    y, back = run(ready(model), x) if kind == S2 else agree(model, [x])[0]
    assert (y.dtype, back.dtype) == (x.dtype, x.dtype)
    assert back.tolist() == x.tolist()
    assert y.tolist() == x.ravel().tolist()


@kinds
def test_details_are_litert_s(kind: TensorType) -> None:
    model = flattened(kind, (5,))
    ours, theirs = ready(model).get_input_details()[0], litert(model).get_input_details()[0]
    assert (ours["dtype"], ours["shape"].tolist()) == (theirs["dtype"], theirs["shape"].tolist())


@kinds
def test_values_beyond_the_range_are_refused(kind: TensorType) -> None:
    least, most = LIMITS[kind]
    i, dtype = ready(flattened(kind, (3,))), some(kind, 1).dtype
    i.set_tensor(0, np.array([least, most, 0], dtype))
    for wrong in {most + 1, least - 1} & set(range(-128, 256)):
        if wrong < 0 and dtype == np.uint8:
            continue
        value = np.array([0, wrong, 0], dtype)
        text = rf"^Cannot set tensor: Values for {kind.name} input must be between {least} and {most}, got {wrong}: tensor 0"
        with pytest.raises(InputError, match=text):
            i.set_tensor(0, value)
        with pytest.raises(ValueError, match=f"Values for {kind.name} input|expected type INT2"):
            litert(flattened(kind, (3,))).set_tensor(0, value)
    assert i.get_tensor(0).tolist() == [least, most, 0]


@kinds
def test_other_types_and_shapes_are_refused(kind: TensorType) -> None:
    """LiteRT checks only the number of elements."""
    i = ready(flattened(kind, (5,)))
    other, own = np.int8 if kind == U4 else np.uint8, some(kind, 1).dtype
    for value in (np.zeros(5, other), np.zeros(5, np.float32), np.zeros(3, own), np.zeros((1, 5), own)):
        with pytest.raises(InputError, match=r"^Cannot set tensor: "):
            i.set_tensor(0, value)
        if value.shape != (1, 5):
            with pytest.raises(ValueError, match="Cannot set tensor"):
                litert(flattened(kind, (5,))).set_tensor(0, value)


@kinds
def test_views_are_copies(kind: TensorType) -> None:
    """LiteRT's view of 5 elements shows 5 bytes, although the tensor has fewer."""
    i, x = ready(flattened(kind, (5,))), some(kind, (5,))
    i.set_tensor(0, x)
    view = i.tensor(0)()
    i.set_tensor(0, some(kind, (5,), 1))
    assert view.tolist() == x.tolist()
    i.trim()


@kinds
def test_constants(kind: TensorType) -> None:
    c = some(kind, (3, 3))

    def build(g: Any) -> list[int]:
        made = g.constant("c", c, kind)
        return [g.node("RESHAPE", [made], out=("y", (9,), kind), options={"new_shape": [9]}), made]

    i = minilite.Interpreter(model_content=graph_with(build))
    for read in (lambda: i.get_tensor(0), lambda: ready(graph_with(build)).tensor(0)()):
        assert read().tolist() == c.tolist()
    assert [y.tolist() for y in agree(graph_with(build), [])[0]] == [c.ravel().tolist(), c.tolist()]


# Memory ---------------------------------------------------------------------------------------------------------------


@kinds
def test_plans_count_packed_bytes(kind: TensorType) -> None:
    i = ready(flattened(kind, (5, 3)))
    for size in (5, 1, 300):
        i.resize_tensor_input(0, (size, 3))
        i.allocate_tensors()
        assert i.plan is not None
        assert [i.plan.tensor(t).bytes for t in range(3)] == [whole_bytes(size * 3, kind)] * 3
        assert i.plan.arena_bytes == 3 * (-(-whole_bytes(size * 3, kind) // 64) * 64)
        x = some(kind, (size, 3), size)
        assert run(i, x)[0].tolist() == x.ravel().tolist()


@kinds
def test_no_element_is_shared_by_neighbours(kind: TensorType) -> None:
    """Tensors with odd numbers of elements lie side by side: the last byte of each is its own, and its unused bits are
    0."""

    def build(g: Any) -> list[int]:
        inputs = [g.input(f"x{k}", (3,), kind) for k in range(4)]
        return [
            g.node("RESHAPE", [x], out=(f"y{k}", (3, 1), kind), options={"new_shape": [3, 1]})
            for k, x in enumerate(inputs)
        ]

    i = ready(graph_with(build), in_place="none", experimental_preserve_all_tensors=True)
    arrays = [some(kind, (3,), seed) for seed in range(4)]
    assert [y.ravel().tolist() for y in run(i, *arrays)] == [a.tolist() for a in arrays]
    state = engine_of(i).sessions[0].state
    raw = np.empty(whole_bytes(3, kind), np.uint8)
    assert state.read(0, state.place(0), raw)
    assert raw.tolist() == pack(arrays[0], kind).tolist()


def carried(kind: TensorType, swaps: bool) -> bytes:
    def body(g: Any, c: list[int]) -> list[int]:
        flat = g.node("RESHAPE", [c[1]], out=("flat", (5, 3), kind), options={"new_shape": [5, 3]})
        return [next_count(g, c[0]), *((c[2], flat) if swaps else (flat, c[2]))]

    return loop([COUNTER, ("a", (5, 3), kind), ("b", (5, 3), kind)], below(3), body)


@kinds
@pytest.mark.parametrize("swaps", [False, True])
def test_carries_of_loops(kind: TensorType, swaps: bool) -> None:
    a, b, zero = some(kind, (5, 3), 1), some(kind, (5, 3), 2), np.array(0, np.int32)
    model = carried(kind, swaps)
    found = (
        run(ready(model), zero, a, b) if kind == S2 else agree(model, [zero, a, b], [np.array(2, np.int32), a, b])[0]
    )
    assert [y.tolist() for y in found[1:]] == [y.tolist() for y in ((b, a) if swaps else (a, b))]


@kinds
def test_variables_of_both_sorts(kind: TensorType) -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    x, handle, kept = g.input("x", (5,), kind), variable(g), g.variable("kept", (5,), kind)
    g.node("ASSIGN_VARIABLE", [handle, x])
    y = g.node("READ_VARIABLE", [handle], out=("y", None, kind))
    g.output(y, g.node("RESHAPE", [kept], out=("z", (5, 1), kind), options={"new_shape": [5, 1]}))
    i, value = ready(builder.build()), some(kind, (5,))
    i.set_tensor("kept", value)
    found, copy = run(i, value)
    assert found.tolist() == copy.ravel().tolist() == value.tolist()
    i.reset_all_variables()
    assert i.get_tensor("kept").tolist() == [0] * 5
    assert run(i, value)[0].tolist() == value.tolist()


@kinds
def test_operators_in_python(kind: TensorType) -> None:
    least, most = LIMITS[kind]

    def build(g: Any) -> list[int]:
        x = g.input("x", (5,), kind, signature=(-1,))
        return [g.node("Turn", [x], out=("y", None, kind), custom=True)]

    i = ready(graph_with(build), custom_ops={"Turn": lambda node, x: x[::-1]})
    for size in (5, 2, 64):
        resized(i, size)
        x = some(kind, (size,), size)
        assert run(i, x)[0].tolist() == x[::-1].tolist()
    i = ready(graph_with(build), custom_ops={"Turn": lambda node, x: np.full_like(x, most + 1)})
    text = (
        rf"^subgraph 0, node 0 \(Turn 'y'\): output 0: Values for {kind.name} input must be between {least} and {most}"
    )
    with pytest.raises(KernelError, match=text):
        run(i, some(kind, (5,)))


# Every type -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in TensorType if kind != TensorType.VARIANT])
def test_inputs_that_no_node_reads_keep_their_values(kind: TensorType) -> None:
    """Also inputs of types that no kernel takes: C and Python agree on the size of an element."""
    b = ModelBuilder()
    g = b.subgraph()
    g.input("x", (3,), kind)
    g.output(g.node("NEG", [g.input("z", (3,))], out=("y", (3,))))
    interpreter = ready(b.build())
    value = (
        np.array([1, 0, 1]).astype(public_type(kind))
        if kind != TensorType.STRING
        else np.array([b"1", b"", b"0"], object)
    )
    for _ in range(2):
        interpreter.set_tensor(0, value)
        interpreter.invoke()
        assert interpreter.get_tensor(0).tolist() == interpreter.tensor(0)().tolist() == value.tolist()
    assert interpreter.plan is not None
    assert interpreter.plan.tensor(0).bytes == (3 * element_bits(kind) + 7) // 8
