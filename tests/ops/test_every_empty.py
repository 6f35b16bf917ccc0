"""Operands without elements: every operator, outputs of 2^40 pixels or rows of nothing, values that are refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from support import apart
from support.cases import node_of
from support.compare import compare, run_minilite
from support.node import Array, Given, OneNode, const
from support.peer import interpreter as litert
from test_every_type import ROWS, cases, combinations

import minilite
from minilite.errors import MiniliteError
from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

HUGE = (1, 1 << 24, 1 << 19, 0)
MANY = (1 << 24, (1 << 24) + 1)
QUANTIZED: dict[Any, Quantization] = {np.float32: Quantization()} | dict.fromkeys(
    (np.int8, np.int16), Quantization((1 / 128,), (0,))
)
WINDOW = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "NONE"}
POOL = WINDOW | {"filter_width": 2, "filter_height": 2}
SECONDS = 60
"""Seconds of processor time, which a build with sanitizers does not need."""


def nothing(op: str, kind: Any = np.float32, shape: Any = HUGE, more: Any = (), options: Any = None) -> OneNode:
    q = QUANTIZED[kind]
    return OneNode(op, [Given(np.zeros(shape, kind), quantization=q), *more], options or {}, quantization=q)


def transposed(kind: Any, bias: Any) -> OneNode:
    q = QUANTIZED[kind]
    weights = Given(np.zeros((0, 1, 1, 0), kind), True, q)
    given = [const([1, 1 << 24, 1 << 19, 0]), weights, Given(np.zeros(HUGE, kind), quantization=q), bias]
    return OneNode("TRANSPOSE_CONV", given, WINDOW, kind="f32" if kind == np.float32 else "s8", quantization=q)


def product(x: tuple[int, ...], y: tuple[int, ...], kind: Any) -> OneNode:
    return nothing("BATCH_MATMUL", kind, x, [Given(np.zeros(y, kind), quantization=QUANTIZED[kind])])


NODES: dict[str, Callable[[], OneNode]] = {
    **{
        f"{op} {kind.__name__}": lambda op=op, kind=kind: nothing(op, kind, options=POOL)
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
        for kind in (np.float32, np.int8, np.int16)
    },
    "L2_POOL_2D": lambda: nothing("L2_POOL_2D", options=POOL),
    "one window": lambda: nothing(
        "AVERAGE_POOL_2D", shape=(1 << 30, 2, 2, 0), options=WINDOW | {"filter_width": 2, "filter_height": 2, "padding": "VALID"}
    ),
    **{
        op: lambda op=op: nothing(op, shape=(1, 2, 2, 0), more=[const([1 << 20, 1 << 20])])
        for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
    },
    "L2_NORMALIZATION": lambda: nothing("L2_NORMALIZATION"),
    "L2_NORMALIZATION int8": lambda: nothing("L2_NORMALIZATION", np.int8),
    "LOCAL_RESPONSE_NORMALIZATION": lambda: nothing("LOCAL_RESPONSE_NORMALIZATION", options={"radius": 1}),
    "DEPTHWISE_CONV_2D": lambda: nothing(
        "DEPTHWISE_CONV_2D",
        shape=(1 << 10, 1 << 30, 0, 1),
        more=[Given(np.zeros((1, 1, 1, 1), np.float32), True)],
        options=WINDOW | {"depth_multiplier": 1},
    ),
    "TRANSPOSE_CONV": lambda: transposed(np.float32, None),
    # Matrices without columns: in y, in both, and of both more than 2^31.
    **{
        f"BATCH_MATMUL {x} {y} {kind.__name__}": lambda x=x, y=y, kind=kind: product(x, y, kind)
        for x, y in (((4, 2), (1 << 20, 1 << 20, 2, 0)), ((1 << 20, 1 << 20, 4, 0), (1 << 20, 1 << 20, 0, 0)), ((*MANY, 4, 0), (*MANY, 0, 0)))
        for kind in (np.float32, np.int8)
    },
}  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each node has a process of its own")
def test_nodes_that_make_nothing_end_at_once() -> None:
    names = list(NODES)

    def work(number: int) -> str:
        node = NODES[names[number]]()
        interpreter = minilite.Interpreter(model_content=node.model)
        interpreter.allocate_tensors()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        interpreter.invoke()
        signal.setitimer(signal.ITIMER_PROF, 0)
        return str(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).size)

    found = {names[number]: answer for number, answer in apart.answers(work, range(len(names)))}
    assert found == dict.fromkeys(names, "0")


def emptied(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """The arrays with one dimension of one of them empty, then with all dimensions of one size empty."""
    shapes = [array.shape for array in arrays]
    found = [
        [s if i != k else (*s[:d], 0, *s[d + 1 :]) for i, s in enumerate(shapes)]
        for k, shape in enumerate(shapes)
        for d in range(len(shape))
    ]
    sizes = sorted({size for shape in shapes for size in shape})
    found += [[tuple(0 if n == size else n for n in shape) for shape in shapes] for size in sizes]
    for wanted in found:
        yield [a[tuple(slice(n) for n in shape)] for a, shape in zip(arrays, wanted, strict=True)]


def answer(model: bytes, arrays: Sequence[Array], reference: bool) -> list[Array] | None:
    """The outputs, or None if minilite refuses the shapes or the values."""
    try:
        return run_minilite(model, arrays, reference=reference)
    except MiniliteError:
        return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_inputs_without_elements(row: Any) -> None:
    """C kernel and numpy reference give the same, or both refuse, for the first, a middle and the last types."""
    types = list(combinations(row.types))
    for inputs, outputs in dict.fromkeys((types[0], types[len(types) // 2], types[-1])):
        node, how = node_of(row.name, cases()[row.name], inputs, outputs)
        for arrays in emptied(node.arrays):
            c, numpy = (answer(node.model, arrays, reference) for reference in (False, True))
            what = f"{inputs} of the shapes {[array.shape for array in arrays]}"
            assert (c is None) == (numpy is None), what
            if c is not None and numpy is not None:
                compare(numpy, c, how.get("tolerance") or 1e-5, what)


WRONG: dict[str, tuple[tuple[int, ...], Any, dict[str, Any]]] = {
    "GATHER": ((5, 0), [7], {"axis": 0, "batch_dims": 0}),
    "GATHER_ND": ((5, 0), [[7]], {}),
    "REVERSE_SEQUENCE": ((1, 4, 0), [7], {"seq_dim": 1, "batch_dim": 0}),
    "SEGMENT_SUM": ((2, 0), [1, 0], {}),
    "POW": ((0,), [-1], {}),
    "FLOOR_DIV": ((0,), [0], {}),
}
"""The shape of an input without elements, values that are refused, and options, by operator."""


@pytest.mark.parametrize("op", WRONG)
def test_values_are_refused_without_elements_too(op: str) -> None:
    shape, values, options = WRONG[op]
    kind, dtype = (TensorType.INT32, np.int32) if op in ("POW", "FLOOR_DIV") else (TensorType.FLOAT32, np.float32)
    given = np.array(values, np.int32)
    builder = ModelBuilder()
    graph = builder.subgraph()
    x, other = graph.input("x", shape, kind), graph.input("values", given.shape, TensorType.INT32)
    graph.output(graph.node(op, [x, other], options=options, out=("y", None, kind)))
    for interpreter in (
        minilite.Interpreter(model_content=builder.build()),
        litert.Interpreter(model_content=builder.build()),
    ):
        interpreter.allocate_tensors()
        interpreter.set_tensor(x, np.zeros(shape, dtype))
        interpreter.set_tensor(other, given)
        with pytest.raises(RuntimeError):
            interpreter.invoke()
