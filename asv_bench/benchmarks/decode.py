"""A decode step of a small transformer: one token through two layers of 8 heads, with caches of 1024 places.

Each layer is odml.rms_norm, three products, odml.update_kv_cache, odml.scaled_dot_product_attention, a product,
odml.rms_norm again, and a gated pair of products and a third. There are no position embeddings, and no vocabulary.
`python -m asv_bench.decode_step` runs it, and shows how to: caches are arrays of the caller's, bound to both sides.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import common, composites

LAYERS, HEADS, DEPTH, PLACES, HIDDEN = 2, 8, 64, 1024, 2048
WIDTH = HEADS * DEPTH
TOKEN, CACHE, ROW = (1, 1, WIDTH), (1, PLACES, HEADS, DEPTH), (1, 1, HEADS, DEPTH)
EPSILON, BLOCK = 1e-6, 32
WEIGHTS = ("s8", "s4 blocks")
"""int8 with a scale for each output, int4 with a scale for each block of 32 inputs."""


class Decoder:
    """The model and what it reads."""

    def __init__(self, weights: str) -> None:
        self.weights = weights
        self.weight_bytes = 0
        self.cache_bytes = 2 * LAYERS * int(np.prod(CACHE)) * 4
        self._rng = np.random.default_rng(1)
        self._builder = common.builder("decode step")
        self._main, *rest = (self._builder.subgraph(name) for name in ("main", "norm", "update", "attention"))
        self._decompose(*rest)
        self.model = self._made()

    def _decompose(self, norm: Any, update: Any, attention: Any) -> None:
        x, gamma = norm.input("x", TOKEN), norm.input("gamma", TOKEN[2:])
        norm.output(composites.rms_norm(norm, x, gamma, TOKEN, EPSILON))
        given = [update.input(name, CACHE) for name in ("keys", "values")]
        given += [update.input("position", (1,), 2), update.input("k", ROW), update.input("v", ROW)]
        update.output(*composites.update(update, given, CACHE))
        shapes = (ROW, CACHE, CACHE, (1, 1, 1, PLACES))
        given = [attention.input(name, shape) for name, shape in zip("qkvm", shapes, strict=True)]
        attention.output(composites.attention(attention, given, shapes, DEPTH**-0.5))

    def _product(self, x: int, inputs: int, outputs: int) -> int:
        from minilite.format.dtypes import TensorType
        from minilite.format.model import Quantization

        values = self._rng.integers(-7, 8, (outputs, inputs)).astype(np.int8)
        if self.weights == "s8":
            scales = tuple(map(float, self._rng.uniform(0.5, 1, outputs).astype(np.float32) * inputs**-0.5 / 4))
            w = self._main.constant("w", values * 16, quantization=Quantization(scales, (0,) * outputs, 0))
            self.weight_bytes += outputs * inputs
        else:
            scales = (self._rng.uniform(0.5, 1, (outputs, inputs // BLOCK)) * inputs**-0.5 / 4).astype(np.float16)
            how = Quantization(block_size=BLOCK, scales_tensor=self._main.constant("scales", scales))
            w = self._main.constant("w", values, TensorType.INT4, quantization=how)
            self.weight_bytes += outputs * inputs // 2 + scales.nbytes
        options = {"keep_num_dims": True}
        version = 9 if self.weights == "s8" else 13
        return int(
            self._main.node("FULLY_CONNECTED", [x, w], out=("y", (1, 1, outputs)), options=options, version=version)
        )

    def _composite(self, name: str, subgraph: int, inputs: Sequence[int], outs: Any, **attributes: Any) -> Any:
        options = composites.composite(name, subgraph, attributes)
        return self._main.node("STABLEHLO_COMPOSITE", list(inputs), out=outs, options=options)

    def _norm(self, x: int) -> int:
        gamma = self._main.constant("gamma", self._rng.uniform(0.5, 1.5, WIDTH).astype(np.float32))
        return int(self._composite("odml.rms_norm", 1, [x, gamma], ("normed", TOKEN), epsilon=EPSILON))

    def _heads(self, x: int) -> int:
        return composites.node(self._main, "RESHAPE", [x, composites.ints(self._main, *ROW)], ROW)

    def _layer(self, x: int, number: int, position: int, mask: int) -> tuple[int, tuple[int, ...]]:
        g = self._main
        normed = self._norm(x)
        q, k, v = (self._heads(self._product(normed, WIDTH, WIDTH)) for _ in range(3))
        caches = [g.input(f"{name}{number}", CACHE) for name in ("keys", "values")]
        outs = [(f"new_{name}{number}", CACHE) for name in ("keys", "values")]
        kept = self._composite("odml.update_kv_cache", 2, [*caches, position, k, v], outs, kv_cache_max=PLACES)
        looked = self._composite("odml.scaled_dot_product_attention", 3, [q, *kept, mask], ("looked", ROW))
        looked = composites.node(g, "RESHAPE", [looked, composites.ints(g, *TOKEN)], TOKEN)
        x = composites.node(g, "ADD", [x, self._product(looked, WIDTH, WIDTH)], TOKEN)
        normed = self._norm(x)
        gate, up = (self._product(normed, WIDTH, HIDDEN) for _ in range(2))
        gate = composites.node(g, "GELU", [gate], (1, 1, HIDDEN), approximate=True)
        inner = composites.node(g, "MUL", [gate, up], (1, 1, HIDDEN))
        return composites.node(g, "ADD", [x, self._product(inner, HIDDEN, WIDTH)], TOKEN), kept

    def _made(self) -> bytes:
        g = self._main
        x, position, mask = g.input("x", TOKEN), g.input("position", (1,), 2), g.input("mask", (1, 1, 1, PLACES))
        kept: list[int] = []
        for number in range(LAYERS):
            x, more = self._layer(x, number, position, mask)
            kept += more
        g.output(x, *kept)
        return bytes(self._builder.build())


class Step:
    """The model with its caches, ready for one token after the other."""

    def __init__(self, decoder: Decoder, threads: int = 1) -> None:
        self.interpreter = common.interpreter(model_content=decoder.model, num_threads=threads, preserve_inputs=False)
        names = [f"{name}{number}" for number in range(LAYERS) for name in ("keys", "values")]
        self.caches = {name: np.zeros(CACHE, np.float32) for name in names}
        self.x, self.position = np.zeros(TOKEN, np.float32), np.zeros(1, np.int32)
        self.mask, self.y = np.full((1, 1, 1, PLACES), -1e9, np.float32), np.zeros(TOKEN, np.float32)
        for name, cache in self.caches.items():
            self.interpreter.bind_tensor(name, cache)
            self.interpreter.bind_tensor(f"new_{name}", cache)
        for name, array in (("x", self.x), ("position", self.position), ("mask", self.mask)):
            self.interpreter.bind_tensor(name, array)
        self.interpreter.bind_tensor(self.interpreter.get_output_details()[0]["index"], self.y)
        self.interpreter.allocate_tensors()

    def __call__(self, x: Any) -> Any:
        """The layers' output for a token; the next token takes the next place."""
        self.x[...] = x
        self.mask[..., self.position[0]] = 0
        self.interpreter.invoke()
        self.position += 1
        return self.y


class Decode:
    """A token, with the caches full."""

    params = [WEIGHTS, [1, 2]]
    param_names = ["weights", "threads"]
    timer = time.perf_counter

    def setup(self, weights: str, threads: int) -> None:
        with common.since("0.10.0"):
            self.step = Step(Decoder(weights), threads)
            self.step.mask[...] = 0
            self.step.position[...] = PLACES - 1
            self.step.interpreter.invoke()

    def time_invoke(self, _: str, __: int) -> None:
        self.step.interpreter.invoke()
