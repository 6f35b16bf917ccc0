"""Operator rows: what they take is checked once, with one message, all refusals together."""

from __future__ import annotations

import math

import pytest

from minilite.errors import UnsupportedOpError
from minilite.format.dtypes import TensorType
from minilite.format.model import Tensor
from minilite.format.quantization import Quantization
from minilite.ops import operators
from minilite.ops_shared.checks import quantized
from minilite.ops_shared.operator import Operator, OpNode
from minilite.ops_shared.types import each, parse, spelled, types_of, written_out

ROW = Operator(
    "ANY", range(1, 2), takes="x axis? more...? -> y z?", types=("f32 s32|s64? x4...? -> f32 b8?", "s8 -> s8")
)
F32, S32, S64, S8, BOOL, ABSENT = 0, 2, 4, 9, 6, -1


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [([F32], [F32]), ([F32, S64], [F32]), ([F32, ABSENT, F32, S32], [F32, BOOL]), ([S8], [S8]), ([F32], [F32, ABSENT])],
)
def test_accepted(inputs: list[int], outputs: list[int]) -> None:
    assert ROW.refusal(inputs, outputs) == ""


@pytest.mark.parametrize(
    ("inputs", "outputs", "why"),
    [
        ([], [F32], "input 0 (x) is absent"),
        ([ABSENT, S32], [F32], "input 0 (x) is absent"),
        ([F32], [], "output 0 (y) is absent"),
        ([F32], [ABSENT], "output 0 (y) is absent"),
        ([F32], [F32, BOOL, BOOL], "3 outputs, it takes at most 2"),
        ([F32, S8], [F32], "types f32 s8 -> f32 of x axis? more...? -> y z? are not supported, f32 s32|s64? x4...? -> f32 b8? are"),
        ([S32], [S8], "types s32 -> s8 of x axis? more...? -> y z? are not supported, s8 -> s8 are"),
        ([F32, S32, S64], [F32], "types f32 s32 s64 -> f32 of .*"),
    ],
)  # fmt: skip
def test_refused(inputs: list[int], outputs: list[int], why: str) -> None:
    found = ROW.refusal(inputs, outputs)
    assert found.startswith(why[:-2]) if why.endswith(".*") else found == why


@pytest.mark.parametrize("row", list(operators().values()), ids=lambda row: row.name)
def test_rows_are_consistent(row: Operator) -> None:
    """Every signature has operands that `takes` allows; surplus and missing ones are refused."""
    for inputs, outputs in (sides for text in row.types for sides in written_out(text)):
        assert row.refusal(inputs, outputs) == ""
    names = parse(row.takes)
    if names.outputs and not names.outputs[0].optional:
        assert row.refusal(inputs, ()) == f"output 0 ({names.outputs[0].word}) is absent"
    if not any(operand.repeats for operand in names.inputs):
        many = (*inputs, *[F32] * (len(names.inputs) + 1 - len(inputs)))
        assert row.refusal(many, outputs) == f"{len(many)} inputs, it takes at most {len(names.inputs)}"


def test_spelling() -> None:
    assert each("T s32? -> T", "f32 s8") == ("f32 s32? -> f32", "s8 s32? -> s8")
    assert types_of("x4|s8") == {
        TensorType.FLOAT32,
        TensorType.INT32,
        TensorType.UINT32,
        TensorType.RESOURCE,
        TensorType.INT8,
    }
    assert [operand.word for operand in parse("a b? c... -> y").inputs] == ["a", "b", "c"]
    assert spelled([F32, ABSENT], [S8]) == "f32 - -> s8"
    with pytest.raises(KeyError):
        types_of("f99")


def node(scale: float, zero_point: int, kind: TensorType = TensorType.INT8) -> OpNode:
    tensor = Tensor(0, "x", kind, (2,), quantization=Quantization((scale,), (zero_point,)))
    return OpNode(0, 0, "RELU", 1, (tensor, None), (tensor,), {})


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_scales(scale: float) -> None:
    with pytest.raises(UnsupportedOpError, match="'x' must have a positive scale, it has"):
        quantized(node(scale, 0))


def test_zero_points() -> None:
    quantized(node(0.5, -128))
    quantized(node(0.5, 2**40, TensorType.INT32))
    for kind, zero_point in ((TensorType.INT8, 128), (TensorType.UINT8, -1), (TensorType.INT16, 2**40)):
        with pytest.raises(
            UnsupportedOpError, match=rf"'x' has the zero point {zero_point}, which is no {kind.suffix}"
        ):
            quantized(node(0.5, zero_point, kind))
    tensor = Tensor(0, "x", TensorType.INT8, (2,), quantization=Quantization((0.1, 0.2), (0, 0)))
    twice = OpNode(0, 0, "RELU", 1, (tensor,), (), {})
    with pytest.raises(UnsupportedOpError, match="'x' must have one scale, it has 2"):
        quantized(twice)
