"""Models for sequences of calls: each with its inputs, inputs that make its runs fail, and the state that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from built import F32, S32, Array, below, floats, graph_with, integer, loop, next_count, texts, variable

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

Dims = tuple[int, ...]


class Sequenced(NamedTuple):
    """A model whose first inputs are resized by one number, its size; the file has the shapes of size 2."""

    model: bytes
    shapes: Callable[[int], list[Dims]]
    """The shapes of the inputs that are resized, by size."""
    feed: Callable[[int, np.random.Generator], list[Array]]
    """The values for all inputs, by size."""
    wrong: Callable[[int, np.random.Generator], list[Array]] | None = None
    """Values with which a run fails."""
    mismatch: Sequence[Dims] = ()
    """Shapes that the model refuses, if it refuses any."""
    keeps: str = ""
    """The state that its results depend on besides inputs: "variables", or the interpreter's "resources"."""
    custom_ops: Mapping[str, Any] = {}
    signatures: Mapping[str, Callable[[int, np.random.Generator], list[Array]]] = {}
    """The values by signature, like `feed`."""


def _values(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-4, 5, shape).astype(np.float32)


def _ints(*values: int) -> Array:
    return np.array(values, np.int32)


def _square(size: int) -> list[Dims]:
    return [(size, 4)]


# Static ---------------------------------------------------------------------------------------------------------------


def _chain() -> Sequenced:
    def build(g: Any) -> list[int]:
        x, y = (g.input(name, (2, 4), signature=(-1, 4)) for name in "xy")
        weights = g.constant("weights", np.arange(12, dtype=np.float32).reshape(3, 4))
        total = g.node("ADD", [g.node("RELU", [x], out=("relu", (2, 4))), y], out=("total", (2, 4)))
        flat = g.node("RESHAPE", [total, g.constant("flat", _ints(-1))], out=("flat", (8,)))
        back = g.node("RESHAPE", [flat, g.constant("back", _ints(-1, 4))], out=("back", (2, 4)))
        both = g.node("CONCATENATION", [back, x], out=("both", (4, 4)), options={"axis": 0})
        dense = g.node("FULLY_CONNECTED", [both, weights, -1], out=("dense", (4, 3)))
        return [dense, g.node("MUL", [total, total], out=("square", (2, 4)))]

    return Sequenced(
        graph_with(build),
        lambda n: _square(n) * 2,
        lambda n, rng: [_values(rng, n, 4), _values(rng, n, 4)],
        mismatch=[(3, 4), (5, 4)],
    )


def _variables() -> Sequenced:
    """SVDF keeps its last inputs in a variable tensor, which no resize changes; `x` is not among its operands."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (2, 4), signature=(-1, 4))
        stream = g.input("stream", (2, 3))
        features = g.constant("features", np.arange(12, dtype=np.float32).reshape(4, 3))
        times = g.constant("times", np.arange(16, dtype=np.float32).reshape(4, 4))
        state = g.variable("state", (2, 16))
        y = g.node("SVDF", [stream, features, times, -1, state], out=("y", (2, 4)), options={"rank": 1}, version=1)
        return [g.node("CONCATENATION", [x, y], out=("z", (4, 4)), options={"axis": 0})]

    return Sequenced(
        graph_with(build),
        _square,
        lambda n, rng: [_values(rng, n, 4), _values(rng, 2, 3)],
        mismatch=[(3, 5)],
        keeps="variables",
    )


def _wide() -> Sequenced:
    """Nodes large enough that threads share them, and that runs look at the clock."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (2, 4), signature=(-1, 4))
        rng = np.random.default_rng(0)
        spread, gather = (
            g.constant(name, _values(rng, *shape)) for name, shape in (("spread", (9000, 4)), ("gather", (3, 9000)))
        )
        wide = g.node("FULLY_CONNECTED", [x, spread, -1], out=("wide", (2, 9000)))
        for name in "ab":
            total = g.node("ADD", [wide, wide], out=(f"total_{name}", (2, 9000)))
            wide = g.node("RELU6", [total], out=(f"clipped_{name}", (2, 9000)))
        return [g.node("FULLY_CONNECTED", [wide, gather, -1], out=("y", (2, 3)))]

    return Sequenced(graph_with(build), _square, lambda n, rng: [_values(rng, n, 4)], mismatch=[(3, 5)])


# Dynamic --------------------------------------------------------------------------------------------------------------


