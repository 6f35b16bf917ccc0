"""minilite.compare: which node differs, of two models, levels, runtimes; and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from built import custom_chain, floats, relu_chain
from support import peer
from trust.compared_faults import KINDS, plants, weights_of

import minilite
from minilite._native.kernels import level_names
from minilite.comparison import sides
from minilite.comparison.matching import matched
from minilite.errors import InputError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import NOT_QUANTIZED, Quantization
from minilite.format.reader import read_model

S8 = TensorType.INT8


def layers(kind: TensorType, depth: int = 4, *, bad: int = -1, prefix: str = "") -> bytes:
    """x -> FULLY_CONNECTED with RELU, `depth` times; in int8 all scales are good, except that the output of layer `bad`
    has one that is too small."""
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    graph = builder.subgraph()
    small = kind == S8
    x = graph.input("x", (4, 16), kind, quantization=Quantization((1 / 127,), (0,)) if small else NOT_QUANTIZED)
    for number in range(depth):
        real = rng.normal(0, 0.3, (16, 16)).astype(np.float32)
        scale = float(np.float32(np.abs(real).max() / 127))
        weights = np.round(real / np.float32(scale))
        w = graph.constant(
            f"w{number}",
            weights.astype(np.int8) if small else weights.astype(np.float32) * np.float32(scale),
            quantization=Quantization((scale,), (0,)) if small else NOT_QUANTIZED,
        )
        out = 2.0 / 127 if number != bad else 0.2 / 127
        y = (f"{prefix}y{number}", (4, 16), kind, Quantization((out,), (0,))) if small else (f"y{number}", (4, 16))
        x = graph.node("FULLY_CONNECTED", [x, w, -1], out=y, options={"fused_activation_function": "RELU"})
    if small and prefix:
        x = graph.node("DEQUANTIZE", [x], out=("result", (4, 16)))
    graph.output(x)
    return builder.build()


def test_progress_counts_runs_and_nodes() -> None:
    shown = []

    def note(items: Iterable[Any], what: str, total: int | None = None) -> Iterator[Any]:
        listed = list(items)
        shown.append((what, len(listed), total))
        return iter(listed)

    model = layers(S8)
    plain = minilite.compare(model, against="reference")
    assert minilite.compare(model, against="reference", progress=note) == plain
    assert shown == [("run", 2, 2), ("node", 4, None)]


def test_equal_models_agree_and_say_so() -> None:
    model = layers(S8)
    found = minilite.compare(model, model)
    assert found.agrees
    assert (found.first, found.first_change, found.worst) == (None, None, None)
    assert len(found.rows) == 5
    assert "all of them are equal" in str(found)
    assert json.loads(json.dumps(found.to_json()))["first"] is None


@pytest.mark.parametrize("kind", [TensorType.FLOAT32, S8])
@pytest.mark.parametrize("fault", range(len(KINDS)))
def test_planted_faults_are_found_at_their_node(kind: TensorType, fault: int) -> None:
    model, (plant, quantized) = read_model(layers(kind)), KINDS[fault]
    places = weights_of(model, quantized=quantized)
    assert len(places) == (0 if quantized and kind != S8 else 4)
    for seed, (node, tensor) in enumerate(places):
        planted = plant(model, node, tensor, np.random.default_rng(seed))
        assert planted.named == node.index, planted
        if plant.__name__ != "changed_weight":  # a byte's last bit may be rounded away
            by_values = planted.found.first
            assert (by_values is None) == (plant.__name__ == "changed_multiplier")


def test_a_fault_that_is_not_there_is_not_found() -> None:
    assert all(plant.is_found for plant in plants(read_model(layers(S8)), per_kind=1))
    assert minilite.compare(layers(S8), against="reference").agrees


@pytest.mark.parametrize("prefix", ["", "quantized/"])
def test_float_beside_int8_names_the_worst_tensor(prefix: str) -> None:
    """Tensors are matched by name, or by order if names differ."""
    network = layers(TensorType.FLOAT32)
    good = minilite.compare(network, layers(S8, prefix=prefix))
    bad = minilite.compare(network, layers(S8, bad=1, prefix=prefix))
    assert all(row.difference is not None for row in (*good.rows, *bad.rows))
    assert max(row.difference.relative for row in good.rows if row.difference) < 0.1
    # Errors of outputs are counted in steps of int8, also where DEQUANTIZE has made floats of them.
    assert [row.diverges for row in bad.rows][1:] == [*[None] * 3, True]
    assert good.agrees
    first_bad = minilite.compare(network, layers(S8, bad=1, prefix=prefix), tolerance=0.1).first
    assert first_bad is not None
    assert first_bad.node == 1
    worst = bad.worst
    assert worst is not None
    apart = {row.node: row.difference.relative for row in bad.rows if row.difference}
    assert worst.node == max(apart, key=lambda node: apart[node])
    assert bad.unmatched == (0, 1 if prefix else 0)  # DEQUANTIZE's input
    assert minilite.compare(network, layers(S8, prefix=prefix), tolerance=0.1).agrees


def test_types_are_those_of_the_run() -> None:
    """Some files say FLOAT32 of a tensor that ADD makes uint8, as its inputs are."""
    models = []
    for kind, q in ((TensorType.FLOAT32, NOT_QUANTIZED), (TensorType.UINT8, Quantization((0.5,), (0,)))):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (4,), kind, quantization=q)
        y = graph.node("ADD", [x, x], out=("y", (4,), TensorType.FLOAT32, q))
        graph.output(graph.node("ADD", [x, y], out=("z", (4,), kind, q)))
        models.append(builder.build())
    found = minilite.compare(*models, floats(1, 2, 3, 4), tolerance=0.01)
    assert found.rows[1].types == ("float32", "uint8")
    assert found.agrees


@pytest.mark.parametrize("level", level_names())
def test_levels_agree(level: str) -> None:
    found = minilite.compare(layers(S8), against=level)
    assert found.agrees
    assert found.labels[1] == f"minilite {level}"
    if level != level_names()[-1]:
        assert "any difference of integers" in found.rule
    found = minilite.compare(layers(TensorType.FLOAT32), against=level)
    assert found.agrees


@peer.needed
def test_tensors_between_fused_nodes_are_not_compared() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4, 4, 1))
    w = graph.constant("w", np.ones((1, 3, 3, 1), np.float32))
    bias = graph.constant("bias", np.zeros(1, np.float32))
    y = graph.node("CONV_2D", [x, w, bias], out=("y", (1, 4, 4, 1)), options={"stride_w": 1, "stride_h": 1})
    graph.output(graph.node("RELU", [y], out=("z", (1, 4, 4, 1))))
    model = builder.build()
    fused = minilite.compare(model, against="scalar")
    assert [row.difference is None for row in fused.rows] == [False, True, False]
    assert fused.rows[1].note.startswith("inside node 0")
    assert fused.agrees
    plain = minilite.compare(model, against="scalar", fused=False)
    assert all(row.difference is not None for row in plain.rows)
    beside = minilite.compare(model, against="litert")
    assert beside.rows[1].difference is None
    assert beside.agrees


@peer.needed
def test_litert_is_loaded_without_delegates_and_keeps_all_tensors() -> None:
    found = minilite.compare(layers(S8), against="litert", tolerance=0.02)  # it may round to the next integer
    assert found.labels[1].endswith(", without default delegates, all tensors kept")
    assert found.agrees
    assert all(row.difference is not None for row in found.rows)
    assert [row.name for row in found.delegated] == ["y3"]
    assert "XNNPACK" in str(found)
    exact = minilite.compare(layers(S8), against="litert-reference")
    assert "reference kernels" in exact.labels[1]
    assert exact.first is None


@peer.needed
def test_strings_go_to_litert_and_back() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3,), TensorType.STRING)
    i = graph.constant("i", np.array([2, 0], np.int32))
    graph.output(graph.node("GATHER", [x, i], out=("y", (2,), TensorType.STRING)))
    given = np.array([b"a\0", b"", "ä".encode()], object)
    found = minilite.compare(builder.build(), None, given, against="litert")
    assert found.agrees
    assert found.rows[1].difference is not None
    assert found.rows[1].difference.elements == 2


@peer.needed
def test_a_crash_of_litert_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it crashes with all tensors kept, outputs alone are tried; a second crash is an error. This process goes
    on."""
    attempt, crashes = sides.LiteRTSide._attempt, [True, False]

    def crashing(side: Any, inputs: Any) -> Any:
        outcome = attempt(side, inputs)
        if not crashes.pop(0):
            return outcome
        for path in sides.Path(side._folder.name).glob("out_*"):
            path.unlink()
        return outcome._replace(failure="(x 1) ended by signal SIGSEGV while invoking", crashed=True)

    monkeypatch.setattr(sides.LiteRTSide, "_attempt", crashing)
    crashes += [False]  # with delegates
    found = minilite.compare(layers(S8), against="litert")
    assert found.notes == (
        "LiteRT (x 1) ended by signal SIGSEGV while invoking with all tensors kept: outputs alone are compared",
    )
    assert [row.difference is not None for row in found.rows] == [False, False, False, False, True]
    crashes += [True, True]
    with pytest.raises(InputError, match="ended by signal SIGSEGV while invoking"):
        minilite.compare(layers(S8), against="litert")


