"""The dynamic family with a network's layers in it: convolutions and fully connected nodes that read inputs of unknown
length.

After every twentieth step comes a block that reads the step's vector as sound: frames of 16 samples, one every 4,
become 32 channels, a convolution over 3 frames and a fully connected layer follow, and a last one makes samples again.
These are about 1200 multiply-adds per element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dynamic_family import Step, Writer

EVERY = 20
"""Steps from one block of layers to the next."""
FRAME, STRIDE, CHANNELS = 16, 4, 32


class LayersWriter(Writer):
    """Writes a block of layers after every twentieth step."""

    def add(self, number: int, step: Step, source: int) -> int:
        """Adds a step's nodes and its block; the number of the tensor it leaves."""
        out = super().add(number, step, source)
        return self._block(number, step.after, out) if number % EVERY == EVERY - 1 else out

    def _weights(self, name: str, shape: tuple[int, ...]) -> int:
        """Weights whose sums stay about as large as what they are given."""
        drawn = np.random.default_rng([len(name), *name.encode()]).normal(size=shape)
        return self.constant(name, drawn / np.sqrt(np.prod(shape[1:])), np.float32)

    def _block(self, number: int, length: int, x: int) -> int:
        frames = -(-length // STRIDE)

        def convolution(name: str, x: int, width: int, depth: int, stride: int) -> int:
            options: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": stride}
            options["fused_activation_function"] = "RELU"
            inputs = [x, self._weights(f"{name}/weights", (CHANNELS, 1, width, depth)), bias]
            return int(self.graph.node("CONV_2D", inputs, out=(name, (1, 1, frames, CHANNELS)), options=options))

        def connected(name: str, x: int, outputs: int, bias: int) -> int:
            inputs = [x, self._weights(f"{name}/weights", (outputs, CHANNELS)), bias]
            return int(self.graph.node("FULLY_CONNECTED", inputs, out=(name, (frames, outputs))))

        def reshape(name: str, x: int, shape: tuple[int, ...], known: tuple[int, ...]) -> int:
            to = self.constant(f"{name}/shape", list(shape))
            return int(self.graph.node("RESHAPE", [x, to], out=(name, known), options={"new_shape": shape}))

        name = f"block{number}"
        bias = self.constant(f"{name}/bias", np.zeros(CHANNELS), np.float32)
        none = self.constant(f"{name}/none", np.zeros(STRIDE), np.float32)
        x = reshape(f"{name}/sound", x, (1, 1, -1, 1), (1, 1, length, 1))
        x = convolution(f"{name}/frames", x, FRAME, 1, STRIDE)
        x = convolution(f"{name}/context", x, 3, CHANNELS, 1)
        x = reshape(f"{name}/rows", x, (-1, CHANNELS), (frames, CHANNELS))
        x = connected(f"{name}/hidden", x, CHANNELS, bias)
        x = connected(f"{name}/samples", x, STRIDE, none)
        return reshape(f"{name}/vector", x, (-1,), (frames * STRIDE,))