def _dynamic() -> Sequenced:
    """Rows above zero, a range as long as a value says, a reshape to a shape that another says, rows picked by
    number."""

    def build(g: Any) -> list[int]:
        x = g.input("x", (2,), signature=(-1,))
        count, shape, pick = g.input("count", (), S32), g.input("shape", (2,), S32), g.input("pick", (2,), S32)
        mask = g.node("LESS", [g.constant("zero", floats(0)), x], out=("mask", (2,), TensorType.BOOL))
        indices = g.node("WHERE", [mask], out=("indices", (2, 1), TensorType.INT64))
        found = g.node("GATHER", [x, indices], out=("found", (2, 1)))
        twice = g.node("ADD", [found, found], out=("twice", (4, 1)))
        numbers = g.node(
            "RANGE", [g.constant("from", integer(0)), count, g.constant("by", integer(1))], out=("n", (1,), S32)
        )
        tall = g.node("RESHAPE", [g.node("CAST", [numbers], out=("floats", (1,))), shape], out=("tall", (1, 1)))
        wide = g.node("RELU", [tall], out=("wide", (1, 1)))
        picked = g.node("GATHER", [x, pick], out=("picked", (2,)))
        flat = g.node("RESHAPE", [wide, g.constant("any", _ints(-1))], out=("any_length", (1,)))
        return [twice, wide, g.node("CONCATENATION", [picked, flat], out=("all", (3,)), options={"axis": 0})]

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        rows, columns = (int(n) for n in rng.integers(1, 6, 2))
        pick = rng.integers(0, size, 2).astype(np.int32)
        return [_values(rng, size), integer(rows * columns), _ints(rows, columns), pick]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        x, count, shape, pick = feed(size, rng)
        return [x, count, shape, pick + size] if rng.random() < 0.5 else [x, integer(int(count) + 1), shape + 1, pick]

    return Sequenced(graph_with(build), lambda n: [(n,)], feed, wrong)


def head(node: Any, x: Array) -> Array:
    """The input, repeated to its first value's length; raises if that is negative."""
    if x[0] < 0:
        message = f"no length: {x[0]}"
        raise ArithmeticError(message)
    return np.resize(x, int(x[0]))


def _custom() -> Sequenced:
    def build(g: Any) -> list[int]:
        x = g.input("x", (2,), signature=(-1,))
        before = g.node("RELU", [x], out=("before", (2,)))
        y = g.node("Head", [x], out=("y", (1,)), custom=True)
        total = g.node("ADD", [g.node("RELU", [y], out=("z", (1,))), y], out=("total", (1,)))
        return [total, g.node("ADD", [before, before], out=("after", (2,)))]

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        return [np.append(np.float32(rng.integers(0, 60)), _values(rng, size - 1))]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [np.append(np.float32(-1), _values(rng, size - 1))]

    return Sequenced(graph_with(build), lambda n: [(n,)], feed, wrong, custom_ops={"Head": head})


# Loops and branches ---------------------------------------------------------------------------------------------------

_COUNTED = [("i", (), S32), ("pick", (1,), S32)]


def _row(g: Any, x: int, pick: int, name: str = "row") -> int:
    made: int = g.node("GATHER", [x, pick], out=(name, (1, 4)), options={"axis": 0})
    return made


def _start(rng: np.random.Generator, most: int) -> Array:
    return integer(most - int(rng.integers(0, most + 1)))


def _growing_loop() -> Sequenced:
    """x gets a row more with each turn, that which `pick` names, from 0 to 6 turns."""

    def body(g: Any, c: list[int]) -> list[int]:
        x, i, pick = c
        up = g.node("RELU", [x], out=("up", (2, 4)))
        return [
            g.node("CONCATENATION", [up, _row(g, x, pick)], out=("more", (3, 4)), options={"axis": 0}),
            next_count(g, i),
            pick,
        ]

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), _start(rng, 6), _ints(int(rng.integers(0, size)))]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), integer(0), _ints(size + 3)]

    model = loop([("x", (2, 4), F32), *_COUNTED], lambda g, c: below(6)(g, c[1:]), body)
    return Sequenced(model, _square, feed, wrong)


