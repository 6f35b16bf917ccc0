"""Models for a user's first hour: int8 with scales, a size that depends on values, state, a long node."""

from __future__ import annotations

from typing import Any

import numpy as np
from built import graph_with

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization


def classifier() -> bytes:
    """int8: 4 values to 3 classes, with a scale for each class."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (1, 4), TensorType.INT8, quantization=Quantization((0.5,), (-3,)))
    kernel = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    w = graph.constant("w", kernel, TensorType.INT8, quantization=Quantization((0.1, 0.2, 0.3), (0, 0, 0), 0))
    y = ("y", (1, 3), TensorType.INT8, Quantization((0.25,), (5,)))
    graph.output(graph.node("FULLY_CONNECTED", [x, w, -1], out=y, version=4))
    return builder.build()


def where() -> bytes:
    def build(g: Any) -> list[int]:
        return [g.node("WHERE", [g.input("x", (5,), TensorType.BOOL)], out=("places", None, TensorType.INT64))]

    return graph_with(build)


def memory() -> bytes:
    """SVDF over the last two values, kept in a variable tensor."""

    def build(g: Any) -> list[int]:
        x, state = g.input("x", (1, 3)), g.variable("state", (1, 4))
        kernels = [g.constant(name, np.ones((2, n), np.float32)) for name, n in (("features", 3), ("times", 2))]
        return [g.node("SVDF", [x, *kernels, -1, state], out=("y", (1, 2)), options={"rank": 1})]

    return graph_with(build)


def product() -> bytes:
    """A node of some 0.3 s."""

    def build(g: Any) -> list[int]:
        a, b = g.input("a", (1800, 1800)), g.input("b", (1800, 1800))
        return [g.node("BATCH_MATMUL", [a, b], out=("c", (1800, 1800)))]

    return graph_with(build)
