"""Every operator: C names the nodes whose outputs depend on earlier runs; slices take over what these keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from built import Array, accumulator, floats, texts, variable
from support.cases import node_of
from support.node import OneNode, const
from test_every_type import cases, combinations
from test_filter_bank import noise
from test_hashtable import tables
from test_random import SEEDS
from test_stream import custom, delay, framer, overlap, stacker

from minilite import Interpreter, Predictor
from minilite.engine.engine import engine_of
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.ops import operators

HEARD = np.arange(1, 9, dtype=np.int16)
WITHOUT_CASE: dict[str, Callable[[], OneNode]] = {
    "RANDOM_UNIFORM": lambda: OneNode("RANDOM_UNIFORM", [const([4])], SEEDS, kind="f32"),
    "RANDOM_STANDARD_NORMAL": lambda: OneNode("RANDOM_STANDARD_NORMAL", [const([4])], SEEDS, kind="f32"),
    "MULTINOMIAL": lambda: OneNode("MULTINOMIAL", [np.zeros((1, 9), np.float32), const(20)], SEEDS, kind="s32"),
    "SignalFilterBankSpectralSubtraction": lambda: noise(np.array([900, 5000, 70000, 1, 2, 3], np.uint32)),
    "SignalFramer": lambda: heard(framer((8,))),
    "SignalOverlapAdd": lambda: heard(overlap((2, 4))),
    "SignalDelay": lambda: heard(delay((8,), 3)),
    "SignalStacker": lambda: heard(stacker(8, 1, 1, 1)),
}
"""Nodes of operators that have no reference in numpy, and whose families draw none."""
CALLING = {"WHILE", "IF", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "CALL_ONCE"}
RESOURCES = {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"} | {
    f"HASHTABLE{part}" for part in ("", "_IMPORT", "_FIND", "_SIZE")
}


def heard(node: OneNode) -> OneNode:
    node.arrays = [HEARD.reshape(array.shape) for array in node.arrays]
    return node


def node(op: str) -> OneNode:
    """A node of the operator, with operands of the first types that its row names."""
    if op in WITHOUT_CASE:
        return WITHOUT_CASE[op]()
    return node_of(op, cases()[op], *next(combinations(operators()[op].types)))[0]


def outputs(interpreter: Interpreter, arrays: Sequence[Array]) -> list[Any]:
    """Returns the results of a run, in a form that can be compared."""
    interpreter.run(dict(zip(interpreter.model.subgraphs[0].inputs, arrays, strict=True)))
    return [plain(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()]


def plain(array: Array) -> Any:
    """The array in a form that can be compared: bytes, or a list of strings."""
    return array.tolist() if array.dtype == object else array.tobytes()


def keeping(interpreter: Interpreter, subgraph: int = 0) -> set[str]:
    """The operators of the nodes that C names."""
    nodes = interpreter.model.subgraphs[subgraph].nodes
    return {nodes[number].op for number in engine_of(interpreter).program().lowered.lowering.keeping(subgraph)}


def check_slices(model: Any, steps: Sequence[Sequence[Array]]) -> None:
    """Slices to all outputs, twice before each run: they give what a whole run gives, and change nothing."""
    whole, used = Interpreter(model), Interpreter(model)
    graph = whole.model.subgraphs[0]
    for step, arrays in enumerate(steps):
        expected = outputs(whole, arrays)
        for _ in range(2):
            found = used.run(dict(zip(graph.inputs, arrays, strict=True)), until=list(graph.outputs))
            assert [plain(array) for array in found.values()] == expected, f"slice, step {step}"
        assert outputs(used, arrays) == expected, f"whole run after slices, step {step}"


@pytest.mark.parametrize("op", sorted(set(operators()) - CALLING - RESOURCES))
def test_outputs_that_depend_on_earlier_runs(op: str) -> None:
    one = node(op)
    used, fresh = Interpreter(one.model), Interpreter(one.model)
    for _ in range(3):
        outputs(used, one.arrays)
    depends = outputs(used, one.arrays) != outputs(fresh, one.arrays)
    assert keeping(used) == ({op} if depends else set())
    check_slices(one.model, [one.arrays] * 4)


def test_resources() -> None:
    table = tables(texts("a", "b"), np.array([1, 2], np.int64), once=True)
    assert keeping(Interpreter(accumulator())) == {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"}
    assert keeping(Interpreter(table)) == {"HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_SIZE", "CALL_ONCE"}
    assert keeping(Interpreter(table), 1) == {"HASHTABLE", "HASHTABLE_IMPORT"}
    for model, arrays in ((accumulator(), [floats(1, 2, 3, 4)]), (table, [texts("a", "b", "c", "a")])):
        check_slices(model, [arrays] * 3)


def calling(op: str, kept: bool) -> bytes:
    """x -> a subgraph that `op` runs, which has a SignalDelay, or none, in a subgraph of its own."""
    builder = ModelBuilder()
    main, test, step, inner = (builder.subgraph(name) for name in ("main", "test", "step", "inner"))
    kind = TensorType.INT16
    for graph in (main, step, inner):
        graph.input("x", (4,), kind)
    if kept:
        inner.output(
            inner.node("SignalDelay", [0], out=("y", (4,), kind), custom=True, custom_options=custom(delay_length=2))
        )
    else:
        inner.output(inner.node("ABS", [0], out=("y", (4,), kind)))
    name = {"name": "own", "decomposition_subgraph_index": 3, "version": 1}
    step.output(step.node("STABLEHLO_COMPOSITE", [0], out=("y", (4,), kind), options=name))
    if op == "WHILE":
        x = test.input("x", (4,), kind)
        test.output(
            test.node(
                "LESS",
                [
                    test.node(
                        "REDUCE_MAX",
                        [x, test.constant("all", np.array([0], np.int32))],
                        out=("m", (), kind),
                        options={"keep_dims": False},
                    ),
                    test.constant("low", np.array(-9, np.int16)),
                ],
                out=("go_on", (), TensorType.BOOL),
            )
        )
        main.output(
            main.node("WHILE", [0], out=("z", (4,), kind), options={"cond_subgraph_index": 1, "body_subgraph_index": 2})
        )
    else:
        test.output(test.input("x", (4,), kind))
        if op == "IF":
            choice, options = main.constant("yes", np.array(True)), {"then_subgraph_index": 2, "else_subgraph_index": 1}
        else:
            choice, options = main.constant("first", np.array(0, np.int32)), {"branch_subgraph_indices": [2, 1]}
        given = [0] if op == "STABLEHLO_COMPOSITE" else [choice, 0]
        own = {**name, "decomposition_subgraph_index": 2} if op == "STABLEHLO_COMPOSITE" else options
        main.output(main.node(op, given, out=("z", (4,), kind), options=own))
    return builder.build()


@pytest.mark.parametrize("op", sorted(CALLING - {"CALL_ONCE"}))
def test_nodes_that_call_others(op: str) -> None:
    x = np.array([1, 2, 3, 4], np.int16)
    assert keeping(Interpreter(calling(op, kept=True))) == {op}
    assert keeping(Interpreter(calling(op, kept=False))) == set()
    for kept in (True, False):
        check_slices(calling(op, kept), [[x], [x + 4], [x], [x + 7]])


def test_variables_that_nobody_writes() -> None:
    """A user sets them."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    sum_ = graph.node("ADD", [graph.input("x", (2,)), graph.variable("v", (2,))], out=("y", (2,)))
    graph.output(sum_)
    assert keeping(Interpreter(builder.build())) == {"ADD"}


