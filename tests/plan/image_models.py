"""Models of images that can be cut into tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

import minilite
from minilite.format.builder import ModelBuilder

SAME = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}


class Image:
    """A model of float images that grows by a node at a time."""

    def __init__(self, seed: int, batch: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = ModelBuilder()
        self.g = self.builder.subgraph()
        self.channels = {}
        self.latest = self.named(self.g.input("x", (batch, 24, 26, 4)), 4)
        self.all = [self.latest]

    def named(self, tensor: Any, channels: int) -> Any:
        self.channels[tensor] = channels
        return tensor

    def add(self, op: str, inputs: list[Any], channels: int, options: Any) -> None:
        self.latest = self.named(self.g.node(op, inputs, out=(f"y{len(self.all)}", None), options=options), channels)
        self.all.append(self.latest)

    def conv(self, channels: int, size: int = 3, stride: int = 1, padding: str = "SAME") -> None:
        x = self.latest
        w = self.rng.normal(size=(channels, size, size, self.channels[x])).astype(np.float32)
        options = SAME | {"padding": padding, "stride_h": stride, "stride_w": stride}
        self.add("CONV_2D", [x, self.g.constant(f"w{len(self.all)}", w)], channels, options)

    def pool(self) -> None:
        options = {"padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
        self.add("MAX_POOL_2D", [self.latest], self.channels[self.latest], options)

    def grow(self) -> None:
        """Doubles the sides."""
        self.add("DEPTH_TO_SPACE", [self.latest], self.channels[self.latest] // 4, {"block_size": 2})

    def unary(self, op: str = "LOGISTIC") -> None:
        self.add(op, [self.latest], self.channels[self.latest], {})

    def residual(self) -> None:
        """A branch of two convolutions, added to its input."""
        x, channels = self.latest, self.channels[self.latest]
        self.conv(channels)
        self.unary()
        self.conv(channels)
        self.add("ADD", [self.latest, x], channels, {})

    def random(self, nodes: int) -> Image:
        for _ in range(nodes):
            draw = self.rng.integers(6)
            if draw < 2:
                self.conv(int(self.rng.integers(1, 5)) * 4, int(self.rng.choice([1, 3])))
            elif draw == 2:
                self.conv(8, 3, 2, str(self.rng.choice(["SAME", "VALID"])))
            elif draw == 3:
                self.unary()
            elif draw == 4 and self.channels[self.latest] % 4 == 0:
                self.grow()
            else:
                self.pool()
        return self

    def interpreter(self, **options: Any) -> minilite.Interpreter:
        self.g.output(self.latest)
        interpreter = minilite.Interpreter(model_content=self.builder.build(), num_threads=1, **options)
        interpreter.allocate_tensors()
        return interpreter


def residual(batch: int) -> Image:
    image = Image(1, batch)
    image.conv(8)
    image.residual()
    image.conv(4, 3, 2)
    image.residual()
    return image
