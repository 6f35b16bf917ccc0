"""A model whose plan is above its lower bound."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from built import Array

from minilite.format.builder import ModelBuilder


class Crowd:
    """Sixty tensors of random lifetimes, which a short search does not pack to the bound. Its input is x; with a
    variable tensor (4,) it returns the number of the last step and the sum of both."""

    def __init__(self, *, dynamic: bool = False) -> None:
        rng = random.Random(8)
        spans = [
            (first, min(19, first + rng.randrange(1, 9)), rng.randrange(1, 60) * 16)
            for first in (rng.randrange(19) for _ in range(60))
        ]
        builder = ModelBuilder()
        graph = builder.subgraph()
        x = graph.input("x", (4,), signature=(-1,))
        tensors: dict[int, int] = {}
        self.sizes: dict[int, list[int]] = {}
        for step in range(20):
            made = [k for k, (first, _, _) in enumerate(spans) if first == step]
            read = [tensors[k] for k, (_, last, _) in enumerate(spans) if last == step]
            self.sizes[step] = [spans[k][2] for k in made] + [1]
            outs = [(f"t{k}", (spans[k][2],)) for k in made] + [(f"end{step}", (1,))]
            results = graph.node("Step", [x, *read], out=outs, custom=True)
            tensors.update(zip(made, results, strict=False))
        self.kept = graph.variable("kept", (4,))
        graph.output(results[-1], graph.node("ADD", [x, self.kept], out=("sum", (4,))))
        if dynamic:  # none of the others reads what comes of it
            graph.output(
                graph.node("NEG", [graph.node("Head", [x], out=("heads", (1,)), custom=True)], out=("z", (1,)))
            )
        self.model = builder.build()

    def __call__(self, node: Any, *inputs: Array) -> tuple[Array, ...]:
        total = sum(float(array.sum()) for array in inputs)
        return tuple(np.full(size, total % 97 + k, np.float32) for k, size in enumerate(self.sizes[node.index]))

    def shape(self, node: Any, *_: Any) -> list[tuple[int]]:
        return [(size,) for size in self.sizes[node.index]]