@peer.needed
def test_an_error_of_litert_is_reported() -> None:
    with pytest.raises(InputError, match=r"^LiteRT \(.*\) refuses allocating tensors: .*Mystery"):
        minilite.compare(custom_chain("Mystery"), against="litert", custom_ops={"Mystery": lambda node, x: x})


def test_interpreters_bring_their_options_and_stay_as_they_are() -> None:
    one = minilite.Interpreter(model_content=custom_chain("Twice"), custom_ops={"Twice": lambda node, x: x * 2})
    other = minilite.Interpreter(one.model, custom_ops={"Twice": lambda node, x: x * 2 + (np.arange(4) == 3)})
    one.resize_tensor_input(0, (4,))
    one.allocate_tensors()
    one.set_tensor(0, floats(1, 2, 3, 4))
    found = minilite.compare(one, other, floats(1, 1, 1, 1))
    assert found.first is not None
    assert (found.first.node, found.first.difference and found.first.difference.at) == (0, (3,))
    np.testing.assert_array_equal(one.get_tensor(0), floats(1, 2, 3, 4))
    with pytest.raises(InputError, match="level goes with a model"):
        minilite.compare(one, other, level="scalar")


def test_inputs_are_given_by_name_and_quantized() -> None:
    found = minilite.compare(
        layers(TensorType.FLOAT32), layers(S8), {"x": np.full((4, 16), 64 / 127, np.float32)}, tolerance=0.1
    )
    assert found.inputs == "given"
    assert found.rows[0].difference is not None
    assert found.rows[0].difference.largest < 1e-6
    resized = minilite.compare(relu_chain(), against="scalar", shapes={"x": (7,)})
    assert resized.rows[1].shapes == ((7,), (7,))