def _closed_loop() -> Sequenced:
    """The carry keeps its shape; in each turn the body puts fifty rows times the counter into a variable."""
    builder = ModelBuilder()
    main, test, body, init = (builder.subgraph(name) for name in ("main", "test", "body", "init"))
    carries = [("x", (2, 4), F32), *_COUNTED]
    main.node("CALL_ONCE", [], options={"init_subgraph_index": 3})
    outs = [(f"{name}_out", shape, kind) for name, shape, kind in carries]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    out = main.node("WHILE", [main.input(*c) for c in carries], out=outs, options=options)
    main.output(out[0], main.node("READ_VARIABLE", [variable(main)], out=("kept", (1, 4))))
    test.output(below(5)(test, [test.input(*c) for c in carries][1:]))
    x, i, pick = (body.input(*c) for c in carries)
    fifty = body.node("MUL", [i, body.constant("fifty", integer(50))], out=("fifty_times", (), S32))
    times = body.node("RESHAPE", [fifty, body.constant("one", _ints(1))], out=("times", (1,), S32))
    parts = [times, body.constant("columns", _ints(1))]
    multiples = body.node("CONCATENATION", parts, out=("multiples", (2,), S32), options={"axis": 0})
    many = body.node("TILE", [_row(body, x, pick), multiples], out=("many", (1, 4)))
    body.node("ASSIGN_VARIABLE", [variable(body), body.node("RELU", [many], out=("relu", (1, 4)))])
    body.output(body.node("ADD", [x, x], out=("more", (2, 4))), next_count(body, i), pick)
    _forget(init)

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), _start(rng, 5), _ints(int(rng.integers(0, size)))]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), integer(0), _ints(-1)]

    return Sequenced(builder.build(), _square, feed, wrong, keeps="resources")


def _branches() -> Sequenced:
    """One branch gives the rows it gets, the other those that are picked, twice."""
    builder = ModelBuilder()
    main, some, other = (builder.subgraph(name) for name in ("main", "some", "other"))
    x = main.input("x", (2, 4))
    pick, flag = main.input("pick", (2,), S32), main.input("flag", (), TensorType.BOOL)
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    (y,) = main.node("IF", [flag, x, pick], out=[("y", (2, 4))], options=options)
    main.output(main.node("ADD", [y, y], out=("z", (2, 4))), main.node("RELU", [x], out=("after", (2, 4))))
    a, _ = some.input("x", (2, 4)), some.input("pick", (2,), S32)
    some.output(some.node("RELU", [a], out=("relu", (2, 4))))
    b, p = other.input("x", (2, 4)), other.input("pick", (2,), S32)
    row = _row(other, b, p)
    other.output(other.node("CONCATENATION", [row, row], out=("twice", (4, 4)), options={"axis": 0}))

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), rng.integers(0, size, 2).astype(np.int32), np.array(rng.random() < 0.5)]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), _ints(0, size), np.array(False)]

    return Sequenced(builder.build(), _square, feed, wrong)


def _nested_loops() -> Sequenced:
    """A loop that adds a row in each turn, around one that adds as many as it has turns, around a branch."""
    builder = ModelBuilder()
    main, test, step, inner_test, inner_step, some, other = (builder.subgraph(name) for name in "abcdefg")
    outer, inner = [("x", (2, 4), F32), *_COUNTED], [("x", (2, 4), F32), *_COUNTED, ("last", (), S32)]

    def loop_node(g: Any, carries: list[int], like: Any, condition: int) -> list[int]:
        outs = [(f"{name}_out", shape, kind) for name, shape, kind in like]
        options = {"cond_subgraph_index": condition, "body_subgraph_index": condition + 1}
        return list(g.node("WHILE", carries, out=outs, options=options))

    main.output(*loop_node(main, [main.input(*c) for c in outer], outer, 1))
    test.output(below(3)(test, [test.input(*c) for c in outer][1:]))
    x, i, pick = (step.input(*c) for c in outer)
    deep = loop_node(step, [x, step.constant("zero", integer(0)), pick, i], inner, 3)
    grown = step.node("CONCATENATION", [deep[0], _row(step, x, pick)], out=("grown", (3, 4)), options={"axis": 0})
    step.output(grown, next_count(step, i), pick)
    carries = [inner_test.input(*c) for c in inner]
    inner_test.output(inner_test.node("LESS", [carries[1], carries[3]], out=("go_on", (), TensorType.BOOL)))
    x, i, pick, last = (inner_step.input(*c) for c in inner)
    even = inner_step.node("EQUAL", [i, inner_step.constant("zero", integer(0))], out=("first", (), TensorType.BOOL))
    branch = {"then_subgraph_index": 5, "else_subgraph_index": 6}
    (y,) = inner_step.node("IF", [even, x, pick], out=[("y", (2, 4))], options=branch)
    inner_step.output(y, next_count(inner_step, i), pick, last)
    a, p = some.input("x", (2, 4)), some.input("pick", (1,), S32)
    some.output(some.node("CONCATENATION", [a, _row(some, a, p)], out=("more", (3, 4)), options={"axis": 0}))
    b, _ = other.input("x", (2, 4)), other.input("pick", (1,), S32)
    other.output(other.node("ADD", [b, b], out=("twice", (2, 4))))

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), _start(rng, 3), _ints(int(rng.integers(0, size)))]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), integer(0), _ints(size + 2)]

    return Sequenced(builder.build(), _square, feed, wrong)


