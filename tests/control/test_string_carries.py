"""Strings through loops, branches, variables and operators in Python, and the bytes of their blocks."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from built import COUNTER, Array, agree, below, graph_with, litert, loop, next_count, ready, run, texts, variable

import minilite
from minilite import KernelError
from minilite.format.builder import ModelBuilder, with_metadata
from minilite.format.dtypes import TensorType
from minilite.memory import offline

TEXT = TensorType.STRING


def gathered(g: Any, x: int, indices: Sequence[int], name: str = "gathered") -> int:
    made: int = g.node("GATHER", [x, g.constant(f"{name}_i", np.array(indices, np.int32))],
                       out=(name, (len(indices),), TEXT), options={"axis": 0})  # fmt: skip
    return made


def spun(carries: int, body: Callable[[Any, list[int]], Sequence[int]], shapes_out: Any = None) -> bytes:
    """Three turns of a loop that carries a counter and tensors of three strings."""
    kinds = [COUNTER, *((f"s{k}", (3,), TEXT) for k in range(carries))]
    return loop(
        kinds, below(3), lambda g, c: [next_count(g, c[0]), *body(g, c[1:])], None if shapes_out is None else [(), *shapes_out]
    )  # fmt: skip


ABC = texts(b"a", b"bb\0", b"")
XYZ = texts(b"x" * 100, b"", b"z")
ZERO = np.array(0, np.int32)


@pytest.mark.parametrize(
    ("body", "meaning", "by_litert"),
    [
        (lambda g, c: [gathered(g, c[0], [2, 0, 1])], lambda a: [a[[2, 0, 1]]], True),
        (lambda g, c: [g.constant("k", texts("con", "", "st\0"))], lambda a: [texts(b"con", b"", b"st\0")], True),
        (lambda g, c: [c[0], gathered(g, c[0], [2, 2, 1])], lambda a, b: [a, a[[2, 2, 1]]], False),
        (lambda g, c: [c[0]], lambda a: [a], False),
        (lambda g, c: [c[1], c[0]], lambda a, b: [b, a], False),
        (lambda g, c: [c[1], c[1]], lambda a, b: [b, b], False),
        (lambda g, c: [gathered(g, c[1], [1, 1, 0]), c[0]], lambda a, b: [b[[1, 1, 0]], a], False),
    ],
    ids=["computed", "constant", "kept and read", "passed through", "swapped", "doubled", "computed and moved"],
)
def test_carries_of_loops(body: Any, meaning: Callable[..., list[Array]], by_litert: bool) -> None:
    """LiteRT loses strings that a body returns unchanged: "Invalid tensor size"."""
    carries = [ABC, XYZ][: meaning.__code__.co_argcount]
    model = spun(len(carries), body)
    interpreters = [ready(model), ready(model, experimental_preserve_all_tensors=True)]
    interpreters += [litert(model)] if by_litert else []
    for start in (0, 2, 9, 1):
        wanted = carries
        for _ in range(start, 3):
            wanted = meaning(*wanted)
        for interpreter in interpreters:
            found = run(interpreter, np.array(start, np.int32), *carries)[1:]
            assert [y.tolist() for y in found] == [y.tolist() for y in wanted]


def test_a_carry_of_more_strings_each_turn() -> None:
    def body(g: Any, c: list[int]) -> list[int]:
        count, words = c
        two = g.node("RESHAPE", [words], out=("flat", None, TEXT), options={"new_shape": [-1]})
        size = g.node("SHAPE", [two], out=("size", (1,), TensorType.INT32), options={"out_type": "INT32"})
        ends = [g.constant(n, np.array(v, np.int32)) for n, v in (("from", [1]), ("step", [1]))]
        return [next_count(g, count), g.node("STRIDED_SLICE", [two, ends[0], size, ends[1]], out=("rest", None, TEXT))]

    model = loop([COUNTER, ("words", (5,), TEXT)], below(3), body, [(), (1,)])
    given = texts(b"a", b"bb", b"ccc", b"dddd", b"e" * 1000)
    assert agree(model, [ZERO, given], [np.array(2, np.int32), given])[0][1].tolist() == given.tolist()[3:]


@pytest.mark.parametrize("condition", [True, False])
def test_operands_and_outputs_of_branches(condition: bool) -> None:
    builder = ModelBuilder()
    main, yes, no = (builder.subgraph(name) for name in ("main", "then", "else"))
    chosen, words = main.input("chosen", (), TensorType.BOOL), main.input("words", (3,), TEXT)
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    outs = [("a", None, TEXT), ("b", (3,), TEXT)]
    main.output(*main.node("IF", [chosen, words], out=outs, options=options))
    given = yes.input("given", (3,), TEXT)
    yes.output(gathered(yes, given, [2, 0]), given)
    given = no.input("given", (3,), TEXT)
    no.output(no.constant("fixed", texts("this", "or", "that")), gathered(no, given, [0, 0, 1]))
    agree(builder.build(), *([np.array(c), words] for c in (condition, not condition) for words in (ABC, XYZ)))


def test_resource_variables() -> None:
    """Resource variables of strings end LiteRT's process."""
    builder = ModelBuilder()
    g, init = builder.subgraph("main"), builder.subgraph("init")
    g.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    x, handle = g.input("x", (3,), TEXT, signature=(-1,)), variable(g, "words")
    before = g.node("READ_VARIABLE", [handle], out=("before", None, TEXT))
    kept = g.node("RESHAPE", [before], out=("kept", None, TEXT), options={"new_shape": [-1, 1]})
    g.node("ASSIGN_VARIABLE", [handle, x])
    g.output(kept)
    init.node("ASSIGN_VARIABLE", [variable(init, "words"), init.constant("first", texts("at", "first"))])
    found = [run(i, x) for i in [ready(builder.build())] for x in (ABC, XYZ, ABC)]
    assert [y[0].ravel().tolist() for y in found] == [
        [b"at", b"first"],
        [b"a", b"bb\0", b""],
        [b"x" * 100, b"", b"z"],
    ]