def given_table() -> bytes:
    """Looks words up in a table that is filled with the words themselves in each run."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    wanted = graph.input("wanted", (2,), TensorType.STRING)
    options = {"table_id": 0, "key_dtype": "STRING", "value_dtype": "INT64"}
    table = graph.node("HASHTABLE", [], out=("table", (1,), TensorType.RESOURCE), options=options)
    graph.node("HASHTABLE_IMPORT", [table, wanted, graph.constant("numbers", np.array([5, 7], np.int64))])
    missing = graph.constant("missing", np.array([-1], np.int64))
    graph.output(graph.node("HASHTABLE_FIND", [table, wanted, missing], out=("found", (2,), TensorType.INT64)))
    return builder.build()


def test_rows_of_a_predictor_begin_without_state() -> None:
    for model, name, rows in (
        (accumulator(), "x", [floats(1, 2, 3, 4), floats(5, 6, 7, 8)]),
        (given_table(), "wanted", [texts("a", "b"), texts("c", "a")]),
        (delay((4,), 2).model, "x0", [HEARD[:4], HEARD[4:]]),
    ):
        found = next(iter(Predictor(model, batch=1)({name: rows}).values()))
        single = [next(iter(Interpreter(model).run(row).values())) for row in rows]
        assert np.array_equal(found, single), name


def test_resources_are_called_by_all_their_names() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1,))
    for container in ("one", "other"):
        options = {"container": container, "shared_name": "v"}
        graph.node(
            "ASSIGN_VARIABLE",
            [graph.node("VAR_HANDLE", [], out=(container, (), TensorType.RESOURCE), options=options), x],
        )
    graph.node("ASSIGN_VARIABLE", [variable(graph, "w"), x])
    graph.output(graph.node("ABS", [x], out=("y", (1,))))
    interpreter = Interpreter(builder.build())
    names = engine_of(interpreter).program().lowered.lowering.resource_names
    assert names == ("VAR_HANDLE one/v", "VAR_HANDLE other/v", "VAR_HANDLE w")
    table = Interpreter(given_table())
    assert engine_of(table).program().lowered.lowering.resource_names == ("HASHTABLE 0",)


def test_nodes_that_keep_something_stay_in_their_order() -> None:
    """Whoever looks up before the table is filled finds nothing."""
    for words in (texts("a", "b"), texts("c", "a")):
        found = Interpreter(given_table(), reorder=True).run(words)["found"]
        assert found.tolist() == [5, 7]
