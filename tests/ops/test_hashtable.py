"""HASHTABLE and what uses it: tables in both directions, filled once; LiteRT (only its optimized kernels have them) is
the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import Array, agree, ready, run, texts

from minilite import KernelError, ShapeError, UnsupportedOpError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

TEXT, S64 = TensorType.STRING, TensorType.INT64
NAMES = texts("zero", "", "two", "a\0b", "ü", "two")
NUMBERS = np.array([0, 1, 2, -3, 2**40, 22], np.int64)


def handle(g: Any, number: int = 0, kinds: tuple[str, str] = ("STRING", "INT64")) -> int:
    options = {"table_id": number, "key_dtype": kinds[0], "value_dtype": kinds[1]}
    result: int = g.node("HASHTABLE", [], out=(f"table{number}", (1,), TensorType.RESOURCE), options=options)
    return result


def tables(keys: Array, values: Array, shape: Any = (4,), *, once: bool = False, filled: bool = True) -> bytes:
    """Returns a model that looks `wanted` up in a table, and its size; each run fills the table, or CALL_ONCE does."""
    kinds = ("STRING", "INT64") if keys.dtype == object else ("INT64", "STRING")
    builder = ModelBuilder()
    g = builder.subgraph("main")
    where = builder.subgraph("init") if once else g
    wanted = g.input("wanted", shape, TEXT if keys.dtype == object else S64, signature=(-1,) * len(shape))
    if once:
        g.node("CALL_ONCE", [], options={"init_subgraph_index": 1})
    table = handle(g, kinds=kinds)
    if filled:
        pairs = [where.constant("keys", keys), where.constant("values", values)]
        where.node("HASHTABLE_IMPORT", [handle(where, kinds=kinds) if once else table, *pairs])
    standing = g.constant("default", texts("?") if values.dtype == object else np.array([-1], np.int64))
    found = g.node(
        "HASHTABLE_FIND", [table, wanted, standing], out=("found", shape, TEXT if kinds[1] == "STRING" else S64)
    )
    size = g.node("HASHTABLE_SIZE", [table], out=("size", (1,), S64))
    g.output(found, size)
    return builder.build()


@pytest.mark.parametrize("once", [False, True])
def test_numbers_of_strings(once: bool) -> None:
    """The first of two pairs with one key stays."""
    model = tables(NAMES, NUMBERS, once=once)
    found = agree(model, [texts("two", "no", "", "a\0b")], [texts("zero", "zero", "ü", "a")])
    assert [y[0].tolist() for y in found] == [[2, -1, 1, -3], [0, 0, 2**40, -1]]
    assert found[0][1].tolist() == [5]


@pytest.mark.parametrize("once", [False, True])
def test_strings_of_numbers(once: bool) -> None:
    model = tables(NUMBERS, NAMES, once=once)
    found = agree(model, [np.array([2, 7, 1, -3])], [np.array([22, 22, 2**40, 0])])
    assert [y[0].tolist() for y in found] == [[b"two", b"?", b"", b"a\0b"], [b"two", b"two", "ü".encode(), b"zero"]]


def test_many_keys() -> None:
    numbers = np.random.default_rng(1).permutation(5000).astype(np.int64)
    names = texts(*(f"word {n * 7}" for n in numbers))
    wanted = np.arange(-10, 5010)
    found = run(ready(tables(numbers, names, (5020,))), wanted)[0]
    assert found.tolist() == [f"word {n * 7}".encode() if 0 <= n < 5000 else b"?" for n in wanted]
    found = run(ready(tables(names, numbers, (5020,))), found)[0]
    assert found.tolist() == [n if 0 <= n < 5000 else -1 for n in wanted]


def test_resized() -> None:
    interpreter = ready(tables(NAMES, NUMBERS))
    for shape in ((2,), (0,), (7,), (4,)):
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
        found = run(interpreter, np.resize(NAMES[:3], shape))[0]
        assert found.tolist() == np.resize([0, 1, 2], shape).tolist()


def test_first_import_stays_until_resources_are_reset() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    keys, values = g.input("keys", (2,), TEXT), g.input("values", (2,), S64)
    table = handle(g)
    g.node("HASHTABLE_IMPORT", [table, keys, values])
    standing = g.constant("default", np.array([-1], np.int64))
    g.output(g.node("HASHTABLE_FIND", [table, keys, standing], out=("found", (2,), S64)))
    interpreter = ready(builder.build())
    first, second = (texts("a", "b"), np.array([1, 2])), (texts("b", "c"), np.array([3, 4]))
    assert [run(interpreter, *given)[0].tolist() for given in (first, second)] == [[1, 2], [2, -1]]
    interpreter.reset_resources()
    assert run(interpreter, *second)[0].tolist() == [3, 4]


def test_two_tables() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    wanted = g.input("wanted", (1,), TEXT)
    standing = g.constant("default", np.array([-1], np.int64))
    found = []
    for number in (7, 3):
        table = handle(g, number)
        pairs = [g.constant(f"k{number}", texts("x")), g.constant(f"v{number}", np.array([number]))]
        g.node("HASHTABLE_IMPORT", [table, *pairs])
        found.append(g.node("HASHTABLE_FIND", [table, wanted, standing], out=(f"found{number}", (1,), S64)))
    g.output(*found)
    assert [y.tolist() for y in agree(builder.build(), [texts("x")])[0]] == [[7], [3]]


def test_refused() -> None:
    with pytest.raises(KernelError, match=r"\(HASHTABLE_FIND 'found'\): the table is used before pairs are imported"):
        run(ready(tables(NAMES, NUMBERS, filled=False)), texts("a", "b", "c", "d"))
    with pytest.raises(ShapeError, match=r"keys have the shape \(6\), values \(2\)"):
        ready(tables(NAMES, NUMBERS[:2]))
    builder = ModelBuilder()
    g = builder.subgraph()
    g.output(handle(g, kinds=("INT32", "STRING")))
    with pytest.raises(UnsupportedOpError, match="a table from INT32 to STRING: one must be INT64, the other STRING"):
        ready(builder.build())


def test_a_table_is_no_variable() -> None:
    """A handle does not name its table, so the kinds of values are checked."""
    builder = ModelBuilder()
    g = builder.subgraph()
    table = handle(g)
    g.node("HASHTABLE_IMPORT", [table, g.constant("keys", NAMES), g.constant("values", NUMBERS)])
    g.output(g.node("READ_VARIABLE", [table], out=("read", (6,), S64)))
    with pytest.raises(KernelError, match="the variable holds type"):
        run(ready(builder.build()))
    builder = ModelBuilder()
    g = builder.subgraph()
    options = {"container": "", "shared_name": "v"}
    variable = g.node("VAR_HANDLE", [], out=("variable", (1,), TensorType.RESOURCE), options=options)
    g.node("ASSIGN_VARIABLE", [variable, g.constant("value", np.zeros(100, np.int64))])
    g.output(g.node("HASHTABLE_SIZE", [variable], out=("size", (1,), S64)))
    with pytest.raises(KernelError, match="the table is used before pairs are imported"):
        run(ready(builder.build()))


def test_the_other_direction() -> None:
    builder = ModelBuilder()
    g = builder.subgraph()
    table = handle(g)
    g.node("HASHTABLE_IMPORT", [table, g.constant("keys", NAMES), g.constant("values", NUMBERS)])
    given = [table, g.constant("wanted", NUMBERS), g.constant("default", texts("?"))]
    g.output(g.node("HASHTABLE_FIND", given, out=("found", (6,), TEXT)))
    with pytest.raises(KernelError, match="the table maps string to s64, the node expects s64 to string"):
        run(ready(builder.build()))