def test_operators_in_python() -> None:
    seen: list[Any] = []

    def shout(node: Any, x: Array, n: Array) -> Any:
        seen.append(x)
        return np.array([v.upper() for v in x.tolist()] * int(n), object), ["üb", b"er"]

    def build(g: Any) -> Sequence[int]:
        x, n = g.input("x", (3,), TEXT), g.input("n", (), TensorType.INT32)
        y, z = g.node("Shout", [x, n], out=[("y", None, TEXT), ("z", (2,), TEXT)], custom=True)
        return [g.node("RESHAPE", [y], out=("w", None, TEXT), options={"new_shape": [-1]}), z]

    i = ready(graph_with(build), custom_ops={"Shout": shout})
    for count, words in ((1, ABC), (4, XYZ), (0, ABC)):
        y, z = run(i, words, np.array(count, np.int32))
        assert y.tolist() == [v.upper() for v in words.tolist()] * count
        assert z.tolist() == ["üb".encode(), b"er"]
    assert seen[0].tolist() == [b"a", b"bb\0", b""], "what a function was given is its own"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros(3, np.float32), "output 0 is float32, the model says strings"),
        ([1, 2, 3], "output 0 takes strings .bytes or str., got an element of type int"),
        (["\ud800"] * 3, "output 0 takes strings that UTF-8 can write"),
        (None, "the function gave None"),
    ],
)
def test_wrong_strings_of_python_operators_are_refused(result: Any, message: str) -> None:
    def build(g: Any) -> Sequence[int]:
        return [g.node("Give", [g.input("x", (3,), TEXT)], out=("y", (3,), TEXT), custom=True)]

    i = ready(graph_with(build), custom_ops={"Give": lambda node, x: result})
    with pytest.raises(KernelError, match=rf"^subgraph 0, node 0 \(Give 'y'\): {message}"):
        i.invoke()


# Memory ---------------------------------------------------------------------------------------------------------------


def test_blocks_keep_their_room_and_go_with_trim() -> None:
    model = spun(1, lambda g, c: [gathered(g, c[0], [2, 0, 1])])
    i = ready(model)
    small, large = texts("a", "b", "c"), texts("a" * 10**6, "b", "c")
    run(i, ZERO, small)
    first = i.usage.block_bytes
    run(i, ZERO, large)
    grown = i.usage.block_bytes
    assert grown > 5 * 10**6 > first  # input, output, two carries, what the body computes
    found = run(i, ZERO, small)
    assert i.usage.block_bytes == grown
    i.trim()
    assert i.usage.block_bytes < 1024
    assert i.get_tensor(1).tolist() == [b"a", b"b", b"c"]
    assert i.get_tensor(i.get_output_details()[1]["index"]).tolist() == found[1].tolist()
    assert run(i, ZERO, large)[1].tolist() == [v.encode() for v in large]
    i.trim()
    assert 2 * 10**6 < i.usage.block_bytes < 3 * 10**6  # the input's and the output's values


def test_resource_variables_give_their_room_back() -> None:
    def build(g: Any) -> Sequence[int]:
        x, handle = g.input("x", (1,), TEXT), variable(g)
        g.node("ASSIGN_VARIABLE", [handle, x])
        return [g.node("READ_VARIABLE", [handle], out=("y", (1,), TEXT))]

    i = ready(graph_with(build))
    run(i, texts("a" * 10**6))
    run(i, texts("b"))
    i.trim()
    assert i.usage.resource_bytes < 1024
    i.invoke()
    assert i.get_tensor(i.get_output_details()[0]["index"]).tolist() == [b"b"]


@pytest.mark.parametrize(
    "options", [{"experimental_preserve_all_tensors": True}, {"preserve_inputs": False}, {"in_place": "none"}]
)
def test_options_of_memory(options: dict[str, Any]) -> None:
    model = spun(1, lambda g, c: [gathered(g, c[0], [2, 0, 1])])
    agree(model, [ZERO, ABC], [ZERO, XYZ], **options)
    i = ready(model, experimental_preserve_all_tensors=True)
    run(i, ZERO, ABC)
    assert i.get_tensor(1).tolist() == ABC.tolist()


@pytest.mark.parametrize("offset", [-1, 0, 7, 64])
def test_a_file_s_memory_plan_moves_no_strings(offset: int) -> None:
    """Strings lie outside the arena, whatever offset a file gives them."""
    model = spun(1, lambda g, c: [gathered(g, c[0], [2, 0, 1])])
    tensors = sum(len(subgraph.tensors) for subgraph in minilite.Interpreter(model_content=model).model.subgraphs)
    words = [1, 3, tensors, -1, offset, *[-1] * (tensors - 2)]
    planned = with_metadata(model, offline.NAME, struct.pack(f"<{len(words)}i", *words))
    i = ready(planned)
    assert i.plan is not None
    assert i.plan.tensor(1).storage == "heap"
    assert run(i, ZERO, ABC)[1].tolist() == ABC.tolist()
