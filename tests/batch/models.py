"""Small models that take batches, refuse them, or mix their items."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

WEIGHTS = np.arange(-6, 6, dtype=np.float32).reshape(3, 4) / 4


def classifier(*, target: tuple[int, ...] | None = None, op: str = "SOFTMAX") -> bytes:
    """image (1, 2, 2) becomes three scores; with `target`, a constant RESHAPE in between."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    image = graph.input("image", (1, 2, 2))
    shape = graph.constant("shape", np.array(target or (-1, 4), np.int32))
    flat = graph.node("RESHAPE", [image, shape], out=("flat", (1, 4)), options={"new_shape": target or (-1, 4)})
    scores = graph.node("FULLY_CONNECTED", [flat, graph.constant("w", WEIGHTS), -1], out=("scores", (1, 3)))
    graph.output(graph.node(op, [scores], out=("out", (1, 3)), options={"beta": 1.0} if op == "SOFTMAX" else None))
    return builder.build()


def mixing() -> bytes:
    """Each item minus the mean of all items."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 3))
    axis = graph.constant("axis", np.array([0], np.int32))
    mean = graph.node("MEAN", [x, axis], out=("mean", (1, 3)), options={"keep_dims": True})
    graph.output(graph.node("SUB", [x, mean], out=("centred", (1, 3))))
    return builder.build()


def refusing() -> bytes:
    """Joins x (1, 3) with a constant (1, 2), which a batch of more items does not fit."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    parts = [graph.input("x", (1, 3)), graph.constant("token", np.ones((1, 2), np.float32))]
    graph.output(graph.node("CONCATENATION", parts, out=("y", (1, 5)), options={"axis": 1}))
    return builder.build()


def elementwise(shape: tuple[int, ...] = (1, 3), op: str = "EXP", **kind: Any) -> bytes:
    """y of x, element by element."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", shape, **kind)
    made = ("y", shape, kind.get("type", TensorType.FLOAT32), *([kind["quantization"]] if kind else []))
    graph.output(graph.node(op, [x], out=made))
    return builder.build()


def quantized() -> bytes:
    """RELU of int8 numbers with a scale of 0.1."""
    scale = Quantization(scales=(0.1,), zero_points=(3,))
    return elementwise(op="RELU", type=TensorType.INT8, quantization=scale)


def gathering() -> bytes:
    """The row of a table whose number is `which`: out of range it fails."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    which = graph.input("which", (1,), TensorType.INT32)
    table = graph.constant("table", np.arange(8, dtype=np.float32).reshape(4, 2))
    graph.output(graph.node("GATHER", [table, which], out=("row", (1, 2))))
    return builder.build()


def stating(op: str) -> bytes:
    """A node of `op` whose constant shape, or size of a slice, says that there is one item of x, (1, 3)."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 3))

    def number(name: str, *values: int) -> int:
        return graph.constant(name, np.array(values, np.int32))

    if op == "FILL":
        zeros = graph.node("FILL", [number("shape", 1, 2), graph.constant("zero", 0.0)], out=("zeros", (1, 2)))
        y = graph.node("CONCATENATION", [x, zeros], out=("y", (1, 5)), options={"axis": 1})
    elif op == "BROADCAST_TO":
        lines = graph.node("EXPAND_DIMS", [x, number("axis", 1)], out=("lines", (1, 1, 3)))
        y = graph.node(op, [lines, number("shape", 1, 4, 3)], out=("y", (1, 4, 3)), version=2)
    elif op == "SCATTER_ND":
        shape = graph.node("SHAPE", [x], out=("x/shape", (2,), TensorType.INT32), options={"out_type": "INT32"})
        bounds = [number("0", 0), number("1", 1), number("1", 1)]
        count = graph.node(
            "STRIDED_SLICE", [shape, *bounds], out=("n", (), TensorType.INT32), options={"shrink_axis_mask": 1}
        )
        ends = [graph.constant(f"scalar {i}", np.array(i, np.int32)) for i in (0, 1)]
        rows = graph.node("RANGE", [ends[0], count, ends[1]], out=("rows", (1,), TensorType.INT32))
        places = graph.node("EXPAND_DIMS", [rows, number("axis", 1)], out=("places", (1, 1), TensorType.INT32))
        y = graph.node(op, [places, x, number("shape", 1, 3)], out=("y", (1, 3)))
    elif op == "SLICE":
        y = graph.node(op, [x, number("begin", 0, 1), number("size", 1, 2)], out=("y", (1, 2)))
    else:
        message = f"no model of {op}"
        raise ValueError(message)
    graph.output(y)
    return builder.build()


def upsampling(op: str = "TRANSPOSE_CONV") -> bytes:
    """A transposed convolution of x (1, 2, 2, 3) or (1, 2, 2, 2, 3), with a constant shape of its output."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    axes = 3 if op == "CONV_3D_TRANSPOSE" else 2
    shape = (1, *(4,) * axes, 2)
    taps = (2, 3, 2)[-axes:]
    filters = (*taps, 2, 3) if axes == 3 else (2, *taps, 3)
    weights = np.arange(np.prod(filters), dtype=np.float32).reshape(filters) / 9
    options = {"padding": "SAME", **{f"stride_{name}": 2 for name in "dhw"[-axes:]}}
    parts = [graph.constant("shape", np.array(shape, np.int32)), graph.constant("w", weights)]
    x = graph.input("x", (1, *(2,) * axes, 3))
    graph.output(graph.node(op, [*parts, x], out=("y", shape), options=options))
    return builder.build()
