"""Nodes are sorted into kinds, and one answer serves a kind: whatever lowering asks about has to be in the kind's
key."""

from __future__ import annotations

import itertools
import math
import pathlib
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from built import floats, ready, run

import minilite
from minilite._native.graph import Lowering
from minilite.engine import answers as lowering
from minilite.engine.operands import Operands
from minilite.errors import UnsupportedOpError
from minilite.format import _schema
from minilite.format._spec import default_options, options_table, table_spec
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.model import Model
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model
from minilite.ops import _families, find_operator, operators
from minilite.ops.__main__ import families
from minilite.ops_shared.types import ABSENT, written_out

USUAL = dict.fromkeys(
    ("rank", "stride_h", "stride_w", "filter_height", "filter_width", "beta", "stride_d", "max", "num_bits"), 1
)
"""Options that have to be more than their defaults."""
SCALES = (0.5, 1.0, 2.0, 0.02, 1e-9, 1e9)
BUILT_IN = (1 / 128, 1 / 256, 1.0009 / 256, 1 / 32768, 1 / 65536)
ODD_SCALES = (0.0, -1.0, math.inf, math.nan)
ZERO_POINTS = (-128, 128, 3, 127, 300, -32768, 70000)


def kinds_of(model: Model) -> tuple[Lowering, list[int]]:
    """A model's nodes sorted, and the kind of each of its first subgraph's."""
    assert model.file is not None
    low = Lowering(model.file)
    return low, [low.kind_of(0, number) for number in range(len(model.subgraphs[0].nodes))]


def quantization(rng: np.random.Generator, code: int) -> Quantization:
    """Mostly one that operators may take."""
    draw = rng.random()
    if draw < 0.05:
        return NOT_QUANTIZED
    scales = BUILT_IN if draw < 0.25 else ODD_SCALES if draw > 0.98 else SCALES
    usual = {TensorType.INT8: (0, -128), TensorType.UINT8: (0, 128)}.get(TensorType(code), (0,))
    zeros = usual if draw < 0.25 else ZERO_POINTS if draw > 0.95 else (0,)
    count = 2 if rng.random() < 0.05 else 1
    return Quantization(
        tuple(float(s) for s in rng.choice(scales, count)),
        tuple(int(z) for z in rng.choice(zeros, count)),
        int(rng.integers(0, 3)),
    )


def varied_options(table: str, rng: np.random.Generator) -> dict[str, Any]:
    """Some options of a table, at random: enums, bools, numbers, lists of a few."""
    found: dict[str, Any] = {}
    for field in table_spec(table).fields:
        if not field.name or rng.random() < 0.5:
            continue
        if field.form == "enum":
            found[field.name] = field.names[int(rng.integers(len(field.names)))]
        elif field.form == "scalar" and field.code in "?iIfd":
            number = int(rng.choice((0, 1, 2, -1, 7)))
            low = 0 if field.code in "?I" else number
            found[field.name] = {"?": bool, "f": float, "d": float}.get(field.code, int)(max(number, low))
        elif field.form == "scalars" and field.code == "i":
            found[field.name] = tuple(int(n) for n in rng.integers(0, 2, int(rng.integers(0, 11))))
    return found


