"""Runs a model with an operator that minilite does not know, by a Python function."""

import struct

import numpy as np

from minilite import Interpreter, UnsupportedOpError
from minilite.format.builder import ModelBuilder


def build() -> bytes:
    """x (rows, 4) -> y, the rows of x whose largest value is above 0.5."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("x", (3, 4), signature=(-1, 4))
    threshold = struct.pack("<f", 0.5)  # what converters put into a custom operator's options
    graph.output(graph.node("KeepRows", [x], out=("y", (3, 4)), custom=True, custom_options=threshold))
    return builder.build()


def keep_rows(node, x):
    (threshold,) = struct.unpack("<f", node.custom_options)
    return x[x.max(axis=1) > threshold]  # as many rows as there are: the output is a dynamic tensor


try:
    Interpreter(build()).allocate_tensors()
except UnsupportedOpError as error:
    print(error)

interpreter = Interpreter(build(), custom_ops={"KeepRows": keep_rows})
for rows in (3, 5):
    x = np.linspace(0, 1, rows * 4, dtype=np.float32).reshape(rows, 4)
    print(interpreter.run(x)["y"].shape)
