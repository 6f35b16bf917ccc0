"""Constants without elements: each form that they have in files loads and computes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from support import peer
from support.compare import check, run_minilite

import minilite
from minilite.errors import ModelFormatError
from minilite.format.builder import ModelBuilder, SubgraphBuilder
from minilite.format.dtypes import TensorType
from minilite.format.reader import read_model

FORMS = ("no bytes", "no data", "no buffer")
"""Forms in the file: a buffer whose data has no bytes, a buffer without data, the common empty buffer."""


def empty(graph: SubgraphBuilder, form: str, shape: tuple[int, ...], kind: TensorType, name: str = "empty") -> int:
    if form == "no buffer":
        return graph.tensor(name, shape, kind)
    return graph.constant(name, np.zeros(shape, np.uint8), kind, shape=shape)


def built(builder: ModelBuilder, form: str) -> bytes:
    return builder.build(absent_when_empty=form == "no data")


@dataclasses.dataclass
class Use:
    """A node with operands without elements; `places` are "x", the shape of one without elements, or an array."""

    op: str
    x: Any
    places: list[Any]
    out: Any
    options: Mapping[str, Any] | None = None
    kind: TensorType = TensorType.INT32
    version: int = 1
    peer_fails: bool = False
    """True if LiteRT crashes, or returns what its memory happens to hold."""

    def model(self, form: str) -> bytes:
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", np.shape(self.x))
        numbers = [
            x
            if isinstance(place, str)
            else empty(graph, form, place, self.kind, f"empty{i}")
            if isinstance(place, tuple)
            else graph.constant(f"c{i}", place)
            for i, place in enumerate(self.places)
        ]
        out = ("y", np.shape(self.out))
        graph.output(graph.node(self.op, numbers, out=out, options=self.options, version=self.version))
        return built(builder, form)


F = TensorType.FLOAT32
ONE, ROW, TABLE = np.float32(4.5), np.float32([3, -1, 2]), np.arange(6, dtype=np.float32).reshape(2, 3)
NOT_FUSED = {"fused_activation_function": "NONE"}
USES = {
    "RESHAPE": Use("RESHAPE", [[ONE]], ["x", (0,)], ONE),
    "TILE": Use("TILE", ONE, ["x", (0,)], ONE, peer_fails=True),
    "SUM": Use("SUM", TABLE, ["x", (0,)], TABLE, {"keep_dims": False}),
    "MEAN": Use("MEAN", TABLE, ["x", (0,)], TABLE, {"keep_dims": False}),
    "REDUCE_MAX": Use("REDUCE_MAX", TABLE, ["x", (0,)], TABLE, {"keep_dims": False}),
    "FILL": Use("FILL", ONE, [(0,), "x"], ONE),
    "SLICE": Use("SLICE", ONE, ["x", (0,), (0,)], ONE),
    "STRIDED_SLICE": Use("STRIDED_SLICE", ONE, ["x", (0,), (0,), (0,)], ONE, {}),
    "PAD": Use("PAD", ONE, ["x", (0, 2)], ONE),
    "BROADCAST_TO": Use("BROADCAST_TO", ONE, ["x", (0,)], ONE, version=2),
    "TRANSPOSE": Use("TRANSPOSE", ONE, ["x", (0,)], ONE, peer_fails=True),
    "GATHER": Use("GATHER", TABLE, ["x", (0,)], TABLE[:0], {"axis": 0}),
    "SCATTER_ND": Use("SCATTER_ND", TABLE[:0], [(0, 1), "x", np.int32([2, 3])], 0 * TABLE),
    "CONCATENATION": Use("CONCATENATION", TABLE, ["x", (0, 3)], TABLE, {"axis": 0, **NOT_FUSED}, F),
    "ADD": Use("ADD", ROW[:1], ["x", (0,)], ROW[:0], NOT_FUSED, F),
    "REVERSE_V2": Use("REVERSE_V2", TABLE, ["x", (0,)], TABLE, peer_fails=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_operand(use: Use, form: str) -> None:
    (y,) = check(use.model(form), [np.asarray(use.x, np.float32)], oracle=None)
    assert np.array_equal(y, np.asarray(use.out)), y


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [kind for kind in TensorType if kind is not TensorType.VARIANT])
def test_every_type_is_read(kind: TensorType, form: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    empty(graph, form, (2, 0), kind)
    model = read_model(built(builder, form))
    (tensor,) = model.subgraphs[0].tensors
    assert tensor.shape == (2, 0)
    assert tensor.data is not None
    assert tensor.data.size == 0


def orphan(graph: SubgraphBuilder) -> None:
    """A tensor with elements that nothing computes."""
    graph.output(graph.node("RELU", [graph.tensor("orphan", (4,))], out=("y", (4,))))


def too_early(graph: SubgraphBuilder) -> None:
    """A tensor without elements that a later node computes."""
    late = graph.tensor("late", (0,))
    graph.output(graph.node("RELU", [late], out=("y", (0,))))
    graph.node("NEG", [graph.input("x", (0,))], [late])


@pytest.mark.parametrize("fill", [orphan, too_early])
def test_reading_a_tensor_before_it_is_computed_is_refused(fill: Callable[[SubgraphBuilder], None]) -> None:
    builder = ModelBuilder()
    fill(builder.subgraph())
    with pytest.raises(ModelFormatError, match=r"its input 0, is read before any node computes it$"):
        minilite.Interpreter(builder.build()).allocate_tensors()


def test_inputs_variables_and_results_without_elements_are_no_constants() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, state = graph.input("x", (0,)), graph.variable("state", (0,))
    y = graph.node("ADD", [x, state], out=("y", (0,)), options=NOT_FUSED)
    graph.output(graph.node("NEG", [x], out=("z", (0,))), y)
    data = builder.build()
    assert [tensor.data for tensor in read_model(data).subgraphs[0].tensors] == [None] * 4
    negated = run_minilite(data, [np.float32([7])])[0]
    assert negated.tolist() == [-7]


@pytest.mark.parametrize("form", FORMS)
def test_outputs_and_operands_of_subgraphs(form: str) -> None:
    """One branch of an IF returns its input, the other a constant."""
    builder = ModelBuilder()
    main, passed, own = (builder.subgraph(name) for name in ("main", "passed", "own"))
    flag = main.input("flag", (), TensorType.BOOL)
    branches = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    given = empty(main, form, (0, 2), F)
    main.output(main.node("IF", [flag, given], out=("y", (0, 2)), options=branches))
    passed.output(passed.input("x", (0, 2)))
    own.input("x", (0, 2))
    own.output(empty(own, form, (0, 5), F))
    interpreter = minilite.Interpreter(built(builder, form))
    for choice, shape in ((True, (0, 2)), (False, (0, 5)), (True, (0, 2))):
        assert interpreter.run(np.array(choice))["y"].shape == shape


@peer.needed
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name, use in USES.items() if not use.peer_fails])
def test_as_litert(name: str, form: str) -> None:
    use = USES[name]
    check(use.model(form), [np.asarray(use.x, np.float32)])