def nodes_of(op: str, types: tuple[tuple[int, ...], tuple[int, ...]], count: int, *, varied: bool = False) -> Model:
    """Nodes of one operator and of the same types, whose operands are quantized at random; `varied`: options are, too.

    Of many operands no two draws are alike: there every second node is the one before it, but for one operand."""
    seed, operands = zlib.crc32(repr((op, types)).encode()), sum(map(len, types))
    graph = (made := ModelBuilder()).subgraph()
    version = operators()[op].versions[0]
    table = options_table(op)
    known = default_options(table.table) if table is not None else {}
    gates = 5 if "LSTM" in op else 0

    def operand(code: int, variable: bool, base: Quantization | None) -> int:
        if code == ABSENT:
            return -1
        said = quantization(rng, code) if base is None or rng.random() < 0.2 else base
        if next(numbers) == another:
            said = quantization(np.random.default_rng((seed, node)), code)
        return int(graph.tensor(f"t{node}", (2, 2), TensorType(code), quantization=said, variable=variable))

    for node in range(count):
        rng = np.random.default_rng((seed, node // 2 if operands > 8 else node))
        numbers = itertools.count()
        another = node // 2 % (operands + gates) if operands > 8 and node % 2 else -1
        base = quantization(rng, types[1][0] if types[1] else 0) if rng.random() < 0.6 else None
        variable = bool(rng.random() < 0.5)
        inputs, outputs = ([operand(code, variable, base) for code in side] for side in types)
        middle = [operand(TensorType.INT8, False, base) for _ in range(gates)]
        options: dict[str, Any] = {name: value for name, value in USUAL.items() if name in known}
        if "pot_scale_int16" in known:
            options["pot_scale_int16"] = bool(rng.random() < 0.5)
        if varied and table is not None:
            options |= varied_options(table.table, rng)
        graph.node(op, inputs, outputs, version=version, options=options, intermediates=middle)
    return read_model(made.build())


def outcome(operands: Operands, number: int) -> Any:
    """What one node lowers to by itself."""
    node = operands.node(0, number)
    operator = find_operator(node.op)
    assert operator is not None
    try:
        params, subgraphs = operator.lowered(node)
    except UnsupportedOpError:
        return "refused"
    return {key: np.asarray(value).tolist() for key, value in params.items()}, subgraphs


SORTED = sorted(name for name, row in operators().items() if row.asks_about not in ("node", "model"))


@pytest.mark.parametrize("op", SORTED)
def test_nodes_of_a_kind_lower_alike(op: str) -> None:
    seen: Counter[bool] = Counter()
    row = operators()[op]
    every = list(itertools.chain.from_iterable(written_out(text) for text in row.types))
    few = every if len(every) <= 8 else [every[i] for i in np.random.default_rng(0).permutation(len(every))[:8]]
    for types in few:
        model = nodes_of(op, types, 300)
        low, kinds = kinds_of(model)
        operands = Operands(model, low)
        keys = list(low.kinds())
        outcomes: dict[int, list[Any]] = {}
        for number, kind in enumerate(kinds):
            outcomes.setdefault(kind, []).append(outcome(operands, number))
        for kind, alike in outcomes.items():
            assert all(other == alike[0] for other in alike), (keys[kind], types)
            seen[len(alike) > 1] += 1
    assert seen[True]


def test_scales_of_intermediates_are_asked_about() -> None:
    graph = (made := ModelBuilder()).subgraph()
    x, y = (graph.tensor(name, (2, 2), TensorType.INT8, quantization=Quantization((1.0,), (0,))) for name in "xy")
    for scale in (0.5, 0.5, 0.25):
        gate = graph.tensor("gate", (1,), TensorType.INT16, quantization=Quantization((scale,), (0,)))
        graph.node("UNIDIRECTIONAL_SEQUENCE_LSTM", [x] * 20, [y], intermediates=[gate] * 5)
    _, (one, same, other) = kinds_of(read_model(made.build()))
    assert one == same != other


def other_value(field: Any, value: Any) -> Any:
    if field.form == "enum":
        return next(name for name in field.names if name != value)
    if field.form == "enums":
        return (field.names[0],)
    if field.form == "scalar":
        return value == 0 if field.code == "?" else value + 1
    return {"string": "s", "bytes": b"\1", "scalars": (1,)}[field.form]


@pytest.mark.parametrize("op", [op for op in SORTED if options_table(op)])
def test_every_option_is_in_the_key(op: str) -> None:
    table = options_table(op)
    assert table is not None
    fields = [f for f in table_spec(table.table).fields if f.name and f.form not in ("table", "tables", "union")]
    chosen = [default_options(table.table)]
    chosen += [{**chosen[0], field.name: other_value(field, chosen[0][field.name])} for field in fields]
    graph = (made := ModelBuilder()).subgraph()
    row = operators()[op]
    types = next(iter(written_out(row.types[0])))
    for options in chosen * 2:
        inputs, outputs = ([graph.tensor("t", (2,), TensorType(code)) for code in side if code >= 0] for side in types)
        graph.node(op, inputs, outputs, options=options, version=row.versions[0])
    _, kinds = kinds_of(read_model(made.build()))
    first, second = kinds[: len(chosen)], kinds[len(chosen) :]
    assert len(set(first)) == len(chosen)
    assert first == second


def test_what_operators_do_not_ask_about_makes_no_kind() -> None:
    """Names, shapes, values and scales: a chain is one kind."""
    graph = (made := ModelBuilder()).subgraph()
    x = graph.input("x", (1, 4))
    for n in range(20):
        x = graph.node("ADD", [x, graph.constant(f"c{n}", floats(n))], out=(f"y{n}", (1, 4)))
    graph.output(x)
    low, kinds = kinds_of(read_model(made.build()))
    assert set(kinds) == {0}
    assert len(list(low.kinds())) == 1
    assert run(ready(made.build()), floats(0, 0, 0, 0).reshape(1, 4))[0].tolist() == [[190.0] * 4]


def test_operators_versions_arity_types_and_intermediates_make_kinds() -> None:
    graph = (made := ModelBuilder()).subgraph()
    f, h = (graph.input(kind.name, (2,), kind) for kind in (TensorType.FLOAT32, TensorType.FLOAT16))
    for op, version, inputs in (("ADD", 1, (f, f)), ("ADD", 2, (f, f)), ("MUL", 1, (f, f)), ("ADD", 1, (h, h))):
        for _ in range(2):
            graph.node(op, inputs, [graph.tensor("y", (2,), TensorType.FLOAT32)], version=version)
    for _ in range(2):
        graph.node("ADD", (f, f), [graph.tensor("y", (2,), TensorType.FLOAT32)], intermediates=[f])
    graph.node("RESHAPE", [f], [graph.tensor("y", (2,))], options={"new_shape": (2,)})
    graph.node("RESHAPE", [f, -1], [graph.tensor("y", (2,))], options={"new_shape": (2,)})
    low, kinds = kinds_of(read_model(made.build()))
    # output 0 takes the type of input 1: the last ADDs have halves as outputs
    assert kinds == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7]
    assert [bool(key) for key, _, _ in low.kinds()] == [True] * 4 + [False] * 2 + [True] * 2


def test_answers_are_kept_from_model_to_model_but_for_those_of_the_model() -> None:
    def built(name: str) -> bytes:
        graph = (made := ModelBuilder()).subgraph()
        x = graph.input("x", (4,))
        for shared in ("other", name, name):
            handle = graph.node(
                "VAR_HANDLE", [], out=("h", (), TensorType.RESOURCE), options={"shared_name": shared, "container": ""}
            )
            graph.node("ASSIGN_VARIABLE", [handle, x])
        x = graph.node("TANH", [x], out=("y", (4,)))
        graph.node("PACK", [x], out=("p", (1, 4)), options={"values_count": 1})
        graph.output(graph.node("ADD", [x, graph.node("READ_VARIABLE", [handle], out=("z", (4,)))], out=("w", (4,))))
        return made.build()

    lowering._answers.clear()
    first = run(ready(built("a")), floats(0, 1, 2, 3))
    kept = dict(lowering._answers)
    assert len(kept) == 1  # PACK, for C knows TANH, ADD, READ_VARIABLE, ASSIGN_VARIABLE
    second = run(ready(built("other")), floats(0, 1, 2, 3))
    assert lowering._answers == kept
    assert first[0].tolist() == second[0].tolist() == (np.tanh(floats(0, 1, 2, 3)) + floats(0, 1, 2, 3)).tolist()


def test_answers_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "_MOST_ANSWERS", 3)
    lowering._answers.clear()
    for alpha in range(7):
        graph = (made := ModelBuilder()).subgraph()
        x = graph.input("x", (2,))
        graph.output(graph.node("LEAKY_RELU", [x], out=("y", (2,)), options={"alpha": float(alpha)}))
        reference = minilite.OpResolverType.BUILTIN_REF
        interpreter = ready(made.build(), experimental_op_resolver_type=reference)
        assert run(interpreter, floats(-1, 1))[0].tolist() == [-alpha, 1]
        assert len(lowering._answers) <= 3


