"""minilite check: what other machines take of a model, by their tables."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import apart
from support.micro import INSTALLED

from minilite import load_model
from minilite.cli import main
from minilite.errors import InputError, MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization
from minilite.report.machines import MACHINES, Finding, judge, table_of, verdict_of

MODELS = Path(__file__).resolve().parents[2] / "../shared/models"
BYTES = Quantization((0.5,), (0,))


def of(model: bytes, machine: str) -> list[tuple[int, str, str]]:
    """Node, verdict and reason of what is not plainly taken."""
    return [
        (each.node, each.verdict, each.reason) for each in judge(load_model(model), machine) if each.verdict != "taken"
    ]


def unary(op: str, kind: TensorType = TensorType.FLOAT32, shape: tuple[int, ...] = (1, 4), **options: Any) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    each = BYTES if kind in (TensorType.INT8, TensorType.UINT8) else Quantization((), ())
    x = graph.input("x", shape, kind, quantization=each)
    graph.output(graph.node(op, [x], out=("y", shape, kind, each), options=options))
    return builder.build()


def test_tables_name_their_source_and_known_operators() -> None:
    from minilite.ops import operators

    builtin = {*operators(), "LOGICAL_AND"}
    for machine in MACHINES:
        table = table_of(machine)
        assert table.source
        assert len(table.lines) >= 20
        assert {op for op in table.lines if op.isupper()} <= builtin
    with pytest.raises(InputError, match="there is no table of 'npu': there are tflm"):
        table_of("npu")


def test_types_decide() -> None:
    assert of(unary("RELU"), "tflm") == []
    assert of(unary("RELU", TensorType.INT8), "tflm") == []
    [(node, verdict, reason)] = of(unary("RELU", TensorType.UINT8), "tflm")
    assert (node, verdict) == (0, "unknown")
    assert reason == "not known to be taken in the types u8 -> u8"
    assert of(unary("RELU"), "xnnpack") == []
    assert of(unary("RELU", TensorType.INT16), "xnnpack")[0][1] == "unknown"
    assert of(unary("RELU"), "litert-gpu") == []
    assert of(unary("RELU", TensorType.INT8), "litert-gpu")[0][1] == "unknown"
    assert of(unary("GELU"), "litert-gpu") == [(0, "elsewhere", "the operator is not in its list")]


def test_an_operator_that_is_not_there_refuses_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(unary("GELU"))
    assert of(unary("GELU"), "tflm") == [(0, "refused", "the operator is not in its list")]
    assert main(["check", str(path), "--for", "tflm"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("m.tflite: TensorFlow Lite Micro refuses it\n")
    assert "tensor_arena_size" not in text
    path.write_bytes(unary("RELU"))
    assert main(["check", str(path), "--for", "tflm"]) == 0
    assert "takes it, as far as its list tells: all 1 nodes" in capsys.readouterr().out
    assert main(["check", str(path), "--for", "tflm", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["taken"], facts["refused"], facts["findings"]) == (1, False, [])
    assert facts["tensor_arena_size"] > 0


def test_the_edge_tpu_runs_one_part() -> None:
    """Nodes before the part may be on the processor, those after it are."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    ops = ("FLOOR", "QUANTIZE", "RELU", "RESHAPE", "RELU", "EXP", "RELU")
    each = graph.input("x", (1, 4))
    for place, op in enumerate(ops):
        kind, scale = (TensorType.INT8, BYTES) if place else (TensorType.FLOAT32, Quantization((), ()))
        each = graph.node(op, [each], out=(f"y{place}", (1, 4), kind, scale))
    graph.output(each, graph.node("RELU", [2], out=("other", (1, 4), TensorType.INT8, BYTES)))
    found = of(builder.build(), "edgetpu")
    assert [verdict for _, verdict, _ in found] == ["elsewhere"] * 2 + ["unknown"] * 2 + ["elsewhere"] * 2
    assert [node for node, _, _ in found] == [0, 1, 3, 4, 5, 6]
    assert found[3][2] == "comes after node 3 RESHAPE, which may be on the processor"
    assert found[5][2] == "comes after node 5 EXP, which is on the processor"


