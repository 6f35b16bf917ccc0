"""Bools whose bytes are neither 0 nor 1: each operator that takes bools takes every byte except 0 for true."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.compare import run_minilite
from support.node import OneNode
from test_every_type import ROWS, cases, combinations

from minilite.format.dtypes import TensorType

TRUE = np.array([255, 2, 128, 1, 3], np.uint8)
"""Bytes that are true."""


def with_other_bytes(array: Any) -> Any:
    """Returns a bool array with other bytes for true; arrays of other types stay as they are."""
    if array.dtype != np.bool_:
        return array
    true = np.resize(TRUE, array.shape) if array.size else np.zeros(array.shape, np.uint8)
    return np.where(array, true, np.uint8(0)).view(np.bool_)


def node_of(op: str, inputs: Any, outputs: Any) -> Any:
    rng = np.random.default_rng(zlib.crc32(repr((op, inputs, outputs)).encode()))
    case = cases()[op]
    case = case if isinstance(case, Case) else case(rng, inputs, outputs)
    return case.node(op, rng, inputs, outputs) if isinstance(case, Case) else case[0]


def with_other_constants(node: Any) -> bytes:
    """The node's model with other bytes in constants too."""
    if not isinstance(node, OneNode):
        return bytes(node.model)
    given = [each if each is None else each._replace(array=with_other_bytes(each.array)) for each in node.given]
    made = OneNode(node.op, given, node.options, outs=node.outs, version=node.version, custom=node.custom)
    return bytes(made.model)


def answer(model: bytes, arrays: Any, reference: bool = False) -> bytes:
    """Returns the bytes of output 0; of a bool output, 0 and 1."""
    (y, *_) = run_minilite(model, arrays, reference=reference)
    return bytes((y.view(np.uint8) != 0 if y.dtype == np.bool_ else y).tobytes())


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [(row.name, *pair) for row in ROWS for pair in combinations(row.types) if TensorType.BOOL.suffix in pair[0]],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_every_byte_but_0_is_true(op: str, inputs: Any, outputs: Any) -> None:
    node = node_of(op, inputs, outputs)
    model, arrays = with_other_constants(node), [with_other_bytes(array) for array in node.arrays]
    assert model != node.model or any(array.dtype == np.bool_ for array in arrays)
    for reference in (False, True):
        assert answer(model, arrays, reference) == answer(node.model, node.arrays, reference)
