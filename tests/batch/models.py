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