def test_the_edge_tpu_takes_equal_dilations_and_cells_of_16_bits() -> None:
    """Compiled files of Coral's have dilated depthwise convolutions, and LSTMs whose cells, variables, are of int16."""
    for down, taken in ((2, True), (1, False)):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (1, 8, 8, 4), TensorType.INT8, quantization=BYTES)
        weights = graph.constant("w", np.ones((1, 3, 3, 4), np.int8), quantization=BYTES)
        options = {"dilation_w_factor": 2, "dilation_h_factor": down}
        out = ("y", (1, 8, 8, 4), TensorType.INT8, BYTES)
        graph.output(graph.node("DEPTHWISE_CONV_2D", [x, weights], out=out, options=options))
        assert (of(builder.build(), "edgetpu") == []) == taken, down
    for variable in (True, False):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (1, 8, 4), TensorType.INT8, quantization=BYTES)
        cell = (graph.variable if variable else graph.input)("c", (1, 4), TensorType.INT16)
        out = ("y", (1, 8, 4), TensorType.INT8, BYTES)
        graph.output(graph.node("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, cell], out=out))
        assert (of(builder.build(), "edgetpu") == []) == variable


def test_the_edge_tpu_splits_no_batch() -> None:
    for axis, taken in ((3, True), (0, False)):
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (1, 8, 8, 4), TensorType.INT8, quantization=BYTES)
        out = ("y", (1, 8, 8, 4), TensorType.INT8, BYTES)
        graph.output(
            graph.node("SPLIT", [graph.constant("axis", np.int32(axis)), x], out=out, options={"num_splits": 1})
        )
        assert (of(builder.build(), "edgetpu") == []) == taken, axis


def test_the_edge_tpu_takes_bytes_alone() -> None:
    found = of(unary("RELU"), "edgetpu")
    assert found[0] == (-1, "refused", "it is not quantized: the compiler takes models of 8-bit integers alone")
    assert found[1] == (0, "elsewhere", "an operand is of float32 without a scale, must be quantized to 8 bits")
    assert of(unary("RELU", TensorType.INT8), "edgetpu") == []
    assert of(unary("RELU", TensorType.UINT8, (2, 3, 3, 3)), "edgetpu")[0][1] == "elsewhere"
    pool = {"filter_width": 1, "filter_height": 1, "stride_w": 1, "stride_h": 1}
    assert of(unary("MAX_POOL_2D", TensorType.INT8, (1, 4, 4, 2), **pool), "edgetpu") == []
    [found_one] = of(
        unary("MAX_POOL_2D", TensorType.INT8, (1, 4, 4, 2), **pool, fused_activation_function="RELU"), "edgetpu"
    )
    assert found_one[2] == "has the fused activation RELU, must have none"


def test_conditions_on_axes_and_paddings() -> None:
    for op, constant, taken in (
        ("MEAN", np.int32([1, 2]), True), ("MEAN", np.int32([0]), False), ("MEAN", np.int32([-4]), False),
        ("PAD", np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]), True), ("PAD", np.int32([[1, 0], [0, 0], [0, 0], [0, 0]]), False),
    ):  # fmt: skip
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (1, 4, 4, 2), TensorType.INT8, quantization=BYTES)
        other = graph.constant("c", constant)
        graph.output(graph.node(op, [x, other], out=("y", None, TensorType.INT8, BYTES)))
        assert (of(builder.build(), "edgetpu") == []) == taken, (op, constant)


def test_esphome_wants_its_ends() -> None:
    found = [reason for node, _, reason in of(unary("LOGISTIC", TensorType.INT8), "esphome") if node < 0]
    assert found == [
        "its input is int8 (1, 4), must be int8 (1, N, 40)",
        "its output is int8 (1, 4), must be uint8 (1, 1)",
    ]
    assert ("SOFTMAX" in table_of("esphome").lines, "SOFTMAX" in table_of("tflm").lines) == (False, True)


def test_the_answer_in_a_sentence() -> None:
    def finding(verdict: str) -> Finding:
        return Finding(0, 0, "ADD", verdict, "")  # type: ignore[arg-type]

    taken, unknown, elsewhere = finding("taken"), finding("unknown"), finding("elsewhere")
    assert (
        verdict_of([taken, unknown], "tflm")
        == "not known whether TensorFlow Lite Micro takes it: 1 of 2 nodes are known to be taken"
    )
    assert verdict_of([taken, elsewhere, unknown], "xnnpack").endswith(
        "takes 1 of 3 nodes, and 1 more perhaps: the others run on the processor"
    )
    assert verdict_of([taken, finding("refused")], "tflm") == "TensorFlow Lite Micro refuses it"


@pytest.mark.skipif(not INSTALLED, reason="tflite-micro is not installed")
@pytest.mark.skipif(not MODELS.is_dir(), reason="needs ../shared/models")
def test_tflm_runs_each_public_model_that_is_taken_and_none_that_is_refused() -> None:
    from tflite_micro import runtime

    paths = sorted(MODELS.glob("*.tflite"), key=lambda path: zlib.crc32(path.name.encode()))[:60]

    def runs(number: int) -> bool:
        try:
            runtime.Interpreter.from_bytes(paths[number].read_bytes(), arena_size=1 << 28).invoke()
        except (RuntimeError, ValueError):
            return False
        return True

    wrong = []
    for number, ran in apart.answers(runs, range(len(paths))):
        try:
            verdict = verdict_of(judge(load_model(paths[number]), "tflm"), "tflm")
        except MiniliteError:
            continue
        if ran is not True and verdict.startswith("TensorFlow Lite Micro takes it"):
            wrong.append(f"{paths[number].name}: {verdict}")
        if ran is True and "refuses" in verdict:
            wrong.append(f"{paths[number].name}: {verdict}")
    assert wrong == []
