"""What C knows of the operators' rows (csrc/graph/operator_rows.c) is what Python says of them."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest
from test_kinds import SORTED, nodes_of

from minilite._core import ffi
from minilite._native.graph import Lowering
from minilite._native.kernels import kernel_at
from minilite.engine.answers import Answers
from minilite.engine.lower import Lowered
from minilite.errors import UnsupportedOpError
from minilite.format import _schema, reader
from minilite.format.model import Model
from minilite.ops import operators
from minilite.ops_shared.types import ABSENT, written_out
from minilite.report.operator_rows import operator_rows

ROWS = pathlib.Path(__file__).parents[2] / "csrc" / "graph" / "operator_rows.c"
COMMON = (
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEQUANTIZE", "FULLY_CONNECTED", "GATHER",
    "LOGISTIC", "MAX_POOL_2D", "MEAN", "MUL", "PAD", "QUANTIZE", "RELU", "RESHAPE", "SLICE", "SOFTMAX", "STRIDED_SLICE", "SUB",
    "TANH", "TRANSPOSE", "TRANSPOSE_CONV",
)  # fmt: skip
"""Operators of many models, of which C knows most kinds."""


def test_the_table_is_that_of_the_rows() -> None:
    """Else: python -m minilite.report.operator_rows > rows.c, and put it in the place of csrc/graph/operator_rows.c."""
    assert ROWS.read_text() == operator_rows()


def said(answer: Any) -> Any:
    """All that an ml_answer says, arrays by their bytes."""
    info = kernel_at(int(ffi.cast("uintptr_t", answer.kernel))) if answer.kernel else None
    if info is None:
        return answer.typed, answer.flags
    numbers = info.layout.unpack(ffi.buffer(answer.params, info.layout.size)) if info.fields else ()
    values, rest = [], iter(numbers)
    for _, kind in info.fields:
        value = next(rest)
        if kind == "a":
            count = next(rest)
            values.append(bytes(ffi.buffer(ffi.cast("char *", value), count)) if count else b"")
        else:
            values.append(value)
    return info.name, answer.typed, answer.flags, values, answer.n_subgraphs


def known_of(model: Model) -> list[bool]:
    """Of each kind whether C knows it; what it knows is what Python says."""
    assert model.file is not None
    low = Lowering(model.file)
    answers = Answers(Lowered(model, low), {}, reference=False)
    found = []
    for number, (key, subgraph, node) in enumerate(low.kinds()):
        found.append(low.knows(number))
        if not found[-1]:
            continue
        assert key
        answer = answers.answer(subgraph, node, number, alone=False)  # it is refused by neither
        assert answer is not None
        assert said(low.pointer.known[number]) == said(answer.pointer), model.subgraphs[subgraph].nodes[node]
    return found


@pytest.mark.parametrize("op", SORTED)
def test_answers_are_those_of_python(op: str) -> None:
    every = list(itertools.chain.from_iterable(written_out(text) for text in operators()[op].types))
    few = every if len(every) <= 5 else [every[i] for i in np.random.default_rng(1).permutation(len(every))[:5]]
    known: list[bool] = []
    for inputs, outputs in few:
        types = [(inputs, outputs), ((*inputs[:-1], ABSENT), outputs), (inputs[:-1], outputs), (inputs[::-1], outputs)]
        for each in types:
            if each[0] and outputs:
                known += known_of(nodes_of(op, each, 60, varied=True))
    assert op not in COMMON or sum(known) > 8


def test_what_python_refuses_c_does_not_know() -> None:
    refused = 0
    for op in ("ADD", "SOFTMAX", "TANH", "FULLY_CONNECTED", "QUANTIZE"):
        for types in itertools.chain.from_iterable(written_out(text) for text in operators()[op].types):
            model = nodes_of(op, types, 40, varied=True)
            assert model.file is not None
            low = Lowering(model.file)
            answers = Answers(Lowered(model, low), {}, reference=False)
            for number, (key, subgraph, node) in enumerate(low.kinds()):
                try:
                    answers.answer(subgraph, node, number, alone=not key)
                except UnsupportedOpError:
                    refused += 1
                    assert not low.knows(number)
    assert refused > 20


def test_the_reader_knows_the_schema_s_identifier() -> None:
    assert reader.IDENTIFIER == _schema.IDENTIFIER