# State of the interpreter ---------------------------------------------------------------------------------------------


def _remember(g: Any, x: int, pick: int) -> list[int]:
    """Appends x to what the variable has; then reads the picked row of the whole."""
    handle = variable(g)
    old = g.node("READ_VARIABLE", [handle], out=("old", (1, 4)))
    new = g.node("CONCATENATION", [old, x], out=("new", (3, 4)), options={"axis": 0})
    g.node("ASSIGN_VARIABLE", [handle, new])
    return [_row(g, new, pick), g.node("RELU", [new], out=("relu", (3, 4)))]


def _forget(g: Any) -> None:
    g.node("ASSIGN_VARIABLE", [variable(g), g.constant("none", np.zeros((1, 4), np.float32))])


def _fed_pick(size: int, rng: np.random.Generator) -> list[Array]:
    return [_values(rng, size, 4), _ints(int(rng.integers(0, size)))]


def _resources() -> Sequenced:
    builder = ModelBuilder()
    main, init = builder.subgraph("main"), builder.subgraph("init")
    x, pick = main.input("x", (2, 4)), main.input("pick", (1,), S32)
    main.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    main.output(*_remember(main, x, pick))
    _forget(init)

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        return [_values(rng, size, 4), _ints(-1)]

    return Sequenced(builder.build(), _square, _fed_pick, wrong, keeps="resources")


def _signatures() -> Sequenced:
    """The main subgraph appends its input to the variable; another signature sets the variable to its input."""
    builder = ModelBuilder()
    main, init, again = (builder.subgraph(name) for name in ("main", "init", "again"))
    x, pick = main.input("x", (2, 4)), main.input("pick", (1,), S32)
    main.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    row, grown = _remember(main, x, pick)
    main.output(row, grown)
    _forget(init)
    y = again.input("y", (2, 4))
    again.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    again.node("ASSIGN_VARIABLE", [variable(again), again.node("RELU", [y], out=("kept", (2, 4)))])
    twice = again.node("ADD", [y, y], out=("twice", (2, 4)))
    again.output(twice)
    builder.signature("more", {"x": x, "pick": pick}, {"row": row, "grown": grown}, main)
    builder.signature("anew", {"y": y}, {"twice": twice}, again)
    return Sequenced(
        builder.build(),
        _square,
        _fed_pick,
        keeps="resources",
        signatures={"more": _fed_pick, "anew": lambda n, rng: [_values(rng, n, 4)]},
    )


def _strings() -> Sequenced:
    """A loop that carries strings of any lengths, and rows of them picked on the way."""

    def body(g: Any, c: list[int]) -> list[int]:
        x, i, pick = c
        turned = g.node("GATHER", [x, pick], out=("turned", (2,), TensorType.STRING), options={"axis": 0})
        return [turned, next_count(g, i), pick]

    def feed(size: int, rng: np.random.Generator) -> list[Array]:
        words = [bytes(rng.integers(97, 123, int(rng.integers(0, 70))).astype(np.uint8)) for _ in range(size)]
        return [texts(*words), _start(rng, 3), rng.integers(0, size, size).astype(np.int32)]

    def wrong(size: int, rng: np.random.Generator) -> list[Array]:
        x, _, pick = feed(size, rng)
        return [x, integer(0), pick + size]

    model = loop(
        [("x", (2,), TensorType.STRING), ("i", (), S32), ("pick", (2,), S32)], lambda g, c: below(3)(g, c[1:]), body
    )
    return Sequenced(model, lambda n: [(n,), (), (n,)], feed, wrong)


MODELS: Mapping[str, Callable[[], Sequenced]] = {
    "chain": _chain,
    "wide": _wide,
    "variables": _variables,
    "dynamic": _dynamic,
    "custom": _custom,
    "growing_loop": _growing_loop,
    "closed_loop": _closed_loop,
    "branches": _branches,
    "nested_loops": _nested_loops,
    "resources": _resources,
    "signatures": _signatures,
    "strings": _strings,
}
