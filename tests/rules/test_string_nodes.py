"""Operators that move strings: like LiteRT, and never outside of a tensor's bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built import ready
from support.node import Given, OneNode, const, values

from minilite.engine.engine import engine_of
from minilite.errors import KernelError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType

MOVES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("RESHAPE", [], {"new_shape": [2]}),
    ("GATHER", [const([1, 0])], {"axis": 0}),
    ("STRIDED_SLICE", [const([0]), const([2]), const([1])], {}),
]


@pytest.mark.parametrize("count", [0, 1, 9])
@pytest.mark.parametrize("taken", [[], [0, 0], list(range(8, -1, -1))])
def test_gather(count: int, taken: list[int]) -> None:
    """LiteRT gathers strings from vectors."""
    taken = [i for i in taken if i < count]
    x = Given(values(np.random.default_rng(count), "string", (count,)), kind="string")
    y = OneNode("GATHER", [x, const(taken)], {"axis": 0}).check()
    assert y.tolist() == [x.array[i] for i in taken]


@pytest.mark.parametrize("known", [True, False])
def test_slice_that_begins_at_run_time(known: bool) -> None:
    x = Given(values(np.random.default_rng(1), "string", (4, 3)), kind="string")
    begin = const([2, 1]) if known else np.array([2, 1], np.int32)
    options = {"shrink_axis_mask": 1, "end_mask": 2}
    y = OneNode("STRIDED_SLICE", [x, begin, const([0, 0]), const([1, 1])], options).check()
    assert y.tolist() == x.array[2, 1:].tolist()


@pytest.mark.parametrize(("op", "operands", "options"), MOVES, ids=lambda part: part if isinstance(part, str) else "")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([2, 16, 17, 20], "string 1 goes from byte 17 to 20 of a tensor of 19 bytes"),
        ([2, 16, 15, 19], "string 0 goes from byte 16 to 15 of a tensor of 19 bytes"),
        ([2, -4, 17, 19], "string 0 goes from byte -4 to 17"),
        ([2, 16, 2**31 - 1, 19], "goes from byte"),
        ([3, 16, 17, 19], "input 0 has 3 strings in 19 bytes, its shape has 2 elements"),
        ([-1, 16, 17, 19], "input 0 has -1 strings in 19 bytes"),
        ([2, 16], "input 0 has 2 strings in 11 bytes, its shape has 2 elements"),
    ],
)
def test_offsets_that_leave_the_tensor(op: str, operands: Any, options: Any, words: Any, message: str) -> None:
    """Writes offsets that neither a file nor a caller can give a tensor: operators check them all the same."""
    builder = ModelBuilder()
    g = builder.subgraph()
    inputs = [g.input("x", (2,), TensorType.STRING)]
    inputs += [g.constant(f"c{i}", operand.array) for i, operand in enumerate(operands)]
    g.output(g.node(op, inputs, out=("y", None, TensorType.STRING), options=options))
    i = ready(builder.build())
    state = engine_of(i).sessions[0].state
    data = np.frombuffer(np.array(words, "<i4").tobytes() + b"abc", np.uint8)
    assert state.write_heap(0, state.place(0), data)
    with pytest.raises(KernelError, match=message):
        i.invoke()
    with pytest.raises(KernelError, match=r"^tensor 0 \('x'\): a string tensor of shape \(2,\) has"):
        i.get_tensor(0)