def test_a_tolerance_lets_small_errors_pass() -> None:
    model = read_model(layers(TensorType.FLOAT32))
    node, tensor = weights_of(model, quantized=False)[2]
    other = KINDS[0][0](model, node, tensor, np.random.default_rng(1))
    found = other.found
    assert not found.agrees
    assert found.worst is not None
    assert found.worst.difference is not None


def test_matching_takes_each_tensor_once() -> None:
    a, b = (read_model(model).subgraphs[0] for model in (layers(TensorType.FLOAT32), layers(S8, prefix="q/")))
    pairs = matched(a, b)
    assert len(set(pairs.values())) == len(pairs) == 5
    names = [(a.tensors[m].name, b.tensors[n].name) for m, n in pairs.items()]
    assert sorted(names) == [("x", "x"), ("y0", "q/y0"), ("y1", "q/y1"), ("y2", "q/y2"), ("y3", "result")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "there is nothing to compare with"),
        ({"against": "gpu"}, "against is 'gpu', must be one of litert, litert-reference, reference, scalar"),
        ({"against": "scalar", "tolerance": -1.0}, "tolerance is -1.0"),
        ({"against": "scalar", "tolerance": float("nan")}, "tolerance is nan"),
        ({"second": layers(S8)}, "the models take other inputs: x, v against x"),
        ({"against": "scalar", "inputs": {"y0": floats(1)}}, "is no input"),
    ],
)
def test_wrong_calls_are_refused(arguments: dict[str, Any], words: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, v = graph.input("x", (4,)), graph.input("v", (4,))
    graph.output(graph.node("ADD", [x, v], out=("y0", (4,))))
    with pytest.raises(InputError, match=words):
        minilite.compare(builder.build(), **arguments)