def test_every_node_of_a_kind_that_is_refused_is_named() -> None:
    """With its own coordinates and numbers, in the order of the nodes."""
    graph = (made := ModelBuilder()).subgraph()
    x = graph.input("x", (2,), TensorType.INT8, quantization=Quantization((1.0,), (0,)))
    for scale in (1 / 100, 1 / 256, 1 / 50):
        q = Quantization((scale,), (-128,))
        y = graph.tensor("y", (2,), TensorType.INT8, quantization=q)
        graph.node("LOGISTIC", [x], [y])
        graph.node("CALL", [y], [graph.tensor("z", (2,))])
    with pytest.raises(UnsupportedOpError) as caught:
        minilite.Interpreter(model_content=made.build()).allocate_tensors()
    assert [(found.op, found.nodes) for found in caught.value.operators] == [
        ("LOGISTIC", ((0, 0),)),
        ("CALL", ((0, 1), (0, 3), (0, 5))),
        ("LOGISTIC", ((0, 4),)),
    ]
    assert "0.00999" in caught.value.operators[0].reason
    assert "0.0199" in caught.value.operators[2].reason


def halves(shape: tuple[int, ...]) -> Any:
    every = np.arange(0, 1 << 16, 7, dtype=np.uint16)
    return np.resize(every, shape).view(np.float16)


def test_constant_halves_become_floats() -> None:
    """C does it for all of a kind, numpy for one whose halves came out of a sparse form; both as numpy has it."""
    graph = (made := ModelBuilder()).subgraph()
    values = [halves((3, 5)), halves((1 << 14,)), halves((0, 2)), halves(())]
    outs = []
    for value in values:
        y = graph.node("DEQUANTIZE", [graph.constant("h", value)], out=("f", value.shape))
        outs.append(graph.node("ABS", [y], out=("y", value.shape)))
    graph.output(*outs)
    interpreter = ready(made.build())
    interpreter.invoke()
    for out, value in zip(outs, values, strict=True):
        np.testing.assert_array_equal(interpreter.get_tensor(out), np.abs(value.astype(np.float32)))
    _, kinds = kinds_of(read_model(made.build()))
    assert len(set(kinds)) == 2
    interpreter = ready(made.build(), experimental_preserve_all_tensors=True)
    widened = [node.outputs[0] for node in interpreter.model.subgraphs[0].nodes if node.op == "DEQUANTIZE"]
    for number, value in zip(widened, values, strict=True):
        np.testing.assert_array_equal(interpreter.get_tensor(number), value.astype(np.float32))


def test_families_are_those_of_the_rows() -> None:
    """Else: python -m minilite.ops > families.py, and put it in the place of minilite/ops/_families.py."""
    assert pathlib.Path(str(_families.__file__)).read_text() == families()


def test_the_schema_has_every_operator_of_a_row() -> None:
    builtin = {name for name, row in operators().items() if row.custom is None}
    assert builtin <= set(_schema.ENUMS["BuiltinOperator"].split())
