"""Arenas where addresses are few: a dozen interpreters, each of which would reserve 64 GiB of addresses.

Run with 39 bits of addresses, as kernels of the Raspberry Pi 4 have: 512 GiB serve seven. The others grow by moving,
and all give right answers at both sizes.
"""

from __future__ import annotations

import sys

import numpy as np

from minilite import Interpreter
from minilite.format.builder import ModelBuilder

COUNT, SIZES = 12, (1_000_000, 1_500_000)

builder = ModelBuilder()
graph = builder.subgraph()
x = graph.input("x", (SIZES[0],))
graph.output(graph.node("EXP", [graph.node("NEG", [x], out=("t", (SIZES[0],)))], out=("y", (SIZES[0],))))
model = builder.build()
kept = []
for _ in range(COUNT):
    one = Interpreter(model_content=model)
    kept.append(one)
    for size in SIZES:
        one.resize_tensor_input(0, (size,))
        one.allocate_tensors()
        one.set_tensor(0, np.zeros(size, np.float32))
        one.invoke()
        if not (one.get_tensor(one.get_output_details()[0]["index"]) == 1).all():
            sys.exit(f"wrong at size {size}")
staying = sum(one.usage.stays_mapped for one in kept)
print(f"{COUNT} interpreters are right, {staying} have reserved addresses")
sys.exit(not 0 < staying < COUNT)
