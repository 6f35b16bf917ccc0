"""Every operator refuses types, operands and versions that its row does not name, and says which node it is."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from test_every_type import ROWS, cases, combinations

import minilite
from minilite import UnsupportedOpError
from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder, write_model
from minilite.format.dtypes import TensorType
from minilite.format.model import Model, Node
from minilite.format.reader import read_model

KINDS = [
    kind
    for kind in TensorType
    if kind.suffix in ("f32", "f64", "s8", "s16", "s32", "s64", "b8", "c64", "u64", "string")
]


def model_of(row: Any, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Model:
    """A model of one node with operands of these types, as parts that can be replaced."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    printed = cases()[row.name]
    case = printed if isinstance(printed, Case) else printed(rng, inputs, outputs)
    node = case.node(row.name, rng, inputs, outputs) if isinstance(case, Case) else case[0]
    return ModelBuilder.from_model(read_model(node.model)).model()


def changed(model: Model, node: Node, types: dict[int, TensorType] | None = None) -> bytes:
    """The model with another node, and other types of some tensors, which are then no constants."""
    graph = model.subgraphs[0]
    tensors = [
        t._replace(type=(types or {})[t.index], data=None, sparsity=None, is_variable=t.index not in node.outputs)
        if t.index in (types or {})
        else t
        for t in graph.tensors
    ]
    return write_model(model._replace(subgraphs=(graph._replace(tensors=tuple(tensors), nodes=(node,)),)))


def refusal(data: bytes) -> MiniliteError | None:
    """The error of a model that does not lower, or of a file that cannot be read."""
    try:
        minilite.Interpreter(model_content=data).allocate_tensors()
    except MiniliteError as error:
        return error
    return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_types_of_no_line(row: Any) -> None:
    every = set(combinations(row.types))
    inputs, outputs = next(combinations(row.types))
    model = model_of(row, inputs, outputs)
    node = model.subgraphs[0].nodes[0]
    for position, number in enumerate(node.inputs[: len(inputs)]):
        for kind in KINDS if number >= 0 else ():
            others = (*inputs[:position], kind.suffix, *inputs[position + 1 :])
            lines = [line for line in every if line[0][: len(others)] == others]
            if any(line[1] == outputs or row.output_follows is not None for line in lines):
                continue
            error = refusal(changed(model, node, {number: kind}))
            assert isinstance(error, UnsupportedOpError), (others, outputs, error)
            assert f"({row.name}" in str(error), error


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_missing_output_and_a_later_version(row: Any) -> None:
    model = model_of(row, *next(combinations(row.types)))
    node = model.subgraphs[0].nodes[0]
    if node.outputs:
        fewer = refusal(changed(model, node._replace(outputs=node.outputs[:-1])))
        assert fewer is not None, f"{row.name} runs without its last output"
    if not node.custom:
        later = refusal(changed(model, node._replace(version=row.versions[-1] + 1)))
        assert isinstance(later, UnsupportedOpError), later
        assert f"version {row.versions[-1] + 1}" in str(later), later
