"""Drawn networks over images, of floats and bytes, whose layers share weights and read any earlier value.

Levels, plans, threads, and sizes that are visited in turn give the same bytes; LiteRT's kernels give them within a
step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import peer
from support.compare import REFERENCE, run_litert
from support.drawn import Draw
from support.node import Array, kind_of, values
from support.weighted import window_options

import minilite
from minilite._native.kernels import level_names
from minilite.format.builder import ModelBuilder
from minilite.format.quantization import NOT_QUANTIZED, Quantization

WINDOWS = ((1, 1), (3, 3), (1, 3), (3, 1), (2, 2), (5, 5))
STEPS = (((1, 1), (1, 1)), ((2, 2), (1, 1)), ((2, 1), (1, 1)), ((1, 1), (2, 2)))
"""Strides and dilations."""
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6")
VERSIONS = {"FULLY_CONNECTED": 5, "HARD_SWISH": 1}
BOUND = 2e-4
"""The distance of floats, as a share of the largest one."""


class Value(NamedTuple):
    """A tensor of the graph, (1, height, width, channels)."""

    tensor: int
    shape: tuple[int, ...]
    step: Quantization


class Drawing:
    """A network under construction."""

    def __init__(self, seed: int) -> None:
        self.d = Draw(seed)
        self.kind: str = self.d.one("f32", "s8", "s8", "u8")
        self.builder = ModelBuilder()
        self.graph = self.builder.subgraph()
        shape = (1, self.d.number(4, 12), self.d.number(4, 12), self.d.one(4, 8, 16, 32))
        self.values: list[Value] = []
        self.weights: dict[tuple[tuple[int, ...], int], tuple[int, Quantization]] = {}
        for name in "xy"[: self.d.number(1, 2)]:
            step = self.step()
            x = self.graph.input(name, shape, kind_of(self.kind), signature=(-1, *shape[1:]), quantization=step)
            self.values.append(Value(x, shape, step))
        layers: tuple[Callable[[], None], ...] = (
            self.convolution, self.convolution, self.depthwise, self.depthwise, self.dense, self.sum, self.sum,
            self.product, self.activation, self.pool, self.concatenation, self.pad, self.resize, self.half, self.turn,
        )  # fmt: skip
        for _ in range(self.d.number(3, 16)):
            self.d.one(*layers)()

    def step(self) -> Quantization:
        if self.kind == "f32":
            return NOT_QUANTIZED
        zero = int(values(self.d.rng, self.kind, ()))
        return Quantization((float(np.float32(self.d.rng.uniform(0.01, 0.2))),), (zero,))

    def constant(self, array: Array, step: Quantization = NOT_QUANTIZED) -> int:
        return self.graph.constant(f"c{self.d.number(0, 1 << 40)}", array, quantization=step)

    def add(self, op: str, inputs: list[int], shape: Any, step: Quantization | None = None, **options: Any) -> None:
        step = self.step() if step is None else step
        out = (f"{op}_{len(self.values)}", tuple(shape), kind_of(self.kind), step)
        made = self.graph.node(op, inputs, out=out, options=options, version=VERSIONS.get(op, 2))
        self.values.append(Value(made, tuple(shape), step))

    def filters(self, shape: tuple[int, ...], axis: int) -> tuple[int, Quantization]:
        """Weights of that shape: mostly those of an earlier layer, if one has the shape."""
        found = self.weights.get((shape, axis))
        if found is None or self.d.often(0.2):
            step, array = NOT_QUANTIZED, values(self.d.rng, self.kind, shape, 0.3)
            if self.kind != "f32":
                count = shape[axis] if self.kind == "s8" and self.d.often(0.6) else 1
                scales = tuple(float(np.float32(scale)) for scale in self.d.rng.uniform(0.005, 0.03, count))
                zero = 0 if self.kind == "s8" else self.d.number(100, 150)
                step = Quantization(scales, (zero,) * count, axis if count > 1 else 0)
            found = self.weights[shape, axis] = self.constant(array, step), step
        return found

    def bias(self, x: Value, weights: Quantization, count: int) -> int:
        if self.kind == "f32":
            return self.constant(values(self.d.rng, "f32", (count,), 0.3))
        scales = tuple(float(np.float32(x.step.scale * scale)) for scale in weights.scales)
        array = self.d.rng.integers(-500, 500, count).astype(np.int32)
        return self.constant(array, Quantization(scales, (0,) * len(scales)))

    def windows(self, x: Value, size: tuple[int, int], stride: Any, dilation: Any, padding: str) -> list[int]:
        """The height and width of the result, which may not be positive."""
        found = []
        for length, taps, move, apart in zip(x.shape[1:3], size, stride, dilation, strict=True):
            seen = (taps - 1) * apart + 1
            found.append(-(-length // move) if padding == "SAME" else (length - seen) // move + 1)
        return found

    def windowed(self, op: str, most: int, **options: Any) -> None:
        x, size, padding = self.d.one(*self.values), self.d.one(*WINDOWS), self.d.one("SAME", "VALID")
        stride, dilation = self.d.one(*STEPS)
        height, width = self.windows(x, size, stride, dilation, padding)
        if height < 1 or width < 1:
            return
        channels = x.shape[3] if op == "DEPTHWISE_CONV_2D" else self.d.one(4, 8, 16, most)
        by_output = (channels, *size, x.shape[3])
        shape, axis = ((1, *size, channels), 3) if op == "DEPTHWISE_CONV_2D" else (by_output, 0)
        weights, step = self.filters(shape, axis)
        inputs = [x.tensor, weights, self.bias(x, step, channels)]
        options |= window_options(padding, stride, dilation, fused_activation_function=self.d.one(*ACTIVATIONS))
        self.add(op, inputs, (1, height, width, channels), **options)

    def convolution(self) -> None:
        self.windowed("CONV_2D", 32)

    def depthwise(self) -> None:
        self.windowed("DEPTHWISE_CONV_2D", 0, depth_multiplier=1)

    def dense(self) -> None:
        x, count = self.d.one(*self.values), self.d.one(4, 8, 16)
        weights, step = self.filters((count, x.shape[3]), 0)
        shape = (*x.shape[:3], count)
        self.add("FULLY_CONNECTED", [x.tensor, weights, self.bias(x, step, count)], shape, keep_num_dims=True)

    def binary(self, op: str) -> None:
        x = self.d.one(*self.values)
        y = self.d.one(*(value for value in self.values if value.shape == x.shape))
        self.add(op, [x.tensor, y.tensor], x.shape, fused_activation_function=self.d.one(*ACTIVATIONS))

    def sum(self) -> None:
        self.binary(self.d.one("ADD", "ADD", "SUB"))

    def product(self) -> None:
        self.binary("MUL")

    def activation(self) -> None:
        x, op = self.d.one(*self.values), self.d.one("RELU", "RELU6", "HARD_SWISH", "LEAKY_RELU")
        options = {"alpha": 0.125} if op == "LEAKY_RELU" else {}
        self.add(op, [x.tensor], x.shape, x.step if op.startswith("RELU") else None, **options)

    def pool(self) -> None:
        x, size, padding = self.d.one(*self.values), self.d.one((2, 2), (3, 3), (1, 2)), self.d.one("SAME", "VALID")
        stride = self.d.one((1, 1), (2, 2))
        height, width = self.windows(x, size, stride, (1, 1), padding)
        if height < 1 or width < 1:
            return
        options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
        options |= {"filter_height": size[0], "filter_width": size[1]}
        op = self.d.one("MAX_POOL_2D", "AVERAGE_POOL_2D")
        self.add(op, [x.tensor], (1, height, width, x.shape[3]), x.step, **options)

    def concatenation(self) -> None:
        x = self.d.one(*self.values)
        alike = [value for value in self.values if value.shape[:3] == x.shape[:3] and value.step == x.step]
        parts = [self.d.one(*alike) for _ in range(self.d.number(1, 3))]
        channels = sum(part.shape[3] for part in parts)
        if channels <= 64:
            self.add("CONCATENATION", [part.tensor for part in parts], (*x.shape[:3], channels), x.step, axis=3)

    def pad(self) -> None:
        x = self.d.one(*self.values)
        sides = [(0, 0), *((self.d.number(0, 2), self.d.number(0, 2)) for _ in range(2)), (0, 0)]
        shape = [length + sum(side) for length, side in zip(x.shape, sides, strict=True)]
        self.add("PAD", [x.tensor, self.constant(np.array(sides, np.int32))], shape, x.step)

    def resize(self) -> None:
        x, size = self.d.one(*self.values), (self.d.number(1, 14), self.d.number(1, 14))
        inputs = [x.tensor, self.constant(np.array(size, np.int32))]
        op = self.d.one("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
        self.add(op, inputs, (1, *size, x.shape[3]), x.step, half_pixel_centers=self.d.often(0.5))

    def half(self) -> None:
        """The second half of the channels."""
        x = self.d.one(*(value for value in self.values if value.shape[3] > 1))
        begin, size = [0, 0, 0, x.shape[3] // 2], [-1, x.shape[1], x.shape[2], x.shape[3] // 2]
        inputs = [x.tensor, *(self.constant(np.array(part, np.int32)) for part in (begin, size))]
        self.add("SLICE", inputs, (*x.shape[:3], x.shape[3] // 2), x.step)

    def turn(self) -> None:
        x = self.d.one(*self.values)
        inputs = [x.tensor, self.constant(np.array([0, 2, 1, 3], np.int32))]
        self.add("TRANSPOSE", inputs, (1, x.shape[2], x.shape[1], x.shape[3]), x.step)

    def model(self) -> bytes:
        made = [value.tensor for value in self.values]
        self.graph.output(*dict.fromkeys([made[-1], self.d.one(*made), self.d.one(*made)]))
        return self.builder.build()


def results(interpreter: minilite.Interpreter, images: int, kind: str) -> list[Array]:
    """The outputs on so many images."""
    rng = np.random.default_rng(images)
    for detail in interpreter.get_input_details():
        interpreter.resize_tensor_input(detail["index"], (images, *detail["shape"][1:]))
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], values(rng, kind, detail["shape"], 1.0))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def compare(found: list[Array], expected: list[Array], kind: str, steps: int, what: str) -> None:
    for one, other in zip(found, expected, strict=True):
        if kind == "f32":
            bound = BOUND * float(np.abs(other).max(initial=1))
            np.testing.assert_allclose(one, other, rtol=BOUND, atol=bound, err_msg=what)
        else:
            assert one.shape == other.shape, what
            assert np.abs(one.astype(np.int32) - other.astype(np.int32)).max(initial=0) <= steps, what


def same_in_every_way(seed: int) -> None:
    drawing = Drawing(seed)
    model, kind = drawing.model(), drawing.kind
    walked = minilite.Interpreter(model_content=model)
    first = results(walked, 1, kind)
    ways: list[dict[str, Any]] = [{"level": level} for level in level_names()]
    ways += [{"in_place": "none", "planner": "naive"}, {"experimental_preserve_all_tensors": True}]
    ways += [{"num_threads": 3}, {"winograd": False}, {"preserve_inputs": False}, {"max_arena": "1MB"}]
    for way in ways:
        compare(results(minilite.Interpreter(model_content=model, **way), 1, kind), first, kind, 0, f"{seed} {way}")
    for images in (3, 1, 2, 3):
        fresh = results(minilite.Interpreter(model_content=model), images, kind)
        for one, other in zip(results(walked, images, kind), fresh, strict=True):
            np.testing.assert_array_equal(one, other, f"{seed}, {images} images")
    if peer.HERE:
        rng = np.random.default_rng(1)
        inputs = [values(rng, kind, value.shape, 1.0) for value in drawing.values[: len(walked.get_input_details())]]
        compare(run_litert(model, inputs, REFERENCE), first, kind, 1, f"{seed} LiteRT")


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_networks(first: int) -> None:
    for seed in range(first, first + 30):
        same_in_every_way(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(300, 3300, 300))
def test_many_networks(first: int) -> None:
    for seed in range(first, first + 300):
        same_in_every_way(seed)
